//! What do batches cost here, and how many at a time pay?
//!
//! Pure: times are given. Three small accounts, kept from batches that are sent anyway:
//!
//! * [`Costs`]: the usual time of a batch by its size, where none overlapped it, and c + b x fitted to that.
//! * [`Stay`]: how long a request stays, waiting and carried, as the area under the number of requests that are in, over those that
//!   are through (Little 1961, "A proof for the queuing formula L = λW").
//! * [`Width`]: how many batches may be on their way at a time. A device that serves one command at a time is best with one, and
//!   large batches; one that works in parallel with several, in the end one for each caller, which is a plain call. Whether two
//!   overlap shows in how long requests stay: now and then another number is tried beside the present one, in turns, so that a
//!   change of the load meets both.

use iostack_batch::BatchCost;

/// Usual time of batches by size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    sizes: [Mean; Costs::SIZES],
    observed: u64,
    cost: Option<BatchCost>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    requests: f64,
    ns: f64,
    /// Value of `Costs::observed` when it was last seen.
    seen: u64,
}

impl Costs {
    /// Sizes 1 to 8 by themselves, then two to each doubling; the last takes what is larger.
    const SIZES: usize = 20;
    /// Weight of the newest batch, if it took less than the others, and if it took more. A thread that was off its processor makes a
    /// batch seem long and never short: what is wanted is what the device takes, near the least.
    const WEIGHT_LESS: f64 = 1.0 / 4.0;
    const WEIGHT_MORE: f64 = 1.0 / 64.0;
    /// One batch counts as at most so many times the others.
    const CLAMP: f64 = 2.0;
    /// A size not seen for so many batches does not count any more.
    const RECENT: u64 = 8192;
    /// The fit is made anew every so many batches.
    const FIT_EACH: u64 = 16;

    fn place(requests: u32) -> usize {
        let requests = requests.max(1);
        if requests <= 8 {
            return requests as usize - 1;
        }
        let doubling = (requests - 1).ilog2();
        let upper = (requests - 1) >> (doubling - 1) & 1;
        (8 + 2 * (doubling - 3) + upper) as usize
    }

    /// A batch took so long, with no other beside it.
    pub(crate) fn observe(&mut self, requests: u32, ns: f64) {
        self.observed += 1;
        let mean = &mut self.sizes[Self::place(requests).min(Self::SIZES - 1)];
        let requests = f64::from(requests);
        if mean.seen == 0 {
            (mean.requests, mean.ns) = (requests, ns);
        } else {
            let weight = if ns < mean.ns { Self::WEIGHT_LESS } else { Self::WEIGHT_MORE };
            mean.requests += weight * (requests - mean.requests);
            mean.ns += weight * (ns.min(mean.ns * Self::CLAMP) - mean.ns);
        }
        mean.seen = self.observed;
        if self.observed.is_multiple_of(Self::FIT_EACH) {
            // Where sizes do not differ of late, what was known stays.
            self.cost = self.fit().or(self.cost);
        }
    }

    fn fit(&self) -> Option<BatchCost> {
        let recent = |mean: &&Mean| mean.seen > 0 && self.observed - mean.seen < Self::RECENT;
        let points: Vec<(u32, f64)> =
            self.sizes.iter().filter(recent).map(|mean| (mean.requests.round() as u32, mean.ns)).collect();
        BatchCost::fit(&points)
    }

    /// c, ns. Until batches of two sizes were seen, half of what one took: it is to be found out, and is more or less.
    pub(crate) fn fixed_ns(&self) -> f64 {
        match self.cost {
            Some(cost) => cost.fixed_ns,
            None => self.sizes.iter().find(|mean| mean.seen > 0).map_or(0.0, |mean| mean.ns / 2.0),
        }
    }
}

/// Account of how long requests stay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stay {
    inside: u32,
    inside_max: u32,
    since_ns: u64,
    area: f64,
    through: u64,
}

