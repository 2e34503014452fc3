//! What the audit finds in the shipped inputs, and what it finds when one of them is changed.

use super::*;

fn shipped() -> AuditFile {
    read(DATA).unwrap_or_else(|e| panic!("{e}"))
}

/// The text of one check of the shipped file, with its document, and a replacement.
fn verdict_with(name: &str, from: &str, to: &str) -> Agreement {
    let start = DATA
        .find(&format!("name = \"{name}\""))
        .unwrap_or_else(|| panic!("{name}"));
    let end = DATA[start..]
        .find("\n[[check]]")
        .map_or(DATA.len(), |n| start + n);
    let one = &DATA[start..end];
    assert_eq!(one.matches(from).count(), 1, "{name}: {from} stands there once");
    let text = format!("{}{}{}", &DATA[..start], one.replace(from, to), &DATA[end..]);
    let file = read(&text).unwrap_or_else(|e| panic!("{e}"));
    let check = file.checks.iter().find(|c| c.name == name).expect("it is there");
    carry_out(check).unwrap_or_else(|e| panic!("{e}")).agreement
}

fn audited(name: &str) -> Audited {
    let file = shipped();
    let check = file.checks.iter().find(|c| c.name == name);
    carry_out(check.unwrap_or_else(|| panic!("{name}"))).unwrap_or_else(|e| panic!("{e}"))
}

/// Computed beside a figure that was worked out on paper, to the digits given here.
fn close(name: &str, expected: f64, digits: f64) {
    let computed = audited(name).computed;
    assert!(
        (computed - expected).abs() <= digits / 2.0,
        "{name}: {computed}, not {expected}"
    );
}

#[test]
fn results_are_those_worked_out_on_paper() {
    close("calls-one-channel", 5.000_06, 1e-5);
    close("calls-not-sampled", 146.7e-6, 1e-7);
    close("goodput-1460", 9492.85e6, 1e4);
    close("goodput-two-channels", 9455e6, 1e6);
    close("burst-on-the-wire", 2.392e-3, 1e-6);
    close("burst-ratio-256", 69.0, 1.0);
    close("burst-ratio-256-no-drain", 83.0, 1.0);
    close("drain-and-message-rate", 1.672e6, 1e3);
    close("outstanding-10-90", 89.2, 0.1);
    close("latency-10-90", 0.195, 1e-3);
    close("control-rate", 110.88e6, 1e4);
    close("pci-32-bit", 1.056e9, 1e6);
}

#[test]
fn what_the_documents_print_is_found_consistent_or_not() {
    use Agreement::{Approximate, Consistent, Inconsistent};
    let expected = [
        ("calls-alone", Consistent),
        ("calls-one-channel", Consistent),
        ("calls-two-channels", Consistent),
        ("averages-one-channel", Inconsistent),
        ("averages-two-channels", Approximate),
        ("tenfold-of-all-calls", Inconsistent),
        ("goodput-1460", Consistent),
        ("goodput-1448", Inconsistent),
        ("burst-t5", Consistent),
        ("burst-header", Inconsistent),
        ("burst-ratio-256", Inconsistent),
        ("burst-ratio-256-no-drain", Inconsistent),
        ("outstanding-alone", Approximate),
        ("outstanding-no-qos", Consistent),
        ("outstanding-80-20", Consistent),
        ("outstanding-10-90", Inconsistent),
        ("block-alone", Approximate),
        ("share-80-20", Approximate),
        ("control-rate", Consistent),
        ("control-share", Consistent),
        ("blocking-loss", Consistent),
        ("qos-overhead", Inconsistent),
        ("jumbo-goodput", Consistent),
    ];
    for (name, agreement) in expected {
        assert_eq!(audited(name).agreement, agreement, "{name}");
    }
}

