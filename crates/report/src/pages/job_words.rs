//! A job in one sentence.

use iostack_model::{Access, Amount, Distribution, Engine, FileTurns, Follow, Inside, Job, Order, Outcome};

/// The job and its target in words. On a simulated device alone no engine's system calls take part, only its depth.
pub(crate) fn asked(outcome: &Outcome) -> String {
    let (job, target) = (&outcome.job, &outcome.target);
    if let Some(replay) = &job.replay {
        return format!("replay of {replay}, on {target}; seed {}", job.seed);
    }
    let alone = outcome.inside.as_ref().is_some_and(|inside| inside.host.is_none());
    let engine = if alone { String::new() } else { format!(" with {}", engine(job)) };
    let mut words = vec![format!("{} of {}{engine}", access(job), sizes(job))];
    words.extend(ways(job));
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
        words.push(
            if has_page_cache(outcome) {
                "through the page cache"
            } else {
                "past a page cache that is not simulated"
            }
            .to_owned(),
        );
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
    if job.ramp.0 > 0 {
        words.push(format!("after a ramp of {}", job.ramp));
    }
    format!("{}; seed {}", words.join(", "), job.seed)
}

/// True where a page cache took part: a simulated device has one only where its sheet does.
fn has_page_cache(outcome: &Outcome) -> bool {
    let caches = |inside: &Inside| {
        inside.host.as_ref().is_some_and(|host| host.layers.iter().any(|layer| layer.name == "page cache"))
    };
    outcome.inside.as_ref().is_none_or(caches)
}

fn access(job: &Job) -> String {
    let order = match &job.access {
        Access::Sequential => "sequential".to_owned(),
        Access::Strided { gap } => format!("strided (gaps of {gap})"),
        Access::Backward { step } => format!("backward (by {step})"),
        Access::Random { distribution, order } => match distribution {
            Distribution::Uniform if *order == Order::Permutation && job.follow == Follow::NONE => {
                "random (each block once)".to_owned()
            }
            Distribution::Uniform => "random".to_owned(),
            Distribution::Zipf { theta } => format!("random (Zipf {theta})"),
            Distribution::Pareto { h } => format!("random (Pareto {h})"),
            Distribution::Normal { deviation_percent } => format!("random (normal {deviation_percent} %)"),
            Distribution::Zoned(zones) => format!("random (in {} zones, hot and cold)", zones.len()),
        },
    };
    let mix = [("reads", job.mix.read), ("writes", job.mix.write), ("trims", job.mix.trim)];
    let moving: Vec<_> = mix.into_iter().filter(|&(_, percent)| percent > 0).collect();
    let told: Vec<String> = match moving[..] {
        [(word, _)] => vec![word.to_owned()],
        _ => moving.iter().map(|(word, percent)| format!("{percent} % {word}")).collect(),
    };
    format!("{order} {}", told.join(" and "))
}

/// Options that change the order of offsets or files, in words.
fn ways(job: &Job) -> Vec<String> {
    let follow = (job.follow != Follow::NONE).then(|| job.follow.to_string());
    let align = (job.align.0 > 0).then(|| format!("at multiples of {}", job.align));
    let turns = (job.file_turns != FileTurns::default()).then(|| job.file_turns.to_string());
    let zones = job.zones.map(|zones| zones.to_string());
    let pointers = job.write_pointers.map(|zones| zones.to_string());
    [follow, align, zones, pointers, turns].into_iter().flatten().collect()
}

pub(super) fn sizes(job: &Job) -> String {
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

/// The job in few words, where the target is known.
pub(super) fn asked_short(outcome: &Outcome) -> String {
    let job = &outcome.job;
    if let Some(replay) = &job.replay {
        return format!("replay of {replay}");
    }
    let engine = if outcome.inside.is_some() { String::new() } else { format!("{} ", job.engine.name()) };
    let threads = if job.threads == 1 { String::new() } else { format!(", {} threads", job.threads) };
    format!("{} {}, {engine}depth {}{threads}", job.rw_name(), sizes(job), job.depth())
}
