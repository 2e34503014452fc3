//! Beyond the published cases: through a switch that reads the tag, and into a host behind a slow bus.

use super::cases::{File, NO_BULK, Run, Seen, Span, run_file, switch_policy, two_channels};
use super::figures;
use crate::reproduce::{Case, Context, Section};
use clearway_report::{Cell, Table};

const SWITCH: File = File {
    name: "scenarios/t4-switch.toml",
    text: include_str!("../../../../scenarios/t4-switch.toml"),
};
const INBOUND: File = File {
    name: "scenarios/t4-inbound.toml",
    text: include_str!("../../../../scenarios/t4-inbound.toml"),
};

/// Seeds of these cases: nothing published is compared with them.
const SEEDS: u32 = 2;

fn case(name: &str, span: &Span, sets: impl IntoIterator<Item = String>) -> Case {
    let duration = format!("duration={}ms", span.aside);
    let warmup = format!("warmup={}ms", span.aside / 10);
    Case::new(name, [duration, warmup].into_iter().chain(sets)).with_seeds(SEEDS)
}

fn table(title: &str, seen: &[Seen]) -> Table {
    let mut table = Table::new(
        title,
        ["case", "RTT/2 mean", "p50", "p99", "max", "calls", "TCP payload"],
    );
    for seen in seen {
        table.push([
            Cell::text(seen.name.clone()),
            Cell::number(seen.average(Run::mean), "s"),
            Cell::number(seen.average(|r| r.quantile(0.5)), "s"),
            Cell::number(seen.average(|r| r.quantile(0.99)), "s"),
            Cell::number(seen.average(|r| r.quantile(1.0)), "s"),
            Cell::number(seen.average(|r| Some(r.call_rate())), "1/s"),
            Cell::number(seen.average(|r| Some(r.tcp_bps)), "bit/s"),
        ]);
    }
    table
}

/// End to end through a VLAN-aware switch.
pub(super) fn switch(context: &Context<'_>, span: &Span) -> Result<Section, String> {
    let hosts = ["a", "b", "c"];
    let mut everywhere = two_channels(&hosts);
    everywhere.push(switch_policy());
    let cases = [
        case("calls alone", span, [NO_BULK.to_owned()]),
        case("one channel everywhere", span, []),
        case("two channels in the NICs only", span, two_channels(&hosts)),
        case("two channels in the switch only", span, [switch_policy()]),
        case("two channels end to end", span, everywhere),
    ];
    let seen = run_file(context, SWITCH, &cases)?;
    Ok(Section {
        heading: "End to end through a switch".to_owned(),
        text: vec![
            "Hosts a and c send bulk to b; a also calls b. Requests and replies carry PCP 6, bulk PCP 0. The queue that \
             matters is the switch's towards b: a NIC that knows priorities does nothing about it, and a switch that \
             knows them does nothing about the sender's own queue. Only the tag read at every hop gives the latency back."
                .to_owned(),
        ],
        tables: vec![table("Through a switch", &seen)],
        figures: vec![figures::distribution("RTT/2 through a switch", &seen.iter().collect::<Vec<_>>())],
    })
}

/// Bulk into a host whose bus is slower than its line.
pub(super) fn inbound(context: &Context<'_>, span: &Span) -> Result<Section, String> {
    let receive = "host.b.nic.receive_policy=../policies/two-channels.toml".to_owned();
    let cases = [
        case("calls alone", span, [NO_BULK.to_owned()]),
        case("one receive channel", span, []),
        case("priority receive channels", span, [receive]),
    ];
    let seen = run_file(context, INBOUND, &cases)?;
    Ok(Section {
        heading: "Bulk into a host behind a slow bus".to_owned(),
        text: vec![
            "Host b takes 8 Gbit/s less framing from a line of 10 Gbit/s, so bulk waits in its NIC. The sender has two \
             channels in both cases: priorities on transmit do not reach a queue at the receiver."
                .to_owned(),
        ],
        tables: vec![table("Into a host behind a slow bus", &seen)],
        figures: vec![figures::distribution("RTT/2 into a slow host", &seen.iter().collect::<Vec<_>>())],
    })
}
