//! From rounds to tables: one interval for each figure, and each policy against plain calls of the same round. Pure.

use iostack_model::Bins;
use iostack_model::answers::{MergeAsk, MergeCell, MergeRatio, MergeRound, MergeTable};
use iostack_stats::{rate_interval, samples_needed};
use iostack_target::{MergeAsked, MergeFound, MergeMeasured, MergePlanned};

use super::plan::{LOOP, PLAIN};

/// The tables of what was measured; without rounds there is no cell, and without cells no table.
pub(crate) fn tables(asked: &MergeAsked, found: &MergeFound) -> Vec<MergeTable> {
    let measured = asked.cells.iter().zip(&found.cells).filter(|(_, rounds)| !rounds.is_empty());
    let mut cells: Vec<(MergeAsk, MergeCell)> =
        measured.map(|(planned, rounds)| (planned.ask, cell(planned, rounds))).collect();
    // Coroutines are held against threads that do plain calls, which were measured once.
    if cells.iter().any(|(ask, _)| *ask == MergeAsk::Scope) {
        let plain = |(ask, cell): &&(MergeAsk, MergeCell)| *ask == MergeAsk::Calls && cell.policy == PLAIN;
        let base: Vec<_> =
            cells.iter().filter(plain).map(|(_, cell)| (MergeAsk::Scope, cell.clone())).collect();
        cells.splice(0..0, base);
    }
    let table = |ask: MergeAsk| {
        let base = if ask == MergeAsk::Groups { LOOP } else { PLAIN };
        let cells = cells.iter().filter(|(other, _)| *other == ask).map(|(_, cell)| cell.clone()).collect();
        MergeTable { ask, base: base.to_owned(), cells: held_against(base, cells) }
    };
    MergeAsk::ALL.map(table).into_iter().filter(|table| !table.cells.is_empty()).collect()
}

fn cell(planned: &MergePlanned, measured: &[MergeMeasured]) -> MergeCell {
    let rounds: Vec<MergeRound> = measured.iter().map(|measured| measured.round).collect();
    let over = |figure: fn(&MergeRound) -> f64| rate_interval(&rounds.iter().map(figure).collect::<Vec<_>>());
    let mut latency = Bins::default();
    for one in measured {
        latency.merge(&one.latency);
    }
    MergeCell {
        policy: planned.policy.clone(),
        column: planned.column,
        threads: planned.threads,
        ios: rounds.iter().map(|round| round.ios).sum(),
        iops: over(MergeRound::iops),
        cpu_ns: over(MergeRound::cpu_ns),
        switches: over(MergeRound::switches_each),
        latency,
        against: None,
        share_of_peak: None,
        failures: measured.iter().flat_map(|measured| measured.failures.clone()).collect(),
        rounds,
    }
}

/// Each cell with its ratio to the base at the same column.
pub(crate) fn held_against(base: &str, mut cells: Vec<MergeCell>) -> Vec<MergeCell> {
    let bases: Vec<MergeCell> = cells.iter().filter(|cell| cell.policy == base).cloned().collect();
    for cell in cells.iter_mut().filter(|cell| cell.policy != base) {
        cell.against = bases.iter().find(|base| base.column == cell.column).map(|base| ratio(cell, base));
    }
    cells
}

fn ratio(cell: &MergeCell, base: &MergeCell) -> MergeRatio {
    let of_rounds = |figure: fn(&MergeRound) -> f64| {
        let ratios = cell.rounds.iter().filter_map(|round| {
            let there = base.rounds.iter().find(|other| other.number == round.number).map(figure)?;
            (there > 0.0).then(|| figure(round) / there)
        });
        rate_interval(&ratios.collect::<Vec<_>>())
    };
    let quantile = |fraction: f64| {
        let of = |bins: &Bins| bins.quantile_ns(fraction).filter(|_| bins.count >= samples_needed(fraction));
        Some(of(&cell.latency)? as f64 / of(&base.latency)?.max(1) as f64)
    };
    MergeRatio {
        iops: of_rounds(MergeRound::iops),
        cpu: of_rounds(MergeRound::cpu_ns),
        median: quantile(0.5).unwrap_or(0.0),
        tail: quantile(0.99),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::plan::{SCOPE, measurement};
    use iostack_model::{Direction, Effort, Nanos};
    use iostack_stats::Recorder;
    use iostack_target::MergeHow;

    type Rounds = (MergePlanned, Vec<MergeMeasured>);

    fn rounds(ask: MergeAsk, policy: &str, column: u32, ios: [u64; 4]) -> Rounds {
        let measured = |(number, ios): (usize, u64)| {
            let mut latency = Recorder::new();
            (0..ios).for_each(|_| latency.record(100_000 / ios));
            let round = MergeRound {
                number: number as u32,
                ios,
                elapsed: Nanos::millis(100),
                cpu: Nanos::millis(50),
                switches: ios * 2,
            };
            MergeMeasured { round, latency: latency.bins(), failures: Vec::new() }
        };
        let (policy, how) = (policy.to_owned(), MergeHow::Calls);
        let made = ios.into_iter().enumerate().filter(|(_, ios)| *ios > 0).map(measured);
        (MergePlanned { ask, policy, how, column, threads: column }, made.collect())
    }

    fn tables(measured: &[Rounds]) -> Vec<MergeTable> {
        let (cells, found) = measured.iter().cloned().unzip();
        let plan = measurement(Effort::Quick, 1, (Direction::Read, 4096), true, 1);
        let found = MergeFound { cells: found, ..MergeFound::default() };
        super::tables(&MergeAsked { cells, ..plan }, &found)
    }

    #[test]
    fn a_drift_that_hits_both_leaves_the_ratio_alone() {
        let measured = [
            rounds(MergeAsk::Calls, PLAIN, 4, [1000, 2000, 4000, 8000]),
            rounds(MergeAsk::Calls, "stm", 4, [1500, 3000, 6000, 12_000]),
            rounds(MergeAsk::Scope, SCOPE, 4, [500, 1000, 0, 4000]),
        ];
        let tables = tables(&measured);
        let asks: Vec<MergeAsk> = tables.iter().map(|table| table.ask).collect();
        assert_eq!(asks, [MergeAsk::Calls, MergeAsk::Scope]);
        let stm = tables[0].cell("stm", 4).and_then(|cell| cell.against).expect("it has a base");
        assert!((stm.iops.mean - 1.5).abs() < 1e-9 && (stm.iops.high - 1.5).abs() < 1e-9, "{stm:?}");
        assert!((stm.cpu.mean - 1.0 / 1.5).abs() < 1e-9);
        let scope = tables[1].cell(SCOPE, 4).and_then(|cell| cell.against).expect("its base is the calls'");
        assert!((scope.iops.mean - 0.5).abs() < 1e-9 && scope.iops.samples == 3, "round 2 was cut short");
        assert!(tables[1].cell(PLAIN, 4).is_some_and(|cell| cell.against.is_none()));
    }

    #[test]
    fn what_was_not_measured_is_no_cell() {
        assert!(tables(&[rounds(MergeAsk::Calls, PLAIN, 1, [0; 4])]).is_empty());
        let alone = tables(&[rounds(MergeAsk::Calls, "stm", 2, [10; 4])]);
        assert_eq!(alone[0].cells[0].against, None);
    }
}
