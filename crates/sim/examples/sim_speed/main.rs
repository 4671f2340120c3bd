//! How many simulated requests does a second of CPU time buy?
//!
//! ```text
//!   cargo run --release -p iostack-sim --example sim_speed [NAME | tiny]
//!   cargo run --release -p iostack-sim --example sim_speed count NAME COUNT
//! ```
//!
//! Prints a line per figure: name, unit, each sample, and a checksum of the work, which is the same on every machine. CPU
//! time of the thread, since wall time on a shared machine tells nothing. `tiny` rehearses; `count` only does the work, for
//! a program that counts instructions: two counts, and the difference is what one costs.

mod work;

use std::fs;

use iostack_workload::Rng;

/// Amount that is measured.
struct Size {
    requests: u64,
    gib: f64,
    samples: u32,
}

/// A figure's unit, samples and checksum.
struct Samples(&'static str, Vec<f64>, u64);

type SpeedFigure = fn(&Size) -> Samples;

const FIGURES: &[(&str, SpeedFigure)] = &[
    // First, while nothing has been freed that could be used again unseen.
    ("sim.layer_memory", layer_memory),
    ("sim.read", |size| requests("read", size.requests, size.samples)),
    // Each moves several pages for garbage collection.
    ("sim.write", |size| requests("write", size.requests / 10, size.samples)),
    ("sim.mixed", |size| requests("mixed", size.requests / 10, size.samples)),
    ("sim.host_psync", |size| host("psync", size)),
    ("sim.host_uring", |size| host("io_uring", size)),
    ("sim.tlc-1t", |size| built_in("tlc-1t", size, 4)),
    ("sim.x25e", |size| built_in("x25e", size, 10)),
    ("sim.server_uring", |size| built_in("server_io_uring", size, 8)),
    ("sim.server_psync", |size| built_in("server_psync", size, 8)),
    ("sim.large", |size| built_in("large", size, 8)),
    ("sim.layer_write", layer_write),
    ("sim.layer_steady", layer_steady),
    ("sim.start_1tib", start),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, name, count] = arguments.as_slice()
        && verb == "count"
    {
        let count = count.parse().expect("COUNT is a number");
        println!("{name} checksum {:016x}", work::counted(name, count));
        return;
    }
    let wanted = arguments.first().filter(|name| *name != "tiny");
    let size = if arguments.iter().any(|argument| argument == "tiny") {
        Size { requests: 2_000, gib: 0.1, samples: 1 }
    } else {
        Size { requests: 4_000_000, gib: 64.0, samples: 5 }
    };
    for (name, figure) in FIGURES {
        if wanted.is_none_or(|wanted| wanted == name) {
            let Samples(unit, values, checksum) = figure(&size);
            let values: Vec<String> = values.iter().map(|value| format!("{value:.4}")).collect();
            println!("{name} {unit} {} checksum {checksum:016x}", values.join(" "));
        }
    }
}

/// Millions of requests per CPU-second on a drive alone.
fn requests(name: &str, count: u64, samples: u32) -> Samples {
    rate_of(|count| work::job(name, count, &[]), count, samples)
}

/// Millions of requests per CPU-second on a whole platform.
fn host(name: &str, size: &Size) -> Samples {
    rate_of(|count| work::host(name, count, &[]), size.requests / 2, size.samples)
}

/// Millions of requests per CPU-second on a built-in sheet.
fn built_in(name: &str, size: &Size, part: u64) -> Samples {
    let job = |count| work::built_in(name, count).expect("it is built in");
    rate_of(job, size.requests / part, size.samples)
}

/// Millions per CPU-second. Building the drives and preparing them is in a short run as well, and taken off.
fn rate_of(job: impl Fn(u64) -> u64, count: u64, samples: u32) -> Samples {
    let few = (0..samples).map(|_| timed(|| job(count / 100)).0);
    let few = few.fold(f64::INFINITY, f64::min);
    let samples = (0..samples).map(|_| timed(|| job(count / 100 + count)));
    let (seconds, sums): (Vec<f64>, Vec<u64>) = samples.unzip();
    // A rehearsal is shorter than the clock's tick.
    let rate = |seconds: &f64| count as f64 / (seconds - few).max(1e-3) / 1e6;
    Samples("M/cpu-s", seconds.iter().map(rate).collect(), sums[0])
}

/// Millions of random writes per CPU-second of the translation layer alone, steady, greedy.
fn layer_write(size: &Size) -> Samples {
    let mut layer = work::layer(size.gib);
    work::steady(&mut layer);
    let mut rng = Rng::from_seed(3);
    let mut rate = || {
        let (seconds, ()) = timed(|| work::writes(&mut layer, &mut rng, size.requests));
        size.requests as f64 / seconds.max(1e-3) / 1e6
    };
    let values = (0..size.samples).map(|_| rate()).collect();
    Samples("M/cpu-s", values, work::places(&layer))
}

/// CPU-seconds to make it steady by writing.
fn layer_steady(size: &Size) -> Samples {
    let samples = (0..size.samples.min(3)).map(|_| {
        timed(|| {
            let mut layer = work::layer(size.gib);
            work::steady(&mut layer);
            work::places(&layer)
        })
    });
    let (seconds, sums): (Vec<f64>, Vec<u64>) = samples.unzip();
    Samples("cpu-s", seconds.iter().map(|seconds| seconds.max(1e-3)).collect(), sums[0])
}

/// Resident bytes per physical page of a steady layer.
fn layer_memory(size: &Size) -> Samples {
    let before = resident_bytes();
    let mut layer = work::layer(size.gib);
    work::steady(&mut layer);
    let bytes = (resident_bytes() - before).max(4096.0);
    Samples("B/page", vec![bytes / layer.spec().geometry.pages() as f64], work::places(&layer))
}

/// CPU-seconds until a drive of 1 TiB is made steady by formula and has done its first thousand writes.
fn start(size: &Size) -> Samples {
    let (seconds, sums): (Vec<f64>, Vec<u64>) = (0..size.samples).map(|_| timed(work::start)).unzip();
    Samples("cpu-s", seconds.iter().map(|seconds| seconds.max(1e-3)).collect(), sums[0])
}

/// CPU-seconds of this thread that something takes.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let begin = cpu_seconds();
    let made = work();
    (cpu_seconds() - begin, made)
}

fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}

fn resident_bytes() -> f64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or(f64::NAN) * 4096.0
}
