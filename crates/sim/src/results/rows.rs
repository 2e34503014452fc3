//! Results as tidy rows.
//!
//! Rates are over the measured time, from the warm-up to the end. Latency is of all frames generated after the
//! warm-up and delivered before the end; loss stands beside it.

use super::collect::{Cause, Totals};
use super::{
    ActionResult, ClassResult, CpuResult, Events, FlowJitter, Messages, Operations, Outcome, PortResult,
};
use clearway_core::Duration;
use clearway_metrics::Row;
use clearway_metrics::histogram::Histogram;

const SECOND_PS: f64 = 1e12;

/// Writes rows of one run.
struct Writer<'a> {
    run: &'a str,
    seed: u64,
    seconds: f64,
    rows: Vec<Row>,
}

/// What a row is about.
#[derive(Clone, Copy)]
struct About<'a> {
    scope: &'static str,
    name: &'a str,
    population: &'a str,
}

/// Metric, statistic, unit and layer of a row.
type What<'a> = (&'static str, &'a str, &'static str, &'static str);

impl Writer<'_> {
    fn add(&mut self, about: About<'_>, (metric, stat, unit, layer): What<'_>, value: f64) {
        self.rows.push(Row {
            run: self.run.to_owned(),
            seed: self.seed,
            scope: about.scope,
            name: about.name.to_owned(),
            metric,
            stat: stat.to_owned(),
            unit,
            layer,
            value,
            population: about.population.to_owned(),
        });
    }

    /// Rates and sums at each layer.
    fn totals(&mut self, about: About<'_>, frames: &'static str, rate: &'static str, totals: &Totals) {
        self.add(about, (frames, "sum", "1", "-"), totals.frames as f64);
        let layers = [
            ("L1", totals.l1_bytes()),
            ("L2", totals.bytes),
            ("payload", totals.payload),
        ];
        for (layer, bytes) in layers {
            self.add(
                about,
                (rate, "mean", "bit/s", layer),
                bytes as f64 * 8.0 / self.seconds,
            );
        }
    }

    /// The summary of a histogram of picoseconds, in seconds.
    fn latency(&mut self, about: About<'_>, metric: &'static str, histogram: &Histogram) {
        self.add(about, (metric, "count", "1", "-"), histogram.count() as f64);
        let Some(mean) = histogram.mean() else { return };
        self.add(about, (metric, "mean", "s", "-"), mean / SECOND_PS);
        if let (Some(min), Some(max)) = (histogram.min(), histogram.max()) {
            self.add(about, (metric, "min", "s", "-"), min as f64 / SECOND_PS);
            self.add(about, (metric, "max", "s", "-"), max as f64 / SECOND_PS);
        }
        for (stat, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
            if let Some(value) = histogram.value_at_quantile(q) {
                self.add(about, (metric, stat, "s", "-"), value as f64 / SECOND_PS);
            }
        }
    }

    fn causes(&mut self, about: About<'_>, causes: &[u64]) {
        for (cause, &count) in Cause::all().zip(causes) {
            if count > 0 {
                self.add(about, ("frames_dropped", cause.name(), "1", "-"), count as f64);
            }
        }
    }

    fn class(&mut self, class: &ClassResult) {
        let about = |population| About {
            scope: "class",
            name: &class.name,
            population,
        };
        let c = &class.counters;
        let generated = about("frames generated after warm-up");
        self.totals(generated, "frames_offered", "offered", &c.offered);
        self.add(
            generated,
            ("frames_delivered", "sum", "1", "-"),
            c.delivered.frames as f64,
        );
        self.add(
            generated,
            ("frames_dropped", "sum", "1", "-"),
            c.dropped.frames as f64,
        );
        self.add(
            generated,
            ("frames_in_flight", "sum", "1", "-"),
            class.in_flight as f64,
        );
        self.causes(generated, &c.causes);
        self.totals(
            about("frames delivered after warm-up"),
            "frames_received",
            "throughput",
            &c.window,
        );
        let all = about("all frames");
        self.latency(all, "latency", &c.from_generation);
        self.latency(all, "latency_from_nic", &c.from_nic);
        self.latency(all, "latency_from_first_bit", &c.from_first_bit);
    }

    /// Jitter and delay variation over the flows of a class.
    fn evenness(&mut self, place: usize, name: &str, outcome: &Outcome) {
        let mine = outcome.flows.iter().filter(|f| usize::from(f.class) == place);
        let jitters: Vec<FlowJitter> = mine.filter_map(|f| f.jitter).filter(|j| j.frames > 1).collect();
        if jitters.is_empty() {
            return;
        }
        let population = format!("{} flows", jitters.len());
        let about = About {
            scope: "class",
            name,
            population: &population,
        };
        let jitter: Vec<u64> = jitters.iter().map(|j| j.jitter_ps).collect();
        let variation: Vec<u64> = jitters.iter().map(|j| j.variation_ps).collect();
        for (metric, mut values) in [("jitter", jitter), ("delay_variation", variation)] {
            values.sort_unstable();
            let sum: f64 = values.iter().map(|&v| v as f64).sum();
            let mean = sum / values.len() as f64;
            self.add(about, (metric, "mean", "s", "-"), mean / SECOND_PS);
            for (stat, q) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
                // The smallest value that so many are at most.
                let rank = (q * values.len() as f64 + 0.5) as usize;
                let at = rank.clamp(1, values.len()) - 1;
                self.add(about, (metric, stat, "s", "-"), values[at] as f64 / SECOND_PS);
            }
        }
        let late: u64 = jitters.iter().map(|j| j.reordered).sum();
        self.add(about, ("frames_reordered", "sum", "1", "-"), late as f64);
    }

    fn port(&mut self, port: &PortResult, measured_ps: f64) {
        let about = About {
            scope: "port",
            name: &port.name,
            population: "all frames",
        };
        self.totals(about, "frames_sent", "throughput", &port.totals);
        let busy = port.totals.l1_bytes() + 84 * port.control_frames;
        let utilisation = busy as f64 * 8.0 / self.seconds / port.rate_bps as f64;
        self.add(about, ("utilisation", "mean", "1", "L1"), utilisation);
        self.add(
            about,
            ("backlog", "max", "B", "L2"),
            port.backlog_bytes_max as f64,
        );
        self.add(
            about,
            ("backlog", "mean", "B", "L2"),
            port.backlog_area as f64 / measured_ps,
        );
        for queue in &port.queues {
            let name = format!("{}:{}", port.name, queue.name);
            let queue_about = About {
                scope: "queue",
                name: &name,
                population: "warm-up included",
            };
            self.add(queue_about, ("backlog", "max", "B", "L2"), queue.bytes_max as f64);
        }
        if port.control_frames > 0 || port.pause_frames_received > 0 {
            let rate = port.control_frames as f64 / self.seconds;
            self.add(
                about,
                ("control_frames_sent", "sum", "1", "-"),
                port.control_frames as f64,
            );
            self.add(about, ("control_frames_sent", "mean", "frame/s", "-"), rate);
            self.add(
                about,
                ("control_traffic", "mean", "bit/s", "L1"),
                rate * 84.0 * 8.0,
            );
            self.add(
                about,
                ("control_frames_received", "sum", "1", "-"),
                port.pause_frames_received as f64,
            );
        }
        if !port.paused_ps.is_empty() {
            for &(gate, ps) in &port.paused_ps {
                self.add(
                    about,
                    ("time_paused", &format!("gate {gate}"), "s", "-"),
                    ps as f64 / SECOND_PS,
                );
            }
            let lost = port.lost_to_pause_ps as f64 / SECOND_PS;
            self.add(about, ("time_lost_to_pause", "sum", "s", "-"), lost);
            let bits = port.bits_lost_to_pause() as f64;
            self.add(
                about,
                ("throughput_lost_to_pause", "mean", "bit/s", "L1"),
                bits / self.seconds,
            );
        }
    }

    fn messages(&mut self, workload: &str, m: &Messages) {
        let about = |population| About {
            scope: "workload",
            name: workload,
            population,
        };
        let posted = about("messages posted after warm-up");
        self.add(posted, ("messages_posted", "sum", "1", "-"), m.posted as f64);
        self.add(
            posted,
            ("messages_delivered", "sum", "1", "-"),
            m.delivered as f64,
        );
        self.add(
            about("all messages"),
            ("messages_lost", "sum", "1", "-"),
            m.lost as f64,
        );
        let whole_run = about("warm-up included");
        self.add(
            whole_run,
            ("segments_sent_again", "sum", "1", "-"),
            m.sent_again as f64,
        );
        self.add(
            whole_run,
            ("retransmission_timeouts", "sum", "1", "-"),
            m.timeouts as f64,
        );
        let window = about("messages delivered after warm-up");
        let (count, bits) = (m.window as f64, m.window_bytes as f64 * 8.0);
        let seconds = self.seconds;
        self.add(
            window,
            ("message_rate", "mean", "message/s", "-"),
            count / seconds,
        );
        self.add(
            window,
            ("message_throughput", "mean", "bit/s", "payload"),
            bits / seconds,
        );
        self.latency(posted, "one_way", &m.one_way);
        if m.completions.count() > 0 {
            self.latency(about("all completed writes"), "write_completion", &m.completions);
        }
        if m.round_trips.count() > 0 {
            self.latency(
                about("all answered messages"),
                "message_round_trip",
                &m.round_trips,
            );
        }
    }

    fn events(&mut self, workload: &str, e: &Events) {
        let about = |population| About {
            scope: "workload",
            name: workload,
            population,
        };
        let triggered = about("events triggered after warm-up");
        self.add(
            triggered,
            ("events_triggered", "sum", "1", "-"),
            e.triggered as f64,
        );
        self.add(
            triggered,
            ("events_incomplete", "sum", "1", "-"),
            e.incomplete as f64,
        );
        let seconds = self.seconds;
        let built = about("events built after warm-up");
        self.add(
            built,
            ("event_rate", "mean", "event/s", "-"),
            e.built as f64 / seconds,
        );
        self.add(
            built,
            ("event_throughput", "mean", "bit/s", "payload"),
            e.built_bytes as f64 * 8.0 / seconds,
        );
        self.add(built, ("fragments", "sum", "1", "-"), e.fragments as f64);
        self.add(
            about("all events"),
            ("events_open", "sum", "1", "-"),
            e.open as f64,
        );
        self.latency(triggered, "event_latency", &e.latency);
    }

    fn cpu(&mut self, name: &str, cpu: &CpuResult, measured: Duration) {
        let about = About {
            scope: "cpu",
            name,
            population: "time after warm-up",
        };
        let span = (measured.as_ps() as f64).max(1.0);
        let u = &cpu.usage;
        self.add(about, ("cpu_useful", "mean", "1", "-"), cpu.useful(measured));
        self.add(about, ("cpu_taken", "mean", "1", "-"), cpu.taken(measured));
        let parts = [
            ("receive", u.receive_ps),
            ("transmit", u.transmit_ps),
            ("interrupt", u.interrupt_ps),
        ];
        for (part, ps) in parts {
            self.add(about, ("cpu_useful", part, "1", "-"), ps as f64 / span);
        }
        self.add(about, ("interrupts", "sum", "1", "-"), u.interrupts as f64);
        self.add(about, ("packets_taken", "sum", "1", "-"), u.packets as f64);
        self.add(about, ("frames_taken", "sum", "1", "-"), u.frames as f64);
        self.add(
            about,
            ("receive_ring_used", "max", "frame", "-"),
            u.ring_frames_max as f64,
        );
    }

    fn storage(&mut self, name: &str, o: &Operations, measured: Duration) {
        let about = About {
            scope: "workload",
            name,
            population: "operations complete after warm-up",
        };
        self.add(about, ("operations", "sum", "1", "-"), o.completed() as f64);
        self.add(about, ("operations", "mean", "op/s", "-"), o.rate(measured));
        let bits = o.bytes as f64 * 8.0 / self.seconds;
        self.add(about, ("blocks", "mean", "bit/s", "payload"), bits);
        let copies = o.remote_copies as f64;
        self.add(about, ("copies_sent", "sum", "1", "-"), copies);
        let outstanding = o.outstanding(measured);
        self.add(about, ("operations_outstanding", "mean", "1", "-"), outstanding);
        for (metric, histogram) in [("write_latency", &o.writes), ("read_latency", &o.reads)] {
            if histogram.count() > 0 {
                self.latency(about, metric, histogram);
            }
        }
    }

    fn action(&mut self, action: &ActionResult) {
        let about = About {
            scope: "action",
            name: &action.name,
            population: "since the action",
        };
        self.add(about, ("at", "value", "s", "-"), action.at_ps as f64 / SECOND_PS);
        let counts = [
            ("ports_changed", action.ports),
            ("flows_concerned", action.flows),
            ("flows_moved", action.flows_moved),
            ("frames_lost", action.frames_lost),
        ];
        for (metric, count) in counts {
            if count > 0 {
                self.add(about, (metric, "sum", "1", "-"), count as f64);
            }
        }
        if action.moves != [0, 0] {
            self.add(about, ("flows_moved", "up", "1", "-"), action.moves[1] as f64);
            self.add(about, ("flows_moved", "down", "1", "-"), action.moves[0] as f64);
        }
        let spans = [
            ("flows_back_after", action.flows_back_ps),
            ("throughput_back_after", action.throughput_back_ps),
        ];
        for (metric, span) in spans {
            if let Some(ps) = span {
                self.add(about, (metric, "value", "s", "-"), ps as f64 / SECOND_PS);
            }
        }
    }
}

