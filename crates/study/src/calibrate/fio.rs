//! What does fio's own JSON say? Each job is a point, as far as its options say what was asked.

use anyhow::{Context, ensure};
use iostack_model::{Bytes, Engine, Job, Sync};
use iostack_target::read_json;
use serde_json::Value;

use super::points::{Gathered, Point, file_system, flush_every};

/// A deviation of the rates within a run, as a share of their mean, from which on there was no steady state.
const SWINGS: f64 = 0.2;
/// Rates that fio must have sampled for that.
const SAMPLES: f64 = 4.0;
/// A device that did so many times what was asked is used by others, too.
const OTHERS: f64 = 1.2;
/// I/Os beyond this may be split before they reach the device.
const WHOLE: u64 = 64 << 10;

/// Adds the points of a file; what tells its machine from others, in words.
pub(crate) fn read(file: &str, text: &str, gathered: &mut Gathered) -> anyhow::Result<String> {
    let all: Value = read_json(text).with_context(|| format!("`{file}` is no JSON of fio's"))?;
    let jobs = all["jobs"].as_array();
    ensure!(jobs.is_some(), "`{file}` has no `jobs`; make it with `fio --output-format=json`");
    let of =
        |job: &Value| option(&all, job, "filename").or(option(&all, job, "directory")).unwrap_or_default();
    let name = jobs.into_iter().flatten().map(of).next().unwrap_or_default();
    if !name.is_empty() && !name.starts_with("/dev/") {
        gathered.doubt(file_system(file, "a file system"));
    }
    others(file, &all, gathered);
    for job in jobs.into_iter().flatten() {
        if of(job) != name {
            gathered
                .doubt(format!("`{file}` mixes two targets: only jobs of the first, `{name}`, are fitted"));
            gathered.leave("of another target");
            continue;
        }
        match point(file, &all, job, gathered) {
            Ok(point) if point.sync == Sync::default() => gathered.points.push(point),
            Ok(point) => gathered.flushes.push(point),
            Err(why) => gathered.leave(why),
        }
    }
    let host = jobs.into_iter().flatten().find_map(|job| job["hostname"].as_str());
    Ok([host.unwrap_or_default(), &name, "fio"]
        .iter()
        .filter(|word| !word.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(", "))
}

/// An option of the job, or of the global section.
fn option(all: &Value, job: &Value, name: &str) -> Option<String> {
    let given = [&job["job options"][name], &all["global options"][name]];
    given.into_iter().find_map(|value| value.as_str().map(str::to_owned))
}

/// fio's `4k`, `1m`, `4096`: powers of 1024.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].trim_end_matches("ib").trim_end_matches('b') {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

fn point(file: &str, all: &Value, job: &Value, gathered: &mut Gathered) -> Result<Point, &'static str> {
    let told = |name: &str| option(all, job, name);
    let has_options = job["job options"].is_object() || all["global options"].is_object();
    let every = |name: &str| told(name).and_then(|text| text.parse().ok()).unwrap_or(0);
    let sync = Sync { fsync_every: every("fsync"), fdatasync_every: every("fdatasync"), ..Sync::default() };
    let direct = !has_options || told("direct").as_deref() == Some("1");
    if !direct && sync == Sync::default() {
        return Err("through the page cache");
    }
    if ["rate_iops", "rate", "thinktime", "bssplit", "bsrange"].iter().any(|name| told(name).is_some()) {
        return Err("with a rate or several sizes");
    }
    let sides = ["read", "write"].map(|side| &job[side]);
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let counts = sides.map(|side| number(&side["total_ios"]));
    let (count, iops) = (counts[0] + counts[1], number(&sides[0]["iops"]) + number(&sides[1]["iops"]));
    if count < 100.0 || iops <= 0.0 || number(&job["error"]) > 0.0 {
        return Err("failed, or of less than 100 I/Os");
    }
    let moved = number(&sides[0]["io_bytes"]) + number(&sides[1]["io_bytes"]);
    let block = told("bs").or_else(|| told("blocksize")).as_deref().and_then(bytes);
    let block = block.unwrap_or((moved / count).round() as u64).max(512);
    let pattern = told("rw").or_else(|| told("readwrite")).unwrap_or_default();
    let main = sides[usize::from(counts[1] > counts[0])];
    let mean = number(&main["lat_ns"]["mean"]);
    let typed = |name: &str| told(name).and_then(|text| text.parse::<u32>().ok()).filter(|&count| count > 0);
    let threads = typed("numjobs").unwrap_or(1);
    // Jobs that are reported apart were one each.
    let threads = if told("group_reporting").is_some() { threads } else { 1 };
    let engine = told("ioengine").and_then(|name| Engine::named_by_fio(&name)).unwrap_or(Engine::Psync);
    let (depth, engine) = if has_options {
        let depth = if engine.is_synchronous() { 1 } else { typed("iodepth").unwrap_or(1) };
        (depth, engine)
    } else {
        by_flight(file, iops * mean / 1e9, gathered)
    };
    if !matches!(engine, Engine::Psync | Engine::Pvsync2 { .. } | Engine::Libaio | Engine::IoUring { .. }) {
        return Err("by an engine that the simulator has not");
    }
    let cpu = (number(&job["usr_cpu"]) + number(&job["sys_cpu"])) / 100.0 * number(&job["job_runtime"]) * 1e6
        / count;
    let quantiles = quantiles(main, count);
    swings(file, main, gathered);
    let point = Point {
        file: file.to_owned(),
        load: ((100.0 * counts[0] / count).round() as u8, !pattern.contains("rand"), block, depth, threads),
        engine,
        sync,
        iops,
        quantiles,
        cpu: (cpu > 0.0).then_some(cpu),
        region: told("size").as_deref().and_then(bytes).filter(|&size| size >= Bytes::mib(16).0),
        sleeps: 1.0,
        held_out: false,
    };
    let alone = flush_every(&Job { direct, ..point.job(1 << 30) }).is_some();
    if sync == Sync::default() || alone { Ok(point) } else { Err("with flushes beside other I/Os") }
}

