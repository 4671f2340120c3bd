//! What does agreement rest on? A number taken from the claim, one chosen for it, or neither.
//!
//! ```text
//!   sheets of a curve ──► origins: sheet, key, source ──► of a verdict: input, fitted or predicted
//!   (and those inside)                              └──► of a platform: how many numbers are cited, fitted, assumed
//! ```
//!
//! `source = "claim ID"` makes a verdict on ID an input, `fitted = "ID"` a fit. ID may name one figure of a claim
//! (`cmu.device_a.read_iops`). Start reading at [`basis_of_verdict`].

use std::collections::BTreeMap;

use iostack_lab::targets as lab;
use iostack_model::answers::{ReproBasis, ReproFitted, ReproPlatform, Reproduced, judged_claims};
use iostack_sim::sheet::{Sheet, SheetNumber, Source};
use iostack_sim::targets::Simulations;
use iostack_target::Targets as _;

use super::curve::Curve;
use super::experiment::{Experiment, Verdict};
use iostack_study::sweep::axis::is_parameter;

/// Numbers by sheet and key: their source, and the sheet that they repeat.
type Numbers = BTreeMap<(String, String), (Source, String)>;

/// A number of a sheet, and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The sheet's name; whether it is the one that was asked for, not one inside.
    pub(crate) sheet: String,
    top: bool,
    pub(crate) key: String,
    pub(crate) source: Source,
    /// Sheet that it was fitted in, where this one repeats it; empty where it does not.
    repeats: String,
}

impl Origin {
    /// The claim that this number is, or that it was chosen for.
    pub(crate) fn claim(&self) -> Option<(ReproBasis, &str)> {
        match &self.source {
            Source::Fitted(claim) => Some((ReproBasis::Fitted, claim)),
            Source::Cited(place) => {
                let claim = place.strip_prefix("claim ")?.split([' ', ',', ':']).next()?;
                Some((ReproBasis::Input, claim))
            }
            _ => None,
        }
    }

    /// `controller.read`, or `samsung-mlc: controller.read` of a sheet inside.
    fn words(&self) -> String {
        if self.top { self.key.clone() } else { format!("{}: {}", self.sheet, self.key) }
    }
}

/// All numbers of a sheet and of those inside. What it does not have is left out.
fn origins_of(sheet: &Sheet, top: bool, all: &mut Vec<Origin>) {
    for entry in sheet.entries() {
        if entry.is_had() {
            let key = entry.key.to_owned();
            let (source, repeats) = fitted_elsewhere(&entry).unwrap_or((entry.source, String::new()));
            all.push(Origin { sheet: sheet.name.clone(), top, key, source, repeats });
        }
    }
    for (_, inside) in sheet.members() {
        origins_of(inside, false, all);
    }
}

/// Fit of the same number in another sheet, of one that is assumed `as SHEET`: it is a fit here, too.
fn fitted_elsewhere(entry: &SheetNumber) -> Option<(Source, String)> {
    let Source::Assumed(words) = &entry.source else { return None };
    let name = words.strip_prefix("as ")?.split([' ', ',', ':']).next()?;
    let other = Sheet::load(name, &[]).ok()?.entries().into_iter().find(|other| other.key == entry.key)?;
    let same = other.text == entry.text;
    match other.source {
        Source::Fitted(_) if same => Some((other.source, name.to_owned())),
        _ => fitted_elsewhere(&other).filter(|_| same),
    }
}

/// Numbers of what a curve runs on, at one of its points or at all. What cannot be loaded has none: its run says why.
pub(crate) fn origins(curve: &Curve, at: Option<&str>) -> Vec<Origin> {
    let mut all = Vec::new();
    let mut load = |changes: &[(String, String)]| {
        // A drive of the lab's is the same drive; what the lab is told of its machine is no number of it.
        let bare = lab::device(&curve.device).unwrap_or(&curve.device);
        let bare = Simulations.bare(bare);
        let of_drive: Vec<_> = changes.iter().filter(|(key, _)| lab::flag(key).is_none()).cloned().collect();
        if let Ok(sheet) = Sheet::load(bare, &of_drive) {
            origins_of(&sheet, true, &mut all);
        }
    };
    match &curve.vary {
        Some((_, values)) => {
            for value in values.iter().filter(|value| at.is_none_or(|at| at == **value)) {
                let varied: Vec<_> =
                    curve.varied_at(value).into_iter().filter(|(key, _)| is_parameter(key)).collect();
                let mut changes = curve.changes.clone();
                changes.retain(|(key, _)| varied.iter().all(|(other, _)| other != key));
                changes.extend(varied);
                load(&changes);
            }
        }
        None => load(&curve.changes),
    }
    all
}

/// True when a reference of a sheet means this figure of this claim.
fn means(reference: &str, claim: &str, field: Option<&str>) -> bool {
    match reference.strip_prefix(claim) {
        Some("") => true,
        Some(rest) => field.is_some_and(|field| rest.strip_prefix('.') == Some(field)),
        None => false,
    }
}

