//! Somebody who looks at a load from inside sees each I/O begin once and come back once.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{MIB, come, counted, data, engines, random, run_with};
use iostack_engine::Control;
use iostack_model::{Access, Batch, BlockSizes, Bytes, Engine, Job, Lane, LaneRequest, Mix, Nanos, Observer};
use iostack_testkit::folder;
use iostack_workload::{Op, Plan, Region};

#[derive(Default)]
struct Counter {
    opened: AtomicU64,
    closed: AtomicU64,
    begun: AtomicU64,
    whole: AtomicU64,
    returned: AtomicU64,
    restarted: AtomicU64,
    threads: Mutex<HashSet<u32>>,
}

struct CounterLane<'a> {
    counter: &'a Counter,
    slots: u32,
    active: HashSet<u32>,
}

impl Observer for Counter {
    fn opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    fn closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    fn lane(&self, request: &LaneRequest) -> Option<Box<dyn Lane + '_>> {
        self.threads.lock().expect("no test thread panics with it").insert(request.thread_id);
        Some(Box::new(CounterLane { counter: self, slots: request.slots, active: HashSet::new() }))
    }
}

impl Lane for CounterLane<'_> {
    fn restart(&mut self) {
        self.counter.restarted.fetch_add(1, Ordering::Relaxed);
    }

    fn begin(&mut self, slot: u32, _late_ns: u64) {
        assert!(slot < self.slots, "slot {slot} of {}", self.slots);
        assert!(self.active.insert(slot), "slot {slot} began twice");
        self.counter.begun.fetch_add(1, Ordering::Relaxed);
    }

    fn returned(&mut self) {
        self.counter.returned.fetch_add(1, Ordering::Relaxed);
    }

    fn complete(&mut self, slot: u32, whole: bool) {
        assert!(self.active.remove(&slot), "slot {slot} came back without having begun");
        self.counter.whole.fetch_add(u64::from(whole), Ordering::Relaxed);
    }
}

impl Drop for CounterLane<'_> {
    fn drop(&mut self) {
        assert!(self.active.is_empty(), "never came back: {:?}", self.active);
    }
}

#[test]
fn each_io_of_each_engine_begins_once_and_comes_back_once() {
    let (_folder, path) = data(folder!("observer"), 8 * MIB);
    // The threads that make posixaio's calls are the C library's.
    let followed = |engine: &Engine| *engine != Engine::PosixAio;
    for engine in engines().into_iter().filter(followed) {
        for (depth, submit) in [(1, 1), (7, 1), (32, 16)] {
            let batch = Batch { submit, complete_min: 1 };
            let job = Job { batch, threads: 2, ..counted(engine, depth, 97, 8 * MIB) };
            let counter = Counter::default();
            let Some(outcome) = come(
                "each_io_of_each_engine",
                run_with(&job, &path, &Control { observer: Some(&counter), ..Control::none() }),
            ) else {
                continue;
            };
            let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
            assert_eq!(outcome.ios(), 194, "{engine:?} {depth} {submit}");
            assert_eq!(count(&counter.begun), 194, "{engine:?} {depth} {submit}");
            assert_eq!(count(&counter.whole), 194, "{engine:?} {depth} {submit}");
            assert_eq!((count(&counter.opened), count(&counter.closed)), (1, 1));
            assert_eq!(count(&counter.restarted), 2, "once in each thread");
            assert!(count(&counter.returned) <= 194, "never more often than I/Os come back");
            assert_eq!(counter.threads.lock().expect("all threads have ended").len(), 2);
        }
    }
}

/// Follows the I/Os of a known plan, in their order, and counts those that begin while one of the same bytes is out.
struct Meeting {
    ops: Vec<Op>,
    met: AtomicU64,
}

struct MeetingLane<'a>(&'a Meeting, usize, HashMap<u32, Op>);

impl Observer for Meeting {
    fn opened(&self) {}
    fn closed(&self) {}
    fn lane(&self, _: &LaneRequest) -> Option<Box<dyn Lane + '_>> {
        Some(Box::new(MeetingLane(self, 0, HashMap::new())))
    }
}

impl Lane for MeetingLane<'_> {
    fn restart(&mut self) {}
    fn returned(&mut self) {}
    fn begin(&mut self, slot: u32, _late_ns: u64) {
        let op = self.0.ops[self.1];
        let end = |op: &Op| op.offset + u64::from(op.length);
        let meets = |other: &Op| other.offset < end(&op) && op.offset < end(other);
        self.0.met.fetch_add(u64::from(self.2.values().any(meets)), Ordering::Relaxed);
        self.1 += 1;
        self.2.insert(slot, op);
    }
    fn complete(&mut self, slot: u32, _whole: bool) {
        self.2.remove(&slot);
    }
}

#[test]
fn writes_of_the_same_bytes_are_never_out_at_once_where_that_is_asked() {
    let folder = folder!("one-at-a-place");
    let size = 16 * 4096;
    let path = random(&folder, "data", size);
    // Those of 8 KiB may share one half with another.
    let write = vec![(Bytes(4096), 50), (Bytes(8192), 50)];
    let block_sizes = BlockSizes { write, ..Job::default().block_sizes };
    let job = counted(Engine::Libaio, 8, 400, size);
    let job = Job { mix: Mix::WRITE, access: Access::UNIFORM, block_sizes, loops: 40, ..job };
    let mut plan = Plan::new(&job, Region::new(0, size), 1, 0).expect("sound");
    let mut ops = Vec::new();
    while ops.len() < 400 {
        plan.fill(&mut ops, 256);
        plan.restart();
    }
    let met = |engine, one_at_a_place| {
        let meeting = Meeting { ops: ops.clone(), met: AtomicU64::new(0) };
        let job = Job { engine, one_at_a_place, ..job.clone() };
        let result = run_with(&job, &path, &Control { observer: Some(&meeting), ..Control::none() });
        if let Some(outcome) = come("writes_of_the_same_bytes", result) {
            assert_eq!(outcome.ios(), 400);
        }
        meeting.met.into_inner()
    };
    for engine in [Engine::Libaio, Engine::IO_URING] {
        let (with, without) = (met(engine, true), met(engine, false));
        assert!(with == 0 && without > 100, "{engine:?}: {with} of 400 met one, {without} without it");
    }
}

#[test]
fn a_ramp_ends_before_the_observer_hears_that_measuring_began() {
    let (_folder, path) = data(folder!("observer-ramp"), 8 * MIB);
    let counter = Counter::default();
    let job = Job {
        ramp: Nanos::millis(30),
        runtime: Some(Nanos::millis(60)),
        time_based: true,
        ..counted(Engine::Psync, 1, 97, 8 * MIB)
    };
    let outcome = run_with(&job, &path, &Control { observer: Some(&counter), ..Control::none() })
        .expect("a plain file");
    assert!(outcome.ios() < counter.begun.load(Ordering::Relaxed), "the ramp's I/Os begin too");
    assert_eq!(counter.restarted.load(Ordering::Relaxed), 1);
}
