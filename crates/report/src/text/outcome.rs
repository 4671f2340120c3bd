//! The screen of `iostack run`: one part for each outcome.

use iostack_model::{
    Access, Amount, Bins, Direction, Distribution, Engine, Job, Nanos, Order, Outcome, OutcomeFile,
    TargetKind, TargetName,
};

use super::format::{
    both_ends, brief, clean, count, cut, megabytes, paragraph, percentile_name, plus_minus, rate,
};
use super::glyphs::sparkline;
use super::notes::Notes;
use super::screen::{devices, host};
use super::steps::rate_of;

/// Percentiles of the latency table; p99.99 makes 80 columns.
const PERCENTILES: [f64; 4] = [50.0, 99.0, 99.9, 99.99];

/// Cells of a sparkline.
const SPARK: usize = 50;

/// All outcomes of a run, the conditions once, the notes at the end.
pub fn outcome(file: &OutcomeFile) -> String {
    let mut notes = Notes::default();
    let mut parts = vec![conditions(file)];
    for outcome in &file.outcomes {
        parts.push(one(outcome, &mut notes));
        parts.extend(outcome.inside.iter().flat_map(|inside| super::inside::account(outcome, inside)));
        parts.extend(outcome.stages.as_ref().map(super::stages));
        parts.extend(outcome.layers.as_ref().map(super::layers));
    }
    if !notes.is_empty() {
        parts.push(format!("NOTES\n{}", notes.text()));
    }
    parts.push(next(file));
    clean(&parts.join("\n"))
}

fn conditions(file: &OutcomeFile) -> String {
    // A simulation has no host, and its device is not that of this machine.
    if let Some(inside) = file.outcomes.first().and_then(|outcome| outcome.inside.as_ref()) {
        return super::inside::conditions(inside);
    }
    let storage = file.outcomes.first().map(|outcome| devices(&outcome.storage)).unwrap_or_default();
    paragraph("device     ", &storage) + &paragraph("host       ", &host(&file.machine))
}

fn one(outcome: &Outcome, notes: &mut Notes) -> String {
    let mark = notes.mark(&outcome.caveats);
    let name = cut(&outcome.job.name, 40);
    let when = match (outcome.interrupted, &outcome.inside) {
        (true, _) => "INTERRUPTED after",
        (false, Some(_)) => "simulated",
        (false, None) => "measured",
    };
    let mut text = both_ends(&format!("{name} {mark}"), &format!("{when} {}", outcome.elapsed));
    text += &paragraph("  asked    ", &asked(outcome));
    for (label, line) in outcome.app.iter().flat_map(crate::app::told) {
        text += &paragraph(&format!("  {label:<9}"), &line);
    }
    text += &throughput(outcome);
    if outcome.ios() > 0 {
        text += &latencies(outcome);
    }
    if outcome.ios() > 0 && outcome.inside.is_none() {
        text += &cost(outcome);
    }
    text += &depth_and_device(outcome);
    text += &over_time(outcome);
    text + &failures(outcome)
}

/// The job in one sentence. On a simulated device alone no engine's system calls take part, only its depth.
pub(crate) fn asked(outcome: &Outcome) -> String {
    let (job, target) = (&outcome.job, &outcome.target);
    if let Some(replay) = &job.replay {
        return format!("replay of {replay}, on {target}; seed {}", job.seed);
    }
    if let Some(app) = &job.app {
        return format!("{}, on {target}; seed {}", crate::app::asked(app), job.seed);
    }
    let alone = outcome.inside.as_ref().is_some_and(|inside| inside.host.is_none());
    let engine = if alone { String::new() } else { format!(" with {}", engine(job)) };
    let mut words = vec![format!("{} of {}{engine}", access(job), sizes(job))];
    words.push(format!("depth {}", job.depth()));
    if job.depth() != job.queue_depth {
        words.push(format!("({} asked, but {} has one in flight)", job.queue_depth, job.engine.name()));
    }
    if job.threads > 1 {
        words.push(format!("{} threads", job.threads));
    }
    if job.batch.submit > 1 {
        words.push(format!("batches of {}", job.batch.submit));
    }
    if !job.direct {
        words.push("through the page cache".to_owned());
    }
    if let Some(rate) = job.rate {
        words.push(format!("open loop at {} I/Os per second and thread", rate.iops));
    }
    for (every, call) in [(job.sync.fsync_every, "fsync"), (job.sync.fdatasync_every, "fdatasync")] {
        if every > 0 {
            words.push(format!("{call} after every {every} writes"));
        }
    }
    words.push(format!("on {target}{}", region(job)));
    format!("{}; seed {}", words.join(", "), job.seed)
}

