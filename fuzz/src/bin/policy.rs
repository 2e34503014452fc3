//! Any text is a policy or is refused with findings; what is a policy compiles to a valid plan or says why not.
#![no_main]

use clearway_policy::{compile, is_scenario, lint_policy, load_policy_str};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let _ = is_scenario(text);
    match load_policy_str(text, "policy.toml") {
        Ok(policy) => {
            for rate in [None, Some(1), Some(100_000_000_000)] {
                let _ = lint_policy(&policy, rate);
            }
            for line_rate_bps in [10_000_000, 10_000_000_000, 1_600_000_000_000] {
                match compile(&policy, line_rate_bps) {
                    Ok(compiled) => {
                        compiled
                            .plan
                            .validate()
                            .expect("a compiled policy is a valid plan");
                        assert_eq!(compiled.plan.nodes.len(), compiled.node_names.len());
                    }
                    Err(findings) => assert!(!findings.is_empty(), "refused without a reason"),
                }
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
