//! What has been measured so far?
//!
//! ```text
//!   completion ──► tally of the open slice, histograms of the stages
//!   end of a slice ──► series, gauges; the tally is absorbed by the total
//! ```
//!
//! The sums of one report group, and the laws they must obey whatever the device does: the stages of each I/O add up to its
//! latency, and the number in flight, integrated over time, is the sum of the times in flight (Little's law).

use iostack_model::{Bins, Bytes, Direction, Flow, Gauge, Heat, InsideFlow, IntervalFlow, Nanos, Stage};
use iostack_stats::{Recorder, SERIES_MOST, halve_series};

use crate::engine::{Kind, Request, STAGES, Time};

#[derive(Clone, Default)]
struct FlowTally {
    latency: Recorder,
    bytes: u64,
}

/// Sums since somebody looked.
#[derive(Default)]
pub(super) struct Recent {
    pub(super) latency: Recorder,
    pub(super) ios: [u64; 3],
    pub(super) bytes: u64,
}

/// The slice that is being filled.
#[derive(Default)]
struct OpenSlice {
    latency: Recorder,
    flow: IntervalFlow,
}

/// The slowest request so far: its latency, and the stages that took any of it.
#[derive(Default)]
struct Slowest {
    latency: u64,
    stages: Vec<(usize, u64)>,
}

impl Slowest {
    #[cold]
    fn replace(&mut self, request: &Request, late: u64, latency: u64) {
        self.latency = latency;
        self.stages.clear();
        self.stages.extend((late > 0).then_some((Stage::Late as usize, late)));
        self.stages.extend(request.stages());
    }

    /// Stages with their times, in the order of the way.
    fn by_stage(&self) -> Vec<(Stage, Nanos)> {
        let time = |stage: Stage| self.stages.iter().find(|(index, _)| *index == stage as usize);
        Stage::WAY.iter().filter_map(|&stage| Some((stage, Nanos(time(stage)?.1)))).collect()
    }
}

/// Everything, at the end.
pub(super) struct Totals {
    pub(super) flows: [Flow; 3],
    pub(super) inside: Vec<InsideFlow>,
    pub(super) sync: Bins,
    pub(super) series: Vec<IntervalFlow>,
    pub(super) heat: Heat,
    pub(super) gauges: Vec<Gauge>,
    /// Sum of the times in flight of those that count, ns.
    pub(super) flown: u128,
}

/// Slices of a second, which nobody asked for otherwise, are shorter at first: a run of a fraction of a second has some,
/// too. There are fewer than so many until they are a second long.
const SHORT_MOST: usize = 20;

/// So often they double.
const DOUBLINGS: u32 = 9;

/// Length of the first slices where ones of this length are asked for.
fn first_slice(asked: Nanos) -> Nanos {
    if asked == Nanos::secs(1) { Nanos(asked.0 >> DOUBLINGS) } else { asked }
}

/// The sums of one report group.
#[derive(Default)]
pub(super) struct Board {
    /// Length of an element of the series, which grows with the time: see [`halve_series`].
    pub(super) slice: Nanos,
    /// Latencies of each slice while they are shorter than was asked for: together they become longer ones.
    short: Vec<Recorder>,
    asked: Nanos,
    tallies: Box<[FlowTally; 3]>,
    totals: Box<[FlowTally; 3]>,
    /// Times by direction and stage, of those that took any.
    stages: [[Option<Box<Recorder>>; STAGES]; 3],
    slowest: [Slowest; 3],
    sync: Recorder,
    open: Box<OpenSlice>,
    /// Slices that have ended.
    pub(super) closed: Vec<IntervalFlow>,
    heat: Heat,
    gauges: Vec<Gauge>,
    recent: Option<Box<Recent>>,
    /// I/Os in flight, also those that do not count.
    in_flight: u64,
    /// Moment when the number in flight changed last.
    changed: Time,
    /// Integral of the number in flight over time.
    area: u128,
    /// Sum of the times in flight: of all, and of those that count.
    flown_all: u128,
    flown: u128,
    /// Moment of the last completion.
    pub(super) last: Time,
}

