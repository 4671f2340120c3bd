//! Does an expensive turn come back after so many I/Os?
//!
//! ```text
//!   cost │  █                 █                 █         a beat of 6 turns: the plan of the next I/Os
//!        │  █                 █     ▒           █         ▒ off the beat: the end of an interval, by the clock
//!        │▁▁█▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▒▁▁▁▁▁▁▁▁▁▁▁█▁▁
//!        └──────────────────────────────────────────► I/Os
//! ```
//!
//! A generator that plans its I/Os in batches pays for many of them at once. A window that ends anywhere holds one batch
//! more or less than its share, so it has to be cut into whole beats. What is as expensive but keeps no such distance is
//! work by time: how much of it falls on an I/O depends on the speed of storage and on whatever else runs, so it is taken
//! off and told apart. Pure. Start reading at [`beat`].

/// State after an I/O call: instructions so far, I/Os so far.
pub(crate) type BeatMark = (u64, u64);

/// Most expensive turns that are compared with each other.
const TURNS_MAX: usize = 512;
/// A turn off the beat costs at least so many times the usual, and such turns are rarer than one in so many.
const APART_COST: u64 = 4;
const APART_RARE: usize = 16;

/// Whole beats of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Beat {
    /// The marks at which beats begin, and the one at which the last ends; work off the beat is taken off.
    pub(crate) marks: Vec<BeatMark>,
    /// First and last of them as they were, to find what else lies within.
    pub(crate) within: (u64, u64),
    /// Turns within that are off the beat.
    pub(crate) apart: u64,
    /// Instructions by which these exceed a usual turn.
    pub(crate) apart_instructions: u64,
}

impl Beat {
    pub(crate) fn count(&self) -> usize {
        self.marks.len() - 1
    }
}

/// A turn that costs over twice as much as most.
#[derive(Clone, Copy, Debug)]
struct Peak {
    /// Index of the mark before it.
    turn: usize,
    /// I/Os before it.
    position: u64,
    excess: u64,
    usual: u64,
}

/// The beat of these marks; `None` when no expensive turn comes three times at the same distance.
pub(crate) fn beat(marks: &[BeatMark]) -> Option<Beat> {
    let peaks = peaks(marks);
    let period = period(&peaks)?;
    let members = members(&peaks, period)?;
    let (first, last) = (marks[members[0].turn].0, marks[members[members.len() - 1].turn].0);
    let rare = peaks.len().saturating_sub(members.len()) * APART_RARE <= marks.len();
    let is_apart = |peak: &&Peak| {
        let at = marks[peak.turn].0;
        rare && at >= first
            && at < last
            && peak.excess >= (APART_COST - 1) * peak.usual
            && !members.iter().any(|member| member.turn == peak.turn)
    };
    let apart: Vec<&Peak> = peaks.iter().filter(is_apart).collect();
    let taken_off = |until: u64| -> u64 {
        apart.iter().filter(|peak| peak.position < until).map(|peak| peak.excess).sum()
    };
    let whole = members.iter().map(|peak| (marks[peak.turn].0 - taken_off(peak.position), peak.position));
    Some(Beat {
        marks: whole.collect(),
        within: (first, last),
        apart: apart.len() as u64,
        apart_instructions: apart.iter().map(|peak| peak.excess).sum(),
    })
}

/// The expensive turns in order, of too many the most expensive.
fn peaks(marks: &[BeatMark]) -> Vec<Peak> {
    let turns = || marks.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1));
    let mut costs: Vec<u64> = turns().filter(|&(_, ios)| ios > 0).map(|(cost, ios)| cost / ios).collect();
    if costs.is_empty() {
        return Vec::new();
    }
    let middle = costs.len() / 2;
    let median = *costs.select_nth_unstable(middle).1;
    let peak = |(turn, (cost, ios)): (usize, (u64, u64))| {
        let usual = median * ios;
        let excess = cost.saturating_sub(usual);
        (excess >= usual.max(1)).then_some(Peak { turn, position: marks[turn].1, excess, usual })
    };
    let mut peaks: Vec<Peak> = turns().enumerate().filter_map(peak).collect();
    if peaks.len() > TURNS_MAX {
        peaks.sort_by_key(|peak| std::cmp::Reverse(peak.excess));
        peaks.truncate(TURNS_MAX);
        peaks.sort_by_key(|peak| peak.turn);
    }
    peaks
}

/// The shortest distance at which most of the excess comes again, at least twice.
fn period(peaks: &[Peak]) -> Option<u64> {
    let mut distances: Vec<u64> = Vec::new();
    for (index, peak) in peaks.iter().enumerate() {
        distances.extend(peaks[index + 1..].iter().map(|later| later.position - peak.position));
    }
    distances.sort_unstable();
    let mut repeated: Vec<u64> =
        distances.chunk_by(|a, b| a == b).filter(|same| same.len() >= 2).map(|same| same[0]).collect();
    repeated.retain(|&distance| distance > 0);
    repeated.into_iter().find(|&distance| comes_again(peaks, distance))
}

