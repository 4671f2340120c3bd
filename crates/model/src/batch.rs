//! What does a command with several requests cost, and when does it pay to wait for one more?

use serde::{Deserialize, Serialize};

/// A command of b requests takes `fixed_ns` + b x `each_ns`: c + b x.
///
/// The law is that of a device that serves one command at a time, as in *Achieving Peak Device Throughput for Random IO
/// Workload* (2012): there c is lost to throughput unless requests share it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
        let (w, b, bb) = (sum(|_, _| 1.0), sum(|b, _| b), sum(|b, _| b * b));
        let (t, bt) = (sum(|_, t| t), sum(|b, t| b * t));
        let each_ns = (w * bt - b * t) / (w * bb - b * b);
        let fixed_ns = (t - each_ns * b) / w;
        Some(match (fixed_ns < 0.0, each_ns < 0.0) {
            (true, _) => BatchCost { fixed_ns: 0.0, each_ns: bt / bb },
            (_, true) => BatchCost { fixed_ns: t / w, each_ns: 0.0 },
            _ => BatchCost { fixed_ns, each_ns },
        })
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

    /// A command of so many requests is through, and its callers know it.
    pub fn served(&mut self, now_ns: u64, requests: u32) {
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
        assert_eq!(BatchCost::fit(&[(1, 10.0), (2, 40.0)]).expect("two sizes").fixed_ns, 0.0);
        assert_eq!(BatchCost::fit(&[(1, 40.0), (2, 10.0)]).expect("two sizes").each_ns, 0.0);
        assert_eq!(BatchCost::fit(&[(1, 10.0)]), None);
        assert_eq!(BatchCost::fit(&[(4, 10.0), (4, 11.0)]), None);
        assert_eq!(BatchCost::fit(&[(1, 0.0), (4, 11.0)]), None);
    }

    #[test]
    fn the_published_device_gains_at_most_two_point_two() {
        let published = BatchCost { fixed_ns: 7000.0, each_ns: 5850.0 };
        assert!((published.gain_max() - 2.197).abs() < 0.001);
        assert!((published.share_of_peak(1.0) - 0.455).abs() < 0.001);
        assert!((published.share_of_peak(8.0) - 0.870).abs() < 0.001);
        assert!(
            (published.gain(8.0) - published.share_of_peak(8.0) / published.share_of_peak(1.0)).abs() < 1e-12
        );
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
}
