//! How are many I/Os put together? One histogram for each stage of each way, and for each stage of each device.

use std::collections::BTreeMap;

use iostack_model::{
    Bins, Bytes, CallKind, DeviceStages, KindStages, Nanos, ProcessStages, Stage, Way, WayStages,
};
use iostack_stats::Recorder;

use super::fold::{Bios, StageTimes, Stamps, fold, way, whole};

/// The stages of the I/Os of one way. Each recorder counts only I/Os that took time in the stage; the others are made
/// up for at the end, so that an I/O costs as many records as it has stages.
#[derive(Clone)]
struct Recorders {
    whole: Recorder,
    stages: Vec<Recorder>,
}

impl Recorders {
    fn new() -> Recorders {
        Recorders { whole: Recorder::new(), stages: vec![Recorder::new(); Stage::ALL.len()] }
    }

    fn record(&mut self, whole: u64, times: &StageTimes) {
        self.whole.record(whole);
        for (recorder, &time) in self.stages.iter_mut().zip(times) {
            if time > 0 {
                recorder.record(time);
            }
        }
    }

    fn absorb(&mut self, other: &Recorders) {
        self.whole.absorb(&other.whole);
        for (recorder, more) in self.stages.iter_mut().zip(&other.stages) {
            recorder.absorb(more);
        }
    }

    /// Each stage that took time in any I/O, with 0 for the I/Os that did not pass it.
    fn stages(&self, count: u64) -> Vec<(Stage, Bins)> {
        let used = Stage::ALL.into_iter().zip(&self.stages).filter(|(_, recorder)| !recorder.is_empty());
        used.map(|(stage, recorder)| (stage, with_zeros(recorder.bins(), count))).collect()
    }
}

/// A histogram of `count` values, those not counted yet being 0.
fn with_zeros(mut bins: Bins, count: u64) -> Bins {
    let missing = count.saturating_sub(bins.count);
    if missing > 0 {
        bins.merge(&Bins { counts: vec![(0, missing)], count: missing, ..Bins::default() });
        bins.min_ns = 0;
    }
    bins
}

/// Processes of a tree that are told apart; more are told together, as process 0.
const PROCESSES_MAX: usize = 4096;

/// I/Os of one process of a tree.
#[derive(Clone, Copy, Default)]
struct Process {
    name: [u64; 2],
    ios: u64,
    sum_ns: u64,
}

/// I/Os of one kind: their whole, and sums by stage.
#[derive(Clone)]
struct Kind {
    whole: Recorder,
    times: StageTimes,
    bytes: u64,
    bios: u64,
}

/// I/Os by way, kind and process.
#[derive(Clone, Default)]
pub(crate) struct Account {
    /// Sums in the order of [`CallKind::ALL`]; only of a foreign process.
    kinds: [Option<Box<Kind>>; CallKind::ALL.len()],
    processes: BTreeMap<u32, Process>,
    /// Recorders in the order of [`Way::ALL`]; a way's (some 160 KB) are made for its first I/O.
    ways: [Option<Box<Recorders>>; Way::ALL.len()],
}

impl Account {
    /// Counts one I/O, and tells its stages.
    pub(crate) fn record(&mut self, stamps: &Stamps, bios: Bios) -> StageTimes {
        let way = way(stamps, bios);
        let recorders = self.ways[way as usize].get_or_insert_with(|| Box::new(Recorders::new()));
        let times = fold(stamps, way);
        recorders.record(whole(stamps), &times);
        times
    }

    /// Counts one I/O of a kind with its stages.
    pub(crate) fn add_to_kind(&mut self, kind: usize, times: &StageTimes, bios: u64, bytes: u64) {
        let Some(place) = self.kinds.get_mut(kind) else { return };
        let fresh = || Kind { whole: Recorder::new(), times: [0; Stage::ALL.len()], bytes: 0, bios: 0 };
        let kind = place.get_or_insert_with(|| Box::new(fresh()));
        kind.whole.record(times.iter().sum());
        kind.times.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
        kind.bios += bios;
        kind.bytes = kind.bytes.saturating_add(bytes);
    }

    /// Kinds as they are reported: those without I/O are left out.
    pub(crate) fn kinds(&self) -> Vec<KindStages> {
        let used = CallKind::ALL.into_iter().zip(&self.kinds);
        let used = used.filter_map(|(kind, sums)| {
            let sums = sums.as_ref()?;
            let stages = Stage::ALL.into_iter().zip(sums.times.map(Nanos));
            Some(KindStages {
                kind,
                bytes: Bytes(sums.bytes),
                bios: sums.bios,
                whole: sums.whole.bins(),
                stages: stages.filter(|(_, time)| time.0 > 0).collect(),
            })
        });
        used.collect()
    }

    /// Notes the name of a process of a tree, 16 bytes; elsewhere they are 0.
    pub(crate) fn name(&mut self, process: u32, name: [u64; 2]) {
        if name[0] == 0 {
            return;
        }
        let is_known = self.processes.contains_key(&process);
        if is_known || self.processes.len() < PROCESSES_MAX {
            self.processes.entry(process).or_default().name = name;
        } else {
            self.processes.entry(0).or_default();
        }
    }

