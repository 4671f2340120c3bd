//! The kernel's `io.cost.model` and `io.cost.qos` (Documentation/admin-guide/cgroup-v2.rst, "IO Interface Files").

use iostack_model::Direction;
use iostack_model::answers::{CellName, Check};

use super::{Exported, measured};

/// Percentile of which the latency target speaks.
const PERCENT: f64 = 0.95;

/// A line for each file. `number` is the device's, `MAJOR:MINOR`, where it is known.
pub fn iocost(check: &Check, number: Option<&str>) -> Exported {
    let mut unsaid = Vec::new();
    let device = number.unwrap_or("MAJ:MIN");
    if number.is_none() {
        unsaid.push(format!(
            "the device of `{}` is not here; put its numbers in the place of MAJ:MIN",
            check.target
        ));
    }
    let figures = [
        ("rbps", measured::bandwidth(check, Direction::Read)),
        ("rseqiops", measured::iops(check, Direction::Read, true)),
        ("rrandiops", measured::iops(check, Direction::Read, false)),
        ("wbps", measured::bandwidth(check, Direction::Write)),
        ("wseqiops", measured::iops(check, Direction::Write, true)),
        ("wrandiops", measured::iops(check, Direction::Write, false)),
    ];
    let mut model = format!("{device} ctrl=user model=linear");
    for (key, value) in figures {
        match value {
            Some(value) => model += &format!(" {key}={value}"),
            None => unsaid.push(format!("{key} was not measured; the kernel keeps its own")),
        }
    }
    let mut qos = format!("{device} enable=1 ctrl=user");
    for (direction, percent, latency) in
        [(Direction::Read, "rpct", "rlat"), (Direction::Write, "wpct", "wlat")]
    {
        match target(check, direction) {
            Some(us) => qos += &format!(" {percent}={:.2} {latency}={us}", PERCENT * 100.0),
            None => unsaid.push(format!("{latency} was not measured; the kernel keeps its own")),
        }
    }
    unsaid.push(
        "rlat and wlat are what the device did at depth 32, 95 of 100 I/Os; set what your programs need"
            .to_owned(),
    );
    unsaid.push("min and max of io.cost.qos are not measured; the kernel keeps its own".to_owned());
    let text = format!("# /sys/fs/cgroup/io.cost.model\n{model}\n# /sys/fs/cgroup/io.cost.qos\n{qos}\n");
    Exported { text, unsaid }
}

/// Latency of a busy but not flooded device, microseconds.
fn target(check: &Check, direction: Direction) -> Option<u64> {
    let cell = check.summary.cells.iter().find(|cell| {
        cell.name == CellName::Random32 && cell.direction == direction && cell.iops.mean > 0.0
    })?;
    let same = measured::plain(check, direction).find(|outcome| {
        let job = &outcome.job;
        job.depth() == 32 && job.threads == 1 && (outcome.iops.mean - cell.iops.mean).abs() < 1e-9
    })?;
    same.latency().quantile_ns(PERCENT).map(|ns| ns.div_ceil(1000))
}
