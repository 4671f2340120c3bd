//! What was published, and what comes of it here?
use crate::Outcome;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answers::IoCost;

/// Published experiments that were made again.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Repro {
    /// Version of the JSON layout, [`crate::SCHEMA`].
    #[serde(deserialize_with = "crate::schema")]
    pub schema: u32,
    /// Version of iostack that made it.
    pub iostack: String,
    /// Experiments in the order they were asked for.
    pub experiments: Vec<Reproduced>,
    /// The documents, in the order of the page.
    #[serde(default)]
    pub documents: Vec<ReproDocument>,
    /// Platforms that ran, and devices used alone.
    #[serde(default)]
    pub platforms: Vec<ReproPlatform>,
    /// Published figures that no experiment judges; of the documents all of whose experiments were asked for.
    #[serde(default)]
    pub missing: Vec<ReproMissing>,
    /// Draws of the sheets' numbers in which the verdicts were judged again, and their seed; `None` when nothing was drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<ReproDraws>,
    /// Curves that were measured, beside what each model says of the points that were held out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub validated: Vec<ReproValidated>,
    /// It was cut short.
    pub interrupted: bool,
}

/// Draws of what the sheets do not know exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ReproDraws {
    /// Number of draws.
    pub count: u32,
    /// Seed that reproduces them.
    pub seed: u64,
}

/// A verdict over the draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ReproDrawn {
    /// Draws in which it holds.
    pub hold: u32,
    /// Draws in which it could be judged.
    pub judged: u32,
}

/// A measured curve beside three models of it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReproValidated {
    /// File that it stands in.
    pub file: String,
    /// The curve in words: pattern, size, and how many of its points were held out of all fits.
    pub curve: String,
    /// Errors over the points held out, shares: those of the fitted sheet first.
    pub scores: Vec<super::CalibrationScore>,
}

/// Document that makes claims.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReproDocument {
    /// Prefix of the ids of its claims.
    pub id: String,
    /// Authors and year of the publication.
    pub title: String,
    /// False for what was only counted here.
    pub published: bool,
    /// True for what iostack set itself to reach; it counts in no sum over documents.
    #[serde(default)]
    pub own: bool,
}

/// A published figure that nothing judges.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReproMissing {
    /// Id of the claim.
    pub claim: String,
    /// Field of a claim with several figures; empty when it has but one.
    pub field: String,
    /// Reason why nothing judges it.
    pub reason: String,
}

/// A platform or a device used alone: what its numbers rest on. Those of the sheets inside count as its own.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReproPlatform {
    /// Name of the platform, as in `sim:NAME`.
    pub name: String,
    /// Title in a few words.
    pub title: String,
    /// It has a host; false for a device alone.
    pub platform: bool,
    /// Numbers that a document says.
    pub cited: u32,
    /// Numbers that were chosen so that a claim holds.
    pub fitted: Vec<ReproFitted>,
    /// Numbers that nobody says.
    pub assumed: u32,
    /// Published figures judged on it of which a number of it is the value.
    pub claims_input: u32,
    /// Those that a number of it was fitted to.
    pub claims_fitted: u32,
    /// Number of claims that are predictions.
    pub claims_predicted: u32,
    /// The others: derived, aims of our own, what cannot fail, and what assumed numbers decide.
    #[serde(default)]
    pub claims_other: u32,
}

/// A number that was chosen so that a claim holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
pub struct ReproFitted {
    /// The sheet it stands in: of the platform, or of one inside.
    pub sheet: String,
    /// Its name there.
    pub key: String,
    /// The claim: of the published ones, or of the sheet's own file.
    pub claim: String,
    /// The claim is judged here; else it is a figure of a data sheet, which `iostack sim check` judges.
    #[serde(default)]
    pub judged: bool,
    /// Sheet that it was fitted in, where this one only repeats it; empty where it was fitted here.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repeats: String,
}

