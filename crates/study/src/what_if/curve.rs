//! What does a drive do as the load grows, which part of it stops it, and after how many written bytes does it change?
//!
//! Each point is a run of its own, a command. What a drive does after terabytes is asked of a smaller one that was written so:
//! as many dies, the same share of spare flash, smaller blocks.

use iostack_model::answers::CurvePoint;
use iostack_model::{Bytes, Inside, Limiting};
use iostack_target::{Audience, Description, Targets};

use super::one_run::OneRun;

/// Words, pattern, per cent of reads, size, in flight.
type Load = (&'static str, &'static str, u32, &'static str, u32);

/// Loads that any drive takes.
const LOADS: [Load; 11] = [
    ("random read", "random", 100, "4k", 1),
    ("random read", "random", 100, "4k", 4),
    ("random read", "random", 100, "4k", 16),
    ("random read", "random", 100, "4k", 64),
    ("random read", "random", 100, "4k", 256),
    ("random read", "random", 100, "128k", 1),
    ("random read", "random", 100, "128k", 32),
    ("sequential read", "sequential", 100, "128k", 32),
    ("random write", "random", 0, "4k", 1),
    ("random write", "random", 0, "4k", 256),
    ("sequential write", "sequential", 0, "128k", 32),
];
/// I/Os of a load: an arm that seeks takes minutes of its own time for as many.
const IOS: u64 = 20_000;
/// Bytes of an I/O of the last load.
const SEQUENTIAL_BYTES: u64 = 128 << 10;
/// Capacity of the drive that stands for one that was written over and over.
const SMALLER: &str = "64GB";
/// Flash pages of its blocks: so many blocks that those which are kept free hardly count.
const PAGES: &str = "24";

/// A load, what the drive is like then, how long it lasts, and bytes written before.
struct Turn {
    load: Load,
    state: &'static str,
    set: Vec<(&'static str, &'static str)>,
    lasts: Vec<(&'static str, String)>,
    after: Option<u64>,
}

/// The points of a drive, in the order of [`LOADS`]; those of its state behind it where writing changes it.
pub fn curve(
    device: &str,
    changes: &[(String, String)],
    targets: &dyn Targets,
    audience: &dyn Audience,
) -> anyhow::Result<Vec<CurvePoint>> {
    let target = targets.open(Some(&targets.word(device)), changes)?;
    turns(target.describe()).into_iter().map(|turn| turn.run(device, changes, targets, audience)).collect()
}

fn turns(drive: &Description) -> Vec<Turn> {
    let of = |key: &str| drive.number(key).and_then(|number| number.value).map(|value| value as u64);
    let ios = |count: u64| vec![("io_count", count.to_string())];
    let turn =
        |load: Load, state, set: &[_], after| Turn { load, state, set: set.to_vec(), lasts: ios(IOS), after };
    let settled = || vec![("ramp", "3s".to_owned()), ("runtime", "2s".to_owned())];
    let slc = of("slc.size").filter(|&bytes| bytes > 0);
    let Some(capacity) = of("flash.capacity") else {
        return LOADS.into_iter().map(|load| turn(load, "", &[], None)).collect();
    };
    let mut turns = Vec::new();
    for load in LOADS {
        let writes = load.2 == 0;
        let fresh: &[_] = if writes { &[("flash.state", "fresh")] } else { &[("flash.state", "filled")] };
        turns.push(turn(load, if writes { ", fresh" } else { "" }, fresh, writes.then_some(0)));
    }
    let sequential = LOADS[10];
    if let Some(slc) = slc {
        // Not more than half of it, or the figure is of both.
        turns.last_mut().expect("loads").lasts = ios((slc / 2 / SEQUENTIAL_BYTES).clamp(1, IOS));
        // One that waits until it is folded is soon full if it is small.
        let folds = drive.number("slc.full").is_some_and(|number| number.text == "fold");
        let set = [("flash.state", "fresh"), ("slc.size", if folds { "256MiB" } else { "none" })];
        let full = turn(sequential, ", SLC cache full", &set, Some(slc));
        turns.push(Turn { lasts: settled(), ..full });
    }
    let mut set = vec![("flash.state", "steady")];
    if SMALLER.parse().is_ok_and(|Bytes(smaller)| capacity > smaller) {
        set.extend([("flash.capacity", SMALLER), ("flash.pages_per_block", PAGES)]);
    }
    set.extend(slc.map(|_| ("slc.size", "none")));
    let steady = turn(LOADS[9], ", written over and over", &set, Some(capacity));
    turns.push(Turn { lasts: settled(), ..steady });
    turns
}

impl Turn {
    fn run(
        &self,
        device: &str,
        changes: &[(String, String)],
        targets: &dyn Targets,
        audience: &dyn Audience,
    ) -> anyhow::Result<CurvePoint> {
        let (words, pattern, reads, size, depth) = self.load;
        let pair = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        let (reads, depth) = (reads.to_string(), depth.to_string());
        let mut options: Vec<_> =
            [("pattern", pattern), ("read_percent", &reads), ("block_size", size), ("queue_depth", &depth)]
                .iter()
                .map(pair)
                .collect();
        options.extend(self.lasts.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        crate::sweep::plan::in_order(&mut options);
        // What was typed holds.
        let own = self.set.iter().filter(|(key, _)| changes.iter().all(|(typed, _)| typed != key)).map(pair);
        let changes = changes.iter().cloned().chain(own).collect();
        let ran = OneRun { files: &[], options: &options, device, changes, targets }.run(audience)?;
        let (outcome, latency) = (&ran.outcome, ran.outcome.latency());
        Ok(CurvePoint {
            load: format!("{words} {size}, {depth} in flight{}", self.state),
            after: self.after.map(Bytes),
            iops: outcome.rate(),
            bandwidth: outcome.bandwidth(),
            mean_ns: latency.mean_ns(),
            p99_ns: latency.quantile_ns(0.99),
            limit: outcome.inside.as_ref().and_then(limit),
            command: ran.command,
        })
    }
}

/// The part that limits, by the busiest of those alike: of a link's two ways the one that is full.
fn limit(inside: &Inside) -> Option<Limiting> {
    let limit = inside.limit.clone()?;
    let busiest =
        inside.resources.iter().find(|each| each.name == limit.name).map_or(0.0, |each| each.busiest);
    Some(Limiting { busy: limit.busy.max(busiest), ..limit })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use iostack_sim::targets::Simulations;

    use super::*;

    fn drawn(device: &str, changes: &[(String, String)]) -> Vec<CurvePoint> {
        curve(device, changes, &Simulations, &AtomicBool::new(false)).expect("runs")
    }

    #[test]
    fn a_drive_slows_down_where_its_curve_says() {
        let small = [("slc.size".to_owned(), "2GiB".to_owned())];
        let points = drawn("tlc-1t", &small);
        let after: Vec<_> =
            points.iter().filter_map(|point| point.after).filter(|after| after.0 > 0).collect();
        assert_eq!(after, [Bytes(2 << 30), Bytes(1_000_000_000_000)]);
        let found = |load: &str| points.iter().find(|point| point.load == load).expect("a load").bandwidth;
        let fast = found("sequential write 128k, 32 in flight, fresh");
        let slow = found("sequential write 128k, 32 in flight, SLC cache full");
        // Written in one go, second by second.
        let options =
            [("pattern", "sequential"), ("read_percent", "0"), ("block_size", "128k"), ("queue_depth", "32")];
        let more = [("io_count", "30000"), ("slice", "10ms")];
        let pair = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        let options: Vec<_> = options.iter().chain(&more).map(pair).collect();
        let changes = small.into_iter().chain([("flash.state".to_owned(), "fresh".to_owned())]).collect();
        let asked =
            OneRun { files: &[], options: &options, device: "tlc-1t", changes, targets: &Simulations };
        let series = asked.run(&AtomicBool::new(false)).expect("runs").outcome.series;
        let rate = |slice: &iostack_model::IntervalFlow| slice.bytes.iter().sum::<u64>() as f64 / 0.01;
        let until = series.iter().take_while(|slice| rate(slice) > f64::midpoint(fast, slow));
        let written = until.map(rate).sum::<f64>() * 0.01;
        assert!((written / 2147.5e6 - 1.0).abs() < 0.1, "{written} bytes at {fast}, then {slow}");
        let last = series.iter().rev().nth(3).map_or(0.0, rate);
        assert!((last / slow - 1.0).abs() < 0.1, "{last} at last, {slow} told");
    }

    #[test]
    fn what_is_no_flash_has_no_cliff_and_what_was_typed_holds() {
        let points = drawn("hp97560", &[]);
        assert!(points.len() == LOADS.len() && points.iter().all(|point| point.after.is_none()));
        assert_eq!(points[0].limit.as_ref().map(|limit| limit.name.as_str()), Some("arm"));
        let typed = [("flash.state".to_owned(), "filled".to_owned())];
        assert!(drawn("x25e", &typed).iter().all(|point| !point.command.contains("state=fresh")));
    }
}
