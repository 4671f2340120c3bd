//! Into which levels does a series fall?
//!
//! The cut that minimises the sum of absolute deviations from each piece's median, plus a fee per change, found
//! exactly by optimal partitioning (Jackson et al. 2005). Medians rather than means, because single dips and spikes
//! must not look like a change of level: cutting beside a dip saves nothing when the median stays where it is.

/// One stretch of a series between two changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    /// Index of the first element.
    pub(crate) start: usize,
    /// Index after the last one.
    pub(crate) end: usize,
    pub(crate) level: f64,
}

/// The best cut of `values` into stretches of at least `shortest` elements, when each change costs `fee`; and the
/// absolute deviations that are left, without fees.
pub(crate) fn segments(values: &[f64], fee: f64, shortest: usize) -> (Vec<Segment>, f64) {
    let starts = cheapest_cut(values.len(), shortest.min(values.len()), fee, |_| {
        let mut piece = Piece::default();
        move |end| {
            piece.insert(values[end - 1]);
            piece.deviations()
        }
    });
    let ends = starts[1..].iter().copied().chain([values.len()]);
    let piece = |(&start, end): (&usize, usize)| segment(values, start, end);
    let pieces: Vec<Segment> = starts.iter().zip(ends).map(piece).collect();
    let left = deviations(values, &pieces);
    (pieces, left)
}

/// Starts of the pieces of the cheapest cut of `count` elements, where a change costs `fee`. From each start on, the cost of a piece
/// is asked for one end after the other.
pub(crate) fn cheapest_cut<Cost: FnMut(usize) -> f64>(
    count: usize,
    shortest: usize,
    fee: f64,
    mut costs_from: impl FnMut(usize) -> Cost,
) -> Vec<usize> {
    // best[end]: cost of the best cut of what lies before `end`, and where its last piece starts.
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0] = (-fee, 0);
    for start in 0..count {
        let before = best[start].0 + fee;
        if !before.is_finite() {
            continue;
        }
        let mut cost = costs_from(start);
        for (end, known) in best.iter_mut().enumerate().skip(start + 1) {
            let whole = before + cost(end);
            if end - start >= shortest && whole < known.0 {
                *known = (whole, start);
            }
        }
    }
    let before = |&start: &usize| (start > 0).then(|| best[start].1);
    let mut starts: Vec<usize> = std::iter::successors(Some(best[count].1), before).collect();
    starts.reverse();
    starts
}

/// A stretch with its median as its level.
pub(crate) fn segment(values: &[f64], start: usize, end: usize) -> Segment {
    Segment { start, end, level: median(&values[start..end]) }
}

/// Sum of the absolute deviations from the levels.
pub(crate) fn deviations(values: &[f64], pieces: &[Segment]) -> f64 {
    let of = |piece: &Segment| -> f64 {
        values[piece.start..piece.end].iter().map(|value| (value - piece.level).abs()).sum()
    };
    pieces.iter().map(of).sum()
}

/// Joins neighbours whose levels differ by less than the share `least` of the higher one, the most alike first.
pub(crate) fn join_alike(values: &[f64], mut pieces: Vec<Segment>, least: f64) -> Vec<Segment> {
    let difference = |pair: &[Segment]| {
        let higher = pair[0].level.abs().max(pair[1].level.abs());
        if higher > 0.0 { (pair[0].level - pair[1].level).abs() / higher } else { 0.0 }
    };
    loop {
        let closest = pieces.windows(2).map(difference).enumerate().min_by(|x, y| x.1.total_cmp(&y.1));
        let Some((at, _)) = closest.filter(|&(_, share)| share < least) else { return pieces };
        pieces[at] = segment(values, pieces[at].start, pieces[at + 1].end);
        pieces.remove(at + 1);
    }
}

/// The middle value, or the mean of the two; 0 of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// A growing stretch, kept sorted.
#[derive(Default)]
struct Piece {
    sorted: Vec<f64>,
}

impl Piece {
    fn insert(&mut self, value: f64) {
        let place = self.sorted.partition_point(|&other| other < value);
        self.sorted.insert(place, value);
    }

    /// Sum of the absolute deviations from the median: what lies above less what lies below.
    fn deviations(&self) -> f64 {
        let half = self.sorted.len() / 2;
        let (below, above) = (&self.sorted[..half], &self.sorted[self.sorted.len() - half..]);
        above.iter().sum::<f64>() - below.iter().sum::<f64>()
    }
}

