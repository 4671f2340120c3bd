//! The same job, repeated over a check, gave different rates.

use iostack_model::Caveat;

use crate::{Doubt, Limit, PLAIN, Weight};

pub(crate) const DOUBT: Doubt = Doubt {
    kind: "drift",
    how: "a check runs 4 KiB random reads at depth 32 several times; the rates differ by over {}",
    limit: Some(Limit::Share(MOST)),
    weight: Weight::Partial,
    changes: "Figures of different steps do not compare.",
    remedy: "Compare neighbouring runs only; repeat when machine and storage are quiet.",
    says: |caveat| {
        let Caveat::Drift { low, high, runs } = caveat else { return None };
        Some(format!("The same job gave {low:.0} to {high:.0} IOPS in {runs} runs of this check."))
    },
    ..PLAIN
};

/// Rates of the same job further apart than this are not one storage's.
const MOST: f64 = 0.3;

/// Rates of the same job.
pub fn of_rates(rates: &[f64]) -> Option<Caveat> {
    let (low, high) =
        rates.iter().fold((f64::MAX, 0.0f64), |(low, high), &rate| (low.min(rate), high.max(rate)));
    (rates.len() > 1 && high > low * (1.0 + MOST)).then_some(Caveat::Drift {
        low,
        high,
        runs: rates.len() as u32,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_a_fourth_apart_are_one_storages() {
        assert!(of_rates(&[100.0, 125.1]).is_none() && of_rates(&[100.0, 129.9]).is_none());
        assert_eq!(
            of_rates(&[130.1, 100.0, 110.0]),
            Some(Caveat::Drift { low: 100.0, high: 130.1, runs: 3 })
        );
        assert!(DOUBT.how().contains(&format!("over {:.0} %", MOST * 100.0)), "{}", DOUBT.how);
    }
}
