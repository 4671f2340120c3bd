//! How deep a queue keeps the latency asked for?
//!
//! ```text
//!   1, 2, 4, ..  while it is kept ──► halve the distance to what was not ──► nothing between them: found ──► measured
//! ```
//!
//! A depth is judged by the I/Os that were submitted and completed while it held, for a window of time. The way is that of
//! fio 3.33 (`lat_target_success` and `lat_target_failed` in its `io_u.c`), except that depth 1 is found also where it does
//! not keep the latency: what it does is said instead. Times are ticks.

use iostack_model::{DepthFound, Job, LatencyGoal};

/// A depth that is just below what fails is tried one deeper after being kept so often, where the search goes on.
const KEPT_BEFORE_DEEPER: u32 = 3;

/// Consequence of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing, or another depth.
    Search,
    /// The depth is found: what is submitted from now on counts.
    Count,
    /// It was measured.
    End,
}

/// The search of one thread.
pub struct Search {
    goal: LatencyGoal,
    latency: u64,
    window: u64,
    most: u32,
    /// So many may be in flight.
    pub depth: u32,
    /// The deepest that was kept, as far as is known, and the least deep that was not.
    kept: u32,
    failed: Option<u32>,
    kept_times: u32,
    since: u64,
    ios: u64,
    slow: u64,
    percent: f64,
    found: bool,
}

impl Search {
    /// `None` where none is asked for.
    pub fn new(job: &Job, ticks: impl Fn(u64) -> u64) -> Option<Search> {
        let goal = job.latency_goal?;
        Some(Search {
            goal,
            latency: ticks(goal.latency.0),
            window: ticks(goal.window.0),
            most: job.depth().max(1),
            depth: 1,
            kept: 1,
            failed: None,
            kept_times: 0,
            since: 0,
            ios: 0,
            slow: 0,
            percent: 0.0,
            found: false,
        })
    }

    /// It begins at this moment.
    pub fn begin(&mut self, now: u64) {
        (self.since, self.ios, self.slow) = (now, 0, 0);
    }

    /// True when nothing counts yet.
    pub fn is_uncounted(&self) -> bool {
        !self.found && !self.goal.goes_on
    }

    /// Reason why no depth was found.
    pub fn unfound(&self) -> String {
        format!(
            "latency_target: the search was at depth {} when the job ended; give it a longer runtime, more to do, or \
             a shorter latency_window",
            self.depth
        )
    }

    /// Depth that was found.
    pub fn result(&self) -> Option<DepthFound> {
        (!self.is_uncounted()).then_some(DepthFound { depth: self.depth, percent: self.percent })
    }

    /// An I/O took from `start` to `end`.
    pub fn completed(&mut self, start: u64, end: u64) -> Step {
        if start < self.since {
            return Step::Search;
        }
        self.ios += 1;
        self.slow += u64::from(end.saturating_sub(start) > self.latency);
        let hopeless = self.goal.percent >= 100.0 && self.slow > 0 && !self.found && self.depth > 1;
        if !hopeless && end - self.since < self.window {
            return Step::Search;
        }
        self.percent = 100.0 * (self.ios - self.slow) as f64 / self.ios as f64;
        if self.found {
            return Step::End;
        }
        let next = if self.percent >= self.goal.percent { self.deeper() } else { self.less_deep() };
        self.begin(end);
        if next != self.depth {
            self.depth = next;
        } else if !self.goal.goes_on {
            self.found = true;
            return Step::Count;
        }
        Step::Search
    }

    fn deeper(&mut self) -> u32 {
        self.kept = self.depth;
        if self.failed == Some(self.depth + 1) {
            self.kept_times += 1;
            if self.kept_times >= KEPT_BEFORE_DEEPER {
                (self.failed, self.kept_times) = (Some(self.depth + 2), 0);
            }
        }
        self.failed.map_or(self.depth * 2, |failed| u32::midpoint(self.depth, failed)).min(self.most)
    }

    fn less_deep(&mut self) -> u32 {
        if self.depth == 1 {
            return 1;
        }
        self.failed = Some(self.depth);
        self.kept_times = 0;
        self.kept = self.kept.min(self.depth - 1);
        u32::midpoint(self.depth, self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Engine, Nanos};

    /// Depths that were tried, and the one found, where an I/O takes 10 us for each that is in flight.
    fn tried(micros: u64, most: u32, goes_on: bool) -> (Vec<u32>, Option<DepthFound>) {
        let goal =
            LatencyGoal { latency: Nanos::micros(micros), percent: 90.0, window: Nanos::millis(10), goes_on };
        let job =
            Job { latency_goal: Some(goal), engine: Engine::Libaio, queue_depth: most, ..Job::default() };
        let mut search = Search::new(&job, |ns| ns).expect("one is asked for");
        let (mut now, mut depths) = (0, vec![1]);
        for _ in 0..100_000 {
            let start = now;
            now += 10_000 * u64::from(search.depth);
            let step = search.completed(start, now);
            if *depths.last().expect("it has one") != search.depth {
                depths.push(search.depth);
            }
            if step == Step::End {
                break;
            }
        }
        (depths, search.result())
    }

    #[test]
    fn the_depth_doubles_until_it_fails_and_then_halves_the_distance() {
        let (depths, found) = tried(105, 64, false);
        assert_eq!(depths, [1, 2, 4, 8, 16, 12, 10, 11, 10]);
        assert_eq!(found, Some(DepthFound { depth: 10, percent: 100.0 }));
        assert_eq!(tried(1_000_000, 48, false).0, [1, 2, 4, 8, 16, 32, 48], "never more than asked");
        assert_eq!(
            tried(475, 48, false).1,
            Some(DepthFound { depth: 47, percent: 100.0 }),
            "the deepest fails"
        );
    }

    #[test]
    fn one_at_a_time_is_found_where_even_that_is_too_slow() {
        assert_eq!(tried(9, 64, false), (vec![1], Some(DepthFound { depth: 1, percent: 0.0 })));
    }

    #[test]
    fn a_search_that_goes_on_tries_the_next_depth_now_and_then() {
        let (depths, found) = tried(105, 64, true);
        assert_eq!(depths[..9], [1, 2, 4, 8, 16, 12, 10, 11, 10]);
        assert!([10, 11].contains(&found.expect("it has a depth at any time").depth));
    }
}
