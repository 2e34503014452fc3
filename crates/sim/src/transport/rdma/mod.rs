//! Remote direct memory access: the framing of iWARP over TCP.

pub mod iwarp;
