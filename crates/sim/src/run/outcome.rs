//! What came of it? Puts together what the board and the world hold.

use std::path::PathBuf;

use crate::sheet::{Sheet, SourceTally};
use iostack_model::{
    Bytes, Caveat, CpuUse, FlashUse, Inside, Interval, Job, Nanos, Outcome, ResourceUse, TargetKind,
    TargetName,
};

use super::SimError;
use super::group::{Group, GroupEnd};
use super::{doubts, limit};
use crate::engine::{Part, World, alike};

/// The device that answered, as the outcome says it.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Description of the device, and nothing yet of what happened in it.
    pub inside: Inside,
    /// Counts of its numbers by what they rest on.
    pub tally: SourceTally,
}

impl About {
    /// Describes a device with a sheet.
    pub fn of(sheet: &Sheet) -> About {
        let key = format!("{}.state", sheet.kind.name);
        let state = sheet.kind.parameters.iter().find(|parameter| parameter.key == key);
        let inside = Inside {
            device: sheet.name.clone(),
            title: sheet.title.clone(),
            origin: sheet.origin.clone(),
            changed: sheet.changed.clone(),
            state: state.and_then(|state| sheet.word(state.key).ok()).unwrap_or_default().to_owned(),
            ..Inside::default()
        };
        About { inside, tally: sheet.tally() }
    }
}

/// Events inside drives that somebody else's requests drive, since [`World::begin`]; `sheet` is of the first.
pub fn inside_of(sheet: &Sheet, seed: u64, worlds: &[&World], outcome: &Outcome) -> Inside {
    let flash: Vec<FlashUse> = worlds.iter().flat_map(|world| world.flash()).collect();
    let mut inside = Inside {
        seed,
        capacity: Bytes(worlds.iter().filter_map(|world| world.shape()).map(|shape| shape.capacity.0).sum()),
        events: worlds.iter().map(|world| world.events()).sum(),
        resources: alike(worlds.iter().flat_map(|world| world.resources()).collect()),
        flash: together(&flash),
        raid: worlds.iter().filter_map(|world| world.raid()).reduce(|all, each| all.with(&each)),
        ..About::of(sheet).inside
    };
    inside.limit = limit::limiting_resource(outcome, &inside);
    inside
}

/// The outcome of a report group.
///
/// # Panics
/// When a law of every simulation is broken; see the module.
pub(super) fn assemble(
    mut group: Group<'_>,
    world: &World,
    about: &About,
    seed: u64,
) -> Result<Outcome, SimError> {
    let GroupEnd { elapsed, resources, flash, raid, gauges, events, host } =
        group.ended.take().expect("a stage runs until all its groups have ended");
    let totals = group.board.finish(elapsed, gauges);
    check_utilisation(&resources);
    let (threads, slice) = (group.jobs.iter().map(|job| job.threads).sum(), group.board.slice);
    let load = group.load(elapsed, totals.flown);
    let [read, write, trim] = totals.flows;
    let mut outcome = Outcome {
        job: Job { threads, slice, ..group.jobs[0].clone() },
        target: TargetName { kind: TargetKind::Sim, path: PathBuf::from(&about.inside.device) },
        elapsed,
        read,
        write,
        trim,
        sync: totals.sync,
        series: totals.series,
        heat: totals.heat,
        depth_achieved: if elapsed.0 == 0 { 0.0 } else { totals.flown as f64 / elapsed.0 as f64 },
        ..group.outcome
    };
    outcome.iops = iops(&outcome);
    let mut inside = Inside {
        seed,
        capacity: world.shape().expect("asked before").capacity,
        requests: group.requests,
        events,
        flows: totals.inside,
        resources,
        flash: together(&flash),
        raid,
        gauges: totals.gauges,
        host,
        ..about.inside.clone()
    };
    inside.limit = limit::limiting_resource(&outcome, &inside);
    inside.load = load;
    outcome.cpu = cpu(&inside, outcome.ios());
    outcome.inside = Some(inside);
    outcome.caveats = caveats(&outcome, world, about);
    stable(outcome, group.late)
}

