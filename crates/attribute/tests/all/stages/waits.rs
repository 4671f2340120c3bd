//! What an fsync waited for on each file system, and whose I/Os a neighbour's are not.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use iostack_model::answers::WaitCause;
use iostack_model::{CallKind, StageWait, Way};
use iostack_testkit::{Folder, Loop, Mounted, folder, or_skip};

use super::calls::traced;
use super::common::ios;
use crate::common::random;

/// A file system on a loop device over a file of that folder.
fn mounted(folder: &Folder, kind: &str) -> Result<Mounted<Loop>, String> {
    let disk = folder.join("disk");
    File::create(&disk).and_then(|file| file.set_len(512 << 20)).map_err(|error| error.to_string())?;
    Mounted::new(kind, Loop::over(&disk)?, folder!(&format!("stages-waits-{kind}-place")))
}

#[test]
fn what_an_fsync_waits_for_is_known_on_each_file_system() {
    let test = "what_an_fsync_waits_for_is_known_on_each_file_system";
    for kind in ["ext4", "xfs", "btrfs"] {
        let folder = folder!(&format!("stages-waits-{kind}"));
        let Some(mounted) = or_skip(test, mounted(&folder, kind)) else { continue };
        // Two threads, so that one waits for what the other commits.
        let lines = "import threading\ndef work(name):\n file = os.open(path + name, os.O_RDWR | os.O_CREAT)\n \
                     for i in range(97):\n  os.pwrite(file, b'x' * 4096, i * 4096)\n  os.fsync(file)\n\
                     each = [threading.Thread(target=work, args=(name,)) for name in 'ab']\n\
                     [one.start() for one in each]\n[one.join() for one in each]";
        let Some((stages, _)) = traced(&format!("{test} {kind}"), lines, &mounted.join("file")) else {
            return;
        };
        let unexplained = stages.unexplained_share();
        println!("  {kind}: {:.2} % unexplained", unexplained * 100.0);
        let syncs = stages.kinds.iter().find(|row| row.kind == CallKind::Sync).expect("it syncs");
        assert_eq!((syncs.whole.count, stages.lost), (2 * 97, 0));
        assert!(unexplained < 0.05, "{kind}: {:?}", stages.waits);
        assert!(stages.waits.iter().any(|wait| wait.cause == WaitCause::Journal), "{:?}", stages.waits);
    }
}

#[test]
fn a_lock_is_named_by_the_function_that_takes_it() {
    let test = "a_lock_is_named_by_the_function_that_takes_it";
    let folder = folder!("stages-lock");
    let Some(mounted) = or_skip(test, mounted(&folder, "ext4")) else { return };
    // Whoever makes a file longer past the cache has its lock until the device answers.
    let lines = "import threading\ndef work(first):\n file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)\n \
                 room = mmap.mmap(-1, 4096)\n for i in range(97):\n  os.pwritev(file, [room], (2 * i + first) * 4096)\n\
                 each = [threading.Thread(target=work, args=(first,)) for first in (0, 1)]\n\
                 [one.start() for one in each]\n[one.join() for one in each]";
    let Some((stages, _)) = traced(test, lines, &mounted.join("file")) else { return };
    let is_it = |wait: &StageWait| wait.cause == WaitCause::Lock && wait.function.starts_with("ext4_");
    assert!(stages.waits.iter().any(is_it), "{:?}", stages.waits);
}

