//! Which curve answers which question?
//!
//! Turns outcomes into plots: anything over a step's axis, latency over throughput, percentiles, histogram, time.
//! A latency is a percentile with its interval from order statistics, a rate is the outcome's own interval.

use iostack_model::answers::Point;
use iostack_model::{Bins, Interval, Outcome};
use iostack_stats::quantile_interval;

use super::plot::{Axis, Look, Plot, Quantity, Scale, Series, Spot, slots};
use crate::lists::grouped;

/// Meaning of the bands around rates.
pub(crate) const RATE_BAND: &str = "band: 95 % interval of the mean";
/// Meaning of the bands around percentiles.
pub(crate) const RANK_BAND: &str = "band: 95 % interval from order statistics";

/// The points of one curve.
pub(crate) struct StepCurve<'a> {
    pub(crate) name: &'a str,
    pub(crate) slot: usize,
    pub(crate) points: Vec<&'a Point>,
}

/// The points by series, each series in order of x.
pub(crate) fn curves(points: &[Point]) -> Vec<StepCurve<'_>> {
    let series = grouped(points.iter().map(|point| (point.series.name(), point)));
    let names: Vec<&str> = series.iter().map(|(name, _)| *name).collect();
    let curves = series.into_iter().zip(slots(&names)).map(|((name, mut points), slot)| {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        StepCurve { name, slot, points }
    });
    curves.collect()
}

/// I/Os per second.
pub(crate) fn iops(outcome: &Outcome) -> Interval {
    if outcome.iops == Interval::default() { Interval::exact(outcome.rate()) } else { outcome.iops }
}

/// Bytes per second: the interval of the I/O rate, times the mean size.
pub(crate) fn bandwidth(outcome: &Outcome) -> Interval {
    let rate = iops(outcome);
    let size = outcome.bytes().0 as f64 / outcome.ios() as f64;
    if !size.is_finite() {
        return Interval::exact(outcome.bandwidth());
    }
    Interval { mean: rate.mean * size, low: rate.low * size, high: rate.high * size, ..rate }
}

/// A percentile with its interval where the samples allow one; not a number when nothing was measured.
pub(crate) fn quantile(bins: &Bins, fraction: f64) -> Interval {
    let alone = || Interval::exact(bins.quantile_ns(fraction).map_or(f64::NAN, |ns| ns as f64));
    quantile_interval(bins, fraction).unwrap_or_else(alone)
}

fn spot(point: &Point, x: f64, value: Interval) -> Spot {
    Spot {
        count: point.outcome.ios(),
        label: point.label.clone(),
        doubtful: point.outcome.caveats.iter().any(concerns_rate),
        ..Spot::of_interval(x, value)
    }
}

/// Too few samples for a far percentile say nothing about the rate or the median.
fn concerns_rate(caveat: &iostack_model::Caveat) -> bool {
    !matches!(caveat, iostack_model::Caveat::FewSamples { .. })
}

/// A ring around every point would single out none: then the caption alone tells.
fn ring_the_few(series: &mut [Series]) {
    let spots = || series.iter().flat_map(|series| &series.spots);
    if spots().filter(|spot| spot.doubtful).count() * 2 > spots().count() {
        let spots = series.iter_mut().flat_map(|series| &mut series.spots);
        spots.for_each(|spot| spot.doubtful = false);
    }
}

fn plot(heading: &str, x: Axis, y: Axis, mut series: Vec<Series>) -> Plot {
    ring_the_few(&mut series);
    Plot::new(heading, x, y, series)
}

