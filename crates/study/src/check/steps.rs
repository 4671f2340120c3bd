//! The questions of a check, each as a list of small jobs.
//!
//! One function a question. A question that cannot be asked here returns no points and says why.

use iostack_doubt::Intent;
use iostack_model::answers::{Axis, AxisName, CellName, Series, StepKind};
use iostack_model::{Access, Batch, BlockSizes, Bytes, Distribution, Engine, Job, Mix, Order, Sync};
use iostack_target::{On, Place};

use super::planned::{Planned, PlannedStep};

const DEPTHS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
const READ_ONLY: &str = "writes are skipped: this target is only read (--destroy-data would allow them)";

/// Everything, for the default and the full check. `whose` says on what schedulers are tried.
pub(crate) fn all(place: &Place, whose: &str) -> Vec<PlannedStep> {
    vec![
        latency(place, 5.0),
        places(place, 2.5),
        depth(place, &DEPTHS, 0.55),
        cells(place, 0.8),
        size(place, 0.3),
        paths(place),
        threads(place),
        engines(place),
        sync(place, 1.0),
        schedulers(place, whose),
        sustained(place, 14.0),
    ]
}

/// Steps that fit 20 s: latency, a coarser curve, the cells, the engines, and a flush.
pub(crate) fn quick(place: &Place) -> Vec<PlannedStep> {
    vec![
        latency(place, 1.5),
        places(place, 0.8),
        depth(place, &[1, 4, 16, 32, 64, 128], 0.3),
        cells(place, 0.4),
        threads(place),
        engines(place),
        sync(place, 0.3),
    ]
}

/// A random 4 KiB (or one logical block, when that is larger) read through `engine`.
pub(crate) fn random_read(place: &Place, engine: Engine, queue_depth: u32) -> Job {
    Job {
        mix: Mix::READ,
        access: Access::Random { order: Order::Independent, distribution: Distribution::Uniform },
        block_sizes: BlockSizes::all(Bytes(4096).max(place.logical_block)),
        engine,
        queue_depth,
        direct: place.direct,
        size: Some(iostack_model::Amount::Bytes(place.region)),
        ..Job::default()
    }
}

fn point(series: Series, x: f64, label: impl Into<String>, job: Job, weight: f64) -> Planned {
    Planned { series, x, label: label.into(), job, weight, on: On::Target, traced: false, intends: &[] }
}

/// A point whose place is a number, which is its label too.
fn numbered(series: Series, x: u32, job: Job, weight: f64) -> Planned {
    point(series, f64::from(x), x.to_string(), job, weight)
}

/// Titles of the steps, and the names of their axes.
const TITLES: [(StepKind, &str, AxisName); 11] = [
    (StepKind::Latency, "Latency of one 4 KiB I/O at queue depth 1", AxisName::Direction),
    (StepKind::Places, "Where latency and clocks of a 4 KiB read go", AxisName::QueueDepth),
    (StepKind::Depth, "Throughput and latency over queue depth, 4 KiB random", AxisName::QueueDepth),
    (StepKind::Cells, "The cells people compare", AxisName::Cell),
    (StepKind::Size, "Request size at queue depth 8", AxisName::RequestSize),
    (
        StepKind::Paths,
        "I/O paths: direct, buffered, raw device; cost per I/O and per byte",
        AxisName::RequestSize,
    ),
    (StepKind::Threads, "Threads and cores, 4 KiB random read", AxisName::Threads),
    (StepKind::Engines, "Engines: throughput and CPU cost, 4 KiB random read", AxisName::Engine),
    (
        StepKind::Sync,
        "Durable writes: 4 KiB random write, then fsync or fdatasync, each time",
        AxisName::Call,
    ),
    (StepKind::Schedulers, "I/O schedulers at queue depth 32, 4 KiB random", AxisName::Scheduler),
    (StepKind::Sustained, "Sustained 4 KiB random write at queue depth 32", AxisName::Time),
];

