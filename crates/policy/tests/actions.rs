//! What timed changes come out as: shares as weights, percentages as rates, groups of links, the order of time.

use clearway_core::Duration;
use clearway_policy::load_str;
use clearway_policy::scenario::{Action, Scenario};

const NETWORK: &str = r#"
duration = "10ms"
[policy.three.class.a]
share = "50%"
pcp = 1
[policy.three.class.b]
share = "30%"
pcp = 2
[policy.three.class.c]
share = "20%"
[host.h]
count = 2
nic.policy = "three"
[switch.sw]
memory = "1MB"
[link.slow]
ends = ["h1", "sw"]
rate = "10Gbit/s"
[link.fast]
ends = ["h2", "sw"]
rate = "25Gbit/s"
[workload.load]
from = "h1"
to = "h2"
poisson = { frame = "1500B", rate = "1Gbit/s" }
"#;

fn read(actions: &str) -> Scenario {
    let text = format!("{NETWORK}{actions}");
    match load_str(&text, "s.toml", &[], &|file| Err(format!("no {file}"))) {
        Ok(loaded) => loaded.scenario,
        Err(findings) => panic!("{}", findings[0]),
    }
}

fn weights(action: &Action) -> &[(usize, u32)] {
    match action {
        Action::Weights { weights, .. } => weights,
        other => panic!("{other:?}"),
    }
}

#[test]
fn siblings_keep_their_proportions_and_share_the_rest() {
    let s = read("[at.x]\ntime = \"1ms\"\nclass = \"a\"\nshare = \"10%\"\n");
    // 90 % at 30 to 20: 54 and 36.
    assert_eq!(weights(&s.actions[0].actions[0]), [(1, 5), (2, 27), (3, 18)]);
}

#[test]
fn a_later_share_starts_from_what_the_earlier_one_left_whatever_their_order_in_the_file() {
    let s = read(
        "[at.second]\ntime = \"2ms\"\nclass = \"b\"\nshare = \"40%\"\n\
         [at.first]\ntime = \"1ms\"\nclass = \"a\"\nshare = \"10%\"\n",
    );
    let names: Vec<&str> = s.actions.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(s.actions[1].at, Duration::from_ms(2));
    // After the first a has 5 and c 18 of 50; 60 % at 5 to 18 beside 40 %: 300 to 1,080 beside 920, by 20.
    assert_eq!(weights(&s.actions[1].actions[0]), [(2, 46), (1, 15), (3, 54)]);
}

#[test]
fn a_change_on_one_host_leaves_the_others_where_they_are() {
    let s = read(
        "[at.here]\ntime = \"1ms\"\nclass = \"a\"\nshare = \"10%\"\nhosts = \"h1\"\n\
         [at.all]\ntime = \"2ms\"\nclass = \"a\"\nshare = \"60%\"\n",
    );
    let Action::Weights { hosts, .. } = &s.actions[0].actions[0] else {
        panic!("{:?}", s.actions[0]);
    };
    assert_eq!(hosts, &[0]);
    // 40 % at 30 to 20.
    assert_eq!(weights(&s.actions[1].actions[0]), [(1, 15), (2, 6), (3, 4)]);
}

#[test]
fn a_percentage_is_of_the_line_that_the_ports_have() {
    let limit = "[at.limit]\ntime = \"1ms\"\nclass = \"a\"\nrate = \"10%\"\nhosts = \"h2\"\n";
    let s = read(&format!(
        "{limit}[at.free]\ntime = \"2ms\"\nclass = \"a\"\nrate = \"none\"\n"
    ));
    let rates = |place: usize| {
        let rate = |a: &Action| match a {
            Action::Rate { rate, .. } => rate.map(|r| r.rate_bps),
            other => panic!("{other:?}"),
        };
        s.actions[place].actions.iter().map(rate).collect::<Vec<_>>()
    };
    assert_eq!(rates(0), [Some(2_500_000_000)]);
    assert_eq!(rates(1), [None]);
    // On both hosts it would be two rates at once.
    let text = format!("{NETWORK}{}", limit.replace("hosts = \"h2\"\n", ""));
    let findings = load_str(&text, "s.toml", &[], &|file| Err(format!("no {file}"))).unwrap_err();
    assert_eq!((findings.len(), findings[0].field.as_str()), (1, "at.limit.rate"));
}

#[test]
fn a_group_of_links_breaks_together() {
    let text = NETWORK.replace(
        "[link.slow]\nends = [\"h1\", \"sw\"]",
        "[link.up]\nends = [\"h\", \"sw\"]",
    );
    let fast = text.find("[link.fast]").unwrap_or(0);
    let end = text.find("[workload.load]").unwrap_or(0);
    let text = format!(
        "{}{}[at.x]\ntime = \"1ms\"\ndown = \"up\"\ndetection = \"5ms\"\n",
        &text[..fast],
        &text[end..]
    );
    let s = match load_str(&text, "s.toml", &[], &|file| Err(format!("no {file}"))) {
        Ok(loaded) => loaded.scenario,
        Err(findings) => panic!("{}", findings[0]),
    };
    let detection = Duration::from_ms(5);
    assert_eq!(
        s.actions[0].actions,
        [0, 1].map(|link| Action::LinkDown { link, detection })
    );
}