/// All rows of an outcome.
pub(super) fn of(outcome: &Outcome, run: &str) -> Vec<Row> {
    let measured_ps = (outcome.measured().as_ps() as f64).max(1.0);
    let mut w = Writer {
        run,
        seed: outcome.seed,
        seconds: measured_ps / SECOND_PS,
        rows: Vec::new(),
    };
    for class in &outcome.classes {
        w.class(class);
    }
    for (index, flow) in outcome.flows.iter().enumerate() {
        let name = format!("{index}");
        let about = About {
            scope: "flow",
            name: &name,
            population: "frames generated after warm-up",
        };
        let c = &flow.counters;
        w.add(
            about,
            ("frames_offered", "sum", "1", "-"),
            c.offered_frames as f64,
        );
        w.add(
            about,
            ("frames_delivered", "sum", "1", "-"),
            c.delivered_frames as f64,
        );
        w.add(
            about,
            ("frames_dropped", "sum", "1", "-"),
            c.dropped_frames as f64,
        );
        w.add(
            about,
            ("delivered", "mean", "bit/s", "L2"),
            c.delivered_bytes as f64 * 8.0 / w.seconds,
        );
        if c.delivered_frames > 0 {
            let mean = c.latency_sum_ps as f64 / c.delivered_frames as f64;
            w.add(about, ("latency", "mean", "s", "-"), mean / SECOND_PS);
            w.add(
                about,
                ("latency", "min", "s", "-"),
                c.latency_min_ps as f64 / SECOND_PS,
            );
            w.add(
                about,
                ("latency", "max", "s", "-"),
                c.latency_max_ps as f64 / SECOND_PS,
            );
        }
        if let Some(latency) = &flow.latency {
            for (stat, q) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
                if let Some(value) = latency.value_at_quantile(q) {
                    w.add(about, ("latency", stat, "s", "-"), value as f64 / SECOND_PS);
                }
            }
        }
        if let Some(j) = flow.jitter.filter(|j| j.frames > 1) {
            let seconds = |ps: u64| ps as f64 / SECOND_PS;
            w.add(about, ("jitter", "last", "s", "-"), seconds(j.jitter_ps));
            w.add(about, ("jitter", "max", "s", "-"), seconds(j.jitter_max_ps));
            w.add(
                about,
                ("delay_variation", "max", "s", "-"),
                seconds(j.variation_ps),
            );
            w.add(about, ("frames_reordered", "sum", "1", "-"), j.reordered as f64);
        }
    }
    for (place, class) in outcome.classes.iter().enumerate() {
        w.evenness(place, &class.name, outcome);
    }
    for port in &outcome.ports {
        w.port(port, measured_ps);
    }
    for switch in &outcome.switches {
        let about = About {
            scope: "switch",
            name: &switch.name,
            population: "all frames",
        };
        w.add(
            about,
            ("memory_used", "max", "B", "L2"),
            switch.memory_bytes_peak as f64,
        );
        w.add(
            about,
            ("memory_used", "mean", "B", "L2"),
            switch.memory_area as f64 / measured_ps,
        );
        w.causes(about, &switch.causes);
    }
    for host in &outcome.hosts {
        let about = About {
            scope: "host",
            name: &host.name,
            population: "all frames",
        };
        w.add(
            about,
            ("receive_buffer_used", "max", "B", "L2"),
            host.receive_bytes_peak as f64,
        );
        w.causes(about, &host.causes);
        for (index, cpu) in host.cpus.iter().enumerate() {
            w.cpu(&format!("{}:cpu{index}", host.name), cpu, outcome.measured());
        }
    }
    for call in &outcome.calls {
        let about = About {
            scope: "workload",
            name: &call.workload,
            population: "all calls",
        };
        w.add(about, ("calls_begun", "sum", "1", "-"), call.calls.begun as f64);
        w.add(
            about,
            ("calls_answered", "sum", "1", "-"),
            call.calls.answered as f64,
        );
        w.latency(about, "round_trip", &call.calls.round_trips);
        let samples = &call.calls.samples;
        if !samples.is_empty() {
            let population = format!("first {} round trips", samples.len());
            let about = About {
                population: &population,
                ..about
            };
            let sum: f64 = samples.iter().map(|&s| s as f64).sum();
            w.add(
                about,
                ("round_trip", "mean", "s", "-"),
                sum / samples.len() as f64 / SECOND_PS,
            );
            let (min, max) = (samples.iter().min(), samples.iter().max());
            w.add(
                about,
                ("round_trip", "min", "s", "-"),
                min.map_or(0.0, |&v| v as f64) / SECOND_PS,
            );
            w.add(
                about,
                ("round_trip", "max", "s", "-"),
                max.map_or(0.0, |&v| v as f64) / SECOND_PS,
            );
        }
    }
    for result in &outcome.messages {
        w.messages(&result.workload, &result.messages);
    }
    for result in &outcome.events {
        w.events(&result.workload, &result.events);
    }
    for tcp in &outcome.tcp {
        let about = About {
            scope: "workload",
            name: &tcp.workload,
            population: "bytes in order after warm-up",
        };
        let rate = tcp.delivered_bytes as f64 * 8.0 / w.seconds;
        w.add(about, ("throughput", "mean", "bit/s", "payload"), rate);
    }
    for result in &outcome.storage {
        w.storage(&result.workload, &result.all, outcome.measured());
        for (host, own) in &result.hosts {
            let host = outcome.hosts.get(*host as usize).map_or("", |h| h.name.as_str());
            w.storage(&format!("{}@{host}", result.workload), own, outcome.measured());
        }
    }
    for action in &outcome.actions {
        w.action(action);
    }
    w.rows
}