/// Use of processors as an observer on the simulated machine would have seen it; nothing where the host costs nothing. Of
/// the busiest core no more is known than that it ran the busiest thread, or interrupts.
fn cpu(inside: &Inside, ios: u64) -> CpuUse {
    let Some(host) = &inside.host else { return CpuUse::default() };
    let cores = inside.resources.iter().find(|each| each.name == "core");
    let (busy, busiest) = cores.map_or((0.0, 0.0), |cores| (cores.busy, cores.busiest));
    CpuUse {
        system: Nanos((host.clocks_per_io * ios as f64 / host.clock_hz * 1e9) as u64),
        switches_voluntary: host.switches,
        busiest_thread: busiest,
        wanted: busiest,
        clocks_per_io: host.clocks_per_io,
        machine_busy: busy,
        ..CpuUse::default()
    }
}

/// The outcome, unless the I/Os of an open loop waited longer and longer.
fn stable(outcome: Outcome, late: Option<Nanos>) -> Result<Outcome, SimError> {
    match (late, iostack_doubt::rate_missed::missed(&outcome)) {
        (Some(late), Some((asked, achieved))) if !outcome.interrupted => {
            Err(SimError::Unstable { job: outcome.job.name, asked, achieved, late })
        }
        _ => Ok(outcome),
    }
}

fn caveats(outcome: &Outcome, world: &World, about: &About) -> Vec<Caveat> {
    let formulas: Vec<String> = world.parts().filter_map(Part::state_by_formula).collect();
    doubts::caveats_of_outcome(outcome, about, &formulas)
}

fn check_utilisation(resources: &[ResourceUse]) {
    for each in resources {
        let busiest = each.busiest;
        assert!(busiest <= 1.0 + 1e-9, "a resource, `{}`, was busy for {busiest} of the time", each.name);
    }
}

/// Mean and interval from the series; exact where the run was too short for one. Of a run of less than seconds the mean is
/// that of the whole, also of its last part.
fn iops(outcome: &Outcome) -> Interval {
    let interval = iostack_stats::series_interval(&outcome.series);
    if interval.samples < 3 {
        return Interval::exact(outcome.rate());
    }
    if outcome.elapsed >= Nanos::secs(3) || outcome.job.runtime.is_some() {
        return interval;
    }
    let more = outcome.rate() - interval.mean;
    let low = (interval.low + more).max(0.0);
    Interval { mean: outcome.rate(), low, high: interval.high + more, ..interval }
}

/// Several drives behind one controller, as one.
fn together(each: &[FlashUse]) -> Option<FlashUse> {
    let mut sum = each.first()?.clone();
    for other in &each[1..] {
        let blocks = (sum.blocks + other.blocks).max(1) as f64;
        let weighed = |a: f64, b: f64| (a * sum.blocks as f64 + b * other.blocks as f64) / blocks;
        sum.wear_mean = weighed(sum.wear_mean, other.wear_mean);
        sum.over_provisioning = weighed(sum.over_provisioning, other.over_provisioning);
        sum.bytes_host = sum.bytes_host + other.bytes_host;
        sum.pages_host += other.pages_host;
        // In pages of the first: drives of different pages may share a controller.
        sum.pages_programmed += other.pages_programmed * other.page.0 / sum.page.0.max(1);
        sum.pages_moved += other.pages_moved;
        sum.pages_merged += other.pages_merged;
        sum.erases += other.erases;
        sum.blocks += other.blocks;
        sum.blocks_free += other.blocks_free;
        sum.pages_mapped += other.pages_mapped;
        sum.wear_min = sum.wear_min.min(other.wear_min);
        sum.wear_max = sum.wear_max.max(other.wear_max);
    }
    Some(sum.with_factors())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::Bytes;

    #[test]
    fn two_drives_add_up() {
        let drive = |host: u64, programmed: u64| FlashUse {
            page: Bytes(4096),
            bytes_host: Bytes(host * 2 * 4096),
            pages_host: host,
            pages_programmed: programmed,
            ..FlashUse::default()
        };
        let one = FlashUse { wear_min: 2, ..drive(100, 300) };
        let two = FlashUse { wear_max: 9, ..drive(300, 300) };
        let both = together(&[one, two]).expect("two");
        assert_eq!((both.pages_host, both.wear_min, both.wear_max), (400, 0, 9));
        assert!((both.collector_amplification - 1.5).abs() < 1e-12);
        assert!((both.write_amplification - 0.75).abs() < 1e-12);
        assert_eq!(together(&[]), None);
    }
}
