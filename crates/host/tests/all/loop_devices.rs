//! The refusals on real devices: loop devices made for each test and taken apart after it. Needs root and losetup;
//! without, each test says that it was skipped.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iostack_host::{
    Held, Journal, counters, logical_block, permit_write, restore_all, set_scheduler, signals, storage,
    supports_nowait, target_size,
};
use iostack_model::Bytes;
use iostack_testkit::{Folder, folder, tool};

const SIZE: Bytes = Bytes::mib(32);

/// A loop device on a file of its own. One at a time: a program that another test starts has our claims, too, from its fork
/// to its exec, and whoever asks for the device in that moment is told that it is busy.
struct Loop {
    device: String,
    _held: iostack_testkit::Loop,
    directory: Folder,
    _alone: MutexGuard<'static, ()>,
}

impl Loop {
    fn new() -> Result<Loop, String> {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = folder!("loop");
        let file = directory.join("image");
        let image = fs::File::create(&file).and_then(|image| image.set_len(SIZE.0));
        image.map_err(|error| error.to_string())?;
        let held = iostack_testkit::Loop::with(&file, &["--partscan"])?;
        Ok(Loop { device: held.display().to_string(), _held: held, directory, _alone: alone })
    }

    fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    fn target(&self) -> Held {
        Held::open(Path::new(&self.device)).expect("it was just made")
    }

    /// Writes `bytes` to the device at `offset`.
    fn put(&self, offset: u64, bytes: &[u8]) {
        let device = OpenOptions::new().write(true).open(&self.device).expect("root may");
        device.write_all_at(bytes, offset).expect("inside");
        device.sync_all().expect("it can be synced");
    }

    fn refusal(&self, destroy_data: bool) -> String {
        permit_write(&self.target(), destroy_data).expect_err("something is there").to_string()
    }

    /// Mounts `device` below this test's directory.
    fn mount(&self, device: &str) -> Result<Mounted, String> {
        let point = self.directory.join("mounted here");
        fs::create_dir_all(&point).map_err(|error| error.to_string())?;
        tool("mount", &[device, &point.to_string_lossy()])?;
        Ok(Mounted(point))
    }
}

struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = tool("umount", &[&self.0]);
    }
}

/// Claims a device as another program does that wants it for itself.
fn claimed(device: &str) -> std::io::Result<fs::File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_EXCL).open(device)
}

/// The value, or the end of the test with the reason why it was skipped.
macro_rules! need {
    ($test:expr, $value:expr) => {
        match $value {
            Ok(value) => value,
            Err(why) => return println!("SKIPPED {}: {}", $test, why),
        }
    };
}

#[test]
fn an_empty_device_may_be_written_and_is_described() {
    let device = need!("an_empty_device_may_be_written_and_is_described", Loop::new());
    let target = device.target();
    let refusal = permit_write(&target, false).expect_err("it is a device").to_string();
    assert!(refusal.contains("--destroy-data"), "{refusal}");
    permit_write(&target, true).expect("nothing is there");
    assert_eq!(target_size(&target).expect("it is there"), SIZE);
    assert_eq!(logical_block(&target).expect("it is there"), Bytes(512));
    let storage = target.storage().expect("it is there");
    assert!(storage.file_system.is_none());
    let top = storage.top().expect("itself");
    assert_eq!((top.name.as_str(), top.role.as_str(), top.size), (device.name(), "loop", SIZE));
    assert!(top.model.as_ref().is_some_and(|file| file.ends_with("/image")), "{top:?}");
}

#[test]
fn ninety_seven_writes_are_counted_as_97() {
    let device = need!("ninety_seven_writes_are_counted_as_97", Loop::new());
    let direct = OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(&device.device);
    let file = direct.expect("root may");
    let memory = [1u8; 8192];
    let aligned = memory.as_ptr().align_offset(4096);
    let before = counters::device(device.name()).expect("it has counters");
    for block in 0..97 {
        file.write_all_at(&memory[aligned..aligned + 4096], block * 128 * 1024).expect("inside");
    }
    let moved = counters::difference(&before, &counters::device(device.name()).expect("as before"));
    assert_eq!((moved.ios[1], moved.bytes[1]), (97, 97 * 4096), "{moved:?}");
}

const MOUNTED: &str = "a_file_system_is_refused_unless_named_and_a_mounted_one_always";

