//! What is timed, and what is counted: the same work for both.

use iostack_model::{Access, Bytes, Distribution, Engine, Job, Mix, Nanos, Order, Outcome};
use iostack_sim::ftl::{Ftl, FtlSpec, Geometry, Making, StartState};
use iostack_sim::run::{RunOptions, run};
use iostack_sim::sheet::Sheet;
use iostack_workload::Rng;

/// A drive as `MQSim` has it by default, with 512 GiB visible: 8 channels, 4 chips, 2 dies, 2 planes, MLC flash.
const DRIVE: &[(&str, &str)] = &[
    ("flash.capacity", "512GiB"),
    ("flash.over_provisioning", "7%"),
    ("flash.channels", "8"),
    ("flash.chips", "4"),
    ("flash.dies", "2"),
    ("flash.planes", "2"),
    ("flash.page", "8KiB"),
    ("flash.pages_per_block", "256"),
    ("flash.read", "75us"),
    ("flash.program", "750us"),
    ("flash.erase", "3.8ms"),
    ("channel.rate", "333MB/s"),
    ("link.rate", "3.9GB/s"),
    ("controller.cores", "4"),
    ("controller.read", "1us"),
    ("controller.write", "1us"),
    ("buffer.size", "64MiB"),
];

/// The same, small enough to be made steady under a program that counts instructions.
const SMALL: &[(&str, &str)] = &[
    ("flash.capacity", "256MiB"),
    ("flash.channels", "2"),
    ("flash.chips", "1"),
    ("flash.dies", "1"),
    ("flash.pages_per_block", "64"),
    ("buffer.size", "1MiB"),
];

/// Runs a job of 4 KiB random I/Os at depth 32 on the drive, all statistics on; a checksum of the outcome.
///
/// `read` finds the drive filled. `write` and `mixed` (seven reads to three writes) find it steady, so that they pay for
/// garbage collection from the first one on.
pub(crate) fn job(name: &str, count: u64, changes: &[(&str, &str)]) -> u64 {
    let reads = match name {
        "read" => 100,
        "write" => 0,
        "mixed" => 70,
        other => panic!("`{other}` is none of read, write, mixed, layer and start"),
    };
    let access = Access::Random { distribution: Distribution::Uniform, order: Order::Independent };
    let job = Job {
        access,
        mix: Mix::reads(reads),
        // A synchronous engine would have one in flight.
        engine: Engine::IO_URING,
        queue_depth: 32,
        io_count: Some(count),
        // The count ends it, not the end of the drive.
        loops: u32::MAX,
        // Requests are counted here; the short slices of a short run would be counted with them.
        slice: Nanos::millis(999),
        ..Job::default()
    };
    let state = if name == "read" { "filled" } else { "steady" };
    on_the_drive(&job, &[&[("flash.state", state)], changes].concat())
}

/// Runs reads of 4 KiB on a whole platform: eight cores, four adapters, twelve drives; a checksum of the outcome.
///
/// `psync` has 128 threads with one I/O each, which sleep for each; `io_uring` eight threads at depth 32.
pub(crate) fn host(name: &str, count: u64, changes: &[(&str, &str)]) -> u64 {
    let (engine, threads, queue_depth) = match name {
        "psync" => (Engine::Psync, 128, 1),
        "io_uring" => (Engine::IO_URING, 8, 32),
        other => panic!("`{other}` is none of psync and io_uring"),
    };
    let fixed = [("platform.adapters", "4"), ("platform.drives", "12")];
    on_sheet("x5570", &[&fixed, changes].concat(), (100, engine, threads, queue_depth), count)
}

/// Runs 4 KiB random I/Os, so many reads among a hundred, by an engine in threads of a depth.
fn on_sheet(
    sheet: &str,
    changes: &[(&str, &str)],
    (reads, engine, threads, queue_depth): (u8, Engine, u32, u32),
    count: u64,
) -> u64 {
    let job = Job {
        access: Access::UNIFORM,
        mix: Mix::reads(reads),
        engine,
        queue_depth,
        threads,
        io_count: Some(count.div_ceil(u64::from(threads))),
        loops: u32::MAX,
        slice: Nanos::millis(999),
        ..Job::default()
    };
    let changes: Vec<(String, String)> =
        changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let sheet = Sheet::load(sheet, &changes).expect("built in");
    let ran = run(&sheet, std::slice::from_ref(&job), &RunOptions::seeded(1)).expect("it runs");
    checksum(&ran.outcomes[0])
}

