//! fio's JSON and JSON+. Each object is a table of keys, so that a key is found where it stands in the output.

use iostack_model::{
    Bins, DeviceCount, Direction, Engine, Flow, Job, LatencyGoal, Nanos, Outcome, OutcomeFile, PercentilesOf,
    VerifyMode, bin_middle,
};

use super::shares::{self, Shares};
use super::spread::{self, Spread};
use super::steady;
use super::unified::{self, directions, unified};
use super::value::{Field, Value};
use super::version;

/// The report of a run as `fio --output-format=json` prints it; with `plus`, as `json+`: every histogram in full.
pub fn json(file: &OutcomeFile, plus: bool) -> String {
    let file = &*unified(file);
    let jobs =
        file.outcomes.iter().zip(groups(file)).map(|(outcome, group)| JobPart { outcome, group, plus });
    let jobs = Value::List(jobs.map(|part| job(&part)).collect());
    let disks = Value::List(disks(&file.outcomes).iter().map(|disk| Value::object(DISK, disk)).collect());
    let last = [("jobs".to_owned(), jobs), ("disk_util".to_owned(), disks)];
    format!("{}\n", Value::object(HEAD, file).with(global_options(file)).with(last))
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

/// Options of the last global sections, where there were any: as fio, those of the last of several files.
fn global_options(file: &OutcomeFile) -> Option<(String, Value)> {
    let typed = typed(file.outcomes.last().iter().flat_map(|outcome| &outcome.job.options_global));
    let all = typed.into_iter().map(|(name, value)| (name, Value::Text(value))).collect::<Vec<_>>();
    (!all.is_empty()).then(|| ("global options".to_owned(), Value::Object(all)))
}

/// Options with a value, the last of each name: fio leaves out those that stand alone.
fn typed<'a>(options: impl Iterator<Item = &'a (String, String)>) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = Vec::new();
    for (name, value) in options.filter(|(_, value)| !value.is_empty()) {
        kept.retain(|(known, _)| known != name);
        kept.push((name.clone(), value.clone()));
    }
    kept
}

/// One outcome and how it is to be shown.
struct JobPart<'a> {
    outcome: &'a Outcome,
    group: u64,
    plus: bool,
}

/// One direction of an outcome.
struct DirectionPart<'a> {
    part: &'a JobPart<'a>,
    direction: Direction,
}

const HEAD: &[Field<OutcomeFile>] = &[
    ("fio version", |file| Value::text(version(&file.iostack))),
    ("timestamp", |file| Value::Whole(ended_unix_ms(file) / 1000)),
    ("timestamp_ms", |file| Value::Whole(ended_unix_ms(file))),
    ("time", |file| Value::text(calendar(ended_unix_ms(file) / 1000))),
];

/// Keys of a job before the latency shares. A function, because a constant cannot name the borrow.
fn job_fields<'a>() -> [Field<JobPart<'a>>; 7] {
    [
        ("jobname", |part| Value::text(&part.outcome.job.name)),
        ("groupid", |part| Value::Whole(part.group)),
        ("job_start", |part| Value::Whole(part.outcome.started_unix_ms)),
        ("error", |part| Value::Whole(first_error(part.outcome))),
        ("eta", |_| Value::Whole(0)),
        ("elapsed", |part| Value::Whole(part.outcome.elapsed.0.div_ceil(1_000_000_000))),
        ("job options", |part| options(&part.outcome.job)),
    ]
}

/// Keys of a job behind its directions.
fn job_fields_next<'a>() -> [Field<JobPart<'a>>; 10] {
    [
        ("sync", sync),
        ("job_runtime", |part| Value::Whole(millis(thread_time(part.outcome)))),
        ("usr_cpu", |part| Value::Float(cpu_percent(part.outcome, part.outcome.cpu.user))),
        ("sys_cpu", |part| Value::Float(cpu_percent(part.outcome, part.outcome.cpu.system))),
        ("ctx", |part| Value::Whole(context_switches(part.outcome))),
        ("majf", |part| Value::Whole(part.outcome.cpu.faults_major)),
        ("minf", |part| Value::Whole(part.outcome.cpu.faults_minor)),
        ("iodepth_level", |part| of_shares(shares::depths(part.outcome))),
        ("iodepth_submit", |part| of_shares(shares::batches(part.outcome.job.batch.submit))),
        ("iodepth_complete", |part| of_shares(shares::batches(part.outcome.job.batch.complete_min))),
    ]
}

