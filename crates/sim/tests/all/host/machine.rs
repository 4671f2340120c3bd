//! A platform whose clocks are round numbers.

use iostack_model::{Access, Engine, HostUse, Job, Mix, Outcome};
use iostack_sim::run::{RunOptions, run};
use iostack_sim::sheet::Sheet;

use crate::load::changed_sheet;

/// Clocks; all different, so that none can stand for another.
pub(crate) const SYSCALL: u64 = 1_000;
pub(crate) const SUBMIT: u64 = 2_000 + 3_100 + 1_300 + 1_700;
pub(crate) const COMPLETE: u64 = 610 + 1_100 + 1_900;
pub(crate) const INTERRUPT: u64 = 1_200 + 4_600;
/// Clocks of the adapter's driver: down, up, and for an interrupt.
pub(crate) const DRIVER: [u64; 3] = [1_700, 610, 4_600];
pub(crate) const SWITCH_OUT: u64 = 2_500;
pub(crate) const SWITCH_IN: u64 = 2_200;
pub(crate) const WAKE: u64 = 1_400;
pub(crate) const AIO: [u64; 2] = [300, 410];
pub(crate) const URING: [u64; 2] = [520, 230];
pub(crate) const FILE: u64 = 150;
pub(crate) const BUFFER: u64 = 270;
pub(crate) const RING: u64 = 190;
pub(crate) const LOOK: u64 = 180;

/// Keys and values that are changed of `x5570`.
pub(crate) fn round_numbers() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("data/round_numbers.txt").lines().filter_map(|line| line.split_once(' '))
}

/// The platform, changed.
pub(crate) fn sheet(changes: &[(&str, &str)]) -> Sheet {
    let is_kept = |(key, _): &(&str, &str)| changes.iter().all(|(changed, _)| **changed != **key);
    let mut all: Vec<(&str, &str)> = round_numbers().filter(is_kept).collect();
    all.extend(changes);
    changed_sheet("x5570", &all)
}

/// Random reads of 4 KiB.
pub(crate) fn reads(engine: Engine, threads: u32, queue_depth: u32, count: u64) -> Job {
    Job {
        access: Access::UNIFORM,
        mix: Mix::READ,
        engine,
        threads,
        queue_depth,
        io_count: Some(count),
        loops: u32::MAX,
        ..Job::default()
    }
}

pub(crate) fn outcome(sheet: &Sheet, job: &Job) -> Outcome {
    let ran = run(sheet, std::slice::from_ref(job), &RunOptions::seeded(1));
    ran.unwrap_or_else(|error| panic!("{error}")).outcomes.remove(0)
}

pub(crate) fn host(outcome: &Outcome) -> &HostUse {
    outcome.inside.as_ref().and_then(|inside| inside.host.as_ref()).expect("a platform")
}

pub(crate) fn busy(outcome: &Outcome, name: &str) -> f64 {
    let inside = outcome.inside.as_ref().expect("simulated");
    inside.resources.iter().find(|each| each.name == name).expect("it is there").busy
}
