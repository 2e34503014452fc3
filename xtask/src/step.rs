//! Steps of a run: what each did, how long it took, and the table at the end.

use std::time::Duration;

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With a note for the summary.
    Passed(String),
    /// Not run here, and why.
    Skipped(String),
    /// Why.
    Failed(String),
}

impl Outcome {
    pub(crate) fn is_failed(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::Passed(String::new()),
            Err(why) => Self::Failed(why),
        }
    }
}

/// A finished step.
#[derive(Clone, Debug)]
pub(crate) struct Finished {
    pub(crate) name: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
}

/// The table of steps, and a line with the counts.
pub(crate) fn summary(steps: &[Finished]) -> String {
    let mut text = String::from("\nstep         result      time  note\n");
    let mut counts = [0; 3];
    for step in steps {
        let (result, note, count) = match &step.outcome {
            Outcome::Passed(note) => ("passed", note, 0),
            Outcome::Failed(why) => ("FAILED", why, 1),
            Outcome::Skipped(why) => ("SKIPPED", why, 2),
        };
        counts[count] += 1;
        // A failure may come with a page of text; its first line is enough here.
        let note = note.lines().next().unwrap_or("");
        let line = format!(
            "{:<12} {result:<8} {:>5.1} s  {note}",
            step.name,
            step.took.as_secs_f64()
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let [passed, failed, skipped] = counts;
    text.push_str(&format!(
        "\nsteps: {passed} passed, {failed} failed, {skipped} skipped\n"
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_what_was_skipped_and_why() {
        let step = |name, outcome| Finished {
            name,
            outcome,
            took: Duration::from_millis(1250),
        };
        let text = summary(&[
            step("fmt", Outcome::Passed(String::new())),
            step("wasm", Outcome::Skipped("no wasm32 target".to_owned())),
            step("test", Outcome::Failed("exit status 101\nmore".to_owned())),
        ]);
        assert_eq!(
            text,
            "\nstep         result      time  note\n\
             fmt          passed     1.2 s\n\
             wasm         SKIPPED    1.2 s  no wasm32 target\n\
             test         FAILED     1.2 s  exit status 101\n\
             \nsteps: 1 passed, 1 failed, 1 skipped\n"
        );
    }
}