/// Basis that a figure which came out rests on.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum ReproBasis {
    /// No number of the platform was taken from it or chosen for it.
    #[default]
    Predicted,
    /// Assumed numbers decide it: others as plausible would give another answer.
    Assumed,
    /// It is reckoned from inputs and from what was fitted to other claims.
    Derived,
    /// Nobody published it: iostack set itself to reach it.
    OwnAim,
    /// The simulator, as it is built, can give nothing else.
    CannotFail,
    /// A number was chosen so that it comes out.
    Fitted,
    /// A number of the platform is this very figure.
    Input,
}

impl ReproBasis {
    /// All of them; what proves least comes first.
    pub const ALL: [ReproBasis; 7] = [
        ReproBasis::Input,
        ReproBasis::Fitted,
        ReproBasis::CannotFail,
        ReproBasis::OwnAim,
        ReproBasis::Derived,
        ReproBasis::Assumed,
        ReproBasis::Predicted,
    ];

    /// Name in a word or two.
    pub fn word(self) -> &'static str {
        match self {
            ReproBasis::Predicted => "predicted",
            ReproBasis::Assumed => "assumed",
            ReproBasis::Derived => "derived",
            ReproBasis::OwnAim => "own aim",
            ReproBasis::CannotFail => "cannot fail",
            ReproBasis::Fitted => "fitted",
            ReproBasis::Input => "input",
        }
    }
}

/// Result of one experiment.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reproduced {
    /// Id by which it is asked for.
    pub id: String,
    /// Title in a few words.
    pub title: String,
    /// Publication, its date, and the place in its text.
    pub source: String,
    /// Device, job and time that were measured there.
    pub measured: String,
    /// Simulation here, and in what it differs.
    pub simulated: String,
    /// Curves that were run.
    pub curves: Vec<ReproCurve>,
    /// Plots that are drawn.
    pub plots: Vec<ReproPlot>,
    /// Verdicts on the claims.
    pub verdicts: Vec<ReproVerdict>,
    /// Figures that a simulation had predicted of what ran in the lab.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicted: Vec<ReproPredicted>,
}

/// A figure that ran in the lab, and what a simulation had said of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReproPredicted {
    /// The curve, in words.
    pub curve: String,
    /// The value of what is varied.
    pub at: String,
    /// Name of the figure, with its unit.
    pub figure: String,
    /// Value that ran in the lab.
    pub ran: f64,
    /// Value that the simulation predicted.
    pub predicted: f64,
}

/// Runs that belong together.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReproCurve {
    /// Name of the curve in words.
    pub name: String,
    /// The simulated device.
    pub device: String,
    /// Key that is varied from point to point; empty when nothing is.
    pub varied: String,
    /// Points in the order of what is varied.
    pub points: Vec<ReproPoint>,
}

/// Result of one run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReproPoint {
    /// The value of what is varied, as typed.
    pub at: String,
    /// Runs this point alone.
    pub command: String,
    /// Outcome of the last job, which is the one that was measured; `None` when it failed or was not run.
    pub outcome: Option<Outcome>,
    /// Cost that was counted, of an experiment of the lab; `None` when it failed or was not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<IoCost>,
    /// Error that ended it.
    pub error: Option<String>,
}

/// Plot of some curves.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReproPlot {
    /// Heading that says what the plot shows.
    pub heading: String,
    /// Quantity of the horizontal axis: a varied key, or `time` in seconds.
    pub over: String,
    /// Quantity of the vertical axis, with its unit.
    pub figure: String,
    /// Curves of the plot.
    pub lines: Vec<ReproLine>,
}

/// A curve of a figure.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReproLine {
    /// Name of the curve in words.
    pub name: String,
    /// `(x, y)` in order of x.
    pub points: Vec<(f64, f64)>,
}