/// Steps whose axis is logarithmic; of the others all but time have categories.
const LOGARITHMIC: [StepKind; 4] = [StepKind::Depth, StepKind::Size, StepKind::Paths, StepKind::Threads];

fn step(id: StepKind, points: Vec<Planned>, note: Option<String>) -> PlannedStep {
    let known = TITLES.into_iter().find(|(kind, ..)| *kind == id);
    let (_, title, label) = known.expect("every step has its row");
    let log = LOGARITHMIC.contains(&id);
    let categories = !log && id != StepKind::Sustained;
    PlannedStep { id, title, axis: Axis { label, log, categories }, points, note }
}

/// Those that this target may be asked: without writes where it is only read.
fn permitted<K>(place: &Place, kinds: impl IntoIterator<Item = (K, Mix)>) -> impl Iterator<Item = (K, Mix)> {
    kinds.into_iter().filter(|(_, mix)| place.writable || !mix.destroys())
}

fn write_note(place: &Place) -> Option<String> {
    (!place.writable).then(|| READ_ONLY.to_owned())
}

/// Step: latency of one I/O alone.
fn latency(place: &Place, weight: f64) -> PlannedStep {
    let read = random_read(place, Engine::Psync, 1);
    let write = Job { mix: Mix::WRITE, ..read.clone() };
    let mut points = vec![point(Series::RandomRead, 0.0, "read", read, weight)];
    if place.writable {
        points.push(point(Series::RandomWrite, 1.0, "write", write, weight * 0.6));
    }
    step(StepKind::Latency, points, write_note(place))
}

/// Step: latency and clocks of a read, place by place.
fn places(place: &Place, weight: f64) -> PlannedStep {
    let alone = random_read(place, Engine::Psync, 1);
    let mut points = vec![point(Series::RandomRead, 1.0, "depth 1", alone, weight)];
    if place.engine() != Engine::Psync {
        let deep = random_read(place, place.engine(), 32);
        points.push(point(Series::RandomRead, 32.0, "depth 32", deep, weight * 0.5));
    }
    for point in &mut points {
        point.traced = true;
    }
    if place.tells_inside {
        let note = "each figure above has its own: `inside` of every outcome";
        return step(StepKind::Places, Vec::new(), Some(note.to_owned()));
    }
    step(StepKind::Places, points, None)
}

/// Step: throughput over I/Os in flight.
fn depth(place: &Place, depths: &[u32], weight: f64) -> PlannedStep {
    let mixes = [
        (Series::RandomRead, Mix::READ),
        (Series::RandomWrite, Mix::WRITE),
        (Series::RandomHalf, Mix::reads(50)),
    ];
    let mut points = Vec::new();
    for (series, mix) in permitted(place, mixes) {
        for &depth in depths {
            // Without an asynchronous engine, depth can only come from threads.
            let job = match place.engine() {
                Engine::Psync => Job { threads: depth, ..random_read(place, Engine::Psync, 1) },
                engine => random_read(place, engine, depth),
            };
            points.push(numbered(series.clone(), depth, Job { mix, ..job }, weight));
        }
    }
    step(StepKind::Depth, points, write_note(place))
}

/// The cells people compare between machines.
fn cells(place: &Place, weight: f64) -> PlannedStep {
    let engine = place.engine();
    let mut points = Vec::new();
    let names = [
        (CellName::Sequential8, 8, true),
        (CellName::Sequential1, 1, true),
        (CellName::Random32, 32, false),
        (CellName::Random1, 1, false),
    ];
    for (order, (name, queue_depth, sequential)) in names.into_iter().enumerate() {
        for (series, mix) in permitted(place, [(Series::Read, Mix::READ), (Series::Write, Mix::WRITE)]) {
            let mut job = Job { mix, ..random_read(place, engine, queue_depth) };
            if sequential {
                (job.access, job.block_sizes) = (Access::Sequential, BlockSizes::all(Bytes::mib(1)));
            }
            points.push(point(series, order as f64, name.name(), job, weight));
        }
    }
    step(StepKind::Cells, points, write_note(place))
}

