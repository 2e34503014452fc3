//! Scratch.
use clearway_policy::load;
use clearway_sim::results::Unobserved;
use clearway_sim::{RunOptions, run_with};
use std::path::Path;
fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let file = args.remove(0);
    let seeds: Vec<u64> = {
        let s = args.remove(0);
        let (a, b) = s.split_once('-').unwrap_or((&s, &s));
        (a.parse().unwrap()..=b.parse().unwrap()).collect()
    };
    let verbose = args.first().is_some_and(|a| a == "-v");
    if verbose {
        args.remove(0);
    }
    let loaded = load(Path::new(&file), &args).unwrap_or_else(|e| {
        for d in e {
            eprintln!("{d}");
        }
        std::process::exit(1)
    });
    let items = std::sync::Mutex::new(Vec::new());
    let stop = std::sync::atomic::AtomicBool::new(false);
    let t = std::time::Instant::now();
    let _ = clearway_experiment::cores::on_all_cores(&seeds, 2, &stop, |&seed| {
        let o = run_with(&loaded.scenario, seed, &RunOptions::default(), &mut Unobserved).unwrap();
        let secs = o.measured().as_ps() as f64 * 1e-12;
        let mut row = Vec::new();
        let bytes: u64 = o.classes.iter().map(|c| c.counters.window.bytes).sum();
        let offered: u64 = o.classes.iter().map(|c| c.counters.offered.bytes).sum();
        let dropped: u64 = o.classes.iter().map(|c| c.counters.dropped.frames).sum();
        row.push(("offG", offered as f64 * 8e-9 / secs));
        row.push(("thrG", bytes as f64 * 8e-9 / secs));
        row.push(("drop", dropped as f64));
        let ctl: Vec<f64> = o
            .ports
            .iter()
            .filter(|p| p.name.starts_with("sw@"))
            .map(|p| p.control_frames as f64 / secs / 1e3)
            .collect();
        row.push(("ctlK", ctl.iter().sum::<f64>() / ctl.len() as f64));
        let ctl: f64 = o.ports.iter().map(|p| p.control_frames as f64 / secs / 1e3).sum();
        row.push(("ctlAllK", ctl));
        row.push(("memKB", o.switches[0].memory_bytes_peak as f64 / 1024.0));
        for (i, c) in o.classes.iter().enumerate() {
            let n = ["gen", "nic", "wire", "gen2", "nic2", "wire2"];
            let h = [
                &c.counters.from_generation,
                &c.counters.from_nic,
                &c.counters.from_first_bit,
            ];
            if i < 2 {
                for k in 0..3 {
                    row.push((n[i * 3 + k], h[k].mean().unwrap_or(0.0) * 1e-6));
                }
                row.push(("p99", h[0].value_at_quantile(0.99).unwrap_or(0) as f64 * 1e-6));
                row.push(("max", h[0].max().unwrap_or(0) as f64 * 1e-6));
                row.push(("maxwire", h[2].max().unwrap_or(0) as f64 * 1e-6));
                row.push(("left", c.in_flight as f64));
            }
        }
        if verbose {
            eprintln!("{seed}: {row:?}");
            for p in &o.ports {
                eprintln!(
                    "  {} ctl {} paused {:?} lost {}",
                    p.name, p.control_frames, p.paused_ps, p.lost_to_pause_ps
                );
            }
        }
        items.lock().unwrap().push(row);
    });
    let items = items.into_inner().unwrap();
    let n = items.len() as f64;
    for k in 0..items[0].len() {
        let v: Vec<f64> = items.iter().map(|r| r[k].1).collect();
        let m = v.iter().sum::<f64>() / n;
        let sd = (v.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
        print!("{}={m:.4}(sd {sd:.3}) ", items[0][k].0);
    }
    println!(" [{:.1}s]", t.elapsed().as_secs_f64());
}
