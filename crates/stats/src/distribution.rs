//! How likely is it by chance alone?
//!
//! Student's t and the binomial distribution, both through the incomplete beta function.
//! Source: NIST Digital Library of Mathematical Functions, chapters 5 and 8.

use std::f64::consts::PI;

/// Share of a two-sided 95 % interval below its upper end.
pub(crate) const UPPER: f64 = 0.975;

/// Natural logarithm of the gamma function for positive `x`: Stirling's series (DLMF 5.11.1) above 10, and the
/// recurrence (DLMF 5.5.1) below. Error under 1e-11.
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = (1.0 / 12.0
        - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square * (1.0 / 1680.0 - square / 1188.0))))
        / x;
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series
}

/// The regularised incomplete beta function `I_x(a, b)`.
pub(crate) fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only below the mean of the beta distribution (DLMF 8.17.4 mirrors the rest).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_by_fraction(1.0 - x, b, a);
    }
    beta_by_fraction(x, a, b)
}

/// DLMF 8.17.22, evaluated by the modified Lentz method.
fn beta_by_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |value: f64| if value.abs() < TINY { TINY } else { value };
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    let mut inverse = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut ratio = 1.0;
    let mut fraction = inverse;
    // About sqrt(max(a, b)) terms; callers stay below 1e7.
    for term in (1..20_000).map(f64::from) {
        let double = a + 2.0 * term;
        let even = term * (b - term) * x / ((double - 1.0) * double);
        inverse = 1.0 / guard(1.0 + even * inverse);
        ratio = guard(1.0 + even / ratio);
        fraction *= inverse * ratio;
        let odd = -(a + term) * (a + b + term) * x / (double * (double + 1.0));
        inverse = 1.0 / guard(1.0 + odd * inverse);
        ratio = guard(1.0 + odd / ratio);
        fraction *= inverse * ratio;
        if (inverse * ratio - 1.0).abs() < 1e-13 {
            break;
        }
    }
    front.exp() * fraction / a
}

/// Probability that Student's t with `freedom` degrees stays at or below `t`.
pub(crate) fn student_below(t: f64, freedom: f64) -> f64 {
    let freedom = freedom.clamp(1.0, 1e6);
    let tail = 0.5 * beta(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The t that Student's distribution with `freedom` degrees exceeds with probability 1 - `share`.
pub(crate) fn student_quantile(share: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (-1e3, 1e3);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if student_below(middle, freedom) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Probability of at most `at_most` successes in `trials`, each with probability `chance` (DLMF 8.17.5).
pub(crate) fn binomial_below(at_most: u64, trials: u64, chance: f64) -> f64 {
    if at_most >= trials {
        return 1.0;
    }
    beta(1.0 - chance, (trials - at_most) as f64, at_most as f64 + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_quantiles_are_those_of_the_tables() {
        // NIST/SEMATECH e-Handbook, table 1.3.6.7.2.
        let table = [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042), (100.0, 1.984)];
        for (freedom, t) in table {
            assert!((student_quantile(UPPER, freedom) - t).abs() < 6e-4, "{freedom}");
        }
        assert!((student_quantile(UPPER, 1e9) - 1.959_964).abs() < 1e-4);
    }

    #[test]
    fn the_binomial_sum_is_the_sum_of_its_terms() {
        for (trials, chance) in [(1, 0.5_f64), (17, 0.25), (60, 0.9), (40, 0.999)] {
            let (mut term, mut sum) = ((1.0 - chance).powi(trials), 0.0);
            for k in 0..trials {
                sum += term;
                let told = binomial_below(k as u64, trials as u64, chance);
                assert!((told - sum).abs() < 1e-10, "{k} of {trials}: {told} for {sum}");
                term *= f64::from(trials - k) / f64::from(k + 1) * chance / (1.0 - chance);
            }
            assert!((binomial_below(trials as u64, trials as u64, chance) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn ln_gamma_is_the_factorial() {
        let mut factorial = 0.0;
        for n in 1..50 {
            assert!((ln_gamma(f64::from(n)) - factorial).abs() < 1e-10, "{n}");
            factorial += f64::from(n).ln();
        }
        assert!((ln_gamma(0.5) - PI.sqrt().ln()).abs() < 1e-10);
    }
}