impl Board {
    /// `watched` when somebody asks for progress; slices may be `short` at first, where nobody judges them.
    pub(super) fn new(slice: Nanos, watched: bool, short: bool) -> Board {
        let first = if short { first_slice(slice) } else { slice };
        let (heat, recent) = (Heat::of_slices(first), watched.then(Box::default));
        Board { slice: first, asked: slice, heat, recent, ..Board::default() }
    }

    /// An I/O was submitted.
    #[inline]
    pub(super) fn enter(&mut self, now: Time) {
        self.area += u128::from(self.in_flight * (now - self.changed));
        self.changed = now;
        self.in_flight += 1;
    }

    /// An I/O has completed.
    #[inline]
    pub(super) fn leave(&mut self, request: &Request, now: Time) {
        self.area += u128::from(self.in_flight * (now - self.changed));
        self.changed = now;
        self.in_flight -= 1;
        self.flown_all += u128::from(now - request.submitted);
    }

    /// The integral of the number in flight until now, and that number.
    pub(super) fn flight(&self, now: Time) -> (u128, u64) {
        (self.area + u128::from(self.in_flight * (now - self.changed)), self.in_flight)
    }

    /// An I/O that counts has completed; it was meant to start at `start`.
    #[inline]
    pub(super) fn count(&mut self, request: &Request, start: Time, now: Time) {
        self.leave(request, now);
        self.flown += u128::from(now - request.submitted);
        self.last = now;
        let direction = request.kind as usize;
        let tally = &mut self.tallies[direction];
        tally.latency.record(now - start);
        tally.bytes += u64::from(request.length);
        let stages = &mut self.stages[direction];
        let mut record = |stage: usize, ns| stages[stage].get_or_insert_default().record(ns);
        let late = request.submitted - start;
        let mut sum = late;
        if late > 0 {
            record(Stage::Late as usize, late);
        }
        for (index, ns) in request.stages() {
            record(index, ns);
            sum += ns;
        }
        if sum > self.slowest[direction].latency {
            self.slowest[direction].replace(request, late, sum);
        }
        assert!(sum == now - start, "the stages of a request add up to {sum} of {} ns", now - start);
    }

    /// A flush that counts has completed.
    pub(super) fn synced(&mut self, latency: u64, now: Time) {
        self.sync.record(latency);
        self.flushed_at_end(now);
    }

    /// The flush behind the last I/O has completed: as in fio its time is the job's, and it is none of those counted.
    pub(super) fn flushed_at_end(&mut self, now: Time) {
        self.last = now;
    }

    /// I/Os that counted so far.
    pub(super) fn ios(&self) -> u64 {
        let counted = |tally: &FlowTally| tally.latency.count();
        self.tallies.iter().chain(self.totals.iter()).map(counted).sum()
    }

    /// Moves what was counted since the last call to the sums.
    pub(super) fn publish(&mut self) {
        for (direction, tally) in self.tallies.iter_mut().enumerate() {
            if tally.latency.is_empty() {
                continue;
            }
            let ios = tally.latency.count();
            self.open.flow.ios[direction] += ios;
            self.open.flow.bytes[direction] += tally.bytes;
            self.open.flow.latency_sum_ns[direction] += tally.latency.sum_ns();
            self.open.latency.absorb(&tally.latency);
            if let Some(recent) = &mut self.recent {
                recent.latency.absorb(&tally.latency);
                recent.ios[direction] += ios;
                recent.bytes += tally.bytes;
            }
            self.totals[direction].latency.absorb(&tally.latency);
            self.totals[direction].bytes += tally.bytes;
            tally.latency.clear();
            tally.bytes = 0;
        }
    }

    /// Takes the sums since the last call.
    pub(super) fn take_recent(&mut self) -> Box<Recent> {
        self.publish();
        self.recent.replace(Box::default()).unwrap_or_default()
    }

