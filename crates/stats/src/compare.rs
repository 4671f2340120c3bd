//! Do two outcomes differ, by how much, and how sure is that?
//!
//! ```text
//!   outcome ──► figures with intervals ─┐
//!                                       ├──► change and verdict, row by row ──► a few sentences
//!   outcome ──► figures with intervals ─┘
//! ```
//!
//! Start reading at [`compare`].

use iostack_model::{Caveat, Interval, Machine, Outcome};

use crate::Judgement;
use crate::conditions::{Difference, differences};
use crate::figures::{OutcomeFigure, directions, figures};
use crate::judgement::{Aim, Change};
use crate::row::ComparisonRow;
use crate::unit::Unit;
use crate::wording;

/// Two outcomes side by side.
#[derive(Clone, Debug, PartialEq, schemars::JsonSchema, serde::Serialize)]
pub struct Comparison {
    /// The figures that both have.
    pub rows: Vec<ComparisonRow>,
    /// Simulations that gave the two; `None` of one that was measured.
    pub simulated: [Option<String>; 2],
    /// Conditions that differ, caveats of only one of the two among them.
    pub conditions: Vec<Difference>,
    /// The answer in a few sentences, without units of its own besides percent.
    pub verdict: String,
    /// Reason why the answer is one of these two runs only: what changed between them on its own is in it. `None`
    /// where both are simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
    /// A figure differs so clearly that the number of rows does not explain it.
    pub differs: bool,
}

/// Compares `b` against `a`; the machines are those they ran on.
pub fn compare(
    a: &Outcome,
    b: &Outcome,
    machines: (&Machine, &Machine),
    says: fn(&Caveat) -> String,
) -> Comparison {
    let by_direction = directions(a).len() > 1 || directions(a) != directions(b);
    let figures_b = figures(b, by_direction);
    let pairs = figures(a, by_direction).into_iter().filter_map(|figure| {
        let other = figures_b.iter().find(|other| other.name == figure.name)?;
        Some((figure, other.value))
    });
    let mut judged: Vec<(ComparisonRow, Change)> = pairs.map(|(figure, other)| row(figure, other)).collect();
    correct(&mut judged);
    let headline = headline(a, b);
    let conditions = differences(a, b, machines, says);
    let mut verdict = vec![wording::answer(judged.iter().find(|(row, _)| row.name == headline), headline)];
    verdict.extend(wording::also(&judged, headline));
    verdict.extend(wording::unlike(&conditions));
    let simulated = [a, b].map(simulated_by);
    Comparison {
        note: simulated.iter().any(Option::is_none).then_some(wording::DRIFT),
        simulated,
        differs: judged.iter().any(|(row, _)| row.verdict.differs()),
        rows: judged.into_iter().map(|(row, _)| row).collect(),
        conditions,
        verdict: verdict.join(" "),
    }
}

/// `tlc-1t, steady, seed 7`.
fn simulated_by(outcome: &Outcome) -> Option<String> {
    let inside = outcome.inside.as_ref()?;
    let state = if inside.state.is_empty() { String::new() } else { format!(", {}", inside.state) };
    Some(format!("{}{state}, seed {}", inside.device, inside.seed))
}

/// Compares one figure that both runs have, with the rules of [`compare`].
pub fn compare_figure(
    name: &str,
    unit: Unit,
    a: Interval,
    b: Interval,
    higher_is_better: bool,
) -> ComparisonRow {
    let aim = if higher_is_better { Aim::Higher } else { Aim::Lower };
    row(OutcomeFigure { name: name.to_owned(), unit, value: a, aim }, b).0
}

fn row(figure: OutcomeFigure, b: Interval) -> (ComparisonRow, Change) {
    let change = Change::between(figure.value, b, figure.aim);
    let row = ComparisonRow {
        name: figure.name,
        unit: figure.unit,
        a: figure.value,
        b,
        change_percent: change.mean * 100.0,
        change_percent_low: change.low * 100.0,
        change_percent_high: change.high * 100.0,
        confidence: change.confidence,
        verdict: change.judgement,
    };
    (row, change)
}

