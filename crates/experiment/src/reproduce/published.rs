//! The data file of a reproduction: figures, parameters, tolerances.
//!
//! ```toml
//! title = "..."
//! document = "..."
//! tolerance = 10            # per cent, unless a figure has its own; "none" shows a figure without a target
//!
//! [[figure]]
//! case = "32 KB, 802.3x"
//! metric = "throughput"
//! stat = "mean"
//! unit = "bit/s"
//! layer = "L2"
//! value = 24e9
//! role = "predicted"        # or "derived", "fitted"
//!
//! [[parameter]]
//! name = "burst mean"
//! value = 9000
//! unit = "B"
//! origin = "fitted"         # or "published", "derived"
//! fitted_to = "32 KB, no flow control: throughput"
//! neutral = 1518            # what one would take without the figure, for the leave-one-out table
//! note = "..."
//! ```

use clearway_metrics::Role;
use clearway_report::{Origin, Parameter};
use serde::Deserialize;

/// One published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Case, in the document's words.
    pub case: String,
    /// What is compared.
    pub metric: String,
    /// Which summary.
    pub stat: String,
    /// Unit of `value`.
    pub unit: String,
    /// Accounting layer, or `-`.
    pub layer: String,
    /// The figure.
    pub value: f64,
    /// What part it played in the model.
    pub role: Role,
    /// In per cent of the figure; none: shown without a target.
    pub tolerance: Option<f64>,
}

/// A fitted parameter that can be put back to what one would take without its figure.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The parameter.
    pub parameter: String,
    /// Its value without the figure.
    pub neutral: f64,
    /// Unit of that value.
    pub unit: String,
    fitted_to: String,
}

impl LeftOut {
    /// True where the parameter was fitted to this figure, or the figure is a prediction that it may bear on.
    #[must_use]
    pub fn affects(&self, figure: &Published) -> bool {
        (figure.role == Role::Predicted && figure.tolerance.is_some())
            || self.fitted_to.contains(&figure.case) && self.fitted_to.contains(&figure.metric)
    }
}

/// A data file.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedFile {
    /// What is reproduced.
    pub title: String,
    /// The document.
    pub document: String,
    /// Published figures, in the document's order.
    pub published: Vec<Published>,
    /// Parameters, in the file's order.
    pub parameters: Vec<Parameter>,
    left_out: Vec<LeftOut>,
}

impl PublishedFile {
    /// The neutral value of a parameter.
    #[must_use]
    pub fn left_out(&self, parameter: &str) -> Option<&LeftOut> {
        self.left_out.iter().find(|l| l.parameter == parameter)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileText {
    title: String,
    document: String,
    tolerance: f64,
    figure: Vec<FigureText>,
    parameter: Vec<ParameterText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureText {
    case: String,
    metric: String,
    stat: String,
    unit: String,
    #[serde(default = "dash")]
    layer: String,
    value: f64,
    role: RoleText,
    tolerance: Option<ToleranceText>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ToleranceText {
    Percent(f64),
    Word(NoTolerance),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum NoTolerance {
    None,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RoleText {
    Predicted,
    Derived,
    Fitted,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum OriginText {
    Published,
    Derived,
    Fitted,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ParameterText {
    name: String,
    value: f64,
    unit: String,
    origin: OriginText,
    fitted_to: Option<String>,
    neutral: Option<f64>,
    note: String,
}

fn dash() -> String {
    "-".to_owned()
}

/// Reads a data file.
///
/// # Errors
/// Names the key that is missing, unknown or wrong, with its place.
pub fn read(experiment: &str, text: &str) -> Result<PublishedFile, String> {
    let file: FileText = toml::from_str(text).map_err(|e| format!("reproductions/{experiment}.toml: {e}"))?;
    let default = file.tolerance;
    let published = file.figure.into_iter().map(|f| Published {
        case: f.case,
        metric: f.metric,
        stat: f.stat,
        unit: f.unit,
        layer: f.layer,
        value: f.value,
        role: match f.role {
            RoleText::Predicted => Role::Predicted,
            RoleText::Derived => Role::Derived,
            RoleText::Fitted => Role::Fitted,
        },
        tolerance: match f.tolerance {
            None => Some(default),
            Some(ToleranceText::Percent(percent)) => Some(percent),
            Some(ToleranceText::Word(NoTolerance::None)) => None,
        },
    });
    let published: Vec<Published> = published.collect();
    let (mut parameters, mut left_out) = (Vec::new(), Vec::new());
    for p in file.parameter {
        if (p.origin == OriginText::Fitted) != p.fitted_to.is_some() && p.origin != OriginText::Derived {
            return Err(format!(
                "reproductions/{experiment}.toml: parameter `{}`: `fitted_to` stands with fitted and derived origins only",
                p.name
            ));
        }
        if let Some(neutral) = p.neutral {
            let fitted_to = p.fitted_to.clone().unwrap_or_default();
            left_out.push(LeftOut {
                parameter: p.name.clone(),
                neutral,
                unit: p.unit.clone(),
                fitted_to,
            });
        }
        parameters.push(Parameter {
            experiment: experiment.to_owned(),
            name: p.name,
            value: p.value,
            unit: p.unit,
            origin: match p.origin {
                OriginText::Published => Origin::Published,
                OriginText::Derived => Origin::Derived,
                OriginText::Fitted => Origin::Fitted,
            },
            fitted_to: p.fitted_to,
            note: p.note,
        });
    }
    Ok(PublishedFile {
        title: file.title,
        document: file.document,
        published,
        parameters,
        left_out,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        title = "t"
        document = "d"
        tolerance = 10
        [[figure]]
        case = "a"
        metric = "throughput"
        stat = "mean"
        unit = "bit/s"
        value = 24e9
        role = "predicted"
        [[figure]]
        case = "b"
        metric = "latency"
        stat = "max"
        unit = "s"
        value = 1e-6
        role = "fitted"
        tolerance = "none"
        [[parameter]]
        name = "burst mean"
        value = 9000
        unit = "B"
        origin = "fitted"
        fitted_to = "b: latency"
        neutral = 1518
        note = "n"
    "#;

    #[test]
    fn a_figure_has_the_files_tolerance_its_own_or_none() {
        let file = read("x", TEXT).expect("a valid file");
        assert_eq!(file.published[0].tolerance, Some(10.0));
        assert_eq!(file.published[1].tolerance, None);
        assert_eq!(file.parameters[0].origin, Origin::Fitted);
    }

    #[test]
    fn a_left_out_parameter_bears_on_its_own_figure_and_on_predictions() {
        let file = read("x", TEXT).expect("a valid file");
        let left = file.left_out("burst mean").expect("it has a neutral value");
        assert!(left.affects(&file.published[0]) && left.affects(&file.published[1]));
    }

    #[test]
    fn an_unknown_key_and_a_fit_to_nothing_are_refused() {
        assert!(
            read("x", &TEXT.replace("note", "nota"))
                .unwrap_err()
                .contains("nota")
        );
        assert!(
            read("x", &TEXT.replace("fitted_to = \"b: latency\"", ""))
                .unwrap_err()
                .contains("fitted_to")
        );
    }
}
