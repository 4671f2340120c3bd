//! Were both asked the same thing, in the same place?
//!
//! A figure is only as comparable as its conditions. Each condition is a name and a function that writes it; those
//! whose texts differ are listed.

use std::mem::discriminant;

use iostack_model::{Access, Amount, Caveat, Engine, Inside, Job, Machine, Outcome, Storage};

/// One condition that differs between two outcomes.
#[derive(Clone, Debug, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct Difference {
    /// Name of the condition.
    pub name: String,
    /// Text of the condition in the first outcome.
    pub a: String,
    /// Text of the condition in the second outcome.
    pub b: String,
}

type Condition<T> = (&'static str, fn(&T) -> String);

const MACHINE: &[Condition<Machine>] = &[
    ("kernel", |machine| machine.kernel.release.clone()),
    ("processor", |machine| machine.cpu.model.clone()),
    ("usable CPUs", |machine| machine.cpu.cores_usable.to_string()),
    ("clock source", |machine| machine.kernel.clock_source.clone()),
    ("frequency governor", |machine| or_none(machine.cpu.governor.as_deref())),
    ("hypervisor", |machine| or_none(machine.virtualisation.hypervisor.as_deref())),
    ("I/O limit", |machine| or_none(machine.virtualisation.io_limit.as_deref())),
];

const STORAGE: &[Condition<Storage>] = &[
    ("device", |storage| or_none(storage.bottom().map(|d| d.model.as_deref().unwrap_or(&d.driver)))),
    ("devices in the chain", |storage| each_device(storage, |device| device.role.clone())),
    ("file system", |storage| or_none(storage.file_system.as_ref().map(|fs| fs.kind.as_str()))),
    ("mount options", |storage| or_none(storage.file_system.as_ref().map(|fs| fs.options.as_str()))),
    ("scheduler", |storage| each_device(storage, |device| device.queue.scheduler.clone())),
    ("queued requests", |storage| each_device(storage, |device| device.queue.requests.to_string())),
    ("write cache", |storage| each_device(storage, |device| device.write_cache.clone())),
];

const JOB: &[Condition<Job>] = &[
    ("engine", |job| engine(job.engine)),
    ("access", access),
    ("replay", |job| or_none(job.replay.as_deref())),
    ("next offset", |job| job.follow.to_string()),
    ("alignment", |job| if job.align.0 == 0 { "of the block".to_owned() } else { job.align.to_string() }),
    ("zones", |job| job.zones.map_or("none".to_owned(), |zones| zones.to_string())),
    ("write pointers", |job| job.write_pointers.map_or("none".to_owned(), |zones| zones.to_string())),
    ("files", |job| format!("{}, {}", job.file_count, job.file_turns)),
    ("mix", |job| format!("{}/{}/{} % read/write/trim", job.mix.read, job.mix.write, job.mix.trim)),
    ("block size", block_sizes),
    ("queue depth", |job| job.depth().to_string()),
    ("threads", |job| job.threads.to_string()),
    ("batch", |job| format!("submit {}, wait for {}", job.batch.submit, job.batch.complete_min)),
    ("direct", |job| if job.direct { "yes" } else { "no" }.to_owned()),
    ("region size", |job| job.size.map_or("to the end of the target".to_owned(), amount)),
    ("region offset", |job| amount(job.offset)),
    ("rate", |job| job.rate.map_or("as fast as it goes".to_owned(), |rate| format!("{} IOPS", rate.iops))),
    ("think time", |job| job.think.map_or("none".to_owned(), |think| think.time.to_string())),
    ("preferred", |job| {
        let text = job.host.preferred.as_ref().map(|preferred| {
            let [reads, writes] = preferred.percent;
            if preferred.by_size.iter().any(|sizes| !sizes.is_empty()) {
                return format!("by size: {:?}", preferred.by_size);
            }
            let (class, level) = (preferred.io_class, preferred.io_level);
            format!("{reads} % of reads and {writes} % of writes, class {class}, level {level}")
        });
        or_none(text.as_deref())
    }),
    ("requests", |job| {
        let parts = [
            (job.one_at_a_place, "one at a place"),
            (job.host.huge_pages, "from huge pages"),
            (job.host.flags.atomic, "atomic"),
            (job.host.flags.uncached, "uncached"),
            (job.host.flags.nowait, "never waiting"),
        ];
        joined(parts.into_iter().filter_map(|(is_so, word)| is_so.then_some(word.to_owned())))
    }),
    ("flushes", flushes),
    ("read back", |job| {
        let backlog = job.verify.and_then(|verify| verify.backlog);
        let along = backlog.map(|backlog| format!("{} after every {} writes", backlog.reads, backlog.writes));
        let trims = job.verify.and_then(|verify| verify.trims);
        let trims =
            trims.map(|trims| format!("{} % trimmed, after every {} writes", trims.percent, trims.writes));
        joined(along.into_iter().chain(trims))
    }),
    ("data", |job| format!("{:?}", job.data).to_lowercase()),
    ("CPUs", |job| job.cpus.as_ref().map_or("any".to_owned(), |cpus| format!("{cpus:?}"))),
];

/// Conditions of two simulations.
const INSIDE: &[Condition<Inside>] = &[
    ("simulated device", |inside| inside.device.clone()),
    ("numbers of the device", |inside| inside.origin.clone()),
    ("changed numbers", |inside| joined(inside.changed.iter().map(|(key, value)| format!("{key}={value}")))),
    ("capacity", |inside| inside.capacity.to_string()),
    ("state at the start", |inside| inside.state.clone()),
    ("seed of the simulation", |inside| inside.seed.to_string()),
];

pub(crate) type Says = fn(&Caveat) -> String;

/// Everything that differs between the conditions of two outcomes.
pub(crate) fn differences(
    a: &Outcome,
    b: &Outcome,
    machines: (&Machine, &Machine),
    says: Says,
) -> Vec<Difference> {
    let mut all = match (&a.inside, &b.inside) {
        (Some(a), Some(b)) => each(INSIDE, a, b),
        (None, None) => places(a, b, machines),
        // A simulation has neither machine nor storage that could be alike.
        _ => Vec::from_iter(differing("origin of the figures", origin(a), origin(b))),
    };
    all.extend(each(JOB, &a.job, &b.job));
    all.extend(caveats(&a.caveats, &b.caveats, says));
    all
}

fn origin(outcome: &Outcome) -> String {
    match &outcome.inside {
        Some(inside) => format!("simulated ({})", inside.device),
        None => "measured".to_owned(),
    }
}

/// Differences of the places where two outcomes were measured.
fn places(a: &Outcome, b: &Outcome, machines: (&Machine, &Machine)) -> Vec<Difference> {
    let mut all = each(MACHINE, machines.0, machines.1);
    all.extend(mitigations(machines.0, machines.1));
    let place = |outcome: &Outcome| format!("{:?}", outcome.target.kind).to_lowercase();
    all.extend(differing("target", place(a), place(b)));
    all.extend(each(STORAGE, &a.storage, &b.storage));
    all
}

fn each<T>(conditions: &[Condition<T>], a: &T, b: &T) -> Vec<Difference> {
    conditions.iter().filter_map(|(name, text)| differing(name, text(a), text(b))).collect()
}

fn differing(name: &str, a: String, b: String) -> Option<Difference> {
    (a != b).then(|| Difference { name: name.to_owned(), a, b })
}

/// Mitigations in the order of the first machine, then those that only the second lists.
fn mitigations(a: &Machine, b: &Machine) -> Vec<Difference> {
    let (of_a, of_b) = (&a.kernel.mitigations, &b.kernel.mitigations);
    let state = |list: &[(String, String)], name: &str| {
        or_none(list.iter().find(|(other, _)| other == name).map(|(_, state)| state.as_str()))
    };
    let only_b = of_b.iter().filter(|(name, _)| !of_a.iter().any(|(other, _)| other == name));
    let names = of_a.iter().chain(only_b).map(|(name, _)| name);
    names
        .filter_map(|name| differing(&format!("mitigation {name}"), state(of_a, name), state(of_b, name)))
        .collect()
}

/// Kinds of caveat that only one of the two has.
fn caveats(a: &[Caveat], b: &[Caveat], says: Says) -> Vec<Difference> {
    let missing = |from: &[Caveat], caveat: &Caveat| {
        !from.iter().any(|other| discriminant(other) == discriminant(caveat))
    };
    let row = |a: String, b: String| Difference { name: "caveat".to_owned(), a, b };
    let only_a = a.iter().filter(|caveat| missing(b, caveat));
    let only_b = b.iter().filter(|caveat| missing(a, caveat));
    only_a
        .map(|caveat| row(says(caveat), or_none(None)))
        .chain(only_b.map(|caveat| row(or_none(None), says(caveat))))
        .collect()
}

fn or_none(text: Option<&str>) -> String {
    text.unwrap_or("none").to_owned()
}

/// All parts in a row, or `none`.
fn joined(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { or_none(None) } else { parts.join(", ") }
}

/// One word for each device of the chain, top first.
fn each_device(storage: &Storage, text: impl Fn(&iostack_model::BlockDevice) -> String) -> String {
    let words: Vec<String> = storage.devices.iter().map(text).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { or_none(None) } else { words.join(" on ") }
}

fn engine(engine: Engine) -> String {
    let flags = match engine {
        Engine::IoUring { fixed_buffers, registered_files, poll, submit_poll } => vec![
            (fixed_buffers, "fixed buffers"),
            (registered_files, "registered files"),
            (poll, "polled"),
            (submit_poll, "submission polled"),
        ],
        Engine::Pvsync2 { hipri } => vec![(hipri, "high priority")],
        _ => Vec::new(),
    };
    let set = flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name);
    std::iter::once(engine.name()).chain(set).collect::<Vec<_>>().join(", ")
}