/// Keys of a job after them.
fn job_fields_last<'a>() -> [Field<JobPart<'a>>; 4] {
    [
        ("latency_depth", |part| Value::Whole(u64::from(latency_depth(part.outcome)))),
        ("latency_target", |part| Value::Whole(latency_goal(part.outcome).latency.0)),
        ("latency_percentile", |part| Value::Float(latency_goal(part.outcome).percent)),
        ("latency_window", |part| Value::Whole(latency_goal(part.outcome).window.0 / 1000)),
    ]
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

/// Keys of one direction.
fn side_fields<'a>() -> [Field<DirectionPart<'a>>; 23] {
    [
        ("io_bytes", |side| Value::Whole(side.bytes() + side.read_back().1)),
        ("io_kbytes", |side| Value::Whole((side.bytes() + side.read_back().1) / 1024)),
        ("bw_bytes", |side| Value::Whole(side.per_second(side.bytes()) as u64)),
        ("bw", |side| Value::Whole(side.per_second(side.bytes()) as u64 / 1024)),
        ("iops", |side| Value::Float(side.per_second(side.latency().count))),
        ("runtime", |side| Value::Whole(side.runtime_ms())),
        ("total_ios", |side| Value::Whole(side.latency().count + side.read_back().0)),
        ("short_ios", |side| Value::Whole(side.part.outcome.flow(side.direction).short)),
        ("drop_ios", |_| Value::Whole(0)),
        ("slat_ns", |side| side.percentiles(&side.flow().submit, side.wanted().submission)),
        ("clat_ns", |side| side.percentiles(side.flow().clat(), side.wanted().completion)),
        ("lat_ns", |side| side.percentiles(side.latency(), side.wanted().whole)),
        ("bw_min", |side| Value::Whole(side.bandwidth().min)),
        ("bw_max", |side| Value::Whole(side.bandwidth().max)),
        ("bw_agg", |side| Value::Float(side.share_of_bandwidth())),
        ("bw_mean", |side| Value::Float(side.bandwidth().mean)),
        ("bw_dev", |side| Value::Float(side.bandwidth().deviation)),
        ("bw_samples", |side| Value::Whole(side.bandwidth().samples)),
        ("iops_min", |side| Value::Whole(side.iops().min)),
        ("iops_max", |side| Value::Whole(side.iops().max)),
        ("iops_mean", |side| Value::Float(side.iops().mean)),
        ("iops_stddev", |side| Value::Float(side.iops().deviation)),
        ("iops_samples", |side| Value::Whole(side.iops().samples)),
    ]
}

const LATENCY: &[Field<Bins>] = &[
    ("min", |bins| Value::Whole(bins.min_ns)),
    ("max", |bins| Value::Whole(bins.max_ns)),
    ("mean", |bins| Value::Float(bins.mean_ns())),
    ("stddev", |bins| Value::Float(bins.stddev_ns())),
    ("N", |bins| Value::Whole(bins.count)),
];

const DISK: &[Field<DiskUse>] = &[
    ("name", |disk| Value::text(&disk.count.name)),
    ("read_ios", |disk| Value::Whole(disk.count.ios[0])),
    ("write_ios", |disk| Value::Whole(disk.count.ios[1])),
    ("read_merges", |disk| Value::Whole(disk.count.merges[0])),
    ("write_merges", |disk| Value::Whole(disk.count.merges[1])),
    ("read_ticks", |disk| Value::Whole(disk.ticks()[0])),
    ("write_ticks", |disk| Value::Whole(disk.ticks()[1])),
    ("in_queue", |disk| Value::Whole(disk.ticks()[2])),
    ("util", |disk| Value::Float(disk.busy_percent())),
];

