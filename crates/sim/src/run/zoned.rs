//! Which jobs may write on a device with zones? Those whose own zones are the device's, each with zones of its own.

use std::ops::Range;

use iostack_model::{Access, Bytes, Job};

use super::SimError;
use crate::engine::{Shape, ZoneShape};

/// Refuses jobs that run together, before they begin, when one of them would write where no zone goes on.
pub(super) fn check(jobs: &[&Job], zones: ZoneShape, shape: Shape) -> Result<(), SimError> {
    let mut touched: Vec<(Range<u64>, &Job)> = Vec::new();
    let mut most = 0;
    for &job in jobs.iter().filter(|job| job.mix.destroys()) {
        let refuse = |what: &str, remedy: String| {
            Err(SimError::Zones { job: job.name.clone(), what: what.to_owned(), remedy })
        };
        if job.mix.write == 0 {
            only_whole(job, zones, shape)?;
            touched.extend(zones_of(job, zones, shape)?.map(|zones| (zones, job)));
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
            let what = if job.write_pointers.is_some() {
                "its zones are not those of the device"
            } else {
                "the device has zones and takes writes only where each of them goes on"
            };
            return refuse(what, remedy);
        };
        if !zones.capacity.0.is_multiple_of(job.block_sizes.smallest().0.max(1)) {
            return refuse(
                "its blocks do not fill a zone",
                format!("give a block size that divides {capacity}"),
            );
        }
        for range in zones_of(job, zones, shape)? {
            let count = range.end.saturating_sub(range.start);
            most += match (&job.access, asked.open_most) {
                (Access::Random { .. }, 0) => count,
                (Access::Random { .. }, open) => count.min(open.into()),
                _ => count.min(1),
            };
            touched.push((range, job));
        }
        if most > u64::from(limit) {
            let what = format!(
                "with the jobs beside it, it may write {most} zones at once, and the device allows {limit}"
            );
            return refuse(&what, "lower max_open_zones, or the number of threads".to_owned());
        }
    }
    no_overlap(touched)
}

/// Refuses threads of which one writes what another writes or trims.
fn no_overlap(mut touched: Vec<(Range<u64>, &Job)>) -> Result<(), SimError> {
    touched.sort_by_key(|(range, _)| range.start);
    for (index, (range, job)) in touched.iter().enumerate() {
        let mut next = touched[index + 1..].iter().take_while(|(next, _)| next.start < range.end);
        if let Some((_, other)) = next.find(|(_, other)| job.mix.write + other.mix.write > 0) {
            return Err(SimError::Zones {
                job: other.name.clone(),
                what: "another thread writes or trims zones that it does, and each knows only its own writes"
                    .to_owned(),
                remedy: "give each zones of its own with size and offset_increment, or offset".to_owned(),
            });
        }
    }
    Ok(())
}

/// Whole zones of each thread's region.
fn zones_of(job: &Job, zones: ZoneShape, shape: Shape) -> Result<impl Iterator<Item = Range<u64>>, SimError> {
    let refuse = |source| SimError::Job { job: job.name.clone(), capacity: shape.capacity, source };
    let regions = (0..job.threads).map(|thread| iostack_workload::region(job, shape.capacity, 1, thread));
    let regions = regions.collect::<Result<Vec<_>, _>>().map_err(refuse)?;
    let size = zones.size.0;
    Ok(regions
        .into_iter()
        .map(move |region| region.offset.div_ceil(size)..(region.offset + region.length) / size))
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
