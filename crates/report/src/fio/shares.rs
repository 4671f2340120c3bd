//! Shares in percent by fio's fixed steps: latencies, depths, batches.

use iostack_model::{Bins, Outcome, bin_middle};

/// Upper ends (exclusive) of fio's latency steps in ns and us. Source: `io_u_mark_lat_nsec` in fio's `io_u.c`.
const STEPS: [(&str, u64); 10] = [
    ("2", 2),
    ("4", 4),
    ("10", 10),
    ("20", 20),
    ("50", 50),
    ("100", 100),
    ("250", 250),
    ("500", 500),
    ("750", 750),
    ("1000", 1000),
];

/// The two more steps in ms.
const STEPS_LONG: [(&str, u64); 2] = [("2000", 2000), (">=2000", u64::MAX)];

/// fio's depth steps: the key is the lower end. Source: `io_u_mark_depth` in `io_u.c`.
const DEPTHS: [(&str, u64); 7] =
    [("1", 1), ("2", 2), ("4", 4), ("8", 8), ("16", 16), ("32", 32), (">=64", u64::MAX)];

/// fio's batch steps: the key is the upper end. Source: `__io_u_mark_map` in `io_u.c`.
const BATCHES: [(&str, u64); 7] =
    [("0", 0), ("4", 4), ("8", 8), ("16", 16), ("32", 32), ("64", 64), (">=64", u64::MAX)];

/// Key and percent.
pub(super) type Shares = Vec<(&'static str, f64)>;

/// Shares of the latencies below 1 us, below 1 ms and above, in that order. A bucket of the histogram counts whole in
/// the step its middle falls into.
pub(super) fn latencies(bins: &Bins) -> [Shares; 3] {
    let long: Vec<(&'static str, u64)> = STEPS.into_iter().chain(STEPS_LONG).collect();
    let mut shares = [&STEPS[..], &STEPS[..], &long[..]]
        .map(|steps| steps.iter().map(|&(key, _)| (key, 0.0)).collect::<Shares>());
    for &(index, count) in &bins.counts {
        let ns = bin_middle(index as usize).clamp(bins.min_ns, bins.max_ns);
        let (unit, value) = match ns {
            0..1_000 => (0, ns),
            1_000..1_000_000 => (1, ns / 1_000),
            _ => (2, ns / 1_000_000),
        };
        let step = long.iter().position(|&(_, end)| value < end).unwrap_or(long.len() - 1);
        shares[unit][step].1 += 100.0 * count as f64 / bins.count as f64;
    }
    shares
}

/// Shares of the depths: the whole run at the mean depth of one thread, which is what is known.
pub(super) fn depths(outcome: &Outcome) -> Shares {
    let depth = (outcome.depth_achieved / f64::from(outcome.job.threads.max(1))).round().max(1.0) as u64;
    let place = if depth >= 64 { 6 } else { depth.ilog2() as usize };
    all_at(&DEPTHS, place)
}

/// Shares of the batches: all calls with the batch that was asked.
pub(super) fn batches(batch: u32) -> Shares {
    let place = BATCHES.iter().position(|&(_, end)| u64::from(batch) <= end).unwrap_or(BATCHES.len() - 1);
    all_at(&BATCHES, place)
}

fn all_at(steps: &[(&'static str, u64)], place: usize) -> Shares {
    steps
        .iter()
        .enumerate()
        .map(|(index, &(key, _))| (key, if index == place { 100.0 } else { 0.0 }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::bin_index;

    #[test]
    fn a_latency_falls_into_the_step_above_it() {
        let of = |ns: u64| {
            let bins = Bins {
                counts: vec![(bin_index(ns) as u32, 4)],
                count: 4,
                min_ns: ns,
                max_ns: ns,
                ..Bins::default()
            };
            let shares = latencies(&bins);
            let found = shares.iter().enumerate().flat_map(|(unit, steps)| {
                steps.iter().filter(|(_, percent)| *percent > 0.0).map(move |(key, _)| (unit, *key))
            });
            found.collect::<Vec<_>>()
        };
        let cases = [
            (1, (0, "2")),
            (2, (0, "4")),
            (999, (0, "1000")),
            (1_000, (1, "2")),
            (85_000, (1, "100")),
            (1_500_000, (2, "2")),
            (1_999_000_000, (2, "2000")),
            (9_000_000_000, (2, ">=2000")),
        ];
        for (ns, step) in cases {
            assert_eq!(of(ns), [step], "{ns} ns");
        }
    }

    #[test]
    fn batches_fall_into_the_step_that_holds_them() {
        for (batch, key) in [(1, "4"), (4, "4"), (5, "8"), (64, "64"), (65, ">=64")] {
            assert_eq!(batches(batch).iter().find(|(_, percent)| *percent > 0.0).map(|one| one.0), Some(key));
        }
    }
}
