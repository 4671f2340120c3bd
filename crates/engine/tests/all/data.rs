//! What is read and written is the right data: every buffer its own block, every block proved.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use crate::common::{MIB, come, counted, data, engines, random, run};
use iostack_engine::{Control, run_job};
use iostack_model::*;
use iostack_testkit::folder;

#[test]
fn every_buffer_gets_its_own_block_in_every_engine() {
    let (_folder, path) = data(folder!("own-block"), 4 * MIB);
    for engine in engines() {
        // Headers name their offset, so a block in another's buffer is a mismatch.
        let write = Job { mix: Mix::WRITE, access: Access::Sequential, ..Job::default() };
        let write = Job {
            engine,
            queue_depth: 32,
            verify: Some(Verify::of_mode(VerifyMode::WriteThenRead)),
            ..write
        };
        let Some(outcome) = come("every_buffer", run(&write, &path)) else { continue };
        assert_eq!((outcome.write.latency.count, outcome.verified), (1024, 1024), "{engine:?}");
        assert_eq!(outcome.failures, [], "{engine:?}");
        assert_eq!(outcome.read.latency.count, 0, "reading back is not measured");
        // And by another job, that knows nothing of the first, in another block size.
        let read =
            Job { engine, queue_depth: 32, block_sizes: BlockSizes::all(Bytes::kib(16)), ..Job::default() };
        let read = Job { verify: Some(Verify::of_mode(VerifyMode::ReadOnly)), ..read };
        let outcome = run(&read, &path).expect("a plain file");
        assert_eq!((outcome.verified, outcome.failures.len()), (256, 0), "{engine:?} {:?}", outcome.failures);
    }
}

#[test]
fn what_was_written_is_read_back_between_the_writes_and_the_rest_at_the_end() {
    let (_folder, path) = data(folder!("backlog"), MIB);
    for engine in engines() {
        for (writes, reads, between) in [(100, 100, 200), (100, 40, 160), (1, 1, 256), (300, 1, 0)] {
            let backlog = Some(Backlog { writes, reads });
            let verify = Some(Verify { backlog, ..Verify::of_mode(VerifyMode::WriteThenRead) });
            let job = Job { mix: Mix::WRITE, engine, queue_depth: 16, verify, ..Job::default() };
            let Some(outcome) = come("backlog", run(&job, &path)) else { continue };
            assert_eq!(outcome.failures, [], "{engine:?} {writes} {reads}");
            let seen = (outcome.write.latency.count, outcome.verified, outcome.read_between);
            assert_eq!(seen, (256, 256, between), "{engine:?} {writes} {reads}");
            assert_eq!(outcome.read.latency.count, between, "what is read between the writes is measured");
        }
    }
}

#[test]
fn what_is_trimmed_between_the_writes_reads_as_zeroes_and_all_else_as_written() {
    let (_folder, path) = data(folder!("backlog-trims"), MIB);
    for engine in engines().into_iter().filter(|&engine| engine != Engine::Mmap) {
        for (backlog, read_zeroes) in [(None, true), (None, false), (Some(50), true)] {
            let backlog = backlog.map(|writes| Backlog { writes, reads: writes / 2 });
            let trims = Some(Trims { percent: 30, writes: 16, blocks: 16, read_zeroes });
            let verify = Some(Verify { backlog, trims, ..Verify::of_mode(VerifyMode::WriteThenRead) });
            let access = Access::PERMUTATION;
            let job = Job { mix: Mix::WRITE, access, engine, queue_depth: 8, verify, ..Job::default() };
            assert!(job.writes_each_place_once());
            let Some(outcome) = come("backlog-trims", run(&job, &path)) else { continue };
            assert_eq!(outcome.failures, [], "{engine:?} {backlog:?} {read_zeroes}");
            let (trims, writes) = (outcome.trim.latency.count, outcome.write.latency.count);
            assert!((40..=120).contains(&trims), "about 77 of 256: {trims}");
            let left = if read_zeroes { 256 } else { 256 - trims };
            assert_eq!((writes, outcome.verified), (256, left), "{engine:?} {backlog:?} {read_zeroes}");
            let zeroes = std::fs::read(&path).expect("ours");
            let zeroes = zeroes.chunks(4096).filter(|block| block.iter().all(|&byte| byte == 0)).count();
            assert_eq!(zeroes as u64, trims, "{engine:?} {backlog:?} {read_zeroes}");
        }
    }
}

#[test]
fn threads_that_write_the_same_places_are_not_read_back_along_the_way() {
    let (_folder, path) = data(folder!("backlog-threads"), MIB);
    let backlog = Some(Backlog { writes: 8, reads: 8 });
    let verify = Some(Verify { backlog, ..Verify::of_mode(VerifyMode::WriteThenRead) });
    let job = Job { mix: Mix::WRITE, threads: 2, verify, ..Job::default() };
    let refused = run(&job, &path).expect_err("one would read what the other writes").to_string();
    assert!(refused.contains("in threads that write the same places"), "{refused}");
    let apart = Job { offset_increment: Bytes::kib(512), size: Some(Amount::Bytes(Bytes::kib(512))), ..job };
    let outcome = run(&apart, &path).expect("each has its half");
    assert_eq!((outcome.verified, outcome.failures.len()), (256, 0));
}