    /// The open slice ends here; the gauges show what they show now.
    pub(super) fn close_slice(&mut self, gauges: Vec<(&'static str, f64)>) {
        self.publish();
        let start = Nanos(self.closed.len() as u64 * self.slice.0);
        let OpenSlice { latency, flow } = &mut *self.open;
        self.heat.add(start, &latency.bins());
        self.closed.push(IntervalFlow {
            start,
            length: self.slice,
            p50: Nanos(latency.quantile_ns(0.50).unwrap_or(0)),
            p99: Nanos(latency.quantile_ns(0.99).unwrap_or(0)),
            max: Nanos(latency.max_ns().unwrap_or(0)),
            ..*flow
        });
        if self.slice < self.asked {
            self.short.push(std::mem::take(latency));
        }
        latency.clear();
        *flow = IntervalFlow::default();
        for (name, value) in gauges {
            let index = self.gauges.iter().position(|gauge| gauge.name == name).unwrap_or_else(|| {
                let values = vec![0.0; self.closed.len() - 1];
                self.gauges.push(Gauge { name: name.to_owned(), values });
                self.gauges.len() - 1
            });
            self.gauges[index].values.push(value);
        }
        if self.closed.len() == SERIES_MOST || self.slice < self.asked && self.closed.len() == SHORT_MOST {
            halve_series(&mut self.closed);
            self.slice = self.slice + self.slice;
            self.join_short();
            for gauge in &mut self.gauges {
                // What was shown at the end of both.
                gauge.values = gauge.values.chunks(2).filter_map(|pair| pair.last().copied()).collect();
            }
        }
    }

    /// The short slices were put together by twos: their percentiles and the columns of heat are made anew, exactly.
    fn join_short(&mut self) {
        if self.short.is_empty() {
            return;
        }
        self.heat = self.heat.joined(2);
        let pairs = std::mem::take(&mut self.short);
        for (slice, pair) in self.closed.iter_mut().zip(pairs.chunks(2)) {
            let mut both = pair[0].clone();
            pair[1..].iter().for_each(|second| both.absorb(second));
            (slice.p50, slice.p99) =
                (Nanos(both.quantile_ns(0.50).unwrap_or(0)), Nanos(both.quantile_ns(0.99).unwrap_or(0)));
            if self.slice < self.asked {
                self.short.push(both);
            }
        }
    }

    /// True when an I/O completed in the open slice.
    fn is_filling(&self) -> bool {
        self.open.flow.ios != [0; 3] || self.tallies.iter().any(|tally| !tally.latency.is_empty())
    }

    /// Everything, once all have ended; `elapsed` from the start of the series to the last completion.
    ///
    /// # Panics
    /// When Little's law does not hold, or an I/O is missing.
    pub(super) fn finish(&mut self, elapsed: Nanos, gauges: Vec<(&'static str, f64)>) -> Totals {
        if self.is_filling() || self.closed.is_empty() && elapsed.0 > 0 {
            self.close_slice(gauges);
        }
        while self.closed.last().is_some_and(|last| last.start >= elapsed && last.ios == [0; 3]) {
            self.closed.pop();
        }
        if let Some(last) = self.closed.last_mut() {
            last.length = elapsed - last.start;
        }
        self.gauges.iter_mut().for_each(|gauge| gauge.values.truncate(self.closed.len()));
        assert!(self.in_flight == 0, "{} I/Os are missing at the end", self.in_flight);
        let (area, sum) = (self.area, self.flown_all);
        assert!(area == sum, "Little's law: {area} ns of numbers in flight, {sum} ns of times in flight");
        let flow = |direction: usize| Flow {
            bytes: Bytes(self.totals[direction].bytes),
            latency: self.totals[direction].latency.bins(),
            ..Flow::default()
        };
        let flows = [flow(0), flow(1), flow(2)];
        Totals {
            inside: Direction::ALL.iter().filter_map(|&way| self.inside(way, &flows[way as usize])).collect(),
            flows,
            sync: self.sync.bins(),
            series: std::mem::take(&mut self.closed),
            heat: std::mem::take(&mut self.heat),
            gauges: std::mem::take(&mut self.gauges),
            flown: self.flown,
        }
    }

    fn inside(&self, direction: Direction, flow: &Flow) -> Option<InsideFlow> {
        let whole = flow.latency.clone();
        if whole.count == 0 {
            return None;
        }
        let taken = Stage::WAY.iter().filter_map(|&stage| {
            let recorder = self.stages[direction as usize][stage as usize].as_ref()?;
            Some((stage, with_zeroes(recorder.bins(), whole.count)))
        });
        let stages: Vec<(Stage, Bins)> = taken.collect();
        let sum: u64 = stages.iter().map(|(_, bins)| bins.sum_ns).sum();
        assert!(sum == whole.sum_ns, "stages of {sum} ns in {} ns of latency", whole.sum_ns);
        let slowest = self.slowest[direction as usize].by_stage();
        let sum: u64 = slowest.iter().map(|(_, time)| time.0).sum();
        assert!(sum == whole.max_ns, "{direction:?}: {sum} of {} ns of the slowest are known", whole.max_ns);
        Some(InsideFlow { direction, whole, stages, slowest })
    }
}

/// I/Os that did not pass the stage spent 0 ns in it.
fn with_zeroes(mut bins: Bins, count: u64) -> Bins {
    let zeroes = count - bins.count;
    if zeroes > 0 {
        // A recorder of stages only counts times above 0.
        bins.counts.insert(0, (0, zeroes));
        bins.count = count;
        bins.min_ns = 0;
    }
    bins
}

const _: () = {
    assert!(Kind::Read as usize == Direction::Read as usize);
    assert!(Kind::Write as usize == Direction::Write as usize);
    assert!(Kind::Trim as usize == Direction::Trim as usize);
    assert!(1_000_000_000u64.is_multiple_of(1 << DOUBLINGS), "doubled, they are not a second");
    assert!(SHORT_MOST.is_multiple_of(2), "the last slice would have no neighbour");
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_has_every_stage_once() {
        let mut seen = [0; STAGES];
        for stage in Stage::WAY {
            seen[stage as usize] += 1;
        }
        assert_eq!(seen, [1; STAGES]);
    }

    /// A board after so many slices, with an I/O of `n` us in the nth ms.
    fn after(slice: Nanos, ms: u64) -> (Board, Totals) {
        let mut board = Board::new(slice, false, true);
        let mut due = board.slice.0;
        for n in 1..=ms {
            while due <= n * 1_000_000 {
                board.close_slice(Vec::new());
                due += board.slice.0;
            }
            board.open.latency.record(n * 1000);
            board.open.flow.ios[0] += 1;
        }
        let totals = board.finish(Nanos(ms * 1_000_000 + 1), Vec::new());
        (board, totals)
    }

    #[test]
    fn a_short_run_has_ten_slices_at_least_and_a_long_one_those_of_a_second_exactly() {
        for ms in [20, 39, 40, 329, 5_000, 9_999] {
            let (_, totals) = after(Nanos::secs(1), ms);
            assert!((10..=20).contains(&totals.series.len()), "{ms} ms: {}", totals.series.len());
            assert_eq!(totals.series.iter().map(|slice| slice.ios[0]).sum::<u64>(), ms, "{ms} ms");
        }
        let (board, long) = after(Nanos::secs(1), 12_500);
        assert_eq!((board.slice, long.series.len(), board.short.len()), (Nanos::secs(1), 13, 0));
        let mut seconds = Recorder::new();
        (1..1000).for_each(|n| seconds.record(n * 1000));
        let first = long.series[0];
        assert_eq!((first.start, first.length, first.ios[0]), (Nanos(0), Nanos::secs(1), 999));
        assert_eq!(Some(first.p50.0), seconds.quantile_ns(0.5), "as if it had been one from the start");
        assert_eq!((long.heat.length, long.heat.ios()), (Nanos::secs(1), 12_500));
        let (board, asked) = after(Nanos::millis(250), 1_000);
        assert_eq!(
            (board.slice, asked.series.len()),
            (Nanos::millis(250), 5),
            "a length that was asked for stays"
        );
    }

    #[test]
    fn what_did_not_pass_a_stage_counts_as_zero() {
        let mut recorder = Recorder::new();
        recorder.record(500);
        let bins = with_zeroes(recorder.bins(), 4);
        assert_eq!((bins.count, bins.sum_ns, bins.min_ns, bins.max_ns), (4, 500, 0, 500));
        assert_eq!(bins.quantile_ns(0.75), Some(0));
    }
}
