//! fio's report for people, which scripts read too: `IOPS=30.1k, BW=118MiB/s (123MB/s)(8192KiB/68msec)`.
//!
//! The forms are those of `show_thread_status_normal` and `show_group_stats` in fio's `stat.c`, `num2str` in
//! `lib/num2str.c`. Start reading at [`normal`].

use iostack_model::{Bins, DeviceCount, Direction, Job, Outcome, OutcomeFile};

use super::report::{
    DiskUse, calendar, caveats, context_switches, cpu_percent, disks, ended_unix_ms, first_error, groups,
    latency_depth, latency_goal,
};
use super::shares::{self, Shares};
use super::side::{Side, per_second};
use super::spread::Spread;
use super::steady;
use super::unified::{self, unified};
use super::version;
use crate::lists::{Joined, grouped};

/// The report of a run as fio prints it; `pid` is whose threads ran. `headed` with what fio says before it runs.
pub fn normal(file: &OutcomeFile, pid: u32, headed: bool) -> String {
    let file = &*unified(file);
    let mut text = if headed { head(file) } else { String::new() };
    let ended = calendar(ended_unix_ms(file) / 1000);
    for (group, outcome) in groups(file).zip(&file.outcomes) {
        // As in fio: of a job that has done nothing yet, or had nothing to do, the groups tell.
        if outcome.ios() > 0 || !outcome.failures.is_empty() {
            text += &job(outcome, group, pid, &ended);
        }
    }
    for (group, outcomes) in grouped(groups(file).zip(&file.outcomes)) {
        text += &format!("\nRun status group {group} (all jobs):\n");
        text.extend(Direction::ALL.map(|direction| status(&outcomes, direction)));
    }
    text + &disk_stats(file)
}

/// Lines that fio prints before it runs.
fn head(file: &OutcomeFile) -> String {
    let mut text = String::new();
    for (group, Outcome { job, .. }) in groups(file).zip(&file.outcomes) {
        let sizes = [("R", Direction::Read), ("W", Direction::Write), ("T", Direction::Trim)];
        let sizes = sizes.map(|(letter, direction)| format!("({letter}) {}", block_sizes(job, direction)));
        let (name, rw, sizes, engine) = (&job.name, job.rw_name(), sizes.join(", "), job.engine.name());
        let depth = job.queue_depth;
        text += &format!("{name}: (g={group}): rw={rw}, bs={sizes}, ioengine={engine}, iodepth={depth}\n");
        if job.threads > 1 {
            text += "...\n";
        }
    }
    let threads: u32 = file.outcomes.iter().map(|outcome| outcome.job.threads).sum();
    let plural = if threads == 1 { "" } else { "s" };
    text + &format!("{}\nStarting {threads} thread{plural}\n", version(&file.iostack))
}

fn block_sizes(job: &Job, direction: Direction) -> String {
    let sizes = job.block_sizes.of(direction).iter().map(|&(size, _)| size.0);
    let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
    format!("{}-{}", number(least, 4, BINARY, "B"), number(most, 4, BINARY, "B"))
}

fn job(outcome: &Outcome, group: u64, pid: u32, ended: &str) -> String {
    let error = match first_error(outcome) {
        0 => " 0".to_owned(),
        errno => format!("{errno:2} (error={})", strerror(errno)),
    };
    let (name, jobs) = (&outcome.job.name, outcome.job.threads);
    let mut text = format!("\n{name}: (groupid={group}, jobs={jobs}): err={error}: pid={pid}: {ended}\n");
    for direction in Direction::ALL {
        text += &side(outcome, direction);
    }
    if outcome.sync.count > 0 {
        text += "  fsync/fdatasync/sync_file_range:\n";
        text += &latency("sync", &outcome.sync);
        text += &percentiles("sync", &outcome.sync, &outcome.job);
    }
    for (unit, shares) in ["nsec", "usec", "msec"].iter().zip(shares::latencies(&outcome.latency())) {
        text += &latency_shares(unit, &shares);
    }
    text += &rest(outcome);
    let rate = |rate| format!("{} ({})", number(rate, 4, BINARY, "B/s"), number(rate, 4, DECIMAL, "B/s"));
    text += &steady::line(outcome, rate, |count| number(count, 4, DECIMAL, ""));
    // Ours: fio has no word for it.
    text.extend(caveats(outcome).map(|caveat| format!("  caveat       : {caveat}\n")));
    text
}