fn access(job: &Job) -> String {
    match &job.access {
        Access::Sequential => "sequential".to_owned(),
        Access::Strided { gap } => format!("strided, {gap} apart"),
        Access::Backward { step } => format!("backward by {step}"),
        Access::Random { order, distribution } => {
            format!("random, {distribution:?}, {order:?}").to_lowercase()
        }
    }
}

/// Sizes of the directions that the job uses, with their shares where there are several.
fn block_sizes(job: &Job) -> String {
    let used = iostack_model::Direction::ALL.into_iter().filter(|&direction| job.mix.of(direction) > 0);
    let texts = used.map(|direction| match job.block_sizes.of(direction) {
        [(size, _)] => size.to_string(),
        [(least, _), .., (most, _)] if job.any_multiple => format!("multiples of {least} up to {most}"),
        [(least, _), .., (most, _)] if job.any_size => format!("any from {least} to {most}"),
        sizes => {
            sizes.iter().map(|(size, percent)| format!("{percent} % {size}")).collect::<Vec<_>>().join(", ")
        }
    });
    let mut texts: Vec<String> = texts.collect();
    texts.dedup();
    texts.join(" / ")
}

fn amount(amount: Amount) -> String {
    match amount {
        Amount::Bytes(bytes) => bytes.to_string(),
        Amount::Percent(percent) => format!("{percent} % of the target"),
    }
}

