//! Which numbers fit the points, and how sure are they?
//!
//! ```text
//!   points ──► each kind of drive: fit by formula, leave out what the points do not show ──► the best few
//!                                                                                              │
//!   intervals ◄── the best of them ◄── fit again, with what the simulator said beyond the formula ◄── simulate, thrice
//! ```
//!
//! The formula knows the slopes, the simulator the values: the logarithm of their ratio at each point is added to the formula
//! before it is fitted again, which is Newton's step with the formula's slopes. What is left out goes by the Bayesian
//! information criterion. Intervals are of a residual bootstrap, because a likelihood would need an error whose size
//! nobody knows, while the residuals also hold what the model has not.

use iostack_model::Engine;

use super::drive::{COUNT, DIES_MOST, Drive, Number, Numbers, host};
use super::least::{least_squares, soft};
use super::points::Point;

/// Rates are expected to be off by so much; far beyond it a point counts less.
const RATE_OFF: f64 = 0.05;
/// CPU times are expected to be off by so much.
const CPU_OFF: f64 = 0.15;
/// A root mean square below this, in expected errors, is as good as none: numbers are not added to reach less.
const GOOD_ENOUGH: f64 = 0.1;

/// A fit of one kind of drive.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub(crate) drive: Drive,
    pub(crate) numbers: Numbers,
    /// Numbers that were fitted; all others are absent.
    pub(crate) free: Vec<usize>,
    /// Less is better.
    pub(crate) score: f64,
}

impl Fit {
    /// Time that a request of any kind takes in the adapter, ns.
    pub(crate) fn delay(&self) -> f64 {
        let has = matches!(self.drive, Drive::Memory | Drive::Flash(_));
        if has { self.numbers[Number::Delay as usize] } else { 0.0 }
    }
}

/// Points to fit to.
pub(crate) struct Data<'a> {
    pub(crate) points: Vec<&'a Point>,
    pub(crate) cores: u32,
    /// Logarithm of the simulator's rate over the formula's, by point; nothing before it was asked.
    pub(crate) beyond: Vec<f64>,
}

impl Data<'_> {
    pub(crate) fn formula(&self, drive: Drive, numbers: &Numbers, point: &Point) -> f64 {
        drive.iops(numbers, point, self.cores)
    }

    /// Logarithms of predicted over measured rates, then of CPU times where they are known, each with how far it may be off.
    fn off(&self, drive: Drive, numbers: &Numbers) -> Vec<(f64, f64)> {
        let beyond = self.beyond.iter().copied().chain(std::iter::repeat(0.0));
        let rates = self.points.iter().zip(beyond).map(|(point, beyond)| {
            ((self.formula(drive, numbers, point) / point.iops).ln() + beyond, RATE_OFF)
        });
        let clocks = self.points.iter().filter_map(|point| {
            let own = host(numbers, point).max(1e-3);
            Some(((own / point.cpu?).ln(), CPU_OFF))
        });
        rates.chain(clocks).collect()
    }

    fn residuals(&self, drive: Drive, numbers: &Numbers, shifts: &[f64]) -> Vec<f64> {
        let shifts = shifts.iter().copied().chain(std::iter::repeat(0.0));
        self.off(drive, numbers)
            .into_iter()
            .zip(shifts)
            .map(|((off, most), shift)| soft((off - shift) / most))
            .collect()
    }

    /// Rates and CPU times that are known.
    fn count(&self) -> usize {
        self.points.len() + self.points.iter().filter(|point| point.cpu.is_some()).count()
    }

    /// Criterion of a sum of squares with so many free numbers.
    pub(crate) fn criterion(&self, sum: f64, free: usize) -> f64 {
        let count = self.count().max(1) as f64;
        count * (sum / count).max(GOOD_ENOUGH * GOOD_ENOUGH).ln() + free as f64 * (count + 1.0).ln()
    }

    /// Sum of squares of rates that the simulator gave.
    pub(crate) fn sum_of(&self, rates: &[f64]) -> f64 {
        let each = self.points.iter().zip(rates);
        each.map(|(point, rate)| soft((rate / point.iops).ln() / RATE_OFF).powi(2)).sum()
    }
}

fn values(logs: &[f64], free: &[usize]) -> Numbers {
    let mut numbers = [0.0; COUNT];
    for &index in free {
        numbers[index] = logs[index].clamp(-7.0, 25.0).exp();
    }
    let dies = &mut numbers[Number::Dies as usize];
    *dies = dies.min(DIES_MOST);
    numbers
}

