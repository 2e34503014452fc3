//! Worst-case delay and backlog of a plan whose arrivals are bounded by token buckets, by network calculus.
//!
//! Source: J.-Y. Le Boudec and P. Thiran, Network Calculus (Springer, 2001), chapters 1, 2 and 6.