fn job(part: &JobPart) -> Value {
    let names = ["latency_ns", "latency_us", "latency_ms"];
    let latencies = shares::latencies(&part.outcome.latency());
    let latencies =
        names.into_iter().zip(latencies).map(|(name, shares)| (name.to_owned(), of_shares(shares)));
    let end = job_fields_last().map(|(key, value)| (key.to_owned(), value(part)));
    // Ours, behind all of fio's: readers pass over keys that they do not know.
    let doubts: Vec<Value> = caveats(part.outcome).map(Value::Text).collect();
    let doubts = (!doubts.is_empty()).then(|| ("caveats".to_owned(), Value::List(doubts)));
    let sides = directions(&part.outcome.job).iter();
    let sides = sides.map(|&way| (unified::name(&part.outcome.job, way).to_owned(), side(part, way)));
    let next = job_fields_next().map(|(key, value)| (key.to_owned(), value(part)));
    Value::object(&job_fields(), part)
        .with(sides)
        .with(next)
        .with(latencies)
        .with(end)
        .with(steady::json(part.outcome))
        .with(doubts)
}

/// Doubts of an outcome, in words.
pub(super) fn caveats(outcome: &Outcome) -> impl Iterator<Item = String> {
    outcome.caveats.iter().map(iostack_doubt::says)
}

fn side(part: &JobPart, direction: Direction) -> Value {
    Value::object(&side_fields(), &DirectionPart { part, direction })
}

impl DirectionPart<'_> {
    fn flow(&self) -> &Flow {
        flow(self.part.outcome, self.direction).0
    }

    fn elapsed(&self) -> Nanos {
        flow(self.part.outcome, self.direction).1
    }

    fn latency(&self) -> &Bins {
        &self.flow().latency
    }

    fn wanted(&self) -> PercentilesOf {
        self.part.outcome.job.percentiles_of
    }

    /// The latency with percentiles and bins where they are wanted.
    fn percentiles(&self, bins: &Bins, wanted: bool) -> Value {
        if !wanted {
            return Value::object(LATENCY, bins);
        }
        histogram(bins, &self.part.outcome.job, self.part.plus)
    }

    fn bytes(&self) -> u64 {
        self.flow().bytes.0
    }

    fn read_back(&self) -> (u64, u64) {
        if self.direction == Direction::Read { uncounted(self.part.outcome) } else { (0, 0) }
    }

    fn per_second(&self, amount: u64) -> f64 {
        per_second(amount, self.elapsed())
    }

    /// 0 for a direction that did nothing, at least 1 otherwise: readers divide by it.
    fn runtime_ms(&self) -> u64 {
        if self.latency().count == 0 { 0 } else { millis(self.elapsed()).max(1) }
    }

    fn bandwidth(&self) -> Spread {
        spread::bandwidth(self.part.outcome, self.direction)
    }

    fn iops(&self) -> Spread {
        spread::iops(self.part.outcome, self.direction)
    }

    /// The mean of the samples as a share of the group's bandwidth, at most 100, as fio has it.
    fn share_of_bandwidth(&self) -> f64 {
        let whole = self.per_second(self.bytes()) / 1024.0;
        if whole > 0.0 { (self.bandwidth().mean * 100.0 / whole).min(100.0) } else { 0.0 }
    }
}

/// A direction of an outcome, and the time that it took. As in fio, the reads of a job that wrote and read that back are those
/// of the reading back, which has a time of its own.
pub(super) fn flow(outcome: &Outcome, direction: Direction) -> (&Flow, Nanos) {
    let back = outcome.read_back.as_ref().filter(|_| direction == Direction::Read);
    match back.filter(|_| outcome.read.latency.count == 0) {
        Some(back) => (&back.flow, back.elapsed),
        None => (outcome.flow(direction), outcome.elapsed),
    }
}

/// I/Os and bytes that were read back and are in no [`flow`].
pub(super) fn uncounted(outcome: &Outcome) -> (u64, u64) {
    if std::ptr::eq(flow(outcome, Direction::Read).0, &raw const outcome.read) {
        read_back(outcome)
    } else {
        (0, 0)
    }
}

