//! A reproduction at one look: how much came out, what did not, and on how many numbers it rests.
//!
//! Words and rows that the terminal, the page and the manual share. Start reading at [`digest`].

use iostack_model::answers::{Repro, ReproBasis, ReproTally, ReproVerdict};

use crate::document::Table;
use crate::lists::{Joined, grouped};
use crate::text::format::or_dash;

/// The whole in tables and sentences.
pub(crate) struct Digest {
    /// Published figures by document; the last row is all of them when there are several.
    pub(crate) documents: Table,
    /// Basis of the verdicts that were judged: how many hold, of how many.
    pub(crate) rests: Table,
    /// Sentence that says how many rest on what, and how many numbers were fitted for them.
    pub(crate) sentence: String,
    /// Claims that do not come out.
    pub(crate) off: Vec<Off>,
    /// Numbers of what was run on.
    pub(crate) platforms: Table,
    /// Numbers that were fitted: the sheet and its number, and the claim.
    pub(crate) fitted: Vec<(String, String)>,
    /// Figures that nothing judges, by the reason.
    pub(crate) missing: Vec<(String, Vec<String>)>,
}

/// A verdict that does not hold.
pub(crate) struct Off {
    /// Claim and figure.
    pub(crate) claim: String,
    /// `claimed 0.26, ours 0.11, -57 %`; of a shape, what was seen.
    pub(crate) figures: String,
    /// The reason, or that nobody knows one.
    pub(crate) why: String,
    /// Id of the experiment of the claim.
    pub(crate) experiment: String,
}

/// Reason of a claim that does not hold when its file does not give one.
pub(crate) const NO_REASON: &str = "no reason known";

/// Claim and figure in one word.
pub(crate) fn figure_name(claim: &str, field: &str) -> String {
    if field.is_empty() { claim.to_owned() } else { format!("{claim}: {field}") }
}

/// Counts and sorts the verdicts of all experiments.
pub(crate) fn digest(repro: &Repro) -> Digest {
    Digest {
        documents: documents(repro),
        rests: rests(repro),
        sentence: sentence(repro),
        off: off(repro),
        platforms: platforms(repro),
        fitted: fitted(repro),
        missing: missing(repro),
    }
}

/// A row a document: of each kind of evidence `hold/judged`.
fn rests(repro: &Repro) -> Table {
    let tallies = tallies(repro);
    let mut table = Table::over(&tallies).words("document", |(name, _)| *name);
    for (at, basis) in ReproBasis::ALL.iter().enumerate() {
        table = table.number(basis.word(), |(_, tally)| match tally.by_basis[at] {
            [0, _] => "-".to_owned(),
            [judged, hold] => format!("{hold}/{judged}"),
        });
    }
    table.done()
}

/// Counts of each document of which something was asked, and of all.
fn tallies(repro: &Repro) -> Vec<(&str, ReproTally)> {
    let documents = repro.documents.iter().map(|one| (one.id.as_str(), repro.tally(Some(&one.id))));
    let mut tallies: Vec<_> = documents.filter(|(_, tally)| tally.claims + tally.missing > 0).collect();
    if tallies.len() != 1 {
        tallies.push(("all", repro.tally(None)));
    }
    tallies
}

fn documents(repro: &Repro) -> Table {
    Table::over(&tallies(repro))
        .words("document", |(name, _)| *name)
        .number("statements", |(_, tally)| (tally.claims + tally.missing).to_string())
        .number("hold", |(_, tally)| tally.hold.to_string())
        .number("off", |(_, tally)| tally.off.to_string())
        .number("unknown", |(_, tally)| tally.unknown.to_string())
        .number("left out", |(_, tally)| tally.missing.to_string())
        .done()
}

fn sentence(repro: &Repro) -> String {
    let (tally, all) = (repro.tally(None), repro.fitted());
    let fitted = all.iter().filter(|one| one.judged).count();
    let more = match all.len() - fitted {
        0 => String::new(),
        elsewhere => format!(
            " {elsewhere} more were fitted to figures of data sheets that no claim here is about (iostack sim check)."
        ),
    };
    let repeated = all.iter().filter(|one| one.judged && !one.repeats.is_empty()).count();
    let repeated = match repeated {
        0 => String::new(),
        count => format!(" ({count} of them repeat a fit of another sheet)"),
    };
    let derived =
        ReproBasis::ALL.iter().zip(tally.by_basis).find(|(basis, _)| **basis == ReproBasis::Derived);
    let claims = tally.claims;
    let quarter = (claims - derived.map_or(0, |(_, [judged, _])| judged)) as f64 / 4.0;
    let fewer = if (fitted as f64) < quarter { "fewer than" } else { "NOT fewer than" };
    let kinds = ReproBasis::ALL.iter().zip(tally.by_basis).filter(|(_, [judged, _])| *judged > 0);
    let kinds = kinds.map(|(basis, [judged, _])| format!("{judged} {}", basis.word())).joined(", ");
    let kinds = if kinds.is_empty() { "none" } else { &kinds };
    format!(
        "{claims} statements were judged: {kinds}; {fitted} parameters were fitted to them{repeated}, {fewer} a \
         quarter of those that are not derived ({quarter}).{more}{}",
        sure(repro)
    )
}

