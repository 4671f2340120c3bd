//! Do two outcomes differ, by how much, and how sure is that?
//!
//! Each figure gets the interval that its run supports, then [`Verdict`] judges the ratio. Where a figure has no
//! interval of its own, the one it gets says so below: nothing is called certain that was measured once.
//!
//! | figure | interval from |
//! | --- | --- |
//! | IOPS, bandwidth, mean latency, depth | the series of slices |
//! | p50, p99, p99.9 | order statistics, widened as far as the slices' own p50 and p99 vary more than those allow |
//! | CPU per I/O | the rate's: a thread that is always busy costs per I/O what the rate leaves it |

use iostack_model::{Bins, Direction, Flow, Interval, IntervalFlow, Machine, Nanos, Outcome};

use crate::Verdict;
use crate::conditions::{Difference, differences};
use crate::interval::{rate_interval, whole};
use crate::quantile::{quantile_interval, samples_needed};
use crate::verdict::{Aim, Change};

/// Two outcomes side by side.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Comparison {
    /// The figures that both have.
    pub rows: Vec<ComparisonRow>,
    /// Conditions that differ, caveats of only one of the two among them.
    pub conditions: Vec<Difference>,
    /// The answer in a few sentences, without units of its own besides percent.
    pub verdict: String,
    /// The headline figure differs, or another one so clearly that the number of rows does not explain it.
    pub differs: bool,
}

/// One figure of two outcomes.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ComparisonRow {
    /// `IOPS`, `read p99 latency`, ...
    pub name: String,
    /// `/s`, `B/s`, `ns`, or nothing for the depth.
    pub unit: &'static str,
    /// In the first outcome.
    pub a: Interval,
    /// In the second.
    pub b: Interval,
    /// From the first to the second, in percent of the first.
    pub change_percent: f64,
    /// Lower end of its 95 % interval; equal to the change when it could not be had.
    pub change_percent_low: f64,
    /// Upper end.
    pub change_percent_high: f64,
    /// 0..=1. Same: that the change is within 5 %. Otherwise: that the two differ at all. 0 when a run was too short
    /// to know.
    pub confidence: f64,
    /// What it means for the second.
    pub verdict: Verdict,
}

/// One figure of one outcome.
struct Figure {
    name: String,
    unit: &'static str,
    aim: Aim,
    value: Interval,
}

/// Compares `b` against `a`; the machines are those they ran on.
pub fn compare(a: &Outcome, b: &Outcome, machines: (&Machine, &Machine)) -> Comparison {
    let by_direction = directions(a).len() > 1 || directions(a) != directions(b);
    let figures_b = figures(b, by_direction);
    let pairs = figures(a, by_direction).into_iter().filter_map(|figure| {
        let other = figures_b.iter().find(|other| other.name == figure.name)?;
        Some((figure, other.value))
    });
    let judged: Vec<(ComparisonRow, Change)> = pairs.map(|(figure, other)| row(figure, other)).collect();
    let headline = headline(a, b);
    let conditions = differences(a, b, machines);
    let mut verdict = vec![answer(judged.iter().find(|(row, _)| row.name == headline), headline)];
    verdict.extend(also(&judged, headline));
    verdict.extend(unlike(&conditions));
    Comparison {
        differs: judged.iter().any(|(row, _)| row.name == headline && row.verdict.differs())
            || judged.iter().any(|(row, _)| stands_out(row, judged.len())),
        rows: judged.into_iter().map(|(row, _)| row).collect(),
        conditions,
        verdict: verdict.join(" "),
    }
}

