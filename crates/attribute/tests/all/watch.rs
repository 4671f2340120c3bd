//! A watch of the whole host finds whose I/Os are whose, on devices of the test's own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

use iostack_attribute::bpf::BpfError;
use iostack_attribute::watch::{WatchOptions, Watcher, explain};
use iostack_model::answers::{IoKind, OwnedHow, OwnedIo, WaitCause, WatchSlice};
use iostack_model::{Bytes, Nanos};
use iostack_testkit::{Loop, Mounted, folder, or_skip};

fn watcher(test: &str, slow_from: Option<Nanos>) -> Option<Watcher> {
    match Watcher::attach(&WatchOptions { slow_from }) {
        Ok(watcher) => Some(watcher),
        Err(error @ (BpfError::NotPermitted { .. } | BpfError::Types(_))) => {
            println!("SKIPPED {test}: {error}");
            None
        }
        Err(error) => panic!("{error}: {error:?}"),
    }
}

/// A loop device over a new file of so many bytes.
fn device(test: &str, folder: &Path, bytes: u64) -> Option<Loop> {
    let path = folder.join("disk");
    File::create(&path).and_then(|file| file.set_len(bytes)).expect("the folder is writable");
    or_skip(test, Loop::over(&path))
}

fn name_of(device: &Path) -> &str {
    device.file_name().and_then(|name| name.to_str()).expect("a device has a name")
}

/// Rows of one device.
fn rows<'a>(slice: &'a WatchSlice, device: &str) -> Vec<&'a OwnedIo> {
    slice.ios.iter().filter(|row| row.device == device).collect()
}

/// Reads of 4 KiB past the page cache.
fn read_directly(device: &Path, count: u64) {
    let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(device).expect("our own device");
    let room = vec![0_u8; 8192];
    let skip = room.as_ptr().align_offset(4096);
    let mut room = room;
    for at in 0..count {
        file.read_exact_at(&mut room[skip..skip + 4096], at * 8192).expect("it is long enough");
    }
}

#[test]
fn ninety_seven_reads_are_ninety_seven_reads_of_this_process() {
    let test = "ninety_seven_reads_are_ninety_seven_reads_of_this_process";
    let folder = folder!("watch-reads");
    let Some(device) = device(test, &folder, 4 << 20) else { return };
    let Some(mut watcher) = watcher(test, None) else { return };
    let _before = watcher.slice();
    read_directly(&device, 97);
    let slice = watcher.slice();
    let name = name_of(&device);
    let mine = std::process::id();
    let found = rows(&slice, name);
    let reads: Vec<_> =
        found.iter().filter(|row| row.owner.process == mine && row.kind == IoKind::Read).collect();
    assert_eq!(reads.len(), 1, "{found:#?}");
    assert_eq!((reads[0].ios, reads[0].bytes, reads[0].how), (97, 97 * 4096, OwnedHow::Itself));
    let (comm, whole) =
        (fs::read_to_string("/proc/self/comm").expect("it runs"), reads[0].queue_ns + reads[0].device_ns);
    assert_eq!(reads[0].owner.name, comm.trim_end());
    assert!(whole > 0 && reads[0].slowest_ns <= whole && reads[0].slowest_ns * 97 >= whole, "{reads:?}");
    let told = slice.devices.iter().find(|device| device.name == name).expect("it was used");
    assert_eq!(
        told.cells.iter().map(|(_, ios)| ios).sum::<u64>(),
        told.kernel_ios,
        "the kernel counts the same"
    );
    assert_eq!(slice.lost, 0);
}

/// CPU time so far of each thread of the kernel that works for others, ns, as the scheduler has it.
fn workers_ns() -> BTreeMap<OsString, u64> {
    let of_worker = |entry: fs::DirEntry| {
        let comm = fs::read_to_string(entry.path().join("comm")).ok()?;
        let times = fs::read_to_string(entry.path().join("schedstat")).ok()?;
        let ran = times.split_whitespace().next()?.parse::<u64>().ok()?;
        (comm.starts_with("kworker") || comm.starts_with("jbd2")).then_some((entry.file_name(), ran))
    };
    fs::read_dir("/proc").expect("it is mounted").filter_map(|entry| of_worker(entry.ok()?)).collect()
}

