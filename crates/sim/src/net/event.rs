//! The events of the network models: a small closed set of `Copy` values.
//!
//! An event names what became due, not what to do: the node looks at its own state when it comes. A transmitter,
//! a line and a timer have at most one live event each; a stale one is recognised by its instant and ignored, so
//! that nothing is ever cancelled.

/// What became due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A source's next frame or burst is due.
    Source {
        /// Node of the host.
        host: u32,
        /// Index among the host's sources.
        source: u16,
    },
    /// The head of the line's frames in flight is in (or its first bits, where the far end asked for them).
    Arrival {
        /// The line.
        line: u32,
    },
    /// The line's transmitter can take a frame, or a wait of its traffic manager is over.
    Free {
        /// The line.
        line: u32,
    },
    /// The last bit of the frame on the line is out: a switch frees its memory.
    Release {
        /// The line.
        line: u32,
    },
    /// The reaction time of a pause frame heard on the reverse of the line is over.
    PauseDue {
        /// The line whose transmitter is to pause or resume.
        line: u32,
    },
    /// An XOFF sent on this line may have to be sent again.
    Refresh {
        /// The line.
        line: u32,
    },
    /// The forwarding delay of the oldest frame in a switch is over.
    Forward {
        /// Node of the switch.
        switch: u32,
    },
    /// The host's transmit bus finished a transfer.
    BusTransmit {
        /// Node of the host.
        host: u32,
    },
    /// The frame at the head of those that crossed the transmit bus has reached the NIC.
    BusArrival {
        /// Node of the host.
        host: u32,
    },
    /// The host's receive bus finished a transfer.
    BusReceive {
        /// Node of the host.
        host: u32,
    },
    /// The oldest frame on its way up the host's stack reaches its application.
    Deliver {
        /// Node of the host.
        host: u32,
    },
    /// The oldest frame on its way down the host's stack reaches the NIC.
    Submit {
        /// Node of the host.
        host: u32,
    },
    /// What a processor of the host does is over.
    Processor {
        /// Node of the host.
        host: u32,
        /// Index of the processor.
        cpu: u16,
    },
    /// A processor of the host has not been told of its frames for long enough.
    Interrupt {
        /// Node of the host.
        host: u32,
        /// Index of the processor.
        cpu: u16,
    },
    /// The host has not been told of the frames it sent for long enough.
    SentInterrupt {
        /// Node of the host.
        host: u32,
    },
    /// A requester of a closed loop begins.
    Begin {
        /// Node of the host.
        host: u32,
        /// Index among the host's requesters.
        requester: u16,
    },
    /// A message of a talker is due.
    Talk {
        /// Node of the host.
        host: u32,
        /// Index among the host's talkers.
        talker: u16,
    },
    /// A step of an exchange is due.
    Exchange {
        /// Node of the host.
        host: u32,
        /// Index among the host's exchanges.
        exchange: u16,
    },
    /// Something is due at a source or builder of events.
    Build {
        /// Node of the host.
        host: u32,
        /// Index of the workload.
        workload: u16,
    },
    /// A frame of a pipe left its host: a write may go on.
    Pipe {
        /// Index of the pipe.
        pipe: u32,
    },
    /// A timer of a TCP endpoint.
    Timer {
        /// Node of the host.
        host: u32,
        /// Index among the host's endpoints.
        endpoint: u16,
    },
    /// A scripted action is due.
    Script {
        /// Its index.
        index: u32,
    },
    /// A host's clients or storage have something to do.
    Store {
        /// Node of the host.
        host: u32,
        /// Index of the workload.
        workload: u16,
    },
    /// A step of the scenario's timed changes is due.
    Step {
        /// Its index.
        index: u32,
    },
    /// Queues and memory are sampled.
    Sample,
}