fn access(job: &Job) -> String {
    let order = match &job.access {
        Access::Sequential => "sequential",
        Access::Strided { .. } => "strided",
        Access::Random { distribution: Distribution::Uniform, order: Order::Permutation } => {
            "random (each block once)"
        }
        Access::Random { distribution: Distribution::Uniform, .. } => "random",
        Access::Random { distribution: Distribution::Zoned(_), .. } => "random (hot and cold zones)",
        Access::Random { .. } => "random (skewed)",
    };
    let mix = [("reads", job.mix.read), ("writes", job.mix.write), ("trims", job.mix.trim)];
    let moving: Vec<_> = mix.into_iter().filter(|&(_, percent)| percent > 0).collect();
    let told: Vec<String> = match moving[..] {
        [(word, _)] => vec![word.to_owned()],
        _ => moving.iter().map(|(word, percent)| format!("{percent} % {word}")).collect(),
    };
    format!("{order} {}", told.join(" and "))
}

fn sizes(job: &Job) -> String {
    let (smallest, largest) = (job.block_sizes.smallest(), job.block_sizes.largest());
    if smallest == largest { smallest.to_string() } else { format!("{smallest} to {largest}") }
}

fn engine(job: &Job) -> String {
    let Engine::IoUring { fixed_buffers, registered_files, poll, submit_poll } = job.engine else {
        return job.engine.name().to_owned();
    };
    let extras = [
        (fixed_buffers, "fixed buffers"),
        (registered_files, "registered files"),
        (poll, "polled completions"),
        (submit_poll, "a submitting kernel thread"),
    ];
    let extras: Vec<&str> = extras.into_iter().filter(|&(on, _)| on).map(|(_, name)| name).collect();
    if extras.is_empty() { "io_uring".to_owned() } else { format!("io_uring with {}", extras.join(" and ")) }
}

fn region(job: &Job) -> String {
    match job.size {
        None => String::new(),
        Some(Amount::Bytes(bytes)) => format!(" (region {bytes})"),
        Some(Amount::Percent(percent)) => format!(" (region {percent} % of it)"),
    }
}

/// All directions with the interval, then each when there are several.
fn throughput(outcome: &Outcome) -> String {
    if outcome.ios() == 0 {
        return "  IOPS     none: no I/O completed in the measured time\n".to_owned();
    }
    if outcome.elapsed.0 == 0 {
        return "  IOPS     no rate: no time passed\n".to_owned();
    }
    let iops = outcome.iops;
    let interval = if iops.samples < 3 {
        "(too short for an interval)".to_owned()
    } else {
        format!("{} (95 %: {} to {})", plus_minus(iops), rate(iops.low), rate(iops.high))
    };
    let mut text =
        format!("  IOPS     {} {interval}, {} MB/s\n", rate(iops.mean), megabytes(outcome.bandwidth()));
    let moving = Direction::ALL.into_iter().filter(|&each| outcome.flow(each).latency.count > 0);
    if moving.clone().count() > 1 {
        let seconds = outcome.elapsed.as_secs_f64().max(1e-9);
        let each = moving.map(|each| {
            let flow = outcome.flow(each);
            let per_second = flow.latency.count as f64 / seconds;
            format!(
                "{} {} ({} MB/s)",
                each.name(),
                rate(per_second),
                megabytes(flow.bytes.0 as f64 / seconds)
            )
        });
        text += &paragraph("           ", &each.collect::<Vec<_>>().join(", "));
    }
    text
}