/// Depth and engine of a job that does not say them, by Little's law: what was in flight is the rate times the time that each took.
fn by_flight(file: &str, flight: f64, gathered: &mut Gathered) -> (u32, Engine) {
    let flown = flight.round().clamp(1.0, 65_536.0) as u32;
    gathered.doubt(format!(
        "`{file}` does not say its depth (no `job options`): it is taken from rate times latency, so that depths are whole numbers \
         near the true ones"
    ));
    (flown, if flown > 1 { Engine::Libaio } else { Engine::Psync })
}

/// Doubts a side whose rate was not the same throughout.
fn swings(file: &str, side: &Value, gathered: &mut Gathered) {
    let of = |name: &str| side[name].as_f64().unwrap_or(0.0);
    if of("iops_samples") >= SAMPLES && of("iops_stddev") > SWINGS * of("iops_mean") {
        gathered.doubt(format!(
            "`{file}`: the rate swung from {:.0} to {:.0} IOPS within a run: no steady state, or credits of a volume that ran out; \
             the sheet answers the mean",
            of("iops_min"),
            of("iops_max")
        ));
    }
}

/// Doubts a device that did more than was asked.
fn others(file: &str, all: &Value, gathered: &mut Gathered) {
    let jobs = || all["jobs"].as_array().into_iter().flatten();
    let sum =
        |value: &Value, names: &[&str]| -> f64 { names.iter().filter_map(|name| value[name].as_f64()).sum() };
    let asked: f64 =
        jobs().map(|job| sum(&job["read"], &["total_ios"]) + sum(&job["write"], &["total_ios"])).sum();
    let is_whole = jobs().all(|job| {
        let known = ["bs", "blocksize"].iter().find_map(|name| option(all, job, name));
        known.as_deref().map_or(Some(4096), bytes).is_some_and(|size| size <= WHOLE)
            && option(all, job, "ramp_time").is_none()
    });
    let done = all["disk_util"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|disk| sum(disk, &["read_ios", "read_merges", "write_ios", "write_merges"]));
    let most = done.fold(0.0, f64::max);
    if is_whole && asked > 0.0 && most > OTHERS * asked {
        gathered.doubt(format!(
            "`{file}`: others used the device, which did {most:.0} I/Os of which fio asked {asked:.0}: it looks slower than it is"
        ));
    }
}

/// Shortest, median, 99th percentile and longest of a side: of the whole latency, where fio was asked for it.
fn quantiles(side: &Value, count: f64) -> Option<[f64; 4]> {
    let times = if side["lat_ns"]["percentile"].is_object() { &side["lat_ns"] } else { &side["clat_ns"] };
    let at = |name: &str| times["percentile"][name].as_f64();
    let end = |name: &str| times[name].as_f64();
    if count < 1000.0 {
        return None;
    }
    Some([end("min")?, at("50.000000")?, at("99.000000")?, end("max")?])
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_as_fio_writes_them() {
        assert_eq!(
            ["4k", "4096", "1M", "64KiB", "x"].map(bytes),
            [Some(4096), Some(4096), Some(1 << 20), Some(65_536), None]
        );
    }
}
