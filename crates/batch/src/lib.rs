//! What does a command with several requests cost, and when does it pay to wait for one more?
//!
//! [`BatchCost`] is the law, [`Gathering`] the rule; [`BatchFit`] and [`Returns`] learn what both need while requests come
//! and go. Nothing here does I/O: the library of `merge` and the simulated host decide by the same lines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command of b requests takes `fixed_ns` + b x `each_ns`: c + b x.
///
/// The law is that of a device that serves one command at a time, as in *Achieving Peak Device Throughput for Random IO
/// Workload* (2012): there c is lost to throughput unless requests share it.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct BatchCost {
    /// c, ns: paid once for each command.
    pub fixed_ns: f64,
    /// x, ns: paid for each request.
    pub each_ns: f64,
}

impl BatchCost {
    /// Fits c and x to (requests in a command, ns that it took) by least squares of relative errors; neither is below 0.
    /// `None` without two different sizes.
    pub fn fit(points: &[(u32, f64)]) -> Option<BatchCost> {
        // Weights 1/t^2: a command of 64 may not drown one of 1.
        let sum = |of: fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|&(requests, ns)| of(f64::from(requests), ns) / (ns * ns)).sum()
        };
        if points.iter().any(|&(_, ns)| ns <= 0.0) || points.windows(2).all(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let terms: [fn(f64, f64) -> f64; 5] = [|_, _| 1.0, |b, _| b, |b, _| b * b, |_, t| t, |b, t| b * t];
        Some(BatchCost::of_sums(terms.map(sum)))
    }

    /// Least squares from weighted sums of 1, b, b b, t, b t.
    fn of_sums([w, b, bb, t, bt]: [f64; 5]) -> BatchCost {
        let each_ns = (w * bt - b * t) / (w * bb - b * b);
        let fixed_ns = (t - each_ns * b) / w;
        match (fixed_ns < 0.0, each_ns < 0.0) {
            (true, _) => BatchCost { fixed_ns: 0.0, each_ns: bt / bb },
            (_, true) => BatchCost { fixed_ns: t / w, each_ns: 0.0 },
            _ => BatchCost { fixed_ns, each_ns },
        }
    }

    /// Time of a command of b requests, ns.
    pub fn time_ns(&self, requests: f64) -> f64 {
        self.fixed_ns + requests * self.each_ns
    }

    /// How many times the throughput of single requests commands of b have: b (c + x) / (c + b x).
    pub fn gain(&self, requests: f64) -> f64 {
        requests * self.time_ns(1.0) / self.time_ns(requests)
    }

    /// The same of commands without end: (c + x) / x, infinite when a request more costs nothing.
    pub fn gain_max(&self) -> f64 {
        self.time_ns(1.0) / self.each_ns
    }

    /// Part of the peak, one request each x, that commands of b reach.
    pub fn share_of_peak(&self, requests: f64) -> f64 {
        requests * self.each_ns / self.time_ns(requests)
    }
}

/// The same fit of commands as they come, newer ones with more weight.
///
/// Without two sizes of commands nothing can be told apart; then the last that could be is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchFit {
    /// Of 1, b, b b, t, b t, each over t t.
    sums: [f64; 5],
    cost: Option<BatchCost>,
}

impl BatchFit {
    /// What is left of a command's weight when the next one comes.
    const KEEPS: f64 = 63.0 / 64.0;
    /// Part of its largest possible value that the variance of sizes must have.
    const VARIES: f64 = 1e-6;

    /// A command of so many requests took so long, ns.
    pub fn observe(&mut self, requests: u32, ns: f64) {
        if ns <= 0.0 {
            return;
        }
        let b = f64::from(requests);
        let terms = [1.0, b, b * b, ns, b * ns];
        for (sum, term) in self.sums.iter_mut().zip(terms) {
            *sum = *sum * Self::KEEPS + term / (ns * ns);
        }
        let [w, b, bb, ..] = self.sums;
        if w * bb - b * b > Self::VARIES * w * bb {
            self.cost = Some(BatchCost::of_sums(self.sums));
        }
    }

