//! From what was run to the points of a curve.

use std::str::FromStr;

use iostack_model::answers::{IoCost, ReproCurve, ReproPoint};
use iostack_model::{Inside, Nanos, Outcome, Part, Stage};
use iostack_report::table;

/// What is read off an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// I/Os per second.
    Iops,
    /// Transactions per second of an application.
    Transactions,
    /// Reads that an application's transaction makes.
    ReadsPerTransaction,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency, us.
    LatencyMean,
    /// A percentile of it, us; in ten-thousandths.
    Latency(u32),
    /// Pages written to flash per page the host wrote.
    WriteAmplification,
    /// A value over time: `gauge:free blocks`.
    Gauge(String),
    /// Of a simulated host: mean time of an I/O in a stage, us: `stage:schedule`.
    Stage(Stage),
    /// Mean time of an I/O on the way to the device and back, us: platform and transport.
    PlatformTime,
    /// Mean time of an I/O in the device, us.
    DeviceTime,
    /// The share of that way, in percent.
    PlatformShare,
    /// Busy share of a resource, mean over all alike, in percent: `busy:adapter`.
    Busy(String),
    /// That of the busiest: `busiest:core`.
    Busiest(String),
    /// Busy share of the cores, in percent.
    Cpu,
    /// Interrupts for each I/O.
    Interrupts,
    /// Completions that an interrupt brings.
    Completions,
    /// Switches of threads for each I/O.
    Switches,
    /// Instructions of the modal I/O.
    Instructions,
    /// Register reads of it.
    RegisterReads,
    /// Register writes of it.
    RegisterWrites,
    /// Its modelled clocks; the mean of a simulated host.
    Clocks,
    /// Its instructions in a layer, clocks of a simulated host: `layer:scsi`.
    Layer(String),
    /// A layer's share of them, in percent: `share:scsi`.
    Share(String),
}

/// What is on the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// The varied key.
    Varied,
    /// The time since the start, in seconds.
    Time,
    /// Nothing: the curve is one point.
    Alone,
}

/// The name of what the cores are among the resources.
const CORE: &str = "core";

const WORDS: &[(&str, Figure, &str)] = &[
    ("iops", Figure::Iops, "I/Os per second"),
    ("transactions", Figure::Transactions, "transactions per second"),
    ("reads_per_transaction", Figure::ReadsPerTransaction, "reads of a transaction"),
    ("bandwidth", Figure::Bandwidth, "bytes per second"),
    ("latency_mean", Figure::LatencyMean, "mean latency, us"),
    ("latency_p50", Figure::Latency(5_000), "median latency, us"),
    ("latency_p99", Figure::Latency(9_900), "99th percentile of the latency, us"),
    ("instructions", Figure::Instructions, "instructions of an I/O"),
    ("register_reads", Figure::RegisterReads, "register reads of an I/O"),
    ("register_writes", Figure::RegisterWrites, "register writes of an I/O"),
    ("clocks", Figure::Clocks, "clocks of an I/O"),
    ("platform_us", Figure::PlatformTime, "mean time on the way to the device and back, us"),
    ("device_us", Figure::DeviceTime, "mean time in the device, us"),
    ("platform_share", Figure::PlatformShare, "time not in the device, %"),
    ("cpu_percent", Figure::Cpu, "busy share of the cores, %"),
    ("interrupts_per_io", Figure::Interrupts, "interrupts of an I/O"),
    ("completions_per_interrupt", Figure::Completions, "completions of an interrupt"),
    ("switches_per_io", Figure::Switches, "switches of threads of an I/O"),
    ("write_amplification", Figure::WriteAmplification, "bytes written to flash per byte the host wrote"),
];

impl FromStr for Figure {
    type Err = String;

