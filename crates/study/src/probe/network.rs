//! How many stations does a closed network have whose rates over depth are these? Pure.
//!
//! ```text
//!   N requests ──► delay Z ──► one of M stations, S each ──► a station that all pass, C ──┐
//!        ▲────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Mean value analysis (Reiser and Lavenberg 1980), with the remaining time of the request in service corrected for how even the
//! service is: `evenness` 0 is exponential, 1/2 constant. One request alone takes Z + S + C, which is measured. M shows where rates
//! bend, long before they are flat: two of N requests meet at the same station with a chance of about 1/M.

use iostack_model::Interval;

/// A measured rate: depth, I/Os per second, relative standard error.
pub(crate) type Rate = (u32, f64, f64);

/// The curve of small reads and its network, for whoever learns more of it.
pub(crate) struct SmallReads {
    pub(crate) fit: Fit,
    pub(crate) curve: Vec<Rate>,
    pub(crate) varies: f64,
}

/// Network that fits.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    /// Stations, with the 95 % interval by profile likelihood.
    pub(crate) stations: Interval,
    /// Time at one of them, s.
    pub(crate) service: f64,
    /// Time at the one that all pass, s; 0 without.
    pub(crate) shared: f64,
    /// A network of several stations without the shared one fits clearly worse.
    pub(crate) has_shared: bool,
    /// The rate of what all pass: the shared station, or the only one.
    pub(crate) limit: Option<f64>,
    /// Root of the mean square of the residuals, relative.
    pub(crate) misfit: f64,
    /// Sum of squares of residuals, in their standard errors.
    pub(crate) error: f64,
}

#[derive(Clone, Copy, Debug)]
struct Network {
    alone: f64,
    stations: f64,
    /// Share of `alone` at a station, and at the shared one.
    service: f64,
    shared: f64,
    evenness: f64,
    /// Standard deviation of the latency of one alone, over its mean.
    varies: f64,
    /// Highest rate, times `alone`.
    plateau: f64,
    /// The service as it was measured elsewhere, a share of `alone`.
    known: Option<f64>,
}

/// Error of the model itself, relative: no interval is narrower.
const MODEL_ERROR: f64 = 0.006;
/// Most stations that are looked for.
const STATIONS_MOST: f64 = 512.0;
/// Factors from one number of stations to the next: over all, and where the best is.
const STEPS: (f64, f64) = (1.12, 1.025);
/// A range of numbers as wide as this factor need not be known exactly.
const WIDE: f64 = 2.5;
/// Below this there is only one, which all pass.
const SEVERAL: f64 = 1.5;
/// Weight against a shared station: one that explains nothing is none.
const SPARSE: f64 = 4.0;
/// Relative error of a service that was measured.
const KNOWN_ERROR: f64 = 0.012;
/// Quantile of chi squared, one degree of freedom, 95 %.
const CHI: f64 = 3.84;
/// Evenness of constant service as this analysis has it, of many stations; of few, requests that return together meet less often.
/// Found with simulated drives of 2 to 64 dies.
const EVENNESS: f64 = 0.455;
const EVENNESS_FEW: f64 = 0.55;
/// Distance that it may be from that, and how much further where service varies.
const EVENNESS_ERROR: (f64, f64) = (0.03, 0.15);

impl Network {
    /// Rates at these depths, which rise.
    fn rates(&self, rates: &[Rate]) -> Vec<f64> {
        let (service, shared) = (self.service * self.alone, self.shared * self.alone);
        let delay = (self.alone - service - shared).max(0.0);
        let [mut at_each, mut at_shared, mut rate] = [0.0; 3];
        let mut asked = rates.iter().map(|&(depth, ..)| depth).peekable();
        let mut told = Vec::with_capacity(rates.len());
        for depth in 1..=rates.last().map_or(0, |&(depth, ..)| depth) {
            let busy = |time: f64, share: f64| (self.evenness * rate * time * share).min(0.5);
            let each = service * (1.0 + at_each - busy(service, 1.0 / self.stations));
            let all = shared * (1.0 + at_shared - busy(shared, 1.0));
            rate = f64::from(depth) / (delay + each + all);
            if shared > 0.0 {
                rate = rate.min(1.0 / shared);
            }
            rate = rate.min(self.stations / service.max(1e-12));
            (at_each, at_shared) = (rate * each / self.stations, rate * all);
            if asked.next_if_eq(&depth).is_some() {
                told.push(rate);
            }
        }
        told
    }