/// CPU, depths and counts.
fn rest(outcome: &Outcome) -> String {
    let list =
        |shares: Shares| shares.iter().map(|(key, percent)| format!("{key}={percent:.1}%")).joined(", ");
    let (cpu, batch) = (&outcome.cpu, &outcome.job.batch);
    let [user, system] = [cpu.user, cpu.system].map(|used| cpu_percent(outcome, used));
    let (switches, major, minor) = (context_switches(outcome), cpu.faults_major, cpu.faults_minor);
    let depths = list(shares::depths(outcome));
    let [submit, complete] = [batch.submit, batch.complete_min].map(|batch| list(shares::batches(batch)));
    let [reads, writes, trims] = Direction::ALL.map(|direction| {
        let side = Side::of_outcome(outcome, direction);
        side.ios() + side.back.0
    });
    let [reads_short, writes_short, trims_short] = Direction::ALL.map(|each| outcome.flow(each).short);
    let (goal, syncs, depth) = (latency_goal(outcome), outcome.sync.count, latency_depth(outcome));
    let (target, window, percent) = (goal.latency.0, goal.window.0 / 1000, goal.percent);
    format!(
        "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={switches}, majf={major}, minf={minor}\n  \
         IO depths    : {depths}\n     submit    : {submit}\n     complete  : {complete}\n     \
         issued rwts: total={reads},{writes},{trims},{syncs} short={reads_short},{writes_short},{trims_short},0 \
         dropped=0,0,0,0\n     \
         latency   : target={target}, window={window}, percentile={percent:.2}%, depth={depth}\n"
    )
}

fn side(outcome: &Outcome, direction: Direction) -> String {
    let side = Side::of_outcome(outcome, direction);
    if side.ios() == 0 {
        return String::new();
    }
    let (flow, name) = (side.flow, unified::name(&outcome.job, direction));
    let (rate, msec) = (side.rate() as u64, side.runtime_ms());
    let iops = number(per_second(side.ios(), side.elapsed) as u64, 4, DECIMAL, "");
    let [binary, decimal] = [BINARY, DECIMAL].map(|base| number(rate, 4, base, "B/s"));
    let moved = number(flow.bytes.0, 4, BINARY, "B");
    let resets = if direction == Direction::Read { "" } else { "; 0 zone resets" };
    let mut text = format!("  {name}: IOPS={iops}, BW={binary} ({decimal})({moved}/{msec}msec){resets}\n");
    if flow.submit.count > 0 {
        text += &latency("slat", &flow.submit);
    }
    text += &latency("clat", flow.clat());
    text += &latency(" lat", &flow.latency);
    let wanted = outcome.job.percentiles_of;
    for (wanted, what, bins) in [
        (wanted.submission && flow.submit.count > 0, "slat", &flow.submit),
        (wanted.completion, "clat", flow.clat()),
        (wanted.whole, "lat", &flow.latency),
    ] {
        text += &if wanted { percentiles(what, bins, &outcome.job) } else { String::new() };
    }
    text + &spreads(&side, rate)
}

fn spreads(side: &Side<'_>, rate: u64) -> String {
    let Spread { min, max, mean, deviation, samples } = side.bandwidth;
    if samples == 0 {
        return String::new();
    }
    let share = if rate > 0 { (mean * 102_400.0 / rate as f64).min(100.0) } else { 0.0 };
    let (unit, factor) = if mean > 1024.0 * 1024.0 { ("MiB", 1024.0) } else { ("KiB", 1.0) };
    let [min, max] = [min, max].map(|value| (value as f64 / factor) as u64);
    let [mean, deviation] = [mean, deviation].map(|value| value / factor);
    let bandwidth = format!(
        "   bw ({unit:>5}/s): min={min:5}, max={max:5}, per={share:.2}%, avg={mean:5.2}, stdev={deviation:5.2}, \
         samples={samples}\n"
    );
    let Spread { min, max, mean, deviation, samples } = side.iops;
    let iops = format!("min={min:5}, max={max:5}, avg={mean:5.2}, stdev={deviation:5.2}, samples={samples}");
    format!("{bandwidth}   iops        : {iops}\n")
}

