//! Calls beside read and write, of a program that counts and times them itself: what is I/O, of which kind, and what is none.

use std::io::{BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use iostack_attribute::stages::Subject;
use iostack_model::{CallKind, KindStages, Stages, Storage};
use iostack_testkit::{Loop, Mounted, folder, or_skip, tool};

use super::common::{attach, show};
use crate::common::{Helper, random};

/// Traces what a few lines of Python do to a path from being told to start to their end, with the numbers in `known`; `None`
/// where it cannot be.
pub(super) fn traced(test: &str, lines: &str, path: &Path) -> Option<(Stages, Vec<u64>)> {
    let mut helper = program(test, lines, path)?;
    helper.line("READY")?;
    let pid = helper.child.id();
    let trace = attach(test, &Subject::Process { pid }, &Storage::default())?;
    helper.child.stdin.as_mut().expect("piped").write_all(b"go\n").expect("it listens");
    let known = helper.line("KNOWN").expect("it tells what it did");
    let stages = trace.finish();
    show(&format!("{test}: {known}"), &stages, None);
    println!("  {:?}\n  {:?}", stages.kinds.iter().map(sums).collect::<Vec<_>>(), stages.waits);
    Some((stages, known.split_whitespace().map(|number| number.parse().expect("a number")).collect()))
}

/// The program that does it when it is told.
fn program(test: &str, lines: &str, path: &Path) -> Option<Helper> {
    // Its own pages stay in memory.
    let begin = "import ctypes, os, sys, mmap\nctypes.CDLL(None).mlockall(1)\nfrom time import perf_counter_ns as now, sleep\npath, known = sys.argv[1], []\n";
    let words = format!(
        "{begin}print('READY', flush=True)\nsys.stdin.readline()\n{lines}\nprint('KNOWN', *known, flush=True)\nsys.stdin.read()"
    );
    let mut python = Command::new("python3");
    python.args(["-c", &words]).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = or_skip(test, python.spawn())?;
    let lines = BufReader::new(child.stdout.take().expect("piped"));
    Some(Helper { child, lines })
}

/// Kind, I/Os, bytes, bios.
fn sums(kind: &KindStages) -> (CallKind, u64, u64, u64) {
    (kind.kind, kind.whole.count, kind.bytes.0, kind.bios)
}

/// The only kind there is.
fn only(stages: &Stages) -> (CallKind, u64, u64, u64) {
    assert_eq!((stages.kinds.len(), stages.lost), (1, 0), "{:?}", stages.kinds);
    assert_eq!(stages.kinds[0].whole.count, stages.ios);
    let sum: u64 = stages.kinds[0].stages.iter().map(|(_, time)| time.0).sum();
    assert_eq!(sum, stages.kinds[0].whole.sum_ns, "the stages add up");
    sums(&stages.kinds[0])
}

#[test]
fn what_is_sent_or_copied_is_read_written_or_copied_by_the_side_that_is_a_file() {
    let test = "what_is_sent_or_copied_is_read_written_or_copied_by_the_side_that_is_a_file";
    let folder = folder!("stages-copies");
    let path = random(&folder, "data", 1 << 20);
    let open = "data = os.open(path, os.O_RDWR)\ncopy = os.open(path + '2', os.O_RDWR | os.O_CREAT)\n\
                null = os.open('/dev/null', os.O_WRONLY)\nout, into = os.pipe()\n";
    for (work, kind) in [
        ("os.sendfile(null, data, 0, 4096)", CallKind::Read),
        ("os.splice(data, into, 4096, offset_src=0); os.read(out, 4096)", CallKind::Read),
        ("os.write(into, b'x' * 4096); os.splice(out, copy, 4096, offset_dst=0)", CallKind::Write),
        ("os.copy_file_range(data, copy, 4096, i * 4096, 0)", CallKind::Copy),
    ] {
        let lines = format!("{open}for i in range(97):\n {work}");
        let Some((stages, _)) = traced(test, &lines, &path) else { return };
        let (found, ios, bytes, _) =
            sums(stages.kinds.iter().find(|row| row.kind == kind).expect("it was done"));
        assert_eq!((found, ios, bytes), (kind, 97, 97 * 4096), "{work}");
        // Opening may have slept.
        let others = stages.kinds.iter().filter(|row| row.kind != kind);
        assert!(others.into_iter().all(|row| row.kind == CallKind::Metadata), "{:?}", stages.kinds);
    }
}

#[test]
fn each_cold_page_of_a_mapped_file_is_a_fault_as_long_as_the_program_waits() {
    let test = "each_cold_page_of_a_mapped_file_is_a_fault_as_long_as_the_program_waits";
    let folder = folder!("stages-faults");
    let path = random(&folder, "data", 32 << 20);
    let lines = "file = os.open(path, os.O_RDONLY)\nos.fsync(file)\nmapped = mmap.mmap(file, 0, prot=mmap.PROT_READ)\n\
                 mapped.madvise(mmap.MADV_RANDOM)\nos.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)\n\
                 sleep(0.01)\nwhole = 0\n\
                 for i in range(97):\n begun = now()\n mapped[i * 262144]\n whole += now() - begun\nknown = [whole]";
    let Some((stages, known)) = traced(test, lines, &path) else { return };
    let row =
        stages.kinds.iter().find(|row| row.kind == CallKind::Fault).expect("it reads through a mapping");
    let (_, ios, bytes, bios) = sums(row);
    assert_eq!((ios, bytes, bios), (97, 97 * 4096, 97), "without read-ahead");
    let ratio = row.whole.sum_ns as f64 / known[0] as f64;
    assert!((0.75..=1.0).contains(&ratio), "{} ns by stages, {} by the program", row.whole.sum_ns, known[0]);
}

#[test]
fn syncs_without_a_descriptor_are_syncs_and_what_fails_or_only_asks_is_none() {
    let test = "syncs_without_a_descriptor_are_syncs_and_what_fails_or_only_asks_is_none";
    let folder = folder!("stages-msync");
    let path = random(&folder, "data", 1 << 20);
    let _warm = std::fs::read(&path).expect("ours");
    let lines = "file = os.open(path, os.O_RDWR)\nmapped = mmap.mmap(file, 0)\n\
                 for i in range(31):\n mapped[i * 4096] = i\n mapped.flush(i * 4096, 4096)\n\
                 for i in range(97):\n os.stat(path)\n os.access(path + 'x', 0)\n os.pread(file, 10, 1 << 40)\n\
                 for call in (os.fsync, os.fdatasync, lambda bad: os.pread(bad, 1, 0), lambda bad: os.ftruncate(bad, 0)):\n \
                 try:\n  call(1000)\n except OSError:\n  pass";
    let Some((stages, _)) = traced(test, lines, &path) else { return };
    let (kind, ios, bytes, bios) = only(&stages);
    assert_eq!((kind, ios), (CallKind::Sync, 31));
    assert!(bios >= 31 && bytes >= 31 * 4096, "{bios} bios of {bytes} bytes");
}

#[test]
fn metadata_is_io_only_while_it_is_not_in_memory() {
    let test = "metadata_is_io_only_while_it_is_not_in_memory";
    let folder = folder!("stages-cold");
    let disk = folder.join("disk");
    std::fs::File::create(&disk).and_then(|file| file.set_len(64 << 20)).expect("the folder is writable");
    let Some(device) = or_skip(test, Loop::over(&disk)) else { return };
    let Some(mounted) = or_skip(test, Mounted::new("ext4", device, folder!("stages-cold-place"))) else {
        return;
    };
    let many = mounted.join("many");
    std::fs::create_dir(&many).expect("it is empty");
    for name in 0..97 {
        std::fs::write(many.join(name.to_string()), "x").expect("there is room");
    }
    // Mounted anew, nothing is in memory.
    let mount_anew = || {
        let again = tool("umount", &[&*mounted]).and_then(|_| tool("mount", &[mounted.device(), &*mounted]));
        assert!(again.is_ok(), "{again:?}");
    };
    let each = |call: &str| format!("for i in range(97):\n os.{call}(path + '/' + str(i))");
    for call in ["stat", "unlink"] {
        mount_anew();
        let Some((cold, _)) = traced(test, &each(call), &many) else { return };
        let (kind, ios, _, bios) = only(&cold);
        assert_eq!(kind, CallKind::Metadata);
        assert!((1..97).contains(&ios) && bios >= ios, "{ios} I/Os of {bios} bios: a block has many inodes");
        if call == "stat" {
            let Some((warm, _)) = traced(test, &each(call), &many) else { return };
            assert_eq!((warm.ios, warm.kinds.len()), (0, 0), "{:?}", warm.kinds);
        }
    }
}

#[test]
fn a_process_that_is_killed_in_its_ios_leaves_those_that_came_back() {
    let test = "a_process_that_is_killed_in_its_ios_leaves_those_that_came_back";
    let folder = folder!("stages-killed");
    let path = random(&folder, "data", 1 << 20);
    let lines = "file = os.open(path, os.O_RDWR)\nfor i in range(20):\n os.pwrite(file, b'x', i)\n os.fsync(file)\n\
                 print('MANY', flush=True)\nwhile True:\n os.pwrite(file, b'x', 0)\n os.fsync(file)";
    let Some(mut helper) = program(test, lines, &path) else { return };
    helper.line("READY").expect("it begins");
    let pid = helper.child.id();
    let Some(trace) = attach(test, &Subject::Process { pid }, &Storage::default()) else { return };
    helper.child.stdin.as_mut().expect("piped").write_all(b"go\n").expect("it listens");
    helper.line("MANY").expect("it writes");
    drop(helper);
    let stages = trace.finish();
    show(test, &stages, None);
    let count = |kind| stages.kinds.iter().find(|row| row.kind == kind).map_or(0, |row| row.whole.count);
    let (writes, syncs) = (count(CallKind::Write), count(CallKind::Sync));
    assert!(syncs >= 20 && writes >= syncs && writes - syncs <= 1, "{writes} writes, {syncs} syncs");
    assert_eq!(stages.lost, 0);
}
