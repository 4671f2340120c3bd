//! A reproduction at one look: how much came out, what did not, and on how many numbers it rests.
//!
//! Words and rows that the terminal, the page and the manual share. Start reading at [`digest`].

use iostack_model::answers::{Repro, ReproBasis, ReproVerdict};

use crate::document::Table;

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
    let heads: Vec<&str> = std::iter::once("document").chain(ReproBasis::ALL.map(ReproBasis::word)).collect();
    let cell =
        |[judged, hold]: [usize; 2]| if judged == 0 { "-".to_owned() } else { format!("{hold}/{judged}") };
    let row = |name: &str, document: Option<&str>| {
        let cells = repro.tally(document).by_basis.map(cell);
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    of_documents(repro, &heads, row)
}

/// A row for each document of which something was asked, and one for all.
fn of_documents(repro: &Repro, heads: &[&str], row: impl Fn(&str, Option<&str>) -> Vec<String>) -> Table {
    let asked = repro.documents.iter().filter(|document| {
        let tally = repro.tally(Some(&document.id));
        tally.claims + tally.missing > 0
    });
    let mut table = Table::of(heads);
    for document in asked {
        table.row(row(&document.id, Some(&document.id)));
    }
    if table.rows.len() != 1 {
        table.row(row("all", None));
    }
    table
}

fn documents(repro: &Repro) -> Table {
    let heads = ["document", "statements", "hold", "off", "unknown", "left out"];
    let row = |name: &str, document: Option<&str>| {
        let tally = repro.tally(document);
        let counts = [tally.claims + tally.missing, tally.hold, tally.off, tally.unknown, tally.missing];
        std::iter::once(name.to_owned()).chain(counts.map(|count| count.to_string())).collect::<Vec<_>>()
    };
    of_documents(repro, &heads, row)
}

fn sentence(repro: &Repro) -> String {
    let (tally, all) = (repro.tally(None), repro.fitted());
    let fitted = all.iter().filter(|one| one.judged).count();
    let elsewhere = all.len() - fitted;
    let more = if elsewhere == 0 {
        String::new()
    } else {
        format!(
            " {elsewhere} more were fitted to figures of data sheets that no claim here is about (iostack sim check)."
        )
    };
    let (claims, quarter) = (tally.claims, tally.claims as f64 / 4.0);
    let fewer = if (fitted as f64) < quarter { "fewer than" } else { "NOT fewer than" };
    let kinds = ReproBasis::ALL.iter().zip(tally.by_basis).filter(|(_, [judged, _])| *judged > 0);
    let kinds: Vec<String> = kinds.map(|(basis, [judged, _])| format!("{judged} {}", basis.word())).collect();
    let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") };
    format!(
        "{claims} statements were judged: {kinds}; {fitted} parameters were fitted to them, {fewer} a quarter of \
         the statements ({quarter}).{more}"
    )
}

/// `claimed 0.26, ours 0.11, -57.7 %`.
pub(crate) fn figures(verdict: &ReproVerdict) -> String {
    let claimed =
        if verdict.claimed == "-" { String::new() } else { format!("claimed {}, ", verdict.claimed) };
    let difference = verdict.difference.map_or(String::new(), |share| format!(", {:+.1} %", share * 100.0));
    format!("{claimed}ours {}{difference}", verdict.ours)
}

fn off(repro: &Repro) -> Vec<Off> {
    let home = |verdict: &ReproVerdict| {
        let mut experiments = repro.experiments.iter();
        let one = experiments.find(|one| one.verdicts.iter().any(|other| std::ptr::eq(other, verdict)));
        one.map_or(String::new(), |one| one.id.clone())
    };
    let off = |verdict: &ReproVerdict| Off {
        claim: figure_name(&verdict.claim, &verdict.field),
        figures: figures(verdict),
        why: if verdict.why.is_empty() { NO_REASON.to_owned() } else { verdict.why.clone() },
        experiment: home(verdict),
    };
    repro.off().into_iter().map(off).collect()
}

fn platforms(repro: &Repro) -> Table {
    let heads = ["platform", "cited", "fitted", "assumed", "input", "fitted", "other", "predicted"];
    let mut table = Table::of(&heads);
    for one in &repro.platforms {
        let claims = [one.claims_input, one.claims_fitted, one.claims_other, one.claims_predicted];
        let counts = [one.cited, one.fitted.len() as u32, one.assumed].into_iter().chain(claims);
        table.row(std::iter::once(one.name.clone()).chain(counts.map(|count| count.to_string())));
    }
    table
}

fn fitted(repro: &Repro) -> Vec<(String, String)> {
    let claim = |one: &iostack_model::answers::ReproFitted| {
        if one.judged { one.claim.clone() } else { format!("{} (data sheet)", one.claim) }
    };
    repro.fitted().into_iter().map(|one| (format!("{}: {}", one.sheet, one.key), claim(one))).collect()
}

/// Claims, and of each the figures that are meant.
type Claims<'a> = Vec<(&'a str, Vec<&'a str>)>;

/// Claims left out, by reason, in their order; several figures of a claim are one, with their number.
fn missing(repro: &Repro) -> Vec<(String, Vec<String>)> {
    let mut reasons: Vec<(&str, Claims<'_>)> = Vec::new();
    for one in &repro.missing {
        let place = reasons.iter().position(|(reason, _)| *reason == one.reason).unwrap_or(reasons.len());
        if place == reasons.len() {
            reasons.push((&one.reason, Vec::new()));
        }
        let claims = &mut reasons[place].1;
        match claims.iter_mut().find(|(claim, _)| *claim == one.claim) {
            Some((_, fields)) => fields.push(&one.field),
            None => claims.push((&one.claim, vec![&one.field])),
        }
    }
    let name = |(claim, fields): &(&str, Vec<&str>)| match &fields[..] {
        [field] => figure_name(claim, field),
        fields => format!("{claim} ({} figures)", fields.len()),
    };
    let named = |(reason, claims): (&str, Claims<'_>)| {
        (reason.to_owned(), claims.iter().map(name).collect::<Vec<_>>())
    };
    reasons.into_iter().map(named).collect()
}
