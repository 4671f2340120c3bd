//! Why should a reader doubt which number?
//!
//! Caveats of one kind share a number and a remedy. A figure carries the number; the list at the end says what was seen
//! where, and what to do. Numbers are given when a document is drawn, so that the heaviest can be the first.

use std::collections::BTreeSet;
use std::mem::{Discriminant, discriminant};

use iostack_doubt::Weight;
use iostack_model::Caveat;

/// All caveats of a document by kind, in the order in which they were met.
#[derive(Default)]
pub(crate) struct Doubts {
    kinds: Vec<DoubtKind>,
    /// The document gives a verdict: a screen tells what changes it, the heaviest first.
    pub(crate) of_verdict: bool,
}

/// Caveats of one kind.
pub(super) struct DoubtKind {
    of: Discriminant<Caveat>,
    /// The kind in words: `Rate step`.
    pub(super) name: String,
    pub(super) weight: Weight,
    /// Change of a verdict by this kind of caveat, in words.
    pub(super) changes: &'static str,
    pub(super) remedy: &'static str,
    /// `(place, what was seen there)`, without repetitions.
    pub(super) seen: Vec<(String, String)>,
    /// A figure of the screen has it, not only one of the page.
    on_screen: bool,
}

/// The doubts of a figure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(Vec<usize>);

impl Marks {
    fn of_kinds(kinds: impl Iterator<Item = usize>) -> Marks {
        Marks(kinds.collect::<BTreeSet<_>>().into_iter().collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Doubts {
    /// The caveats of a figure, and what marks it. `place` is what the list calls the figure.
    pub(crate) fn note<'a>(&mut self, caveats: impl IntoIterator<Item = &'a Caveat>, place: &str) -> Marks {
        let marks = self.note_on_page(caveats, place);
        marks.0.iter().for_each(|&at| self.kinds[at].on_screen = true);
        marks
    }

    /// The caveats of a figure that only a page has, and its marks: a screen tells no doubt that nothing on it has.
    pub(crate) fn note_on_page<'a>(
        &mut self,
        caveats: impl IntoIterator<Item = &'a Caveat>,
        place: &str,
    ) -> Marks {
        Marks::of_kinds(caveats.into_iter().map(|caveat| self.one(caveat, place)))
    }

    /// The mark alone, where the same caveats are recorded elsewhere with their exact place.
    pub(crate) fn refer<'a>(&mut self, caveats: impl IntoIterator<Item = &'a Caveat>) -> Marks {
        Marks::of_kinds(caveats.into_iter().map(|caveat| self.kind(caveat)))
    }

    fn kind(&mut self, caveat: &Caveat) -> usize {
        let of = discriminant(caveat);
        self.kinds.iter().position(|one| one.of == of).unwrap_or_else(|| {
            let (weight, changes) = iostack_doubt::changes(caveat);
            let (name, remedy, seen) = (name(caveat), iostack_doubt::remedy(caveat), Vec::new());
            self.kinds.push(DoubtKind { of, name, weight, changes, remedy, seen, on_screen: false });
            self.kinds.len() - 1
        })
    }

    fn one(&mut self, caveat: &Caveat, place: &str) -> usize {
        let at = self.kind(caveat);
        let seen = (place.to_owned(), iostack_doubt::says(caveat));
        if !self.kinds[at].seen.contains(&seen) {
            self.kinds[at].seen.push(seen);
        }
        at
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The kinds to tell in the order of their numbers; with `all` also those that change no verdict.
    pub(super) fn told(&self, all: bool) -> Vec<(usize, &DoubtKind)> {
        let heavy =
            |kind: &DoubtKind| all || (kind.on_screen && (!self.of_verdict || kind.weight < Weight::None));
        let mut told: Vec<(usize, &DoubtKind)> =
            self.kinds.iter().enumerate().filter(|(_, kind)| heavy(kind)).collect();
        if self.of_verdict {
            told.sort_by_key(|(_, kind)| kind.weight);
        }
        told
    }

    /// The numbers of a figure's doubts.
    pub(super) fn numbers(&self, marks: &Marks, all: bool) -> Vec<usize> {
        let told = self.told(all);
        let mut numbers: Vec<usize> =
            marks.0.iter().filter_map(|mark| Some(told.iter().position(|(at, _)| at == mark)? + 1)).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// `RateStep { .. }` is called "Rate step": the variant's name in words, `ForeignIo` "Foreign I/O".
fn name(caveat: &Caveat) -> String {
    let debug = format!("{caveat:?}");
    let variant = debug.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let mut words = String::new();
    for (place, letter) in variant.chars().enumerate() {
        if place > 0 && letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(if place > 0 { letter.to_ascii_lowercase() } else { letter });
    }
    words.replace(" io", " I/O").replace(" cpu", " CPU")
}