/// Step: bandwidth and IOPS over request size.
fn size(place: &Place, weight: f64) -> PlannedStep {
    let kinds = [
        ((Series::SequentialRead, true), Mix::READ),
        ((Series::RandomRead, false), Mix::READ),
        ((Series::SequentialWrite, true), Mix::WRITE),
        ((Series::RandomWrite, false), Mix::WRITE),
    ];
    let sizes = [512, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20].map(Bytes);
    let mut points = Vec::new();
    for ((series, sequential), mix) in permitted(place, kinds) {
        for size in sizes.into_iter().filter(|&size| size >= place.logical_block) {
            let mut job =
                Job { mix, block_sizes: BlockSizes::all(size), ..random_read(place, place.engine(), 8) };
            if sequential {
                job.access = Access::Sequential;
            }
            points.push(point(series.clone(), size.0 as f64, size.to_string(), job, weight));
        }
    }
    step(StepKind::Size, points, write_note(place))
}

/// Step: costs of the file system, the page cache and each byte.
fn paths(place: &Place) -> PlannedStep {
    let mut points = Vec::new();
    for size in [Bytes(4096).max(place.logical_block), Bytes::kib(128)] {
        let base = Job { block_sizes: BlockSizes::all(size), ..random_read(place, Engine::Psync, 1) };
        let label = size.to_string();
        let curve = |series: Series, job: Job| point(series, size.0 as f64, label.clone(), job, 0.5);
        points.push(curve(Series::Direct, base.clone()));
        if place.raw_device.is_ok() {
            points.push(Planned { on: On::RawDevice, ..curve(Series::RawDevice, base.clone()) });
        }
        if place.is_file {
            let buffered = Job { direct: false, ..base.clone() };
            points.push(curve(Series::BufferedCold, buffered.clone()));
            // A region that is certainly cached after the cold run would not be honest; 16 MiB is read through
            // once in the ramp and then hit.
            let region = Bytes::mib(16).0.min(place.region.0);
            let cached = Job {
                invalidate: false,
                size: Some(iostack_model::Amount::Bytes(Bytes(region))),
                access: Access::Random { order: Order::Permutation, distribution: Distribution::Uniform },
                ramp: iostack_model::Nanos::millis(400),
                ..buffered
            };
            let intends = &[Intent::PageCache, Intent::BusyThread];
            points.push(Planned { intends, ..curve(Series::BufferedCached, cached) });
        }
    }
    step(StepKind::Paths, points, place.raw_device.as_ref().err().cloned())
}

/// Do more threads and cores give more?
fn threads(place: &Place) -> PlannedStep {
    let mut points = Vec::new();
    for threads in [1, 2, 4, 8, 16, 32] {
        let job = Job { threads, ..random_read(place, Engine::Psync, 1) };
        let series = Series::Other("psync, depth 1 each".to_owned());
        points.push(numbered(series, threads, job, 0.35));
    }
    if place.engine() != Engine::Psync {
        let fewer = [1, 2, 4, 8, 16, 32, 64].into_iter().filter(|&threads| threads < place.cores);
        for threads in fewer.chain([place.cores]) {
            let batch = Batch { submit: 16, complete_min: 16 };
            let job = Job { threads, batch, ..random_read(place, place.engine(), 64) };
            let series = Series::Other(format!("{}, depth 64 each", place.engine().name()));
            points.push(numbered(series, threads, job, 0.5));
        }
    }
    step(StepKind::Threads, points, None)
}

