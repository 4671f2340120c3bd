//! What does a probe add? Its curves are points, and some of its findings are numbers that no short load shows.

use iostack_model::answers::{Probe, ProbeFinding};
use iostack_model::{Direction, Engine, Interval, Sync};

use super::points::{Gathered, Load, Point};
use crate::probe::measure::{DEPTH_EACH, THREADS_MOST};

/// Depth of the bursts that a probe writes.
const BURST: u32 = 32;

/// Adds the points of a probe; what it does not have, or is not known, is passed over.
pub(crate) fn read(file: &str, probe: &Probe, gathered: &mut Gathered) {
    gathered.caveats(file, &probe.caveats);
    gathered.storage(file, &probe.storage);
    let cores = probe.machine.cpu.cores_usable.max(1);
    let point = |load: Load, iops: f64| Point {
        file: file.to_owned(),
        load,
        engine: Engine::IO_URING,
        sync: Sync::default(),
        iops,
        quantiles: None,
        cpu: None,
        region: Some(probe.region.0),
        sleeps: 1.0,
        held_out: false,
    };
    for finding in probe.findings.iter().filter(|finding| finding.key.starts_with("parallelism.")) {
        for spot in finding.curve.points.iter().filter(|spot| spot.y.mean > 0.0 && spot.x >= 1.0) {
            let flight = spot.x as u32;
            let threads = (flight / DEPTH_EACH).clamp(1, THREADS_MOST.min(cores));
            let mut point = point((100, false, finding.request.0, flight / threads, threads), spot.y.mean);
            point.quantiles = if flight == 1 { alone(probe, finding) } else { None };
            gathered.points.push(point);
        }
    }
    if let Some(drain) = probe.finding("drain").filter(|drain| drain.request.0 > 0)
        && let Some(rate) = drain.value
    {
        let size = drain.request.0;
        gathered.points.push(point((0, false, size, BURST, 1), rate.mean / size as f64));
    }
    if let Some(flush) = probe.finding("flush")
        && let Some(durable) = flush.part("durable")
    {
        let sync = Sync { fdatasync_every: 1, ..Sync::default() };
        let alone = point((0, false, flush.request.0, 1, 1), 1e9 / durable.mean);
        gathered.flushes.push(Point { engine: Engine::Psync, sync, ..alone });
    }
    gathered.probe = Some((file.to_owned(), probe.clone()));
}

/// Latency of one read alone: a short one, median, 99th percentile, a long one.
fn alone(probe: &Probe, of: &ProbeFinding) -> Option<[f64; 4]> {
    let mut floors = probe.findings.iter().filter(|finding| finding.key.starts_with("latency."));
    let floor = floors.find(|floor| floor.request == of.request && floor.direction == Direction::Read)?;
    let at = |key: &str| floor.part(key).map(|part| part.mean);
    Some([at("p1")?, at("p50")?, at("p99")?, at("p99.9").or(at("p99"))?])
}

/// The value of a finding, or of a part of it, in the probe of a sheet's drive.
pub(crate) fn value<'a>(
    probe: Option<&'a (String, Probe)>,
    key: &str,
    part: Option<&str>,
) -> Option<(Interval, &'a str)> {
    let (file, probe) = probe?;
    let finding = probe.finding(key)?;
    let own = finding.value?;
    Some((part.map_or(Some(own), |part| finding.part(part))?, file))
}
