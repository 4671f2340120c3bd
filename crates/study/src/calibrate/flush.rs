//! What does a flush cost? What loads that flush take beyond the way of their writes, as the sheet without it has that.

use super::points::Point;

/// Rates are expected to be off by so much.
const OFF: f64 = 0.05;
/// A flush through a file system that takes so many times longer writes more than data.
const LONGER: f64 = 1.15;

/// Time of a flush and the ends of its interval, ns: from rates of a sheet whose flushes take `delay`. `fdatasync` alone where there is some, since a
/// file system's `fsync` writes more.
pub(crate) fn time(points: &[Point], delay: f64, without: &[f64]) -> (f64, (f64, f64)) {
    let has_data = points.iter().any(|point| point.sync.fdatasync_every > 0);
    let kept = points.iter().zip(without).filter(|(point, _)| (point.sync.fdatasync_every > 0) == has_data);
    let times: Vec<[f64; 3]> =
        kept.map(|(point, &without)| times(point, without).map(|more| delay + more)).collect();
    let mean = times.iter().map(|[_, time, _]| time).sum::<f64>() / times.len().max(1) as f64;
    let low = times.iter().map(|times| times[0]).fold(f64::INFINITY, f64::min);
    let high = times.iter().map(|times| times[2]).fold(0.0, f64::max);
    (mean.max(1.0), (low.clamp(1.0, mean.max(1.0)), high.max(1.0)))
}

/// More time of a flush of a point: if it were a little faster, as it is, a little slower.
fn times(point: &Point, without: f64) -> [f64; 3] {
    let writes = f64::from(point.sync.fsync_every.max(point.sync.fdatasync_every) * point.load.4);
    [1.0 + OFF, 1.0, 1.0 - OFF].map(|off| 1e9 * writes * (1.0 / (off * point.iops) - 1.0 / without))
}

/// Sentences: how far off are these loads, once the sheet has the time?
pub(crate) fn told(points: &[Point], rates: &[f64]) -> Vec<String> {
    let mut said = Vec::new();
    let mean = |of_data: bool| {
        let own = points.iter().filter(|point| (point.sync.fdatasync_every > 0) == of_data);
        let times: Vec<f64> = own.map(|point| 1e9 / point.iops).collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    };
    if let (Some(whole), Some(data)) = (mean(false), mean(true))
        && whole > LONGER * data
    {
        said.push(format!(
            "fsync takes {:.0} us more than fdatasync: the file system writes more for it, and the sheet has fdatasync's.",
            (whole - data) / 1e3
        ));
    }
    let off =
        points.iter().zip(rates).map(|(point, rate)| (rate / point.iops - 1.0).abs()).fold(0.0, f64::max);
    said.push(format!(
        "Loads that flush, {} points that the time of a flush is fitted to: off by {:.1} % of IOPS at worst.",
        points.len(),
        100.0 * off
    ));
    said
}