/// Step: cost and rate of each kernel interface.
fn engines(place: &Place) -> PlannedStep {
    let fixed =
        Engine::IoUring { fixed_buffers: true, registered_files: true, poll: false, submit_poll: false };
    let sixteen = Batch { submit: 16, complete_min: 16 };
    let one = Batch { submit: 1, complete_min: 1 };
    let candidates = [
        ("psync", Engine::Psync, 1, one, true),
        ("libaio", Engine::Libaio, 1, one, place.libaio),
        ("io_uring", Engine::IO_URING, 1, one, place.io_uring),
        ("libaio", Engine::Libaio, 32, one, place.libaio),
        ("io_uring", Engine::IO_URING, 32, one, place.io_uring),
        ("libaio, batches of 16", Engine::Libaio, 32, sixteen, place.libaio),
        ("io_uring, batches of 16", Engine::IO_URING, 32, sixteen, place.io_uring),
        ("io_uring, batched, registered", fixed, 32, sixteen, place.io_uring),
    ];
    let mut points = Vec::new();
    for (order, (series, engine, queue_depth, batch, usable)) in candidates.into_iter().enumerate() {
        if usable {
            let job = Job { batch, ..random_read(place, engine, queue_depth) };
            let series = Series::Other(series.to_owned());
            points.push(point(series, order as f64, format!("depth {queue_depth}"), job, 0.5));
        }
    }
    let job = Job { threads: 32, ..random_read(place, Engine::Psync, 1) };
    points.push(point(Series::Other("psync, 32 threads".to_owned()), 8.0, "depth 32", job, 0.5));
    let interfaces = [("io_uring", place.io_uring), ("libaio", place.libaio)];
    let missing: Vec<&str> =
        interfaces.into_iter().filter_map(|(name, usable)| (!usable).then_some(name)).collect();
    let note = (!missing.is_empty()).then(|| format!("not permitted here: {}", missing.join(", ")));
    step(StepKind::Engines, points, note)
}

/// Step: cost of durable writes.
fn sync(place: &Place, weight: f64) -> PlannedStep {
    let mut points = Vec::new();
    if place.writable {
        let direct = !place.buffered;
        let write = Job { mix: Mix::WRITE, direct, ..random_read(place, Engine::Psync, 1) };
        let every = [
            (Series::Fsync, Sync { fsync_every: 1, ..Sync::default() }),
            (Series::Fdatasync, Sync { fdatasync_every: 1, ..Sync::default() }),
        ];
        for (order, (series, sync)) in every.into_iter().enumerate() {
            let label = series.name().to_owned();
            points.push(point(series, order as f64, label, Job { sync, ..write.clone() }, weight));
        }
    }
    step(StepKind::Sync, points, write_note(place))
}

/// Step: I/O schedulers.
fn schedulers(place: &Place, whose: &str) -> PlannedStep {
    let mut points = Vec::new();
    // The current one comes first and again last: what lies between the two is drift, not the schedulers'.
    let schedulers = place.schedulers.as_deref().unwrap_or_default();
    let again = schedulers.first().map(|name| (name, format!("{name} (again)")));
    let tried = schedulers.iter().map(|name| (name, name.clone())).chain(again);
    for (order, (scheduler, label)) in tried.enumerate() {
        let mixes = [(Series::RandomRead, Mix::READ), (Series::RandomHalf, Mix::reads(50))];
        for (series, mix) in permitted(place, mixes) {
            let mut job = Job { mix, ..random_read(place, place.engine(), 32) };
            job.host.scheduler = Some(scheduler.clone());
            points.push(point(series, order as f64, label.as_str(), job, 0.5));
        }
    }
    let note = place.schedulers.as_ref().err().map_or(whose, String::as_str);
    step(StepKind::Schedulers, points, Some(note.to_owned()))
}

/// Does the device keep up when it is written without pause?
fn sustained(place: &Place, weight: f64) -> PlannedStep {
    let mut points = Vec::new();
    if place.writable {
        let job = Job { mix: Mix::WRITE, ..random_read(place, place.engine(), 32) };
        points.push(point(Series::RandomWrite, 0.0, "4 KiB, depth 32", job, weight));
    }
    step(StepKind::Sustained, points, write_note(place))
}
