//! From what was seen to what is told: `model::Layers`.

use std::collections::HashMap;
use std::sync::PoisonError;

use iostack_model::{Hardware, LayerRow, Layers, Nanos, ProcessClocks, Quality};

use super::account::{Account, Facts, SampleCounts, account};
use super::readings::Readings;
use super::sampler::{Key, Owner, Scope, Store};
use super::totals::{Role, Snapshot, ThreadTime, thread_name};
use super::{Conditions, Knowledge, Subject};
use crate::classify::{Classified, Classifier, Profile, Rules};
use crate::sys::perf::Source;

/// More stolen time makes every clock doubtful.
const STEAL_MAX: f64 = 0.01;
/// A total that is off the kernel's own account by a larger share is told with it.
const ACCOUNTED_OFF: f64 = 0.01;
/// Fewer samples split nothing.
const SAMPLES_MIN: u64 = 100;
/// Layer of the device's hard interrupts, which timers cannot sample.
const INTERRUPT: &str = "interrupt";

/// Everything that was measured.
pub(crate) struct Seen {
    pub(crate) readings: Readings,
    pub(crate) store: Store,
    /// CPU time of the thread that read the samples.
    pub(crate) reader_time: Nanos,
    pub(crate) elapsed: Nanos,
    pub(crate) lanes: usize,
    pub(crate) unsampled: usize,
    pub(crate) scope: Scope,
    pub(crate) source: Source,
}

/// All that is told.
pub(crate) fn layers(conditions: &Conditions, seen: &Seen, ios: Option<u64>, ios_meaning: &str) -> Layers {
    let mut knowledge = conditions.knowledge.lock().unwrap_or_else(PoisonError::into_inner);
    let Knowledge { classifier, cost_per_sample } =
        knowledge.get_or_insert_with(|| Knowledge::gather(conditions, seen.source));
    let keys = seen.store.counts.iter();
    let classes: HashMap<&Key, Classified> =
        keys.map(|(key, &count)| (key, classifier.classify_many(&key.stack, key.user, count))).collect();
    let counts = SampleCounts::of_store(&seen.store, |key| classes[key].io);
    let facts = Facts {
        subject: conditions.subject,
        scope: seen.scope,
        rate_hz: conditions.rate_hz,
        sees_interrupts: seen.source == Source::Cycles,
        readings: &seen.readings,
    };
    let account = account(&facts, &counts, |thread| thread_name(u64::from(thread)).unwrap_or_default());
    let (profile, quality) = counted(conditions.subject, seen, &classes, &account, classifier);
    let mut times = vec![account.subject, account.interrupt];
    times.extend(account.clocks.kernel_thread_names.iter().map(|(_, time)| *time));
    let mut rows = profile.rows(classifier, &times);
    add_hard_interrupts(&mut rows, account.hard_interrupts);
    Layers {
        subject: conditions.name.clone(),
        elapsed: seen.elapsed,
        ios,
        ios_meaning: ios_meaning.to_owned(),
        tsc_hz: conditions.tsc_hz,
        rate_hz: conditions.rate_hz,
        event: if seen.source == Source::Cycles { "cycles" } else { "cpu-clock" }.to_owned(),
        samples: profile.total(),
        lost: seen.store.lost,
        sampling_cost: sampling_cost(conditions, *cost_per_sample, seen, &account),
        rows,
        functions: profile.functions(classifier),
        stacks: profile.stacks(classifier),
        processes: processes(conditions.subject, &seen.readings),
        quality,
        hardware: hardware(seen, ios),
        ladder: conditions.ladder.clone(),
        notes: notes(conditions, seen, &account, &counts),
        clocks: account.clocks,
    }
}

/// Each process of a tree.
fn processes(subject: Subject, readings: &Readings) -> Vec<ProcessClocks> {
    let exact = readings.exact.iter().filter(|_| matches!(subject, Subject::Tree { .. }));
    let threads = exact.flat_map(|exact| exact.threads.values());
    let own = threads.filter(|thread| thread.role == Role::Subject);
    let row = |thread: &ThreadTime| ProcessClocks {
        pid: thread.process,
        name: thread.name.clone(),
        time: thread.time,
    };
    let mut rows: Vec<ProcessClocks> = own.map(row).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(row.time), row.pid));
    rows
}

