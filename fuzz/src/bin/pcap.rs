//! Any bytes are a capture (pcap or pcapng) or are refused; every frame of one has a flow key.
#![no_main]

use clearway_policy::pcap::{flow_key, read_capture, replay_frames};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    // The bytes of a frame come from the wire as they are.
    let _ = flow_key(input);
    match read_capture(input) {
        Ok(frames) => {
            for frame in &frames {
                let key = flow_key(frame.bytes);
                assert!(key.pcp < 8 && key.dscp < 64, "{key:?}");
            }
        }
        Err(why) => assert!(!why.is_empty(), "refused without a reason"),
    }
    for with_fcs in [false, true] {
        let _ = replay_frames(input, with_fcs);
    }
});
