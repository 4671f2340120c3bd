//! Does the storage keep to what the job demands of it?

use iostack_model::{Direction, Job, Nanos};

use crate::Op;

/// Watch over one thread's I/O since the last look. Times are ticks.
#[derive(Default)]
pub struct Watchdog {
    demand: iostack_model::Demand,
    latency: u64,
    cycle: u64,
    since: u64,
    bytes: [u64; 3],
    ios: [u64; 3],
}

impl Watchdog {
    /// `None` where nothing is demanded.
    pub fn new(job: &Job, ticks: impl Fn(u64) -> u64) -> Option<Watchdog> {
        let mut demand = job.demand;
        // A value holds for all directions that none was given for; those that do nothing keep no rate.
        for direction in Direction::ALL.into_iter().filter(|&direction| job.mix.of(direction) == 0) {
            (demand.bytes[direction as usize], demand.iops[direction as usize]) = (0, 0);
        }
        let latency = if demand.latency.0 == 0 { u64::MAX } else { ticks(demand.latency.0) };
        let cycle = ticks(demand.cycle.0.max(1));
        (!demand.is_none()).then_some(Watchdog { demand, latency, cycle, ..Watchdog::default() })
    }

    /// Rates count from here.
    pub fn begin(&mut self, now: u64) {
        (self.since, self.bytes, self.ios) = (now, [0; 3], [0; 3]);
    }

    /// An I/O took from `start` to `end`: what it, or the rate since the last look, broke. `nanos` is the inverse of the
    /// `ticks` of [`Watchdog::new`].
    pub fn broken(&mut self, op: &Op, span: (u64, u64), nanos: impl Fn(u64) -> u64) -> Option<String> {
        let (start, end) = span;
        let took = end.saturating_sub(start);
        if took > self.latency {
            let (took, most) = (Nanos(nanos(took)), self.demand.latency);
            return Some(format!("it took {took}, longer than max_latency={most}"));
        }
        let direction = usize::from(op.direction);
        self.bytes[direction] += u64::from(op.length);
        self.ios[direction] += 1;
        let span = end.saturating_sub(self.since);
        if span < self.cycle {
            return None;
        }
        let seconds = nanos(span) as f64 / 1e9;
        let broken = Direction::ALL.into_iter().find_map(|direction| self.too_slow(direction, seconds));
        self.begin(end);
        broken
    }

    /// A rate that was not kept.
    fn too_slow(&self, direction: Direction, seconds: f64) -> Option<String> {
        let (index, name) = (direction as usize, direction.name());
        let kinds = [
            ("rate_min", "bytes", self.demand.bytes[index], self.bytes[index]),
            ("rate_iops_min", "I/Os", self.demand.iops[index], self.ios[index]),
        ];
        kinds.into_iter().find_map(|(option, unit, least, moved)| {
            let rate = moved as f64 / seconds;
            (rate < least as f64)
                .then(|| format!("{name}s moved {rate:.0} {unit} a second, fewer than {option}={least}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Demand, Mix};

    const READ: Op = Op { offset: 0, length: 4096, direction: 0, file: 0 };

    fn watchdog(demand: Demand) -> Watchdog {
        let job = Job { demand, mix: Mix::reads(50), ..Job::default() };
        let mut watchdog = Watchdog::new(&job, |ns| ns).expect("something is demanded");
        watchdog.begin(0);
        watchdog
    }

    #[test]
    fn an_io_may_take_as_long_as_is_allowed_and_no_tick_longer() {
        let mut watchdog = watchdog(Demand { latency: Nanos::millis(1), ..Demand::NONE });
        let most = 1_000_000;
        assert_eq!(watchdog.broken(&READ, (0, most), |ns| ns), None);
        let said = watchdog.broken(&READ, (0, most + 1), |ns| ns).expect("too late");
        assert!(said.contains("max_latency=1 ms"), "{said}");
    }

    #[test]
    fn a_rate_is_judged_once_a_cycle_and_by_what_came_in_it() {
        let demand = Demand { iops: [10, 0, 0], cycle: Nanos::millis(100), ..Demand::NONE };
        let cycle = 100_000_000;
        let mut enough = watchdog(demand);
        assert_eq!(enough.broken(&READ, (0, cycle), |ns| ns), None, "one in a tenth of a second");
        assert_eq!(enough.broken(&READ, (0, cycle + 1), |ns| ns), None, "the next cycle has only begun");
        let mut slow = watchdog(Demand { iops: [11, 0, 0], ..demand });
        assert!(slow.broken(&READ, (0, cycle), |ns| ns).expect("too slow").contains("rate_iops_min=11"));
        let mut bytes = watchdog(Demand { iops: [0; 3], bytes: [0, 1, 0], ..demand });
        assert!(
            bytes.broken(&READ, (0, cycle), |ns| ns).expect("no write at all").starts_with("writes moved 0")
        );
    }

    #[test]
    fn a_direction_that_does_nothing_keeps_no_rate() {
        let demand = Demand { bytes: [1; 3], iops: [1; 3], ..Demand::NONE };
        let job = Job { demand, mix: Mix::READ, ..Job::default() };
        let mut watchdog = Watchdog::new(&job, |ns| ns).expect("reads have one");
        watchdog.begin(0);
        assert_eq!(watchdog.broken(&READ, (0, 1_000_000_000), |ns| ns), None);
        assert!(
            Watchdog::new(
                &Job {
                    mix: Mix::READ,
                    demand: Demand { bytes: [0, 1, 1], ..Demand::NONE },
                    ..Job::default()
                },
                |ns| ns
            )
            .is_none()
        );
    }

    #[test]
    fn who_demands_nothing_is_not_watched() {
        assert!(Watchdog::new(&Job::default(), |ns| ns).is_none());
    }
}
