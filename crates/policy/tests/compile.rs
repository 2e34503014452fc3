//! What a policy's text compiles to: weights, buckets, layers, gates, rules.

use clearway_core::plan::{FlowShape, NodeKind, QueueMode};
use clearway_policy::{CompiledPolicy, compile, load_policy_str};

fn plan(text: &str, rate_bps: u64) -> CompiledPolicy {
    let policy = load_policy_str(text, "t.toml").unwrap_or_else(|e| panic!("{}", e[0]));
    compile(&policy, rate_bps).unwrap_or_else(|e| panic!("{}", e[0]))
}

fn weights(text: &str) -> Vec<u32> {
    plan(text, 10_000_000_000).plan.nodes[1..]
        .iter()
        .map(|n| n.weight)
        .collect()
}

#[test]
fn five_lines_make_a_policy() {
    let p = plan("[class.urgent]\npcp = \"4-7\"\n[class.bulk]\n", 10_000_000_000);
    assert_eq!(p.node_names, ["root", "root/urgent", "root/bulk"]);
    assert_eq!((p.plan.nodes[1].rank, p.plan.nodes[2].rank), (0, 1));
    assert_eq!(p.plan.rules.len(), 2);
    assert_eq!(p.plan.rules[1].queue, 2);
    assert_eq!(p.line_rate_bps, None);
}

#[test]
fn shares_become_the_least_whole_weights() {
    assert_eq!(
        weights("[class.a]\nshare = \"80%\"\npcp = 1\n[class.b]\nshare = \"20%\"\n"),
        [4, 1]
    );
    assert_eq!(
        weights("[class.a]\nshare = \"33.3%\"\npcp = 1\n[class.b]\nshare = \"66.7%\"\n"),
        [333, 667]
    );
    // Two without a share split the other 40 %.
    let text = "[class.a]\nshare = \"60%\"\npcp = 1\n[class.b]\npcp = 2\n[class.c]\n";
    assert_eq!(weights(text), [3, 1, 1]);
}

#[test]
fn a_bucket_without_a_size_holds_two_frames_or_ten_microseconds() {
    let burst = |rate| {
        plan("rate = \"100%\"\n[class.a]\n", rate).plan.nodes[0]
            .rate
            .map(|r| r.burst_bytes)
    };
    assert_eq!(burst(1_000_000_000), Some(2 * 1542));
    assert_eq!(burst(100_000_000_000), Some(125_000));
}

#[test]
fn a_layer_is_inherited_and_may_be_changed_below() {
    let text = "layer = \"L2\"\n[class.a]\npcp = 1\n[class.b]\nlayer = { overhead = 24, min = 88 }\n";
    let p = plan(text, 1_000_000_000).plan;
    let of = |n: usize| {
        (
            p.nodes[n].accounting.overhead_bytes,
            p.nodes[n].accounting.min_bytes,
        )
    };
    assert_eq!((of(0), of(1), of(2)), ((0, 64), (0, 64), (24, 88)));
}

#[test]
fn a_flow_bucket_in_frames_counts_the_longest_frame_as_its_leaf_does() {
    let text = "[class.a]\nlayer = \"L2\"\nper_flow = { rate = \"4Mbit/s\", burst = \"2frame\" }\n";
    let p = plan(text, 1_000_000_000).plan;
    let NodeKind::Queue(queue) = &p.nodes[1].kind else {
        panic!("not a queue")
    };
    let QueueMode::PerFlow {
        shape: Some(FlowShape::Bits(shape)),
        ..
    } = &queue.mode
    else {
        panic!("not per flow: {:?}", queue.mode);
    };
    assert_eq!((shape.rate_bps, shape.burst_bytes), (4_000_000, 2 * 1522));
}

#[test]
fn a_gate_is_the_least_priority_that_reaches_the_queue_unless_named() {
    let text = "[class.a]\npcp = [5, 6]\n[class.b]\ngate = 40\npcp = 3\n[class.c]\n";
    let gates: Vec<u8> = plan(text, 1_000_000_000).plan.nodes[1..]
        .iter()
        .filter_map(|n| match &n.kind {
            NodeKind::Queue(queue) => Some(queue.gate),
            _ => None,
        })
        .collect();
    assert_eq!(gates, [5, 40, 0]);
}

#[test]
fn rules_of_the_top_come_first_and_ports_multiply() {
    let text = "[class.a]\npcp = 1\n[class.b]\n[[match]]\nclass = \"b\"\ndst_port = [1, \"5-9\"]\n";
    let p = plan(&format!("default = \"a\"\n{text}"), 1_000_000_000).plan;
    let order: Vec<_> = p
        .rules
        .iter()
        .map(|r| (r.queue, r.matches.dst_port, r.matches.pcp))
        .collect();
    assert_eq!(
        order,
        [
            (2, Some((1, 1)), None),
            (2, Some((5, 9)), None),
            (1, None, Some(2)),
            (1, None, None)
        ]
    );
}
