//! A job file of fio's that asks what an outcome was asked.

use iostack_model::{
    Access, Amount, Arrival, Direction, Distribution, Engine, Job, Nanos, Order, TargetKind, TargetName,
};

use super::Exported;

/// One load: its name, the job, and what answered.
pub struct FioLoad<'a> {
    /// Name of the section.
    pub name: String,
    /// The job as it was asked.
    pub job: &'a Job,
    /// The target that answered.
    pub target: &'a TargetName,
}

/// Fields of a job that are no part of the load, or that only name it.
const BESIDE: [&str; 18] = [
    "name",
    "section",
    "options",
    "options_global",
    "percentiles",
    "percentiles_of",
    "split_latency",
    "logs",
    "slice",
    "stonewall",
    "report_group",
    "new_group",
    "thread_first",
    "files",
    "directory",
    "file_count",
    "unlink",
    "invalidate",
];

/// A section for each load, one after the other.
pub fn fio_job(loads: &[FioLoad<'_>]) -> Exported {
    let text = "[global]\nthread=1\ngroup_reporting=1\n".to_owned();
    let mut told = Exported { text, unsaid: Vec::new() };
    for (place, load) in loads.iter().enumerate() {
        let lines = options(load.job);
        let name = load.name.replace(['[', ']', '\n'], " ");
        told.text += &format!("\n[{}]\n", name.trim());
        if place > 0 {
            told.text += "stonewall\n";
        }
        for (key, value) in place_of(load, &mut told.unsaid).into_iter().chain(lines) {
            told.text += &format!("{key}={value}\n");
        }
        told.unsaid.extend(unsaid(load));
    }
    told.unsaid.dedup();
    told
}

/// Names where it goes. What would lose data is not said in the file.
fn place_of(load: &FioLoad<'_>, unsaid: &mut Vec<String>) -> Vec<(&'static str, String)> {
    let FioLoad { job, target, .. } = load;
    let path = target.path.display().to_string().replace(':', "\\:");
    match target.kind {
        TargetKind::Directory => return vec![("directory", path)],
        TargetKind::File | TargetKind::Block if !job.destroys() => return vec![("filename", path)],
        TargetKind::File | TargetKind::Block => {
            unsaid.push(format!(
                "filename={path} is left out: this job writes there; add it where that may be lost"
            ));
        }
        TargetKind::Sim | TargetKind::Lab => {
            unsaid.push(format!("`{target}` is no file of this machine; name one with filename="));
        }
    }
    Vec::new()
}

fn micros(time: Nanos) -> String {
    format!("{}us", time.0.div_ceil(1000))
}

fn options(job: &Job) -> Vec<(&'static str, String)> {
    let mut said = vec![("rw", rw(job)), ("bs", sizes(job))];
    let mut add = |wanted: bool, key: &'static str, value: String| {
        if wanted {
            said.push((key, value));
        }
    };
    let is_mixed = job.mix.read > 0 && job.mix.write > 0;
    add(is_mixed, "rwmixread", job.mix.read.to_string());
    let split = [Direction::Read, Direction::Write, Direction::Trim].map(|each| split(job, each));
    add(split.iter().any(|one| one.contains(':')), "bssplit", split.join(","));
    add(true, "ioengine", job.engine.name().to_owned());
    add(true, "iodepth", job.depth().to_string());
    add(job.batch.submit > 1, "iodepth_batch_submit", job.batch.submit.to_string());
    add(job.batch.complete_min > 1, "iodepth_batch_complete_min", job.batch.complete_min.to_string());
    add(true, "direct", u8::from(job.direct).to_string());
    add(job.threads > 1, "numjobs", job.threads.to_string());
    add(true, "randseed", job.seed.to_string());
    if let Access::Random { order, distribution } = &job.access {
        let independent = *order == Order::Independent || *distribution != Distribution::Uniform;
        add(independent, "norandommap", "1".to_owned());
        let drawn = distribution_words(distribution);
        add(drawn.is_some(), "random_distribution", drawn.unwrap_or_default());
    }
    ends(job, &mut add);
    if let Some(rate) = job.rate {
        add(true, "rate_iops", format!("{:.0}", rate.iops.max(1.0)));
        add(rate.arrival == Arrival::Poisson, "rate_process", "poisson".to_owned());
    }
    if let Some(think) = job.think {
        add(true, "thinktime", micros(think.time));
        add(think.every > 1, "thinktime_blocks", think.every.to_string());
        add(think.spin.0 > 0, "thinktime_spin", micros(think.spin));
    }
    add(job.sync.fsync_every > 0, "fsync", job.sync.fsync_every.to_string());
    add(job.sync.fdatasync_every > 0, "fdatasync", job.sync.fdatasync_every.to_string());
    add(job.sync.end_fsync, "end_fsync", "1".to_owned());
    add(job.sync.o_sync, "sync", "sync".to_owned());
    add(job.sync.o_dsync && !job.sync.o_sync, "sync", "dsync".to_owned());
    let flags = match job.engine {
        Engine::IoUring { fixed_buffers, registered_files, poll, submit_poll } => vec![
            (fixed_buffers, "fixedbufs"),
            (registered_files, "registerfiles"),
            (poll, "hipri"),
            (submit_poll, "sqthread_poll"),
        ],
        Engine::Pvsync2 { hipri } => vec![(hipri, "hipri")],
        _ => Vec::new(),
    };
    for (wanted, key) in flags {
        add(wanted, key, "1".to_owned());
    }
    said
}