/// Runs 4 KiB random I/Os on a built-in sheet: a drive alone, a server, a server of 64 cores with 24 drives.
pub(crate) fn built_in(name: &str, count: u64) -> Option<u64> {
    let large = [("platform.cores", "64"), ("platform.drives", "24"), ("platform.adapters", "24")];
    let (sheet, changes, asked) = match name {
        "tlc-1t" => ("tlc-1t", &[][..], (100, Engine::IO_URING, 1, 32)),
        "x25e" => ("x25e", &[("flash.state", "steady")][..], (0, Engine::IO_URING, 1, 32)),
        "server_io_uring" => ("nvme-server", &[][..], (100, Engine::IO_URING, 8, 32)),
        "server_psync" => ("nvme-server", &[][..], (100, Engine::Psync, 128, 1)),
        "large" => ("nvme-server", &large[..], (100, Engine::IO_URING, 64, 32)),
        _ => return None,
    };
    Some(on_sheet(sheet, changes, asked, count))
}

/// A steady drive of 1 TiB is made, and written to a thousand times.
pub(crate) fn start() -> u64 {
    let job = Job {
        mix: Mix::reads(0),
        engine: Engine::IO_URING,
        queue_depth: 32,
        io_count: Some(1000),
        ..Job::default()
    };
    on_the_drive(&job, &[("flash.capacity", "1TiB"), ("flash.state", "steady")])
}

fn on_the_drive(job: &Job, changes: &[(&str, &str)]) -> u64 {
    let is_kept = |(key, _): &&(&str, &str)| changes.iter().all(|(changed, _)| changed != key);
    let values: Vec<(&str, &str)> = DRIVE.iter().filter(is_kept).chain(changes).copied().collect();
    let sheet = Sheet::from_values("flash", &values).expect("a kind");
    let ran = run(&sheet, std::slice::from_ref(job), &RunOptions::seeded(1)).expect("it runs");
    checksum(&ran.outcomes[0])
}

fn checksum(outcome: &Outcome) -> u64 {
    let inside = outcome.inside.as_ref().map_or(0, |inside| inside.events);
    outcome.latency().sum_ns.rotate_left(17) ^ outcome.ios().rotate_left(40) ^ inside
}

/// A translation layer of its own, fresh: blocks of 256 pages of 4 KiB, over-provisioning 7 %.
pub(crate) fn layer(gib: f64) -> Ftl {
    let (planes, pages_per_block) = (4, 256);
    let logical_pages = (gib * f64::from(1 << 18)) as u64;
    let blocks = logical_pages as f64 * 1.07 / f64::from(pages_per_block * planes);
    // Four more: what is open and what must be free is no over-provisioning.
    let blocks_per_plane = blocks.ceil() as u32 + 4;
    let page = Bytes(4096);
    let geometry = Geometry { planes, blocks_per_plane, pages_per_block, page, logical_pages };
    Ftl::new(&FtlSpec::greedy(geometry)).expect("a possible geometry")
}

/// Makes it steady, by writing.
pub(crate) fn steady(layer: &mut Ftl) {
    layer.precondition(StartState::Steady, Making::Written);
}

/// Random writes, in batches of 256.
pub(crate) fn writes(layer: &mut Ftl, rng: &mut Rng, count: u64) {
    let logical = layer.spec().geometry.logical_pages;
    let mut batch = [0; 256];
    for _ in 0..count / batch.len() as u64 {
        batch.fill_with(|| rng.below(logical) as u32);
        layer.write_all_timeless(&batch);
    }
}

/// Places of a thousand pages, as one number.
pub(crate) fn places(layer: &Ftl) -> u64 {
    let step = layer.spec().geometry.logical_pages / 1000;
    let places = (0..1000).filter_map(|index| layer.lookup((index * step) as u32));
    places.fold(0, |sum: u64, place| sum.rotate_left(5) ^ u64::from(place.0))
}

/// Does `count` of something, for a program that counts instructions around it: of a job, or of `layer`. `start` counts
/// nothing.
pub(crate) fn counted(name: &str, count: u64) -> u64 {
    if let Some(sum) = built_in(name, count) {
        return sum;
    }
    match name {
        "start" => start(),
        "layer" => {
            let mut layer = layer(0.1);
            steady(&mut layer);
            writes(&mut layer, &mut Rng::from_seed(3), count);
            places(&layer)
        }
        "psync" | "io_uring" => {
            host(name, count, &[("platform.drive", "zero"), ("platform.drive.zero.latency", "90us")])
        }
        "platform_psync" | "platform_io_uring" => host(&name["platform_".len()..], count, &[]),
        // Reads move nothing, so that the whole drive can be had at once.
        "read" => job(name, count, &[]),
        name => job(name, count, SMALL),
    }
}
