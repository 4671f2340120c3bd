//! Nothing is lost: whatever a name becomes between the look at it and the last write, only what was permitted is
//! written.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use iostack_testkit::{Loop, tool};

use crate::shared::{IOSTACK, Room, command, names, printed, refused, said};

const PRECIOUS: &[u8] = &[42; 64 << 10];
const WRITE: &str = "rw=write\nbs=4k\nsize=64k";
const READ: &str = "rw=read\nbs=4k\nsize=64k";

fn iostack(arguments: &[&str], paths: &[&Path]) -> Output {
    command(arguments).args(paths).stdin(Stdio::null()).output().expect("the binary was built")
}

/// Writes a job of one section.
fn job(room: &Room, name: &str, body: &str) -> PathBuf {
    PathBuf::from(room.file(name, format!("[job]\n{body}\n")))
}

/// A file that a run made of this body, by the job `make.fio`.
fn laid_out(room: &Room, name: &str, body: &str) -> PathBuf {
    let path = room.0.join(name);
    let by = job(room, "make.fio", &format!("{body}\nfilename={}", path.display()));
    let made = iostack(&["run", "--quiet"], &[&by]);
    assert!(made.status.success(), "{}", said(&made));
    path
}

/// Way to make a name that of another file.
#[derive(Clone, Copy, Debug)]
enum Swap {
    Symlink,
    HardLink,
    Rename,
}

/// Lets `path` be by turns nothing and the precious file, until told to stop. The precious file is back at the end.
fn flip(swap: Swap, precious: &Path, path: &Path, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let _ = match swap {
            Swap::Symlink => symlink(precious, path),
            Swap::HardLink => fs::hard_link(precious, path),
            Swap::Rename => fs::rename(precious, path),
        };
        std::thread::yield_now();
        let _ = match swap {
            Swap::Symlink | Swap::HardLink => fs::remove_file(path),
            Swap::Rename => fs::rename(path, precious),
        };
        std::thread::yield_now();
    }
}

/// Runs that write while the name flips; how many of them changed or removed the precious file.
fn losses(swap: Swap, rounds: u32) -> u32 {
    let room = Room::new(&format!("race-{swap:?}-{rounds}"));
    let (precious, path) = (room.0.join("precious"), room.0.join("path"));
    let write = format!("{WRITE}\nfilename={}\n", path.display());
    let jobs = [job(&room, "kept.fio", &write), job(&room, "removed.fio", &format!("{write}unlink=1\n"))];
    let over = AtomicBool::new(false);
    let mut lost = 0;
    for round in 0..rounds {
        let _ = fs::remove_file(&path);
        fs::write(&precious, PRECIOUS).expect("ours");
        let held = File::open(&precious).expect("just written");
        let inode = held.metadata().expect("it is open").ino();
        over.store(false, Ordering::Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| flip(swap, &precious, &path, &over));
            iostack(&["run", "--quiet"], &[&jobs[round as usize % 2]]);
            over.store(true, Ordering::Relaxed);
        });
        let whole = fs::read(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&held)));
        let named = [&precious, &path].map(|name| fs::metadata(name).is_ok_and(|data| data.ino() == inode));
        let is_safe = whole.is_ok_and(|bytes| bytes == PRECIOUS) && named.contains(&true);
        lost += u32::from(!is_safe);
    }
    lost
}

#[test]
fn a_name_that_changes_while_a_run_begins_loses_nothing() {
    for swap in [Swap::Symlink, Swap::HardLink, Swap::Rename] {
        assert_eq!(losses(swap, 40), 0, "{swap:?}, of 40 rounds");
    }
}

#[test]
#[ignore = "slow: six minutes"]
fn a_thousand_names_that_change_lose_nothing() {
    for swap in [Swap::Symlink, Swap::HardLink, Swap::Rename] {
        assert_eq!(losses(swap, 1000), 0, "{swap:?}, of 1000 rounds");
    }
}