fn latencies(outcome: &Outcome) -> String {
    let mut text = format!("  {:<9}{:>8}{:>9}", "latency", "min", "mean");
    for percent in PERCENTILES {
        text += &format!("{:>9}", percentile_name(percent));
    }
    text += &format!("{:>9}{:>7}\n", "max", "I/Os");
    for each in Direction::ALL {
        text += &latency_row(each.name(), &outcome.flow(each).latency);
    }
    text += &latency_row("flush", &outcome.sync);
    let mut submit = outcome.read.submit.clone();
    submit.merge(&outcome.write.submit);
    submit.merge(&outcome.trim.submit);
    text + &latency_row("submit", &submit)
}

fn latency_row(name: &str, bins: &Bins) -> String {
    if bins.count == 0 {
        return String::new();
    }
    let mut text = format!("    {name:<7}{:>8}", Nanos(bins.min_ns).to_string());
    text += &format!("{:>9}", Nanos(bins.mean_ns() as u64).to_string());
    for percent in PERCENTILES {
        let supported = bins.count >= iostack_stats::samples_needed(percent / 100.0);
        let quantile = bins.quantile_ns(percent / 100.0).filter(|_| supported).map(Nanos);
        text += &format!("{:>9}", super::format::latency(quantile));
    }
    text + &format!("{:>9}{:>7}\n", Nanos(bins.max_ns).to_string(), few(bins.count))
}

/// CPU time that makes a split into user and system mean something, ticks being 1 to 10 ms long.
const TICKS_ENOUGH: Nanos = Nanos::millis(100);

/// A count in at most six characters, exact where it fits.
fn few(count: u64) -> String {
    if count < 1_000_000 { count.to_string() } else { rate(count as f64) }
}

fn cost(outcome: &Outcome) -> String {
    let cpu = &outcome.cpu;
    let ios = outcome.ios() as f64;
    let ns = outcome.cpu_ns_per_io().unwrap_or_default();
    let share = |part: Nanos| 100.0 * part.0 as f64 / cpu.total().0.max(1) as f64;
    let workers = if cpu.workers.0 > 0 {
        format!(", {:.0} % in kernel workers", share(cpu.workers))
    } else {
        String::new()
    };
    // The kernel splits CPU time by sampling at timer ticks: of a few ticks nothing follows.
    let split = if cpu.total() >= TICKS_ENOUGH {
        format!("; {:.0} % user, {:.0} % system{workers}", share(cpu.user), share(cpu.system))
    } else {
        String::new()
    };
    let per_core = if ns > 0.0 { format!("; {} IOPS per core", rate(1e9 / ns)) } else { String::new() };
    let text = format!(
        "each I/O costs {ns:.0} ns CPU ({:.0} clocks{split}), {:.2} system calls, {:.2} \
         context switches{per_core}; busiest thread {:.0} % busy",
        cpu.clocks_per_io,
        cpu.syscalls as f64 / ios,
        (cpu.switches_voluntary + cpu.switches_involuntary) as f64 / ios,
        cpu.busiest_thread * 100.0
    );
    paragraph("  cost     ", &text)
}