    /// Counts one I/O of a process of a tree.
    pub(crate) fn add_to_process(&mut self, process: u32, whole_ns: u64) {
        let key = if self.processes.contains_key(&process) { process } else { 0 };
        if let Some(process) = self.processes.get_mut(&key) {
            process.ios += 1;
            process.sum_ns += whole_ns;
        }
    }

    /// The processes of a tree that did I/O, those with most of it first.
    pub(crate) fn processes(&self) -> Vec<ProcessStages> {
        let used = self.processes.iter().filter(|(_, process)| process.ios > 0);
        let mut rows: Vec<ProcessStages> = used
            .map(|(&pid, process)| ProcessStages {
                pid,
                name: crate::name_of(&process.name),
                ios: process.ios,
                mean_ns: process.sum_ns as f64 / process.ios as f64,
            })
            .collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(row.ios), row.pid));
        rows
    }

    /// Adds all I/Os of `other`.
    pub(crate) fn absorb(&mut self, other: &Account) {
        for (own, more) in self.ways.iter_mut().zip(&other.ways) {
            if let Some(more) = more {
                own.get_or_insert_with(|| Box::new(Recorders::new())).absorb(more);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Account::default();
    }

    /// Ways as they are reported: those without I/O are left out.
    pub(crate) fn ways(&self) -> Vec<WayStages> {
        let used = Way::ALL.into_iter().zip(&self.ways);
        let used = used.filter_map(|(way, recorders)| {
            let recorders = recorders.as_ref()?;
            let whole = recorders.whole.bins();
            let stages = recorders.stages(whole.count);
            Some(WayStages { way, whole, stages })
        });
        used.collect()
    }
}

/// Bios of one device.
#[derive(Clone)]
pub(crate) struct DeviceAccount {
    name: String,
    above: Option<String>,
    recorders: Recorders,
    merged: u64,
    split: u64,
}

impl DeviceAccount {
    pub(crate) fn new(name: String, above: Option<String>) -> DeviceAccount {
        DeviceAccount { name, above, recorders: Recorders::new(), merged: 0, split: 0 }
    }

    /// Counts one bio, whose way begins with its queueing and ends with its end.
    pub(crate) fn record(&mut self, stamps: &Stamps, merged: bool, split: bool) {
        let stamps = Stamps { entry: stamps.queue, exit: stamps.complete, ..*stamps };
        self.recorders.record(whole(&stamps), &fold(&stamps, Way::Device));
        self.merged += u64::from(merged);
        self.split += u64::from(split);
    }

    pub(crate) fn count(&self) -> u64 {
        self.recorders.whole.count()
    }

    /// Stages as they are reported.
    pub(crate) fn stages(&self) -> DeviceStages {
        let whole = self.recorders.whole.bins();
        DeviceStages {
            name: self.name.clone(),
            above: self.above.clone(),
            stages: self.recorders.stages(whole.count),
            whole,
            merged: self.merged,
            split: self.split,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(length: u64) -> Stamps {
        Stamps { entry: 100, queue: 110, complete: 100 + length, exit: 120 + length, ..Stamps::default() }
    }

    const ONE: Bios = Bios { queued: 1, ended: 1, direct: true };

    #[test]
    fn the_sums_of_the_stages_are_the_sum_of_the_whole() {
        let mut account = Account::default();
        for length in 50..1_050 {
            account.record(&io(length), ONE);
        }
        account.record(&Stamps { late_ns: 7, ..io(60) }, ONE);
        let ways = account.ways();
        assert_eq!(ways.len(), 1);
        assert_eq!(ways[0].whole.count, 1_001);
        let sum: u64 = ways[0].stages.iter().map(|(_, bins)| bins.sum_ns).sum();
        assert_eq!(sum, ways[0].whole.sum_ns);
        let late = &ways[0].stages[0];
        assert_eq!((late.0, late.1.count, late.1.sum_ns, late.1.min_ns), (Stage::Late, 1_001, 7, 0));
        assert_eq!(late.1.quantile_ns(0.5), Some(0));
    }

    #[test]
    fn accounts_of_threads_add_up() {
        let (mut total, mut other) = (Account::default(), Account::default());
        total.record(&io(50), ONE);
        other.record(&io(70), ONE);
        other.record(&Stamps { queue: 0, complete: 0, ..io(80) }, Bios::default());
        total.absorb(&other);
        let counts: Vec<(Way, u64)> = total.ways().iter().map(|way| (way.way, way.whole.count)).collect();
        assert_eq!(counts, [(Way::Device, 2), (Way::CacheHit, 1)]);
        total.clear();
        assert!(total.ways().is_empty());
    }

    #[test]
    fn a_bio_begins_with_its_queueing() {
        let mut device = DeviceAccount::new("vda".to_owned(), None);
        let stamps = Stamps { queue: 100, issue: 130, irq: 180, complete: 190, ..Stamps::default() };
        device.record(&stamps, true, false);
        let stages = device.stages();
        assert_eq!((stages.whole.sum_ns, stages.merged, stages.split), (90, 1, 0));
        let times: Vec<(Stage, u64)> =
            stages.stages.iter().map(|(stage, bins)| (*stage, bins.sum_ns)).collect();
        assert_eq!(times, [(Stage::Queue, 30), (Stage::Device, 50), (Stage::Complete, 10)]);
    }
}