/// Fits from `start` on; `free` are the numbers that may move, `kept` those that stay.
fn fit(
    data: &Data<'_>,
    drive: Drive,
    start: &[f64],
    (free, kept): (&[usize], &[usize]),
    steps: u32,
    shifts: &[f64],
) -> (Vec<f64>, f64) {
    let all: Vec<usize> = free.iter().chain(kept).copied().collect();
    let found = least_squares(start, free, steps, &|logs| data.residuals(drive, &values(logs, &all), shifts));
    (found.at, found.sum)
}

/// Guesses to begin with: the latency of the loneliest point is the dies' or somebody else's, and the highest rate the dies' or
/// the controller's.
fn starts(data: &Data<'_>, drive: Drive) -> Vec<Vec<f64>> {
    let alone = data
        .points
        .iter()
        .map(|point| f64::from(point.in_flight()) / point.iops * 1e9)
        .fold(f64::INFINITY, f64::min);
    let most = data.points.iter().map(|point| point.iops).fold(0.0, f64::max) / 1e9;
    let bytes = data.points.iter().map(|point| point.iops * point.load.2 as f64).fold(0.0, f64::max) / 1e9;
    let cpu = data.points.iter().filter_map(|point| point.cpu).fold(f64::INFINITY, f64::min);
    let host = if cpu.is_finite() { cpu.min(0.9 * alone) } else { 0.01 * alone };
    let rest = (alone - host).max(0.05 * alone);
    let is_cloud = matches!(drive, Drive::Cloud { .. });
    let mut all = Vec::new();
    for (of_dies, command) in [(0.9, 0.3), (0.5, 0.3), (0.1, 0.3), (0.5, 0.95), (0.1, 0.95)] {
        let mut numbers = [1.0; COUNT];
        let mut set = |number: Number, value: f64| numbers[number as usize] = value;
        set(Number::Host, 0.7 * host);
        set(Number::Switch, 0.3 * host);
        set(Number::Uring, 0.1 * host);
        set(Number::Aio, 0.1 * host);
        set(Number::CopyRead, 0.8 / bytes);
        set(Number::CopyWrite, 0.8 / bytes);
        set(Number::Delay, if is_cloud { rest } else { (1.0 - of_dies) * rest });
        set(Number::Command, (command / most).min(rest));
        set(Number::WriteCommand, (command / most).min(rest));
        set(Number::Dies, (of_dies * rest * most).clamp(2.0, 256.0));
        set(Number::Read, of_dies * rest);
        set(Number::Write, if matches!(drive, Drive::Flash(_)) { 4.0 * rest } else { of_dies * rest });
        set(Number::Byte, 1.0 / bytes);
        set(Number::Cap, 1.0 / most);
        all.push(numbers.iter().map(|value| value.max(1e-3).ln()).collect());
        if is_cloud {
            break;
        }
    }
    all
}

/// The best fit of a kind by formula, without the numbers that the points do not show.
pub(crate) fn by_formula(data: &Data<'_>, drive: Drive) -> Fit {
    let (all, needed) = drive.numbers();
    let points = &data.points;
    let differs = |of: &dyn Fn(&Point) -> u64| points.iter().any(|point| of(point) != of(points[0]));
    let has = |of: &dyn Fn(&Engine) -> bool| points.iter().any(|point| of(&point.engine));
    let shown = |number: &&Number| match number {
        Number::Host if drive == Drive::Copied => true,
        Number::Host | Number::Switch => points.iter().any(|point| point.cpu.is_some()),
        Number::Uring | Number::Aio => {
            let is_aio = **number == Number::Aio;
            points.iter().any(|point| point.cpu.is_some())
                && has(&|engine| !engine.is_synchronous() && matches!(engine, Engine::Libaio) == is_aio)
                && (has(&|engine| engine.is_synchronous())
                    || !is_aio && has(&|engine| matches!(engine, Engine::Libaio)))
        }
        Number::Write | Number::WriteCommand | Number::CopyWrite => {
            points.iter().any(|point| point.load.0 < 100)
        }
        Number::Byte | Number::CopyRead => differs(&|point| point.load.2),
        _ => true,
    };
    let mut free: Vec<usize> = all.iter().filter(shown).map(|&number| number as usize).collect();
    let tried = starts(data, drive).into_iter().map(|start| fit(data, drive, &start, (&free, &[]), 20, &[]));
    let Some((mut at, sum)) = tried.min_by(|a, b| a.1.total_cmp(&b.1)) else {
        unreachable!("there are starts for every kind");
    };
    let mut score = data.criterion(sum, free.len());
    loop {
        let must = free.len() + 1 > data.count().max(3);
        let without = free.iter().filter(|&&index| !needed.iter().any(|&number| number as usize == index));
        let fewer = without.map(|&index| {
            let rest: Vec<usize> = free.iter().copied().filter(|&other| other != index).collect();
            let (at, sum) = fit(data, drive, &at, (&rest, &[]), 8, &[]);
            (data.criterion(sum, rest.len()), rest, at)
        });
        let Some(best) = fewer.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|best| must || best.0 <= score)
        else {
            break;
        };
        (score, free, at) = best;
    }
    Fit { drive, numbers: values(&at, &free), free, score }
}

