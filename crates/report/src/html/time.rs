//! How did it go over time?
//!
//! The series of an outcome as two figures that share their axis: rates above, latency below. Change points are
//! marked in both. A very long series is thinned by joining elements, and the caption says so.

use iostack_model::{Caveat, Direction, IntervalFlow, Outcome};

use super::figures::latency_axis;
use super::numbers::{Quantity, significant};
use super::plot::{Axis, Look, Plot, PlotMark, Series, Spot};
use super::scale::Scale;
use crate::inside::falls;

/// Elements drawn at most; more than a screen has columns to show.
const ELEMENTS: usize = 400;

/// Rates and latency over time, and what a point covers; `None` when the series is too short to be one.
pub(crate) fn over_time(outcome: &Outcome, what: &str) -> Option<(Plot, Plot, String)> {
    let (whole, length_ns) = elements(outcome)?;
    let each = format!("each point covers {}", Quantity::Nanos.show(length_ns as f64));
    let rates = Plot { series: rates(&whole), ..empty(outcome, what, rate_axis()) };
    let heading = format!("{what}: p50 and p99 in the same time");
    let latency = Plot { series: latencies(&whole), ..empty(outcome, &heading, latency_axis()) };
    Some((rates, latency, each))
}

/// The series without a last element that was cut short, which would look like a collapse, joined where it is long;
/// and the length of an element.
fn elements(outcome: &Outcome) -> Option<(Vec<IntervalFlow>, u64)> {
    let typical_ns = outcome.series.iter().map(|element| element.length.0).max().filter(|&ns| ns > 0)?;
    let whole: Vec<IntervalFlow> =
        outcome.series.iter().filter(|element| element.length.0 * 2 >= typical_ns).copied().collect();
    if whole.len() < 2 {
        return None;
    }
    let joined = whole.len().div_ceil(ELEMENTS);
    let whole = if joined > 1 { whole.chunks(joined).map(join).collect() } else { whole };
    Some((whole, typical_ns * joined as u64))
}

/// Bandwidth over time; `None` where all requests have one size, for then it is the rate in another unit.
pub(crate) fn bandwidth_over_time(outcome: &Outcome) -> Option<Plot> {
    if outcome.job.block_sizes.smallest() == outcome.job.block_sizes.largest() {
        return None;
    }
    let (rates, ..) = over_time(outcome, "Bandwidth over time")?;
    let (whole, ..) = elements(outcome)?;
    let bytes =
        |element: &IntervalFlow, slot: usize| element.bytes[slot] as f64 / element.length.as_secs_f64();
    let series = rates.series.into_iter().map(|series| Series {
        spots: whole.iter().map(|element| Spot::at(middle(element), bytes(element, series.slot))).collect(),
        ..series
    });
    let y = Axis::new("bandwidth (bytes per second)", Quantity::Bandwidth, Scale::Linear);
    Some(Plot { series: series.collect(), y, ..rates })
}

fn rate_axis() -> Axis {
    Axis::new("IOPS (I/Os per second)", Quantity::Count, Scale::Linear)
}

fn empty(outcome: &Outcome, heading: &str, y: Axis) -> Plot {
    Plot {
        heading: heading.to_owned(),
        x: Axis::new("time since the start of measuring (s)", Quantity::Seconds, Scale::Linear),
        y,
        series: Vec::new(),
        marks: marks(outcome),
        label_spots: false,
        wide: false,
    }
}

/// Values of a simulated device over the same time; those that never change are left out.
pub(crate) fn gauges(outcome: &Outcome) -> Vec<Plot> {
    let Some((whole, _)) = elements(outcome) else { return Vec::new() };
    let stride = outcome.series.len().div_ceil(whole.len());
    let gauges = outcome.inside.iter().flat_map(|inside| &inside.gauges);
    gauges
        .filter(|gauge| gauge.values.windows(2).any(|pair| (pair[0] - pair[1]).abs() > 0.0))
        .map(|gauge| {
            let last = gauge.values.chunks(stride).filter_map(|chunk| chunk.last());
            let spots = whole.iter().zip(last).map(|(element, &value)| Spot::at(middle(element), value));
            // A short name, so that the axis ends where that of the rate does.
            let name = gauge.name.split(' ').next_back().unwrap_or_default().to_owned();
            let series = Series { name, slot: 5, look: Look::Plain, spots: spots.collect() };
            let y = Axis::new(gauge.name.clone(), Quantity::Count, Scale::Linear);
            let heading = format!("Meanwhile in the device: {}", gauge.name);
            Plot { series: vec![series], wide: true, ..empty(outcome, &heading, y) }
        })
        .collect()
}