/// Noise of elements around their levels.
pub(crate) struct Scatter {
    pub(crate) deviation: f64,
    /// Elements that one independent draw lasts for, as a variance: (1 + memory) / (1 - memory).
    pub(crate) lingering: f64,
}

impl Scatter {
    /// Scatter of elements whose differences deviate so far, and which keep so much of the one before; `least` at least.
    pub(crate) fn with_memory(of_steps: f64, memory: f64, least: f64) -> Scatter {
        Scatter {
            deviation: (of_steps / (2.0 * (1.0 - memory)).sqrt()).max(least),
            lingering: (1.0 + memory) / (1.0 - memory),
        }
    }
}

/// Differences between neighbours.
pub(crate) fn steps(values: &[f64]) -> Vec<f64> {
    values.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Deviation of steps around 0, by their median: 1.4826 makes it that of a normal distribution.
pub(crate) fn deviation_of_steps(steps: &[f64]) -> f64 {
    1.4826 * median(&steps.iter().map(|step| step.abs()).collect::<Vec<_>>())
}

/// Memory of noise, as an AR(1) coefficient, before the series has said anything about it.
const MEMORY_USUAL: f64 = 0.2;

/// Memory of the noise whose steps these are, cut at `limit`; a series shorter than `weight` says little about it.
pub(crate) fn memory_of_steps(steps: &[f64], limit: f64, weight: f64) -> f64 {
    let tame: Vec<f64> = steps.iter().map(|step| step.clamp(-limit, limit)).collect();
    let squares: f64 = tame.iter().map(|step| step * step).sum();
    let products: f64 = tame.windows(2).map(|pair| pair[0] * pair[1]).sum();
    // Differences of an AR(1) process correlate by -(1 - memory) / 2.
    let seen = if squares > 0.0 { 1.0 + 2.0 * products / squares } else { MEMORY_USUAL };
    let count = steps.len() as f64 + 1.0;
    let believed = count / (count + weight);
    (believed * seen + (1.0 - believed) * MEMORY_USUAL).clamp(0.0, 0.8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Samples;

    /// The cheapest cut by trying all of them.
    fn by_trying(values: &[f64], fee: f64, shortest: usize) -> f64 {
        let whole = values.iter().map(|value| (value - median(values)).abs()).sum::<f64>();
        let cuts = (shortest..=values.len().saturating_sub(shortest)).map(|cut| {
            let (left, right) = values.split_at(cut);
            by_trying(left, fee, shortest) + fee + by_trying(right, fee, shortest)
        });
        cuts.fold(whole, f64::min)
    }

    #[test]
    fn no_cut_is_cheaper_than_the_one_found() {
        for seed in 1..=40 {
            let mut samples = Samples::new(seed);
            let values: Vec<f64> = (0..14).map(|i| f64::from(i / 5) + samples.normal()).collect();
            for (fee, shortest) in [(0.5, 1), (1.5, 2), (3.0, 3)] {
                let (pieces, left) = segments(&values, fee, shortest);
                let told = left + fee * (pieces.len() - 1) as f64;
                let best = by_trying(&values, fee, shortest);
                assert!((told - best).abs() < 1e-9, "seed {seed}, fee {fee}: {told} for {best}");
                assert!(pieces.iter().all(|piece| piece.end - piece.start >= shortest), "seed {seed}");
            }
        }
    }

    #[test]
    fn dips_do_not_cut() {
        let dips: Vec<f64> = (0..60).map(|i| if i % 10 == 7 { 40.0 } else { 100.0 }).collect();
        assert_eq!(segments(&dips, 1.0, 4).0, [Segment { start: 0, end: 60, level: 100.0 }]);
    }

    #[test]
    fn alike_neighbours_are_joined() {
        let values = [100.0, 100.0, 104.0, 104.0, 50.0, 50.0];
        let pieces = segments(&values, 0.1, 2).0;
        assert_eq!(pieces.len(), 3);
        let joined = join_alike(&values, pieces, 0.1);
        assert_eq!(joined.iter().map(|piece| piece.level).collect::<Vec<_>>(), [102.0, 50.0]);
    }
}
