//! When is the next I/O due?
//!
//! As in the real engine: in an open loop I/Os become due by the clock, whether or not the device has answered the earlier
//! ones, and latency counts from that moment. A think time is a pause of the thread and no I/O's latency.

use iostack_model::{Arrival, Job, Rate, Think};
use iostack_workload::Rng;

use crate::engine::Time;

/// The schedule of one thread.
#[derive(Debug)]
pub(super) struct Pacer {
    rate: Option<Schedule>,
    think: Option<Pause>,
    /// No I/O before this moment, because of thinking.
    thinks_until: Time,
    /// The pause counts from a completion that is still to come.
    pause_begins: bool,
}

#[derive(Debug)]
struct Schedule {
    arrival: Arrival,
    period_ns: f64,
    base: Time,
    /// Since `base`; a float because periods are not whole nanoseconds.
    next_ns: f64,
    /// Share of a period by which this thread runs behind thread 0, so that threads do not ask all at once.
    phase: f64,
    rng: Rng,
}

#[derive(Debug)]
struct Pause {
    time_ns: u64,
    every: u32,
    left: u32,
}

impl Pacer {
    /// The schedule of thread `thread` (from 0) of the job.
    pub(super) fn new(job: &Job, thread: u32) -> Pacer {
        let number = u64::from(job.thread_first) + u64::from(thread);
        let schedule = |rate: &Rate| Schedule {
            arrival: rate.arrival,
            period_ns: 1e9 / rate.iops.max(1e-9),
            base: 0,
            next_ns: 0.0,
            phase: f64::from(thread) / f64::from(job.threads.max(1)),
            rng: Rng::from_seed(job.seed ^ (number << 32 | 0xACE)),
        };
        let pause = |think: &Think| Pause {
            time_ns: think.time.0,
            every: think.every.max(1),
            left: think.every.max(1),
        };
        Pacer {
            rate: job.rate.as_ref().map(schedule),
            think: job.think.as_ref().map(pause),
            thinks_until: 0,
            pause_begins: false,
        }
    }

    /// Starts the schedule anew at `now`.
    pub(super) fn begin(&mut self, now: Time) {
        if let Some(schedule) = &mut self.rate {
            schedule.base = now;
            schedule.next_ns = schedule.phase * schedule.period_ns;
        }
        self.thinks_until = 0;
    }

    /// When the next I/O may be submitted.
    pub(super) fn due(&self) -> Time {
        self.rate.as_ref().map_or(0, Schedule::due).max(self.thinks_until)
    }

    /// An I/O completed: a pause that was due after it begins now. (With several in flight it begins with the first that
    /// completes.)
    pub(super) fn completed(&mut self, end: Time) {
        if let Some(pause) = self.think.as_ref().filter(|_| self.pause_begins) {
            self.thinks_until = end + pause.time_ns;
            self.pause_begins = false;
        }
    }

    /// Takes the next I/O off the schedule; the moment it was meant for.
    pub(super) fn take(&mut self, now: Time) -> Time {
        let start = self.rate.as_mut().map_or(now, Schedule::take);
        if let Some(pause) = &mut self.think {
            pause.left -= 1;
            if pause.left == 0 {
                pause.left = pause.every;
                self.thinks_until = now + pause.time_ns;
                self.pause_begins = true;
            }
        }
        start
    }
}

impl Schedule {
    fn due(&self) -> Time {
        self.base + self.next_ns as u64
    }

    fn take(&mut self) -> Time {
        let due = self.due();
        self.next_ns += match self.arrival {
            Arrival::Regular => self.period_ns,
            // In (0, 1]: the logarithm of 0 would be an endless pause.
            Arrival::Poisson => {
                let uniform = ((self.rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                -natural_log(uniform) * self.period_ns
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
        let mut pacer = Pacer::new(job, 0);
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
        let mut pacer = Pacer::new(&Job { think: Some(think), ..Job::default() }, 0);
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
