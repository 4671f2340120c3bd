//! Which job makes something full?
//!
//! 4 KiB random reads from enough threads that every core and every drive has work, a few deep at first and deeper until a
//! resource is used up. The job has no end: it is run in steady state.

use iostack_model::Outcome;
use iostack_target::{Audience, Description, Target};
use iostack_workload::gather;

use super::steady;

/// Depths that are tried, each thread's.
const DEPTHS: [u64; 3] = [32, 128, 512];
/// Busy share from which on a resource is used up.
const FULL: f64 = 0.9;

/// Options of a job that fills some resource of the target, as good as can be; `sheets` are all that will run it,
/// `more` are options that hold besides.
pub(crate) fn options(
    target: &dyn Target,
    sheets: &[Description],
    more: &[(String, String)],
    audience: &dyn Audience,
) -> Vec<(String, String)> {
    let threads = threads(sheets);
    let tried = |depth| with(job(threads, depth), more);
    let last = tried(DEPTHS[DEPTHS.len() - 1]);
    DEPTHS.into_iter().map(tried).find(|options| fills(target, options, audience)).unwrap_or(last)
}

/// The first of those that are tried.
pub(crate) fn plain(sheets: &[Description], more: &[(String, String)]) -> Vec<(String, String)> {
    with(job(threads(sheets), DEPTHS[0]), more)
}

fn with(mut options: Vec<(String, String)>, more: &[(String, String)]) -> Vec<(String, String)> {
    options.retain(|(key, _)| more.iter().all(|(other, _)| other != key));
    options.extend_from_slice(more);
    crate::sweep::plan::in_order(&mut options);
    options
}

/// Enough threads for every core and every drive, the same number at each drive.
fn threads(sheets: &[Description]) -> u64 {
    let most = |key: &str| sheets.iter().map(|sheet| number(sheet, key)).max().unwrap_or(1);
    let (cores, drives) = (most("platform.cores"), most("platform.drives"));
    cores.max(drives).div_ceil(drives) * drives
}

fn number(sheet: &Description, key: &str) -> u64 {
    let value = sheet.number(key).and_then(|number| number.value);
    value.map_or(1, |value| (value as u64).max(1))
}

fn job(threads: u64, depth: u64) -> Vec<(String, String)> {
    let pair = |key: &str, value: String| (key.to_owned(), value);
    let mut options = vec![
        pair("pattern", "random".to_owned()),
        pair("block_size", "4k".to_owned()),
        pair("engine", "libaio".to_owned()),
        pair("queue_depth", depth.to_string()),
    ];
    if threads > 1 {
        options.push(pair("threads", threads.to_string()));
    }
    options
}

fn fills(target: &dyn Target, options: &[(String, String)], audience: &dyn Audience) -> bool {
    let Ok(gathered) = gather::gather(&[], &[], options, false, 1) else { return false };
    steady::glance(target, &gathered.jobs[0], audience).is_ok_and(|outcome| is_full(&outcome))
}

/// True when a resource of the run is used up.
pub(crate) fn is_full(outcome: &Outcome) -> bool {
    let Some(inside) = &outcome.inside else { return false };
    inside.resources.iter().any(|each| each.busiest >= FULL)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use iostack_sim::targets::Simulations;
    use iostack_target::{AnyTarget, Targets as _};

    use super::*;

    #[test]
    fn it_fills_the_first_resource_that_can_be_filled() {
        let stop = AtomicBool::new(false);
        let open = |name| Simulations.open(Some(name), &[]).expect("built in");
        let of = |target: &AnyTarget| options(&**target, &[target.describe().clone()], &[], &stop);
        let target = open("x25e");
        let options = of(&target);
        let depth = options.iter().find(|(key, _)| key == "queue_depth").map(|(_, value)| value.as_str());
        assert_eq!(depth, Some("32"), "{options:?}");
        assert!(fills(&*target, &options, &stop));
        // Nothing of it can be full: the deepest is tried and kept.
        let none = of(&open("zero"));
        assert!(none.contains(&("queue_depth".to_owned(), "512".to_owned())), "{none:?}");
    }
}
