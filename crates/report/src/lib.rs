//! Reports: numbers that others computed, drawn. Terminal tables, CSV, Parquet, JSON pieces, SVG plots, one HTML page.
//!
//! Nothing here opens a file or looks at a terminal: text and bytes are returned, and the caller says how wide the
//! screen is and whether it shows colours. [`charts`] makes figures from measures, [`svg`] draws them, [`tables`]
//! makes tables that [`Table::to_text`] and [`Page`] show, [`frame`] makes the columns that [`csv`] and [`mod@parquet`]
//! write.
pub mod csv;
pub mod frame;
pub mod json;
pub mod parameter;
pub mod parquet;
pub mod pcapng;
pub mod quantity;
pub mod table;
pub mod tables;
pub mod trace;

mod escape;

pub use parameter::{Origin, Parameter};
pub use quantity::Micro;
pub use table::{Cell, Table, TextOptions, Tone};
pub use trace::Trace;