fn depth_and_device(outcome: &Outcome) -> String {
    let asked = outcome.job.depth() * outcome.job.threads;
    let mut text = format!("  depth    {:.1} of {asked} asked\n", outcome.depth_achieved);
    if outcome.inside.is_some() {
        return text;
    }
    let Some(device) = &outcome.device else {
        return text + "  device   no counters of its own\n";
    };
    let told = Direction::ALL.into_iter().filter_map(|each| {
        let (ours, theirs) = (outcome.flow(each).latency.count, device.ios[each as usize]);
        let merged = device.merges[each as usize];
        let merged = if merged > 0 { format!(" after {} merges", count(merged)) } else { String::new() };
        (ours > 0 || theirs > 0)
            .then(|| format!("{} {}s{merged} (ours: {})", count(theirs), each.name(), count(ours)))
    });
    let told: Vec<String> = told.collect();
    let told = if told.is_empty() { "no I/O".to_owned() } else { told.join(", ") };
    let flushes =
        if device.flushes > 0 { format!(", {} flushes", count(device.flushes)) } else { String::new() };
    text += &paragraph("  device   ", &format!("{} counts {told}{flushes}", device.name));
    text
}

/// Rate, p99 and the gauges over the measured time, when there is a time to speak of.
fn over_time(outcome: &Outcome) -> String {
    if outcome.series.len() < 3 {
        return String::new();
    }
    let rates: Vec<f64> = outcome.series.iter().map(rate_of).collect();
    let tails: Vec<f64> = outcome.series.iter().map(|slice| slice.p99.0 as f64).collect();
    let time = |ns: f64| Nanos(ns as u64).to_string();
    let mut curves: Vec<Curve> = vec![("rate", &rates, rate), ("p99", &tails, time)];
    let gauges = outcome.inside.iter().flat_map(|inside| &inside.gauges);
    let gauges =
        gauges.filter(|gauge| gauge.values.windows(2).any(|pair| pair[0].to_bits() != pair[1].to_bits()));
    curves.extend(gauges.map(|gauge| (gauge.name.as_str(), &gauge.values[..], brief as fn(f64) -> String)));
    // The longest name decides where the curves begin, so that they stand below each other.
    let name = curves.iter().map(|curve| curve.0.chars().count().min(NAME) + 1).fold(9, usize::max);
    let mut text = String::new();
    for (curve, values, show) in curves {
        // A slice without I/O has no p99.
        let counted: Vec<f64> = values.iter().copied().filter(|&ns| curve != "p99" || ns > 0.0).collect();
        let (least, most) = extremes(if counted.is_empty() { values } else { &counted });
        let drawn = sparkline(values, SPARK + 9 - name);
        text += &format!("  {:<name$}{drawn} {} to {}\n", cut(curve, NAME), show(least), show(most));
    }
    let slice = outcome.job.slice;
    text + &format!("  {:<name$}(each of {} slices of {slice})\n", "", rates.len())
}

/// A name, its values, and how one is written.
type Curve<'a> = (&'a str, &'a [f64], fn(f64) -> String);

/// Columns of a curve's name.
const NAME: usize = 15;

fn extremes(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}

fn failures(outcome: &Outcome) -> String {
    let mut text = String::new();
    for failure in &outcome.failures {
        let what = format!(
            "{} {}s failed: {} (first at byte {})",
            count(failure.count),
            failure.direction.name(),
            failure.message,
            failure.offset_first
        );
        text += &paragraph("  FAILED   ", &what);
    }
    if outcome.verified > 0 {
        text += &format!("  verified {} blocks\n", count(outcome.verified));
    }
    text
}

fn next(file: &OutcomeFile) -> String {
    match file.outcomes.first() {
        Some(Outcome { inside: Some(_), target, .. }) => format!(
            "next: iostack sim show {}    # its parts, its numbers, their sources\n",
            target.path.display()
        ),
        Some(Outcome { target: TargetName { kind: TargetKind::Lab, path }, .. }) => {
            format!("next: iostack lab cost {}    # the exact instructions of one I/O\n", path.display())
        }
        Some(outcome) => {
            format!("next: iostack check {}    # what limits this platform\n", outcome.target.path.display())
        }
        None => "next: iostack check    # what limits this platform\n".to_owned(),
    }
}