/// A figure of each outcome over the step's axis.
pub(crate) fn over(
    curves: &[StepCurve<'_>],
    x: &Axis,
    y: Axis,
    heading: &str,
    value: impl Fn(&Outcome) -> Interval,
) -> Plot {
    let series = curves.iter().map(|StepCurve { name, slot, points }| {
        let spots = points.iter().map(|point| spot(point, point.x, value(&point.outcome)));
        Series::new(*name, *slot, Look::Line, spots)
    });
    plot(heading, x.clone(), y, series.collect())
}

/// Median and 99th percentile of each outcome against `x`.
fn latency_pairs(curves: &[StepCurve<'_>], x: impl Fn(&Point) -> f64) -> Vec<Series> {
    let looks = [("p50", 0.5, Look::Line), ("p99", 0.99, Look::Dashed)];
    let all = looks.iter().flat_map(|look| curves.iter().map(move |curve| (look, curve)));
    let series = |(&(percentile, fraction, look), curve): (&(&str, f64, Look), &StepCurve<'_>)| {
        let value = |point: &Point| quantile(&point.outcome.latency(), fraction);
        let spots = curve.points.iter().map(|point| spot(point, x(point), value(point)));
        Series::new(format!("{} {percentile}", curve.name), curve.slot, look, spots)
    };
    all.map(series).collect()
}

/// Median and 99th percentile over the step's axis.
pub(crate) fn latency_over(curves: &[StepCurve<'_>], x: &Axis, heading: &str) -> Plot {
    plot(heading, x.clone(), latency_axis(), latency_pairs(curves, |point| point.x))
}

/// Latency against throughput as depth grows: the price of each further I/O in flight.
pub(crate) fn latency_over_throughput(curves: &[StepCurve<'_>], heading: &str) -> Plot {
    let x = Axis::linear("throughput (I/Os per second)", Quantity::Count);
    let series = latency_pairs(curves, |point| iops(&point.outcome).mean);
    Plot { label_spots: true, ..plot(heading, x, latency_axis(), series) }
}

/// Latency in decades.
pub(crate) fn latency_axis() -> Axis {
    Axis::new("latency (time per I/O)", Quantity::Nanos, Scale::Log10)
}

/// A series of each histogram, by what `spots` reads from it.
fn of_bins(each: &[(&str, &Bins)], look: Look, spots: fn(&Bins) -> Vec<Spot>) -> Vec<Series> {
    let names: Vec<&str> = each.iter().map(|(name, _)| *name).collect();
    let series = each.iter().zip(slots(&names));
    series.map(|((name, bins), slot)| Series::new(*name, slot, look, spots(bins))).collect()
}

/// Latency over percentiles, as far as ten samples lie beyond.
pub(crate) fn percentiles(each: &[(&str, &Bins)], heading: &str) -> Plot {
    let series = of_bins(each, Look::Plain, percentile_spots);
    let x = Axis::new("percentile of I/Os (%)", Quantity::Percentile, Scale::Nines);
    plot(heading, x, latency_axis(), series)
}

/// Steps per nine of the percentile curve.
const STEPS_PER_NINE: u32 = 12;

fn percentile_spots(bins: &Bins) -> Vec<Spot> {
    if bins.count == 0 {
        return Vec::new();
    }
    // Ten samples beyond: the same rule by which percentiles are printed.
    let nines = (bins.count as f64 / 10.0).log10().clamp(0.0, 6.0);
    let steps = (nines * f64::from(STEPS_PER_NINE)).floor() as u32;
    let fractions = (0..=steps).map(|step| 1.0 - 10f64.powf(-f64::from(step) / f64::from(STEPS_PER_NINE)));
    fractions.map(|fraction| Spot::of_interval(fraction * 100.0, quantile(bins, fraction))).collect()
}

/// Share of the I/Os by latency, eight buckets to the octave.
pub(crate) fn histogram(each: &[(&str, &Bins)], heading: &str) -> Plot {
    let series = of_bins(each, Look::Area, histogram_spots);
    let x = Axis::new("latency (time per I/O)", Quantity::Nanos, Scale::Log10);
    let y = Axis::linear("share of I/Os in 1/8 octave (%)", Quantity::Percent);
    plot(heading, x, y, series)
}

/// Bins of the model that make one bar.
const MERGED: u32 = 8;

/// The outline of the bars: each is two points at its edges, gaps go down to 0.
fn histogram_spots(bins: &Bins) -> Vec<Spot> {
    let mut bars: Vec<(u32, u64)> = Vec::new();
    for &(index, count) in &bins.counts {
        match bars.last_mut() {
            Some((bar, sum)) if *bar == index / MERGED => *sum += count,
            _ => bars.push((index / MERGED, count)),
        }
    }
    let edge = |bar: u32| iostack_model::bin_range((bar * MERGED) as usize).0.max(1) as f64;
    let mut spots = Vec::new();
    let mut next = None;
    for (bar, count) in bars {
        let share = count as f64 / bins.count as f64 * 100.0;
        if next != Some(bar) {
            spots.extend(next.map(|next| Spot::at(edge(next), 0.0)));
            spots.push(Spot::at(edge(bar), 0.0));
        }
        spots.push(Spot { count, ..Spot::at(edge(bar), share) });
        spots.push(Spot { count, ..Spot::at(edge(bar + 1), share) });
        next = Some(bar + 1);
    }
    spots.extend(next.map(|next| Spot::at(edge(next), 0.0)));
    spots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(counts: &[(u64, u64)]) -> Bins {
        let mut all = Bins::default();
        for &(ns, count) in counts {
            all.merge(&Bins {
                counts: vec![(iostack_model::bin_index(ns) as u32, count)],
                count,
                sum_ns: ns * count,
                sum_squares_ns2: 0.0,
                min_ns: ns,
                max_ns: ns,
            });
        }
        all
    }

    #[test]
    fn the_histogram_adds_up_to_all_ios() {
        let spots = histogram_spots(&bins(&[(80_000, 900), (82_000, 90), (4_000_000, 10)]));
        let sum: f64 = spots.iter().filter(|spot| spot.count > 0).map(|spot| spot.y).sum::<f64>() / 2.0;
        assert!((sum - 100.0).abs() < 1e-9, "{sum}");
        assert!(spots.windows(2).all(|pair| pair[0].x <= pair[1].x));
        assert_eq!(spots.first().map(|spot| spot.y), Some(0.0));
        assert_eq!(spots.last().map(|spot| spot.y), Some(0.0));
    }

    #[test]
    fn the_percentile_curve_ends_where_ten_samples_remain() {
        let spots = percentile_spots(&bins(&[(80_000, 9_000), (400_000, 1_000)]));
        let last = spots.last().expect("ten thousand samples have a curve");
        assert!((last.x - 99.9).abs() < 1e-9, "{}", last.x);
        assert!(last.y > 390_000.0 && spots[0].y < 82_000.0);
        assert!(percentile_spots(&Bins::default()).is_empty());
    }

    #[test]
    fn nothing_measured_is_not_a_latency_of_zero() {
        assert!(quantile(&Bins::default(), 0.5).mean.is_nan());
    }
}
