//! From what was run to the points of a curve.

use std::str::FromStr;

use iostack_model::answers::{IoCost, ReproCurve, ReproPoint};
use iostack_model::{Gauge, Inside, Nanos, Outcome, Part, Stage};
use iostack_report::table;

/// A figure that is read off a point: a word of [`FIGURES`], and the name behind its colon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Figure {
    word: &'static str,
    name: String,
    label: &'static str,
}

/// Horizontal axis of a line.
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

/// Words of figures, what a name behind them is of, and their labels.
const FIGURES: &[(&str, &str, &str)] = &[
    ("iops", "", "I/Os per second"),
    ("bandwidth", "", "bytes per second"),
    ("latency_mean", "", "mean latency, us"),
    ("latency_p50", "", "median latency, us"),
    ("latency_p99", "", "99th percentile of the latency, us"),
    // Of the modal I/O that the lab counts; clocks and layers also of a simulated host, on average.
    ("instructions", "", "instructions of an I/O"),
    ("register_reads", "", "register reads of an I/O"),
    ("register_writes", "", "register writes of an I/O"),
    ("clocks", "", "clocks of an I/O"),
    // Of platform and transport, on the way to the device and back.
    ("platform_us", "", "mean time on the way to the device and back, us"),
    ("device_us", "", "mean time in the device, us"),
    ("platform_share", "", "time not in the device, %"),
    ("cpu_percent", "", "busy share of the cores, %"),
    ("interrupts_per_io", "", "interrupts of an I/O"),
    ("completions_per_interrupt", "", "completions of an interrupt"),
    ("switches_per_io", "", "switches of threads of an I/O"),
    ("write_amplification", "", "bytes written to flash per byte the host wrote"),
    ("gauge", "NAME", "{name}"),
    ("layer", "NAME", "{spent} in {name}"),
    ("share", "NAME", "{name}, % of the {spent}"),
    ("stage", "NAME", "mean time in {name}, us"),
    ("busy", "RESOURCE", "{name}, busy share, %"),
    ("busiest", "RESOURCE", "busiest {name}, busy share, %"),
];

impl FromStr for Figure {
    type Err = String;

    fn from_str(text: &str) -> Result<Figure, String> {
        let (typed, name) = text.split_once(':').map_or((text, None), |(word, name)| (word, Some(name)));
        let is_meant =
            |(word, of, _): &&(&str, &str, &str)| *word == typed && of.is_empty() == name.is_none();
        let Some(&(word, _, label)) = FIGURES.iter().find(is_meant) else {
            let shown =
                |&(word, of, _): &(&str, &str, &str)| format!("{word}:{of}").trim_end_matches(':').to_owned();
            let words: Vec<String> = FIGURES.iter().map(shown).collect();
            return Err(format!("there is no figure `{text}`; there are: {}", words.join(", ")));
        };
        let name = name.unwrap_or_default().to_owned();
        let stages = Stage::WAY.map(Stage::name);
        if word == "stage" && !stages.contains(&name.as_str()) {
            return Err(format!("there is no stage `{name}`; there are: {}", stages.join(", ")));
        }
        Ok(Figure { word, name, label })
    }
}

impl Figure {
    /// Label of an axis: of an experiment that the lab counts, or of a simulated one.
    pub(crate) fn label(&self, counted: bool) -> String {
        let modelled = if counted && self.word == "clocks" { "modelled " } else { "" };
        let spent = if counted { "instructions" } else { "clocks" };
        format!("{modelled}{}", self.label.replace("{spent}", spent).replace("{name}", &self.name))
    }

    pub(super) fn of_point(&self, point: &ReproPoint) -> Option<f64> {
        match (&point.cost, &point.outcome) {
            (Some(cost), _) => self.of_cost(cost),
            (None, Some(outcome)) => self.of_run(outcome),
            (None, None) => None,
        }
    }

    fn of_cost(&self, cost: &IoCost) -> Option<f64> {
        let layer = cost.layers.iter().find(|layer| layer.layer == self.name);
        let layer = layer.map_or(0, |layer| layer.instructions) as f64;
        match self.word {
            "instructions" => Some(cost.instructions as f64),
            "register_reads" => cost.registers().map(|(reads, _)| reads as f64),
            "register_writes" => cost.registers().map(|(_, writes)| writes as f64),
            "clocks" => cost.modelled_clocks(),
            "layer" => Some(layer),
            "share" => Some(layer / cost.instructions.max(1) as f64 * 100.0),
            _ => None,
        }
    }

    fn of_run(&self, outcome: &Outcome) -> Option<f64> {
        let percentile = |share| outcome.latency().quantile_ns(share).map(|ns| Nanos(ns).as_micros_f64());
        match self.word {
            "iops" => Some(outcome.rate()),
            "bandwidth" => Some(outcome.bandwidth()),
            "latency_mean" => Some(outcome.latency().mean_ns() / 1e3),
            "latency_p50" => percentile(0.50),
            "latency_p99" => percentile(0.99),
            _ => self.of_inside(outcome, outcome.inside.as_ref()?),
        }
    }