/// Nanoseconds in one of the unit that fio chooses, and its name.
fn unit(least: u64, most: u64, wide: impl Fn(u64) -> bool) -> (u64, &'static str) {
    let fits = |factor: u64, long: u64| least > 2 * factor && most > long && wide(factor);
    match (fits(1_000_000, 99_999_999), fits(1_000, 99_999)) {
        (true, _) => (1_000_000, "msec"),
        (false, true) => (1_000, "usec"),
        (false, false) => (1, "nsec"),
    }
}

fn latency(what: &str, bins: &Bins) -> String {
    let deviation = bins.stddev_ns();
    let (factor, unit) = unit(bins.min_ns, bins.max_ns, |factor| deviation > factor as f64);
    let [min, max] = [bins.min_ns, bins.max_ns].map(|ns| number(ns / factor, 6, DECIMAL, ""));
    let [mean, deviation] = [bins.mean_ns(), deviation].map(|ns| ns / factor as f64);
    format!("    {what} ({unit}): min={min}, max={max}, avg={mean:5.2}, stdev={deviation:5.2}\n")
}

fn percentiles(what: &str, bins: &Bins, job: &Job) -> String {
    let at = |percent: &f64| (*percent, bins.quantile_ns(percent / 100.0).unwrap_or_default());
    let values: Vec<(f64, u64)> = job.percentiles.iter().map(at).collect();
    let all = || values.iter().map(|(_, ns)| *ns);
    let Some((least, most)) = all().min().zip(all().max()) else { return String::new() };
    let (factor, unit) = unit(least, most, |_| true);
    let width = (most / factor).max(1).to_string().len().max(5);
    let a_line = (80 - 7) / (2 + 10 + width);
    let lines = values.chunks(a_line).map(|line| {
        let each = line.iter();
        let each = each.map(|(percent, ns)| format!(" {percent:5.2}th=[{:width$}]", ns.div_ceil(factor)));
        format!("     |{}", each.joined(","))
    });
    format!("    {what} percentiles ({unit}):\n{}\n", lines.joined(",\n"))
}

/// Five a line, those that are not empty.
fn latency_shares(unit: &str, shares: &Shares) -> String {
    let some = shares.iter().filter(|(_, percent)| *percent > 0.0);
    let some: Vec<String> = some.map(|(key, percent)| format!("{key}={percent:.2}%")).collect();
    some.chunks(5).map(|line| format!("  lat ({unit})   : {}\n", line.join(", "))).joined("")
}

/// Rates of the jobs of a group, added up as fio does.
fn status(outcomes: &[&Outcome], direction: Direction) -> String {
    let sides = outcomes.iter().map(|outcome| Side::of_outcome(outcome, direction));
    let ran: Vec<Side<'_>> = sides.filter(|side| side.ios() > 0).collect();
    let Some(elapsed) = ran.iter().map(|side| side.elapsed).max() else { return String::new() };
    let bytes: u64 = ran.iter().map(|side| side.flow.bytes.0).sum();
    let ends = |all: Vec<u64>| [all.iter().min(), all.iter().max()].map(|end| end.copied().unwrap_or(0));
    let [least, most] = ends(ran.iter().map(|side| side.rate() as u64).collect());
    let [shortest, longest] = ends(ran.iter().map(Side::runtime_ms).collect());
    let [[all_binary, least_binary, most_binary], [all, least, most]] = [BINARY, DECIMAL].map(|base| {
        [per_second(bytes, elapsed) as u64, least, most].map(|rate| number(rate, 4, base, "B/s"))
    });
    let [moved_binary, moved] = [BINARY, DECIMAL].map(|base| number(bytes, 4, base, "B"));
    let ran = outcomes.iter().find(|outcome| Side::of_outcome(outcome, direction).ios() > 0);
    let name = ran.map_or("", |outcome| unified::name(&outcome.job, direction)).to_uppercase();
    format!(
        "{name:>7}: bw={all_binary} ({all}), {least_binary}-{most_binary} ({least}-{most}), io={moved_binary} \
         ({moved}), run={shortest}-{longest}msec\n"
    )
}