#[test]
fn a_file_system_is_refused_unless_named_and_a_mounted_one_always() {
    let device = need!(MOUNTED, Loop::new());
    need!(MOUNTED, tool("mkfs.ext4", &["-q", &device.device]));
    let path = &device.device;
    let refusal = device.refusal(false);
    assert!(refusal.contains(&format!("`{path}` holds an ext2, ext3 or ext4 file system")), "{refusal}");
    assert!(refusal.contains("pass --destroy-data to overwrite it"), "{refusal}");
    permit_write(&device.target(), true).expect("it is named");
    let mounted = need!(MOUNTED, device.mount(path));
    for destroy_data in [false, true] {
        let refusal = device.refusal(destroy_data);
        let place = format!("it is mounted at `{}`", mounted.0.display());
        assert!(refusal.starts_with(&format!("`{path}` is in use: {place}")), "{refusal}");
    }
    let empty = mounted.0.join("empty");
    fs::File::create(&empty).expect("the file system is new");
    let nowait = |path: &Path| supports_nowait(path).expect("it is readable");
    assert_eq!(nowait(&empty), nowait(Path::new(path)), "an empty file answers for its device");
    let below = storage(&mounted.0).expect("it is there");
    assert_eq!(below.file_system.as_ref().expect("it is one").mount_point, mounted.0);
    assert_eq!(below.top().expect("the loop device").name, device.name());
    let error = claimed(path).expect_err("the mount has it");
    assert_eq!(error.raw_os_error(), Some(libc::EBUSY), "{error}");
}

#[test]
fn the_file_behind_a_device_is_in_use() {
    let device = need!("the_file_behind_a_device_is_in_use", Loop::new());
    let image = device.directory.join("image");
    let built = format!("the loop device {} is built on it", device.name());
    let refused = |path: &Path| {
        let refusal = permit_write(&Held::open(path).expect("it is there"), true).expect_err("it is in use");
        assert!(refusal.to_string().contains(&built), "{refusal}");
    };
    refused(&image);
    fs::hard_link(&image, device.directory.join("other")).expect("ours");
    refused(&device.directory.join("other"));
    // Its name in sysfs is now that of nothing.
    fs::remove_file(&image).expect("ours");
    refused(&device.directory.join("other"));
}

#[test]
fn the_device_behind_a_device_is_in_use() {
    let lower = need!("the_device_behind_a_device_is_in_use", Loop::new());
    let upper =
        need!("the_device_behind_a_device_is_in_use", tool("losetup", &["--find", "--show", &lower.device]));
    let answer = permit_write(&lower.target(), true);
    tool("losetup", &["--detach", &upper]).expect("it was just made");
    let refusal = answer.expect_err("a device is built on it").to_string();
    assert!(refusal.contains(&format!("{} is built on it", &upper["/dev/".len()..])), "{refusal}");
}

#[test]
fn a_device_that_is_permitted_is_claimed_by_any_node() {
    let device = need!("a_device_that_is_permitted_is_claimed_by_any_node", Loop::new());
    let target = device.target();
    permit_write(&target, true).expect("nothing is there");
    claimed(&device.device).expect_err("it is ours while it is held");
    permit_write(&target, true).expect("it is still ours");
    drop(target);
    let node = device.directory.join("node");
    let number = fs::metadata(&device.device).expect("it is there").rdev();
    let (major, minor) = (libc::major(number).to_string(), libc::minor(number).to_string());
    need!(
        "a_device_that_is_permitted_is_claimed_by_any_node",
        tool("mknod", &[&node.to_string_lossy(), "b", &major, &minor])
    );
    let other = Held::open(&node).expect("just made");
    assert!(other.is_same(&device.target()));
    permit_write(&other, true).expect("nothing is there");
    claimed(&device.device).expect_err("it is one device");
}

#[test]
fn a_partition_table_is_refused_unless_named() {
    let device = need!("a_partition_table_is_refused_unless_named", Loop::new());
    let mut sector = [0u8; 512];
    sector[446..462].copy_from_slice(&[0, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0x80, 0, 0]);
    sector[510..].copy_from_slice(b"\x55\xaa");
    device.put(0, &sector);
    let refusal = device.refusal(false);
    assert!(refusal.contains("is partitioned (") && refusal.contains("--destroy-data"), "{refusal}");
    permit_write(&device.target(), true).expect("it is named");
}

const PARTITIONS: &str = "partitions_are_listed_and_a_mounted_one_keeps_its_disk";

#[test]
fn partitions_are_listed_and_a_mounted_one_keeps_its_disk() {
    let device = need!(PARTITIONS, Loop::new());
    // Partitions without a table, so that kernels without a parser for it have them too.
    let partition = format!("{}p1", device.device);
    let made = tool("addpart", &[&device.device, "1", "2048", "32768"]);
    need!(PARTITIONS, made.and_then(|_| tool("mkfs.ext4", &["-q", &partition])));
    let refusal = device.refusal(false);
    assert!(refusal.contains(&format!("is partitioned ({}p1)", device.name())), "{refusal}");
    let chain = storage(Path::new(&partition)).expect("it is there");
    let names: Vec<&str> = chain.devices.iter().take(2).map(|device| device.name.as_str()).collect();
    assert_eq!(names, [&format!("{}p1", device.name()), device.name()]);
    match device.mount(&partition) {
        Ok(mounted) => {
            let refusal = device.refusal(true);
            let place = format!("{}p1 is mounted at `{}`", device.name(), mounted.0.display());
            assert!(refusal.contains(&place), "{refusal}");
        }
        Err(why) => println!("SKIPPED {PARTITIONS}: {why}"),
    }
    tool("delpart", &[&device.device, "1"]).expect("it was added");
}

