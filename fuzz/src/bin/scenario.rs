//! Any text is a scenario or is refused with findings. Files that it names are the repository's policies and devices, or missing.
#![no_main]

use clearway_policy::{lint, load_str};
use libfuzzer_sys::fuzz_target;

const FILES: [(&str, &[u8]); 5] = [
    (
        "two-channels.toml",
        include_bytes!("../../../policies/two-channels.toml"),
    ),
    (
        "eight-classes.toml",
        include_bytes!("../../../policies/eight-classes.toml"),
    ),
    (
        "per-destination.toml",
        include_bytes!("../../../policies/per-destination.toml"),
    ),
    ("video.toml", include_bytes!("../../../policies/video.toml")),
    ("t5.toml", include_bytes!("../../../devices/t5.toml")),
];

fn resolve(path: &str) -> Result<Vec<u8>, String> {
    let file = FILES.iter().find(|(name, _)| path.ends_with(name));
    file.map(|(_, text)| text.to_vec())
        .ok_or_else(|| "no such file".to_owned())
}

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    // A second line of `set` overrides may follow the text after a form feed.
    let (text, set) = text
        .split_once('\x0c')
        .map_or((text, None), |(text, set)| (text, Some(set.to_owned())));
    let sets: Vec<String> = set.into_iter().collect();
    match load_str(text, "scenario.toml", &sets, &resolve) {
        Ok(loaded) => {
            let _ = lint(&loaded);
            for policy in &loaded.scenario.policies {
                policy.plan.validate().expect("a compiled policy is a valid plan");
            }
        }
        Err(findings) => {
            assert!(!findings.is_empty(), "refused without a reason");
            for finding in findings {
                let _ = finding.to_string();
            }
        }
    }
});
