//! fio's JSON and JSON+. Each object is a list of keys, so that a key is found where it stands in the output.

use iostack_model::{
    Bins, DeviceCount, Direction, Engine, Job, LatencyGoal, Nanos, Outcome, OutcomeFile, bin_middle,
};

use super::shares::{self, Shares};
use super::side::{Side, millis, per_second};
use super::steady;
use super::unified::{self, directions, unified};
use super::value::Value;
use super::version;
use crate::lists::grouped;

/// The report of a run as `fio --output-format=json` prints it; with `plus`, as `json+`: every histogram in full.
pub fn json(file: &OutcomeFile, plus: bool) -> String {
    let file = &*unified(file);
    let ended = ended_unix_ms(file);
    let mut report: Vec<(&str, Value)> = vec![
        ("fio version", version(&file.iostack).into()),
        ("timestamp", (ended / 1000).into()),
        ("timestamp_ms", ended.into()),
        ("time", calendar(ended / 1000).into()),
    ];
    // Options of the last global sections, where there were any: as fio, those of the last of several files.
    let global = typed(file.outcomes.last().iter().flat_map(|outcome| &outcome.job.options_global));
    report.extend((!global.is_empty()).then(|| ("global options", Value::object(global))));
    let jobs = file.outcomes.iter().zip(groups(file)).map(|(outcome, group)| job(outcome, group, plus));
    report.extend([
        ("jobs", Value::list(jobs)),
        ("disk_util", Value::list(disks(&file.outcomes).iter().map(disk))),
    ]);
    format!("{}\n", Value::object(report))
}

/// The group of each outcome: a stonewall or `new_group` begins one, unless it stands before all jobs.
pub(super) fn groups(file: &OutcomeFile) -> impl Iterator<Item = u64> {
    let begins =
        |(index, outcome): (usize, &Outcome)| index > 0 && (outcome.job.stonewall || outcome.job.new_group);
    file.outcomes.iter().enumerate().map(begins).scan(0, |group, begins| {
        *group += u64::from(begins);
        Some(*group)
    })
}

/// Options with a value, the last of each name: fio leaves out those that stand alone.
fn typed<'a>(options: impl Iterator<Item = &'a (String, String)>) -> Vec<(String, Value)> {
    let mut kept: Vec<(String, Value)> = Vec::new();
    for (name, value) in options.filter(|(_, value)| !value.is_empty()) {
        kept.retain(|(known, _)| known != name);
        kept.push((name.clone(), value.clone().into()));
    }
    kept
}

fn job(outcome: &Outcome, group: u64, plus: bool) -> Value {
    let (job, cpu, goal) = (&outcome.job, &outcome.cpu, latency_goal(outcome));
    let mut fields: Vec<(&str, Value)> = vec![
        ("jobname", job.name.clone().into()),
        ("groupid", group.into()),
        ("job_start", outcome.started_unix_ms.into()),
        ("error", first_error(outcome).into()),
        ("eta", Value::Whole(0)),
        ("elapsed", outcome.elapsed.0.div_ceil(1_000_000_000).into()),
        ("job options", options(job)),
    ];
    fields.extend(directions(job).iter().map(|&way| (unified::name(job, way), side(outcome, way, plus))));
    let lat = histogram(&outcome.sync, job, plus);
    let [ns, us, ms] = shares::latencies(&outcome.latency()).map(of_shares);
    fields.extend([
        ("sync", Value::object([("total_ios", outcome.sync.count.into()), ("lat_ns", lat)])),
        ("job_runtime", millis(thread_time(outcome)).into()),
        ("usr_cpu", cpu_percent(outcome, cpu.user).into()),
        ("sys_cpu", cpu_percent(outcome, cpu.system).into()),
        ("ctx", context_switches(outcome).into()),
        ("majf", cpu.faults_major.into()),
        ("minf", cpu.faults_minor.into()),
        ("iodepth_level", of_shares(shares::depths(outcome))),
        ("iodepth_submit", of_shares(shares::batches(job.batch.submit))),
        ("iodepth_complete", of_shares(shares::batches(job.batch.complete_min))),
        ("latency_ns", ns),
        ("latency_us", us),
        ("latency_ms", ms),
        ("latency_depth", u64::from(latency_depth(outcome)).into()),
        ("latency_target", goal.latency.0.into()),
        ("latency_percentile", goal.percent.into()),
        ("latency_window", (goal.window.0 / 1000).into()),
    ]);
    fields.extend(steady::json(outcome));
    // Ours, behind all of fio's: readers pass over keys that they do not know.
    fields.extend((!outcome.caveats.is_empty()).then(|| ("caveats", Value::list(caveats(outcome)))));
    Value::object(fields)
}