#[test]
fn random_overwrites_verify() {
    let (_folder, path) = data(folder!("overwrites"), MIB);
    for engine in engines() {
        // Each thread has its half: of two writes of the same block at once nobody promises that one is there whole.
        let job = Job {
            mix: Mix::WRITE,
            verify: Some(Verify::of_mode(VerifyMode::WriteThenRead)),
            threads: 2,
            offset_increment: Bytes::kib(512),
            size: Some(Amount::Bytes(Bytes::kib(512))),
            ..Job::default()
        };
        let job = Job { engine, queue_depth: 1, loops: 2, ..job };
        let Some(outcome) = come("random_overwrites", run(&job, &path)) else { continue };
        assert_eq!(
            (outcome.write.latency.count, outcome.verified),
            (512, 512),
            "{engine:?} {:?}",
            outcome.failures
        );
    }
}

#[test]
fn a_corrupted_block_is_found_by_its_offset() {
    let (_folder, path) = data(folder!("corrupted"), MIB);
    let write = Job { mix: Mix::WRITE, access: Access::Sequential, ..Job::default() };
    let write = Job { verify: Some(Verify::of_mode(VerifyMode::WriteOnly)), ..write };
    assert_eq!(run(&write, &path).expect("a plain file").verified, 0);
    let file = OpenOptions::new().write(true).open(&path).expect("ours");
    file.write_all_at(b"x", 40 * 4096 + 700).expect("ours");
    file.sync_all().expect("ours");
    for engine in engines() {
        let read = Job { engine, queue_depth: 4, access: Access::Sequential, ..Job::default() };
        let read = Job { verify: Some(Verify::of_mode(VerifyMode::ReadOnly)), ..read };
        let Some(outcome) = come("a_corrupted_block", run(&read, &path)) else { continue };
        assert_eq!(outcome.verified, 255, "{engine:?}");
        let [failure] = outcome.failures.as_slice() else { panic!("{:?}", outcome.failures) };
        assert_eq!((failure.errno, failure.count, failure.offset_first), (0, 1, 40 * 4096));
        assert!(failure.message.contains("crc32c"), "{}", failure.message);
    }
}

#[test]
fn blocks_written_are_random_and_no_two_alike() {
    let (_folder, path) = data(folder!("unlike"), MIB);
    for engine in engines() {
        let job =
            Job { engine, queue_depth: 4, mix: Mix::WRITE, access: Access::Sequential, ..Job::default() };
        let Some(_outcome) = come("blocks_written", run(&job, &path)) else { continue };
        let content = std::fs::read(&path).expect("ours");
        let mut blocks: Vec<&[u8]> = content.chunks(4096).collect();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 256, "{engine:?}");
        let ones: u32 = content.iter().map(|byte| byte.count_ones()).sum();
        assert!(ones.abs_diff(4 << 20) < 20_000, "half of the bits are set: {ones}");
    }
}

#[test]
fn a_pattern_is_written_as_given() {
    let (_folder, path) = data(folder!("pattern"), MIB);
    for engine in engines() {
        let job = Job { mix: Mix::WRITE, data: Data::Pattern(b"abcd".to_vec()), ..Job::default() };
        let job = Job { engine, access: Access::Sequential, ..job };
        let Some(_outcome) = come("a_pattern", run(&job, &path)) else { continue };
        let content = std::fs::read(&path).expect("ours");
        assert!(content.chunks(4).all(|word| word == b"abcd"), "{engine:?}");
    }
}

#[test]
fn flushes_come_after_every_nth_write() {
    let (_folder, path) = data(folder!("flushes"), MIB);
    for engine in engines() {
        let sync = Sync { fsync_every: 10, end_fsync: true, ..Sync::default() };
        let job = Job { mix: Mix::WRITE, sync, ..counted(engine, 4, 97, MIB) };
        let Some(outcome) = come("flushes", run(&job, &path)) else { continue };
        assert_eq!((outcome.write.latency.count, outcome.sync.count), (97, 9), "{engine:?}");
    }
}

#[test]
fn a_trimmed_block_reads_as_zeroes() {
    let (_folder, path) = data(folder!("trim"), MIB);
    for engine in engines() {
        let trim = Job { mix: Mix::TRIM, access: Access::Sequential, ..counted(engine, 4, 3, MIB) };
        let Some(outcome) = come("a_trimmed_block", run(&trim, &path)) else { continue };
        assert_eq!((outcome.trim.latency.count, outcome.trim.bytes), (3, Bytes(3 * 4096)), "{engine:?}");
        let content = std::fs::read(&path).expect("ours");
        assert!(content[..3 * 4096].iter().all(|&byte| byte == 0));
        assert!(content[3 * 4096..].iter().any(|&byte| byte != 0));
    }
}

#[test]
fn several_files_take_turns() {
    let folder = folder!("files");
    let files: Vec<_> = (0..3).map(|index| random(&folder, &format!("data{index}"), MIB)).collect();
    let job = Job { mix: Mix::WRITE, data: Data::Zeroes, access: Access::Sequential, ..Job::default() };
    let target = TargetName { kind: TargetKind::Directory, path: folder.to_path_buf() };
    let storage = iostack_host::storage(&folder).expect("it exists");
    let outcome = run_job(&job, &target, &storage, vec![files.clone()], &Control::none());
    let outcome = outcome.expect("plain files");
    assert_eq!(outcome.write.bytes, Bytes(3 * MIB));
    for file in files {
        assert!(std::fs::read(file).expect("ours").iter().all(|&byte| byte == 0));
    }
}
