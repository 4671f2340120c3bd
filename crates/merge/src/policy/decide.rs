//! Is another way than plain calls better here, and when is it worth asking again?
//!
//! ```text
//!   rest ── several callers, calls that take their time, and it is time ──► plain ► other ► plain ► other
//!    ▲  each 61st call looks at the clock                                      every call is counted │
//!    ├──────────────── below 1.15 times the rate, or more processor time ◄───────────────────────────┤
//!    └── one caller, or the gain has gone ◄── kept: asked again now and then, by the same trial ◄────┘
//! ```
//!
//! Whether a device serves one command at a time cannot be seen from latencies alone: eight callers that always wait look the same
//! on eight channels. So the other way is tried, for some milliseconds, and rarely: a trial that fails is followed by at least
//! [`GAP`] times its length of plain calls, twice as many each time it fails again. What trials can lose stays below 1 / [`GAP`].
//!
//! Nothing here has a clock; `auto.rs` brings times.

/// The other way is taken if it has this many times the plain rate.
const GAIN_TAKEN: f64 = 1.15;
/// And given up when it has less than this.
const GAIN_KEPT: f64 = 1.08;
/// Processor time for each call, in parts of the plain calls', that it may take at most.
const CPU_MAX: f64 = 1.03;
/// Gain of which a part may be paid for by processor time.
const GAIN_LARGE: f64 = 1.3;
const CPU_SHARE: f64 = 1.0 / 3.0;
/// Times a trial's length before the next.
pub(crate) const GAP: u64 = 200;
/// The same where a way that was taken has slowed to this part of its rate.
const GAP_EARLY: u64 = 20;
const SLOWED: f64 = 0.7;
/// Longest time without a trial, ns.
const GAP_MAX_NS: u64 = 600_000_000_000;
/// A call that takes less is not worth a hand-over between threads, ns: falling asleep and being woken take as long.
const QUICK_NS: u64 = 10_000;
/// Calls in an epoch, at least; and its time, ns.
const EPOCH_CALLS: u64 = 128;
const EPOCH_NS: u64 = 2_000_000;
/// An epoch that has not enough calls by then says nothing: the load is too light, ns.
const EPOCH_MAX_NS: u64 = 500_000_000;
/// Calls after a change of ways that belong to neither.
const WARM_CALLS: u64 = 48;
/// Samples in rest that make a picture.
const SAMPLES: u32 = 32;
/// A time without samples that begins a new picture, ns; longer where calls take long.
const PAUSE_NS: u64 = 10_000_000;
/// Callers at a time, on average, below which nothing meets.
const CALLERS_MIN: f64 = 1.3;

/// Way that calls take at present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Step {
    /// Plain calls, some of which are timed.
    #[default]
    Rest,
    /// Plain calls, all of which are counted.
    Plain,
    /// The other way, on trial.
    Other,
    /// The other way.
    Kept,
}

/// Reason of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Reason {
    #[default]
    Unknown,
    Alone {
        callers: f64,
    },
    Quick,
    Tried {
        gain: f64,
        cpu: f64,
        callers: f64,
    },
}

/// Counts at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mark {
    pub(crate) now_ns: u64,
    /// Processor time of the process.
    pub(crate) cpu_ns: u64,
    pub(crate) calls: u64,
}

/// Two epochs of each way.
#[derive(Clone, Debug, Default)]
struct Trial {
    began_ns: u64,
    /// Moment at which the epoch's way was taken, and at which its count begins.
    changed: Mark,
    counts: Option<Mark>,
    /// Calls for each ns, of each epoch.
    rates: Vec<f64>,
    /// Processor time and calls of either way.
    cpu_ns: [u64; 2],
    calls: [u64; 2],
}