/// Verdict on a claim against what came of it.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ReproVerdict {
    /// Id of the claim.
    pub claim: String,
    /// Field of a claim with several figures; empty when it has but one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// Reading of the document, where there are several; empty when there is but one. One that holds is enough.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reading: String,
    /// The claim in words.
    pub says: String,
    /// Test that the claim is put to, in words.
    pub test: String,
    /// The published figure; `-` for a shape.
    pub claimed: String,
    /// Figure found here, with its unit.
    pub ours: String,
    /// Ours over the published figure, less 1, where both are numbers.
    pub difference: Option<f64>,
    /// True when it holds here; `None` when that could not be told.
    pub holds: Option<bool>,
    /// Numbers of the device that were fitted to this claim, or are it, or other reasons why agreement proves
    /// nothing; empty for a prediction.
    pub fitted: Vec<String>,
    /// Basis that agreement rests on.
    #[serde(default)]
    pub basis: ReproBasis,
    /// The verdict where the numbers that nobody knows are drawn; `None` where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<ReproDrawn>,
    /// Reason why it does not hold, or has several readings; empty when nobody knows, or nobody need ask.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Reproduced {
    /// It was counted in the lab, not simulated.
    pub fn is_counted(&self) -> bool {
        self.curves.iter().any(|curve| curve.device.starts_with("lab:"))
    }

    /// Origin of its figures, in a word.
    pub fn how(&self) -> &'static str {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        match self.is_counted() {
            false => "simulated",
            true if points().all(|point| point.cost.is_none())
                && points().any(|point| point.outcome.is_some()) =>
            {
                "ran"
            }
            true => "counted",
        }
    }

    /// Every claim holds.
    pub fn holds(&self) -> bool {
        judged_claims(self.verdicts.iter()).iter().all(|claim| claim.holds == Some(true))
    }
}

impl Repro {
    /// Origin of all figures, in a word; none when it is of several kinds.
    pub fn how(&self) -> Option<&'static str> {
        let first = self.experiments.first()?.how();
        self.experiments.iter().all(|one| one.how() == first).then_some(first)
    }

    /// All of it was counted in the lab, nothing simulated.
    pub fn is_counted(&self) -> bool {
        !self.experiments.is_empty() && self.experiments.iter().all(Reproduced::is_counted)
    }

    /// Every claim of every experiment holds.
    pub fn holds(&self) -> bool {
        self.claims().iter().all(|claim| claim.holds == Some(true))
    }

    /// The published figures that were judged, each once, in the order of the experiments.
    pub fn claims(&self) -> Vec<JudgedClaim<'_>> {
        judged_claims(self.experiments.iter().flat_map(|one| &one.verdicts))
    }

    /// Numbers that were fitted, each once however many platforms share its sheet.
    pub fn fitted(&self) -> Vec<&ReproFitted> {
        let mut all: Vec<&ReproFitted> = self.platforms.iter().flat_map(|one| &one.fitted).collect();
        // Judged on any platform counts: of those that are alike it comes first.
        all.sort_by(|a, b| (&a.sheet, &a.key, !a.judged).cmp(&(&b.sheet, &b.key, !b.judged)));
        all.dedup_by(|a, b| a.sheet == b.sheet && a.key == b.key);
        all
    }
}

/// Number of published figures that came out, and on what they rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReproTally {
    /// Figures that were judged.
    pub claims: usize,
    /// Those that hold.
    pub hold: usize,
    /// Those that do not.
    pub off: usize,
    /// Those of which that could not be told.
    pub unknown: usize,
    /// Figures by basis, in the order of [`ReproBasis::ALL`]: those that rest on it, and those of them that hold.
    pub by_basis: [[usize; 2]; 7],
    /// Figures that nothing judges.
    pub missing: usize,
}

impl Repro {
    /// Tally of a document, or of all.
    pub fn tally(&self, document: Option<&str>) -> ReproTally {
        let mut tally = ReproTally::default();
        let own = |id: &str| self.documents.iter().any(|known| known.own && known.id == id);
        let of = |id: &str| {
            let home = id.split('.').next().unwrap_or_default();
            document.map_or_else(|| !own(home), |document| home == document)
        };
        for claim in self.claims().iter().filter(|claim| of(claim.claim)) {
            tally.claims += 1;
            *match claim.holds {
                Some(true) => &mut tally.hold,
                Some(false) => &mut tally.off,
                None => &mut tally.unknown,
            } += 1;
            let basis =
                ReproBasis::ALL.iter().position(|basis| *basis == claim.basis).expect("it is one of them");
            tally.by_basis[basis][0] += 1;
            tally.by_basis[basis][1] += usize::from(claim.holds == Some(true));
        }
        tally.missing = self.missing.iter().filter(|one| of(&one.claim)).count();
        tally
    }

