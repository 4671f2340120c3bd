//! How an experiment is written.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::published::Claim;

/// A file of `experiments/`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExperimentFile {
    #[serde(deserialize_with = "one_line")]
    pub(super) title: String,
    #[serde(deserialize_with = "one_line")]
    pub(super) source: String,
    #[serde(deserialize_with = "one_line")]
    pub(super) measured: String,
    #[serde(deserialize_with = "one_line")]
    pub(super) simulated: String,
    /// Options of every curve's job.
    #[serde(default)]
    pub(super) job: Options,
    pub(super) curve: Vec<Spanned<RawCurve>>,
    #[serde(default)]
    pub(super) plot: Vec<Spanned<RawPlot>>,
    #[serde(default)]
    pub(super) verdict: Vec<Spanned<RawVerdict>>,
    #[serde(default)]
    pub(super) predicted: Vec<Spanned<RawPredicted>>,
    /// Claims of a user's own, which its verdicts may name beside those that were published.
    #[serde(default)]
    pub(super) claim: Vec<Claim>,
}

/// A curve of the lab, beside what a simulation said before: point for point.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPredicted {
    pub(super) curve: String,
    pub(super) by: String,
    pub(super) figure: String,
}

/// Options or changes, as they would be typed behind a flag.
pub(super) type Options = BTreeMap<String, Typed>;

/// A value as it would be typed behind a flag.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "toml::Value")]
pub(super) struct Typed(pub(super) String);

impl From<toml::Value> for Typed {
    fn from(value: toml::Value) -> Typed {
        match value {
            toml::Value::String(text) => Typed(text),
            other => Typed(other.to_string()),
        }
    }
}

/// A text on one line.
fn one_line<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    let text = String::deserialize(text)?;
    Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCurve {
    pub(super) name: String,
    /// The simulated device, or `lab:DEVICE`, where the job then runs.
    #[serde(default)]
    pub(super) device: String,
    /// Each point has a boot of its own in the lab, on a drive to which nothing was done before.
    #[serde(default)]
    pub(super) anew: bool,
    /// Or a case that the lab counts, in the words of `iostack lab cost --diff`: `device=brd,op=write`.
    pub(super) cost: Option<String>,
    /// A job file beside the experiment, for jobs that follow each other.
    pub(super) jobs: Option<String>,
    #[serde(default)]
    pub(super) job: Options,
    #[serde(default)]
    pub(super) set: Options,
    pub(super) vary: Option<String>,
    /// Keys that change along with it, point by point: as many values each.
    #[serde(default)]
    pub(super) along: Vec<String>,
    /// Parts of its job that no document states: each counts as a parameter that was fitted.
    #[serde(default)]
    pub(super) chosen: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPlot {
    pub(super) heading: String,
    pub(super) figure: String,
    /// `time`; else what the curves vary.
    pub(super) over: Option<String>,
    /// All, when it does not say.
    #[serde(default)]
    pub(super) curves: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawVerdict {
    pub(crate) claim: String,
    pub(crate) field: Option<String>,
    #[serde(deserialize_with = "one_line")]
    pub(crate) says: String,
    pub(crate) test: String,
    pub(crate) curve: String,
    /// The other curve, of tests that take two.
    pub(crate) against: Option<String>,
    pub(crate) figure: Option<String>,
    /// Another figure of the same curve, of tests that take two.
    pub(crate) and: Option<String>,
    pub(crate) over: Option<String>,
    /// The point of the curve, of tests of one value.
    pub(crate) at: Option<String>,
    pub(crate) against_at: Option<String>,
    pub(crate) within: Option<String>,
    /// Points that ours may be away, of figures that are percent.
    pub(crate) points: Option<f64>,
    pub(crate) fall_to: Option<String>,
    pub(crate) windows: Option<f64>,
    pub(crate) by: Option<f64>,
    /// Ours is divided by it: percent of a peak of 700 MB/s is scale = 7e6.
    #[serde(default = "one")]
    pub(crate) scale: f64,
    /// Reading in words, when the document can be read in several ways: one that holds is enough.
    #[serde(default, deserialize_with = "one_line")]
    pub(crate) reading: String,
    /// Reason why it does not hold, or why there are several readings.
    #[serde(default, deserialize_with = "one_line")]
    pub(crate) why: String,
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
    /// Claims of the device's own sheet that say the same: what is fitted to them predicts nothing here.
    #[serde(default)]
    pub(crate) same_as: Vec<String>,
    /// Numbers of the device that were chosen for this claim, though its sheet has no figure that says so.
    #[serde(default)]
    pub(crate) fitted: Vec<String>,
    /// Numbers of the device that are this claim, though its sheet names another source.
    #[serde(default)]
    pub(crate) input: Vec<String>,
    /// Inputs and numbers fitted to other claims that this claim is reckoned from: agreement then proves nothing. Of this and
    /// the next two one at most is given.
    #[serde(default, deserialize_with = "one_line")]
    pub(crate) derived: String,
    /// Assumed numbers that decide it.
    #[serde(default, deserialize_with = "one_line")]
    pub(crate) assumed: String,
    /// Reason why the simulator, as it is built, can give nothing else.
    #[serde(default, deserialize_with = "one_line")]
    pub(crate) cannot_fail: String,
}

fn one() -> f64 {
    1.0
}

/// `path:line: message` of an error of TOML's.
pub(super) fn said(text: &str, path: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', "; ");
    format!("{path}:{}: {message}", line(text, error.span().unwrap_or(0..0)))
}

pub(super) fn line(text: &str, span: Range<usize>) -> usize {
    text.bytes().take(span.start).filter(|&byte| byte == b'\n').count() + 1
}