/// Words for the predictions that hold, over the draws.
fn sure(repro: &Repro) -> String {
    let Some(draws) = repro.draws else { return String::new() };
    let all = repro.experiments.iter().flat_map(|one| &one.verdicts);
    let shares = all
        .filter(|verdict| verdict.basis == ReproBasis::Predicted && verdict.holds == Some(true))
        .filter_map(|verdict| verdict.drawn)
        .map(|drawn| f64::from(drawn.hold) / f64::from(drawn.judged.max(1)));
    let shares: Vec<f64> = shares.collect();
    let at_least = |least: f64| shares.iter().filter(|&&share| share >= least).count();
    format!(
        " Of {} verdicts that are predicted and hold, {} hold in every one of {} draws of what the sheets do not know exactly, \
         {} in nine of ten.",
        shares.len(),
        at_least(1.0),
        draws.count,
        at_least(0.9)
    )
}

/// `17/20`: draws in which a verdict holds, of how many.
pub(crate) fn drawn(verdict: &ReproVerdict) -> String {
    or_dash(verdict.drawn, |drawn| format!("{}/{}", drawn.hold, drawn.judged))
}

/// `claimed 0.26, ours 0.11, -57.7 %`.
pub(crate) fn figures(verdict: &ReproVerdict) -> String {
    let claimed =
        if verdict.claimed == "-" { String::new() } else { format!("claimed {}, ", verdict.claimed) };
    let difference = verdict.difference.map_or(String::new(), |share| format!(", {:+.1} %", share * 100.0));
    format!("{claimed}ours {}{difference}", verdict.ours)
}

/// Difference of our figure to the claimed one.
pub(crate) fn difference(verdict: &ReproVerdict) -> String {
    or_dash(verdict.difference, |share| format!("{:+.1} %", share * 100.0))
}

fn off(repro: &Repro) -> Vec<Off> {
    let all = repro.experiments.iter().flat_map(|one| one.verdicts.iter().map(move |each| (one, each)));
    let all: Vec<_> = all.collect();
    let home = |verdict: &ReproVerdict| all.iter().find(|(_, other)| std::ptr::eq(*other, verdict));
    let off = |verdict: &ReproVerdict| Off {
        claim: figure_name(&verdict.claim, &verdict.field),
        figures: figures(verdict),
        why: if verdict.why.is_empty() { NO_REASON.to_owned() } else { verdict.why.clone() },
        experiment: home(verdict).map_or_else(String::new, |(one, _)| one.id.clone()),
    };
    repro.off().into_iter().map(off).collect()
}

fn platforms(repro: &Repro) -> Table {
    Table::over(&repro.platforms)
        .words("platform", |one| &one.name)
        .number("cited", |one| one.cited.to_string())
        .number("fitted", |one| one.fitted.len().to_string())
        .number("assumed", |one| one.assumed.to_string())
        .number("input", |one| one.claims_input.to_string())
        .number("fitted", |one| one.claims_fitted.to_string())
        .number("other", |one| one.claims_other.to_string())
        .number("predicted", |one| one.claims_predicted.to_string())
        .done()
}

fn fitted(repro: &Repro) -> Vec<(String, String)> {
    let claim = |one: &iostack_model::answers::ReproFitted| {
        let claim = if one.judged { one.claim.clone() } else { format!("{} (data sheet)", one.claim) };
        if one.repeats.is_empty() { claim } else { format!("{claim}, as {}", one.repeats) }
    };
    repro.fitted().into_iter().map(|one| (format!("{}: {}", one.sheet, one.key), claim(one))).collect()
}

/// Claims left out, by reason, in their order; several figures of a claim are one, with their number.
fn missing(repro: &Repro) -> Vec<(String, Vec<String>)> {
    let name = |(claim, fields): (&String, Vec<&String>)| match &fields[..] {
        [field] => figure_name(claim, field),
        fields => format!("{claim} ({} figures)", fields.len()),
    };
    let reasons = grouped(repro.missing.iter().map(|one| (&one.reason, (&one.claim, &one.field))));
    let named = |(reason, claims): (&String, Vec<(&String, &String)>)| {
        (reason.clone(), grouped(claims).into_iter().map(name).collect())
    };
    reasons.into_iter().map(named).collect()
}