    /// c and x of late; `None` before commands of two sizes were seen.
    pub fn cost(&self) -> Option<BatchCost> {
        self.cost
    }
}

/// Who gathers requests sees this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gathering {
    /// Requests that wait here.
    pub waiting: u32,
    /// Requests that a command takes.
    pub room: u32,
    /// Callers that were served lately and are not back yet.
    pub expected: u32,
    /// How long it takes, as seen lately, until those come back, ns after their completion.
    pub return_ns: f64,
    /// The device could have worked since, ns.
    pub idle_ns: f64,
}

impl Gathering {
    /// How much longer to hold the command back, ns; `None`: it goes now.
    ///
    /// A command less in a round saves `saved_ns`, what a command costs and nothing hides. Holding it back costs the time that
    /// the device is idle. So it pays if those who are expected come within that time, and is never worth more: who holds until
    /// then and no longer loses at most as much as holding could have won (the rule of the ski rental, competitive ratio 2).
    pub fn hold_ns(&self, saved_ns: f64) -> Option<f64> {
        let pays = self.expected > 0 && self.waiting < self.room && self.return_ns <= saved_ns;
        let left = saved_ns - self.idle_ns;
        (pays && left > 0.0).then_some(left)
    }

    /// How many requests the next command takes at most, so that others are left for the one after it; `None`: all that wait.
    /// `inside`: requests that are in the device now.
    ///
    /// Who sends all callers at once lets the device wait for all of them to come back. With half of them in each of two
    /// commands, the device works for one half while the other is on its way. That costs a command more in a round, `saved_ns`;
    /// where callers are back sooner than that, one command is better, and [`Gathering::hold_ns`] waits for it.
    pub fn half(&self, inside: u32, saved_ns: f64) -> Option<u32> {
        let callers = self.waiting + inside + self.expected;
        (self.return_ns > saved_ns).then_some(callers.div_ceil(2))
    }
}

/// Who comes back, and how soon?
///
/// Callers that wait for their requests come back with the next one some time after they were served. This keeps count of those
/// that are not back yet, and how long it took lately until the last of a command was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Returns {
    expected: u32,
    served_at: u64,
    return_ns: f64,
}

impl Returns {
    /// Weight of the newest observation.
    const WEIGHT: f64 = 0.25;

    /// So many requests are through. Those of one moment count together; with the next, who is not back is given up.
    pub fn served(&mut self, now_ns: u64, requests: u32) {
        if now_ns == self.served_at {
            self.expected += requests;
            return;
        }
        if self.expected > 0 {
            // They were given until now, and did not come: they take longer than that.
            self.observe(now_ns);
        }
        (self.expected, self.served_at) = (requests, now_ns);
    }

    /// A request came.
    pub fn came(&mut self, now_ns: u64) {
        if self.expected == 0 {
            return;
        }
        self.expected -= 1;
        if self.expected == 0 {
            self.observe(now_ns);
        }
    }

    /// Callers that were served by the last command and are not back.
    pub fn expected(&self) -> u32 {
        self.expected
    }

    /// From a command's end until the last of its callers is back, ns; a mean of those seen lately.
    pub fn return_ns(&self) -> f64 {
        self.return_ns
    }