fn row(figure: Figure, b: Interval) -> (ComparisonRow, Change) {
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
        verdict: change.verdict,
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

/// With this many rows, one of them differs at 95 % by chance; a row stands out when it would not (Bonferroni).
fn stands_out(row: &ComparisonRow, rows: usize) -> bool {
    row.verdict.differs() && row.confidence >= 1.0 - 0.05 / rows as f64
}

/// The first sentence: what the headline figure says.
fn answer(headline: Option<&(ComparisonRow, Change)>, name: &str) -> String {
    let Some((row, change)) = headline else {
        return format!("The outcomes have no {name} in common.");
    };
    if !change.is_known() {
        return format!("The runs are too short to say whether their {name} differs: run longer.");
    }
    let faster = (change.mean > 0.0) == (row.unit != "ns");
    let word = if faster { "faster" } else { "slower" };
    let by = percent(change.mean.abs());
    let subject = if name == "IOPS" { String::new() } else { format!(" in {name}") };
    let (low, high) = ends(change);
    match row.verdict {
        Verdict::Better | Verdict::Worse => {
            format!("B is {by} % {word}{subject} (95 % interval {low}..{high} %).")
        }
        Verdict::Same if change.low > 0.0 || change.high < 0.0 => {
            format!("B is {by} % {word}{subject}, too little to matter (95 % interval {low}..{high} %).")
        }
        Verdict::Same | Verdict::Unclear => {
            let shown = percent(change.smallest_shown());
            format!("No difference in {name} can be shown; a difference of {shown} % would have been.")
        }
    }
}

/// The ends of the change's interval in percent, as sizes in rising order when both have the same sign.
fn ends(change: &Change) -> (String, String) {
    if change.high < 0.0 {
        (percent(-change.high), percent(-change.low))
    } else {
        (percent(change.low), percent(change.high))
    }
}

/// Other figures that stand out, the largest change first; bandwidth repeats what IOPS says.
fn also(judged: &[(ComparisonRow, Change)], headline: &str) -> Option<String> {
    let rows = judged.len();
    let news = |row: &ComparisonRow| {
        row.name != headline && !row.name.ends_with("bandwidth") && !row.name.ends_with("IOPS")
    };
    let mut others: Vec<_> =
        judged.iter().map(|(row, _)| row).filter(|row| stands_out(row, rows) && news(row)).collect();
    others.sort_by(|x, y| y.change_percent.abs().total_cmp(&x.change_percent.abs()));
    let texts: Vec<String> = others
        .iter()
        .take(3)
        .map(|row| {
            let sign = if row.change_percent > 0.0 { "+" } else { "-" };
            format!(
                "{} {sign}{} % ({})",
                row.name,
                percent(row.change_percent.abs() / 100.0),
                row.verdict.name()
            )
        })
        .collect();
    (!texts.is_empty()).then(|| format!("Also: {}.", texts.join(", ")))
}

/// The last sentence: what else was not the same.
fn unlike(conditions: &[Difference]) -> Option<String> {
    let mut names: Vec<&str> = conditions.iter().map(|condition| condition.name.as_str()).collect();
    names.dedup();
    let shown = names.iter().take(4).copied().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(4);
    match (names.is_empty(), more) {
        (true, _) => None,
        (false, 0) => Some(format!("Conditions differ: {shown}.")),
        (false, _) => Some(format!("Conditions differ: {shown} and {more} more.")),
    }
}

/// A share as percent, with a decimal only where it matters.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() >= 9.95 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// Directions with I/O.
fn directions(outcome: &Outcome) -> Vec<Direction> {
    Direction::ALL.into_iter().filter(|&direction| outcome.flow(direction).latency.count > 0).collect()
}

/// All figures of an outcome; those of single directions bear its name when there is more than one.
fn figures(outcome: &Outcome, by_direction: bool) -> Vec<Figure> {
    let all = Part::all(outcome);
    let mut figures = vec![
        figure("", "IOPS", "/s", Aim::Higher, all.iops()),
        figure("", "bandwidth", "B/s", Aim::Higher, all.bandwidth()),
    ];
    if by_direction {
        for direction in directions(outcome) {
            let part = Part::of(outcome, direction);
            let name = direction.name();
            figures.push(figure(name, "IOPS", "/s", Aim::Higher, part.iops()));
            figures.push(figure(name, "bandwidth", "B/s", Aim::Higher, part.bandwidth()));
            figures.extend(latencies(name, &part));
        }
    } else {
        figures.extend(latencies("", &all));
    }
    if let Some(cost) = outcome.cpu_ns_per_io() {
        figures.push(figure("", "CPU per I/O", "ns", Aim::Lower, around(cost, all.iops())));
    }
    // In a closed loop depth is what was asked for; in an open loop it is what piled up.
    let aim = if outcome.job.rate.is_some() { Aim::Lower } else { Aim::Higher };
    figures.push(figure("", "depth", "", aim, all.depth(outcome.depth_achieved)));
    figures.retain(|figure| figure.value.mean > 0.0);
    figures
}

fn figure(direction: &str, name: &str, unit: &'static str, aim: Aim, value: Interval) -> Figure {
    let name = if direction.is_empty() { name.to_owned() } else { format!("{direction} {name}") };
    Figure { name, unit, aim, value }
}

/// Mean latency, and those percentiles that the samples support.
fn latencies(direction: &str, part: &Part) -> Vec<Figure> {
    let lower = |name: &str, value| figure(direction, name, "ns", Aim::Lower, value);
    let percentiles = [("p50 latency", 0.5), ("p99 latency", 0.99), ("p99.9 latency", 0.999)];
    let mut figures = vec![lower("mean latency", part.latency_mean())];
    for (name, fraction) in percentiles {
        if part.latency.count >= samples_needed(fraction) {
            figures.extend(part.latency_quantile(fraction).map(|value| lower(name, value)));
        }
    }
    figures
}

/// One direction of an outcome, or all.
struct Part<'a> {
    outcome: &'a Outcome,
    /// Directions it covers, as indices of the series' arrays.
    lanes: Vec<usize>,
    latency: Bins,
    bytes: u64,
}

