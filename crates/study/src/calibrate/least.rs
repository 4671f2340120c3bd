//! Least squares: Levenberg and Marquardt's steps, with slopes by differences.
//!
//! Parameters are logarithms, so that none becomes negative and a step is a share. One residual in a thousand that is far
//! off must not bend all others, so large ones count by their size instead of their square ([`soft`]).

/// End of a fit.
#[derive(Clone, Debug)]
pub(crate) struct Fitted {
    /// The parameters, those that were not free as they were.
    pub(crate) at: Vec<f64>,
    /// Sum of squares there.
    pub(crate) sum: f64,
}

/// Step of a difference.
const DIFFERENCE: f64 = 1e-4;
/// A logarithm moves so far in one step at most.
const STEP_MOST: f64 = 1.0;

/// The residual as it counts: itself when it is below 1, about its root beyond.
pub(crate) fn soft(residual: f64) -> f64 {
    let squared = 2.0 * ((1.0 + residual * residual).sqrt() - 1.0);
    residual.signum() * squared.sqrt()
}

/// Smallest sum of squares from `start` on, over the `free` ones of the parameters.
pub(crate) fn least_squares(
    start: &[f64],
    free: &[usize],
    steps: u32,
    residuals: &dyn Fn(&[f64]) -> Vec<f64>,
) -> Fitted {
    let sum = |list: &[f64]| list.iter().map(|each| each * each).sum::<f64>();
    let (mut at, mut here) = (start.to_vec(), residuals(start));
    let mut damping = 1e-2;
    for _ in 0..steps {
        let slopes: Vec<Vec<f64>> = free.iter().map(|&index| slope(&at, index, &here, residuals)).collect();
        let before = sum(&here);
        let mut better = false;
        for _ in 0..6 {
            let step = solve(&slopes, &here, damping);
            let mut next = at.clone();
            for (&index, by) in free.iter().zip(&step) {
                next[index] += by.clamp(-STEP_MOST, STEP_MOST);
            }
            let there = residuals(&next);
            if sum(&there) < before {
                (at, here, better) = (next, there, true);
                damping = (damping / 5.0).max(1e-9);
                break;
            }
            damping *= 6.0;
        }
        if !better || before - sum(&here) < 1e-7 * before {
            break;
        }
    }
    Fitted { sum: sum(&here), at }
}

fn slope(at: &[f64], index: usize, here: &[f64], residuals: &dyn Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut beside = at.to_vec();
    beside[index] += DIFFERENCE;
    residuals(&beside).iter().zip(here).map(|(there, here)| (there - here) / DIFFERENCE).collect()
}

/// The step: normal equations with a share of their diagonal on top, by elimination.
fn solve(slopes: &[Vec<f64>], here: &[f64], damping: f64) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let size = slopes.len();
    let mut rows: Vec<Vec<f64>> = slopes
        .iter()
        .map(|own| slopes.iter().map(|other| dot(own, other)).chain([-dot(own, here)]).collect())
        .collect();
    for (index, row) in rows.iter_mut().enumerate() {
        row[index] += damping * row[index] + 1e-9;
    }
    for column in 0..size {
        let best = (column..size).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        rows.swap(column, best.unwrap_or(column));
        let pivot = rows[column].clone();
        for row in rows.iter_mut().skip(column + 1) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(&pivot).for_each(|(cell, above)| *cell -= factor * above);
        }
    }
    let mut step = vec![0.0; size];
    for row in (0..size).rev() {
        let known: f64 = (row + 1..size).map(|column| rows[row][column] * step[column]).sum();
        step[row] = (rows[row][size] - known) / rows[row][row];
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_found_again_and_one_point_far_off_does_not_bend_it() {
        let data: Vec<(f64, f64)> =
            (1..20).map(|x| (f64::from(x), 3.0 * (-0.2 * f64::from(x)).exp())).collect();
        let off = |at: &[f64], x: f64, y: f64| (at[0].exp() * (-at[1].exp() * x).exp() / y).ln();
        let fitted =
            least_squares(&[0.0, 0.0], &[0, 1], 50, &|at| data.iter().map(|&(x, y)| off(at, x, y)).collect());
        assert!(
            (fitted.at[0].exp() - 3.0).abs() < 1e-4 && (fitted.at[1].exp() - 0.2).abs() < 1e-5,
            "{fitted:?}"
        );
        let mut spoilt = data.clone();
        spoilt[9].1 *= 100.0;
        let soften = |at: &[f64]| spoilt.iter().map(|&(x, y)| soft(off(at, x, y) / 0.01)).collect();
        let fitted = least_squares(&[0.0, 0.0], &[0, 1], 50, &soften);
        assert!((fitted.at[0].exp() - 3.0).abs() < 0.05, "{fitted:?}");
    }

    #[test]
    fn what_is_not_free_stays() {
        let fitted = least_squares(&[1.0, 2.0], &[0], 20, &|at| vec![at[0] - 5.0, at[1] - 7.0]);
        assert!((fitted.at[0] - 5.0).abs() < 1e-6 && (fitted.at[1] - 2.0).abs() < 1e-12);
    }
}