#[test]
fn another_input_gives_another_verdict() {
    use Agreement::{Consistent, Inconsistent};
    assert_eq!(
        verdict_with("calls-one-channel", "value = \"258.428\"", "value = \"158.428\""),
        Inconsistent
    );
    assert_eq!(
        verdict_with("averages-one-channel", "value = \"36.5201\"", "value = \"129.2\""),
        Consistent
    );
    assert_eq!(verdict_with("burst-t5", "\"23000\"", "\"32000\""), Inconsistent);
    assert_eq!(verdict_with("burst-ratio-256", "\"400\"", "\"200\""), Consistent);
    assert_eq!(verdict_with("latency-10-90", "\"819\"", "\"1520\""), Consistent);
    assert_eq!(
        verdict_with("control-rate", "\"165e3\"", "\"195e3\""),
        Inconsistent
    );
    assert_eq!(verdict_with("node-memory", "\"128\"", "\"64\""), Consistent);
}

#[test]
fn every_check_can_be_done_and_every_document_has_some() {
    let file = shipped();
    let all = audit(&file).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(all.len(), file.checks.len());
    for document in &file.documents {
        let own = all.iter().filter(|a| a.check.document == document.key).count();
        assert!(own >= 5, "{}: {own}", document.key);
    }
    for a in &all {
        assert!(
            a.range[0] <= a.computed && a.computed <= a.range[1],
            "{}",
            a.check.name
        );
        let text = shown::computation(a);
        let written = a
            .check
            .inputs
            .iter()
            .all(|i| text.contains(&i.number.shown()) && text.contains(&i.stands));
        assert!(written && text.contains(a.agreement.as_str()), "{text}");
    }
}

#[test]
fn a_relation_is_one_sided() {
    use Agreement::{Approximate, Consistent, Inconsistent};
    let mut check = audited("video-mix").check;
    let with = |check: &Check, range: [f64; 2], difference| agreement(check, range, difference);
    check.relation = Relation::AtMost;
    assert_eq!(with(&check, [1e9; 2], -90.0), Consistent);
    assert_eq!(with(&check, [10.3e9; 2], 3.0), Approximate);
    assert_eq!(with(&check, [11e9; 2], 10.0), Inconsistent);
    check.relation = Relation::AtLeast;
    assert_eq!(with(&check, [11e9; 2], 10.0), Consistent);
    assert_eq!(with(&check, [9e9; 2], -10.0), Inconsistent);
    check.relation = Relation::Equals;
    assert_eq!(with(&check, [9e9, 11e9], 8.0), Consistent);
    assert_eq!(with(&check, [10.04e9; 2], 0.4), Consistent);
}

#[test]
fn a_mistake_in_the_file_names_the_check() {
    for (from, to, part) in [
        (
            "formula = \"calls * rtt\"",
            "formula = \"calls * rtt * x\"",
            "neither an input",
        ),
        (
            "formula = \"calls * rtt\"",
            "formula = \"calls\"",
            "goes into nothing",
        ),
        ("document = \"t4\"", "document = \"t6\"", "no document"),
        (
            "unit = \"s\"\npublished",
            "unit = \"B\"\npublished",
            "published figure in s",
        ),
        ("unit = \"us\"", "unit = \"fortnight\"", "not known"),
        ("value = \"5\"", "value = \"0\"", "other than 0"),
    ] {
        let said = read(&DATA.replacen(from, to, 1)).expect_err(to);
        assert!(said.contains("calls-alone") && said.contains(part), "{said}");
    }
    let said = read(&DATA.replacen("finding", "findnig", 1)).expect_err("unknown key");
    assert!(said.contains("findnig"), "{said}");
}

#[test]
fn a_formula_that_gives_no_number_is_told() {
    let text = DATA.replacen(
        "formula = \"calls * rtt\"",
        "formula = \"rtt / (calls - calls)\"",
        1,
    );
    let file = read(&text).unwrap_or_else(|e| panic!("{e}"));
    assert!(audit(&file).is_err_and(|e| e.contains("calls-alone") && e.contains("no number")));
}
