//! What have the threads done so far?
//!
//! ```text
//!   meter of a thread ──publish──► Board ──► live progress (what came since the last look)
//!   (a few times a second)           ├─────► series (slices that every thread has left)
//!                                    └─────► totals
//! ```
//!
//! One board serves all threads of a report group. A slice of the series is closed, its percentiles taken and its
//! histogram dropped, as soon as no thread can add to it, so memory does not grow with the run's length.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use iostack_model::{Bytes, Flow, Heat, IntervalFlow, Nanos, Steadiness, Steady};
use iostack_stats::{Recorder, SERIES_MOST, halve_series};
use iostack_workload::load::{NOT_STEADY, look_for_steadiness};

use crate::tally::{SideTally, Tally, ThreadResult};

/// Progress since the last look.
#[derive(Clone, Default)]
pub(crate) struct Recent {
    pub(crate) latency: Recorder,
    pub(crate) ios: [u64; 3],
    pub(crate) bytes: u64,
}

#[derive(Clone, Default)]
struct OpenSlice {
    latency: Recorder,
    flow: IntervalFlow,
}

#[derive(Clone, Default)]
struct BoardState {
    flows: [Tally; 3],
    submit: [Recorder; 3],
    after_submit: [Recorder; 3],
    sync: Recorder,
    short: [u64; 3],
    recent: Recent,
    watched: bool,
    closed: Vec<IntervalFlow>,
    heat: Heat,
    open: VecDeque<Box<OpenSlice>>,
    /// An element of the series covers 2^n slices: a long run has no longer series.
    doubled: u32,
    /// The slice each thread is in; `u64::MAX` when it has ended.
    positions: Vec<u64>,
    /// Last result that each thread published; only where a status is told.
    standings: Vec<Option<ThreadResult>>,
    /// State of the search for a steady course, where somebody asks for it.
    seen: Option<Steady>,
}

/// The sums of one report group.
#[derive(Default)]
pub(crate) struct Board {
    slice: Nanos,
    /// Steady course that ends its jobs.
    pub(crate) goal: Option<Steadiness>,
    /// The goal was reached.
    steady: AtomicBool,
    state: Mutex<Box<BoardState>>,
}

/// Sums of a board when all threads have ended.
pub(crate) struct BoardTotals {
    pub(crate) flows: [Flow; 3],
    pub(crate) sync: iostack_model::Bins,
    pub(crate) series: Vec<IntervalFlow>,
    pub(crate) heat: Heat,
    /// Length of an element.
    pub(crate) slice: Nanos,
    /// Sum of all latencies, ns.
    pub(crate) latency_sum_ns: u64,
}

impl Board {
    /// A board for `threads` threads; `watched` when somebody asks for progress.
    pub(crate) fn new(threads: usize, slice: Nanos, watched: bool) -> Board {
        let (positions, standings) = (vec![0; threads], vec![None; threads]);
        let heat = Heat::of_slices(slice);
        let state = BoardState { watched, heat, positions, standings, ..BoardState::default() };
        Board { slice, state: Mutex::new(Box::new(state)), ..Board::default() }
    }

    /// True when its jobs may end.
    pub(crate) fn is_steady(&self) -> bool {
        self.steady.load(Ordering::Relaxed)
    }

    /// Answer to the goal.
    pub(crate) fn steady(&self) -> Option<Steady> {
        self.goal.map(|_| self.lock().seen.unwrap_or(NOT_STEADY))
    }

    fn lock(&self) -> MutexGuard<'_, Box<BoardState>> {
        // A thread that panicked while adding leaves sums that are still sums.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what `thread` counted in `slice`, empties its tallies, and notes that it is in slice `next` now.
    pub(crate) fn publish(
        &self,
        thread: usize,
        slice: u64,
        tallies: &mut [Tally; 3],
        side: &mut SideTally,
        next: u64,
    ) {
        let mut state = self.lock();
        let state = &mut **state;
        if tallies.iter().any(|tally| !tally.latency.is_empty()) {
            let index = ((slice >> state.doubled) as usize).saturating_sub(state.closed.len());
            while state.open.len() <= index {
                state.open.push_back(Box::default());
            }
            let open = &mut state.open[index];
            open.flow.waiting += std::mem::take(&mut side.waiting);
            for (direction, tally) in tallies.iter_mut().enumerate() {
                if tally.latency.is_empty() {
                    continue;
                }
                let ios = tally.latency.count();
                open.add(direction, ios, tally);
                if state.watched {
                    state.recent.latency.absorb(&tally.latency);
                    state.recent.ios[direction] += ios;
                    state.recent.bytes += tally.bytes;
                }
                state.flows[direction].latency.absorb(&tally.latency);
                state.flows[direction].bytes += tally.bytes;
                tally.latency.clear();
                tally.bytes = 0;
            }
        }
        state.add_side(side);
        state.positions[thread] = next;
        let closed = state.closed.len();
        state.close_left_slices(self.slice);
        if let Some(goal) = self.goal.filter(|_| state.closed.len() > closed && !self.is_steady()) {
            state.seen = look_for_steadiness(&goal, &state.closed, state.element(self.slice));
            self.steady.store(state.seen.is_some_and(|seen| seen.attained), Ordering::Relaxed);
        }
    }

