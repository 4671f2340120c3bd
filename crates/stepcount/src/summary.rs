//! From a trace to figures per I/O. Pure.
//!
//!   attach ── settle ── first I/O ──┬───────┬───────┬───────┬── last I/O ── end
//!                       │  part 1   │   2   │   3   │   4   │   5  │
//!                       └──────────────── counted ──────────────────┘
//!
//! Counting starts when one I/O call has returned and ends when another has, so a steady loop is counted in whole
//! turns: 100 instructions per turn come out as exactly 100. The I/Os of the first call belong to the turn before.
//! Where dear turns come back after a fixed number of I/Os, only whole [`beats`](super::beat) of them are counted.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::beat::{self, BeatMark};
use super::calls::{self, Carries};
use super::record::{Call, Trace};

/// Beats, and the largest spread of parts without one, that make a window long enough.
const BEATS_ENOUGH: usize = 4;
const EVEN: f64 = 0.01;

/// A trace, added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    /// Instructions between the first and the last I/O call.
    pub(crate) instructions: u64,
    /// I/Os of these turns.
    pub(crate) ios: u64,
    /// Completions returned by `io_getevents` in these turns.
    pub(crate) completions: u64,
    /// Instructions per I/O of each part.
    pub(crate) parts: Vec<f64>,
    /// Calls and I/Os by the number of the call.
    pub(crate) calls: BTreeMap<u64, (u64, u64)>,
    /// I/Os by file.
    pub(crate) files: BTreeMap<PathBuf, u64>,
    /// Calls of the read and write family, whatever they went to.
    pub(crate) transfers: u64,
    /// Those of them that carried I/O.
    pub(crate) transfers_with_io: u64,
    /// I/Os came through rings.
    pub(crate) rings: bool,
    /// A kernel thread submitted; the I/Os are completions of the ring.
    pub(crate) polled: bool,
    /// Descriptor of the ring, when it is known.
    pub(crate) ring: Option<u64>,
    /// Bytes at the block layer, of these I/Os.
    pub(crate) bytes: u64,
    /// Whole beats that were counted; 0 when there is none.
    pub(crate) beats: u64,
    /// Turns off the beat, and the instructions by which they exceed others; not in `instructions`.
    pub(crate) apart: (u64, u64),
}

/// Adds up a trace in `parts` parts.
pub(crate) fn add_up(trace: &Trace, parts: u64) -> Counted {
    let mut counted = Counted { ring: trace.ring, ..Counted::default() };
    let mut marks = marks(trace);
    if marks.is_empty() && !trace.tails.is_empty() {
        marks = completions_so_far(&trace.tails);
        counted.polled = true;
        counted.rings = true;
    }
    let whole = marks.last().map_or(0, |&(_, ios)| ios);
    let mut within = (marks.first().map_or(0, |first| first.0), marks.last().map_or(0, |last| last.0));
    if let Some(beat) = beat::beat(&marks).filter(|_| !counted.polled) {
        counted.beats = beat.count() as u64;
        counted.apart = (beat.apart, beat.apart_instructions);
        (marks, within) = (beat.marks, beat.within);
    }
    let (Some(&first), Some(&last)) = (marks.first(), marks.last()) else {
        return counted;
    };
    counted.instructions = last.0 - first.0;
    counted.ios = last.1 - first.1;
    counted.bytes = (u128::from(trace.bytes) * u128::from(counted.ios) / u128::from(whole.max(1))) as u64;
    counted.parts = split(&marks, parts);
    for call in trace.calls.iter().filter(|call| call.at > within.0 && call.at <= within.1) {
        add_call(&mut counted, call, &trace.files);
    }
    counted
}

/// True when a longer window would say nothing new: it holds several beats, or is even without one.
pub(crate) fn suffices(trace: &Trace, parts: u64) -> bool {
    let marks = marks(trace);
    if let Some(beat) = beat::beat(&marks) {
        return beat.count() >= BEATS_ENOUGH;
    }
    let parts = split(&marks, parts);
    let mean = parts.iter().sum::<f64>() / parts.len().max(1) as f64;
    parts.iter().all(|part| (part - mean).abs() <= EVEN * mean)
}

/// Instructions so far and I/Os so far, after every I/O call from the first that counts on.
fn marks(trace: &Trace) -> Vec<BeatMark> {
    let mut marks: Vec<BeatMark> = Vec::new();
    let begin = trace.first.unwrap_or(u64::MAX);
    for call in trace.calls.iter().filter(|call| call.ios > 0 && call.at >= begin) {
        let ios = marks.last().map_or(0, |&(_, before)| before + call.ios);
        marks.push((call.at, ios));
    }
    marks
}

fn add_call(counted: &mut Counted, call: &Call, files: &[PathBuf]) {
    let entry = counted.calls.entry(call.number).or_default();
    *entry = (entry.0 + 1, entry.1 + call.ios);
    counted.completions += call.completions;
    match calls::carries(call.number) {
        Carries::One => {
            counted.transfers += 1;
            counted.transfers_with_io += call.ios;
        }
        Carries::Entered if call.ios > 0 => counted.rings = true,
        _ => {}
    }
    if let Some(path) = call.file.and_then(|index| files.get(index)) {
        *counted.files.entry(path.clone()).or_default() += call.ios;
    }
}

/// Tails of a queue, which wrap, to completions since the first.
fn completions_so_far(tails: &[(u64, u32)]) -> Vec<BeatMark> {
    let mut sum = 0;
    let mut before = tails.first().map_or(0, |&(_, tail)| tail);
    let add = |&(at, tail): &(u64, u32)| {
        sum += u64::from(tail.wrapping_sub(before));
        before = tail;
        (at, sum)
    };
    tails.iter().map(add).collect()
}