    fn from_str(text: &str) -> Result<Figure, String> {
        match text.split_once(':') {
            Some(("gauge", name)) => return Ok(Figure::Gauge(name.to_owned())),
            Some(("layer", name)) => return Ok(Figure::Layer(name.to_owned())),
            Some(("share", name)) => return Ok(Figure::Share(name.to_owned())),
            Some(("busy", name)) => return Ok(Figure::Busy(name.to_owned())),
            Some(("busiest", name)) => return Ok(Figure::Busiest(name.to_owned())),
            Some(("stage", name)) => return stage(name).map(Figure::Stage),
            _ => {}
        }
        let found = WORDS.iter().find(|(word, ..)| *word == text).map(|(_, figure, _)| figure.clone());
        found.ok_or_else(|| {
            let words: Vec<&str> = WORDS.iter().map(|(word, ..)| *word).collect();
            format!(
                "there is no figure `{text}`; there are: {}, gauge:NAME, layer:NAME, share:NAME, stage:NAME, busy:RESOURCE, \
                 busiest:RESOURCE",
                words.join(", ")
            )
        })
    }
}

fn stage(name: &str) -> Result<Stage, String> {
    Stage::WAY.into_iter().find(|stage| stage.name() == name).ok_or_else(|| {
        let names = Stage::WAY.map(Stage::name);
        format!("there is no stage `{name}`; there are: {}", names.join(", "))
    })
}

impl Figure {
    /// What it counts, for an axis: of an experiment that the lab counts, or of a simulated one.
    pub(crate) fn label(&self, counted: bool) -> String {
        let spent = if counted { "instructions" } else { "clocks" };
        match self {
            Figure::Gauge(name) => name.clone(),
            Figure::Layer(name) => format!("{spent} in {name}"),
            Figure::Share(name) => format!("{name}, % of the {spent}"),
            Figure::Busy(name) => format!("{name}, busy share, %"),
            Figure::Busiest(name) => format!("busiest {name}, busy share, %"),
            Figure::Stage(stage) => format!("mean time in {}, us", stage.name()),
            Figure::Clocks if counted => "modelled clocks of an I/O".to_owned(),
            other => {
                let found = WORDS.iter().find(|(_, figure, _)| figure == other);
                found.map_or(String::new(), |(_, _, label)| (*label).to_owned())
            }
        }
    }

    /// Of a point, run or counted.
    pub(super) fn of_point(&self, point: &ReproPoint) -> Option<f64> {
        match (&point.cost, &point.outcome) {
            (Some(cost), _) => self.of_cost(cost),
            (None, Some(outcome)) => self.of(outcome),
            (None, None) => None,
        }
    }

    /// Of what was counted.
    fn of_cost(&self, cost: &IoCost) -> Option<f64> {
        let layer = |name: &str| {
            let found = cost.layers.iter().find(|layer| layer.layer == name);
            found.map_or(0, |layer| layer.instructions) as f64
        };
        match self {
            Figure::Instructions => Some(cost.instructions as f64),
            Figure::RegisterReads => cost.registers().map(|(reads, _)| reads as f64),
            Figure::RegisterWrites => cost.registers().map(|(_, writes)| writes as f64),
            Figure::Clocks => cost.modelled_clocks(),
            Figure::Layer(name) => Some(layer(name)),
            Figure::Share(name) => Some(layer(name) / cost.instructions.max(1) as f64 * 100.0),
            _ => None,
        }
    }

    /// Of the whole run.
    fn of(&self, outcome: &Outcome) -> Option<f64> {
        match self {
            Figure::Iops => Some(outcome.rate()),
            Figure::Transactions => Some(outcome.app.as_ref()?.per_second),
            Figure::ReadsPerTransaction => Some(outcome.app.as_ref()?.reads),
            Figure::Bandwidth => Some(outcome.bandwidth()),
            Figure::LatencyMean => Some(outcome.latency().mean_ns() / 1e3),
            Figure::Latency(fraction) => {
                outcome.latency().quantile_ns(f64::from(*fraction) / 1e4).map(|ns| Nanos(ns).as_micros_f64())
            }
            Figure::WriteAmplification => Some(outcome.inside.as_ref()?.flash.as_ref()?.write_amplification),
            Figure::Gauge(name) => {
                let gauges = &outcome.inside.as_ref()?.gauges;
                gauges.iter().find(|gauge| gauge.name == *name)?.values.last().copied()
            }
            _ => self.of_inside(outcome),
        }
    }

