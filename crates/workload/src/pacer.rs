//! When is the next I/O due?
//!
//! In an open loop I/Os become due by the clock, whether or not the storage has answered the earlier ones, and latency
//! counts from the moment an I/O was due: a stall then costs all the I/Os that would have been asked meanwhile, as it
//! costs the users of a service. A think time is a pause of the thread itself and no I/O's latency.
//!
//! Moments are ticks of whoever asks: of the time-stamp counter, or nanoseconds of virtual time.

use std::sync::Arc;

use iostack_model::{Arrival, Job, Rate, Think};

use crate::Rng;
use crate::trace::Recording;

/// The schedule of one thread.
#[derive(Debug)]
pub struct Pacer {
    rate: Option<Schedule>,
    recorded: Option<Moments>,
    think: Option<Pause>,
    /// No I/O before this moment, because of thinking.
    thinks_until: u64,
    /// Part of that is spent burning CPU.
    pub spins_until: u64,
    /// The pause counts from a completion that is still to come.
    pause_begins: bool,
}

#[derive(Debug)]
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

/// The moments of a trace.
#[derive(Debug)]
struct Moments {
    recording: Arc<Recording>,
    ticks_per_ns: f64,
    base: u64,
    next: usize,
}

impl Moments {
    fn due(&self) -> u64 {
        let at = self.recording.at(self.next).unwrap_or_default();
        self.base + (at.0 as f64 * self.ticks_per_ns) as u64
    }

    /// Behind the last one it begins again, as whoever takes the I/Os does.
    fn take(&mut self) -> u64 {
        let due = self.due();
        self.next += 1;
        if self.recording.at(self.next).is_none() {
            (self.base, self.next) = (due, 0);
        }
        due
    }
}

#[derive(Debug)]
struct Pause {
    time_ticks: u64,
    spin_ticks: u64,
    every: u32,
    left: u32,
}

impl Pacer {
    /// The schedule of thread `thread` (from 0) of the job; `ticks` turns nanoseconds into ticks.
    pub fn new(job: &Job, thread: u32, ticks: impl Fn(u64) -> u64) -> Pacer {
        let number = u64::from(job.thread_first) + u64::from(thread);
        let schedule = |rate: &Rate| Schedule {
            arrival: rate.arrival,
            period_ticks: ticks(1_000_000_000) as f64 / rate.iops.max(1e-9),
            base: 0,
            next: 0.0,
            phase: f64::from(thread) / f64::from(job.threads.max(1)),
            rng: Rng::from_seed(job.seed ^ (number << 32 | 0xACE)),
        };
        let pause = |think: &Think| Pause {
            time_ticks: ticks(think.time.0),
            spin_ticks: ticks(think.spin.0.min(think.time.0)),
            every: think.every.max(1),
            left: think.every.max(1),
        };
        Pacer {
            rate: job.rate.as_ref().map(schedule),
            recorded: None,
            think: job.think.as_ref().map(pause),
            thinks_until: 0,
            spins_until: 0,
            pause_begins: false,
        }
    }

    /// The schedule of a trace that is replayed `speed` times as fast as it was recorded.
    pub fn of_recording(recording: Arc<Recording>, speed: f64, ticks: impl Fn(u64) -> u64) -> Pacer {
        let ticks_per_ns = ticks(1_000_000_000) as f64 / 1e9 / speed;
        let moments = Moments { recording, ticks_per_ns, base: 0, next: 0 };
        Pacer { recorded: Some(moments), ..Pacer::new(&Job::default(), 0, ticks) }
    }

    /// Starts the schedule anew at `now`.
    pub fn begin(&mut self, now: u64) {
        if let Some(moments) = &mut self.recorded {
            (moments.base, moments.next) = (now, 0);
        }
        if let Some(schedule) = &mut self.rate {
            schedule.base = now;
            schedule.next = schedule.phase * schedule.period_ticks;
        }
        self.thinks_until = 0;
    }

    /// Moment at which the next I/O may be submitted.
    #[inline]
    pub fn due(&self) -> u64 {
        let recorded = self.recorded.as_ref().map_or(0, Moments::due);
        self.rate.as_ref().map_or(recorded, Schedule::due).max(self.thinks_until)
    }

    /// True when latency counts from the schedule.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.rate.is_some() || self.recorded.is_some()
    }

    /// An I/O completed: a pause that was due after it begins now. (With several in flight it begins with the first
    /// that completes.)
    #[inline]
    pub fn completed(&mut self, end: u64) {
        if let Some(pause) = self.think.as_ref().filter(|_| self.pause_begins) {
            self.thinks_until = end + pause.time_ticks;
            self.spins_until = end + pause.spin_ticks;
            self.pause_begins = false;
        }
    }

    /// Takes the next I/O off the schedule; the moment it was meant for.
    #[inline]
    pub fn take(&mut self, now: u64) -> u64 {
        let start = match (&mut self.rate, &mut self.recorded) {
            (Some(schedule), _) => schedule.take(),
            (None, Some(moments)) => moments.take(),
            (None, None) => now,
        };
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
                -natural_log(uniform) * self.period_ticks
            }
        };
        due
    }
}

/// The natural logarithm of a normal positive number, from the four operations alone: they round alike on every machine,
/// which the logarithm of the C library does not promise. Error below 1e-15.
///
/// `x = m 2^e` with m in 1/sqrt(2)..sqrt(2), and `ln m = 2 artanh((m - 1)/(m + 1))` by its series.
pub fn natural_log(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0);
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) as i32) - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let ratio = (mantissa - 1.0) / (mantissa + 1.0);
    let square = ratio * ratio;
    let mut sum = 0.0;
    // |ratio| < 0.1716, so that the term of the 21st power is below 1e-17 of the first.
    for power in (1..=10).rev() {
        sum = (sum + 1.0 / f64::from(2 * power + 1)) * square;
    }
    2.0 * ratio * (1.0 + sum) + f64::from(exponent) * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Nanos;

    fn dues(job: &Job, count: u32) -> Vec<u64> {
        let mut pacer = Pacer::new(job, 0, |ns| ns);
        pacer.begin(0);
        (0..count).map(|_| pacer.take(0)).collect()
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
        let think = Think { time: Nanos::millis(1), every: 3, spin: Nanos(0) };
        let mut pacer = Pacer::new(&Job { think: Some(think), ..Job::default() }, 0, |ns| ns);
        for round in 1..4 {
            for _ in 0..2 {
                pacer.take(round);
                assert!(pacer.due() < round + 1_000_000);
            }
            assert_eq!(pacer.take(round), round, "thinking is not latency");
            assert_eq!(pacer.due(), round + 1_000_000);
        }
    }

    #[test]
    fn the_logarithm_is_the_logarithm() {
        let mut rng = Rng::from_seed(5);
        let values = (0..20_000).map(|_| ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64);
        for x in values.chain([1.0, 0.5, f64::EPSILON / 2.0, 1e-300, 0.75, 12345.0]) {
            let (told, exact) = (natural_log(x), x.ln());
            assert!((told - exact).abs() <= 2e-16 * exact.abs().max(1.0) * 4.0, "{x}: {told} {exact}");
        }
    }
}
