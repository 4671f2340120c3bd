//! Buffered I/O against what must hold.

use crate::sheet::Sheet;
use iostack_model::{Job, Outcome};
use iostack_workload::parse_toml;

use crate::run::{RunOptions, run};

/// The X5570's host with a drive whose answers take 100 us, and this memory.
fn sheet(changes: &[(&str, &str)]) -> Sheet {
    let own = [
        ("platform.drive", "zero"),
        ("platform.drive.zero.latency", "100us"),
        ("platform.drive.zero.capacity", "256MiB"),
        ("platform.memory", "16MiB"),
    ];
    Sheet::changed("x5570", &[&own[..], changes].concat())
}

fn jobs(text: &str) -> Vec<Job> {
    let file = parse_toml(text, std::path::Path::new("test")).expect("a job");
    file.jobs.into_iter().map(|job| Job { direct: false, ..job }).collect()
}

fn outcome(changes: &[(&str, &str)], text: &str) -> Outcome {
    let jobs = jobs(&format!("[[job]]\nname = \"a\"\n{text}"));
    run(&sheet(changes), &jobs, &RunOptions::seeded(1)).expect("runs").outcomes.remove(0)
}

fn clocks(outcome: &Outcome, layer: &str) -> f64 {
    let host = outcome.inside.as_ref().and_then(|inside| inside.host.as_ref()).expect("a host");
    host.layers.iter().find(|each| each.name == layer).map_or(0.0, |layer| layer.clocks)
}

/// Values of a gauge over time.
fn gauge(outcome: &Outcome, name: &str) -> Vec<f64> {
    let inside = outcome.inside.as_ref().expect("simulated");
    inside.gauges.iter().find(|gauge| gauge.name == name).expect("the cache has it").values.clone()
}

#[test]
fn a_read_brings_what_was_written_through_the_cache() {
    let memories = ["128KiB", "1MiB", "64MiB"];
    let ways: [&[(&str, &str)]; 4] = [
        &[],
        &[("platform.file", "new")],
        &[("platform.replacement", "cflru"), ("platform.dirty", "90%"), ("platform.dirty_background", "80%")],
        &[("platform.read_ahead", "0B"), ("platform.fs", "ext3")],
    ];
    for (memory, way) in memories.into_iter().flat_map(|memory| ways.map(|way| (memory, way))) {
        for block in ["512", "1k", "4k", "12k"] {
            let changes = [&[("platform.memory", memory), ("platform.drive", "dram-ssd")][..], way].concat();
            let sheet = Sheet::changed("x5570", &changes);
            let text = format!(
                "[[job]]\nname = \"a\"\npattern = \"random\"\nread_percent = 50\nio_count = 700\nsize = \"8MiB\"\n\
                 block_size = \"{block}\"\nverify = \"write_then_read\"\nthreads = 2\n\
                 [[job]]\nname = \"b\"\nstonewall = true\npattern = \"random\"\nread_percent = 0\nio_count = 700\nsize = \"8MiB\"\n\
                 block_size = \"{block}\"\nverify = \"write_then_read\""
            );
            for outcome in run(&sheet, &jobs(&text), &RunOptions::seeded(7)).expect("runs").outcomes {
                assert!(outcome.failures.is_empty(), "{memory} {way:?} {block}: {:?}", outcome.failures);
                assert!(outcome.verified > 100, "{memory} {way:?} {block}: {}", outcome.verified);
            }
        }
    }
}

#[test]
fn direct_reads_see_what_was_written_through_the_cache() {
    let text = "[[job]]\nname = \"a\"\npattern = \"sequential\"\nread_percent = 0\nsize = \"4MiB\"\nverify = \"write_only\"\n\
                [[job]]\nname = \"b\"\nstonewall = true\npattern = \"random\"\nio_count = 300\nsize = \"4MiB\"\nverify = \"read_only\"";
    let mut jobs = jobs(text);
    jobs[1].direct = true;
    let sheet = Sheet::changed("x5570", &[("platform.drive", "dram-ssd"), ("platform.memory", "64MiB")]);
    let outcomes = run(&sheet, &jobs, &RunOptions::seeded(3)).expect("runs").outcomes;
    assert!(outcomes[1].failures.is_empty() && outcomes[1].verified > 0, "{:?}", outcomes[1].failures);
}

