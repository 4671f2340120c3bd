//! Why should a reader doubt which number?
//!
//! Caveats of one kind share a number and a remedy. A figure carries the number as a link; the list at the end of the
//! page says what was seen where, and what to do. Start reading at [`Doubts::note`].

use std::fmt::Write as _;

use iostack_doubt::Weight;
use iostack_model::Caveat;

use super::escape;

/// All caveats of the page, by kind, in the order in which they were met.
#[derive(Default)]
pub(super) struct Doubts {
    kinds: Vec<Kind>,
}

struct Kind {
    name: String,
    /// How much it weighs, and what it changes.
    changes: (Weight, &'static str),
    remedy: &'static str,
    /// `(place, what was seen there)`, without repetitions.
    evidence: Vec<(String, String)>,
}

/// Evidence shown at once; the rest unfolds.
const SHOWN: usize = 4;

impl Doubts {
    /// Records the caveats of a figure and returns the links to put beside it; nothing when there are none.
    pub(super) fn note(&mut self, caveats: &[Caveat], place: &str) -> String {
        for caveat in caveats {
            let kind = self.kind(caveat);
            let evidence = (place.to_owned(), iostack_doubt::says(caveat));
            if !self.kinds[kind].evidence.contains(&evidence) {
                self.kinds[kind].evidence.push(evidence);
            }
        }
        self.refer(caveats)
    }

    /// The links alone, where the same caveats are recorded elsewhere with their exact place.
    pub(super) fn refer(&mut self, caveats: &[Caveat]) -> String {
        let mut numbers: Vec<usize> = caveats.iter().map(|caveat| self.kind(caveat) + 1).collect();
        numbers.sort_unstable();
        numbers.dedup();
        self.links(&numbers)
    }

    fn links(&self, numbers: &[usize]) -> String {
        let mut out = String::new();
        for &number in numbers {
            let name = escape::text(&self.kinds[number - 1].name);
            write!(out, "<a class=\"doubt\" href=\"#doubt-{number}\" title=\"{name}\">{number}</a>")
                .expect("a string takes everything");
        }
        out
    }

    /// The index of the caveat's kind, new or known.
    fn kind(&mut self, caveat: &Caveat) -> usize {
        let name = name(caveat);
        self.kinds.iter().position(|kind| kind.name == name).unwrap_or_else(|| {
            self.kinds.push(Kind {
                name,
                changes: iostack_doubt::changes(caveat),
                remedy: iostack_doubt::remedy(caveat),
                evidence: Vec::new(),
            });
            self.kinds.len() - 1
        })
    }

    /// Kinds of doubt met so far.
    pub(super) fn count(&self) -> usize {
        self.kinds.len()
    }

    /// The names of all kinds as links.
    pub(super) fn names(&self) -> String {
        let link = |(index, kind): (usize, &Kind)| {
            format!("<a href=\"#doubt-{}\">{}</a>", index + 1, escape::text(&kind.name))
        };
        self.kinds.iter().enumerate().map(link).collect::<Vec<_>>().join(", ")
    }

    /// The list at the end of the page.
    pub(super) fn list(&self) -> String {
        if self.kinds.is_empty() {
            return "<p>None was found. Every caveat is looked for, none is assumed.</p>".to_owned();
        }
        let mut kinds: Vec<(usize, &Kind)> = self.kinds.iter().enumerate().collect();
        kinds.sort_by_key(|(_, kind)| kind.changes.0);
        let (folded, shown): (Vec<_>, Vec<_>) =
            kinds.into_iter().partition(|(_, kind)| kind.changes.0 == Weight::None);
        let items = |kinds: &[(usize, &Kind)]| -> String {
            let items: String = kinds.iter().map(|(index, kind)| item(index + 1, kind)).collect();
            format!("<ol class=\"doubts\">{items}</ol>")
        };
        if folded.is_empty() {
            return items(&shown);
        }
        let (count, rest) = (folded.len(), items(&folded));
        format!("{}<details><summary>{count} that change no verdict</summary>{rest}</details>", items(&shown))
    }
}

fn item(number: usize, kind: &Kind) -> String {
    let line = |(place, doubt): &(String, String)| {
        format!("<li><b>{}</b> {}</li>", escape::text(place), escape::text(doubt))
    };
    let (shown, folded) = kind.evidence.split_at(kind.evidence.len().min(SHOWN));
    let mut evidence = format!("<ul>{}</ul>", shown.iter().map(line).collect::<String>());
    if !folded.is_empty() {
        write!(
            evidence,
            "<details><summary>{} more</summary><ul>{}</ul></details>",
            folded.len(),
            folded.iter().map(line).collect::<String>()
        )
        .expect("a string takes everything");
    }
    format!(
        "<li id=\"doubt-{number}\"><h4><span class=\"doubt\">{number}</span> {}</h4>\
         <p class=\"remedy\">{} {}</p>{evidence}</li>",
        escape::text(&kind.name),
        escape::text(kind.changes.1),
        escape::text(kind.remedy)
    )
}

/// `RateStep { .. }` is called "Rate step": the variant's name in words, `ForeignIo` "Foreign I/O".
fn name(caveat: &Caveat) -> String {
    let debug = format!("{caveat:?}");
    let variant = debug.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let mut words = String::new();
    for (place, letter) in variant.chars().enumerate() {
        if place > 0 && letter.is_ascii_uppercase() {
            words.push(' ');
            words.push(letter.to_ascii_lowercase());
        } else {
            words.push(letter);
        }
    }
    words.replace(" io", " I/O").replace(" cpu", " CPU")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caveats_of_one_kind_share_a_number() {
        let mut doubts = Doubts::default();
        let first =
            doubts.note(&[Caveat::Steal { share: 0.1 }, Caveat::ForeignCpu { share: 0.2 }], "depth 1");
        assert!(first.contains("#doubt-1") && first.contains("#doubt-2"));
        let again = doubts.note(&[Caveat::Steal { share: 0.3 }], "depth 2");
        assert!(again.contains("#doubt-1") && !again.contains("#doubt-2"));
        assert_eq!(doubts.note(&[], "depth 4"), "");
        let list = doubts.list();
        assert!(list.contains("depth 1") && list.contains("depth 2") && list.contains("Foreign CPU"));
        assert_eq!(doubts.count(), 2);
    }

    #[test]
    fn much_evidence_is_folded_not_dropped() {
        let mut doubts = Doubts::default();
        for index in 0..9 {
            doubts.note(&[Caveat::Steal { share: 0.1 }], &format!("place {index}"));
        }
        let list = doubts.list();
        assert!(list.contains("5 more") && list.contains("place 8"));
    }
}