    /// Sums published since the last call.
    pub(crate) fn take_recent(&self) -> Recent {
        std::mem::take(&mut self.lock().recent)
    }

    /// Notes what `thread` has come to.
    pub(crate) fn stand(&self, thread: usize, standing: ThreadResult) {
        self.lock().standings[thread] = Some(standing);
    }

    /// A copy of what was published so far, apart from what comes, with the results of the threads that measure.
    pub(crate) fn so_far(&self) -> (Board, Vec<ThreadResult>) {
        let state = self.lock().clone();
        let standings = state.standings.iter().flatten().cloned().collect();
        let steady = AtomicBool::new(self.is_steady());
        (Board { slice: self.slice, goal: self.goal, steady, state: Mutex::new(state) }, standings)
    }

    /// Everything, once all threads have ended; the last slice ends at `elapsed`.
    pub(crate) fn totals(&self, elapsed: Nanos) -> BoardTotals {
        let mut state = self.lock();
        let state = &mut **state;
        while let Some(open) = state.open.pop_front() {
            state.close(open, self.slice);
        }
        if let Some(last) = state.closed.last_mut() {
            last.length = elapsed - last.start;
        }
        let flow = |direction: usize| Flow {
            bytes: Bytes(state.flows[direction].bytes),
            latency: state.flows[direction].latency.bins(),
            submit: state.submit[direction].bins(),
            after_submit: state.after_submit[direction].bins(),
            short: state.short[direction],
        };
        BoardTotals {
            flows: [flow(0), flow(1), flow(2)],
            sync: state.sync.bins(),
            latency_sum_ns: state.flows.iter().map(|flow| flow.latency.sum_ns()).sum(),
            slice: state.element(self.slice),
            series: std::mem::take(&mut state.closed),
            heat: std::mem::take(&mut state.heat),
        }
    }
}

impl BoardState {
    fn add_side(&mut self, side: &mut SideTally) {
        let parts = [(&mut self.submit, &mut side.submit), (&mut self.after_submit, &mut side.after_submit)];
        for (totals, parts) in parts {
            for (total, part) in totals.iter_mut().zip(parts.iter_mut().flat_map(|parts| parts.iter_mut())) {
                total.absorb(part);
                part.clear();
            }
        }
        if let Some(sync) = &mut side.sync {
            self.sync.absorb(sync);
            sync.clear();
        }
        for (total, part) in self.short.iter_mut().zip(&mut side.short) {
            *total += std::mem::take(part);
        }
    }

    fn close_left_slices(&mut self, slice: Nanos) {
        let reached = self.positions.iter().copied().min().unwrap_or(0);
        if reached == u64::MAX {
            return;
        }
        while (self.closed.len() as u64) < reached >> self.doubled {
            let open = self.open.pop_front().unwrap_or_default();
            self.close(open, slice);
            if self.closed.len() == SERIES_MOST {
                self.halve();
            }
        }
    }

    /// No thread adds to it any more.
    fn close(&mut self, open: Box<OpenSlice>, slice: Nanos) {
        let bins = open.latency.bins();
        let flow = open.close(self.closed.len(), self.element(slice));
        self.heat.add(flow.start, &bins);
        self.closed.push(flow);
    }

    /// Elements cover twice as much from now on.
    fn halve(&mut self) {
        halve_series(&mut self.closed);
        self.doubled += 1;
        let mut open = std::mem::take(&mut self.open).into_iter();
        while let Some(mut first) = open.next() {
            if let Some(second) = open.next() {
                first.join(&second);
            }
            self.open.push_back(first);
        }
    }

    /// Time that an element covers.
    fn element(&self, slice: Nanos) -> Nanos {
        Nanos(slice.0.saturating_mul(1 << self.doubled))
    }
}

impl OpenSlice {
    fn add(&mut self, direction: usize, ios: u64, tally: &Tally) {
        self.flow.ios[direction] += ios;
        self.flow.bytes[direction] += tally.bytes;
        self.flow.latency_sum_ns[direction] += tally.latency.sum_ns();
        self.latency.absorb(&tally.latency);
    }

    fn join(&mut self, next: &OpenSlice) {
        self.latency.absorb(&next.latency);
        self.flow.waiting += next.flow.waiting;
        for direction in 0..3 {
            self.flow.ios[direction] += next.flow.ios[direction];
            self.flow.bytes[direction] += next.flow.bytes[direction];
            self.flow.latency_sum_ns[direction] += next.flow.latency_sum_ns[direction];
        }
    }