#[test]
fn a_hit_costs_its_call_and_its_copy_and_nothing_below() {
    let changes =
        [("platform.os.os.copy", "2"), ("platform.os.os.page", "3000"), ("platform.os.os.lookup", "100")];
    let text =
        "pattern = \"random\"\nruntime = \"50ms\"\ntime_based = true\nsize = \"4KiB\"\nblock_size = \"4k\"";
    let outcome = outcome(&changes, text);
    assert!((clocks(&outcome, "copy") - 8192.0).abs() < 1e-6, "{}", clocks(&outcome, "copy"));
    let pages = clocks(&outcome, "page cache");
    assert!((100.0..101.0).contains(&pages), "one page came in, once: {pages}");
    assert!(clocks(&outcome, "block") < 2.0);
    // 924 + 2400 + 100 + 8192 clocks at 2.93 GHz.
    let hit = outcome.read.latency.min_ns as f64;
    assert!((hit - 11_616.0 / 2.93).abs() < 2.0, "{hit}");
}

#[test]
fn uniform_reads_hit_by_memory_s_share_of_the_file() {
    let text = "pattern = \"random\"\nruntime = \"2s\"\ntime_based = true\nsize = \"64MiB\"\nramp = \"1s\"\nthreads = 4";
    let outcome = outcome(&[], text);
    let misses = clocks(&outcome, "block") / 5000.0;
    assert!((misses - 0.75).abs() < 0.02, "{misses}");
}

#[test]
fn a_sequential_reader_has_fewer_requests_and_waits_less() {
    let text = "pattern = \"sequential\"\nio_count = 8192";
    let ahead = outcome(&[], text);
    let none = outcome(&[("platform.read_ahead", "0B")], text);
    assert!(ahead.rate() > none.rate() * 5.0, "{} against {}", ahead.rate(), none.rate());
    // 32 pages a request.
    assert!((clocks(&ahead, "block") / 5000.0 - 1.0 / 32.0).abs() < 0.003, "{}", clocks(&ahead, "block"));
    assert!((clocks(&none, "block") / 5000.0 - 1.0).abs() < 1e-9);
}

#[test]
fn dirty_pages_stay_below_the_limit_and_fsync_leaves_none() {
    let text = "pattern = \"random\"\nread_percent = 0\nruntime = \"2s\"\ntime_based = true\nthreads = 3\nslice = \"10ms\"";
    let changes = [("platform.drive.zero.latency", "1ms"), ("platform.flush_depth", "4")];
    let outcome = outcome(&changes, text);
    let limit = 4096.0 * 0.2 + 3.0;
    let dirty = gauge(&outcome, "dirty pages");
    assert!(
        dirty.iter().all(|&pages| pages <= limit) && dirty.iter().any(|&pages| pages > limit * 0.9),
        "{dirty:?}"
    );
    let text = "pattern = \"random\"\nread_percent = 0\nio_count = 500\nfsync_every = 10\nslice = \"1ms\"";
    for fs in ["none", "ext3", "xfs", "btrfs"] {
        let outcome =
            super::tests::outcome(&[("platform.fs", fs), ("platform.drive.zero.latency", "1ms")], text);
        let dirty = gauge(&outcome, "dirty pages");
        assert!(dirty.iter().all(|&pages| pages <= 10.0), "{fs}: {dirty:?}");
        assert!(outcome.sync.count >= 49, "{fs}: {}", outcome.sync.count);
    }
}

#[test]
fn part_of_a_page_is_read_before_it_is_written() {
    let text = "pattern = \"random\"\nread_percent = 0\nio_count = 2000\nblock_size = \"BS\"";
    let part = outcome(&[], &text.replace("BS", "1k"));
    let whole = outcome(&[], &text.replace("BS", "4k"));
    let new = outcome(&[("platform.file", "new")], &text.replace("BS", "1k"));
    assert!(part.write.latency.mean_ns() > 100_000.0, "{}", part.write.latency.mean_ns());
    assert!(whole.rate() > part.rate() * 5.0);
    assert!(new.rate() > part.rate() * 5.0);
}

#[test]
fn clean_first_writes_less_back() {
    let written = |replacement: &str| {
        let changes = [
            ("platform.replacement", replacement),
            ("platform.dirty", "95%"),
            ("platform.dirty_background", "90%"),
        ];
        let text = "pattern = \"random\"\ndistribution = \"zipf:0.9\"\nread_percent = 70\nruntime = \"3s\"\ntime_based = true\nsize = \"64MiB\"\nslice = \"100ms\"";
        gauge(&outcome(&changes, text), "pages written back").last().copied().unwrap_or(0.0)
    };
    let (lru, cflru) = (written("lru"), written("cflru"));
    assert!(cflru < lru * 0.9, "LRU wrote {lru} pages, CFLRU {cflru}");
}

#[test]
fn faults_of_a_mapping_read_around() {
    let text = "engine = \"mmap\"\npattern = \"random\"\nio_count = 1000\nsize = \"8MiB\"";
    let outcome = outcome(&[], text);
    assert!(clocks(&outcome, "copy") < 1e-9);
    // 2,048 pages by 32 around each fault.
    assert!(clocks(&outcome, "block") / 5000.0 < 0.2, "{}", clocks(&outcome, "block"));
}
