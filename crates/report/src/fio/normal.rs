//! fio's report for people, which scripts read too: `IOPS=30.1k, BW=118MiB/s (123MB/s)(8192KiB/68msec)`.
//!
//! The forms are those of `show_thread_status_normal` and `show_group_stats` in fio's `stat.c`, `num2str` in
//! `lib/num2str.c`. Start reading at [`normal`].

use iostack_model::{Bins, Direction, Job, Outcome, OutcomeFile};

use super::report::{
    calendar, caveats, context_switches, cpu_percent, disks, ended_unix_ms, first_error, flow, groups,
    latency_depth, latency_goal, millis, per_second, uncounted,
};
use super::shares::{self, Shares};
use super::spread::{self, Spread};
use super::steady;
use super::unified::{self, unified};
use super::version;

/// The report of a run as fio prints it; `pid` is whose threads ran. `headed` with what fio says before it runs.
pub fn normal(file: &OutcomeFile, pid: u32, headed: bool) -> String {
    let file = &*unified(file);
    let mut text = if headed { head(file) } else { String::new() };
    let mut rows: Vec<StatusGroup> = Vec::new();
    for (group, outcome) in groups(file).zip(&file.outcomes) {
        let place = JobPlace { group, pid, ended: calendar(ended_unix_ms(file) / 1000) };
        // As in fio: of a job that has done nothing yet, or had nothing to do, the groups tell.
        if outcome.ios() > 0 || !outcome.failures.is_empty() {
            text += &job(outcome, &place);
        }
        match rows.last_mut() {
            Some(last) if last.number == group => last.outcomes.push(outcome),
            _ => rows.push(StatusGroup { number: group, outcomes: vec![outcome] }),
        }
    }
    for group in &rows {
        text += &group.status();
    }
    text + &disk_stats(file)
}

