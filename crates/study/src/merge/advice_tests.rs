//! Does each answer come out where it must, and only there?

use iostack_model::Interval;

use super::*;

/// IOPS and CPU as ratios to the base, with intervals of so many percent.
fn cell(policy: &str, column: u32, (iops, cpu): (f64, f64), percent: f64, tail: f64) -> MergeCell {
    let within = |mean: f64| Interval {
        mean,
        low: mean * (1.0 - percent / 100.0),
        high: mean * (1.0 + percent / 100.0),
        samples: 6,
    };
    let against = (policy != "pread" && policy != "one by one").then(|| MergeRatio {
        iops: within(iops),
        cpu: within(cpu),
        median: 1.0,
        tail: Some(tail),
    });
    MergeCell { policy: policy.to_owned(), column, against, ..MergeCell::default() }
}

fn table(ask: MergeAsk, rows: &[(&str, &[(f64, f64)])]) -> MergeTable {
    let base = if ask == MergeAsk::Groups { "one by one" } else { "pread" };
    let plain: Vec<(f64, f64)> = vec![(1.0, 1.0); rows[0].1.len()];
    let rows = std::iter::once((base, plain.as_slice())).chain(rows.iter().copied());
    let cells = rows.flat_map(|(policy, figures)| {
        figures.iter().enumerate().map(move |(index, &figure)| cell(policy, 1 << index, figure, 2.0, 1.5))
    });
    MergeTable { ask, base: base.to_owned(), cells: cells.collect() }
}

fn answer(table: &MergeTable) -> MergeVerdict {
    verdict(table, false)
}

#[test]
fn where_nothing_is_better_plain_calls_are_recommended() {
    let told = answer(&table(
        MergeAsk::Calls,
        &[("ring", &[(0.9, 1.2), (0.95, 1.1), (1.0, 1.0)]), ("stm", &[(0.5, 1.0), (0.7, 0.9), (0.8, 0.7)])],
    ));
    assert_eq!(told.policy, None);
    let text = "plain pread: nothing here is better. The nearest is ring at 4 callers";
    assert!(told.text.starts_with(text), "{}", told.text);
}

#[test]
fn the_fastest_policy_is_recommended_with_its_gain_where_it_holds_and_its_price() {
    let told = answer(&table(
        MergeAsk::Calls,
        &[
            ("stm", &[(0.8, 1.0), (1.0, 1.0), (1.5, 0.9), (1.9, 0.8)]),
            ("hybrid", &[(1.0, 1.0), (1.2, 1.0), (1.9, 0.7), (2.2, 0.6)]),
        ],
    ));
    assert_eq!(told.policy.as_deref(), Some("hybrid"));
    assert_eq!(
        told.text,
        "hybrid: 2.20 (2.16 to 2.24) times the IOPS of plain pread at 8 callers, at 0.60 times its CPU per I/O; better at \
         2, 4 and 8. The price: p99 of a call is 1.50 times as long there."
    );
    let told = answer(&table(MergeAsk::Calls, &[("stm", &[(0.8, 1.0), (1.0, 1.0), (1.5, 0.9), (1.9, 0.8)])]));
    assert!(told.text.contains("better at 4 and 8, worse at 1."), "{}", told.text);
}

#[test]
fn what_costs_far_less_at_the_same_rate_is_recommended_too() {
    let told = answer(&table(MergeAsk::Groups, &[("read_many", &[(1.0, 1.0), (1.0, 0.7), (1.0, 0.5)])]));
    assert_eq!(told.policy.as_deref(), Some("read_many"));
    assert!(told.text.contains("the IOPS of plain calls one by one at"), "{}", told.text);
}

#[test]
fn more_throughput_for_much_more_cpu_is_no_gain() {
    let told = answer(&table(MergeAsk::Calls, &[("stm", &[(1.3, 1.4), (1.3, 1.4), (1.3, 1.4)])]));
    assert_eq!(told.policy, None);
}

#[test]
fn one_column_of_many_may_be_chance() {
    let once = [("stm", &[(1.0, 1.0), (1.3, 1.0), (1.0, 1.0)][..])];
    assert_eq!(answer(&table(MergeAsk::Calls, &once)).policy, None);
    let of_two = [("stm", &[(1.0, 1.0), (1.3, 1.0)][..])];
    assert_eq!(answer(&table(MergeAsk::Calls, &of_two)).policy.as_deref(), Some("stm"));
}

#[test]
fn an_interval_that_holds_the_base_is_no_gain() {
    let mut wide = table(MergeAsk::Scope, &[("scope", &[(1.0, 1.0), (1.2, 1.0), (1.2, 1.0)])]);
    for cell in &mut wide.cells {
        if let Some(ratio) = &mut cell.against {
            ratio.iops.low = 1.04;
        }
    }
    assert_eq!(answer(&wide).policy, None);
}

#[test]
fn auto_is_no_candidate_but_held_to_its_promise() {
    let told = answer(&table(MergeAsk::Calls, &[("auto", &[(0.97, 1.02), (1.01, 1.0), (1.4, 0.9)])]));
    assert_eq!(told.policy, None);
    let text = "auto has 0.97 to 1.40 of plain pread's IOPS at 0.90 to 1.02 of its CPU per I/O.";
    assert!(told.text.ends_with(text), "{}", told.text);
}

#[test]
fn what_failed_or_was_cut_short_is_not_recommended() {
    let mut failed = table(MergeAsk::Calls, &[("stm", &[(2.0, 0.5), (2.0, 0.5), (2.0, 0.5)])]);
    for cell in &mut failed.cells {
        cell.failures.push("offset 0 brought other data than is there".to_owned());
    }
    assert_eq!(answer(&failed).policy, None);
    let mut short = table(MergeAsk::Calls, &[("stm", &[(2.0, 0.5), (2.0, 0.5), (2.0, 0.5)])]);
    for ratio in short.cells.iter_mut().filter_map(|cell| cell.against.as_mut()) {
        ratio.iops.samples = 2;
    }
    assert!(answer(&short).text.starts_with("not known"));
    assert_eq!(verdict(&short, true).policy.as_deref(), Some("stm"), "virtual time needs no rounds");
}

#[test]
fn columns_are_listed_as_people_do() {
    let listed = [list(&[]), list(&[1]), list(&[1, 2]), list(&[1, 2, 4])];
    assert_eq!(listed, ["none", "1", "1 and 2", "1, 2 and 4"]);
}
