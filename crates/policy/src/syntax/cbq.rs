//! The keys of a class-based queueing discipline (`discipline = "cbq"`): what they default to is what the tools of
//! Linux 2.2 took.

use crate::reader::{Size, Time, Whole, choice, table};
use crate::syntax::policy::{Burst, RateOrPercent};

choice! {
    /// What carries the classes out.
    DisciplineWord {
        /// The traffic manager.
        Tree = "tree",
        /// Class-based queueing as Linux 2.2 had it.
        Cbq = "cbq",
    }
}

table! {
    /// Class-based queueing at this port, with `discipline = "cbq"`.
    CbqText {
        /// Rate of the link as the discipline believes it; the line rate unless given.
        bandwidth: RateOrPercent,
        /// Time between two ticks of the timer; 10ms unless given (HZ = 100).
        tick: Time,
        /// Unit of the packet clock and of the rate tables; 1us unless given.
        resolution: Time,
        /// Packet that bursts are counted in; 1000B unless given.
        packet: Size,
        /// The estimator forgets 2^-ewma with each packet; 5 unless given.
        ewma: Whole<1, 31>,
        /// Packets that may leave back to back after a long idle time; 20 unless given.
        maxburst: Whole<0, 10_000>,
        /// Packets that the delay of an overlimit class makes room for; 0 unless given.
        minburst: Whole<0, 10_000>,
    }
}

table! {
    /// A class of a class-based queueing discipline; its `rate` is the rate of the estimator.
    CbqClassText {
        /// Served before classes of a higher number, 0 to 7; 0 unless given.
        priority: Whole<0, 7>,
        /// Bytes of a round at the mean weight; 1514B unless given.
        allot: Size,
        /// Never borrows from the class above; false unless given.
        bounded: bool,
        /// Not counted by the class above; false unless given.
        isolated: bool,
        /// Packet that bursts are counted in; the port's unless given.
        packet: Size,
        /// The estimator forgets 2^-ewma with each packet; the port's unless given.
        ewma: Whole<1, 31>,
        /// Packets that may leave back to back after a long idle time; the port's unless given.
        maxburst: Whole<0, 10_000>,
        /// Packets that the delay of an overlimit class makes room for; the port's unless given.
        minburst: Whole<0, 10_000>,
        /// How far the mean idle time may fall below zero; without bound unless given.
        minidle: Time,
        /// A token bucket behind the queue.
        tbf: TbfText,
    }
}

table! {
    /// A token bucket whose timer runs on ticks: a rate needs a burst of the rate times the tick.
    TbfText {
        /// Rate.
        rate: RateOrPercent = required,
        /// Bytes of the bucket, or the time that its rate takes to fill it.
        burst: Burst = required,
        /// Bytes that may wait; as `limit` says unless given.
        limit: Size,
    }
}
