//! Measures: numbers in, numbers out.
pub mod row;
pub use row::Row;
