//! Devices of our own: a loop device above the disk, zram without requests; split and merged bios; the page cache.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use iostack_attribute::stages::Subject;
use iostack_model::{BlockSizes, Bytes, Engine, Job, Storage, Way};
use iostack_testkit::{Loop, Zram, folder, or_skip};

use super::common::{ENGINES, MATCHED, assert_complete, attach, counted, ios, show, traced};
use crate::common::random;

const MIB: u64 = 1 << 20;

#[test]
fn a_loop_device_shows_the_device_below_it() {
    let test = "a_loop_device_shows_the_device_below_it";
    let folder = folder!("stages-loop");
    let Some(device) = or_skip(test, Loop::over(&random(&folder, "image", 64 * MIB))) else { return };
    for (engine, depth) in [(Engine::Psync, 1), (Engine::IO_URING, 16)] {
        let Some((outcome, stages)) = traced(test, &counted(engine, depth, 20_000, 64 * MIB), &device) else {
            return;
        };
        assert_complete(&outcome, &stages);
        assert!(stages.matched as f64 >= MATCHED * stages.ios as f64, "{} of {}", stages.matched, stages.ios);
        let names: Vec<&str> = stages.devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(format!("/dev/{}", names[0]), device.display().to_string());
        assert_eq!(stages.devices[1].above.as_deref(), Some(names[0]));
        // io_uring's first try may be refused for want of room; that is no bio of the device's. Of some no end is seen ([`MATCHED`]).
        let bios = stages.devices[0].whole.count;
        assert!(bios <= outcome.ios() && bios >= stages.matched, "{bios} bios, {} I/Os", outcome.ios());
    }
}

#[test]
fn nothing_is_lost_on_a_device_as_fast_as_memory() {
    let test = "nothing_is_lost_on_a_device_as_fast_as_memory";
    let Some(device) = or_skip(test, Zram::new(64 * MIB)) else { return };
    write_buffered(&device, 64 * MIB);
    // io_uring hands I/Os of a device that may sleep to worker threads.
    for engine in ENGINES {
        let Some((outcome, stages)) = traced(test, &counted(engine, 4, 16_000, 64 * MIB), &device) else {
            return;
        };
        assert_eq!((stages.ios, stages.matched, stages.lost), (outcome.ios(), outcome.ios(), 0));
        assert_eq!(ios(&stages, Way::Device), 16_000);
    }
}

#[test]
fn a_large_read_that_is_split_is_one_io() {
    let test = "a_large_read_that_is_split_is_one_io";
    let folder = folder!("stages-split");
    let image = random(&folder, "image", 64 * MIB);
    let Some(device) = or_skip(test, Loop::over(&image)) else { return };
    let name = device.file_name().expect("a device has a name").to_string_lossy().into_owned();
    let limit = format!("/sys/block/{name}/queue/max_sectors_kb");
    if std::fs::write(&limit, "64").is_err() {
        println!("SKIPPED {test}: cannot lower {limit}");
        return;
    }
    let job = Job { block_sizes: BlockSizes::all(Bytes(MIB)), ..counted(Engine::Psync, 1, 200, 64 * MIB) };
    let Some((outcome, stages)) = traced(test, &job, &device) else { return };
    assert_complete(&outcome, &stages);
    assert!(stages.matched as f64 >= MATCHED * stages.ios as f64, "{} of {}", stages.matched, stages.ios);
    assert!(stages.devices[0].split > 0, "64 KiB at a time");
}

#[test]
fn buffered_reads_are_hits_once_they_are_cached() {
    let test = "buffered_reads_are_hits_once_they_are_cached";
    let folder = folder!("stages-buffered");
    let path = random(&folder, "data", 16 * MIB);
    let job = Job { direct: false, ..counted(Engine::Psync, 1, 2_000, 16 * MIB) };
    let _warm = std::fs::read(&path).expect("ours");
    let Some((outcome, stages)) = traced(test, &job, &path) else { return };
    assert_eq!(stages.ios, outcome.ios());
    assert!(ios(&stages, Way::CacheHit) + ios(&stages, Way::Device) >= 1_990, "hits, or misses after a drop");
    assert_eq!(ios(&stages, Way::Unmatched), 0);
}

#[test]
fn a_device_counts_whoever_writes_and_merges_are_seen() {
    let test = "a_device_counts_whoever_writes_and_merges_are_seen";
    let folder = folder!("stages-device");
    let Some(device) = or_skip(test, Loop::over(&random(&folder, "image", 64 * MIB))) else { return };
    let name = device.file_name().expect("a device has a name").to_string_lossy().into_owned();
    let subject = Subject::Device { name: &name };
    let Some(trace) = attach(test, &subject, &Storage::default()) else { return };
    write_buffered(&device, 32 * MIB);
    std::thread::sleep(std::time::Duration::from_millis(30));
    let stages = trace.finish();
    show(test, &stages, None);
    assert_eq!(stages.devices.len(), 1);
    assert_eq!(
        (stages.lost, stages.ios),
        (0, stages.devices[0].whole.count),
        "what a device does are its bios"
    );
    assert!(stages.ios > 0 && stages.tracing.ns_per_io > 0.0, "{:?}", stages.tracing);
    assert!(stages.devices[0].merged > 0, "pages written one after the other share requests");
    assert!(stages.subject.contains(&name));
}

fn write_buffered(path: &Path, bytes: u64) {
    let mut file = OpenOptions::new().write(true).open(path).expect("our own device");
    for _ in 0..bytes / MIB {
        file.write_all(&vec![7; MIB as usize]).expect("it is large enough");
    }
    file.sync_all().expect("a loop device can flush");
}

#[test]
fn a_device_that_is_not_there_is_refused() {
    let subject = Subject::Device { name: "no_such_device" };
    let refused = iostack_attribute::stages::StageTrace::attach(
        &subject,
        &Storage::default(),
        &iostack_model::Ladder::default(),
    );
    let error = refused.err().expect("no device has this name");
    assert!(error.remedy().is_some_and(|remedy| remedy.contains("lsblk")), "{error}");
}
