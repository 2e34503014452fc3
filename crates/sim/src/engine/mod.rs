//! The engine: the event queue, seeded random streams, the slab that frames live in.
//!
//! It does not know what a frame or a node means. Everything here is deterministic: no clock but the virtual
//! one, no randomness but streams derived from the root seed, and an order of events that is a total order.

pub mod bare;
pub mod heap;
pub mod order;
pub mod queue;
pub mod random;
mod ring;
pub mod slab;
mod wheel;

pub use heap::HeapQueue;
pub use order::Phase;
pub use queue::EventQueue;
pub use random::Stream;
pub use slab::Slab;
