//! How an experiment is written.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

/// A file of `experiments/`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) title: String,
    pub(super) source: String,
    pub(super) measured: String,
    pub(super) simulated: String,
    /// Options of every curve's job.
    #[serde(default)]
    pub(super) job: Options,
    pub(super) curve: Vec<Spanned<Curve>>,
    #[serde(default)]
    pub(super) plot: Vec<Spanned<Plot>>,
    #[serde(default)]
    pub(super) verdict: Vec<Spanned<Verdict>>,
    #[serde(default)]
    pub(super) predicted: Vec<Spanned<Predicted>>,
}

/// A curve of the lab, beside what a simulation said before: point for point.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Predicted {
    pub(super) curve: String,
    pub(super) by: String,
    pub(super) figure: String,
}

/// Options or changes, as typed.
pub(super) type Options = BTreeMap<String, toml::Value>;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Curve {
    pub(super) name: String,
    /// The simulated device, or `lab:DEVICE`, where the job then runs.
    #[serde(default)]
    pub(super) device: String,
    /// In the lab each point is of a boot of its own, on a drive to which nothing was done before.
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
    /// What changes along with it, point by point: as many values each.
    #[serde(default)]
    pub(super) along: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plot {
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
pub(super) struct Verdict {
    pub(super) claim: String,
    pub(super) field: Option<String>,
    pub(super) says: String,
    pub(super) test: String,
    pub(super) curve: String,
    /// The other curve, of tests that take two.
    pub(super) against: Option<String>,
    pub(super) figure: Option<String>,
    /// Another figure of the same curve, of tests that take two.
    pub(super) and: Option<String>,
    pub(super) over: Option<String>,
    /// The point of the curve, of tests of one value.
    pub(super) at: Option<String>,
    pub(super) against_at: Option<String>,
    pub(super) within: Option<String>,
    /// How many points ours may be away, of figures that are percent.
    pub(super) points: Option<f64>,
    pub(super) fall_to: Option<String>,
    pub(super) windows: Option<f64>,
    pub(super) by: Option<f64>,
    /// Ours is divided by it: percent of a peak of 700 MB/s is scale = 7e6.
    pub(super) scale: Option<f64>,
    /// In words, when the document can be read in several ways: one that holds is enough.
    #[serde(default)]
    pub(super) reading: String,
    /// Why it does not hold, or why there are several readings.
    #[serde(default)]
    pub(super) why: String,
    pub(super) from: Option<f64>,
    pub(super) to: Option<f64>,
    /// Claims of the device's own sheet that say the same: what is fitted to them predicts nothing here.
    #[serde(default)]
    pub(super) same_as: Vec<String>,
    /// Numbers of the device that were chosen for this claim, though its sheet has no figure that says so.
    #[serde(default)]
    pub(super) fitted: Vec<String>,
    /// Numbers of the device that are this claim, though its sheet names another source.
    #[serde(default)]
    pub(super) input: Vec<String>,
    /// Why agreement proves nothing though no number was chosen for it: of these three one at most is given. This: what the
    /// claim is reckoned from, of inputs and of what was fitted to other claims.
    #[serde(default)]
    pub(super) derived: String,
    /// Which assumed numbers decide it.
    #[serde(default)]
    pub(super) assumed: String,
    /// Why the simulator, as it is built, can give nothing else.
    #[serde(default)]
    pub(super) cannot_fail: String,
}

/// `path:line: message` of an error of TOML's.
pub(super) fn said(text: &str, path: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', "; ");
    format!("{path}:{}: {message}", line(text, error.span().unwrap_or(0..0)))
}

pub(super) fn line(text: &str, span: Range<usize>) -> usize {
    text.bytes().take(span.start).filter(|&byte| byte == b'\n').count() + 1
}
