//! Reports: numbers that others computed, drawn. Terminal tables, CSV, Parquet, JSON pieces, SVG plots, one HTML page.
//!
//! Nothing here opens a file or looks at a terminal: text and bytes are returned, and the caller says how wide the
//! screen is and whether it shows colours. [`charts`] makes figures from measures, [`svg`] draws them, [`tables`]
//! makes tables that [`Table::to_text`] and [`Page`] show, [`frame`] makes the columns that [`csv`] and [`mod@parquet`]
//! write.
pub mod charts;
pub mod csv;
pub mod figure;
pub mod frame;
pub mod json;
pub mod page;
pub mod parameter;
pub mod parquet;
pub mod pcapng;
pub mod quantity;
mod scale;
pub mod svg;
pub mod table;
pub mod tables;
pub mod trace;

mod canvas;
mod escape;
mod layout;
mod marks;
mod plot;

pub use figure::{Axis, Figure, Kind, Mark, MarkKind, Point, Scale, Series, Threshold};
pub use page::Page;
pub use parameter::{Origin, Parameter};
pub use quantity::Micro;
pub use svg::Size;
pub use table::{Cell, Table, TextOptions, Tone};
pub use trace::Trace;