/// Instructions per I/O of parts of about equal length, each ending at a mark.
fn split(marks: &[BeatMark], parts: u64) -> Vec<f64> {
    let (Some(&first), Some(&last)) = (marks.first(), marks.last()) else { return Vec::new() };
    let mut begin = first;
    let mut found = Vec::new();
    for part in 1..=parts {
        let until = first.0 + (last.0 - first.0) * part / parts;
        let Some(&end) = marks.iter().find(|&&(at, _)| at >= until) else { break };
        if end.1 > begin.1 {
            found.push((end.0 - begin.0) as f64 / (end.1 - begin.1) as f64);
            begin = end;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREAD: u64 = 17;
    const FSYNC: u64 = 74;
    const SUBMIT: u64 = 209;
    const REAP: u64 = 208;

    fn call(at: u64, number: u64, ios: u64) -> Call {
        Call { at, number, ios, completions: 0, file: None }
    }

    #[test]
    fn a_loop_of_97_instructions_counts_as_97_wherever_it_was_stopped() {
        for lead in [0, 1, 50, 96] {
            let calls = (0..500).map(|turn| call(lead + turn * 97, PREAD, 1)).collect();
            let trace = Trace { calls, first: Some(lead + 970), ..Trace::default() };
            let counted = add_up(&trace, 5);
            assert_eq!((counted.instructions, counted.ios), (489 * 97, 489));
            assert_eq!(counted.parts, [97.0; 5]);
            assert_eq!(counted.calls, BTreeMap::from([(PREAD, (489, 489))]));
        }
    }

    #[test]
    fn a_batch_counts_its_return_value_and_the_first_one_belongs_to_the_turn_before() {
        let mut calls = Vec::new();
        for turn in 0..11 {
            calls.push(call(turn * 1600, SUBMIT, 16));
            calls.push(Call { completions: 16, ..call(turn * 1600 + 800, REAP, 0) });
        }
        let counted = add_up(&Trace { calls, first: Some(0), ..Trace::default() }, 5);
        assert_eq!((counted.ios, counted.completions), (160, 160));
        assert_eq!(counted.parts, [100.0; 5]);
        assert_eq!(counted.calls, BTreeMap::from([(SUBMIT, (10, 160)), (REAP, (10, 0))]));
    }

    #[test]
    fn calls_that_carry_nothing_are_counted_as_calls_only() {
        let calls = vec![call(10, PREAD, 1), call(20, FSYNC, 0), call(30, PREAD, 0), call(40, PREAD, 1)];
        let counted = add_up(&Trace { calls, first: Some(0), ..Trace::default() }, 5);
        assert_eq!((counted.instructions, counted.ios), (30, 1));
        assert_eq!((counted.transfers, counted.transfers_with_io), (2, 1));
        assert_eq!(counted.calls[&FSYNC], (1, 0));
        assert_eq!(counted.parts, [30.0]);
    }

    #[test]
    fn a_tail_that_wraps_still_counts_forward() {
        let tails = vec![(0, u32::MAX - 9), (1000, 0), (2000, 30)];
        let counted = add_up(&Trace { tails, ..Trace::default() }, 2);
        assert!(counted.polled);
        assert_eq!((counted.instructions, counted.ios), (2000, 40));
        assert_eq!(counted.parts, [100.0, 1000.0 / 30.0]);
    }

    #[test]
    fn only_whole_plans_are_counted_and_their_calls_with_them() {
        // 80 instructions a read, and every 256 reads a plan of 5,120.
        for turns in [1100, 1250, 1290] {
            let mut at = 0;
            let calls = (0..turns).map(|turn: u64| {
                at += 80 + if turn % 256 == 50 { 5120 } else { 0 };
                call(at, PREAD, 1)
            });
            let trace = Trace { calls: calls.collect(), first: Some(0), bytes: turns, ..Trace::default() };
            let counted = add_up(&trace, 5);
            assert_eq!((counted.instructions, counted.ios), (counted.beats * 25_600, counted.beats * 256));
            assert!(counted.beats >= 4);
            assert_eq!(counted.parts.iter().find(|&&part| (part - 100.0).abs() > 1e-9), None);
            assert_eq!(counted.calls, BTreeMap::from([(PREAD, (counted.ios, counted.ios))]));
            assert_eq!(counted.bytes, counted.ios * turns / (turns - 1));
        }
    }

    #[test]
    fn a_window_is_long_enough_with_four_beats_or_without_any_when_it_is_even() {
        let trace = |turns: u64, dear: &dyn Fn(u64) -> u64| {
            let mut at = 0;
            let calls = (0..turns).map(|turn| {
                at += 100 + dear(turn);
                call(at, PREAD, 1)
            });
            Trace { calls: calls.collect(), first: Some(0), ..Trace::default() }
        };
        let planned = |turn: u64| if turn % 256 == 50 { 5120 } else { 0 };
        // Plans at 50, 306, .. 1074: four beats end with the fifth.
        assert!(!suffices(&trace(1074, &planned), 5));
        assert!(suffices(&trace(1076, &planned), 5));
        assert!(suffices(&trace(100, &|_| 0), 5));
        assert!(!suffices(&trace(100, &|turn| if turn == 50 { 600 } else { 0 }), 5));
    }

    #[test]
    fn a_single_io_is_no_turn() {
        let counted =
            add_up(&Trace { calls: vec![call(10, PREAD, 1)], first: Some(10), ..Trace::default() }, 5);
        assert_eq!((counted.instructions, counted.ios, counted.parts.len()), (0, 0, 0));
        assert_eq!(add_up(&Trace::default(), 5), Counted::default());
    }
}
