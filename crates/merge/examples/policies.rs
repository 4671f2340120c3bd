//! Which way carries single blocking calls best, here?
//!
//! ```text
//! cargo run --release -p iostack-merge --example policies -- TARGET [threads=1,2,4,8,16,32] [slices=5] [slice_ms=200]
//!     [backend=best] [block=4096] [write=1] [buffered=1] [policies=pread,stm,hybrid]
//! ```
//!
//! TARGET: a file or device (read around the page cache unless `buffered=1`; `write=1` destroys what is on it), or `sim`, or
//! `sim:16` for one whose costs are 16 times 7 us + b x 5.85 us (tmerge, polled). Random blocks. The ways alternate slice by slice, so
//! that a change of the machine's load meets all.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use iostack_batch::BatchCost;
use iostack_merge::{File, Options, Policy, Simulated};

/// What a way did in its slices.
#[derive(Clone, Copy, Default)]
struct Sum {
    seconds: f64,
    requests: u64,
    batches: u64,
    cpu_ns: u64,
    switches: u64,
}

struct Plan {
    target: String,
    settings: HashMap<String, String>,
}

impl Plan {
    fn number(&self, name: &str, default: u64) -> Result<u64, Box<dyn Error>> {
        Ok(self.settings.get(name).map_or(Ok(default), |text| text.parse())?)
    }

    fn list<T: std::str::FromStr>(&self, name: &str, default: &str) -> Result<Vec<T>, Box<dyn Error>>
    where
        T::Err: Error + 'static,
    {
        let text = self.settings.get(name).map_or(default, |text| text);
        Ok(text.split(',').map(str::parse).collect::<Result<_, _>>()?)
    }

    fn open(&self, policy: Policy) -> Result<File, Box<dyn Error>> {
        let backend = self.list("backend", "best")?[0];
        let (write, direct) = (self.number("write", 0)? == 1, self.number("buffered", 0)? == 0);
        let options = Options { policy, backend, write, direct, count: true, ..Options::default() };
        let Some(scale) = self.target.strip_prefix("sim") else { return Ok(options.open(&self.target)?) };
        let scale: f64 = scale.trim_start_matches(':').parse().unwrap_or(1.0);
        let cost = BatchCost { fixed_ns: 7000.0 * scale, each_ns: 5850.0 * scale };
        Ok(options.simulated(&Simulated::new(64 << 20, cost)))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().ok_or("name a file, a device, or `sim`")?;
    let settings = arguments
        .filter_map(|argument| {
            argument.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
        })
        .collect();
    let plan = Plan { target, settings };
    let policies: Vec<Policy> = plan.list("policies", "pread,ring,stm,atm,leader-follower,hybrid")?;
    println!("threads  policy            IOPS    of first  CPU us/IO  switches/IO  batch");
    for threads in plan.list::<usize>("threads", "1,2,4,8,16,32")? {
        let files: Vec<File> = policies.iter().map(|&policy| plan.open(policy)).collect::<Result<_, _>>()?;
        let mut sums = vec![Sum::default(); files.len()];
        for slice in 0..plan.number("slices", 5)? {
            for (file, sum) in files.iter().zip(&mut sums) {
                measure(&plan, file, threads, slice, sum)?;
            }
        }
        for (policy, sum) in policies.iter().zip(&sums) {
            print(threads, *policy, sum, &sums[0]);
        }
    }
    Ok(())
}

fn print(threads: usize, policy: Policy, sum: &Sum, first: &Sum) {
    let iops = |sum: &Sum| sum.requests as f64 / sum.seconds;
    let each = |count: u64| count as f64 / sum.requests as f64;
    println!(
        "{threads:>7}  {policy:<15}  {:>7.0}  {:>8.3}  {:>9.2}  {:>11.2}  {:>5.2}",
        iops(sum),
        iops(sum) / iops(first),
        each(sum.cpu_ns) / 1000.0,
        each(sum.switches),
        sum.requests as f64 / sum.batches as f64,
    );
}

/// One slice: as many threads as there are to be read or write random blocks until time is up.
fn measure(
    plan: &Plan,
    file: &File,
    threads: usize,
    slice: u64,
    sum: &mut Sum,
) -> Result<(), Box<dyn Error>> {
    let block = plan.number("block", 4096)?;
    let write = plan.number("write", 0)? == 1;
    let span = Duration::from_millis(plan.number("slice_ms", 200)?);
    let blocks = file.len()? / block;
    let (start, stop) = (Barrier::new(threads + 1), AtomicBool::new(false));
    let counts: Vec<AtomicU64> = (0..threads).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for (thread, count) in counts.iter().enumerate() {
            let (start, stop) = (&start, &stop);
            scope.spawn(move || {
                let mut memory = vec![0; 2 * block.max(4096) as usize];
                let aligned = memory.as_ptr().align_offset(4096);
                let buffer = &mut memory[aligned..aligned + block as usize];
                let mut seed = ((slice << 32) | (thread as u64 + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                start.wait();
                while !stop.load(Ordering::Relaxed) {
                    seed ^= seed << 13;
                    seed ^= seed >> 7;
                    seed ^= seed << 17;
                    let offset = seed % blocks * block;
                    let done =
                        if write { file.write_at(buffer, offset) } else { file.read_at(buffer, offset) };
                    assert_eq!(done.expect("the target can be read"), block as usize);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        start.wait();
        std::thread::sleep(span / 10);
        let total = || counts.iter().map(|count| count.load(Ordering::Relaxed)).sum::<u64>();
        let batches = || file.stats().map_or(0, |stats| stats.batches);
        let (began, cost, done, sent) = (Instant::now(), spent(), total(), batches());
        std::thread::sleep(span);
        let (cost_after, done_after, sent_after) = (spent(), total(), batches());
        sum.seconds += began.elapsed().as_secs_f64();
        sum.requests += done_after - done;
        sum.batches += sent_after - sent;
        sum.cpu_ns += cost_after.0 - cost.0;
        sum.switches += cost_after.1 - cost.1;
        stop.store(true, Ordering::Relaxed);
    });
    Ok(())
}

/// Time on processors, ns, and context switches of all threads of this process.
fn spent() -> (u64, u64) {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.fold((0, 0), |(cpu_ns, switches), task| {
        let text = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let ran = text("schedstat").split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        let status = text("status");
        let lines = status.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        let switched: u64 = lines.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum();
        (cpu_ns + ran.unwrap_or(0), switches + switched)
    })
}
