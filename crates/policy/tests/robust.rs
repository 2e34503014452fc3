//! No input makes the readers panic: shipped files damaged at random, and bytes that were never a file.

use std::path::Path;

/// A congruential sequence with output mixing: the same bytes in every run.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xFF51_AFD7_ED55_8CCD) ^ (x >> 29)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

fn damaged(text: &[u8], random: &mut Sequence) -> Vec<u8> {
    let mut bytes = text.to_vec();
    for _ in 0..=random.below(6) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] = random.next() as u8,
            1 => drop(bytes.drain(at..(at + random.below(20)).min(bytes.len()))),
            2 => {
                let from = random.below(bytes.len());
                let piece = bytes[from..(from + random.below(40)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            3 => bytes[at] = b"0123456789[]{}\"=.,-\n"[random.below(20)],
            _ => bytes.truncate(at),
        }
    }
    bytes
}

fn read_all(text: &str, sets: &[String]) -> usize {
    let policy = clearway_policy::load_policy_str(text, "t");
    if let Ok(policy) = &policy {
        let _ = clearway_policy::compile(policy, 1);
        let _ = clearway_policy::lint_policy(policy, Some(u64::MAX));
    }
    let resolve = |path: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../scenarios")
            .join(path);
        std::fs::read(file).map_err(|e| e.to_string())
    };
    let scenario = clearway_policy::load_str(text, "t", sets, &resolve);
    let shown = match &scenario {
        Ok(loaded) => clearway_policy::lint(loaded).len(),
        Err(findings) => findings.iter().map(|d| d.to_string().len()).sum(),
    };
    usize::from(policy.is_ok()) + usize::from(scenario.is_ok()) + shown.min(1)
}

#[test]
fn damaged_files_are_told_apart_from_good_ones_without_a_panic() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut random = Sequence(7);
    let mut read = 0;
    for file in [
        "policies/two-channels.toml",
        "policies/eight-classes.toml",
        "policies/video.toml",
        "scenarios/first-steps.toml",
        "crates/policy/tests/findings/buffer-cycle.toml",
        "crates/policy/tests/findings/error-scenario.toml",
    ] {
        let text = std::fs::read(root.join(file)).expect("the file can be read");
        for _ in 0..400 {
            let bytes = damaged(&text, &mut random);
            let set = format!(
                "{}={}",
                ["duration", "host.h.count", "class.x", "a..b", "\""][random.below(5)],
                random.below(99)
            );
            read += read_all(&String::from_utf8_lossy(&bytes), &[set]);
        }
    }
    assert!(read > 0);
}

#[test]
fn random_bytes_are_no_file_and_no_panic() {
    let mut random = Sequence(11);
    for _ in 0..2_000 {
        let length = random.below(200);
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        read_all(&String::from_utf8_lossy(&bytes), &[]);
        let _ = clearway_policy::pcap::read_capture(&bytes);
        let _ = clearway_policy::pcap::flow_key(&bytes);
    }
}

#[test]
fn deep_nesting_is_refused_and_not_a_stack_overflow() {
    for text in [
        "[".repeat(100_000),
        format!("a{}=1", ".a".repeat(50_000)),
        "a=[".repeat(9_000),
        "a={".repeat(9_000),
    ] {
        assert!(clearway_policy::load_policy_str(&text, "t").is_err());
    }
}