/// Tells where it begins and when it ends.
fn ends(job: &Job, add: &mut impl FnMut(bool, &'static str, String)) {
    let amount = |amount: Amount| match amount {
        Amount::Bytes(bytes) => bytes.0.to_string(),
        Amount::Percent(percent) => format!("{percent:.0}%"),
    };
    add(job.offset != Amount::Bytes(iostack_model::Bytes(0)), "offset", amount(job.offset));
    add(!job.offset_increment.is_zero(), "offset_increment", job.offset_increment.0.to_string());
    add(job.size.is_some(), "size", job.size.map(amount).unwrap_or_default());
    add(job.io_limit.is_some(), "io_size", job.io_limit.map_or(0, |bytes| bytes.0).to_string());
    add(job.io_count.is_some(), "number_ios", job.io_count.unwrap_or(0).to_string());
    add(job.runtime.is_some(), "runtime", job.runtime.map(micros).unwrap_or_default());
    add(job.time_based, "time_based", "1".to_owned());
    add(job.ramp.0 > 0, "ramp_time", micros(job.ramp));
    add(job.start_delay.0 > 0, "startdelay", micros(job.start_delay));
    add(job.loops > 1, "loops", job.loops.to_string());
}

fn rw(job: &Job) -> String {
    match &job.access {
        Access::Strided { gap } => format!("{}:{}", job.rw_name(), gap.0),
        Access::Backward { step } => format!("{}:-{}", job.rw_name(), step.0),
        _ => job.rw_name().to_owned(),
    }
}

fn sizes(job: &Job) -> String {
    let first = |direction| job.block_sizes.of(direction).first().map_or(4096, |(size, _)| size.0);
    Direction::ALL.map(|direction| first(direction).to_string()).join(",")
}

/// `4096/60:65536/40`, of several sizes; of one nothing but it.
fn split(job: &Job, direction: Direction) -> String {
    let each = job.block_sizes.of(direction).iter().map(|(size, percent)| format!("{}/{percent}", size.0));
    each.collect::<Vec<_>>().join(":")
}

fn distribution_words(distribution: &Distribution) -> Option<String> {
    Some(match distribution {
        Distribution::Uniform => return None,
        Distribution::Zipf { theta } => format!("zipf:{theta}"),
        Distribution::Pareto { h } => format!("pareto:{h}"),
        Distribution::Normal { deviation_percent } => format!("normal:{deviation_percent}"),
        Distribution::Zoned(zones) => {
            let zones =
                zones.iter().map(|zone| format!("{:.0}/{:.0}", zone.access_percent, zone.size_percent));
            format!("zoned:{}", zones.collect::<Vec<_>>().join(":"))
        }
    })
}

/// Fields of the job that no option above stands for.
fn unsaid(load: &FioLoad<'_>) -> Vec<String> {
    let usual = Job::default();
    let job = load.job;
    let said = Job {
        mix: job.mix,
        access: job.access.clone(),
        block_sizes: job.block_sizes.clone(),
        offset: job.offset,
        offset_increment: job.offset_increment,
        size: job.size,
        io_limit: job.io_limit,
        io_count: job.io_count,
        engine: job.engine,
        queue_depth: job.queue_depth,
        batch: job.batch,
        threads: job.threads,
        direct: job.direct,
        runtime: job.runtime,
        time_based: job.time_based,
        ramp: job.ramp,
        start_delay: job.start_delay,
        loops: job.loops,
        rate: job.rate,
        think: job.think,
        seed: job.seed,
        sync: iostack_model::Sync { range: None, ..job.sync },
        ..usual
    };
    let fields = |job: &Job| serde_json::to_value(job).unwrap_or_default();
    let (own, said) = (fields(job), fields(&said));
    let own = own.as_object().into_iter().flatten();
    let left = own.filter(|(key, value)| !BESIDE.contains(&key.as_str()) && said.get(*key) != Some(*value));
    left.map(|(key, value)| format!("job `{}`: {key} = {value} is not in the file", load.name)).collect()
}