    /// Of what a simulation saw.
    fn of_inside(&self, outcome: &Outcome) -> Option<f64> {
        let inside = outcome.inside.as_ref()?;
        let host = || inside.host.as_ref();
        let layer = |name: &str| {
            let layers = &host()?.layers;
            Some(layers.iter().find(|layer| layer.name == name).map_or(0.0, |layer| layer.clocks))
        };
        let resource = |name: &str| inside.resources.iter().find(|one| one.name == name);
        let ios = || (outcome.ios() as f64).max(1.0);
        let device = |stage: Stage| stage.part() == Part::Device;
        match self {
            Figure::Clocks => Some(host()?.clocks_per_io),
            Figure::Layer(name) => layer(name),
            Figure::Share(name) => Some(layer(name)? / host()?.clocks_per_io.max(f64::MIN_POSITIVE) * 100.0),
            Figure::Busy(name) => Some(resource(name)?.busy * 100.0),
            Figure::Busiest(name) => Some(resource(name)?.busiest * 100.0),
            Figure::Cpu => Some(resource(CORE)?.busy * 100.0),
            Figure::Interrupts => Some(host()?.interrupts as f64 / ios()),
            Figure::Completions => Some(host()?.completions_per_interrupt),
            Figure::Switches => Some(host()?.switches as f64 / ios()),
            Figure::Stage(stage) => mean_us(inside, |other| other == *stage),
            Figure::PlatformTime => mean_us(inside, |stage| !device(stage)),
            Figure::DeviceTime => mean_us(inside, device),
            Figure::PlatformShare => {
                let all = mean_us(inside, |_| true).filter(|all| *all > 0.0)?;
                Some(mean_us(inside, |stage| !device(stage))? / all * 100.0)
            }
            _ => None,
        }
    }

    /// Over time: the middle of each element and its value. A last element that is too short to compare is left out.
    fn over_time(&self, outcome: &Outcome) -> Vec<(f64, f64)> {
        let gauge = match self {
            Figure::Gauge(name) => {
                let gauges = outcome.inside.as_ref().map(|inside| &inside.gauges[..]).unwrap_or_default();
                gauges.iter().find(|gauge| gauge.name == *name)
            }
            _ => None,
        };
        let elements = outcome.series.iter().enumerate();
        let whole = elements.filter(|(_, element)| element.length.0 * 2 >= outcome.job.slice.0);
        whole
            .filter_map(|(index, element)| {
                let seconds = element.length.as_secs_f64();
                let value = match self {
                    Figure::Iops => element.ios.iter().sum::<u64>() as f64 / seconds,
                    Figure::Bandwidth => element.bytes.iter().sum::<u64>() as f64 / seconds,
                    Figure::LatencyMean => {
                        let ios = element.ios.iter().sum::<u64>().max(1);
                        element.latency_sum_ns.iter().sum::<u64>() as f64 / ios as f64 / 1e3
                    }
                    Figure::Latency(9_900) => element.p99.as_micros_f64(),
                    Figure::Latency(_) => element.p50.as_micros_f64(),
                    Figure::Gauge(_) => *gauge?.values.get(index)?,
                    _ => return None,
                };
                Some((element.start.as_secs_f64(), value))
            })
            .collect()
    }
}

/// Mean time of an I/O in these stages, us, over all directions.
fn mean_us(inside: &Inside, wanted: impl Fn(Stage) -> bool) -> Option<f64> {
    let ios: u64 = inside.flows.iter().map(|flow| flow.whole.count).sum();
    let stages = inside.flows.iter().flat_map(|flow| &flow.stages);
    let spent: u64 = stages.filter(|(stage, _)| wanted(*stage)).map(|(_, bins)| bins.sum_ns).sum();
    (ios > 0).then(|| spent as f64 / ios as f64 / 1e3)
}