/// Groups of the profile: the subject, interrupts outside it, then families of its own workers.
const GROUP_SUBJECT: usize = 0;
const GROUP_INTERRUPT: usize = 1;
const GROUP_FAMILY: usize = 2;

/// The samples that count, by group, and how well they were classified.
fn counted(
    subject: Subject,
    seen: &Seen,
    classes: &HashMap<&Key, Classified>,
    account: &Account,
    classifier: &Classifier,
) -> (Profile, Quality) {
    let unknown = classifier.rules().unclassified();
    let mut profile = Profile::default();
    let (mut kernel, mut unclassified, mut inferred) = (0, 0, 0);
    for (key, &count) in &seen.store.counts {
        let stack = &classes[key];
        let group = match key.owner {
            Owner::Subject => Some(GROUP_SUBJECT),
            Owner::OwnWorker(thread) => account.families.get(&thread).map(|family| GROUP_FAMILY + family),
            Owner::Interrupt if stack.io && subject == Subject::Machine => Some(GROUP_INTERRUPT),
            Owner::Worker(_) | Owner::Interrupt => None,
        };
        let Some(group) = group else { continue };
        profile.add(group, stack, count);
        kernel += if key.user { 0 } else { count };
        unclassified += if stack.layer == unknown { count } else { 0 };
        inferred += if stack.inferred { count } else { 0 };
    }
    let share = |part: u64| if kernel == 0 { 0.0 } else { part as f64 / kernel as f64 };
    let quality =
        Quality { unclassified: share(unclassified), inferred: share(inferred), ..classifier.quality() };
    (profile, quality)
}

/// The time that no sample splits has a layer all the same.
fn add_hard_interrupts(rows: &mut Vec<LayerRow>, time: Nanos) {
    if time == Nanos(0) {
        return;
    }
    if let Some(row) = rows.iter_mut().find(|row| row.layer == INTERRUPT) {
        row.time += time;
    } else {
        let known = Rules::built_in().layers().iter().find(|(name, _)| name == INTERRUPT);
        rows.push(LayerRow {
            layer: INTERRUPT.to_owned(),
            meaning: known.map_or_else(String::new, |(_, meaning)| meaning.clone()),
            samples: 0,
            time,
            kinds: Vec::new(),
        });
    }
    rows.sort_by_key(|row| std::cmp::Reverse((row.time, row.samples)));
}

/// Samples taken times the cost of one, and the reader's time, as a share of the time that was looked at.
fn sampling_cost(conditions: &Conditions, one: Option<Nanos>, seen: &Seen, account: &Account) -> f64 {
    let looked_at = match seen.scope {
        Scope::Machine => seen.elapsed.0 as f64 * conditions.cpus.len() as f64,
        Scope::Threads => account.clocks.tasks.0 as f64,
    };
    let Some(one) = one.filter(|_| looked_at > 0.0) else { return 0.0 };
    (seen.store.taken as f64 * one.0 as f64 + seen.reader_time.0 as f64) / looked_at
}

fn hardware(seen: &Seen, ios: Option<u64>) -> Option<Hardware> {
    let ios = ios.filter(|&ios| ios > 0)? as f64;
    let Readings { cycles, instructions, .. } = seen.readings;
    (cycles > 0 && instructions > 0 && seen.unsampled == 0)
        .then(|| Hardware { instructions: instructions as f64 / ios, cycles: cycles as f64 / ios })
}

fn notes(conditions: &Conditions, seen: &Seen, account: &Account, counts: &SampleCounts) -> Vec<String> {
    let mut notes = conditions.notes.clone();
    let of_subject = about_subject(conditions, seen, counts);
    let of_figures = about_figures(conditions, seen, account);
    notes.extend(of_subject.into_iter().chain(of_figures).flatten());
    notes
}