fn flushes(job: &Job) -> String {
    let sync = job.sync;
    let mut words = Vec::new();
    if sync.fsync_every > 0 {
        words.push(format!("fsync every {}", sync.fsync_every));
    }
    if sync.fdatasync_every > 0 {
        words.push(format!("fdatasync every {}", sync.fdatasync_every));
    }
    if let Some(range) = sync.range {
        let parts = [(range.wait_before, "wait"), (range.write, "write"), (range.wait_after, "wait after")];
        let parts: Vec<&str> = parts.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
        words.push(format!("sync_file_range every {} ({})", range.every, parts.join(", ")));
    }
    let flags = [(sync.end_fsync, "fsync at the end"), (sync.o_sync, "O_SYNC"), (sync.o_dsync, "O_DSYNC")];
    words.extend(flags.iter().filter(|(on, _)| *on).map(|(_, name)| (*name).to_owned()));
    joined(words.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::compare::tests::outcome;
    use iostack_model::{BlockDevice, BlockSizes, Bytes, Queue};

    /// Differences of two outcomes of machines of which nothing is known.
    fn told(a: &Outcome, b: &Outcome) -> Vec<Difference> {
        differences(a, b, (&Machine::default(), &Machine::default()), |caveat| format!("{caveat:?}"))
    }

    fn names(differences: Vec<Difference>) -> Vec<String> {
        differences.into_iter().map(|difference| difference.name).collect()
    }

    #[test]
    fn equal_conditions_have_no_differences() {
        assert_eq!(told(&outcome(1, 1e4), &outcome(2, 2e4)), []);
    }

    #[test]
    fn a_difference_of_machines_is_named_with_both_values() {
        let a = Machine::default();
        let mut b = Machine::default();
        b.kernel.release = "6.18.0".to_owned();
        b.kernel.clock_source = "hpet".to_owned();
        b.kernel.mitigations = vec![("spectre_v2".to_owned(), "Vulnerable".to_owned())];
        let one = outcome(1, 1e4);
        let all = differences(&one, &one, (&a, &b), |_| String::new());
        assert_eq!((all[2].a.as_str(), all[2].b.as_str()), ("none", "Vulnerable"));
        assert_eq!(names(all), ["kernel", "clock source", "mitigation spectre_v2"]);
    }

    #[test]
    fn a_difference_of_jobs_and_storage_is_named() {
        let (a, mut b) = (outcome(1, 1e4), outcome(1, 1e4));
        b.job.engine = Engine::IO_URING;
        b.job.queue_depth = 32;
        b.job.block_sizes = BlockSizes::all(Bytes::kib(8));
        b.job.direct = false;
        b.job.size = Some(Amount::Bytes(Bytes::gib(1)));
        let queue = Queue { scheduler: "kyber".to_owned(), requests: 64, ..Queue::default() };
        b.storage.devices = vec![BlockDevice { queue, ..BlockDevice::default() }];
        let told = names(told(&a, &b));
        for name in ["engine", "queue depth", "block size", "direct", "region size", "scheduler"] {
            assert!(told.iter().any(|other| other == name), "{name} is not in {told:?}");
        }
    }

    #[test]
    fn the_depth_that_a_synchronous_engine_ignores_is_no_difference() {
        let (a, mut b) = (outcome(1, 1e4), outcome(1, 1e4));
        b.job.queue_depth = 32;
        assert_eq!(told(&a, &b), []);
    }

    #[test]
    fn a_simulation_is_set_against_a_measurement_without_its_machine() {
        let (one, mut other) = (outcome(1, 1e4), outcome(1, 1e4));
        let mut machine = Machine::default();
        machine.kernel.release = "6.18.0".to_owned();
        other.inside = Some(Inside { device: "tlc".to_owned(), seed: 7, ..Inside::default() });
        let all = differences(&one, &other, (&machine, &Machine::default()), |_| String::new());
        let [only] = &all[..] else { panic!("{all:?}") };
        let texts = [&only.name, &only.a, &only.b].map(String::as_str);
        assert_eq!(texts, ["origin of the figures", "measured", "simulated (tlc)"]);
        let mut changed = other.clone();
        let inside = changed.inside.as_mut().expect("just made");
        inside.seed = 8;
        inside.changed.push(("flash.queue_depth".to_owned(), "64".to_owned()));
        assert_eq!(names(told(&other, &changed)), ["changed numbers", "seed of the simulation"]);
    }

    #[test]
    fn a_caveat_of_one_outcome_alone_is_a_difference() {
        let (mut a, mut b) = (outcome(1, 1e4), outcome(1, 1e4));
        a.caveats = vec![Caveat::Steal { share: 0.1 }, Caveat::GeneratorBound { busy: 1.0 }];
        b.caveats = vec![Caveat::Steal { share: 0.2 }];
        let told = told(&a, &b);
        assert_eq!(told.len(), 1, "both have steal");
        assert_eq!((told[0].name.as_str(), told[0].b.as_str()), ("caveat", "none"));
        assert!(told[0].a.contains("GeneratorBound"));
    }
}
