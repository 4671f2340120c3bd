//! What does a run take in memory? Alone in its file, because the peak is the process's.

#[expect(dead_code, reason = "each test file uses its own part")]
#[path = "all/common.rs"]
mod common;

use common::{MIB, counted, data, run};
use iostack_model::{Engine, Job};
use iostack_testkit::folder;

const THREADS: u32 = 64;
const DEPTH: u32 = 128;

/// Peak resident memory of this process.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs is mounted");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("proc(5) has it");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib << 10
}

#[test]
fn threads_64_at_depth_128_take_less_than_64_mib_beside_their_buffers() {
    let (_folder, path) = data(folder!("memory"), 64 * MIB);
    for engine in [Engine::Psync, Engine::Libaio, Engine::IO_URING] {
        let job = Job { threads: THREADS, ..counted(engine, DEPTH, 300, 64 * MIB) };
        let outcome = run(&job, &path).expect("a plain file");
        assert_eq!(outcome.ios(), u64::from(THREADS) * 300);
        let buffers = u64::from(THREADS * job.depth()) * 4096;
        let beside = peak().saturating_sub(buffers);
        println!("{}: {} MiB beside the buffers", engine.name(), beside / MIB);
        assert!(beside < 64 * MIB, "{engine:?}: {} MiB", beside / MIB);
    }
}
