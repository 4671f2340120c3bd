//! Caveats as numbered notes: a mark beside the number that deserves it, the text once at the end.

use std::mem::{Discriminant, discriminant};

use iostack_doubt::Weight;
use iostack_model::Caveat;

use super::format::paragraph;

/// Doubts of one kind that are told in full; the others are counted.
const TOLD: usize = 2;

/// The notes of one screen, in the order in which they were first marked.
#[derive(Default)]
pub(super) struct Notes {
    notes: Vec<Note>,
    /// Only doubts that change a verdict, each with what it changes.
    of_verdict: bool,
}

struct Note {
    kind: Discriminant<Caveat>,
    weight: Weight,
    changes: &'static str,
    doubts: Vec<String>,
    remedy: &'static str,
}

impl Notes {
    /// For a screen with a verdict: what changes nothing of it is left to the page and the data.
    pub(super) fn of_verdict() -> Notes {
        Notes { notes: Vec::new(), of_verdict: true }
    }

    /// The same kinds again, the heaviest first: for a second look at what they belong to.
    pub(super) fn by_weight(mut self) -> Notes {
        self.notes.sort_by_key(|note| note.weight);
        self.notes.iter_mut().for_each(|note| note.doubts.clear());
        self
    }

    /// `[1]`, `[1,3]`, or nothing without caveats. Caveats of one kind share a number.
    pub(super) fn mark<'a>(&mut self, caveats: impl IntoIterator<Item = &'a Caveat>) -> String {
        let of_verdict = self.of_verdict;
        let told = caveats
            .into_iter()
            .filter(|caveat| !of_verdict || iostack_doubt::changes(caveat).0 < Weight::None);
        let mut numbers: Vec<usize> = told.map(|caveat| self.number(caveat)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return String::new();
        }
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        format!("[{}]", numbers.join(","))
    }

    /// True when nothing was marked.
    pub(super) fn is_empty(&self) -> bool {
        self.notes.is_empty()
    }

    /// The number of the caveat's note, which is made when it is the first of its kind.
    fn number(&mut self, caveat: &Caveat) -> usize {
        let kind = discriminant(caveat);
        let place = self.notes.iter().position(|note| note.kind == kind).unwrap_or_else(|| {
            let (weight, changes) = iostack_doubt::changes(caveat);
            let changes = if self.of_verdict { changes } else { "" };
            self.notes.push(Note {
                kind,
                weight,
                changes,
                doubts: Vec::new(),
                remedy: iostack_doubt::remedy(caveat),
            });
            self.notes.len() - 1
        });
        let doubt = iostack_doubt::says(caveat);
        let note = &mut self.notes[place];
        if !note.doubts.contains(&doubt) {
            note.doubts.push(doubt);
        }
        place + 1
    }

    /// Each note as a paragraph: the doubts, then what to do.
    pub(super) fn text(&self) -> String {
        self.notes.iter().enumerate().map(|(index, note)| note.text(index + 1)).collect()
    }
}

impl Note {
    fn text(&self, number: usize) -> String {
        let told = self.doubts.iter().take(TOLD).map(String::as_str).collect::<Vec<_>>().join(" ");
        let more = match self.doubts.len().saturating_sub(TOLD) {
            0 => String::new(),
            1 => " (And once more.)".to_owned(),
            more => format!(" (And {more} times more.)"),
        };
        paragraph(&format!("[{number}] "), &format!("{told}{more} {} {}", self.changes, self.remedy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_told_what_changes_it_the_heaviest_first_and_nothing_else() {
        let (uneven, drift) =
            (Caveat::Unstable { relative: 0.2 }, Caveat::Drift { low: 1.0, high: 2.0, runs: 3 });
        let steal = Caveat::Steal { share: 0.2 };
        let mut notes = Notes::of_verdict();
        assert_eq!(notes.mark([&uneven, &drift, &steal]), "[1,2]");
        let mut notes = notes.by_weight();
        assert_eq!(notes.mark([&steal]), "[1]");
        assert_eq!(notes.mark([&drift]), "[2]");
        let text = notes.text();
        assert!(text.contains("Rates may be too low") && !text.contains("uneven"), "{text}");
        assert_eq!(Notes::default().mark([&uneven]), "[1]", "a run tells all of them");
    }

    #[test]
    fn one_kind_has_one_number_and_its_remedy_once() {
        let mut notes = Notes::default();
        let steal = |percent: u32| Caveat::Steal { share: f64::from(percent) / 100.0 };
        assert_eq!(notes.mark([]), "");
        assert_eq!(notes.mark([&steal(1)]), "[1]");
        assert_eq!(
            notes.mark([&Caveat::Unstable { relative: 0.2 }, &steal(2), &steal(3), &steal(1)]),
            "[1,2]"
        );
        assert_eq!(notes.mark([&steal(4)]), "[1]");
        let text = notes.text();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.starts_with("[1] The hypervisor took 1.0 % of the CPU time. The hypervisor took 2.0 %")
        );
        assert!(words.contains("(And 2 times more.) Repeat when the host"), "{words}");
        assert_eq!(words.matches("quieter").count(), 1 + 1, "once for steal, once for unstable: {words}");
    }
}