#[test]
fn what_the_kernels_workers_do_for_a_process_is_charged_to_it() {
    let test = "what_the_kernels_workers_do_for_a_process_is_charged_to_it";
    let folder = folder!("watch-work");
    let Some(device) = device(test, &folder, 32 << 20) else { return };
    let Some(mut watcher) = watcher(test, None) else { return };
    let (_before, workers) = (watcher.slice(), workers_ns());
    // The loop driver hands each to a work, which reads the file.
    read_directly(&device, 2000);
    let slice = watcher.slice();
    // One that has ended in between had nothing to do for minutes.
    let since = |(number, now): (OsString, u64)| now - workers.get(&number).copied().unwrap_or(0).min(now);
    let workers: u64 = workers_ns().into_iter().map(since).sum();
    if workers == 0 {
        return println!("SKIPPED {test}: this kernel tells no CPU time of its workers");
    }
    let mine = std::process::id();
    let of = |own: bool| {
        let rows = slice.waits.iter().filter(|row| (row.owner.process == mine) == own);
        rows.map(|row| row.kernel_ns).sum::<u64>()
    };
    let (mine, others) = (of(true), of(false));
    println!("{mine} ns for us, {others} ns for others; the scheduler says {workers} ns of all workers");
    assert!(mine > 2000 * 500, "a read took less than 500 ns: {mine} of {workers}");
    assert!(mine + others <= workers + workers / 4, "more than all of it: {mine} and {others} of {workers}");
}

#[test]
fn what_is_written_back_belongs_to_who_wrote_it() {
    let test = "what_is_written_back_belongs_to_who_wrote_it";
    let folder = folder!("watch-back");
    let Some(device) = device(test, &folder, 64 << 20) else { return };
    let place = folder!("watch-back-place");
    let Some(mounted) = or_skip(test, Mounted::new("ext4", device, place)) else { return };
    let Some(mut watcher) = watcher(test, None) else { return };
    let _before = watcher.slice();
    let path = mounted.join("written");
    // A process of its own, which has ended when its pages are written back.
    let mut child = Command::new("dd");
    child.args(["if=/dev/zero", &format!("of={}", path.display()), "bs=64k", "count=64", "status=none"]);
    let mut child = child.spawn().expect("dd is everywhere");
    let (writer, status) = (child.id(), child.wait().expect("it was started"));
    assert!(status.success());
    // Whoever syncs queues the rest itself; the flusher is asked to go first.
    let _ = fs::write("/proc/sys/vm/drop_caches", "0");
    let asked = Command::new("sync").arg("-f").arg(&path).status().expect("sync is everywhere");
    assert!(asked.success());
    let slice = watcher.slice();
    let name = name_of(mounted.device());
    let found = rows(&slice, name);
    let of_writer: u64 = found
        .iter()
        .filter(|row| row.owner.process == writer && row.how == OwnedHow::WriteBack)
        .map(|row| row.bytes)
        .sum();
    assert!(of_writer >= 4 << 20, "{of_writer} bytes of {writer}: {found:#?}");
    let named = found.iter().find(|row| row.owner.process == writer).expect("it was just found");
    assert_eq!(named.owner.name, "dd", "its name outlives it");
}

#[test]
fn a_commit_belongs_to_who_filled_the_transaction() {
    let test = "a_commit_belongs_to_who_filled_the_transaction";
    let folder = folder!("watch-commit");
    let Some(device) = device(test, &folder, 64 << 20) else { return };
    let place = folder!("watch-commit-place");
    let Some(mounted) = or_skip(test, Mounted::new("ext4", device, place)) else { return };
    let Some(mut watcher) = watcher(test, Some(Nanos(10_000))) else { return };
    let _before = watcher.slice();
    let mut child = Command::new("dd");
    let file = format!("of={}", mounted.join("log").display());
    child.args(["if=/dev/zero", &file, "bs=4k", "count=40", "oflag=dsync", "status=none"]);
    let mut child = child.spawn().expect("dd is everywhere");
    let (writer, mut slices) = (child.id(), Vec::new());
    while child.try_wait().expect("it was started").is_none() {
        slices.push(watcher.slice());
    }
    slices.push(watcher.slice());
    let found: Vec<_> = slices.iter().flat_map(|slice| rows(slice, name_of(mounted.device()))).collect();
    let journal: Vec<_> = found.iter().filter(|row| row.how == OwnedHow::Journal).collect();
    assert!(!journal.is_empty(), "{found:#?}");
    assert!(journal.iter().all(|row| row.owner.process == writer), "{journal:#?}");
    if watcher.limits().is_empty() {
        let mut sleeps = slices.iter().flat_map(|slice| &slice.sleeps);
        let waits = |name: &String| name.starts_with("jbd2_log_wait_commit");
        let own = sleeps.any(|sleep| sleep.owner.process == writer && sleep.stack.iter().any(waits));
        assert!(own, "each sync waits for a commit: {:?}", explain(&slices, 20));
    }
}

