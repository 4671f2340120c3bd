//! How did it go over time?
//!
//! The series of an outcome as two figures that share their axis: rates above, latency below. Change points are
//! marked in both. A very long series is thinned by joining elements, and the caption says so.

use iostack_model::{Caveat, Direction, IntervalFlow, Nanos, Outcome};

use super::figures::latency_axis;
use super::numbers::significant;
use super::plot::{Axis, Look, Plot, PlotMark, Quantity, Series, Spot};
use crate::inside::falls;

/// Elements drawn at most; more than a screen has columns to show.
const ELEMENTS: usize = 400;

/// Rates and latency over time, and what a point covers; `None` when the series is too short to be one.
pub(crate) fn over_time(outcome: &Outcome, what: &str) -> Option<(Plot, Plot, String)> {
    let (whole, length_ns) = elements(outcome)?;
    let each = format!("each point covers {}", Quantity::Nanos.show(length_ns as f64));
    let y = Axis::linear("IOPS (I/Os per second)", Quantity::Count);
    let rates = plot(outcome, what, y, amounts(&whole, |element, slot| element.ios[slot] as f64));
    let heading = format!("{what}: p50 and p99 in the same time");
    Some((rates, plot(outcome, &heading, latency_axis(), latencies(&whole)), each))
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
    let (whole, _) = elements(outcome)?;
    let mut series = amounts(&whole, |element, slot| element.bytes[slot] as f64);
    series.iter_mut().flat_map(|series| &mut series.spots).for_each(|spot| spot.count = 0);
    let y = Axis::linear("bandwidth (bytes per second)", Quantity::Bandwidth);
    Some(plot(outcome, "Bandwidth over time", y, series))
}

fn plot(outcome: &Outcome, heading: &str, y: Axis, series: Vec<Series>) -> Plot {
    let x = Axis::linear("time since the start of measuring (s)", Quantity::Seconds);
    Plot { marks: marks(outcome), ..Plot::new(heading, x, y, series) }
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
            let series = Series::new(name, 5, Look::Plain, spots);
            let y = Axis::linear(&gauge.name, Quantity::Count);
            let heading = format!("Meanwhile in the device: {}", gauge.name);
            Plot { wide: true, ..plot(outcome, &heading, y, vec![series]) }
        })
        .collect()
}

/// Marks where the rate fell and something had run out, else where the series alone shows a change.
fn marks(outcome: &Outcome) -> Vec<PlotMark> {
    let mark = |at: Nanos, what: String, before: f64, after: f64| {
        let label = format!("{what}: {} %", significant((after / before - 1.0) * 100.0));
        PlotMark { x: at.as_secs_f64(), label, slot: None, leftward: false }
    };
    let falls = outcome.inside.as_ref().map_or_else(Vec::new, |inside| falls(outcome, inside));
    if !falls.is_empty() {
        return falls.iter().map(|fall| mark(fall.at, fall.what(), fall.before, fall.after)).collect();
    }
    let changes = outcome.caveats.iter().filter_map(|caveat| {
        let (word, at, before, after) = match *caveat {
            Caveat::Cliff { at, before, after } => ("cliff", at, before, after),
            Caveat::RateStep { at, before, after } => ("step", at, before, after),
            _ => return None,
        };
        Some(mark(at, format!("{word} at {} s", significant(at.as_secs_f64())), before, after))
    });
    changes.collect()
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

/// An amount per second of each direction that did something.
fn amounts(elements: &[IntervalFlow], amount: fn(&IntervalFlow, usize) -> f64) -> Vec<Series> {
    let used = |slot: &usize| elements.iter().any(|element| element.ios[*slot] > 0);
    let series = (0..3).filter(used).map(|slot| {
        let spot = |element: &IntervalFlow| Spot {
            count: element.ios[slot],
            ..Spot::at(middle(element), amount(element, slot) / element.length.as_secs_f64())
        };
        Series::new(Direction::ALL[slot].name(), slot, Look::Plain, elements.iter().map(spot))
    });
    series.collect()
}

fn latencies(elements: &[IntervalFlow]) -> Vec<Series> {
    let series = |name: &str, slot: usize, look: Look, value: fn(&IntervalFlow) -> u64| {
        // A slice without I/O has no latency; that is a gap, not a zero.
        let time = |element: &IntervalFlow| match element.ios {
            [0, 0, 0] => f64::NAN,
            _ => value(element) as f64,
        };
        let spots = elements.iter().map(|element| Spot::at(middle(element), time(element)));
        Series::new(name, slot, look, spots)
    };
    vec![
        series("p50", 3, Look::Plain, |element| element.p50.0),
        series("p99", 4, Look::PlainDashed, |element| element.p99.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let rates = amounts(&[element(0, 5), element(1, 0)], |element, slot| element.ios[slot] as f64);
        assert!(rates[0].spots[1].y.abs() < 1e-12);
    }

    #[test]
    fn joining_keeps_every_io_and_the_worst_tail() {
        let slow = IntervalFlow { p99: Nanos(9_000), ..element(1, 3) };
        let all = join(&[element(0, 1), slow]);
        assert_eq!((all.ios[0], all.p99, all.length), (4, Nanos(9_000), Nanos::secs(2)));
        assert_eq!(all.p50, Nanos(250));
    }
}