    /// Sum of squares of residuals, in their standard errors.
    fn error(&self, rates: &[Rate]) -> f64 {
        let outside = self.service <= 0.0 || self.shared < 0.0 || self.service + self.shared > 1.0;
        if outside || !(0.0..=0.6).contains(&self.evenness) {
            return f64::INFINITY;
        }
        let known = self.known.map_or(0.0, |known| ((self.service / known).ln() / KNOWN_ERROR).powi(2));
        let residual = |(told, &(_, rate, error)): (f64, &Rate)| ((told / rate).ln() / error).powi(2);
        let (expected, error) = self.expected_evenness();
        let prior = ((self.evenness - expected) / error).powi(2);
        self.rates(rates).into_iter().zip(rates).map(residual).sum::<f64>()
            + prior
            + known
            + SPARSE * (self.shared * self.plateau).powi(2)
    }

    /// Evenness to expect: what is left of a service is half of it when all take as long, and more when they vary.
    fn expected_evenness(&self) -> (f64, f64) {
        let constant = EVENNESS - EVENNESS_FEW / self.stations.max(1.5).powi(2);
        (constant * (1.0 - self.varies.powi(2)).max(0.0), EVENNESS_ERROR.0 + EVENNESS_ERROR.1 * self.varies)
    }

    /// The best of its stations: steps along each axis, halved when none is better.
    fn improved(mut self, rates: &[Rate], shares: bool) -> (Network, f64) {
        let mut best = self.error(rates);
        let mut step = 0.16;
        while step > 0.002 {
            let mut moved = false;
            for (axis, sign) in [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0), (2, 1.0), (2, -1.0)] {
                if axis == 1 && !shares {
                    continue;
                }
                let mut next = self;
                match axis {
                    0 => next.service += sign * step * self.service.max(0.02),
                    1 => next.shared = (next.shared + sign * step * self.shared.max(0.004)).max(0.0),
                    _ => next.evenness += sign * step,
                }
                let error = next.error(rates);
                if error < best {
                    (self, best, moved) = (next, error, true);
                }
            }
            if !moved {
                step /= 2.0;
            }
        }
        (self, best)
    }
}

/// Rates that a network is looked for.
struct Begun<'a> {
    rates: &'a [Rate],
    first: f64,
    most: f64,
    varies: f64,
    known: Option<f64>,
}

impl Begun<'_> {
    /// The best network of each number of stations.
    fn profile(&self, low: f64, high: f64, step: f64) -> Vec<(Network, f64)> {
        let numbers = std::iter::successors(Some(low), |stations| Some(stations * step));
        numbers
            .take_while(|stations| *stations <= high * step)
            .map(|stations| self.best(stations, true))
            .collect()
    }

    /// The best network of so many stations, with its error.
    fn best(&self, stations: f64, passes_one: bool) -> (Network, f64) {
        let limit = (self.first / self.most).min(1.0);
        let start = |service: f64, shared: f64| {
            let shared = if passes_one { shared.min(0.98 - service).max(0.0) } else { 0.0 };
            let (alone, plateau, varies) = (1.0 / self.first, self.most / self.first, self.varies);
            let known = self.known.map(|known| known / alone);
            let begun = Network { alone, stations, service, shared, evenness: 0.0, varies, plateau, known };
            Network { evenness: begun.expected_evenness().0, ..begun }
        };
        // The service that alone would make the plateau, and shorter ones.
        let whole = (stations * limit).min(0.97);
        let known = self.known.map_or(0.8, |known| known * self.first);
        let starts = [(whole, 0.0), (whole * 0.7, limit), (known, limit * 0.95)];
        let tried = starts
            .into_iter()
            .map(|(service, shared)| start(service, shared).improved(self.rates, passes_one));
        tried.min_by(|a, b| a.1.total_cmp(&b.1)).expect("some starts")
    }
}