impl Stay {
    fn advance(&mut self, now_ns: u64) {
        self.area += f64::from(self.inside) * now_ns.saturating_sub(self.since_ns) as f64;
        self.since_ns = now_ns;
    }

    pub(crate) fn came(&mut self, now_ns: u64) {
        self.advance(now_ns);
        self.inside += 1;
        self.inside_max = self.inside_max.max(self.inside);
    }

    pub(crate) fn served(&mut self, now_ns: u64, requests: u32) {
        self.advance(now_ns);
        self.inside = self.inside.saturating_sub(requests);
        self.through += u64::from(requests);
    }

    /// Begins a new account with those who are in.
    fn restart(&mut self) -> Stay {
        let ended = *self;
        (self.area, self.through, self.inside_max) = (0.0, 0, self.inside);
        ended
    }
}

/// Number of batches that may be on their way.
#[derive(Clone, Debug)]
pub(crate) struct Width {
    best: usize,
    limit: usize,
    /// The other one that is being tried, and what was seen.
    trial: Option<WidthTrial>,
    /// Number of the width to try next: all, double, one, half.
    next: usize,
    /// Accounts until the next trial, and how many there will be after one that changed nothing.
    rest: u32,
    rest_next: u32,
    /// False after a change of width, until what follows it has passed.
    settled: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct WidthTrial {
    width: usize,
    turns: u32,
    /// Area and requests: of the present width, of the other.
    areas: [f64; 2],
    through: [f64; 2],
}

impl Width {
    /// Requests in one account, at least, and for each that was inside at a time.
    const ACCOUNT: u64 = 64;
    const ACCOUNT_EACH: u64 = 8;
    /// Requests of each caller that are not counted after a change of width: they met the old one.
    const SETTLE_EACH: u64 = 2;
    /// Accounts of both in one trial.
    const TURNS: u32 = 8;
    /// The stay must be shortened to this part, or nothing is changed.
    const BETTER: f64 = 0.96;
    /// A trial that lengthens it so much ends early.
    const HOPELESS: f64 = 1.25;
    const REST: u32 = 8;
    const REST_MAX: u32 = 512;

    /// One at a time at first, never more than `limit`. One for each caller is tried soon.
    pub(crate) fn new(limit: usize) -> Width {
        let (rest, rest_next, limit) = (1, Self::REST, limit.max(1));
        Width { best: 1, limit, trial: None, next: 0, rest, rest_next, settled: false }
    }

    /// Batches at a time, now.
    pub(crate) fn now(&self) -> usize {
        match &self.trial {
            Some(trial) if trial.turns % 2 == 1 => trial.width,
            _ => self.best,
        }
    }

    /// Looks at the account; when it is full, begins a new one. Cheap until then.
    pub(crate) fn look(&mut self, stay: &mut Stay) {
        let crowd = u64::from(stay.inside_max);
        if !self.settled {
            if stay.through >= Self::SETTLE_EACH * crowd {
                stay.restart();
                self.settled = true;
            }
            return;
        }
        if stay.through < Self::ACCOUNT.max(Self::ACCOUNT_EACH * crowd) {
            return;
        }
        let before = self.now();
        let account = stay.restart();
        match self.trial.take() {
            Some(trial) => self.go_on(trial, account),
            None => self.begin(account),
        }
        self.settled = self.now() == before;
    }

    fn begin(&mut self, account: Stay) {
        self.rest = self.rest.saturating_sub(1);
        if self.rest > 0 {
            return;
        }
        // More than there are requests is the same as one for each.
        let crowd = (account.inside_max as usize).min(self.limit);
        let present = self.best.min(crowd);
        let others = [crowd, present * 2, 1, present / 2];
        let other = others[self.next % others.len()].min(crowd);
        self.next += 1;
        if other > 0 && other != present {
            let width = if other == crowd { self.limit } else { other };
            self.trial = Some(WidthTrial { width, ..WidthTrial::default() });
        } else {
            self.rest = 1;
        }
    }