/// The rest's picture of the load.
#[derive(Clone, Copy, Debug, Default)]
struct Picture {
    began_ns: u64,
    last_ns: u64,
    /// Thread of the first sample; true when there was another's.
    thread: usize,
    is_shared: bool,
    samples: u32,
    quick: u32,
    /// Time that threads were in calls.
    busy_ns: f64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Decision {
    step: Step,
    reason: Reason,
    picture: Picture,
    trial: Trial,
    /// True when the trial is of a way that is taken already.
    renewed: bool,
    next_trial_ns: u64,
    early_trial_ns: u64,
    /// Calls for each ns of the way that was taken, and where its count goes on.
    kept_rate: f64,
    kept_since: Mark,
    /// Trials with the same end one after the other.
    repeats: u32,
    callers: f64,
    alone: u32,
}

impl Decision {
    pub(crate) fn reason(&self) -> Reason {
        self.reason
    }

    /// Takes a sample in rest: a call of a thread took `latency_ns`; it was in calls for about `busy_ns` since the one
    /// that was timed before.
    pub(crate) fn sample(&mut self, mark: Mark, thread: usize, latency_ns: u64, busy_ns: u64) -> Step {
        if self.step != Step::Rest {
            return self.step;
        }
        let pause_ns = PAUSE_NS.max(busy_ns * 4);
        if self.picture.samples == 0 || mark.now_ns - self.picture.last_ns > pause_ns {
            let began_ns = mark.now_ns.saturating_sub(latency_ns);
            self.picture = Picture { began_ns, thread, ..Picture::default() };
        }
        self.picture.last_ns = mark.now_ns;
        self.picture.is_shared |= thread != self.picture.thread;
        self.picture.samples += 1;
        self.picture.quick += u32::from(latency_ns < QUICK_NS);
        self.picture.busy_ns += busy_ns as f64;
        if self.picture.samples >= SAMPLES {
            let picture = std::mem::take(&mut self.picture);
            self.look(picture, mark);
        }
        self.step
    }

    /// Begins a trial if it is worth one.
    fn look(&mut self, picture: Picture, mark: Mark) {
        let callers = picture.busy_ns / (mark.now_ns - picture.began_ns).max(1) as f64;
        if callers < CALLERS_MIN || !picture.is_shared {
            self.reason = Reason::Alone { callers };
        } else if picture.quick * 2 > picture.samples {
            self.reason = Reason::Quick;
        } else if mark.now_ns >= self.next_trial_ns {
            self.callers = callers;
            self.begin(mark, false);
        }
    }

    fn begin(&mut self, mark: Mark, renewed: bool) {
        self.renewed = renewed;
        self.trial = Trial { began_ns: mark.now_ns, changed: mark, ..Trial::default() };
        self.step = Step::Plain;
    }

    /// Takes what was counted by now, on trial or kept, with at most `callers` at a time since the last look.
    pub(crate) fn counted(&mut self, mark: Mark, callers: u32) -> Step {
        match self.step {
            Step::Rest => {}
            Step::Kept => self.keep(mark, callers),
            Step::Plain | Step::Other => self.measure(mark),
        }
        self.step
    }

    fn keep(&mut self, mark: Mark, callers: u32) {
        self.alone = if callers > 1 { 0 } else { self.alone + 1 };
        if self.alone >= 4 {
            self.reason = Reason::Alone { callers: 1.0 };
            self.step = Step::Rest;
        } else if mark.now_ns >= self.next_trial_ns || self.has_slowed(mark) {
            self.begin(mark, true);
        }
    }

    /// The load or the device is no longer what it was when the way was taken.
    fn has_slowed(&mut self, mark: Mark) -> bool {
        let (calls, ns) = (mark.calls - self.kept_since.calls, mark.now_ns - self.kept_since.now_ns);
        if calls < EPOCH_CALLS || ns < EPOCH_NS {
            return false;
        }
        self.kept_since = mark;
        let has_slowed = (calls as f64) < self.kept_rate * ns as f64 * SLOWED;
        has_slowed && mark.now_ns >= self.early_trial_ns
    }