    fn observe(&mut self, now_ns: u64) {
        let took = now_ns.saturating_sub(self.served_at) as f64;
        self.return_ns = if self.return_ns == 0.0 {
            took
        } else {
            self.return_ns + Self::WEIGHT * (took - self.return_ns)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_served_is_expected_until_he_comes_or_the_next_command_is_through() {
        let mut returns = Returns::default();
        returns.served(1000, 2);
        returns.came(1500);
        assert_eq!((returns.expected(), returns.return_ns()), (1, 0.0));
        returns.came(3000);
        assert_eq!((returns.expected(), returns.return_ns()), (0, 2000.0));
        returns.came(3100);
        returns.served(4000, 1);
        returns.served(10_000, 3);
        assert_eq!((returns.expected(), returns.return_ns()), (3, 3000.0), "the one stayed away for 6 us");
    }

    #[test]
    fn commands_as_they_come_give_the_same_fit_and_one_size_changes_nothing() {
        let law = BatchCost { fixed_ns: 1650.0, each_ns: 5851.0 };
        let mut fit = BatchFit::default();
        fit.observe(4, law.time_ns(4.0));
        assert_eq!(fit.cost(), None);
        for b in [1, 7, 1, 7] {
            fit.observe(b, law.time_ns(f64::from(b)));
        }
        for _ in 0..10_000 {
            fit.observe(8, law.time_ns(8.0));
        }
        let cost = fit.cost().expect("three sizes");
        assert!((cost.fixed_ns - 1650.0).abs() < 1.0 && (cost.each_ns - 5851.0).abs() < 1.0, "{cost:?}");
    }

    #[test]
    fn a_fit_finds_the_law_that_made_the_points() {
        let law = BatchCost { fixed_ns: 7000.0, each_ns: 5850.0 };
        let points: Vec<(u32, f64)> = [1, 2, 4, 16, 64].map(|b| (b, law.time_ns(f64::from(b)))).to_vec();
        let fitted = BatchCost::fit(&points).expect("five sizes");
        assert!(
            (fitted.fixed_ns - 7000.0).abs() < 0.01 && (fitted.each_ns - 5850.0).abs() < 0.01,
            "{fitted:?}"
        );
    }

    #[test]
    fn neither_cost_is_below_nothing() {
        assert!(BatchCost::fit(&[(1, 10.0), (2, 40.0)]).expect("two sizes").fixed_ns.abs() < 1e-9);
        assert!(BatchCost::fit(&[(1, 40.0), (2, 10.0)]).expect("two sizes").each_ns.abs() < 1e-9);
        assert_eq!(BatchCost::fit(&[(1, 10.0)]), None);
        assert_eq!(BatchCost::fit(&[(4, 10.0), (4, 11.0)]), None);
        assert_eq!(BatchCost::fit(&[(1, 0.0), (4, 11.0)]), None);
    }

    #[test]
    fn a_polled_command_of_the_dram_ssd_gains_at_most_two_point_two() {
        let polled = BatchCost { fixed_ns: 7000.0, each_ns: 5850.0 };
        assert!((polled.gain_max() - 2.197).abs() < 0.001);
        assert!((polled.share_of_peak(1.0) - 0.455).abs() < 0.001);
        assert!((polled.share_of_peak(8.0) - 0.870).abs() < 0.001);
        assert!((polled.gain(8.0) - polled.share_of_peak(8.0) / polled.share_of_peak(1.0)).abs() < 1e-12);
    }

    #[test]
    fn a_command_is_held_only_while_that_can_pay() {
        let all = Gathering { waiting: 1, room: 16, expected: 7, return_ns: 2000.0, idle_ns: 500.0 };
        assert_eq!(all.hold_ns(7000.0), Some(6500.0));
        assert_eq!(Gathering { expected: 0, ..all }.hold_ns(7000.0), None, "nobody would come");
        assert_eq!(Gathering { waiting: 16, ..all }.hold_ns(7000.0), None, "it is full");
        assert_eq!(Gathering { return_ns: 7001.0, ..all }.hold_ns(7000.0), None, "they take too long");
        assert_eq!(Gathering { idle_ns: 7000.0, ..all }.hold_ns(7000.0), None, "it has waited enough");
    }

    #[test]
    fn half_is_left_to_the_next_command_where_holding_does_not_pay() {
        let all = Gathering { waiting: 3, room: 16, expected: 2, return_ns: 9000.0, idle_ns: 0.0 };
        assert_eq!(all.half(3, 1650.0), Some(4));
        assert_eq!(Gathering { waiting: 1, expected: 0, ..all }.half(0, 1650.0), Some(1));
        assert_eq!(all.half(3, 16_500.0), None, "they are back before another command is paid for");
    }
}
