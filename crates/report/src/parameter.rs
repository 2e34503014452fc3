//! A parameter of a reproduction and where its value comes from.

use std::fmt;

/// Where the value of a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// It stands in the document, or in a standard or data sheet that the note names.
    Published,
    /// Arithmetic on published figures; the note shows it.
    Derived,
    /// Chosen so that a published figure came out; `fitted_to` names the figure.
    Fitted,
}

impl Origin {
    /// The word used in tables and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Derived => "derived",
            Self::Fitted => "fitted",
        }
    }
}
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One parameter of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Which experiment it belongs to.
    pub experiment: String,
    /// Its name, as the scenario spells it.
    pub name: String,
    /// Its value, in `unit`.
    pub value: f64,
    /// Unit of `value`: `s`, `bit/s`, `B`, `1`.
    pub unit: String,
    /// Where the value comes from.
    pub origin: Origin,
    /// The published figures that it was fitted to or derived from, comma separated; `None` for published ones.
    pub fitted_to: Option<String>,
    /// The source or the arithmetic, in a sentence.
    pub note: String,
}