/// I/Os and bytes that were read to verify what the job wrote: fio counts them as reads.
fn read_back(outcome: &Outcome) -> (u64, u64) {
    let read_back = outcome.job.verify.is_some_and(|verify| verify.mode == VerifyMode::WriteThenRead);
    let writes = outcome.write.latency.count;
    if !read_back || writes == 0 {
        return (0, 0);
    }
    let wrong = outcome.failures.iter().filter(|failure| failure.errno == 0).map(|failure| failure.count);
    // Those between the writes are reads already.
    let ios = (outcome.verified + wrong.sum::<u64>()).saturating_sub(outcome.read_between);
    (ios, (u128::from(outcome.write.bytes.0) * u128::from(ios) / u128::from(writes)) as u64)
}

/// I/Os or bytes per second; 0 without time.
pub(super) fn per_second(amount: u64, elapsed: Nanos) -> f64 {
    if elapsed.0 == 0 { 0.0 } else { amount as f64 / elapsed.as_secs_f64() }
}

/// A latency with percentiles, and with `plus` its bins, both only when it counted something, as fio does.
fn histogram(bins: &Bins, job: &Job, plus: bool) -> Value {
    let plain = Value::object(LATENCY, bins);
    if bins.count == 0 {
        return plain;
    }
    let percentiles = job.percentiles.iter().map(|&percent| {
        (format!("{percent:.6}"), Value::Whole(bins.quantile_ns(percent / 100.0).unwrap_or_default()))
    });
    let plain = plain.with([("percentile".to_owned(), Value::Object(percentiles.collect()))]);
    if !plus {
        return plain;
    }
    let counts = bins
        .counts
        .iter()
        .map(|&(index, count)| (bin_middle(index as usize).to_string(), Value::Whole(count)));
    plain.with([("bins".to_owned(), Value::Object(counts.collect()))])
}

fn sync(part: &JobPart) -> Value {
    let bins = &part.outcome.sync;
    let latency = histogram(bins, &part.outcome.job, part.plus);
    Value::Object(vec![("total_ios".to_owned(), Value::Whole(bins.count)), ("lat_ns".to_owned(), latency)])
}

fn of_shares(shares: Shares) -> Value {
    Value::Object(shares.into_iter().map(|(key, percent)| (key.to_owned(), Value::Float(percent))).collect())
}

/// The options as they were typed, the last of each name, then what readers look for and nobody typed.
fn options(job: &Job) -> Value {
    let mut options = typed(job.options.iter());
    for (name, value) in always(job) {
        if !options.iter().any(|(known, _)| known == name) {
            options.push((name.to_owned(), value));
        }
    }
    Value::Object(options.into_iter().map(|(name, value)| (name, Value::Text(value))).collect())
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

pub(super) fn millis(span: Nanos) -> u64 {
    span.0 / 1_000_000
}

/// A device over all outcomes that it answered.
pub(super) struct DiskUse {
    pub(super) count: DeviceCount,
    elapsed: Nanos,
}

impl DiskUse {
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
    let mut disks: Vec<DiskUse> = Vec::new();
    for outcome in outcomes {
        let Some(count) = &outcome.device else { continue };
        match disks.iter_mut().find(|disk| disk.count.name == count.name) {
            None => disks.push(DiskUse { count: count.clone(), elapsed: outcome.elapsed }),
            Some(disk) => {
                for each in 0..3 {
                    disk.count.ios[each] += count.ios[each];
                    disk.count.merges[each] += count.merges[each];
                }
                disk.count.busy += count.busy;
                for (sum, more) in
                    disk.count.in_device.iter_mut().flatten().zip(count.in_device.iter().flatten())
                {
                    *sum += *more;
                }
                disk.count.queued = disk.count.queued.zip(count.queued).map(|(sum, more)| sum + more);
                disk.elapsed += outcome.elapsed;
            }
        }
    }
    disks
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
