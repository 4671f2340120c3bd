//! What would other coins have given?

use crate::random::Random;

/// Probability that equal sides are said to differ, in any figure, at any look.
pub(super) const ALPHA: f64 = 0.05;

/// Part of ALPHA that may have been spent when `share` of the blocks are there (Lan and `DeMets` 1983).
pub(super) fn spent(share: f64) -> f64 {
    ALPHA * (1.0 + (std::f64::consts::E - 1.0) * share.clamp(0.0, 1.0)).ln()
}

/// The coins that might have fallen, over all looks. What did fall is one of them, and none is more likely than another.
#[derive(Clone, Debug)]
pub(super) struct Coins {
    seed: u64,
    /// Those that would not have been sure at an earlier look; the first is what did fall.
    open: Vec<bool>,
}

impl Coins {
    /// `others` of them, beside those that fell.
    pub(super) fn new(seed: u64, others: usize) -> Self {
        Coins { seed, open: vec![true; others + 1] }
    }

    /// The value that a statistic must exceed at this look, when `spend` of all coins may exceed theirs by now. `scores` are
    /// the signed scores of each figure, one for each block; all looks see the same blocks first.
    pub(super) fn critical(&mut self, scores: &[Vec<f64>], spend: f64) -> f64 {
        let statistics: Vec<(usize, f64)> = (0..self.open.len())
            .filter(|&coin| self.open[coin])
            .map(|coin| (coin, self.statistic(coin, scores)))
            .collect();
        let sure_before = self.open.len() - statistics.len();
        let allowed = ((spend * self.open.len() as f64 + 1e-9).floor() as usize).saturating_sub(sure_before);
        let mut sizes: Vec<f64> = statistics.iter().map(|&(_, size)| size).collect();
        sizes.sort_by(|a, b| b.total_cmp(a));
        // Not more than `allowed` exceed the one after them.
        let critical = sizes.get(allowed).copied().unwrap_or(0.0);
        for (coin, _) in statistics.iter().filter(|(_, size)| exceeds(*size, critical)) {
            self.open[*coin] = false;
        }
        critical
    }

    /// The largest statistic of all figures, had the coins fallen so.
    fn statistic(&self, coin: usize, scores: &[Vec<f64>]) -> f64 {
        let blocks = scores.first().map_or(0, Vec::len);
        if coin == 0 {
            return scores.iter().map(|scores| scores.iter().sum::<f64>().abs()).fold(0.0, f64::max);
        }
        let mut random = Random::new(self.seed, coin as u64);
        let words: Vec<u64> = (0..blocks.div_ceil(64)).map(|_| random.bits()).collect();
        let sum = |scores: &Vec<f64>| {
            let mut sum = 0.0;
            for (scores, word) in scores.chunks(64).zip(&words) {
                for (bit, score) in scores.iter().enumerate() {
                    // The coin's bit becomes the sign's.
                    sum += f64::from_bits(score.to_bits() ^ (word >> bit) << 63);
                }
            }
            sum.abs()
        };
        scores.iter().map(sum).fold(0.0, f64::max)
    }
}

/// Sums of the same numbers in another order are the same.
pub(super) fn exceeds(statistic: f64, critical: f64) -> bool {
    statistic > critical + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ab::walsh::signed_ranks;
    use crate::sample::Samples;

    #[test]
    fn all_is_spent_at_the_end_and_more_at_each_look() {
        assert!(spent(0.0).abs() < 1e-12 && (spent(1.0) - 0.05).abs() < 1e-12 && spent(2.0) <= 0.05 + 1e-12);
        assert!((spent(0.5) - 0.05 * 1.859_140_914_229_522_6_f64.ln()).abs() < 1e-12);
        assert!((1..=10).all(|tenth| spent(f64::from(tenth) / 10.0) > spent(f64::from(tenth - 1) / 10.0)));
    }

    #[test]
    fn one_look_at_one_figure_is_the_signed_rank_test_of_the_tables() {
        // Wilcoxon's table: of 2^10 signs of ten ranks, 5 % two-sided are sure when the smaller sum is 8 or less, so that
        // |2 * 8 - 55| = 39 exceeds and the next, |2 * 9 - 55| = 37, does not.
        let scores: Vec<f64> = signed_ranks(&(1..=10).map(f64::from).collect::<Vec<_>>());
        let critical = Coins::new(1, 99_999).critical(&[scores], 0.05) * 385.0_f64.sqrt();
        assert!((critical - 37.0).abs() < 1e-6, "{critical}");
    }

    #[test]
    fn a_second_equal_figure_costs_nothing_and_an_unlike_one_does() {
        let mut samples = Samples::new(5);
        let mut draw = || signed_ranks(&(0..30).map(|_| samples.normal()).collect::<Vec<_>>());
        let (one, other) = (draw(), draw());
        let critical = |scores: &[Vec<f64>]| Coins::new(1, 9_999).critical(scores, 0.05);
        let alone = critical(std::slice::from_ref(&one));
        assert!((critical(&[one.clone(), one.clone()]) - alone).abs() < 1e-12);
        assert!(critical(&[one, other]) > alone + 0.15);
    }

    #[test]
    fn coins_that_were_sure_before_are_counted() {
        let mut samples = Samples::new(6);
        let values: Vec<f64> = (0..40).map(|_| samples.normal()).collect();
        let scores = |blocks: usize| vec![signed_ranks(&values[..blocks])];
        let mut coins = Coins::new(1, 9_999);
        for (blocks, spend) in [(20, 0.02), (30, 0.035), (40, 0.05)] {
            coins.critical(&scores(blocks), spend);
            let sure = coins.open.iter().filter(|open| !**open).count();
            assert!(sure as f64 <= spend * 10_000.0, "{sure} at {blocks}");
            assert!(sure as f64 >= spend * 10_000.0 - 60.0, "{sure} at {blocks}: ties leave a few");
        }
        // Looks are paid for: three of them leave less for the last than one would have had.
        let mut paid = Coins::new(1, 9_999);
        paid.critical(&scores(20), 0.02);
        assert!(paid.critical(&scores(40), 0.05) > Coins::new(1, 9_999).critical(&scores(40), 0.05));
    }

    #[test]
    fn nothing_to_spend_is_never_sure() {
        let scores = [signed_ranks(&[1.0, 2.0, 3.0, 4.0, 5.0])];
        // Of 32 signs two are as extreme as this: 5 % cannot be had from five blocks.
        let critical = Coins::new(1, 9_999).critical(&scores, 0.05);
        assert!(!exceeds(scores[0].iter().sum(), critical), "{critical}");
    }
}
