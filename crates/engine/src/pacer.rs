//! When is the next I/O due?
//!
//! In an open loop I/Os become due by the clock, whether or not the storage has answered the earlier ones, and latency
//! counts from the moment an I/O was due: a stall then costs all the I/Os that would have been asked meanwhile, as it
//! costs the users of a service. A think time is a pause of the thread itself and no I/O's latency.

use iostack_host::clock::Clock;
use iostack_model::{Arrival, Job, Rate, Think};
use iostack_workload::Rng;

/// The schedule of one thread.
pub(crate) struct Pacer {
    rate: Option<Schedule>,
    think: Option<Pause>,
    /// No I/O before this moment, because of thinking.
    thinks_until: u64,
    /// Part of that is spent burning CPU.
    pub(crate) spins_until: u64,
    /// The pause counts from a completion that is still to come.
    pause_begins: bool,
}

struct Schedule {
    arrival: Arrival,
    period_ticks: f64,
    base: u64,
    /// Since `base`, in ticks; a float because periods are not whole ticks.
    next: f64,
    /// Share of a period by which this thread runs behind thread 0, so that threads do not ask all at once.
    phase: f64,
    rng: Rng,
}

struct Pause {
    time_ticks: u64,
    spin_ticks: u64,
    every: u32,
    left: u32,
}

impl Pacer {
    /// The schedule of thread `thread` of the job.
    pub(crate) fn new(job: &Job, thread: u32, clock: &Clock) -> Pacer {
        let schedule = |rate: &Rate| Schedule {
            arrival: rate.arrival,
            period_ticks: clock.ticks(1_000_000_000) as f64 / rate.iops.max(1e-9),
            base: 0,
            next: 0.0,
            phase: f64::from(thread - job.thread_first) / f64::from(job.threads.max(1)),
            rng: Rng::from_seed(job.seed ^ (u64::from(thread) << 32 | 0xACE)),
        };
        let pause = |think: &Think| Pause {
            time_ticks: clock.ticks(think.time.0),
            spin_ticks: clock.ticks(think.spin.0.min(think.time.0)),
            every: think.every.max(1),
            left: think.every.max(1),
        };
        Pacer {
            rate: job.rate.as_ref().map(schedule),
            think: job.think.as_ref().map(pause),
            thinks_until: 0,
            spins_until: 0,
            pause_begins: false,
        }
    }

    /// Starts the schedule anew at `now`.
    pub(crate) fn begin(&mut self, now: u64) {
        if let Some(schedule) = &mut self.rate {
            schedule.base = now;
            schedule.next = schedule.phase * schedule.period_ticks;
        }
        self.thinks_until = 0;
    }

    /// When the next I/O may be submitted.
    pub(crate) fn due(&self) -> u64 {
        self.rate.as_ref().map_or(0, Schedule::due).max(self.thinks_until)
    }

    /// True when latency counts from the schedule.
    pub(crate) fn is_open(&self) -> bool {
        self.rate.is_some()
    }

    /// An I/O completed: a pause that was due after it begins now. (With several in flight it begins with the first
    /// that completes.)
    pub(crate) fn completed(&mut self, end: u64) {
        if let Some(pause) = self.think.as_ref().filter(|_| self.pause_begins) {
            self.thinks_until = end + pause.time_ticks;
            self.spins_until = end + pause.spin_ticks;
            self.pause_begins = false;
        }
    }

    /// Takes the next I/O off the schedule; the moment it was meant for.
    pub(crate) fn take(&mut self, now: u64) -> u64 {
        let start = self.rate.as_mut().map_or(now, Schedule::take);
        if let Some(pause) = &mut self.think {
            pause.left -= 1;
            if pause.left == 0 {
                pause.left = pause.every;
                self.thinks_until = now + pause.time_ticks;
                self.spins_until = now + pause.spin_ticks;
                self.pause_begins = true;
            }
        }
        start
    }
}

impl Schedule {
    fn due(&self) -> u64 {
        self.base + self.next as u64
    }

    fn take(&mut self) -> u64 {
        let due = self.due();
        self.next += match self.arrival {
            Arrival::Regular => self.period_ticks,
            Arrival::Poisson => {
                // In (0, 1]: the logarithm of 0 would be an endless pause.
                let uniform = ((self.rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                -uniform.ln() * self.period_ticks
            }
        };
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Nanos;

    fn dues(job: &Job, count: u32) -> Vec<u64> {
        let clock = Clock::calibrated();
        let mut pacer = Pacer::new(job, 0, clock);
        pacer.begin(0);
        (0..count).map(|_| clock.nanos(pacer.take(0))).collect()
    }

    fn at(iops: f64, arrival: Arrival) -> Job {
        Job { rate: Some(Rate { iops, arrival }), ..Job::default() }
    }

    #[test]
    fn a_regular_schedule_does_not_drift() {
        let dues = dues(&at(3000.0, Arrival::Regular), 300_001);
        assert!(dues[300_000].abs_diff(100_000_000_000) < 1_000, "{}", dues[300_000]);
    }

    #[test]
    fn poisson_distances_have_the_mean_and_the_deviation_of_the_rate() {
        let dues = dues(&at(1000.0, Arrival::Poisson), 100_001);
        let distances: Vec<f64> = dues.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = distances.iter().sum::<f64>() / distances.len() as f64;
        let variance = distances.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / distances.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / 1e6 - 1.0).abs() < 0.02, "{}", variance.sqrt());
    }

    #[test]
    fn thinking_comes_after_every_nth() {
        let clock = Clock::calibrated();
        let think = Think { time: Nanos::millis(1), every: 3, spin: Nanos(0) };
        let mut pacer = Pacer::new(&Job { think: Some(think), ..Job::default() }, 0, clock);
        for round in 1..4 {
            for _ in 0..2 {
                pacer.take(round);
                assert!(pacer.due() < round + clock.ticks(1_000_000));
            }
            assert_eq!(pacer.take(round), round, "thinking is not latency");
            assert_eq!(pacer.due(), round + clock.ticks(1_000_000));
        }
    }
}