/// Lines that fio prints before it runs.
fn head(file: &OutcomeFile) -> String {
    let mut text = String::new();
    for (group, outcome) in groups(file).zip(&file.outcomes) {
        let job = &outcome.job;
        let sizes = [("R", Direction::Read), ("W", Direction::Write), ("T", Direction::Trim)]
            .map(|(letter, direction)| format!("({letter}) {}", block_sizes(job, direction)));
        text += &format!(
            "{}: (g={group}): rw={}, bs={}, ioengine={}, iodepth={}\n",
            job.name,
            job.rw_name(),
            sizes.join(", "),
            job.engine.name(),
            job.queue_depth
        );
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

struct JobPlace {
    group: u64,
    pid: u32,
    ended: String,
}

fn job(outcome: &Outcome, place: &JobPlace) -> String {
    let error = match first_error(outcome) {
        0 => " 0".to_owned(),
        errno => format!("{errno:2} (error={})", strerror(errno)),
    };
    let mut text = format!(
        "\n{}: (groupid={}, jobs={}): err={error}: pid={}: {}\n",
        outcome.job.name, place.group, outcome.job.threads, place.pid, place.ended
    );
    for direction in Direction::ALL {
        text += &side(outcome, direction);
    }
    if outcome.sync.count > 0 {
        text += "  fsync/fdatasync/sync_file_range:\n";
        text += &latency("sync", &outcome.sync);
        text += &percentiles("sync", &outcome.sync, &outcome.job);
    }
    let [nanos, micros, long] = shares::latencies(&outcome.latency());
    text += &latency_shares("nsec", &nanos);
    text += &latency_shares("usec", &micros);
    text += &latency_shares("msec", &long);
    text += &rest(outcome);
    let rate = |rate| format!("{} ({})", number(rate, 4, BINARY, "B/s"), number(rate, 4, DECIMAL, "B/s"));
    text += &steady::line(outcome, rate, |count| number(count, 4, DECIMAL, ""));
    // Ours: fio has no word for it.
    for caveat in caveats(outcome) {
        text += &format!("  caveat       : {caveat}\n");
    }
    text
}

/// CPU, depths and counts.
fn rest(outcome: &Outcome) -> String {
    let list = |shares: Shares| {
        let each = shares.iter().map(|(key, percent)| format!("{key}={percent:.1}%"));
        each.collect::<Vec<_>>().join(", ")
    };
    let issued = Direction::ALL.map(|direction| {
        let back = if direction == Direction::Read { uncounted(outcome).0 } else { 0 };
        flow(outcome, direction).0.latency.count + back
    });
    let short = Direction::ALL.map(|direction| outcome.flow(direction).short);
    let goal = latency_goal(outcome);
    format!(
        "  cpu          : usr={:.2}%, sys={:.2}%, ctx={}, majf={}, minf={}\n  IO depths    : {}\n     submit    : \
         {}\n     complete  : {}\n     issued rwts: total={},{},{},{} short={},{},{},0 dropped=0,0,0,0\n     latency   \
         : target={}, window={}, percentile={:.2}%, depth={}\n",
        cpu_percent(outcome, outcome.cpu.user),
        cpu_percent(outcome, outcome.cpu.system),
        context_switches(outcome),
        outcome.cpu.faults_major,
        outcome.cpu.faults_minor,
        list(shares::depths(outcome)),
        list(shares::batches(outcome.job.batch.submit)),
        list(shares::batches(outcome.job.batch.complete_min)),
        issued[0],
        issued[1],
        issued[2],
        outcome.sync.count,
        short[0],
        short[1],
        short[2],
        goal.latency.0,
        goal.window.0 / 1000,
        goal.percent,
        latency_depth(outcome),
    )
}

fn side(outcome: &Outcome, direction: Direction) -> String {
    let (flow, elapsed) = flow(outcome, direction);
    if flow.latency.count == 0 {
        return String::new();
    }
    let rate = per_second(flow.bytes.0, elapsed) as u64;
    let mut text = format!(
        "  {}: IOPS={}, BW={} ({})({}/{}msec){}\n",
        unified::name(&outcome.job, direction),
        number(per_second(flow.latency.count, elapsed) as u64, 4, DECIMAL, ""),
        number(rate, 4, BINARY, "B/s"),
        number(rate, 4, DECIMAL, "B/s"),
        number(flow.bytes.0, 4, BINARY, "B"),
        millis(elapsed).max(1),
        if direction == Direction::Read { "" } else { "; 0 zone resets" },
    );
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
    text + &spreads(outcome, direction, rate)
}

fn spreads(outcome: &Outcome, direction: Direction, rate: u64) -> String {
    let bandwidth = spread::bandwidth(outcome, direction);
    if bandwidth.samples == 0 {
        return String::new();
    }
    let share = if rate > 0 { (bandwidth.mean * 102_400.0 / rate as f64).min(100.0) } else { 0.0 };
    let large = bandwidth.mean > 1024.0 * 1024.0;
    let (unit, factor) = if large { ("MiB", 1024.0) } else { ("KiB", 1.0) };
    let scaled = |value: u64| (value as f64 / factor) as u64;
    let Spread { min, max, mean, deviation, samples } = spread::iops(outcome, direction);
    format!(
        "   bw ({unit:>5}/s): min={:5}, max={:5}, per={share:.2}%, avg={:5.2}, stdev={:5.2}, samples={}\n   iops        : \
         min={min:5}, max={max:5}, avg={mean:5.2}, stdev={deviation:5.2}, samples={samples}\n",
        scaled(bandwidth.min),
        scaled(bandwidth.max),
        bandwidth.mean / factor,
        bandwidth.deviation / factor,
        bandwidth.samples,
    )
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
    let whole = |ns: u64| number(ns / factor, 6, DECIMAL, "");
    format!(
        "    {what} ({unit}): min={}, max={}, avg={:5.2}, stdev={:5.2}\n",
        whole(bins.min_ns),
        whole(bins.max_ns),
        bins.mean_ns() / factor as f64,
        deviation / factor as f64,
    )
}

fn percentiles(what: &str, bins: &Bins, job: &Job) -> String {
    let values: Vec<(f64, u64)> = job
        .percentiles
        .iter()
        .map(|&percent| (percent, bins.quantile_ns(percent / 100.0).unwrap_or_default()))
        .collect();
    let (Some(least), Some(most)) =
        (values.iter().map(|one| one.1).min(), values.iter().map(|one| one.1).max())
    else {
        return String::new();
    };
    let (factor, unit) = unit(least, most, |_| true);
    let width = (most / factor).max(1).to_string().len().max(5);
    let a_line = (80 - 7) / (2 + 10 + width);
    let mut text = format!("    {what} percentiles ({unit}):\n");
    for line in values.chunks(a_line) {
        let each =
            line.iter().map(|(percent, ns)| format!(" {percent:5.2}th=[{:width$}]", ns.div_ceil(factor)));
        text += &format!("     |{}", each.collect::<Vec<_>>().join(","));
        text += ",\n";
    }
    text.truncate(text.len() - 2);
    text + "\n"
}

/// Five a line, those that are not empty.
fn latency_shares(unit: &str, shares: &Shares) -> String {
    let some: Vec<String> = shares
        .iter()
        .filter(|(_, percent)| *percent > 0.0)
        .map(|(key, percent)| format!("{key}={percent:.2}%"))
        .collect();
    some.chunks(5)
        .fold(String::new(), |text, line| text + &format!("  lat ({unit})   : {}\n", line.join(", ")))
}

/// Jobs whose rates fio adds up.
struct StatusGroup<'a> {
    number: u64,
    outcomes: Vec<&'a Outcome>,
}

impl StatusGroup<'_> {
    fn status(&self) -> String {
        let mut text = format!("\nRun status group {} (all jobs):\n", self.number);
        for direction in Direction::ALL {
            let ran: Vec<&Outcome> = self
                .outcomes
                .iter()
                .copied()
                .filter(|outcome| flow(outcome, direction).0.latency.count > 0)
                .collect();
            if !ran.is_empty() {
                text += &StatusGroup::line(&ran, direction);
            }
        }
        text
    }

    fn line(ran: &[&Outcome], direction: Direction) -> String {
        let rates = ran
            .iter()
            .map(|outcome| flow(outcome, direction))
            .map(|(flow, elapsed)| per_second(flow.bytes.0, elapsed) as u64);
        let times = ran.iter().map(|outcome| millis(flow(outcome, direction).1).max(1));
        let bytes: u64 = ran.iter().map(|outcome| flow(outcome, direction).0.bytes.0).sum();
        let longest = times.clone().max().unwrap_or(1);
        let rate = |rate: u64, base| number(rate, 4, base, "B/s");
        let elapsed = ran.iter().map(|outcome| flow(outcome, direction).1).max().unwrap_or_default();
        let all = per_second(bytes, elapsed) as u64;
        let (least, most) = (rates.clone().min().unwrap_or(0), rates.max().unwrap_or(0));
        format!(
            "{:>7}: bw={} ({}), {}-{} ({}-{}), io={} ({}), run={}-{longest}msec\n",
            ran.first().map_or("", |outcome| unified::name(&outcome.job, direction)).to_uppercase(),
            rate(all, BINARY),
            rate(all, DECIMAL),
            rate(least, BINARY),
            rate(most, BINARY),
            rate(least, DECIMAL),
            rate(most, DECIMAL),
            number(bytes, 4, BINARY, "B"),
            number(bytes, 4, DECIMAL, "B"),
            times.min().unwrap_or(1),
        )
    }
}

fn disk_stats(file: &OutcomeFile) -> String {
    let mut text = String::new();
    for (index, disk) in disks(&file.outcomes).iter().enumerate() {
        if index == 0 {
            text += "\nDisk stats (read/write):\n";
        }
        let [reads, writes, _] = disk.count.ios;
        let [reads_merged, writes_merged, _] = disk.count.merges;
        let [read_ms, write_ms, queued_ms] = disk.ticks();
        text += &format!(
            "  {}: ios={reads}/{writes}, merge={reads_merged}/{writes_merged}, ticks={read_ms}/{write_ms}, \
             in_queue={queued_ms}, util={:.2}%\n",
            disk.count.name,
            disk.busy_percent()
        );
    }
    text
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
