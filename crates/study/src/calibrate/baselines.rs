//! What would a simpler model have said? A closed network of four numbers, and a roofline, each fitted to one curve.

use super::least::least_squares;
use super::network::{Station, rate};
use super::points::Point;

/// Points of one pattern and size, over what is in flight.
fn curve<'a>(points: &'a [Point], of: &Point) -> Vec<&'a Point> {
    let key = |point: &Point| (point.load.0, point.load.1, point.load.2);
    let mut curve: Vec<&Point> =
        points.iter().filter(|point| !point.held_out && key(point) == key(of)).collect();
    curve.sort_by_key(|point| point.in_flight());
    curve
}

/// Rate of a point by both, from the rest of its curve: the network needs three depths, the roofline two.
pub(crate) fn predict(points: &[Point], point: &Point) -> (Option<f64>, Option<f64>) {
    let curve = curve(points, point);
    let mut depths: Vec<u32> = curve.iter().map(|point| point.in_flight()).collect();
    depths.dedup();
    let network = (depths.len() >= 3).then(|| network(&curve, point.in_flight()));
    (network, (depths.len() >= 2).then(|| roofline(&curve, point.in_flight())))
}

/// Requests in flight over the latency of the shallowest point, up to the highest rate.
fn roofline(curve: &[&Point], in_flight: u32) -> f64 {
    let first = curve[0];
    let most = curve.iter().map(|point| point.iops).fold(0.0, f64::max);
    (first.iops * f64::from(in_flight) / f64::from(first.in_flight())).min(most)
}

/// Think time, service of a die, dies and controller, fitted by mean value analysis.
fn network(curve: &[&Point], in_flight: u32) -> f64 {
    let first = curve[0];
    let alone = 1e9 * f64::from(first.in_flight()) / first.iops;
    let most = curve.iter().map(|point| point.iops).fold(0.0, f64::max) / 1e9;
    let iops = |logs: &[f64], in_flight: u32| {
        let [think, die, dies, controller] = [0, 1, 2, 3].map(|index| logs[index].clamp(-7.0, 25.0).exp());
        let dies = Station { service: die, servers: dies.max(1.0), used: 1.0, pooled: false };
        1e9 * rate(&[dies, Station::one(controller)], think, in_flight, false)
    };
    let residuals = |logs: &[f64]| {
        curve.iter().map(|point| (iops(logs, point.in_flight()) / point.iops).ln()).collect::<Vec<_>>()
    };
    let start = |die: f64, controller: f64| {
        [(1.0 - die) * alone, die * alone, (die * alone * most).max(1.5), controller / most].map(f64::ln)
    };
    let starts = [start(0.9, 0.3), start(0.5, 0.3), start(0.2, 0.95), start(0.5, 0.9)];
    let fits = starts.map(|start| least_squares(&start, &[0, 1, 2, 3], 60, &residuals));
    let best = fits.iter().min_by(|a, b| a.sum.total_cmp(&b.sum));
    best.map_or(0.0, |fit| iops(&fit.at, in_flight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Engine;

    fn point(depth: u32, iops: f64, held_out: bool) -> Point {
        Point {
            file: "a".to_owned(),
            load: (100, false, 4096, depth, 1),
            engine: Engine::Libaio,
            sync: iostack_model::Sync::default(),
            iops,
            quantiles: None,
            cpu: None,
            region: None,
            sleeps: 1.0,
            held_out,
        }
    }

    #[test]
    fn each_answers_its_own_curve_and_none_without_points() {
        let dies = Station { service: 80_000.0, servers: 16.0, used: 1.0, pooled: false };
        let iops = |depth| 1e9 * rate(&[dies, Station::one(2000.0)], 10_000.0, depth, false);
        let points: Vec<Point> =
            [1, 2, 8, 32, 128].map(|depth| point(depth, iops(depth), depth == 8)).into_iter().collect();
        let (network, roofline) = predict(&points, &points[2]);
        assert!(network.is_some_and(|found| (found / iops(8) - 1.0).abs() < 0.03), "{network:?} {}", iops(8));
        assert!(roofline.is_some_and(|found| (found / (8.0 * iops(1)) - 1.0).abs() < 1e-9), "{roofline:?}");
        assert_eq!(predict(&points[2..3], &points[2]), (None, None));
    }
}
