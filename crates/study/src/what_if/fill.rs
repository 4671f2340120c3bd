//! Which job makes something full?
//!
//! 4 KiB random reads from enough threads that every core and every drive has work, a few deep at first and deeper until a
//! resource is used up. The job has no end: it is run in steady state.

use std::sync::atomic::AtomicBool;

use iostack_model::Outcome;
use iostack_sim::run::RunOptions;
use iostack_sim::sheet::Sheet;
use iostack_targets::gather;

use super::steady;

/// Depths that are tried, each thread's.
const DEPTHS: [u64; 3] = [32, 128, 512];
/// From this busy share on a resource is used up.
const FULL: f64 = 0.9;

/// Options of a job that fills some resource of the first sheet, as good as can be; `sheets` are all that will run it,
/// `more` are options that hold besides.
pub(crate) fn options(
    sheets: &[Sheet],
    more: &[(String, String)],
    stop: &AtomicBool,
) -> Vec<(String, String)> {
    let threads = threads(sheets);
    let tried = |depth| with(job(threads, depth), more);
    let last = tried(DEPTHS[DEPTHS.len() - 1]);
    let Some(sheet) = sheets.first() else { return last };
    DEPTHS.into_iter().map(tried).find(|options| fills(sheet, options, stop)).unwrap_or(last)
}

/// The first of those that are tried.
pub(crate) fn plain(sheets: &[Sheet], more: &[(String, String)]) -> Vec<(String, String)> {
    with(job(threads(sheets), DEPTHS[0]), more)
}

fn with(mut options: Vec<(String, String)>, more: &[(String, String)]) -> Vec<(String, String)> {
    options.retain(|(key, _)| more.iter().all(|(other, _)| other != key));
    options.extend_from_slice(more);
    crate::sweep::plan::in_order(&mut options);
    options
}

/// Enough threads for every core and every drive, the same number at each drive.
fn threads(sheets: &[Sheet]) -> u64 {
    let most = |key: &str| sheets.iter().map(|sheet| number(sheet, key)).max().unwrap_or(1);
    let (cores, drives) = (most("platform.cores"), most("platform.drives"));
    cores.max(drives).div_ceil(drives) * drives
}

fn number(sheet: &Sheet, key: &str) -> u64 {
    let has = sheet.kind.parameters.iter().any(|parameter| parameter.key == key);
    if has { sheet.count(key).unwrap_or(1).max(1) } else { 1 }
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

fn fills(sheet: &Sheet, options: &[(String, String)], stop: &AtomicBool) -> bool {
    let Ok(gathered) = gather::gather(&[], &[], options, false, 1) else { return false };
    let seen = steady::glance(sheet, &gathered.jobs[0], &RunOptions { stop, ..RunOptions::seeded(1) });
    seen.is_ok_and(|outcome| is_full(&outcome))
}

/// True when a resource of the run is used up.
pub(crate) fn is_full(outcome: &Outcome) -> bool {
    let Some(inside) = &outcome.inside else { return false };
    inside.resources.iter().any(|each| each.busiest >= FULL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheets(names: &[&str]) -> Vec<Sheet> {
        names.iter().map(|name| Sheet::load(name, &[]).expect("built in")).collect()
    }

    #[test]
    fn it_fills_the_first_resource_that_can_be_filled() {
        let stop = AtomicBool::new(false);
        let options = options(&sheets(&["x25e"]), &[], &stop);
        let depth = options.iter().find(|(key, _)| key == "queue_depth").map(|(_, value)| value.as_str());
        assert_eq!(depth, Some("32"), "{options:?}");
        assert!(fills(&sheets(&["x25e"])[0], &options, &stop));
        // Nothing of it can be full: the deepest is tried and kept.
        let none = super::options(&sheets(&["zero"]), &[], &stop);
        assert!(none.contains(&("queue_depth".to_owned(), "512".to_owned())), "{none:?}");
    }
}
