//! Flow control that a switch sends to its neighbours: who was told to stop, and when to say more.
//!
//! PAUSE (IEEE 802.3 annex 31B), priority-based flow control (IEEE 802.1Q clause 36), a pause that names outputs, and
//! credits for each output. XOFF is sent once when an occupancy rises above the high threshold and XON (zero
//! quanta) once when it falls below the low one; between them XOFF is sent again before it runs out where the
//! settings ask for it. Occupancy is counted in total or by the port that frames came in by.

use clearway_policy::scenario::{FlowControl, PauseScope, PauseSettings};

/// What a switch has to say to one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) port: u16,
    /// The account: 0, a priority, or an output.
    pub(crate) account: u8,
    /// XOFF or XON.
    pub(crate) off: bool,
}

/// How frames are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountBy {
    /// All alike.
    Nothing,
    /// By priority code point.
    Priority,
    /// By output port.
    Output,
}

/// XOFF state of one switch.
#[derive(Clone, Debug)]
pub(crate) struct PauseSender {
    settings: PauseSettings,
    pub(crate) by: AccountBy,
    /// Accounts under flow control, one bit each.
    mask: u64,
    accounts: usize,
    ports: usize,
    /// Bytes by account.
    total: Vec<u64>,
    /// Bytes by ingress port and account.
    ingress: Vec<u64>,
    /// Told to stop, by port and account.
    off: Vec<bool>,
    /// When XOFF has to be sent again, by port and account.
    due: Vec<u64>,
    /// How many of `off` are set.
    pub(crate) off_count: u32,
}

impl PauseSender {
    /// The state for `ports` ports, or `None` where nothing is paused.
    pub(crate) fn new(control: &FlowControl, ports: usize) -> Option<Self> {
        let (settings, by, mask, accounts) = match control {
            FlowControl::None | FlowControl::Credits { .. } => return None,
            FlowControl::Pause(settings) => (*settings, AccountBy::Nothing, 1, 1),
            FlowControl::Pfc { settings, priorities } => {
                (*settings, AccountBy::Priority, u64::from(*priorities), 8)
            }
            FlowControl::PausePerOutput(settings) => (*settings, AccountBy::Output, u64::MAX, ports),
        };
        let places = ports * accounts;
        Some(Self {
            settings,
            by,
            mask,
            accounts,
            ports,
            total: vec![0; accounts],
            ingress: vec![0; places],
            off: vec![false; places],
            due: vec![u64::MAX; places],
            off_count: 0,
        })
    }

    /// Pause time sent with XOFF.
    pub(crate) const fn quanta(&self) -> u16 {
        self.settings.quanta
    }

    /// Gates that a message about `account` shuts.
    pub(crate) const fn gates(&self, account: u8) -> u64 {
        match self.by {
            AccountBy::Nothing => u64::MAX,
            AccountBy::Priority | AccountBy::Output => 1 << (account & 63),
        }
    }

    const fn place(&self, port: u16, account: u8) -> usize {
        port as usize * self.accounts + account as usize
    }

    /// Adds charged bytes. True where an occupancy is above its high threshold and somebody was not told yet.
    #[inline]
    pub(crate) fn charge(&mut self, port: u16, account: u8, bytes: u32) -> bool {
        let place = self.place(port, account);
        self.total[usize::from(account)] += u64::from(bytes);
        self.ingress[place] += u64::from(bytes);
        self.above(port, account)
    }

    /// True where the occupancy that `port` and `account` count towards is above high and XOFF was not sent.
    #[inline]
    pub(crate) fn above(&self, port: u16, account: u8) -> bool {
        if self.mask >> account & 1 == 0 {
            return false;
        }
        let place = self.place(port, account);
        let occupancy = match self.settings.scope {
            PauseScope::Total => self.total[usize::from(account)],
            PauseScope::PerIngress => self.ingress[place],
        };
        occupancy > self.settings.high_bytes && !self.off[place]
    }

    /// Takes freed bytes away. True where an occupancy is below its low threshold and somebody was told to stop.
    #[inline]
    pub(crate) fn free(&mut self, port: u16, account: u8, bytes: u32) -> bool {
        let place = self.place(port, account);
        let total = &mut self.total[usize::from(account)];
        *total = total.saturating_sub(u64::from(bytes));
        self.ingress[place] = self.ingress[place].saturating_sub(u64::from(bytes));
        let occupancy = match self.settings.scope {
            PauseScope::Total => self.total[usize::from(account)],
            PauseScope::PerIngress => self.ingress[place],
        };
        self.off_count > 0 && occupancy < self.settings.low_bytes && self.off[place]
    }

    /// Marks XOFF or XON as sent to everybody concerned; `tell` hears of each, ports in order.
    pub(crate) fn switch(&mut self, port: u16, account: u8, off: bool, mut tell: impl FnMut(Message)) {
        let ports = match self.settings.scope {
            PauseScope::Total => 0..self.ports as u16,
            PauseScope::PerIngress => port..port + 1,
        };
        for port in ports {
            let place = self.place(port, account);
            if self.off[place] != off {
                self.off[place] = off;
                self.due[place] = u64::MAX;
                self.off_count = if off {
                    self.off_count + 1
                } else {
                    self.off_count - 1
                };
                tell(Message { port, account, off });
            }
        }
    }