#[test]
fn the_image_of_a_device_is_refused_by_whatever_name() {
    let room = Room::new("image");
    let image = laid_out(&room, "image", WRITE);
    let before = fs::read(&image).expect("it was laid out");
    let device = match Loop::over(&image) {
        Ok(device) => device,
        Err(why) => return println!("SKIPPED the_image_of_a_device_is_refused_by_whatever_name: {why}"),
    };
    fs::create_dir(room.0.join("deep")).expect("ours");
    symlink(&image, room.0.join("link")).expect("ours");
    symlink(&room.0, room.0.join("deep/up")).expect("ours");
    fs::hard_link(&image, room.0.join("other")).expect("ours");
    let growing = READ.replace("size=64k", "size=128k");
    for name in ["image", "link", "deep/../image", "deep/up/link", "other"] {
        let path = room.0.join(name);
        // A read of more than there is would lay the file out anew.
        for body in [WRITE, &growing] {
            let job = job(&room, "job.fio", &format!("{body}\nfilename={}", path.display()));
            for flags in [&["run"][..], &["run", "--destroy-data"]] {
                refused(&iostack(flags, &[&job]), &["is in use", &device.to_string_lossy()[5..]]);
            }
        }
        assert!(fs::read(&image).expect("still there") == before, "{name}");
    }
}

#[test]
fn a_file_of_ours_that_holds_a_file_system_now_is_the_users() {
    const TEST: &str = "a_file_of_ours_that_holds_a_file_system_now_is_the_users";
    let room = Room::new("filled");
    let file = laid_out(&room, "ours", &WRITE.replace("size=64k", "size=4m"));
    if let Err(why) = tool("mkfs.ext4", &[Path::new("-qF"), &file]) {
        return println!("SKIPPED {TEST}: {why}");
    }
    refused(&iostack(&["run"], &[&room.0.join("make.fio")]), &["ours", "ext4 file system", "--destroy-data"]);
}

/// Runs iostack in a shell that sets a limit first.
fn limited(limit: &str, arguments: &str, room: &Room) -> Output {
    let script = format!("ulimit -c 0; ulimit {limit}; exec \"$0\" {arguments}");
    let mut command = Command::new("sh");
    command.args(["-c", &script, IOSTACK]).current_dir(&room.0);
    command.output().expect("a shell")
}

#[test]
fn a_limit_of_memory_ends_in_a_sentence_and_leaves_nothing() {
    let room = Room::new("memory");
    // What it takes to begin differs from build to build; somewhere between, what is asked for does not fit.
    let mut refusals = 0;
    for step in 1..100 {
        let output = limited(&format!("-v {}", 8_000 * step), "sim show x5570", &room);
        match output.status.code() {
            Some(0) => break,
            // The loader's own end: the program had not begun.
            None | Some(127 | 139) if refusals == 0 => {}
            _ => {
                refused(&output, &["there is no memory for", "bytes more", "ulimit -v"]);
                refusals += 1;
            }
        }
    }
    assert!(refusals > 0);
    assert!(names(&room.0).is_empty());
}

#[test]
fn a_path_may_hold_any_bytes() {
    let room = Room::new("bytes");
    let odd = room.0.join("x").with_file_name(OsStr::from_bytes(b"odd \xff\xfe"));
    fs::create_dir(&odd).expect("the file system takes any bytes");
    let file = odd.join(OsStr::from_bytes(b"data \xff"));
    let flags =
        ["--quiet", "--json", "--size", "64k", "--block-size", "4k", "--mix", "write", "--runtime", "1s"];
    let output = iostack(&[&["run"], &flags[..], &["--on"]].concat(), &[&file]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(fs::metadata(&file).expect("it was made").len(), 64 << 10);
    let json = printed(&output);
    assert!(json.contains("data \u{fffd}"), "{json}");
    let output = iostack(&["check", "--quick", "--quiet", "--json", "--no-files", "--size", "16m"], &[&odd]);
    assert!(output.status.success(), "{}", said(&output));
    let output = iostack(
        &["run", "--quiet", "--on"],
        &[&room.0.join("sim:").with_file_name(OsStr::from_bytes(b"\xff"))],
    );
    refused(&output, &["does not exist"]);
}