impl<'a> Part<'a> {
    fn all(outcome: &'a Outcome) -> Self {
        let lanes = (0..Direction::ALL.len()).collect();
        Part { outcome, lanes, latency: outcome.latency(), bytes: outcome.bytes().0 }
    }

    fn of(outcome: &'a Outcome, direction: Direction) -> Self {
        let Flow { latency, bytes, .. } = outcome.flow(direction);
        Part { outcome, lanes: vec![direction as usize], latency: latency.clone(), bytes: bytes.0 }
    }

    fn iops(&self) -> Interval {
        self.rate(self.latency.count, |element| element.ios)
    }

    fn bandwidth(&self) -> Interval {
        self.rate(self.bytes, |element| element.bytes)
    }

    /// A total of the run as a rate, with the relative interval that the slices give.
    fn rate(&self, total: u64, counts: impl Fn(&IntervalFlow) -> [u64; 3]) -> Interval {
        let seconds = self.outcome.elapsed.as_secs_f64();
        let mean = if seconds > 0.0 { total as f64 / seconds } else { 0.0 };
        around(mean, self.slices(|element| per_second(self.sum(counts(element)), element.length)))
    }

    fn latency_mean(&self) -> Interval {
        let of_slice = |element: &IntervalFlow| {
            let ios = self.sum(element.ios);
            (ios > 0).then(|| self.sum(element.latency_sum_ns) as f64 / ios as f64)
        };
        around(self.latency.mean_ns(), self.slices(of_slice))
    }

    /// I/Os in flight: time spent in I/Os over time, by Little's law.
    fn depth(&self, achieved: f64) -> Interval {
        let slices = self.slices(|element| per_second(self.sum(element.latency_sum_ns), element.length));
        around(achieved, slices)
    }

    fn latency_quantile(&self, fraction: f64) -> Option<Interval> {
        let alone = quantile_interval(&self.latency, fraction)?;
        let of_slice = |element: &IntervalFlow| if fraction <= 0.5 { element.p50 } else { element.p99 };
        let slices = self.slices(|element| Some(of_slice(element).0 as f64).filter(|&ns| ns > 0.0));
        let sampled = quantile_interval(&self.outcome.latency(), if fraction <= 0.5 { 0.5 } else { 0.99 })?;
        let factor = slices.relative() / sampled.relative();
        if slices.samples < 3 || factor.is_nan() || factor <= 1.0 {
            return Some(alone);
        }
        Some(Interval {
            low: (alone.mean - (alone.mean - alone.low) * factor).max(0.0),
            high: alone.mean + (alone.high - alone.mean) * factor,
            samples: alone.samples.min(slices.samples),
            ..alone
        })
    }

    /// The interval of a figure that each whole slice has one of.
    fn slices(&self, value: impl Fn(&IntervalFlow) -> Option<f64>) -> Interval {
        let values: Vec<f64> = whole(&self.outcome.series).iter().filter_map(value).collect();
        rate_interval(&values)
    }

    fn sum(&self, lanes: [u64; 3]) -> u64 {
        self.lanes.iter().map(|&lane| lanes[lane]).sum()
    }
}

fn per_second(amount: u64, length: Nanos) -> Option<f64> {
    (length.0 > 0).then(|| amount as f64 / length.as_secs_f64())
}