/// Notes on whether the subject was watched at all, and enough.
fn about_subject(conditions: &Conditions, seen: &Seen, counts: &SampleCounts) -> [Option<String>; 7] {
    let began = seen.elapsed > Nanos(0);
    let load = conditions.subject == Subject::Load;
    let process = conditions.subject.foreign();
    let alone = matches!(conditions.subject, Subject::Process { .. });
    let ended = process
        .filter(|_| !conditions.is_command)
        .filter(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists());
    [
        (!began).then(|| "The load did not begin while it was watched.".to_owned()),
        (began && counts.subject < SAMPLES_MIN).then(|| {
            let samples = counts.subject;
            format!("Only {samples} samples fell into the subject's threads: the split into layers is rough.")
        }),
        ended.map(|pid| format!("Process {pid} ended while it was watched.")),
        alone.then(|| crate::CHILDREN.to_owned()),
        (load && began && seen.lanes == 0)
            .then(|| "No thread of the load told its number, so that none was watched.".to_owned()),
        (seen.unsampled > 0).then(|| {
            let (some, all) = (seen.unsampled, seen.lanes);
            format!("{some} of {all} threads could not be watched (locked memory, counters).")
        }),
        (seen.scope == Scope::Threads).then(|| {
            "Only the subject's own threads are seen: kernel threads and interrupts that serve it are missing."
                .to_owned()
        }),
    ]
}

/// Note on what the kernel did not tell.
fn unsure(exact: &Snapshot) -> String {
    format!(
        "Switches were missed: up to {} of the total may be another's, or be missing from it.",
        exact.unsure
    )
}

/// Note on a total that other programs tell otherwise.
fn accounted(exact: &Snapshot) -> Option<String> {
    let own = || exact.threads.values().filter(|thread| thread.role == Role::Subject);
    let sum = |time: fn(&ThreadTime) -> Nanos| own().map(time).fold(Nanos(0), |sum, time| sum + time);
    let (time, accounted) = (sum(|thread| thread.time), sum(|thread| thread.accounted));
    (time.0.abs_diff(accounted.0) as f64 > ACCOUNTED_OFF * time.0 as f64).then(|| {
        format!(
            "The kernel's own account, as `time` and `top` tell it, has {accounted} for these threads: it begins before an \
             idle CPU has woken."
        )
    })
}

/// Note on the time that was not given to this machine.
fn steal(readings: &Readings) -> Option<String> {
    let share = 100.0 * readings.steal();
    let own = readings.exact.iter().flat_map(|exact| exact.threads.values());
    let own = own.filter(|thread| thread.role == Role::Subject).map(|thread| thread.stolen);
    let stolen = own.fold(Nanos(0), |sum, stolen| sum + stolen);
    let counts = if stolen > Nanos(0) {
        format!("{stolen} of it from these threads, which is in no sum")
    } else {
        "which counts as used".to_owned()
    };
    (readings.steal() > STEAL_MAX)
        .then(|| format!("The hypervisor took {share:.1} % of the CPU time, {counts}."))
}

/// Notes that make a figure doubtful, or are needed to read it.
fn about_figures(conditions: &Conditions, seen: &Seen, account: &Account) -> [Option<String>; 9] {
    let Seen { readings, store, .. } = seen;
    let exact = readings.exact.as_ref();
    let homeless = exact.map_or(0, |exact| exact.lost);
    let silent = conditions.device.as_ref().filter(|_| conditions.interrupts.is_empty() && exact.is_some());
    [
        steal(readings),
        exact.and_then(accounted),
        (store.throttled > 0)
            .then(|| format!("The kernel slowed the samples down {} times.", store.throttled)),
        (store.lost > 0).then(|| format!("{} samples were lost.", store.lost)),
        (homeless > 0)
            .then(|| format!("{homeless} slices of threads found no place and are missing in the total.")),
        (!account.clocks.exact).then(|| exact.map(unsure)).flatten(),
        silent.map(|device| format!("No hardware interrupt belongs to {device}: none is counted.")),
        (account.clocks.beside.total() > Nanos(0)).then(|| {
            "Kernel threads and interrupts did I/O beside it, for it or for others: who for is not known, so they are \
             in no sum."
                .to_owned()
        }),
        (account.hard_interrupts > Nanos(0)).then(|| {
            "Timer samples cannot see hard interrupts; their exact time is the layer `interrupt` as a whole, whoever's \
             they are."
                .to_owned()
        }),
    ]
}