/// The figure that the first sentence is about: what the job left free.
fn headline(a: &Outcome, b: &Outcome) -> &'static str {
    if a.job.rate.is_some() && b.job.rate.is_some() {
        "mean latency"
    } else if a.job.block_sizes != b.job.block_sizes {
        "bandwidth"
    } else {
        "IOPS"
    }
}

/// Takes back what chance explains: with this many rows, one of them differs at 95 % by chance. The clearest must stand out among all, the next among the
/// others, and so on (Holm 1979); from the first that does not, none is said to differ.
fn correct(judged: &mut [(ComparisonRow, Change)]) {
    let rows = judged.len();
    let mut differing: Vec<&mut ComparisonRow> =
        judged.iter_mut().map(|(row, _)| row).filter(|row| row.verdict.differs()).collect();
    differing.sort_by(|x, y| y.confidence.total_cmp(&x.confidence));
    let sure = differing.iter().zip(0..).take_while(|&(row, before)| stands_out(row, rows - before)).count();
    differing.into_iter().skip(sure).for_each(|row| row.verdict = Judgement::Unclear);
}

/// True when a row differs beyond the chance that one of so many rows differs at 95 % (Bonferroni).
pub fn stands_out(row: &ComparisonRow, rows: usize) -> bool {
    row.verdict.differs() && row.confidence >= 1.0 - 0.05 / rows as f64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Recorder;
    use crate::sample::Samples;
    use iostack_model::{
        Arrival, BlockSizes, Bytes, CpuUse, Flow, IntervalFlow, Job, Nanos, Rate, TargetKind, TargetName,
    };

    /// Thirty seconds of random reads at this mean rate and 8 % noise between seconds.
    pub(crate) fn outcome(seed: u64, iops: f64) -> Outcome {
        let mut samples = Samples::new(seed);
        let rates = samples.series(30, iops, 0.08, 0.0);
        let mut total = Recorder::new();
        let mut series = Vec::new();
        for (second, rate) in rates.iter().enumerate() {
            let mut slice = Recorder::new();
            for _ in 0..*rate as u64 {
                slice.record((0.8e9 / rate * (0.3 * samples.normal()).exp()) as u64);
            }
            total.absorb(&slice);
            let quantile = |fraction| Nanos(slice.quantile_ns(fraction).unwrap_or(0));
            series.push(IntervalFlow {
                start: Nanos::secs(second as u64),
                length: Nanos::secs(1),
                ios: [slice.count(), 0, 0],
                bytes: [slice.count() * 4096, 0, 0],
                latency_sum_ns: [slice.sum_ns(), 0, 0],
                p50: quantile(0.5),
                p99: quantile(0.99),
                max: Nanos(slice.max_ns().unwrap_or(0)),
                waiting: Nanos(0),
            });
        }
        let bytes = Bytes(total.count() * 4096);
        let target = TargetName { kind: TargetKind::File, path: "/data/file".into() };
        Outcome {
            elapsed: Nanos::secs(30),
            startup: Nanos::millis(1),
            depth_achieved: total.sum_ns() as f64 / 30e9,
            read: Flow { bytes, latency: total.bins(), ..Flow::default() },
            iops: crate::series_interval(&series),
            series,
            cpu: CpuUse { user: Nanos::secs(3), system: Nanos::secs(9), ..CpuUse::default() },
            ..Outcome::empty(Job::default(), target, iostack_model::Storage::default())
        }
    }

    fn compared(a: &Outcome, b: &Outcome) -> Comparison {
        compare(a, b, (&Machine::default(), &Machine::default()), |caveat| format!("{caveat:?}"))
    }

    fn row<'a>(comparison: &'a Comparison, name: &str) -> &'a ComparisonRow {
        let named = comparison.rows.iter().find(|row| row.name == name);
        named.unwrap_or_else(|| panic!("no {name} in {comparison:?}"))
    }

    #[test]
    fn an_outcome_does_not_differ_from_itself() {
        let one = outcome(1, 3_000.0);
        let told = compared(&one, &one);
        assert!(!told.differs, "{}", told.verdict);
        assert!(told.rows.iter().all(|row| !row.verdict.differs() && row.change_percent.abs() < 1e-9));
        assert!(told.verdict.starts_with("No difference in IOPS can be shown; a difference of "));
        assert_eq!(told.conditions, []);
    }

    #[test]
    fn every_figure_has_its_row() {
        let one = outcome(1, 3_000.0);
        let names: Vec<String> = compared(&one, &one).rows.into_iter().map(|row| row.name).collect();
        let wanted =
            "IOPS, bandwidth, mean latency, p50 latency, p99 latency, p99.9 latency, CPU per I/O, depth";
        assert_eq!(names.join(", "), wanted);
    }

    #[test]
    fn a_faster_run_is_faster_by_its_factor() {
        let told = compared(&outcome(1, 3_000.0), &outcome(2, 3_600.0));
        let iops = row(&told, "IOPS");
        assert!(told.differs && iops.verdict == Judgement::Better, "{iops:?}");
        assert!(iops.change_percent_low < 20.0 && iops.change_percent_high > 20.0, "{iops:?}");
        assert!(told.verdict.starts_with("B was "), "{}", told.verdict);
        assert!(told.verdict.contains(" % faster in these two runs (95 % interval "), "{}", told.verdict);
        assert_eq!(row(&told, "mean latency").verdict, Judgement::Better);
        assert_eq!(row(&told, "CPU per I/O").verdict, Judgement::Better);
        let back = compared(&outcome(2, 3_600.0), &outcome(1, 3_000.0));
        assert!(back.verdict.contains(" % slower in these two runs (95 % interval "), "{}", back.verdict);
        assert_eq!(row(&back, "p99 latency").verdict, Judgement::Worse);
    }

    #[test]
    fn repeated_runs_of_the_same_job_are_rarely_said_to_differ() {
        let differ = |&seed: &u64| compared(&outcome(seed, 200.0), &outcome(seed + 1_000, 200.0)).differs;
        let wrong = (1..=200).filter(differ).count();
        // 5 % and two deviations; rows follow each other, and the correction does not know it.
        assert!(wrong <= 16, "seeds 1..=200: {wrong} of 200 equal pairs differ");
    }

    #[test]
    fn the_clearest_row_must_stand_out_among_all_and_the_next_among_the_others() {
        let row = |confidence: f64, verdict| ComparisonRow {
            name: confidence.to_string(),
            unit: Unit::PerSecond,
            a: Interval::exact(1.0),
            b: Interval::exact(1.0),
            change_percent: 2.0,
            change_percent_low: 1.0,
            change_percent_high: 3.0,
            confidence,
            verdict,
        };
        let change = Change::between(Interval::exact(1.0), Interval::exact(1.0), Aim::Higher);
        let verdicts = |confidences: [f64; 3]| {
            let mut judged: Vec<_> =
                confidences.iter().map(|&share| (row(share, Judgement::Worse), change)).collect();
            judged.push((row(1.0, Judgement::Same), change));
            correct(&mut judged);
            let worse = judged.iter().map(|(row, _)| row).filter(|row| row.verdict == Judgement::Worse);
            worse.map(|row| row.confidence).collect::<Vec<_>>()
        };
        // Of four rows: 0.05 / 4, / 3, / 2.
        assert_eq!(verdicts([0.975, 0.9875, 0.983_334]), [0.975, 0.9875, 0.983_334]);
        assert_eq!(verdicts([0.975, 0.987_49, 0.983_334]), [0.0; 0], "the clearest is not clear enough");
        let alone = verdicts([0.976, 0.9875, 0.983_33]);
        assert_eq!(alone, [0.9875], "nor is the next, and the last does not count alone");
        assert_eq!(verdicts([0.974_9, 0.9875, 0.99]), [0.9875, 0.99]);
    }

    #[test]
    fn two_measured_runs_cannot_exclude_a_drift_and_two_simulated_ones_have_none() {
        let told = compared(&outcome(1, 3_000.0), &outcome(2, 3_600.0));
        let note = told.note.expect("both were measured");
        assert!(note.contains("drift") && note.contains("iostack ab"), "{note}");
        let simulated =
            |seed| Outcome { inside: Some(iostack_model::Inside::default()), ..outcome(seed, 3_000.0) };
        assert_eq!(compared(&simulated(1), &simulated(2)).note, None);
        assert!(compared(&simulated(1), &outcome(2, 3_000.0)).note.is_some());
    }

    #[test]
    fn a_short_run_is_not_judged() {
        let (mut a, mut b) = (outcome(1, 3_000.0), outcome(2, 6_000.0));
        a.series.truncate(2);
        b.series.truncate(1);
        let told = compared(&a, &b);
        assert!(told.verdict.contains("too short"), "{}", told.verdict);
        assert_eq!((row(&told, "IOPS").verdict, row(&told, "IOPS").confidence), (Judgement::Unclear, 0.0));
    }

    #[test]
    fn directions_are_compared_apart_where_there_are_several() {
        let mut mixed = outcome(1, 2_000.0);
        mixed.write = mixed.read.clone();
        for element in &mut mixed.series {
            element.ios[1] = element.ios[0];
            element.bytes[1] = element.bytes[0];
            element.latency_sum_ns[1] = element.latency_sum_ns[0];
        }
        let told = compared(&mixed, &mixed);
        let total = row(&told, "IOPS").a.mean;
        assert!((row(&told, "write IOPS").a.mean * 2.0 / total - 1.0).abs() < 1e-9);
        assert!(told.rows.iter().any(|row| row.name == "read p99.9 latency"));
        let reads = compared(&mixed, &outcome(2, 2_000.0));
        assert!(reads.rows.iter().any(|row| row.name == "read mean latency"));
        assert!(reads.rows.iter().all(|row| !row.name.starts_with("write")));
    }

    #[test]
    fn what_the_job_left_free_is_the_headline() {
        let (a, mut b) = (outcome(1, 3_000.0), outcome(2, 3_000.0));
        b.job.block_sizes = BlockSizes::all(Bytes::kib(16));
        b.read.bytes = Bytes(b.read.bytes.0 * 4);
        b.series.iter_mut().for_each(|element| element.bytes[0] *= 4);
        let told = compared(&a, &b);
        assert!(told.verdict.contains("% faster in bandwidth in these two runs"), "{}", told.verdict);
        assert!(told.verdict.ends_with("Conditions differ: block size."), "{}", told.verdict);
        let paced = |mut outcome: Outcome| {
            outcome.job.rate = Some(Rate { iops: 1e4, arrival: Arrival::Regular });
            outcome
        };
        let told = compared(&paced(outcome(1, 3_000.0)), &paced(outcome(2, 4_000.0)));
        assert!(told.verdict.contains("% faster in mean latency"), "{}", told.verdict);
        assert_eq!(row(&told, "depth").verdict, Judgement::Same);
    }

    #[test]
    fn an_outcome_without_io_is_compared_without_panic() {
        let mut none = outcome(1, 3_000.0);
        none.read = Flow::default();
        none.series.clear();
        none.depth_achieved = 0.0;
        let told = compared(&none, &outcome(1, 3_000.0));
        assert!(!told.differs && told.rows.is_empty(), "{told:?}");
        assert_eq!(told.verdict, "The outcomes have no IOPS in common.");
    }
}