fn disk_stats(file: &OutcomeFile) -> String {
    let disks = disks(&file.outcomes);
    let line = |disk: &DiskUse| {
        let DeviceCount { name, ios: [reads, writes, _], merges: [reads_merged, writes_merged, _], .. } =
            &disk.count;
        let ([read_ms, write_ms, queued_ms], busy) = (disk.ticks(), disk.busy_percent());
        format!(
            "  {name}: ios={reads}/{writes}, merge={reads_merged}/{writes_merged}, ticks={read_ms}/{write_ms}, \
             in_queue={queued_ms}, util={busy:.2}%\n"
        )
    };
    let head = if disks.is_empty() { "" } else { "\nDisk stats (read/write):\n" };
    head.to_owned() + &disks.iter().map(line).collect::<String>()
}

/// The kernel's words for an error, without its number.
fn strerror(errno: u64) -> String {
    let text = std::io::Error::from_raw_os_error(errno as i32).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

type Base = (u64, [&'static str; 6]);
pub(super) const DECIMAL: Base = (1000, ["", "k", "M", "G", "T", "P"]);
pub(super) const BINARY: Base = (1024, ["", "Ki", "Mi", "Gi", "Ti", "Pi"]);

/// A number of at most `digits` digits, point included, with the prefix of its unit.
pub(super) fn number(mut value: u64, digits: usize, (thousand, prefixes): Base, unit: &str) -> String {
    let mut rest = None;
    let mut prefix = 0;
    while value.to_string().len() > digits && prefix + 1 < prefixes.len() {
        rest = Some(value % thousand);
        value /= thousand;
        prefix += 1;
    }
    let room = digits.saturating_sub(value.to_string().len() + 1);
    let Some(rest) = rest else { return format!("{value}{unit}") };
    if room == 0 {
        return format!("{}{}{unit}", value + u64::from(rest >= thousand / 2), prefixes[prefix]);
    }
    // As fio has it: a fraction that rounds up to one is shown as zero.
    let fraction = format!("{:.room$}", rest as f64 / thousand as f64);
    format!("{value}.{}{}{unit}", &fraction[2..], prefixes[prefix])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_fio_has_them() {
        let cases = [
            (0, 4, DECIMAL, "0"),
            (9999, 4, DECIMAL, "9999"),
            (30_118, 4, DECIMAL, "30.1k"),
            (123_361_882, 4, BINARY, "118Mi"),
            (123_361_882, 4, DECIMAL, "123M"),
            (8_388_608, 4, BINARY, "8192Ki"),
            (8_388_608, 4, DECIMAL, "8389k"),
            (65_536, 4, BINARY, "64.0Ki"),
            (1_234_567, 6, DECIMAL, "1234.6k"),
            (u64::MAX, 4, BINARY, "16384Pi"),
        ];
        for (value, digits, base, text) in cases {
            assert_eq!(number(value, digits, base, ""), text, "{value}");
        }
    }

    #[test]
    fn units_change_where_fio_changes_them() {
        let cases = [
            ((2_000, 100_000), "nsec"),
            ((2_001, 99_999), "nsec"),
            ((2_001, 100_000), "usec"),
            ((2_000_000, 100_000_000), "usec"),
            ((2_000_001, 99_999_999), "usec"),
            ((2_000_001, 100_000_000), "msec"),
        ];
        for ((least, most), name) in cases {
            assert_eq!(unit(least, most, |_| true).1, name, "{least} to {most}");
        }
    }
}
