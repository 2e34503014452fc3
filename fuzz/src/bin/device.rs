//! Any text is a device file or is refused with findings, by itself and as the device of a host.
#![no_main]

use clearway_policy::{load_device_str, load_str};
use libfuzzer_sys::fuzz_target;

const SCENARIO: &str = r#"
duration = "1ms"
[host.a]
device = "device.toml"
[host.b]
[link.cable]
ends = ["a", "b"]
rate = "10Gbit/s"
[workload.w]
from = "a"
to = "b"
poisson = { frame = "64B", rate = "1frame/s" }
"#;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let alone = load_device_str(text, "device.toml");
    let named = load_str(SCENARIO, "scenario.toml", &[], &|_| Ok(input.to_vec()));
    for findings in [alone.as_ref().err(), named.as_ref().err()].into_iter().flatten() {
        assert!(!findings.is_empty(), "refused without a reason");
        for finding in findings {
            let _ = finding.to_string();
        }
    }
    assert!(named.is_err() || alone.is_ok(), "a host took what is no device");
});