/// Doubts of an outcome, in words.
pub(super) fn caveats(outcome: &Outcome) -> impl Iterator<Item = String> {
    outcome.caveats.iter().map(iostack_doubt::says)
}

/// The depth at which the job ended.
pub(super) fn latency_depth(outcome: &Outcome) -> u32 {
    outcome.depth_found.map_or(outcome.job.queue_depth, |found| found.depth)
}

/// The latency that the job is to keep, as fio says it where there is none.
pub(super) fn latency_goal(outcome: &Outcome) -> LatencyGoal {
    let none = LatencyGoal { latency: Nanos(0), percent: 100.0, window: Nanos(0), goes_on: false };
    outcome.job.latency_goal.unwrap_or(none)
}

fn side(outcome: &Outcome, direction: Direction, plus: bool) -> Value {
    let (side, wanted) = (Side::of_outcome(outcome, direction), outcome.job.percentiles_of);
    let Side { flow, back, bandwidth, iops, .. } = &side;
    let latency =
        |bins, wanted| if wanted { histogram(bins, &outcome.job, plus) } else { Value::object(plain(bins)) };
    let (bytes, rate) = (flow.bytes.0 + back.1, side.rate());
    // The mean of the samples as a share of the group's bandwidth, at most 100, as fio has it.
    let share = if rate > 0.0 { (bandwidth.mean * 100.0 / (rate / 1024.0)).min(100.0) } else { 0.0 };
    Value::object([
        ("io_bytes", bytes.into()),
        ("io_kbytes", (bytes / 1024).into()),
        ("bw_bytes", Value::Whole(rate as u64)),
        ("bw", Value::Whole(rate as u64 / 1024)),
        ("iops", per_second(side.ios(), side.elapsed).into()),
        ("runtime", side.runtime_ms().into()),
        ("total_ios", (side.ios() + back.0).into()),
        ("short_ios", outcome.flow(direction).short.into()),
        ("drop_ios", Value::Whole(0)),
        ("slat_ns", latency(&flow.submit, wanted.submission)),
        ("clat_ns", latency(flow.clat(), wanted.completion)),
        ("lat_ns", latency(&flow.latency, wanted.whole)),
        ("bw_min", bandwidth.min.into()),
        ("bw_max", bandwidth.max.into()),
        ("bw_agg", share.into()),
        ("bw_mean", bandwidth.mean.into()),
        ("bw_dev", bandwidth.deviation.into()),
        ("bw_samples", bandwidth.samples.into()),
        ("iops_min", iops.min.into()),
        ("iops_max", iops.max.into()),
        ("iops_mean", iops.mean.into()),
        ("iops_stddev", iops.deviation.into()),
        ("iops_samples", iops.samples.into()),
    ])
}

fn plain(bins: &Bins) -> Vec<(&'static str, Value)> {
    vec![
        ("min", bins.min_ns.into()),
        ("max", bins.max_ns.into()),
        ("mean", bins.mean_ns().into()),
        ("stddev", bins.stddev_ns().into()),
        ("N", bins.count.into()),
    ]
}

