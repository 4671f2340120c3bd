//! A reproduction at one look: how much came out, what did not, and on how many numbers it rests.
//!
//! Words and rows that the terminal, the page and the manual share. Start reading at [`digest`].

use iostack_model::answers::{Repro, ReproBasis, ReproVerdict};

/// A head and rows of cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Above each column.
    pub heads: Vec<&'static str>,
    /// The first cell names the row, the others are numbers.
    pub rows: Vec<Vec<String>>,
}

/// The whole in tables and sentences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Digest {
    /// Published figures by document; the last row is all of them when there are several.
    pub documents: Rows,
    /// On what those rest that were judged: how many hold, of how many.
    pub rests: Rows,
    /// How many rest on what, and how many numbers were fitted for them.
    pub sentence: String,
    /// What does not come out.
    pub off: Vec<Off>,
    /// Numbers of what was run on.
    pub platforms: Rows,
    /// Numbers that were fitted: the sheet and its number, and the claim.
    pub fitted: Vec<(String, String)>,
    /// Figures that nothing judges, by the reason.
    pub missing: Vec<(String, Vec<String>)>,
}

/// A verdict that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Off {
    /// Claim and figure.
    pub claim: String,
    /// `claimed 0.26, ours 0.11, -57 %`; of a shape, what was seen.
    pub figures: String,
    /// The reason, or that nobody knows one.
    pub why: String,
    /// Its experiment.
    pub experiment: String,
}

/// What is said of a claim that does not hold when its file does not say why.
pub const NO_REASON: &str = "no reason known";

/// Claim and figure in one word.
pub fn figure_name(claim: &str, field: &str) -> String {
    if field.is_empty() { claim.to_owned() } else { format!("{claim}: {field}") }
}

/// Makes it.
pub fn digest(repro: &Repro) -> Digest {
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
fn rests(repro: &Repro) -> Rows {
    let heads = std::iter::once("document").chain(ReproBasis::ALL.map(ReproBasis::word)).collect();
    let cell =
        |[judged, hold]: [usize; 2]| if judged == 0 { "-".to_owned() } else { format!("{hold}/{judged}") };
    let row = |name: &str, document: Option<&str>| {
        let cells = repro.tally(document).by_basis.map(cell);
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    Rows { heads, rows: of_documents(repro, row) }
}

/// A row for each document of which something was asked, and one for all.
fn of_documents(repro: &Repro, row: impl Fn(&str, Option<&str>) -> Vec<String>) -> Vec<Vec<String>> {
    let asked = repro.documents.iter().filter(|document| {
        let tally = repro.tally(Some(&document.id));
        tally.claims + tally.missing > 0
    });
    let mut rows: Vec<Vec<String>> = asked.map(|document| row(&document.id, Some(&document.id))).collect();
    if rows.len() != 1 {
        rows.push(row("all", None));
    }
    rows
}

fn documents(repro: &Repro) -> Rows {
    let heads = vec!["document", "statements", "hold", "off", "unknown", "left out"];
    let row = |name: &str, document: Option<&str>| {
        let tally = repro.tally(document);
        let counts = [tally.claims + tally.missing, tally.hold, tally.off, tally.unknown, tally.missing];
        std::iter::once(name.to_owned()).chain(counts.map(|count| count.to_string())).collect::<Vec<_>>()
    };
    Rows { heads, rows: of_documents(repro, row) }
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

fn platforms(repro: &Repro) -> Rows {
    let heads = vec!["platform", "cited", "fitted", "assumed", "input", "fitted", "other", "predicted"];
    let row = |one: &iostack_model::answers::ReproPlatform| {
        let fitted = one.fitted.len() as u32;
        let claims = [one.claims_input, one.claims_fitted, one.claims_other, one.claims_predicted];
        let counts = [one.cited, fitted, one.assumed].into_iter().chain(claims);
        std::iter::once(one.name.clone()).chain(counts.map(|count| count.to_string())).collect()
    };
    Rows { heads, rows: repro.platforms.iter().map(row).collect() }
}

fn fitted(repro: &Repro) -> Vec<(String, String)> {
    let claim = |one: &iostack_model::answers::ReproFitted| {
        if one.judged { one.claim.clone() } else { format!("{} (data sheet)", one.claim) }
    };
    repro.fitted().into_iter().map(|one| (format!("{}: {}", one.sheet, one.key), claim(one))).collect()
}

/// Claims, and of each the figures that are meant.
type Claims<'a> = Vec<(&'a str, Vec<&'a str>)>;

/// By reason, in the order of the claims; several figures of a claim as one, with their number.
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

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::answers::{ReproDocument, ReproFitted, ReproMissing, ReproPlatform};

    #[test]
    fn figures_that_nothing_judges_are_told_by_their_reason() {
        let missing = |claim: &str, field: &str, reason: &str| ReproMissing {
            claim: claim.into(),
            field: field.into(),
            reason: reason.into(),
        };
        let fitted =
            |key: &str| ReproFitted { sheet: "s".into(), key: key.into(), claim: "p.a".into(), judged: true };
        let platform = |name: &str| ReproPlatform {
            name: name.into(),
            fitted: vec![fitted("k")],
            ..ReproPlatform::default()
        };
        let repro = Repro {
            schema: 1,
            iostack: "0".into(),
            experiments: Vec::new(),
            documents: vec![ReproDocument { id: "p".into(), title: "P".into(), published: true, own: false }],
            platforms: vec![platform("one"), platform("two")],
            missing: vec![missing("p.a", "", "why"), missing("p.b", "x", "why"), missing("p.b", "y", "why")],
            interrupted: false,
        };
        let digest = digest(&repro);
        assert_eq!(
            digest.missing,
            [("why".to_owned(), vec!["p.a".to_owned(), "p.b (2 figures)".to_owned()])]
        );
        assert_eq!(digest.documents.rows, [["p", "3", "0", "0", "0", "3"]]);
        assert_eq!(digest.fitted, [("s: k".to_owned(), "p.a".to_owned())], "shared, and counted once");
        assert!(
            digest.sentence.contains("1 parameters were fitted to them, NOT fewer than"),
            "{}",
            digest.sentence
        );
    }
}