/// Basis of a verdict, and the numbers that make it so.
pub(crate) fn basis_of_verdict(verdict: &Verdict, curves: &[Curve]) -> (ReproBasis, Vec<String>) {
    let mut found: Vec<(ReproBasis, String)> =
        verdict.written.fitted.iter().map(|key| (ReproBasis::Fitted, key.clone())).collect();
    found.extend(verdict.written.input.iter().map(|key| (ReproBasis::Input, key.clone())));
    found.extend(verdict.rests.clone());
    for subject in std::iter::once(&verdict.first).chain(&verdict.second) {
        let curve = &curves[subject.curve];
        if curve.cost.is_some() {
            continue;
        }
        for origin in origins(curve, subject.at.as_deref()) {
            let Some((basis, claim)) = origin.claim() else { continue };
            let same = verdict.written.same_as.iter().any(|name| name == claim);
            if same || means(claim, &verdict.claim.id, verdict.written.field.as_deref()) {
                found.push((basis, origin.words()));
            }
        }
    }
    let basis = found.iter().map(|(basis, _)| *basis).max().unwrap_or_default();
    let mut words: Vec<String> = Vec::new();
    for (_, key) in found.into_iter().filter(|(each, _)| *each == basis) {
        if !words.contains(&key) {
            words.push(key);
        }
    }
    (basis, words)
}

/// Devices that were run on, each once, in the order of the experiments: `experiments` and their results.
pub(crate) fn platforms(experiments: &[&Experiment], reproduced: &[Reproduced]) -> Vec<ReproPlatform> {
    let mut devices: Vec<&str> = Vec::new();
    let curves = || experiments.iter().flat_map(|one| &one.curves).filter(|curve| curve.cost.is_none());
    for curve in curves() {
        if !devices.contains(&curve.device.as_str()) {
            devices.push(&curve.device);
        }
    }
    let count = |device: &&str| {
        let sheet = Sheet::load(device, &[]).ok()?;
        let mut numbers: Numbers = BTreeMap::new();
        for origin in curves().filter(|curve| curve.device == *device).flat_map(|curve| origins(curve, None))
        {
            // A number that one run changes and another leaves counts as the sheet has it.
            let known = numbers.entry((origin.sheet, origin.key)).or_insert((Source::Changed, String::new()));
            if known.0 == Source::Changed {
                *known = (origin.source, origin.repeats);
            }
        }
        let mut platform = ReproPlatform {
            name: (*device).to_owned(),
            title: sheet.title.clone(),
            platform: sheet.kind.name == "platform",
            ..ReproPlatform::default()
        };
        chosen(device, &sheet, experiments, &mut numbers);
        let verdicts = experiments.iter().flat_map(|one| {
            one.verdicts.iter().filter(|verdict| one.curves[verdict.first.curve].device == *device)
        });
        let same: Vec<&String> = verdicts.flat_map(|verdict| &verdict.written.same_as).collect();
        rests_on(numbers, &same, &mut platform);
        judged(device, experiments, reproduced, &mut platform);
        Some(platform)
    };
    devices.iter().filter_map(count).collect()
}

/// Numbers of which a verdict says that they were chosen for its claim.
fn chosen(device: &str, sheet: &Sheet, experiments: &[&Experiment], numbers: &mut Numbers) {
    for one in experiments {
        // A job that nobody states is a parameter as any other, for what its curve is judged by.
        for verdict in &one.verdicts {
            let curve = &one.curves[verdict.first.curve];
            for what in curve.chosen.iter().filter(|_| curve.device == device) {
                let fitted = Source::Fitted(verdict.claim.id.clone());
                numbers.entry((one.id.clone(), what.clone())).or_insert((fitted, String::new()));
            }
        }
        for verdict in one.verdicts.iter().filter(|verdict| one.curves[verdict.first.curve].device == device)
        {
            for key in &verdict.written.fitted {
                let fitted = Source::Fitted(verdict.claim.id.clone());
                numbers.insert((sheet.name.clone(), key.clone()), (fitted, String::new()));
            }
        }
    }
}

/// `same` are claims of sheets that verdicts judge, too.
fn rests_on(numbers: Numbers, same: &[&String], platform: &mut ReproPlatform) {
    for ((sheet, key), (source, repeats)) in numbers {
        match source {
            Source::Cited(_) => platform.cited += 1,
            Source::Fitted(claim) => {
                let judged = claim.contains('.') || same.contains(&&claim);
                platform.fitted.push(ReproFitted { sheet, key, claim, judged, repeats });
            }
            Source::Assumed(_) | Source::Changed | Source::Default => platform.assumed += 1,
        }
    }
}

