//! Is each doubt raised where it must be, and silent just beside? Simulated runs that must raise it, each with the nearest that must
//! not; in virtual time, so the same in every run.
//!
//! What virtual time cannot bring about stands in [`NOT_HERE`] with the reason; tests beside each doubt's code bend outcomes for it.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use iostack_sim::targets::Simulations;
use iostack_target::{EXAMPLE, Targets as _, Wanted, changes};
use iostack_workload::gather;

/// A run: the device, its changed numbers, the job, all as words.
type DoubtRun = [&'static str; 3];

/// The kind of a doubt, a run that must raise it, and the nearest that must not.
type DoubtRow = (&'static str, DoubtRun, DoubtRun);

/// Reads that a cloud volume holds back: 3000 a second while credits last, which is half of these eight seconds.
const HELD_BACK: &str = "pattern=random engine=libaio queue_depth=32 runtime=8s time_based=1";
const A_FIFTH_AND_MORE: DoubtRun =
    ["sim:gp-cloud", "cloud.iops=2380/s cloud.credits=2480 cloud.rate=4GiB/s", HELD_BACK];
const NEARLY_A_FIFTH: DoubtRun =
    ["sim:gp-cloud", "cloud.iops=2420/s cloud.credits=2320 cloud.rate=4GiB/s", HELD_BACK];
const A_FIFTEENTH: DoubtRun =
    ["sim:gp-cloud", "cloud.iops=2800/s cloud.credits=800 cloud.rate=4GiB/s", HELD_BACK];
/// A run with more credits than it uses.
const LASTING: DoubtRun =
    ["sim:gp-cloud", "cloud.iops=2380/s cloud.credits=24800 cloud.rate=4GiB/s", HELD_BACK];

const ROWS: [DoubtRow; 14] = [
    (
        "depth_below_asked",
        ["sim:zero", "zero.latency=100us", "engine=psync queue_depth=2 io_count=2000"],
        ["sim:zero", "zero.latency=100us", "engine=libaio queue_depth=2 io_count=2000"],
    ),
    (
        // Three turns of 16 writes and one of the flush are 75 % of the depth; five and one are 83 %.
        "depth_below_asked",
        [
            "sim:zero",
            "zero.latency=100us",
            "read_percent=0 engine=libaio queue_depth=16 fsync=48 io_count=2000",
        ],
        [
            "sim:zero",
            "zero.latency=100us",
            "read_percent=0 engine=libaio queue_depth=16 fsync=80 io_count=2000",
        ],
    ),
    (
        // The last turn of 13, and of 38, is half full: 4 %, and 1 %.
        "load_not_full",
        ["sim:zero", "zero.latency=1ms", "engine=libaio queue_depth=8 io_count=100"],
        ["sim:zero", "zero.latency=1ms", "engine=libaio queue_depth=8 io_count=300"],
    ),
    (
        "few_samples",
        ["sim:zero", "zero.latency=100us", "percentiles=99.9 io_count=9999"],
        ["sim:zero", "zero.latency=100us", "percentiles=99.9 io_count=10000"],
    ),
    ("cliff", A_FIFTH_AND_MORE, NEARLY_A_FIFTH),
    ("cliff", A_FIFTH_AND_MORE, LASTING),
    ("rate_step", NEARLY_A_FIFTH, A_FIFTH_AND_MORE),
    ("rate_step", NEARLY_A_FIFTH, A_FIFTEENTH),
    (
        // A disk is read from its rim inwards, 800 s of it in its outer zones.
        "slope",
        [
            "sim:wd5000aaks",
            "",
            "pattern=sequential block_size=8m engine=libaio queue_depth=8 slice=20s runtime=1000s",
        ],
        [
            "sim:wd5000aaks",
            "",
            "pattern=sequential block_size=8m engine=libaio queue_depth=8 slice=16s runtime=800s",
        ],
    ),
    (
        // One read at a time of a volume whose reads take from 0.3 to 20 ms.
        "unstable",
        ["sim:gp-cloud", "", "engine=psync pattern=random runtime=3s time_based=1"],
        ["sim:gp-cloud", "", "engine=psync pattern=random runtime=10s time_based=1"],
    ),
    (
        "not_simulated",
        ["sim:nvme-server", "", "engine=io_uring fixed_buffers=1 io_count=2000"],
        ["sim:nvme-server", "", "engine=io_uring io_count=2000"],
    ),
    (
        // A drive alone has no host.
        "not_simulated",
        ["sim:zero", "", "io_count=2000"],
        ["sim:nvme-server", "", "io_count=2000"],
    ),
    (
        // What is small is written to steady state.
        "state_by_formula",
        ["sim:x25e", "flash.state=steady flash.capacity=4GiB", "io_count=2000"],
        ["sim:x25e", "flash.state=steady flash.capacity=2GiB", "io_count=2000"],
    ),
    (
        "state_by_formula",
        ["sim:x25e", "flash.state=steady flash.capacity=4GiB", "io_count=2000"],
        ["sim:x25e", "flash.state=filled flash.capacity=4GiB", "io_count=2000"],
    ),
];

/// Doubts that this table cannot hold, and why.
const NOT_HERE: [(&str, &str); 6] = [
    ("simulated drives do not fail", "failed"),
    ("a test of its own, below", "interrupted simulated rate_missed"),
    ("a trace is held in the tests of targets", "trace_leap"),
    (
        "of the page cache, blocks, counters and neighbours of a real device",
        "no_data unwritten_extents cached_reads buffered_writes compressible_data foreign_io device_count_differs no_device_count cache_below small_region io_limit",
    ),
    (
        "of the processors, clocks and tracers of a real machine",
        "generator_bound punted stall steal foreign_cpu clock_not_invariant traced events_lost unmatched unclassified inexact_clocks lab",
    ),
    ("of many runs, held by the tests of check and merge", "drift not_linear cost_overlapped"),
];

/// The kinds of the doubts of a run.
fn kinds(run: DoubtRun) -> BTreeSet<String> {
    ran(run, false).unwrap_or_else(|error| panic!("{run:?}: {error:#}"))
}

fn ran([on, set, words]: DoubtRun, stop: bool) -> anyhow::Result<BTreeSet<String>> {
    let set: Vec<String> = set.split_whitespace().map(str::to_owned).collect();
    let pair = |word: &str| {
        let (name, value) = word.split_once('=').expect("KEY=VALUE");
        (name.to_owned(), value.to_owned())
    };
    let options: Vec<_> = words.split_whitespace().map(pair).collect();
    let jobs = gather::gather(&[], &[], &options, false, 1).expect(words).jobs;
    let target = Simulations.open(Some(on), &changes(&set, EXAMPLE).expect(on)).expect(on);
    let ran = target.run(&jobs, Wanted::default(), &AtomicBool::new(stop))?;
    let kind = |caveat| {
        let value = serde_json::to_value(caveat).expect("plain data");
        value["kind"].as_str().expect("its tag").to_owned()
    };
    Ok(ran.outcomes[0].caveats.iter().map(kind).collect())
}

#[test]
fn each_doubt_is_raised_where_it_must_be_and_silent_just_beside() {
    let wrong: Vec<String> = ROWS
        .iter()
        .flat_map(|&(kind, must, must_not)| [(kind, must, true), (kind, must_not, false)])
        .filter_map(|(kind, run, wanted)| {
            let found = kinds(run);
            (found.contains(kind) != wanted).then(|| format!("{kind}, {wanted}: {run:?} has {found:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_run_that_is_stopped_says_so_and_no_other_does() {
    let run = ["sim:zero", "zero.latency=10us", "runtime=200ms time_based=1"];
    let interrupted = |stop| ran(run, stop).expect("it runs").contains("interrupted");
    assert_eq!([true, false].map(interrupted), [true, false]);
}

/// 1000 a second are had. Of 20,000 I/Os, 2 % and what chance explains are 4.1 %, so that they are enough of 1043.
#[test]
fn a_rate_that_is_missed_is_refused_and_one_that_is_nearly_kept_is_not_doubted() {
    let missed = ["sim:zero", "zero.latency=1ms", "engine=psync rate_iops=1048 runtime=20s time_based=1"];
    let error = ran(missed, false).expect_err("it is unstable").to_string();
    assert!(error.contains("it asks for 1048 I/Os per second and got 1000"), "{error}");
    let kept = ["sim:zero", "zero.latency=1ms", "engine=psync rate_iops=1038 runtime=20s time_based=1"];
    assert!(!kinds(kept).contains("rate_missed"));
}

#[test]
fn every_simulated_run_says_that_it_is_one() {
    let silent = ROWS.iter().flat_map(|row| [row.1, row.2]).find(|&run| !kinds(run).contains("simulated"));
    assert_eq!(silent, None);
}

#[test]
fn each_doubt_of_the_manual_is_in_the_table_or_says_why_not() {
    let page = iostack_doubt::page();
    let of_manual: BTreeSet<&str> = page.lines().skip(2).filter_map(|row| row.split('`').nth(1)).collect();
    let left_out = NOT_HERE.iter().flat_map(|(_, kinds)| kinds.split(' '));
    let here: BTreeSet<&str> = ROWS.iter().map(|row| row.0).chain(left_out).collect();
    assert_eq!(of_manual, here);
}