    /// When an XOFF sent at `now` has to be sent again, for pause time `pause_ps`; notes it. At least `least_ps` lies
    /// between two, whatever the settings say: a line has to carry more than control frames.
    pub(crate) fn refresh_at(
        &mut self,
        port: u16,
        account: u8,
        now: u64,
        pause_ps: u64,
        least_ps: u64,
    ) -> Option<u64> {
        let before = self.settings.refresh_before?;
        let span = pause_ps.saturating_sub(before.as_ps()).max(least_ps.max(1));
        let place = self.place(port, account);
        self.due[place] = now.saturating_add(span);
        Some(self.due[place])
    }

    /// Accounts of a port whose XOFF has to be sent again by `now`.
    pub(crate) fn refresh_due(&self, port: u16, now: u64) -> impl Iterator<Item = u8> + '_ {
        (0..self.accounts as u8).filter(move |&account| {
            let place = self.place(port, account);
            self.off[place] && self.due[place] <= now
        })
    }
}

/// Credits that a switch owes: bytes freed, by ingress port and output.
#[derive(Clone, Debug)]
pub(crate) struct CreditSender {
    ports: usize,
    return_bytes: u64,
    owed: Vec<u64>,
    /// Ports whose neighbour sends by credit.
    pub(crate) takes: Vec<bool>,
}

impl CreditSender {
    pub(crate) fn new(control: &FlowControl, ports: usize) -> Option<Self> {
        let FlowControl::Credits { return_bytes, .. } = control else {
            return None;
        };
        Some(Self {
            ports,
            return_bytes: (*return_bytes).max(1),
            owed: vec![0; ports * ports],
            takes: vec![false; ports],
        })
    }

    /// Notes freed bytes. True where enough came together for an output that credit is to be returned now: what is owed
    /// for every output, since one control frame has room for all.
    pub(crate) fn free(&mut self, ingress: u16, output: u8, len: u32) -> bool {
        if !self.takes[usize::from(ingress)] {
            return false;
        }
        let owed = &mut self.owed[usize::from(ingress) * self.ports + usize::from(output)];
        *owed += u64::from(len);
        *owed >= self.return_bytes
    }

    /// Takes what is owed to the neighbour at `ingress` for the next output from `from` on: the output and the bytes.
    pub(crate) fn take_owed(&mut self, ingress: u16, from: usize) -> Option<(u8, u64)> {
        let row = usize::from(ingress) * self.ports;
        let output = (from..self.ports).find(|output| self.owed[row + output] > 0)?;
        Some((output as u8, std::mem::take(&mut self.owed[row + output])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(scope: PauseScope) -> PauseSettings {
        PauseSettings {
            high_bytes: 100,
            low_bytes: 50,
            scope,
            quanta: 10,
            refresh_before: None,
        }
    }

    #[test]
    fn xoff_goes_once_above_high_and_xon_once_below_low() {
        let mut sender = PauseSender::new(&FlowControl::Pause(settings(PauseScope::Total)), 3).unwrap();
        assert!(!sender.charge(0, 0, 100), "high itself is not above high");
        assert!(sender.charge(1, 0, 1));
        let mut told = Vec::new();
        sender.switch(1, 0, true, |m| told.push(m.port));
        assert_eq!(told, [0, 1, 2]);
        assert!(!sender.charge(2, 0, 50), "told already");
        assert!(!sender.free(0, 0, 101), "low itself is not below low");
        assert!(sender.free(0, 0, 1));
        sender.switch(0, 0, false, |_| {});
        assert_eq!(sender.off_count, 0);
        assert!(!sender.free(0, 0, 1), "told already");
    }

    #[test]
    fn per_ingress_and_priority_only_the_guilty_are_told() {
        let control = FlowControl::Pfc {
            settings: settings(PauseScope::PerIngress),
            priorities: 0b1000,
        };
        let mut sender = PauseSender::new(&control, 2).unwrap();
        assert!(
            !sender.charge(0, 2, 1_000),
            "priority 2 is not under flow control"
        );
        assert!(!sender.charge(0, 3, 100));
        assert!(!sender.charge(1, 3, 100));
        assert!(sender.charge(1, 3, 1));
        let mut told = Vec::new();
        sender.switch(1, 3, true, |m| told.push((m.port, sender_gate(m.account))));
        assert_eq!(told, [(1, 8)]);
    }

    const fn sender_gate(account: u8) -> u64 {
        1 << account
    }

    #[test]
    fn credits_are_returned_in_lumps_for_all_outputs_at_once() {
        let control = FlowControl::Credits {
            bytes_per_output: 4_000,
            return_bytes: 1_000,
        };
        let mut sender = CreditSender::new(&control, 2).unwrap();
        assert!(!sender.free(0, 1, 2_000), "the neighbour does not send by credit");
        sender.takes[0] = true;
        assert!(!sender.free(0, 1, 999));
        assert!(!sender.free(0, 0, 700));
        assert!(sender.free(0, 1, 1));
        assert_eq!(sender.take_owed(0, 0), Some((0, 700)));
        assert_eq!(sender.take_owed(0, 1), Some((1, 1_000)));
        assert_eq!(sender.take_owed(0, 0), None);
    }
}