fn judged(
    device: &str,
    experiments: &[&Experiment],
    reproduced: &[Reproduced],
    platform: &mut ReproPlatform,
) {
    let on_it = experiments.iter().zip(reproduced).flat_map(|(asked, gave)| {
        let pairs = asked.verdicts.iter().zip(&gave.verdicts);
        pairs.filter(|(verdict, _)| asked.curves[verdict.first.curve].device == device).map(|(_, gave)| gave)
    });
    for claim in judged_claims(on_it) {
        match claim.basis {
            ReproBasis::Input => platform.claims_input += 1,
            ReproBasis::Fitted => platform.claims_fitted += 1,
            ReproBasis::Predicted => platform.claims_predicted += 1,
            _ => platform.claims_other += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{builtin, published};

    #[test]
    fn a_reference_means_a_claim_or_one_figure_of_it() {
        assert!(
            means("p.a", "p.a", None) && means("p.a", "p.a", Some("x")) && means("p.a.x", "p.a", Some("x"))
        );
        assert!(
            !means("p.a.x", "p.a", None) && !means("p.ab", "p.a", None) && !means("p.a.y", "p.a", Some("x"))
        );
    }

    #[test]
    fn a_number_says_which_claim_it_is_or_was_chosen_for() {
        let origin =
            |source| Origin { sheet: "s".into(), top: true, key: "k".into(), source, repeats: String::new() };
        let cited = |place: &str| origin(Source::Cited(place.to_owned()));
        assert_eq!(cited("claim p.a, section 4").claim(), Some((ReproBasis::Input, "p.a")));
        assert_eq!(cited("cmu09: table I").claim(), None);
        assert_eq!(origin(Source::Fitted("p.b".into())).claim(), Some((ReproBasis::Fitted, "p.b")));
    }

    #[test]
    fn a_fit_that_another_sheet_repeats_is_a_fit_there_and_what_differs_is_none() {
        let entry = |text: &str, words: &str| SheetNumber {
            key: "adapter.delay",
            text: text.to_owned(),
            unit: iostack_sim::sheet::Unit::Time,
            meaning: "",
            source: Source::Assumed(words.to_owned()),
            applies: true,
        };
        let fitted = Sheet::load("irst-9-bus", &[]).expect("built in").entries();
        let fitted = fitted.into_iter().find(|entry| entry.key == "adapter.delay").expect("it has one");
        let told = |words| fitted_elsewhere(&entry(&fitted.text, words));
        assert_eq!(
            told("as irst-9-bus, where it is"),
            Some((fitted.source.clone(), "irst-9-bus".to_owned()))
        );
        // By way of a third sheet it is the same fit.
        assert_eq!(told("as irst-9"), told("as irst-9-bus"));
        assert_eq!((told("as no-such-sheet"), told("irst-9-bus has it")), (None, None));
        assert_eq!(fitted_elsewhere(&entry("1us", "as irst-9-bus")), None);
    }

    #[test]
    fn what_was_chosen_of_a_job_is_a_parameter_of_what_it_ran_on_and_counts_once() {
        let curve = |name: &str| {
            format!("[[curve]]\nname = \"{name}\"\ndevice = \"zero\"\nchosen = [\"read-ahead of 64 KiB\"]\n")
        };
        let verdict = |curve: &str| {
            format!(
                "[[verdict]]\nclaim = \"m.a\"\nsays = \"s\"\ntest = \"rises\"\nby = 2\ncurve = \"{curve}\"\n"
            )
        };
        let text = format!(
            "title = \"T\"\nsource = \"S\"\nmeasured = \"M\"\nsimulated = \"I\"\n[[claim]]\nid = \"m.a\"\nkind = \"shape\"\n{}{}{}{}",
            curve("a"),
            curve("b"),
            verdict("a"),
            verdict("b")
        );
        let one = Experiment::parse("x", &text, "x.toml", &[]).expect("sound");
        assert_eq!(basis_of_verdict(&one.verdicts[0], &one.curves), (ReproBasis::Predicted, Vec::new()));
        let fitted = &platforms(&[&one], &[])[0].fitted;
        let told: Vec<_> = fitted.iter().map(|one| (&one.sheet[..], &one.key[..], one.judged)).collect();
        assert_eq!(told, [("x", "read-ahead of 64 KiB", true)]);
    }

    #[test]
    fn every_claim_that_a_sheet_names_was_published() {
        let claims = builtin::claims();
        let known = |name: &str| {
            let fields = |claim: &published::Claim| {
                claim.fields().into_iter().flatten().any(|field| means(name, &claim.id, Some(&field)))
            };
            claims.iter().any(|claim| claim.id == name || fields(claim))
        };
        for device in iostack_sim::sheet::catalogue::names() {
            let sheet = Sheet::load(device, &[]).expect("built in");
            let mut all = Vec::new();
            origins_of(&sheet, true, &mut all);
            for origin in &all {
                if let Some((_, claim)) =
                    origin.claim().filter(|(basis, claim)| *basis == ReproBasis::Input || claim.contains('.'))
                {
                    assert!(
                        known(claim),
                        "{}: {} names `{claim}`, which was not published",
                        origin.sheet,
                        origin.key
                    );
                }
            }
        }
    }
}
