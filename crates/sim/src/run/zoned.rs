//! Which jobs may write on a device with zones? Those whose own zones are the device's, each with zones of its own.

use std::ops::Range;

use iostack_model::{Access, Bytes, Job};

use super::SimError;
use crate::engine::{Shape, ZoneShape};

/// Refuses jobs that run together, before they begin, when one of them would write where no zone goes on.
pub(super) fn check(jobs: &[&Job], zones: ZoneShape, shape: Shape) -> Result<(), SimError> {
    let mut written: Vec<(Range<u64>, &Job)> = Vec::new();
    let mut most = 0;
    for &job in jobs.iter().filter(|job| job.mix.destroys()) {
        let refuse = |what: &str, remedy: String| {
            Err(SimError::Zones { job: job.name.clone(), what: what.to_owned(), remedy })
        };
        if job.mix.write == 0 {
            only_whole(job, zones, shape)?;
            continue;
        }
        let limit = zones.written_most;
        let [zone, capacity] = [zones.size, zones.capacity].map(size);
        let asked =
            job.write_pointers.filter(|asked| asked.zone == zones.size && asked.capacity == zones.capacity);
        let Some(asked) = asked else {
            let remedy = format!(
                "give zonemode=zbd, zonesize={zone}, zonecapacity={capacity}, max_open_zones={limit} or less, or only read"
            );
            return refuse("the device has zones and takes writes only where each of them goes on", remedy);
        };
        if !zones.capacity.0.is_multiple_of(job.block_sizes.smallest().0.max(1)) {
            return refuse(
                "its blocks do not fill a zone",
                format!("give a block size that divides {capacity}"),
            );
        }
        for thread in 0..job.threads {
            let refuse = |source| SimError::Job { job: job.name.clone(), capacity: shape.capacity, source };
            let region = iostack_workload::region(job, shape.capacity, 1, thread).map_err(refuse)?;
            let (first, end) =
                (region.offset.div_ceil(zones.size.0), (region.offset + region.length) / zones.size.0);
            let count = end.saturating_sub(first);
            most += match (&job.access, asked.open_most) {
                (Access::Random { .. }, 0) => count,
                (Access::Random { .. }, open) => count.min(open.into()),
                _ => count.min(1),
            };
            written.push((first..end, job));
        }
        if most > u64::from(limit) {
            let what = format!(
                "with the jobs beside it, it may write {most} zones at once, and the device allows {limit}"
            );
            return refuse(&what, "lower max_open_zones, or the number of threads".to_owned());
        }
    }
    written.sort_by_key(|(range, _)| range.start);
    match written.windows(2).find(|pair| pair[0].0.end > pair[1].0.start) {
        Some(pair) => Err(SimError::Zones {
            job: pair[1].1.name.clone(),
            what: "two threads would write the same zones, each by write pointers of its own".to_owned(),
            remedy: "give each its own with size and offset_increment, or offset".to_owned(),
        }),
        None => Ok(()),
    }
}

/// Refuses trims of parts of zones, which do nothing.
fn only_whole(job: &Job, zones: ZoneShape, shape: Shape) -> Result<(), SimError> {
    let offsets = [job.offset.of(shape.capacity), job.offset_increment, job.align];
    let trims = job.block_sizes.trim.iter().map(|&(size, _)| size);
    if offsets.into_iter().chain(trims).all(|length| length.0.is_multiple_of(zones.size.0)) {
        return Ok(());
    }
    let zone = size(zones.size);
    Err(SimError::Zones {
        job: job.name.clone(),
        what: "only whole zones can be emptied".to_owned(),
        remedy: format!("trim blocks of {zone}, from a multiple of it on"),
    })
}

/// A size as fio reads it.
fn size(bytes: Bytes) -> String {
    let units = [(30, "g"), (20, "m"), (10, "k")];
    let unit = units.iter().find(|(shift, _)| bytes.0.is_multiple_of(1 << shift));
    unit.map_or(bytes.0.to_string(), |(shift, letter)| format!("{}{letter}", bytes.0 >> shift))
}
