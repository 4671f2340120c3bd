//! The figures people compare, picked from the steps. Pure.

use iostack_model::answers::{
    Cell, CellName, Cost, DepthOne, Point, Saturation, Series, Step, StepKind, Summary,
};
use iostack_model::{Bins, Direction, Flow, Interval, Nanos, Outcome};

/// Percentiles of the depth-1 latency that the screen shows, in percent.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];
/// Throughput within this share of the maximum counts as saturated: runs of half a second on shared storage differ by
/// as much without cause.
const SATURATED_WITHIN: f64 = 0.1;

/// Picks cells, depth-1 latency, saturation and costs.
pub(crate) fn summarise(steps: &[Step]) -> Summary {
    let points = |id: StepKind| steps.iter().find(|step| step.id == id).map_or(&[][..], |step| &step.points);
    Summary {
        cells: points(StepKind::Cells).iter().map(cell).collect(),
        depth_one: points(StepKind::Latency).iter().filter_map(depth_one).collect(),
        saturation: saturation(points(StepKind::Depth)),
        costs: points(StepKind::Engines).iter().filter_map(cost).collect(),
    }
}

/// The flow that carries the point's I/O: the write flow of a write job, else the read flow.
fn main_flow(outcome: &Outcome) -> &Flow {
    if outcome.write.latency.count > outcome.read.latency.count { &outcome.write } else { &outcome.read }
}

/// The figure so many times as large.
pub(super) fn scaled(interval: Interval, factor: f64) -> Interval {
    Interval {
        mean: interval.mean * factor,
        low: interval.low * factor,
        high: interval.high * factor,
        ..interval
    }
}

/// Direction of the point's job, which has one.
fn direction(outcome: &Outcome) -> Direction {
    if outcome.job.mix.read > 0 { Direction::Read } else { Direction::Write }
}

fn cell(point: &Point) -> Cell {
    let outcome = &point.outcome;
    let ios = outcome.ios().max(1);
    Cell {
        name: CellName::from(point.label.clone()),
        direction: direction(outcome),
        bandwidth: scaled(outcome.iops, outcome.bytes().0 as f64 / ios as f64),
        iops: outcome.iops,
        latency_mean: Nanos(main_flow(outcome).latency.mean_ns() as u64),
        caveats: outcome.caveats.clone(),
    }
}

fn depth_one(point: &Point) -> Option<DepthOne> {
    let bins: &Bins = &main_flow(&point.outcome).latency;
    let (percentiles, _) = iostack_stats::supported_percentiles(bins, &PERCENTILES);
    (bins.count > 0).then(|| DepthOne {
        direction: direction(&point.outcome),
        samples: bins.count,
        mean: Nanos(bins.mean_ns() as u64),
        percentiles,
        max: Nanos(bins.max_ns),
    })
}

/// The points of each series, in the order in which the series first appear.
pub(crate) fn by_series(points: &[Point]) -> Vec<(&Series, Vec<&Point>)> {
    let mut curves: Vec<(&Series, Vec<&Point>)> = Vec::new();
    for point in points {
        match curves.iter_mut().find(|(series, _)| **series == point.series) {
            Some((_, curve)) => curve.push(point),
            None => curves.push((&point.series, vec![point])),
        }
    }
    curves
}

fn saturation(points: &[Point]) -> Vec<Saturation> {
    by_series(points)
        .into_iter()
        .map(|(series, curve)| {
            let throughput: Vec<(f64, Interval)> =
                curve.iter().map(|point| (point.x, point.outcome.iops)).collect();
            let knee = iostack_stats::knee(&throughput, SATURATED_WITHIN);
            let iops_max = throughput.iter().map(|(_, iops)| iops.mean).fold(0.0, f64::max);
            let one = curve.iter().find(|point| (point.x - 1.0).abs() < f64::EPSILON);
            let latency_one = one.map_or(0.0, |point| served_ns(&point.outcome));
            Saturation {
                series: series.clone(),
                depth: knee.map(|index| curve[index].x as u32),
                iops_max,
                parallelism: iops_max * latency_one / 1e9,
            }
        })
        .collect()
}

/// Mean latency of I/Os made one after the other, without the time in which their thread lacked a CPU: others had it.
fn served_ns(outcome: &Outcome) -> f64 {
    let without_cpu = outcome.cpu.waiting.0 as f64 / outcome.ios().max(1) as f64;
    (outcome.latency().mean_ns() - without_cpu).max(0.0)
}

fn cost(point: &Point) -> Option<Cost> {
    let cpu = &point.outcome.cpu;
    let ios = point.outcome.ios() as f64;
    let cpu_ns_per_io = point.outcome.cpu_ns_per_io()?;
    Some(Cost {
        label: format!("{}, {}", point.series, point.label),
        cpu_ns_per_io,
        clocks_per_io: cpu.clocks_per_io,
        iops_per_core: if cpu_ns_per_io > 0.0 { 1e9 / cpu_ns_per_io } else { 0.0 },
        syscalls_per_io: cpu.syscalls as f64 / ios,
        switches_per_io: (cpu.switches_voluntary + cpu.switches_involuntary) as f64 / ios,
    })
}