/// Marks where the rate fell and something had run out, else where the series alone shows a change.
fn marks(outcome: &Outcome) -> Vec<PlotMark> {
    let falls = outcome.inside.as_ref().map_or_else(Vec::new, |inside| falls(outcome, inside));
    if falls.is_empty() {
        return outcome.caveats.iter().filter_map(mark).collect();
    }
    let each = falls.iter().map(|fall| PlotMark {
        x: fall.at.as_secs_f64(),
        label: format!("{}: {} %", fall.what(), significant((fall.after / fall.before - 1.0) * 100.0)),
        slot: None,
        leftward: false,
    });
    each.collect()
}

fn mark(caveat: &Caveat) -> Option<PlotMark> {
    let (word, at, before, after) = match caveat {
        Caveat::Cliff { at, before, after } => ("cliff", at, before, after),
        Caveat::RateStep { at, before, after } => ("step", at, before, after),
        _ => return None,
    };
    let change = significant((after / before - 1.0) * 100.0);
    Some(PlotMark {
        x: at.as_secs_f64(),
        label: format!("{word} at {} s: {change} %", significant(at.as_secs_f64())),
        slot: None,
        leftward: false,
    })
}

/// Sums of the counts; the median by weight, the largest of the tails.
fn join(elements: &[IntervalFlow]) -> IntervalFlow {
    let mut all = elements[0];
    let ios = |element: &IntervalFlow| element.ios.iter().sum::<u64>();
    let weighted: f64 = elements.iter().map(|element| element.p50.0 as f64 * ios(element) as f64).sum();
    let total: u64 = elements.iter().map(ios).sum();
    for element in &elements[1..] {
        all.length += element.length;
        all.waiting += element.waiting;
        for direction in 0..3 {
            all.ios[direction] += element.ios[direction];
            all.bytes[direction] += element.bytes[direction];
        }
        all.p99 = all.p99.max(element.p99);
        all.max = all.max.max(element.max);
    }
    all.p50.0 = if total == 0 { 0 } else { (weighted / total as f64) as u64 };
    all
}

fn middle(element: &IntervalFlow) -> f64 {
    element.start.as_secs_f64() + element.length.as_secs_f64() / 2.0
}

fn rates(elements: &[IntervalFlow]) -> Vec<Series> {
    let used = |slot: &usize| elements.iter().any(|element| element.ios[*slot] > 0);
    (0..3)
        .filter(used)
        .map(|slot| Series {
            name: Direction::ALL[slot].name().to_owned(),
            slot,
            look: Look::Plain,
            spots: elements
                .iter()
                .map(|element| {
                    let ios = element.ios[slot];
                    Spot {
                        count: ios,
                        ..Spot::at(middle(element), ios as f64 / element.length.as_secs_f64())
                    }
                })
                .collect(),
        })
        .collect()
}

fn latencies(elements: &[IntervalFlow]) -> Vec<Series> {
    // A slice without I/O has no latency; that is a gap, not a zero.
    let time = |ns: u64, element: &IntervalFlow| {
        if element.ios.iter().all(|&ios| ios == 0) { f64::NAN } else { ns as f64 }
    };
    let series = |name: &str, slot: usize, look: Look, value: fn(&IntervalFlow) -> u64| Series {
        name: name.to_owned(),
        slot,
        look,
        spots: elements
            .iter()
            .map(|element| Spot::at(middle(element), time(value(element), element)))
            .collect(),
    };
    vec![
        series("p50", 3, Look::Plain, |element| element.p50.0),
        series("p99", 4, Look::PlainDashed, |element| element.p99.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Nanos;

    fn element(second: u64, ios: u64) -> IntervalFlow {
        IntervalFlow {
            start: Nanos::secs(second),
            length: Nanos::secs(1),
            ios: [ios, 0, 0],
            p50: Nanos(100 * ios),
            p99: Nanos(1_000),
            ..IntervalFlow::default()
        }
    }

    #[test]
    fn a_slice_without_ios_is_a_gap_in_latency() {
        let series = latencies(&[element(0, 5), element(1, 0)]);
        assert!(series[0].spots[0].y > 0.0 && series[0].spots[1].y.is_nan());
        assert!(rates(&[element(0, 5), element(1, 0)])[0].spots[1].y.abs() < 1e-12);
    }

    #[test]
    fn joining_keeps_every_io_and_the_worst_tail() {
        let slow = IntervalFlow { p99: Nanos(9_000), ..element(1, 3) };
        let all = join(&[element(0, 1), slow]);
        assert_eq!((all.ios[0], all.p99, all.length), (4, Nanos(9_000), Nanos::secs(2)));
        assert_eq!(all.p50, Nanos(250));
    }
}