/// The points of a curve, in order of x. What failed or was not run has none.
pub(crate) fn line(curve: &ReproCurve, figure: &Figure, over: Over, at: Option<&str>) -> Vec<(f64, f64)> {
    let chosen = || curve.points.iter().filter(|point| at.is_none_or(|at| point.at == at));
    let outcome = |point: &ReproPoint| point.outcome.clone();
    match over {
        Over::Time => chosen().find_map(outcome).map_or_else(Vec::new, |outcome| figure.over_time(&outcome)),
        Over::Alone | Over::Varied => {
            let xs = places(curve);
            let points = curve.points.iter().zip(xs).filter(|(point, _)| at.is_none_or(|at| point.at == at));
            points.filter_map(|(point, x)| Some((x, figure.of_point(point)?))).collect()
        }
    }
}

/// Where each point stands: its number, or its place in the list when what is varied are words.
fn places(curve: &ReproCurve) -> Vec<f64> {
    let typed: Vec<&str> = curve.points.iter().map(|point| point.at.as_str()).collect();
    table::numbers(&typed).unwrap_or_else(|| (0..typed.len()).map(|index| index as f64).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Gauge, Inside, IntervalFlow};
    use iostack_report::fixture;

    fn outcome(rates: &[u64], last: Nanos) -> Outcome {
        let slice = Nanos::secs(25);
        let mut outcome = fixture::outcome_file().outcomes.swap_remove(0);
        outcome.job.slice = slice;
        outcome.series.clear();
        for (index, &rate) in rates.iter().enumerate() {
            let length = if index + 1 == rates.len() { last } else { slice };
            let start = Nanos(slice.0 * index as u64);
            let ios = [0, (rate as f64 * length.as_secs_f64()) as u64, 0];
            outcome.series.push(IntervalFlow { start, length, ios, ..IntervalFlow::default() });
        }
        let values = rates.iter().map(|&rate| rate as f64 / 10.0).collect();
        outcome.inside =
            Some(Inside { gauges: vec![Gauge { name: "free blocks".into(), values }], ..Inside::default() });
        outcome
    }

    fn curve(points: &[(&str, Option<Outcome>)]) -> ReproCurve {
        let point = |(at, outcome): &(&str, Option<Outcome>)| ReproPoint {
            at: (*at).to_owned(),
            command: String::new(),
            outcome: outcome.clone(),
            cost: None,
            error: None,
        };
        ReproCurve {
            name: "c".into(),
            device: "zero".into(),
            varied: "k".into(),
            points: points.iter().map(point).collect(),
        }
    }

    #[test]
    fn a_run_over_time_is_its_elements_without_a_short_last_one() {
        let curve = curve(&[("", Some(outcome(&[100, 40, 40], Nanos::secs(5))))]);
        let iops = line(&curve, &Figure::Iops, Over::Time, None);
        assert_eq!(iops, [(0.0, 100.0), (25.0, 40.0)]);
        let free = line(&curve, &"gauge:free blocks".parse().expect("a gauge"), Over::Time, None);
        assert_eq!(free, [(0.0, 10.0), (25.0, 4.0)]);
    }

    #[test]
    fn what_failed_leaves_a_gap_and_words_stand_in_their_order() {
        let given = || Some(outcome(&[1], Nanos::secs(25)));
        let numbers = curve(&[("1", given()), ("2", None), ("4", given())]);
        let xs = |curve: &ReproCurve| {
            line(curve, &Figure::Iops, Over::Varied, None).iter().map(|&(x, _)| x).collect::<Vec<_>>()
        };
        assert_eq!(xs(&numbers), [1.0, 4.0]);
        assert_eq!(xs(&curve(&[("greedy", given()), ("fifo", given())])), [0.0, 1.0]);
        assert_eq!(line(&numbers, &Figure::Iops, Over::Varied, Some("4")).len(), 1);
    }
}