    /// Verdicts that make a figure not hold, in the order of the experiments.
    pub fn off(&self) -> Vec<&ReproVerdict> {
        let off = self.claims().into_iter().filter(|claim| claim.holds == Some(false));
        off.flat_map(|claim| claim.verdicts).filter(|verdict| verdict.holds == Some(false)).collect()
    }
}

/// A published figure, by all verdicts on it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedClaim<'a> {
    /// Id of the claim.
    pub claim: &'a str,
    /// Field of the claim.
    pub field: &'a str,
    /// True when every verdict on it holds, of several readings one; `None` when that could not be told.
    pub holds: Option<bool>,
    /// Basis of the verdict that proves least: an input if any is, else fitted if any is, and so on.
    pub basis: ReproBasis,
    /// All of them.
    pub verdicts: Vec<&'a ReproVerdict>,
}

impl JudgedClaim<'_> {
    /// The document it stands in: what its id begins with.
    pub fn document(&self) -> &str {
        self.claim.split('.').next().unwrap_or_default()
    }
}

/// Verdicts of the same figure together.
pub fn judged_claims<'a>(verdicts: impl Iterator<Item = &'a ReproVerdict>) -> Vec<JudgedClaim<'a>> {
    let mut all: Vec<JudgedClaim<'a>> = Vec::new();
    for verdict in verdicts {
        match all.iter_mut().find(|one| one.claim == verdict.claim && one.field == verdict.field) {
            Some(one) => one.verdicts.push(verdict),
            None => all.push(JudgedClaim {
                claim: &verdict.claim,
                field: &verdict.field,
                holds: None,
                basis: ReproBasis::Predicted,
                verdicts: vec![verdict],
            }),
        }
    }
    for one in &mut all {
        one.holds = judged(&one.verdicts);
        one.basis = one.verdicts.iter().map(|verdict| verdict.basis).max().unwrap_or_default();
    }
    all
}

/// All must hold; of several readings one is enough.
fn judged(verdicts: &[&ReproVerdict]) -> Option<bool> {
    let (readings, plain): (Vec<&ReproVerdict>, Vec<&ReproVerdict>) =
        verdicts.iter().copied().partition(|verdict| !verdict.reading.is_empty());
    let mut all: Vec<Option<bool>> = plain.iter().map(|verdict| verdict.holds).collect();
    if readings.iter().any(|verdict| verdict.holds == Some(true)) {
        all.push(Some(true));
    } else {
        all.extend(readings.iter().map(|verdict| verdict.holds));
    }
    if all.contains(&Some(false)) {
        return Some(false);
    }
    if all.contains(&None) { None } else { Some(true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(field: &str, reading: &str, holds: Option<bool>, basis: ReproBasis) -> ReproVerdict {
        let (field, reading) = (field.into(), reading.into());
        ReproVerdict { claim: "p.c".into(), field, reading, holds, basis, ..ReproVerdict::default() }
    }

    #[test]
    fn a_figure_counts_once_and_one_reading_of_it_is_enough() {
        use ReproBasis::{Fitted, Predicted};
        let all = [
            verdict("a", "", Some(true), Predicted),
            verdict("a", "", Some(true), Fitted),
            verdict("b", "one", Some(false), Predicted),
            verdict("b", "other", Some(true), Predicted),
            verdict("c", "", Some(true), Predicted),
            verdict("c", "", Some(false), Predicted),
            verdict("d", "", None, Predicted),
        ];
        let judged: Vec<_> = judged_claims(all.iter()).iter().map(|one| (one.holds, one.basis)).collect();
        let expected =
            [(Some(true), Fitted), (Some(true), Predicted), (Some(false), Predicted), (None, Predicted)];
        assert_eq!(judged, expected);
    }

    #[test]
    fn a_verdict_of_an_older_version_is_a_prediction() {
        let old = r#"{"claim":"c","says":"s","test":"t","claimed":"1","ours":"1","difference":null,"holds":true,"fitted":[]}"#;
        let verdict: ReproVerdict = serde_json::from_str(old).expect("sound");
        assert_eq!((verdict.basis, verdict.why.as_str()), (ReproBasis::Predicted, ""));
    }
}