/// A latency with percentiles, and with `plus` its bins, both only when it counted something, as fio does.
fn histogram(bins: &Bins, job: &Job, plus: bool) -> Value {
    let mut fields = plain(bins);
    if bins.count > 0 {
        let percentiles = job.percentiles.iter().map(|&percent| {
            (format!("{percent:.6}"), bins.quantile_ns(percent / 100.0).unwrap_or_default().into())
        });
        fields.push(("percentile", Value::object(percentiles)));
    }
    if bins.count > 0 && plus {
        let counts = bins.counts.iter();
        let counts = counts.map(|&(index, count)| (bin_middle(index as usize).to_string(), count.into()));
        fields.push(("bins", Value::object(counts)));
    }
    Value::object(fields)
}

fn of_shares(shares: Shares) -> Value {
    Value::object(shares.into_iter().map(|(key, percent)| (key, percent.into())))
}

fn disk(disk: &DiskUse) -> Value {
    let (count, ticks) = (&disk.count, disk.ticks());
    Value::object([
        ("name", count.name.clone().into()),
        ("read_ios", count.ios[0].into()),
        ("write_ios", count.ios[1].into()),
        ("read_merges", count.merges[0].into()),
        ("write_merges", count.merges[1].into()),
        ("read_ticks", ticks[0].into()),
        ("write_ticks", ticks[1].into()),
        ("in_queue", ticks[2].into()),
        ("util", disk.busy_percent().into()),
    ])
}

/// The options as they were typed, the last of each name, then what readers look for and nobody typed.
fn options(job: &Job) -> Value {
    let mut options = typed(job.options.iter());
    for (name, value) in always(job) {
        if !options.iter().any(|(known, _)| known == name) {
            options.push((name.to_owned(), value.into()));
        }
    }
    Value::object(options)
}

/// fio-plot finds nothing without `rw`, `iodepth`, `numjobs` and `bs`.
fn always(job: &Job) -> Vec<(&'static str, String)> {
    let mut options = vec![
        ("name", job.name.clone()),
        ("rw", job.rw_name().to_owned()),
        ("bs", short_size(job.block_sizes.largest().0)),
        ("ioengine", job.engine.name().to_owned()),
        ("iodepth", job.queue_depth.to_string()),
        ("numjobs", job.threads.to_string()),
        ("direct", u8::from(job.direct).to_string()),
    ];
    if job.mix.read > 0 && job.mix.write > 0 {
        options.push(("rwmixread", job.mix.read.to_string()));
    }
    if let Some(runtime) = job.runtime {
        options.push(("runtime", format!("{}", runtime.0.div_ceil(1_000_000_000))));
    }
    if let Engine::IoUring { poll: true, .. } | Engine::Pvsync2 { hipri: true } = job.engine {
        options.push(("hipri", "1".to_owned()));
    }
    options
}

/// A size as people type it for fio: `4k`, `1m`, `512`.
fn short_size(bytes: u64) -> String {
    let units = [("g", 1u64 << 30), ("m", 1 << 20), ("k", 1 << 10)];
    let fits = units.into_iter().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    fits.map_or_else(|| bytes.to_string(), |(unit, factor)| format!("{}{unit}", bytes / factor))
}

/// The error of the first kind of failure, 0 without; data that did not verify is fio's `EILSEQ`.
pub(super) fn first_error(outcome: &Outcome) -> u64 {
    const EILSEQ: u64 = 84;
    outcome.failures.iter().find(|failure| !failure.ignored).map_or(0, |failure| match failure.errno {
        0 => EILSEQ,
        errno => u64::from(errno.unsigned_abs()),
    })
}

/// Time of all threads together.
fn thread_time(outcome: &Outcome) -> Nanos {
    Nanos(outcome.elapsed.0 * u64::from(outcome.job.threads.max(1)))
}