    fn measure(&mut self, mark: Mark) {
        let since = self.trial.counts.unwrap_or(self.trial.changed);
        if mark.now_ns - since.now_ns > EPOCH_MAX_NS {
            // Pauses, or too few calls to tell.
            return self.end(mark, false);
        }
        let Some(begin) = self.trial.counts else {
            if mark.calls - self.trial.changed.calls >= WARM_CALLS {
                self.trial.counts = Some(mark);
            }
            return;
        };
        let (calls, ns) = (mark.calls - begin.calls, mark.now_ns - begin.now_ns);
        if calls < EPOCH_CALLS || ns < EPOCH_NS {
            return;
        }
        let way = usize::from(self.step == Step::Other);
        self.trial.rates.push(calls as f64 / ns as f64);
        self.trial.cpu_ns[way] += mark.cpu_ns - begin.cpu_ns;
        self.trial.calls[way] += calls;
        (self.trial.changed, self.trial.counts) = (mark, None);
        self.judge(mark);
    }

    /// Goes on with the other way after an epoch, or ends the trial.
    fn judge(&mut self, mark: Mark) {
        let epochs = self.trial.rates.len();
        if epochs % 2 == 1 {
            self.step = Step::Other;
            return;
        }
        let threshold = if self.renewed { GAIN_KEPT } else { GAIN_TAKEN };
        let gains = self.trial.rates.chunks(2).map(|pair| pair[1] / pair[0]);
        let gain = if self.renewed { gains.fold(0.0, f64::max) } else { gains.fold(f64::INFINITY, f64::min) };
        let of = |way: usize| self.trial.cpu_ns[way] as f64 / self.trial.calls[way] as f64;
        let cpu = if of(0) > 0.0 { of(1) / of(0) } else { 1.0 };
        self.reason = Reason::Tried { gain, cpu, callers: self.callers };
        let cpu_max = if gain < GAIN_LARGE { CPU_MAX } else { 1.0 + (gain - 1.0) * CPU_SHARE };
        let good = gain >= threshold && cpu <= cpu_max;
        // A way that is taken stays if one pair of two is for it, one that is not needs both.
        match (good, epochs, self.renewed) {
            (true, 2, false) | (false, 2, true) => self.step = Step::Plain,
            (good, ..) => self.end(mark, good),
        }
    }

