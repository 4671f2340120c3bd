//! What does fio's own JSON say? Each job is a point, as far as its options say what was asked.

use anyhow::{Context, ensure};
use iostack_model::{Bytes, Engine};
use iostack_target::read_json;
use serde_json::Value;

use super::points::{Gathered, Point};

/// Adds the points of a file; what tells its machine from others, in words.
pub(crate) fn read(file: &str, text: &str, gathered: &mut Gathered) -> anyhow::Result<String> {
    let all: Value = read_json(text).with_context(|| format!("`{file}` is no JSON of fio's"))?;
    let jobs = all["jobs"].as_array();
    ensure!(jobs.is_some(), "`{file}` has no `jobs`; make it with `fio --output-format=json`");
    for job in jobs.into_iter().flatten() {
        match point(file, &all, job, gathered) {
            Ok(point) => gathered.points.push(point),
            Err(why) => gathered.leave(why),
        }
    }
    let host = jobs.into_iter().flatten().find_map(|job| job["hostname"].as_str());
    let name = option(&all, &Value::Null, "filename").unwrap_or_default();
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
    if has_options && told("direct").as_deref() != Some("1") {
        return Err("through the page cache");
    }
    if ["fsync", "fdatasync", "rate_iops", "rate", "thinktime", "bssplit", "bsrange"]
        .iter()
        .any(|name| told(name).is_some())
    {
        return Err("with flushes, a rate or several sizes");
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
        // Little's law: what was in flight is the rate times the time that each took.
        let flown = (iops * mean / 1e9).round().clamp(1.0, 65_536.0) as u32;
        gathered.doubt(format!(
            "`{file}` does not say its depth (no `job options`): it is taken from rate times latency, so that depths are \
             whole numbers near the true ones"
        ));
        (flown, if flown > 1 { Engine::Libaio } else { Engine::Psync })
    };
    if !matches!(engine, Engine::Psync | Engine::Pvsync2 { .. } | Engine::Libaio | Engine::IoUring { .. }) {
        return Err("by an engine that the simulator has not");
    }
    let cpu = (number(&job["usr_cpu"]) + number(&job["sys_cpu"])) / 100.0 * number(&job["job_runtime"]) * 1e6
        / count;
    let quantiles = quantiles(main, count);
    Ok(Point {
        file: file.to_owned(),
        load: ((100.0 * counts[0] / count).round() as u8, !pattern.contains("rand"), block, depth, threads),
        engine,
        iops,
        quantiles,
        cpu: (cpu > 0.0).then_some(cpu),
        region: told("size").as_deref().and_then(bytes).filter(|&size| size >= Bytes::mib(16).0),
        sleeps: 1.0,
        held_out: false,
    })
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