#[test]
fn a_cgroups_limit_is_named_with_the_process_it_holds_back() {
    let test = "a_cgroups_limit_is_named_with_the_process_it_holds_back";
    let folder = folder!("watch-limit");
    let Some(device) = device(test, &folder, 4 << 20) else { return };
    let group = format!("iostack-watch-{}", std::process::id());
    let one = Path::new("/sys/fs/cgroup/blkio").join(&group);
    let two = Path::new("/sys/fs/cgroup").join(&group);
    let numbers =
        fs::read_to_string(format!("/sys/class/block/{}/dev", name_of(&device))).expect("it is there");
    let numbers = numbers.trim();
    // Version 1, else 2; either may be left to others.
    let (place, limit, words) = if one.parent().is_some_and(Path::exists) {
        (one, "blkio.throttle.read_iops_device", format!("{numbers} 20"))
    } else {
        (two, "io.max", format!("{numbers} riops=20"))
    };
    let made = fs::create_dir(&place).and_then(|()| fs::write(place.join(limit), words));
    let Some(()) = or_skip(test, made.map_err(|error| format!("no cgroup with a limit: {error}"))) else {
        let _ = fs::remove_dir(&place);
        return;
    };
    let watched = watcher(test, None).map(|mut watcher| {
        let _before = watcher.slice();
        let command = format!(
            "echo $$ > {}/cgroup.procs; exec dd if={} of=/dev/null bs=4k count=20 iflag=direct status=none",
            place.display(),
            device.display()
        );
        let status = Command::new("sh").args(["-c", &command]).status().expect("a shell is everywhere");
        assert!(status.success());
        watcher.slice()
    });
    fs::remove_dir(&place).expect("nobody is left in it");
    let Some(slice) = watched else { return };
    let explained = explain(&[slice], usize::MAX);
    let held: Vec<_> = explained
        .findings
        .iter()
        .filter(|each| each.cause == WaitCause::CgroupLimit && each.owner.name == "dd")
        .collect();
    // 20 a second, let go two at a time each tenth of a second: nine times the next one is held back.
    assert!(held.len() >= 6, "{held:#?} of {:?}", explained.causes);
    assert!(held.iter().all(|each| each.sure && each.evidence[0].contains(&group)), "{held:#?}");
}

#[test]
fn every_io_of_a_busy_device_is_counted_and_nothing_is_lost() {
    let test = "every_io_of_a_busy_device_is_counted_and_nothing_is_lost";
    let folder = folder!("watch-all");
    let Some(device) = device(test, &folder, 32 << 20) else { return };
    let Some(mut watcher) = watcher(test, None) else { return };
    let _before = watcher.slice();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| read_directly(&device, 2000));
        }
    });
    let slice = watcher.slice();
    let found = rows(&slice, name_of(&device));
    let of_all: u64 = found.iter().map(|row| row.ios).sum();
    let told = slice.devices.iter().find(|each| each.name == name_of(&device)).expect("it was used");
    assert_eq!((told.kernel_ios, slice.lost), (8000, 0), "{found:#?}");
    // Whoever moves a thread off its CPU within a program keeps that program from what comes there meanwhile.
    let unseen = 8000_u64.checked_sub(of_all).expect("none is counted twice");
    assert!(
        unseen <= slice.missed,
        "{unseen} were not seen, {} are known to be missed: {found:#?}",
        slice.missed
    );
    let owned: u64 = found.iter().filter(|row| row.is_owned()).map(|row| row.bytes).sum();
    assert!(owned <= 8000 * 4096 && owned + 2 * slice.missed * 4096 >= 8000 * 4096, "{}", Bytes(owned));
}

#[test]
fn what_ends_while_the_programs_are_attached_is_not_in_flight_for_ever() {
    let test = "what_ends_while_the_programs_are_attached_is_not_in_flight_for_ever";
    let folder = folder!("watch-attach");
    let Some(device) = device(test, &folder, 32 << 20) else { return };
    let begun = std::sync::Barrier::new(2);
    let attached = std::thread::scope(|scope| {
        scope.spawn(|| {
            begun.wait();
            read_directly(&device, 2000);
        });
        begun.wait();
        watcher(test, Some(Nanos(1000)))
    });
    let Some(mut watcher) = attached else { return };
    let _before = watcher.slice();
    read_directly(&device, 1);
    let one = watcher.slice();
    let told: Vec<_> = one.slow.iter().filter(|io| io.device == name_of(&device)).collect();
    assert!(!told.is_empty() && told.iter().all(|io| io.in_flight == 0), "{told:?}");
}
