//! A statement that a document makes in words, checked on the model.
//!
//! Most of what the documents say is not a number beside which a prediction can be put: "latency deteriorates by an order of
//! magnitude", "worked at small rates, not at full rate". Each is quoted, the model's numbers stand beside it, and the
//! experiment says whether they bear it out. A statement that any model would bear out is marked as no evidence.

use clearway_report::{Cell, Table, Tone};
use serde::{Deserialize, Serialize};

/// Whether the model bears a statement out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It does.
    Holds,
    /// It does not; counted as a miss.
    Misses,
    /// Whatever the model, it would: nothing is claimed.
    NoEvidence,
}

impl Standing {
    /// The word used in tables and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Misses => "misses",
            Self::NoEvidence => "no evidence",
        }
    }

    const fn tone(self) -> Tone {
        match self {
            Self::Holds => Tone::Good,
            Self::Misses => Tone::Bad,
            Self::NoEvidence => Tone::Caution,
        }
    }
}

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What the document says, in its words.
    pub statement: String,
    /// What the model says, with its numbers and their units.
    pub model: String,
    /// Whether the second bears out the first.
    pub standing: Standing,
}

impl Claim {
    /// A statement that holds where `holds` is true and is missed otherwise.
    #[must_use]
    pub fn new(statement: impl Into<String>, model: impl Into<String>, holds: bool) -> Self {
        Self {
            statement: statement.into(),
            model: model.into(),
            standing: if holds { Standing::Holds } else { Standing::Misses },
        }
    }

    /// A statement that any model would bear out; `why` says so beside the numbers.
    #[must_use]
    pub fn no_evidence(statement: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            statement: statement.into(),
            model: why.into(),
            standing: Standing::NoEvidence,
        }
    }
}

/// Statements beside what the model says.
#[must_use]
pub fn table(claims: &[Claim]) -> Table {
    let mut table = Table::new("Statements of the document", ["statement", "the model says", ""]);
    for claim in claims {
        table.push([
            Cell::text(&claim.statement),
            Cell::text(&claim.model),
            Cell::text(claim.standing.as_str()).tone(claim.standing.tone()),
        ]);
    }
    let count = |standing| claims.iter().filter(|c| c.standing == standing).count();
    table.note(format!(
        "{} hold, {} missed, {} no evidence",
        count(Standing::Holds),
        count(Standing::Misses),
        count(Standing::NoEvidence)
    ));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_holds_misses_or_proves_nothing() {
        let claims = [
            Claim::new("ten times", "11.1 times", true),
            Claim::new("more than 100 times", "75 times", false),
            Claim::no_evidence("nothing is lost", "no buffer is full in any model"),
        ];
        let text = table(&claims).to_text(clearway_report::TextOptions::default());
        assert!(text.contains("1 hold, 1 missed, 1 no evidence"), "{text}");
        assert!(text.contains("75 times") && text.contains("misses"), "{text}");
    }
}