/// CPU time as a share of the time of all threads.
pub(super) fn cpu_percent(outcome: &Outcome, used: Nanos) -> f64 {
    100.0 * used.0 as f64 / thread_time(outcome).0.max(1) as f64
}

/// Both kinds of switches, as fio counts them.
pub(super) fn context_switches(outcome: &Outcome) -> u64 {
    outcome.cpu.switches_voluntary + outcome.cpu.switches_involuntary
}

/// A device over all outcomes that it answered.
pub(super) struct DiskUse {
    pub(super) count: DeviceCount,
    elapsed: Nanos,
}

impl DiskUse {
    fn and(mut self, more: DiskUse) -> DiskUse {
        let (sum, more_count) = (&mut self.count, more.count);
        for each in 0..3 {
            sum.ios[each] += more_count.ios[each];
            sum.merges[each] += more_count.merges[each];
        }
        sum.busy += more_count.busy;
        for (sum, more) in sum.in_device.iter_mut().flatten().zip(more_count.in_device.into_iter().flatten())
        {
            *sum += more;
        }
        sum.queued = sum.queued.zip(more_count.queued).map(|(sum, more)| sum + more);
        self.elapsed += more.elapsed;
        self
    }

    /// Milliseconds that reads, writes and all requests were in the device, each counted; 0 where a stored outcome is from
    /// before that was kept.
    pub(super) fn ticks(&self) -> [u64; 3] {
        let [read, write, _] = self.count.in_device.unwrap_or_default();
        [read, write, self.count.queued.unwrap_or_default()].map(millis)
    }

    /// Share of the time with a request in flight.
    pub(super) fn busy_percent(&self) -> f64 {
        (100.0 * self.count.busy.0 as f64 / self.elapsed.0.max(1) as f64).min(100.0)
    }
}

/// Each device once, its counts added up.
pub(super) fn disks(outcomes: &[Outcome]) -> Vec<DiskUse> {
    let counts = outcomes.iter().filter_map(|outcome| Some((outcome.device.as_ref()?, outcome.elapsed)));
    let disks =
        grouped(counts.map(|(count, elapsed)| (&count.name, DiskUse { count: count.clone(), elapsed })));
    disks.into_iter().filter_map(|(_, uses)| uses.into_iter().reduce(DiskUse::and)).collect()
}

pub(super) fn ended_unix_ms(file: &OutcomeFile) -> u64 {
    let ends = file.outcomes.iter().map(|outcome| outcome.started_unix_ms + millis(outcome.elapsed));
    ends.max().unwrap_or(file.started_unix_ms)
}

/// `Thu Jan  1 00:00:00 1970`: C's `ctime`, in UTC so that a report does not depend on where it is made.
pub(super) fn calendar(unix: u64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let days = unix / 86_400;
    let (mut year, mut day) = (1970, days);
    while day >= days_of(year) {
        day -= days_of(year);
        year += 1;
    }
    let february = days_of(year) - 337;
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (unix / 3600 % 24, unix / 60 % 60, unix % 60);
    let weekday = WEEKDAYS[(days % 7) as usize];
    format!("{weekday} {} {:>2} {hour:02}:{minute:02}:{second:02} {year}", MONTHS[month], day + 1)
}

/// Gregorian leap years.
fn days_of(year: u64) -> u64 {
    let leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    if leap { 366 } else { 365 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_agrees_with_known_dates() {
        let cases = [
            (0, "Thu Jan  1 00:00:00 1970"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (1_795_224_869, "Sat Nov 21 01:34:29 2026"),
            (4_102_444_799, "Thu Dec 31 23:59:59 2099"),
        ];
        for (unix, text) in cases {
            assert_eq!(calendar(unix), text);
        }
    }

    #[test]
    fn sizes_are_written_as_people_type_them() {
        let cases = [(512, "512"), (4096, "4k"), (1 << 20, "1m"), (1536, "1536")];
        for (bytes, text) in cases {
            assert_eq!(short_size(bytes), text);
        }
    }
}