/// True when more than half of the excess that could come again after `distance` does.
fn comes_again(peaks: &[Peak], distance: u64) -> bool {
    let last = peaks.last().map_or(0, |peak| peak.position);
    let (mut again, mut all) = (0, 0);
    for peak in peaks.iter().filter(|peak| peak.position + distance <= last) {
        all += peak.excess;
        let wanted = peak.position + distance;
        if let Ok(at) = peaks.binary_search_by_key(&wanted, |later| later.position) {
            again += peak.excess.min(peaks[at].excess);
        }
    }
    2 * again > all
}

/// The longest unbroken row of peaks at this distance, of which there must be three.
fn members(peaks: &[Peak], period: u64) -> Option<Vec<Peak>> {
    let row = |first: &Peak| {
        let mut row = vec![*first];
        let mut wanted = first.position + period;
        while let Ok(at) = peaks.binary_search_by_key(&wanted, |peak| peak.position) {
            row.push(peaks[at]);
            wanted += period;
        }
        row
    };
    peaks.iter().map(row).max_by_key(Vec::len).filter(|row| row.len() >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks of turns of `usual` instructions and `width` I/Os, of which those that begin at a multiple of `period` I/Os
    /// cost `plan` more, and turn 100 and 333 `slice`.
    fn marks(turns: u64, usual: u64, width: u64, (period, plan): (u64, u64), slice: u64) -> Vec<BeatMark> {
        let mut marks = vec![(1000, 0)];
        for turn in 0..turns {
            let &(at, ios) = marks.last().expect("it begins with one");
            let planned = if (ios + 7 * width).is_multiple_of(period) { plan } else { 0 };
            let interval = if turn == 100 || turn == 333 { slice } else { 0 };
            marks.push((at + usual + planned + interval, ios + width));
        }
        marks
    }

    fn per_io(beat: &Beat) -> f64 {
        let (first, last) = (beat.marks[0], beat.marks[beat.marks.len() - 1]);
        (last.0 - first.0) as f64 / (last.1 - first.1) as f64
    }

    #[test]
    fn a_plan_every_256_ios_costs_its_share_wherever_the_window_ends() {
        for turns in [769, 900, 1023, 1500] {
            let beat = beat(&marks(turns, 80, 1, (256, 5120), 0)).expect("three plans are a beat");
            assert!((per_io(&beat) - 100.0).abs() < 1e-9, "{turns}: {beat:?}");
            assert_eq!((beat.apart, beat.apart_instructions), (0, 0));
        }
    }

    #[test]
    fn in_calls_of_16_too() {
        let beat = beat(&marks(100, 1280, 16, (256, 5120), 0)).expect("six plans are a beat");
        assert!((per_io(&beat) - 100.0).abs() < 1e-9, "{beat:?}");
    }

    #[test]
    fn what_keeps_no_distance_is_told_apart() {
        let beat = beat(&marks(1500, 80, 1, (256, 5120), 6000)).expect("five plans are a beat");
        assert!((per_io(&beat) - 100.0).abs() < 1e-9, "{beat:?}");
        // Turn 100 lies before the first plan, at 249.
        assert_eq!((beat.apart, beat.apart_instructions), (1, 6000));
    }

    #[test]
    fn two_peaks_are_no_beat_and_three_are() {
        assert_eq!(beat(&marks(249 + 257, 80, 1, (256, 5120), 0)), None);
        assert_eq!(beat(&marks(249 + 513, 80, 1, (256, 5120), 0)).map(|beat| beat.count()), Some(2));
    }

    #[test]
    fn an_even_loop_has_no_beat() {
        assert_eq!(beat(&marks(1000, 97, 1, (256, 0), 0)), None);
        assert_eq!(beat(&[]), None);
        assert_eq!(beat(&[(5, 0)]), None);
    }

    #[test]
    fn turns_that_are_dear_as_often_as_cheap_are_not_taken_for_work_by_time() {
        // Every third I/O writes and costs ten times as much; nothing of it may be taken off.
        let mut all: Vec<(u64, u64)> = vec![(0, 0)];
        for turn in 0..2000u64 {
            let &(at, ios) = all.last().expect("it begins with one");
            let dear = if ((turn * 2_654_435_761) >> 7).is_multiple_of(3) { 1000 } else { 0 };
            let planned = if ios.is_multiple_of(256) { 90_000 } else { 0 };
            all.push((at + 100 + dear + planned, ios + 1));
        }
        let found = beat(&all);
        assert!(found.as_ref().is_none_or(|beat| beat.apart == 0), "{found:?}");
    }
}
