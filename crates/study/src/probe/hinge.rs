//! Where does a sum that grows over time begin to grow more slowly? Pure.

/// Two straight lines that meet: `y = fast x` until `at`, then `y = intercept + slow x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hinge {
    /// Place of the bend on the horizontal axis.
    pub(crate) at: f64,
    /// Height at the bend.
    pub(crate) height: f64,
    pub(crate) fast: f64,
    pub(crate) slow: f64,
    /// Height at which the later line meets the vertical axis.
    pub(crate) intercept: f64,
    /// Root of the mean square of the residuals, over the height of the bend.
    pub(crate) misfit: f64,
}

/// Points that are tried as the bend.
const TRIED: usize = 400;
/// Share of the points that each line has at least.
const LEAST: usize = 50;

/// The bend that fits rising points best; `None` of fewer than eight points, or where the second line is not clearly slower.
pub(crate) fn hinge(points: &[(f64, f64)], slower: f64) -> Option<Hinge> {
    let count = points.len();
    if count < 8 {
        return None;
    }
    let sums = Sums::over(points);
    let least = (count / LEAST).max(2);
    let step = ((count - 2 * least) / TRIED).max(1);
    let tried = (least..count - least).step_by(step).filter_map(|split| {
        let (first, second) = (sums.line(0, split)?, sums.line(split, count)?);
        Some((first.2 + second.2, first, second))
    });
    let (error, first, second) = tried.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let ((base, fast, _), (intercept, slow, _)) = (first, second);
    if fast <= 0.0 || slow > fast * slower {
        return None;
    }
    let at = (intercept - base) / (fast - slow);
    let height = base + fast * at;
    let misfit = (error.max(0.0) / count as f64).sqrt() / height.max(f64::MIN_POSITIVE);
    (at > 0.0 && height > 0.0).then_some(Hinge { at, height, fast, slow, intercept, misfit })
}

/// Running sums, so that a line through any part takes no time.
struct Sums(Vec<[f64; 6]>);

impl Sums {
    fn over(points: &[(f64, f64)]) -> Sums {
        let mut sums = vec![[0.0; 6]];
        for &(x, y) in points {
            let mut next = sums[sums.len() - 1];
            for (sum, term) in next.iter_mut().zip([1.0, x, y, x * x, x * y, y * y]) {
                *sum += term;
            }
            sums.push(next);
        }
        Sums(sums)
    }

    /// Intercept, slope and sum of squared residuals of a line through some points.
    fn line(&self, from: usize, to: usize) -> Option<(f64, f64, f64)> {
        let mut sum = self.0[to];
        sum.iter_mut().zip(self.0[from]).for_each(|(sum, before)| *sum -= before);
        let [n, x, y, xx, xy, yy] = sum;
        let spread = xx - x * x / n;
        if spread <= 0.0 {
            return None;
        }
        let slope = (xy - x * y / n) / spread;
        Some(((y - slope * x) / n, slope, (yy - y * y / n) - slope * (xy - x * y / n)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bend_of_two_lines_is_found_and_one_line_has_none() {
        let bent = |x: f64| if x < 3.0 { 5.0 * x } else { 15.0 + 2.0 * (x - 3.0) };
        let points: Vec<(f64, f64)> = (0..400).map(|at| f64::from(at) / 40.0).map(|x| (x, bent(x))).collect();
        let found = hinge(&points, 0.9).expect("a bend");
        assert!((found.at - 3.0).abs() < 0.02 && (found.height - 15.0).abs() < 0.1, "{found:?}");
        assert!((found.intercept - 9.0).abs() < 0.02 && found.misfit < 1e-3, "{found:?}");
        let straight: Vec<(f64, f64)> = points.iter().map(|&(x, _)| (x, 2.0 * x)).collect();
        assert_eq!(hinge(&straight, 0.9), None);
    }
}