#[test]
fn what_a_cgroups_limit_holds_back_waits_for_it_and_is_matched() {
    let test = "what_a_cgroups_limit_holds_back_waits_for_it_and_is_matched";
    let folder = folder!("stages-limit");
    let disk = random(&folder, "disk", 4 << 20);
    let Some(device) = or_skip(test, Loop::over(&disk)) else { return };
    let name = device.file_name().expect("a device has a name").display();
    let numbers = fs::read_to_string(format!("/sys/class/block/{name}/dev")).expect("it is there");
    let group = Path::new("/sys/fs/cgroup/blkio").join(format!("iostack-stages-{}", std::process::id()));
    let limit = group.join("blkio.throttle.read_iops_device");
    let made = fs::create_dir(&group).and_then(|()| fs::write(limit, format!("{} 20", numbers.trim())));
    let lines = format!(
        "open('{}/cgroup.procs', 'w').write(str(os.getpid()))\nfile = os.open(path, os.O_RDONLY | os.O_DIRECT)\n\
         room = mmap.mmap(-1, 4096)\nfor i in range(20):\n os.preadv(file, [room], i * 4096)",
        group.display()
    );
    let told = or_skip(test, made).and_then(|()| traced(test, &lines, &device));
    let _nobody_is_left = fs::remove_dir(&group);
    let Some((stages, _)) = told else { return };
    let reads = stages.kinds.iter().find(|row| row.kind == CallKind::Read).expect("it reads");
    assert_eq!((reads.whole.count, reads.bios, ios(&stages, Way::Unmatched)), (20, 20, 0));
    let held = stages.waits.iter().find(|wait| wait.cause == WaitCause::CgroupLimit).expect("20 a second");
    assert!(held.total.0 * 2 > reads.whole.sum_ns && held.sleeps <= 20, "{:?}", stages.waits);
}

#[test]
fn a_neighbours_ios_are_not_the_subjects() {
    let test = "a_neighbours_ios_are_not_the_subjects";
    let folder = folder!("stages-neighbour");
    let Some(mounted) = or_skip(test, mounted(&folder, "ext4")) else { return };
    let loud = format!(
        "while true; do dd if=/dev/zero of={} bs=64k count=200 conv=fsync; done",
        mounted.join("loud").display()
    );
    let mut neighbour = Command::new("sh");
    neighbour.args(["-c", &loud]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut neighbour = neighbour.spawn().expect("there is a shell");
    let idle = traced(test, "sleep(1)", &mounted.join("quiet"));
    let lines = "file = os.open(path, os.O_RDWR | os.O_CREAT)\nfor i in range(5):\n sleep(0.2)\n \
                 os.pwrite(file, b'x' * 4096, 0)\n os.fsync(file)";
    let busy = traced(test, lines, &mounted.join("quiet"));
    let ended = neighbour.kill().and_then(|()| neighbour.wait());
    assert!(ended.is_ok(), "{ended:?}");
    let (Some((idle, _)), Some((busy, _))) = (idle, busy) else { return };
    assert_eq!((idle.ios, idle.kinds.len(), idle.waits.len()), (0, 0, 0), "{:?}", idle.kinds);
    let row = |kind| busy.kinds.iter().find(|row| row.kind == kind).expect("it does both");
    let (writes, syncs) = (row(CallKind::Write), row(CallKind::Sync));
    assert_eq!((writes.whole.count, syncs.whole.count), (5, 5));
    assert_eq!((writes.bytes.0, writes.bios), (5 * 4096, 0), "into the cache");
    // Its own page each time, and a flush where the commit was another's.
    assert!(syncs.bytes.0 <= 5 * 4096 && syncs.bios <= 10, "{syncs:?}");
}

#[test]
fn a_sleep_that_is_no_storages_is_no_io() {
    let test = "a_sleep_that_is_no_storages_is_no_io";
    let folder = folder!("stages-fifo");
    let lines = "os.mkfifo(path)\nif os.fork() == 0:\n sleep(0.1)\n os.close(os.open(path, os.O_WRONLY))\n os._exit(0)\n\
                 os.close(os.open(path, os.O_RDONLY))\nos.wait()";
    let Some((stages, _)) = traced(test, lines, &folder.join("fifo")) else { return };
    let opened = stages.waits.iter().any(|wait| wait.total.0 > 50_000_000);
    assert!(!opened && stages.mean_ns() < 50_000_000.0, "{:?} {:?}", stages.kinds, stages.waits);
}