    fn go_on(&mut self, mut trial: WidthTrial, account: Stay) {
        let which = (trial.turns % 2) as usize;
        trial.areas[which] += account.area;
        trial.through[which] += account.through as f64;
        trial.turns += 1;
        let [present, other] = [0, 1].map(|which| trial.areas[which] / trial.through[which].max(1.0));
        let hopeless = trial.turns.is_multiple_of(2) && other > present * Self::HOPELESS;
        if trial.turns < Self::TURNS && !hopeless {
            self.trial = Some(trial);
            return;
        }
        if other < present * Self::BETTER {
            self.best = trial.width;
            // The same direction again, and soon.
            (self.rest, self.rest_next) = (1, Self::REST);
            self.next += 3;
        } else {
            self.rest_next = (self.rest_next * 2).min(Self::REST_MAX);
            self.rest = self.rest_next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_its_place() {
        let places: Vec<usize> =
            [1, 8, 9, 12, 13, 16, 17, 24, 25, 32, 33, 64, 65, 256].map(Costs::place).to_vec();
        assert_eq!(places, [0, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 13, 14, 17]);
    }

    #[test]
    fn costs_find_the_law_in_spite_of_threads_off_their_processor() {
        let law = BatchCost { fixed_ns: 7000.0, each_ns: 5850.0 };
        let mut costs = Costs::default();
        for turn in 0..4000_u32 {
            let requests = 1 + turn % 9;
            let late = if turn % 97 == 0 { 4e6 } else { 0.0 };
            costs.observe(requests, law.time_ns(f64::from(requests)) + late);
        }
        let cost = costs.cost.expect("nine sizes");
        assert!((cost.each_ns / 5850.0 - 1.0).abs() < 0.15, "{cost:?}");
        assert!((cost.fixed_ns / 7000.0 - 1.0).abs() < 0.25, "{cost:?}");
    }

    #[test]
    fn one_size_tells_nothing_new() {
        let mut costs = Costs::default();
        assert!(costs.fixed_ns().abs() < 1e-9);
        (0..64).for_each(|_| costs.observe(1, 1000.0));
        assert!((costs.fixed_ns() - 500.0).abs() < 1.0, "a guess");
        (0..64).for_each(|turn| costs.observe(1 + turn % 2, 1000.0));
        let known = costs.fixed_ns();
        assert!((known - 1000.0).abs() < 1.0, "{known}");
        (0..2 * Costs::RECENT).for_each(|_| costs.observe(2, 1000.0));
        assert!(costs.fixed_ns() >= known - 1.0);
    }

    #[test]
    fn two_that_stay_three_and_five_stay_four_on_the_mean() {
        let mut stay = Stay::default();
        stay.came(10);
        stay.came(11);
        stay.served(13, 1);
        stay.served(16, 1);
        assert_eq!((stay.area, stay.through), (8.0, 2));
    }

    /// Callers that come back at once, and a device whose batches take `time(width)` for all callers.
    fn settle(callers: u32, time: impl Fn(usize) -> u64) -> usize {
        let (mut width, mut stay, mut now) = (Width::new(64), Stay::default(), 0);
        (0..callers).for_each(|_| stay.came(now));
        for _ in 0..200_000 / callers {
            now += time(width.now());
            stay.served(now, callers);
            width.look(&mut stay);
            (0..callers).for_each(|_| stay.came(now));
        }
        width.best
    }

    #[test]
    fn the_width_settles_at_what_the_device_works_on_at_a_time() {
        let serial = |width| 7000 * width as u64 + 8 * 5850;
        assert_eq!(settle(8, serial), 1, "it serves one at a time");
        let of_two = |width| if width == 1 { 50_000 } else { 30_000 + 2000 * width as u64 };
        assert_eq!(settle(8, of_two), 2, "two overlap");
        for callers in [8, 32] {
            let parallel = |width: usize| 80_000 / width.min(callers) as u64;
            assert!(settle(callers as u32, parallel) >= callers, "one for each caller");
        }
        assert_eq!(settle(1, |_| 1000), 1, "one caller tries nothing");
    }
}