    fn of_inside(&self, outcome: &Outcome, inside: &Inside) -> Option<f64> {
        let host = || inside.host.as_ref();
        let layer = || {
            let layers = &host()?.layers;
            Some(layers.iter().find(|layer| layer.name == self.name).map_or(0.0, |layer| layer.clocks))
        };
        let resource = |name: &str| inside.resources.iter().find(|one| one.name == name);
        let ios = (outcome.ios() as f64).max(1.0);
        let device = |stage: Stage| stage.part() == Part::Device;
        match self.word {
            "write_amplification" => Some(inside.flash.as_ref()?.write_amplification),
            "gauge" => self.gauge(outcome)?.values.last().copied(),
            "clocks" => Some(host()?.clocks_per_io),
            "layer" => layer(),
            "share" => Some(layer()? / host()?.clocks_per_io.max(f64::MIN_POSITIVE) * 100.0),
            "busy" => Some(resource(&self.name)?.busy * 100.0),
            "busiest" => Some(resource(&self.name)?.busiest * 100.0),
            "cpu_percent" => Some(resource(CORE)?.busy * 100.0),
            "interrupts_per_io" => Some(host()?.interrupts as f64 / ios),
            "completions_per_interrupt" => Some(host()?.completions_per_interrupt),
            "switches_per_io" => Some(host()?.switches as f64 / ios),
            "stage" => mean_us(inside, |stage| stage.name() == self.name),
            "platform_us" => mean_us(inside, |stage| !device(stage)),
            "device_us" => mean_us(inside, device),
            "platform_share" => {
                let all = mean_us(inside, |_| true).filter(|all| *all > 0.0)?;
                Some(mean_us(inside, |stage| !device(stage))? / all * 100.0)
            }
            _ => None,
        }
    }

    fn gauge<'a>(&self, outcome: &'a Outcome) -> Option<&'a Gauge> {
        outcome.inside.as_ref()?.gauges.iter().find(|gauge| gauge.name == self.name)
    }

    /// Figures over time: start of each element and its value. A last element that is too short to compare is left out.
    fn over_time(&self, outcome: &Outcome) -> Vec<(f64, f64)> {
        let elements = outcome.series.iter().enumerate();
        let whole = elements.filter(|(_, element)| element.length.0 * 2 >= outcome.job.slice.0);
        whole
            .filter_map(|(index, element)| {
                let seconds = element.length.as_secs_f64();
                let value = match self.word {
                    "iops" => element.ios.iter().sum::<u64>() as f64 / seconds,
                    "bandwidth" => element.bytes.iter().sum::<u64>() as f64 / seconds,
                    "latency_mean" => {
                        let ios = element.ios.iter().sum::<u64>().max(1);
                        element.latency_sum_ns.iter().sum::<u64>() as f64 / ios as f64 / 1e3
                    }
                    "latency_p99" => element.p99.as_micros_f64(),
                    "latency_p50" => element.p50.as_micros_f64(),
                    "gauge" => *self.gauge(outcome)?.values.get(index)?,
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

/// Place of each point on the axis: its number, or its place in the list when what is varied are words.
fn places(curve: &ReproCurve) -> Vec<f64> {
    let typed: Vec<&str> = curve.points.iter().map(|point| point.at.as_str()).collect();
    table::numbers(&typed).unwrap_or_else(|| (0..typed.len()).map(|index| index as f64).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{IntervalFlow, Job};

    fn figure(text: &str) -> Figure {
        text.parse().expect("there is one")
    }

    fn outcome(rates: &[u64], last: Nanos) -> Outcome {
        let slice = Nanos::secs(25);
        let element = |(index, &rate): (usize, &u64)| {
            let length = if index + 1 == rates.len() { last } else { slice };
            let start = Nanos(slice.0 * index as u64);
            let ios = [0, (rate as f64 * length.as_secs_f64()) as u64, 0];
            IntervalFlow { start, length, ios, ..IntervalFlow::default() }
        };
        let values = rates.iter().map(|&rate| rate as f64 / 10.0).collect();
        let gauges = vec![Gauge { name: "free blocks".into(), values }];
        Outcome {
            job: Job { slice, ..Job::default() },
            series: rates.iter().enumerate().map(element).collect(),
            inside: Some(Inside { gauges, ..Inside::default() }),
            ..Outcome::default()
        }
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
        let iops = line(&curve, &figure("iops"), Over::Time, None);
        assert_eq!(iops, [(0.0, 100.0), (25.0, 40.0)]);
        let free = line(&curve, &figure("gauge:free blocks"), Over::Time, None);
        assert_eq!(free, [(0.0, 10.0), (25.0, 4.0)]);
    }

    #[test]
    fn what_failed_leaves_a_gap_and_words_stand_in_their_order() {
        let given = || Some(outcome(&[1], Nanos::secs(25)));
        let numbers = curve(&[("1", given()), ("2", None), ("4", given())]);
        let xs = |curve: &ReproCurve| {
            line(curve, &figure("iops"), Over::Varied, None).iter().map(|&(x, _)| x).collect::<Vec<_>>()
        };
        assert_eq!(xs(&numbers), [1.0, 4.0]);
        assert_eq!(xs(&curve(&[("greedy", given()), ("fifo", given())])), [0.0, 1.0]);
        assert_eq!(line(&numbers, &figure("iops"), Over::Varied, Some("4")).len(), 1);
    }
}