    fn close(self: Box<Self>, index: usize, slice: Nanos) -> IntervalFlow {
        IntervalFlow {
            start: Nanos(index as u64 * slice.0),
            length: slice,
            p50: Nanos(self.latency.quantile_ns(0.50).unwrap_or(0)),
            p99: Nanos(self.latency.quantile_ns(0.99).unwrap_or(0)),
            max: Nanos(self.latency.max_ns().unwrap_or(0)),
            ..self.flow
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tallies(reads: &[u64]) -> [Tally; 3] {
        let mut tallies: [Tally; 3] = std::array::from_fn(|_| Tally::default());
        for &ns in reads {
            tallies[0].latency.record(ns);
            tallies[0].bytes += 4096;
        }
        tallies
    }

    #[test]
    fn a_slice_closes_when_the_slowest_thread_leaves_it() {
        let board = Board::new(2, Nanos::secs(1), true);
        let mut side = SideTally::default();
        let mut fast = tallies(&[10, 20]);
        board.publish(0, 0, &mut fast, &mut side, 3);
        assert!(fast[0].latency.is_empty(), "what was published is not counted again");
        assert_eq!(board.lock().closed.len(), 0);
        board.publish(1, 0, &mut tallies(&[30]), &mut side, 2);
        assert_eq!(board.lock().closed.len(), 2);
        board.publish(0, 3, &mut tallies(&[40]), &mut side, u64::MAX);
        board.publish(1, 2, &mut tallies(&[]), &mut side, u64::MAX);
        let totals = board.totals(Nanos::millis(3_500));
        let ios: Vec<u64> = totals.series.iter().map(|slice| slice.ios[0]).collect();
        assert_eq!(ios, [3, 0, 0, 1]);
        assert_eq!(totals.series[3].length, Nanos::millis(500));
        assert_eq!(
            totals.heat.columns,
            [vec![(0, 1), (1, 2)], vec![], vec![], vec![(2, 1)]],
            "both threads'"
        );
        assert_eq!(totals.flows[0].latency.count, 4);
        assert_eq!(totals.flows[0].bytes, Bytes(4 * 4096));
        assert_eq!(totals.latency_sum_ns, 100);
        assert_eq!(board.take_recent().ios, [4, 0, 0]);
        assert_eq!(board.take_recent().ios, [0, 0, 0]);
    }

    #[test]
    fn time_without_a_cpu_goes_to_the_slice_of_the_io_that_waited() {
        let board = Board::new(1, Nanos::secs(1), false);
        let mut side = SideTally { waiting: Nanos(5), ..SideTally::default() };
        board.publish(0, 0, &mut tallies(&[]), &mut side, 1);
        assert_eq!(side.waiting, Nanos(5), "there is no I/O to tell it with");
        side.waiting += Nanos(2);
        board.publish(0, 1, &mut tallies(&[10]), &mut side, u64::MAX);
        assert_eq!(side.waiting, Nanos(0));
        let waiting: Vec<u64> =
            board.totals(Nanos::secs(2)).series.iter().map(|slice| slice.waiting.0).collect();
        assert_eq!(waiting, [0, 7]);
    }

    #[test]
    fn a_year_of_seconds_is_a_series_of_a_bounded_length_that_counts_every_io() {
        const YEAR: u64 = 365 * 86_400;
        let board = Board::new(2, Nanos::secs(1), false);
        let mut side = SideTally::default();
        // Every hour one I/O of each thread; the second thread is some hours behind.
        for hour in 0..YEAR / 3600 {
            board.publish(0, hour * 3600, &mut tallies(&[100]), &mut side, (hour + 1) * 3600);
            if let Some(late) = hour.checked_sub(3) {
                board.publish(1, late * 3600, &mut tallies(&[300]), &mut side, (late + 1) * 3600);
            }
            assert!(board.lock().closed.len() < SERIES_MOST);
        }
        for thread in 0..2 {
            board.publish(thread, YEAR - 1, &mut tallies(&[100]), &mut side, u64::MAX);
        }
        let totals = board.totals(Nanos::secs(YEAR));
        assert_eq!(totals.slice, Nanos::secs(8192));
        assert_eq!(totals.series.len() as u64, YEAR.div_ceil(8192));
        let ios: u64 = totals.series.iter().map(|element| element.ios[0]).sum();
        assert_eq!(ios, totals.flows[0].latency.count);
        for (index, element) in (0..).zip(&totals.series) {
            assert_eq!(element.start, Nanos::secs(8192 * index));
        }
        assert_eq!(totals.heat.ios(), ios);
        let end: u64 = totals.series.iter().map(|element| element.length.0).sum();
        assert_eq!(end, YEAR * 1_000_000_000);
    }
}