    fn end(&mut self, mark: Mark, good: bool) {
        self.repeats = if good == self.renewed { self.repeats + 1 } else { 0 };
        let took = mark.now_ns - self.trial.began_ns;
        let gap = (took * GAP) << self.repeats.min(8);
        self.next_trial_ns = mark.now_ns + gap.min(GAP_MAX_NS);
        self.early_trial_ns = mark.now_ns + took * GAP_EARLY;
        self.kept_rate = self.trial.rates.last().copied().unwrap_or(0.0);
        self.kept_since = mark;
        self.alone = 0;
        self.picture = Picture::default();
        self.step = if good { Step::Kept } else { Step::Rest };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_batch::BatchCost;

    /// A load in virtual time: callers that come back at once.
    struct TestLoad {
        callers: u32,
        /// ns between completions, plain and merged.
        each_ns: [f64; 2],
        /// Latency of a plain call, where it is not callers x the time between completions.
        latency_ns: Option<f64>,
        /// Processor time of each call.
        cpu_ns: [f64; 2],
        /// Times vary by so much, as a part.
        noise: f64,
        random: u64,
    }

    impl TestLoad {
        /// A device that serves one command at a time, whose callers all come within one command.
        fn serial(callers: u32, law: BatchCost) -> TestLoad {
            let batch = f64::from(callers);
            let each_ns = [law.time_ns(1.0), law.time_ns(batch) / batch];
            TestLoad { callers, each_ns, latency_ns: None, cpu_ns: [6000.0, 5000.0], noise: 0.1, random: 1 }
        }

        /// A device with a place for every caller, where a hand-over costs a fourth of the rate.
        fn parallel(callers: u32, latency_ns: f64) -> TestLoad {
            let each_ns = latency_ns / f64::from(callers);
            let cpu_ns = [6000.0, 7000.0];
            let each_ns = [each_ns, each_ns * 1.33];
            TestLoad { callers, each_ns, latency_ns: Some(latency_ns), cpu_ns, noise: 0.1, random: 1 }
        }

        fn noise(&mut self) -> f64 {
            self.random =
                self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            1.0 + self.noise * ((self.random >> 33) as f64 / f64::from(1_u32 << 30) - 1.0)
        }
    }

    #[derive(Debug, Default)]
    struct LoadRun {
        calls: f64,
        merged: f64,
        now_ns: f64,
        cpu_ns: f64,
        trials: u32,
    }

    /// So many ns of a load.
    fn run(decision: &mut Decision, run: &mut LoadRun, load: &mut TestLoad, ns: f64) {
        let (until, mut was) = (run.now_ns + ns, decision.step);
        while run.now_ns < until {
            let (way, calls) = match decision.step {
                Step::Rest => (0, 5_u32),
                Step::Plain => (0, 16),
                Step::Other | Step::Kept => (1, 16),
            };
            let noise = load.noise();
            run.now_ns += load.each_ns[way] * f64::from(calls) * noise;
            run.cpu_ns += load.cpu_ns[way] * f64::from(calls);
            run.calls += f64::from(calls);
            run.merged += if way == 1 { f64::from(calls) } else { 0.0 };
            let mark = Mark { now_ns: run.now_ns as u64, cpu_ns: run.cpu_ns as u64, calls: run.calls as u64 };
            let latency = load.latency_ns.unwrap_or(load.each_ns[0] * f64::from(load.callers)) * noise;
            let step = match decision.step {
                Step::Rest => {
                    let (thread, busy) =
                        (run.calls as usize % load.callers as usize, latency * f64::from(calls));
                    decision.sample(mark, thread, latency as u64, busy as u64)
                }
                _ => decision.counted(mark, load.callers),
            };
            run.trials += u32::from(step == Step::Other && was != Step::Other);
            was = step;
        }
    }

    /// Decision on a load within so many ns, and its run.
    fn ran(load: &mut TestLoad, ns: f64) -> (Decision, LoadRun) {
        let (mut decision, mut all) = (Decision::default(), LoadRun::default());
        run(&mut decision, &mut all, load, ns);
        (decision, all)
    }

    const SECOND: f64 = 1e9;
    /// The published device as the `tmerge` driver's defaults have it.
    const SLOW: BatchCost = BatchCost { fixed_ns: 112_000.0, each_ns: 93_600.0 };

    #[test]
    fn a_device_that_serves_one_at_a_time_is_found_and_kept() {
        for callers in [4, 8, 32] {
            let mut load = TestLoad::serial(callers, SLOW);
            let (mut decision, all) = ran(&mut load, SECOND);
            assert_eq!(decision.step, Step::Kept, "{callers} callers: {all:?}");
            let mut later = LoadRun { now_ns: all.now_ns, calls: all.calls, ..LoadRun::default() };
            run(&mut decision, &mut later, &mut load, 20.0 * SECOND);
            let calls = later.calls - all.calls;
            assert!(calls > 19.8 * SECOND / load.each_ns[1], "{callers} callers: {calls}");
            assert_eq!(decision.step, Step::Kept);
        }
    }

    #[test]
    fn a_device_with_many_places_loses_less_than_a_hundredth() {
        for (callers, latency_ns) in [(2, 80_000.0), (8, 60_000.0), (32, 300_000.0), (32, 20_000.0)] {
            for seconds in [1.0, 20.0] {
                let mut load = TestLoad::parallel(callers, latency_ns);
                let (decision, all) = ran(&mut load, seconds * SECOND);
                let best = all.now_ns / load.each_ns[0];
                assert!(
                    all.calls > 0.99 * best,
                    "{callers} x {latency_ns} ns, {seconds} s: {}",
                    all.calls / best
                );
                assert_ne!(decision.step, Step::Kept);
            }
        }
    }

    #[test]
    fn trials_that_fail_become_rare() {
        let (_, all) = ran(&mut TestLoad::parallel(8, 60_000.0), 300.0 * SECOND);
        assert!((3..=14).contains(&all.trials), "{all:?}");
    }

    #[test]
    fn one_caller_and_quick_calls_are_never_tried() {
        let quick = TestLoad { latency_ns: Some(4000.0), ..TestLoad::parallel(16, 4000.0) };
        for mut load in [TestLoad::serial(1, SLOW), quick] {
            let (_, all) = ran(&mut load, 2.0 * SECOND);
            assert!(all.trials == 0 && all.merged < 1.0, "{all:?}");
        }
    }

    #[test]
    fn a_gain_that_costs_processor_time_is_left() {
        let little = TestLoad {
            each_ns: [100_000.0, 80_000.0],
            cpu_ns: [6000.0, 6300.0],
            ..TestLoad::serial(8, SLOW)
        };
        let much = TestLoad { cpu_ns: [6000.0, 9000.0], ..TestLoad::serial(8, SLOW) };
        for mut load in [little, much] {
            let (decision, _) = ran(&mut load, 10.0 * SECOND);
            assert_ne!(decision.step, Step::Kept);
            let reason = decision.reason();
            assert!(matches!(reason, Reason::Tried { cpu, .. } if cpu > 1.04), "{reason:?}");
        }
    }

    #[test]
    fn when_callers_fall_to_one_calls_are_plain_again() {
        let (mut decision, mut all) = ran(&mut TestLoad::serial(8, SLOW), SECOND);
        assert_eq!(decision.step, Step::Kept);
        run(&mut decision, &mut all, &mut TestLoad::serial(1, SLOW), SECOND);
        assert_eq!(decision.step, Step::Rest);
        assert!(matches!(decision.reason(), Reason::Alone { .. }));
    }

    #[test]
    fn when_the_gain_goes_away_so_does_the_way() {
        let (mut decision, mut all) = ran(&mut TestLoad::serial(8, SLOW), SECOND);
        assert_eq!(decision.step, Step::Kept);
        // Nothing announces it: the device got quicker for both, the other way less so.
        run(&mut decision, &mut all, &mut TestLoad::parallel(8, 300_000.0), 60.0 * SECOND);
        assert_eq!(decision.step, Step::Rest, "{all:?}");
        // Merging became much slower than it was: seen soon.
        let (mut decision, mut all) = ran(&mut TestLoad::serial(8, SLOW), SECOND);
        run(&mut decision, &mut all, &mut TestLoad::parallel(8, 3_000_000.0), 8.0 * SECOND);
        assert_eq!(decision.step, Step::Rest, "{all:?}");
    }

    #[test]
    fn a_load_that_is_equally_fast_both_ways_stays_plain() {
        for seed in 0..200 {
            let mut load = TestLoad::parallel(8, 100_000.0);
            load.each_ns[1] = load.each_ns[0];
            (load.noise, load.random) = (0.5, seed);
            let (decision, _) = ran(&mut load, SECOND);
            assert_ne!(decision.step, Step::Kept, "seed {seed}");
        }
    }

    #[test]
    fn a_load_too_light_to_tell_is_left_alone() {
        // 100 calls in a second: an epoch would take longer than it may.
        let mut load = TestLoad::parallel(2, 20_000_000.0);
        let (_, all) = ran(&mut load, 60.0 * SECOND);
        assert!(all.merged < 1.0, "{all:?}");
    }
}