/// `value` with the relative uncertainty of `like`.
fn around(value: f64, like: Interval) -> Interval {
    if like.mean <= 0.0 {
        return Interval { samples: 0, ..Interval::exact(value) };
    }
    let factor = value / like.mean;
    Interval { mean: value, low: like.low * factor, high: like.high * factor, samples: like.samples }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Recorder;
    use crate::sample::Samples;
    use iostack_model::{Arrival, BlockSizes, Bytes, CpuUse, Job, Rate, Target, TargetKind};

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
            });
        }
        let bytes = Bytes(total.count() * 4096);
        Outcome {
            job: Job::default(),
            target: Target { kind: TargetKind::File, path: "/data/file".into() },
            storage: iostack_model::Storage::default(),
            started_unix_ms: 0,
            elapsed: Nanos::secs(30),
            startup: Nanos::millis(1),
            depth_achieved: total.sum_ns() as f64 / 30e9,
            read: Flow { bytes, latency: total.bins(), ..Flow::default() },
            write: Flow::default(),
            trim: Flow::default(),
            sync: Bins::default(),
            iops: crate::series_interval(&series),
            series,
            cpu: CpuUse { user: Nanos::secs(3), system: Nanos::secs(9), ..CpuUse::default() },
            device: None,
            failures: Vec::new(),
            verified: 0,
            interrupted: false,
            log: Vec::new(),
            caveats: Vec::new(),
        }
    }

    fn compared(a: &Outcome, b: &Outcome) -> Comparison {
        compare(a, b, (&Machine::default(), &Machine::default()))
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
        let wanted = [
            "IOPS",
            "bandwidth",
            "mean latency",
            "p50 latency",
            "p99 latency",
            "p99.9 latency",
            "CPU per I/O",
            "depth",
        ];
        assert_eq!(names, wanted);
    }

    #[test]
    fn a_faster_run_is_faster_by_its_factor() {
        let told = compared(&outcome(1, 3_000.0), &outcome(2, 3_600.0));
        let iops = row(&told, "IOPS");
        assert!(told.differs && iops.verdict == Verdict::Better, "{iops:?}");
        assert!(iops.change_percent_low < 20.0 && iops.change_percent_high > 20.0, "{iops:?}");
        assert!(told.verdict.starts_with("B is ") && told.verdict.contains(" % faster (95 % interval "));
        assert_eq!(row(&told, "mean latency").verdict, Verdict::Better);
        assert_eq!(row(&told, "CPU per I/O").verdict, Verdict::Better);
        let back = compared(&outcome(2, 3_600.0), &outcome(1, 3_000.0));
        assert!(back.verdict.contains(" % slower (95 % interval "), "{}", back.verdict);
        assert_eq!(row(&back, "p99 latency").verdict, Verdict::Worse);
    }

    #[test]
    fn repeated_runs_of_the_same_job_are_rarely_said_to_differ() {
        let differ = |&seed: &u64| compared(&outcome(seed, 200.0), &outcome(seed + 1_000, 200.0)).differs;
        let wrong = (1..=200).filter(differ).count();
        assert!(wrong <= 16, "seeds 1..=200: {wrong} of 200 equal pairs differ");
    }

    #[test]
    fn a_short_run_is_not_judged() {
        let (mut a, mut b) = (outcome(1, 3_000.0), outcome(2, 6_000.0));
        a.series.truncate(2);
        b.series.truncate(1);
        let told = compared(&a, &b);
        assert!(told.verdict.contains("too short"), "{}", told.verdict);
        assert_eq!((row(&told, "IOPS").verdict, row(&told, "IOPS").confidence), (Verdict::Unclear, 0.0));
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
        assert!(told.verdict.contains("% faster in bandwidth"), "{}", told.verdict);
        assert!(told.verdict.ends_with("Conditions differ: block size."), "{}", told.verdict);
        let paced = |mut outcome: Outcome| {
            outcome.job.rate = Some(Rate { iops: 1e4, arrival: Arrival::Regular });
            outcome
        };
        let told = compared(&paced(outcome(1, 3_000.0)), &paced(outcome(2, 4_000.0)));
        assert!(told.verdict.contains("% faster in mean latency"), "{}", told.verdict);
        assert_eq!(row(&told, "depth").verdict, Verdict::Same);
    }

    #[test]
    fn correlated_latencies_widen_the_interval_of_percentiles() {
        let one = outcome(1, 3_000.0);
        let alone = quantile_interval(&one.latency(), 0.5).unwrap();
        let told = Part::all(&one).latency_quantile(0.5).unwrap();
        assert!(told.relative() > alone.relative() && told.samples <= 30, "{told:?} for {alone:?}");
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
