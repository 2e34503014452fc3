//! Policy and scenario files: text in, validated types out.
//!
//! Both are TOML. Quantities are strings with units (`"10Gbit/s"`, `"5us"`, `"1.5MB"` = 1.5 x 10^6 bytes, `"64KiB"`,
//! `"80%"`, `"1000frame/s"`, `"3m"` of cable), read exactly: no floating point. Unknown keys are refused; every
//! mistake of a file is reported in one go, each with file, line, column, field, what was expected and the nearest
//! valid name. [`policy_schema`] and [`scenario_schema`] give JSON Schemas made from the same types that read.
//!
//! # A policy
//!
//! A tree of named classes for one port. A class without classes inside it is a queue. Children of a class go by
//! `rank` (the order of the file unless given), or by `weight` or `share` where any of them has one.
//!
//! ```
//! let policy = clearway_policy::load_policy_str(
//!     r#"
//! layer = "L1"              # how bytes count: L1 (with preamble and gap), L2, kernel, payload, or a table
//! frame_max = "1522B"       # the longest frame; a bucket holds at least one
//! rate = "95%"              # a shaper on the whole port, percent of the line rate
//! default = "rest"          # where frames go that no rule matches; the one class without a rule unless given
//!
//! [[match]]                 # rules, first match wins; these come before the ones inside classes
//! class = "storage"         # the last part of a class's path, or all of it: "shared/storage"
//! protocol = "tcp"
//! dst_port = [445, "5000-5999"]
//!
//! [class.control]           # rank 0: goes first
//! pcp = [6, 7]              # short for match = { pcp = [6, 7] }
//! rate = "200Mbit/s"
//! burst = "200us"           # bytes, or a time at the rate
//!
//! [class.video]             # rank 1: one queue and one shaper for each flow
//! dscp = "AF41"
//! per_flow = { rate = "4Mbit/s", burst = "2frame", limit = "64frame" }
//! frame_rate = "500kframe/s"
//!
//! [class.shared]            # rank 2: weighted, because its children have shares
//!
//! [class.shared.class.storage]
//! share = "80%"
//! guarantee = "1Gbit/s"
//! pcp = 5
//! ecn = { threshold = "65kB", at = "dequeue" }
//! limit = ["512kB", "1000frame"]
//!
//! [class.shared.class.rest]
//! share = "20%"
//! age_max = "10ms"
//! meter = { cir = "1Gbit/s", cbs = "100kB", pir = "2Gbit/s", pbs = "100kB", red = "drop" }
//! "#,
//!     "example.toml",
//! )
//! .map_err(|findings| findings[0].to_string())?;
//! let compiled = clearway_policy::compile(&policy, 10_000_000_000).map_err(|findings| findings[0].to_string())?;
//! assert_eq!(compiled.node_names[4], "root/shared/storage");
//! assert_eq!(compiled.plan.nodes[4].weight, 4);
//! # Ok::<(), String>(())
//! ```
//!
//! # A scenario
//!
//! Hosts, switches, links and workloads by name. A group is a table with `count`, or with a pattern as its name; where
//! hosts are named, a group, a member or a pattern may stand. Policies are files (relative to the scenario), named
//! tables `[policy.NAME]`, or tables in place. `path=value` overrides replace any value before anything is checked.
//!
//! ```
//! let loaded = clearway_policy::load_str(
//!     r#"
//! duration = "100ms"
//! warmup = "5ms"
//! sample_interval = "100us"
//!
//! [host.h]                  # h1 to h16
//! count = 16
//! stack_delay = "1us"
//! nic = { transmit_fifo = "4KiB", policy = { class = { high = { pcp = "4-7" }, low = {} } } }
//!
//! [switch.sw]
//! memory = "1.5MB"
//! threshold = { alpha = 0.5 }
//! flow_control = { pause = { high = "64KiB", low = "36KiB" } }
//!
//! [link.cable]              # sixteen links
//! ends = ["h", "sw"]
//! rate = "10Gbit/s"
//! length = "3m"
//!
//! [workload.bursts]
//! from = "h"
//! to = "others"
//! pcp = "uniform"
//! bursty = { burst = { geometric = "9000B" }, frame = "1518B", load = 0.95 }
//!
//! [workload.calls]
//! from = "h{1..4}"
//! to = "h16"
//! request_response = { request = "64B", response = "64B" }
//! "#,
//!     "example.toml",
//!     &["workload.bursts.bursty.load=0.5".to_owned()],
//!     &|path| Err(format!("{path} is not there")),
//! )
//! .map_err(|findings| findings[0].to_string())?;
//! assert_eq!(loaded.scenario.links.len(), 16);
//! # Ok::<(), String>(())
//! ```
//!
//! [`lint()`] and [`lint_policy`] find what is probably not meant. [`pcap`] reads captures for replay. Left out: what a
//! policy becomes on other systems, and everything that happens in time.

mod buckets;
mod build;
mod cbq;
pub mod compile;
pub mod device;
pub mod diagnostic;
mod document;
pub mod lint;
pub mod load;
mod names;
pub mod pcap;
pub mod plan;
pub mod policy;
pub mod quantity;
mod queue;
mod reader;
mod rules;
pub mod scenario;
mod schema;
mod syntax;

pub use compile::compile;
pub use device::{DeviceNumber, load_device_str};
pub use diagnostic::{Diagnostic, Severity};
pub use lint::{lint, lint_policy};
pub use load::{Loaded, check_file, is_scenario, load, load_str};
pub use plan::CompiledPolicy;
pub use policy::{Policy, load_policy, load_policy_str};
pub use schema::{policy_schema, scenario_schema};
