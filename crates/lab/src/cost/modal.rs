//! Which exact count is the commonest, and which vector and trace show it?

use std::collections::BTreeMap;

use iostack_model::answers::CostMode;

use crate::counts::{Io, Round, Trace, Vector};

/// Modes that are kept.
const MODES: usize = 16;

/// The modal I/O.
#[derive(Clone, Copy)]
pub(super) struct Modal<'a> {
    /// Round that its vector is from.
    pub(super) round: &'a Round,
    pub(super) vector: &'a Vector,
    /// The same vector step by step, where it was traced.
    pub(super) trace: Option<&'a Trace>,
    pub(super) instructions: u64,
}

/// Exact counts, the commonest first; of equally common ones the smallest.
pub(super) fn modes<'a>(ios: impl Iterator<Item = &'a Io>) -> Vec<CostMode> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for io in ios {
        *counts.entry(io.instructions).or_default() += 1;
    }
    let mut modes: Vec<CostMode> =
        counts.into_iter().map(|(instructions, ios)| CostMode { instructions, ios }).collect();
    // Stable, so that the smallest comes first among equals.
    modes.sort_by_key(|mode| std::cmp::Reverse(mode.ios));
    modes.truncate(MODES);
    modes
}

/// Instructions of all of a vector.
pub(super) fn total(vector: &Vector) -> u64 {
    vector.counts.iter().map(|&(_, times)| times).sum()
}

/// The vector of so many instructions that most I/Os had, rather one that was traced, and of the first round, whose boot
/// the names are of: in another, modules may lie elsewhere. That is also why boots are compared by count, not by hash.
pub(super) fn find(rounds: &[Round], instructions: u64) -> Option<Modal<'_>> {
    let mut ios: BTreeMap<u64, u64> = BTreeMap::new();
    for io in rounds.iter().flat_map(|round| &round.ios).filter(|io| io.instructions == instructions) {
        *ios.entry(io.hash).or_default() += 1;
    }
    let candidates = rounds.iter().enumerate().flat_map(|(place, round)| {
        let right = round.vectors.iter().filter(|vector| total(vector) == instructions);
        right.map(move |vector| {
            let trace = round.traces.iter().find(|trace| trace.hash == vector.hash);
            (place == 0, Modal { round, vector, trace, instructions })
        })
    });
    let key = |(first, modal): &(bool, Modal<'_>)| {
        (modal.trace.is_some(), *first, ios.get(&modal.vector.hash).copied())
    };
    candidates.max_by_key(key).map(|(_, modal)| modal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(instructions: u64, hash: u64) -> Io {
        Io { instructions, hash }
    }

    fn vector(hash: u64, times: u64) -> Vector {
        Vector { hash, ios: 1, counts: vec![(0x100, times)] }
    }

    #[test]
    fn the_commonest_count_comes_first_and_of_equals_the_smallest() {
        let ios = [io(9, 1), io(7, 2), io(7, 2), io(5, 3), io(5, 3)];
        let modes = modes(ios.iter());
        assert_eq!(
            modes.iter().map(|mode| (mode.instructions, mode.ios)).collect::<Vec<_>>(),
            [(5, 2), (7, 2), (9, 1)]
        );
    }

    #[test]
    fn a_traced_vector_is_preferred_then_the_first_boot_then_the_commonest() {
        let trace = Trace { hash: 2, instructions: 7, events: Vec::new() };
        let first = Round {
            ios: vec![io(7, 1), io(7, 1), io(7, 2)],
            vectors: vec![vector(1, 7), vector(2, 7)],
            traces: vec![],
        };
        let second = Round { ios: vec![io(7, 2), io(7, 2)], vectors: vec![vector(2, 7)], traces: vec![] };
        let mut rounds = [first, second];
        // Over all boots hash 2 is the commoner of the first round's.
        assert_eq!(find(&rounds, 7).expect("there is one").vector.hash, 2);
        rounds[0].ios.extend([io(7, 1); 5]);
        assert_eq!(find(&rounds, 7).expect("there is one").vector.hash, 1);
        rounds[1].traces.push(trace);
        assert_eq!(find(&rounds, 7).expect("there is one").vector.hash, 2);
        assert!(find(&rounds, 8).is_none());
    }
}
