//! What a plot shows, free of how it is drawn: axes, series, thresholds, event marks. [`crate::svg::render`] draws it.
//!
//! Values are in SI units (seconds, bit/s, bytes); the drawing chooses prefixes. A point that is not finite, or not
//! above zero on a logarithmic axis, is left out and breaks its line.

use serde::{Deserialize, Serialize};

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By their logarithm.
    Log,
}

/// One axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What is along it.
    pub label: String,
    /// Unit of the values: `s`, `bit/s`, `B`, `%`, `1`.
    pub unit: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// First and last value shown; found from the data when absent.
    pub range: Option<[f64; 2]>,
    /// Names of the places 0, 1, 2, ... when the axis has no numbers. At most one axis of a figure may have them.
    pub categories: Vec<String>,
}

impl Axis {
    /// A linear axis.
    #[must_use]
    pub fn linear(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            unit: unit.into(),
            ..Self::default()
        }
    }
    /// A logarithmic axis.
    #[must_use]
    pub fn log(label: impl Into<String>, unit: impl Into<String>) -> Self {
        Self {
            scale: Scale::Log,
            ..Self::linear(label, unit)
        }
    }
    /// An axis of names.
    #[must_use]
    pub fn names<N: Into<String>>(label: impl Into<String>, names: impl IntoIterator<Item = N>) -> Self {
        Self {
            categories: names.into_iter().map(Into::into).collect(),
            ..Self::linear(label, "")
        }
    }
    /// The same from `low` to `high`.
    #[must_use]
    pub const fn ranged(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Straight lines between the points.
    #[default]
    Line,
    /// Each value holds until the next point.
    Step,
    /// A symbol at each point, with its whiskers and label.
    Scatter,
    /// Symbols joined by lines in the order given.
    Path,
    /// Bars over the places of an axis of names; several series stand side by side.
    Bars,
    /// The area between the two ends of each point's span, held until the next point.
    Band,
}

/// One point of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Along the horizontal axis; the place's number on an axis of names.
    pub x: f64,
    /// Along the vertical axis; the place's number on an axis of names.
    pub y: f64,
    /// Ends of the whiskers, or of the band: vertical, but horizontal where the vertical axis has names.
    pub span: Option<[f64; 2]>,
    /// Text beside the symbol.
    pub label: Option<String>,
    /// Area of the symbol relative to the usual one; zero counts as one.
    pub area: f64,
}

impl Point {
    /// A bare point.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self {
            x,
            y,
            span: None,
            label: None,
            area: 1.0,
        }
    }
    /// The same with whiskers from `low` to `high`.
    #[must_use]
    pub const fn spanning(mut self, low: f64, high: f64) -> Self {
        self.span = Some([low, high]);
        self
    }
    /// The same with a label.
    #[must_use]
    pub fn labelled(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}

/// Points that belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Shown in the legend; a nameless series is not.
    pub name: String,
    /// How it is drawn.
    pub kind: Kind,
    /// In the order in which they are joined.
    pub points: Vec<Point>,
    /// Index into the palette; the series' own index when absent. Give two series that belong together the same.
    pub colour: Option<usize>,
    /// Broken lines.
    pub dashed: bool,
    /// Empty symbols.
    pub hollow: bool,
}

impl Series {
    /// A series of bare points.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: Kind, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().map(|(x, y)| Point::new(x, y)).collect();
        Self {
            name: name.into(),
            kind,
            points,
            ..Self::default()
        }
    }
}

/// A line across the plot at a value of one axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The value, on the vertical axis, or on the horizontal one where `upright`.
    pub value: f64,
    /// What it is: `XOFF 16 kB`.
    pub label: String,
    /// Whether the line stands upright.
    pub upright: bool,
}

impl Threshold {
    /// A level line.
    #[must_use]
    pub fn at(value: f64, label: impl Into<String>) -> Self {
        Self {
            value,
            label: label.into(),
            upright: false,
        }
    }
}

/// What happened at a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MarkKind {
    /// A pause began.
    Xoff,
    /// A pause ended.
    Xon,
    /// A frame was dropped.
    Drop,
    /// Anything else.
    Event,
}

impl MarkKind {
    /// The word in the legend.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Xoff => "XOFF",
            Self::Xon => "XON",
            Self::Drop => "drop",
            Self::Event => "event",
        }
    }
}

/// An event along the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// When, on the horizontal axis.
    pub x: f64,
    /// What.
    pub kind: MarkKind,
}

/// One plot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Heading of the plot.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, first at the back.
    pub series: Vec<Series>,
    /// Events along the horizontal axis.
    pub marks: Vec<Mark>,
    /// Lines across.
    pub thresholds: Vec<Threshold>,
    /// A shaded strip between two values of the axis without names (the vertical one, if neither has): a tolerance.
    pub tolerance: Option<[f64; 2]>,
    /// Whether symbols of several series at one place of an axis of names stand side by side.
    pub abreast: bool,
    /// Sentences below the plot; also its description for those who cannot see it.
    pub caption: String,
}

impl Figure {
    /// A figure without series.
    #[must_use]
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self {
            title: title.into(),
            x,
            y,
            ..Self::default()
        }
    }
    /// The same with a series more.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }
    /// The same with a caption.
    #[must_use]
    pub fn caption(mut self, text: impl Into<String>) -> Self {
        self.caption = text.into();
        self
    }
    /// The same with a level threshold.
    #[must_use]
    pub fn threshold(mut self, value: f64, label: impl Into<String>) -> Self {
        self.thresholds.push(Threshold::at(value, label));
        self
    }
}