#[test]
fn swap_in_use_is_refused_always() {
    let device = need!("swap_in_use_is_refused_always", Loop::new());
    need!("swap_in_use_is_refused_always", tool("mkswap", &[&device.device]));
    assert!(device.refusal(false).contains("holds swap space"));
    need!("swap_in_use_is_refused_always", tool("swapon", &["--priority", "0", &device.device]));
    let refusal = device.refusal(true);
    tool("swapoff", &[&device.device]).expect("it was just turned on");
    assert!(refusal.contains(&format!("swapoff {}", device.device)), "{refusal}");
    permit_write(&device.target(), true).expect("it is off again");
}

#[test]
fn a_device_that_another_program_holds_is_refused() {
    let device = need!("a_device_that_another_program_holds_is_refused", Loop::new());
    let mut holder = claimed(&device.device).expect("nobody has it");
    holder.write_all(&[0; 4096]).expect("it may be written");
    let refusal = device.refusal(true);
    assert!(refusal.contains("open exclusively"), "{refusal}");
    drop(holder);
    // A program that another test starts at this moment has a copy of the descriptor until it runs.
    let free = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        permit_write(&device.target(), true).is_ok()
    });
    assert!(free, "it is free again");
}

#[test]
fn a_read_only_device_is_refused_as_such() {
    let device = need!("a_read_only_device_is_refused_as_such", Loop::new());
    need!("a_read_only_device_is_refused_as_such", tool("blockdev", &["--setro", &device.device]));
    let answer = permit_write(&device.target(), true);
    // The mark outlives the file behind the device, and the next user of this number would find it.
    tool("blockdev", &["--setrw", &device.device]).expect("it was just set");
    let refusal = answer.expect_err("it is read-only").to_string();
    assert!(refusal.contains("is read-only"), "{refusal}");
}

#[test]
fn the_scheduler_of_a_real_device_is_changed_and_put_back() {
    let device = need!("the_scheduler_of_a_real_device_is_changed_and_put_back", Loop::new());
    let queue = || storage(Path::new(&device.device)).expect("it is there").devices.remove(0).queue;
    let before = queue();
    let Some(other) = before.schedulers.iter().find(|name| **name != before.scheduler) else {
        return println!("SKIPPED the_scheduler_of_a_real_device_is_changed_and_put_back: there is only one");
    };
    let place = device.directory.join("state");
    let journal = Journal::at(&place).expect("it can be made");
    let guard = set_scheduler(device.name(), other, &journal).expect("it is there to choose");
    assert_eq!(queue().scheduler, *other);
    drop(guard);
    assert_eq!(queue().scheduler, before.scheduler);
    // Killed, a run can put nothing back; the next one does.
    let mut run = start_holder(&device, other, &place);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    assert_eq!(queue().scheduler, *other);
    let said = restore_all(&journal);
    assert!(said.len() == 1 && said[0].contains(&format!("process {}", run.id())), "{said:?}");
    assert_eq!(queue().scheduler, before.scheduler);
    // A second signal puts it back before the run ends.
    let mut run = start_holder(&device, other, &place);
    assert_eq!(queue().scheduler, *other);
    // Two different ones: two alike might arrive as one.
    let both = format!("kill -TERM {0}; kill -INT {0}", run.id());
    tool("sh", &["-c", &both]).expect("it runs");
    assert_eq!(run.wait().expect("it ends").code(), Some(130));
    assert_eq!(queue().scheduler, before.scheduler);
    assert!(restore_all(&journal).is_empty(), "the journal is empty again");
}

const HELD_DEVICE: &str = "IOSTACK_TEST_DEVICE";
const HELD_SCHEDULER: &str = "IOSTACK_TEST_SCHEDULER";
const HELD_STATE: &str = "IOSTACK_TEST_STATE";

/// Starts this program again as a run that has changed the device's scheduler.
fn start_holder(device: &Loop, scheduler: &str, state: &Path) -> Child {
    let program = std::env::current_exe().expect("this test's own program");
    let mut command = Command::new(program);
    command.args(["--exact", "loop_devices::the_run_that_holds_a_scheduler", "--nocapture", "--ignored"]);
    command.env(HELD_DEVICE, device.name()).env(HELD_SCHEDULER, scheduler).env(HELD_STATE, state);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it can be started");
    let lines = BufReader::new(run.stdout.take().expect("it is piped")).lines();
    let ready = lines.map_while(Result::ok).any(|line| line.ends_with("ready"));
    assert!(ready, "the run ended before it was ready");
    run
}

#[test]
#[ignore = "helper: the run of another test; it ends only by signals"]
fn the_run_that_holds_a_scheduler() {
    let value = |name| std::env::var(name).expect("the other test says what");
    let journal = Journal::at(Path::new(&value(HELD_STATE))).expect("it was made");
    signals::stop_flag();
    let _guard = set_scheduler(&value(HELD_DEVICE), &value(HELD_SCHEDULER), &journal).expect("it is free");
    println!("ready");
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}