fn logs(numbers: &Numbers) -> Vec<f64> {
    numbers.iter().map(|value| value.max(1e-3).ln()).collect()
}

/// Simulates, and fits again with what the simulator said beyond the formula; the best of all rounds, and its rates.
pub(crate) fn by_simulator(
    data: &mut Data<'_>,
    fit_of: &Fit,
    rounds: u32,
    simulate: &mut dyn FnMut(Drive, &Numbers) -> anyhow::Result<Vec<f64>>,
) -> anyhow::Result<Fit> {
    let drive = fit_of.drive;
    let mut numbers = fit_of.numbers;
    let mut best: Option<(Fit, Vec<f64>)> = None;
    for round in 0..=rounds {
        // A drive has whole dies.
        let dies = &mut numbers[Number::Dies as usize];
        *dies = dies.round().max(if *dies > 0.0 { 1.0 } else { 0.0 });
        let rates = simulate(drive, &numbers)?;
        let formula: Vec<f64> =
            data.points.iter().map(|point| data.formula(drive, &numbers, point)).collect();
        let beyond: Vec<f64> =
            rates.iter().zip(&formula).map(|(simulated, formula)| (simulated / formula).ln()).collect();
        let score = data.criterion(data.sum_of(&rates), fit_of.free.len());
        if best.as_ref().is_none_or(|(known, _)| score < known.score) {
            best = Some((Fit { numbers, score, ..fit_of.clone() }, beyond.clone()));
        }
        if round == rounds {
            break;
        }
        data.beyond = beyond;
        let dies = Number::Dies as usize;
        // The dies move in the first round alone: they are whole, and others settle around them.
        let is_kept = |index: &usize| round > 0 && *index == dies;
        let (kept, free): (Vec<usize>, Vec<usize>) = fit_of.free.iter().copied().partition(is_kept);
        numbers = values(&fit(data, drive, &logs(&numbers), (&free, &kept), 15, &[]).0, &fit_of.free);
    }
    let Some((found, beyond)) = best else { unreachable!("there is one round at least") };
    data.beyond = beyond;
    Ok(found)
}

/// Fits of points whose residuals changed places, as often as asked: low and high ends of 95 % of them, by number.
pub(crate) fn intervals(data: &Data<'_>, found: &Fit, times: u32) -> [(f64, f64); COUNT] {
    let off = data.off(found.drive, &found.numbers);
    let count = off.len() as f64;
    // Residuals of a fit are smaller than errors, by the numbers that it chose.
    let wider = (count / (count - found.free.len() as f64).max(1.0)).sqrt();
    let mut random = Chance(0x9e37_79b9_7f4a_7c15);
    let mut all: Vec<Numbers> = Vec::new();
    for _ in 0..times {
        // Errors of rates take the places of errors of rates, those of CPU times of CPU times.
        let rates = data.points.len();
        let mut shift = |(index, own): (usize, &(f64, f64))| {
            let (first, count) = if index < rates { (0, rates) } else { (rates, off.len() - rates) };
            own.0 + wider * off[first + random.below(count)].0 * random.sign()
        };
        let shifts: Vec<f64> = off.iter().enumerate().map(&mut shift).collect();
        let (at, _) = fit(data, found.drive, &logs(&found.numbers), (&found.free, &[]), 4, &shifts);
        all.push(values(&at, &found.free));
    }
    let mut ends = [(0.0, 0.0); COUNT];
    for (index, end) in ends.iter_mut().enumerate() {
        let mut list: Vec<f64> = all.iter().map(|numbers| numbers[index]).collect();
        list.sort_by(f64::total_cmp);
        let own = found.numbers[index];
        if let (Some(low), Some(high)) =
            (list.get(list.len() / 40), list.get(list.len() - 1 - list.len() / 40))
        {
            *end = (low.min(own), high.max(own));
        }
    }
    ends
}

/// The same chances each time (xorshift, Marsaglia 2003).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() >> 11) as usize % count.max(1)
    }

    fn sign(&mut self) -> f64 {
        if self.next() >> 63 == 0 { 1.0 } else { -1.0 }
    }
}