/// The network of these rates, whose first is of depth 1; `None` below five. The latency of one alone `varies` by so much, relative; the time
/// at one station, s, may be `known`.
pub(crate) fn fit(rates: &[Rate], varies: f64, known: Option<f64>) -> Option<Fit> {
    let &(1, first, _) = rates.first()? else { return None };
    if rates.len() < 5 || first <= 0.0 {
        return None;
    }
    let rates: Vec<Rate> =
        rates.iter().map(|&(depth, rate, error)| (depth, rate, error.hypot(MODEL_ERROR))).collect();
    let most = rates.iter().map(|rate| rate.1).fold(0.0, f64::max);
    let begun = Begun { rates: &rates, first, most, varies, known };
    let coarse = begun.profile(1.0, STATIONS_MOST, STEPS.0);
    let (_, least) = *coarse.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let freedom = (rates.len() as f64 - 3.0).max(1.0);
    let range = |profile: &[(Network, f64)], least: f64, reach: f64| {
        let holds =
            profile.iter().filter(|(_, error)| error - least <= reach).map(|(network, _)| network.stations);
        holds.fold((f64::MAX, 0.0f64), |(low, high), stations| (low.min(stations), high.max(stations)))
    };
    let (low, high) = range(&coarse, least, 2.0 * CHI * (least / freedom).max(1.0));
    let fine = (high / low < WIDE).then(|| begun.profile((low / STEPS.0).max(1.0), high * STEPS.0, STEPS.1));
    let profile = fine.as_ref().unwrap_or(&coarse);
    let (best, least) = *profile.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let scale = (least / freedom).max(1.0);
    let (low, high) = range(profile, least, CHI * scale);
    let many = coarse.iter().map(|(network, _)| network.stations).filter(|stations| *stations > SEVERAL);
    let many = many.map(|stations| begun.best(stations, false).1).fold(f64::MAX, f64::min);
    let has_shared = many - least > 3.0 * CHI * scale;
    let passed =
        if best.stations > SEVERAL { best.shared } else { best.shared.max(best.service) } * best.alone;
    let residuals =
        best.rates(&rates).into_iter().zip(&rates).map(|(told, rate)| (told / rate.1).ln().powi(2));
    let misfit = (residuals.sum::<f64>() / rates.len() as f64).sqrt();
    Some(Fit {
        stations: Interval {
            mean: best.stations,
            low: (low / STEPS.1).max(1.0).min(best.stations),
            high: high * STEPS.1,
            samples: rates.len() as u32,
        },
        service: best.service * best.alone,
        shared: best.shared * best.alone,
        error: least,
        has_shared,
        limit: (has_shared && passed > 0.0).then(|| 1.0 / passed),
        misfit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(network: Network) -> Vec<Rate> {
        let depths: Vec<Rate> = [1, 2, 4, 8, 16, 32, 64, 128].map(|depth| (depth, 1.0, 0.001)).to_vec();
        let told = network.rates(&depths);
        depths.into_iter().zip(told).map(|((depth, _, error), rate)| (depth, rate, error)).collect()
    }

    #[test]
    fn exponential_stations_without_delay_have_the_rate_of_the_closed_formula() {
        let alone = Network {
            alone: 1.0,
            stations: 8.0,
            service: 1.0,
            shared: 0.0,
            evenness: 0.0,
            varies: 1.0,
            plateau: 0.0,
            known: None,
        };
        let rate = alone.rates(&[(8, 1.0, 0.1)])[0];
        assert!((rate - 64.0 / 15.0).abs() < 1e-9, "N M / ((N + M - 1) S): {rate}");
    }

    #[test]
    fn the_stations_of_a_network_come_out_again_also_behind_a_shared_one() {
        for (stations, shared) in [(4.0, 0.0), (16.0, 0.0), (32.0, 0.012), (64.0, 0.0)] {
            let begun = Network {
                alone: 9e-5,
                stations,
                service: 0.8,
                shared,
                evenness: 0.0,
                varies: 0.0,
                plateau: 1.0,
                known: None,
            };
            let network = Network { evenness: begun.expected_evenness().0, ..begun };
            let fit = fit(&rates(network), 0.0, None).expect("eight rates");
            let found = fit.stations;
            assert!((found.mean / stations - 1.0).abs() < 0.08, "{stations}: {fit:?}");
            assert!(found.low <= stations && stations <= found.high, "{stations}: {fit:?}");
        }
    }
}
