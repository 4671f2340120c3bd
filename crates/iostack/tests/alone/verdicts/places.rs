//! Places with a bottleneck that is known because it was made. Each is gone when dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use iostack_testkit::tool;

/// A target with a known bottleneck, and how to look at it.
pub(crate) struct MadePlace {
    /// The target of the check.
    pub(crate) target: String,
    /// Shell lines before the check, in a mount namespace of its own.
    pub(crate) around: Option<String>,
    /// Commands to run at the end, the last first.
    undo: Vec<Vec<String>>,
    /// Ends with the place.
    child: Option<Child>,
}

impl MadePlace {
    fn new(target: &Path) -> MadePlace {
        MadePlace { target: target.display().to_string(), around: None, undo: Vec::new(), child: None }
    }

    fn undoing(mut self, command: &[&str]) -> MadePlace {
        self.undo.push(command.iter().map(|word| (*word).to_owned()).collect());
        self
    }
}

impl Drop for MadePlace {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // One that has ended cannot be killed, and need not be.
            let _ = child.kill();
            let _ = child.wait();
        }
        for command in self.undo.iter().rev() {
            // A panic in drop would hide the test's own; what stays is in a folder of the build.
            let _ = Command::new(&command[0]).args(&command[1..]).output();
        }
    }
}

/// A program that takes half of the CPUs while it lives.
pub(crate) struct Busy(Vec<Child>);

impl Busy {
    pub(crate) fn half() -> Busy {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let spin =
            || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a POSIX system has sh");
        Busy((0..cores.div_ceil(2)).map(|_| spin()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs a program: text on stdout, or its own words when it fails.
fn run(command: &[&str]) -> Result<String, String> {
    tool(command[0], &command[1..])
}

fn write(path: impl AsRef<Path>, text: &str) -> Result<(), String> {
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.as_ref().display()))
}

/// A new folder on a real file system.
fn folder() -> Result<PathBuf, String> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!("verdicts-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

fn on_disk() -> Result<(PathBuf, MadePlace), String> {
    let folder = folder()?;
    let place = MadePlace::new(&folder).undoing(&["rm", "-rf", &folder.display().to_string()]);
    Ok((folder, place))
}

/// A group of version 1 that allows 4,000 reads and writes a second of the disk below `folder`; whoever is in it.
fn cap_group(folder: &Path, place: MadePlace, capped: bool) -> Result<(String, String, MadePlace), String> {
    let number = run(&["sh", "-c", &format!("stat -c %d {}", folder.display())])?;
    let number: u64 = number.parse().map_err(|error| format!("{number}: {error}"))?;
    // The encoding of dev_t for small numbers: linux/kdev_t.h, new_encode_dev.
    let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xfff00));
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let group = format!("/sys/fs/cgroup/blkio/{name}");
    fs::create_dir(&group).map_err(|error| format!("{group}: {error}"))?;
    let place = place.undoing(&["rmdir", &group]);
    let limit = format!("{major}:{minor} 4000");
    if capped {
        write(format!("{group}/blkio.throttle.read_iops_device"), &limit)?;
        write(format!("{group}/blkio.throttle.write_iops_device"), &limit)?;
    }
    Ok((group, limit, place))
}

/// A cap that a file states.
pub(crate) fn capped() -> Result<MadePlace, String> {
    let (folder, place) = on_disk()?;
    let (group, _, mut place) = cap_group(&folder, place, true)?;
    place.around = Some(format!("echo $$ > {group}/cgroup.procs"));
    Ok(place)
}

/// The same where the file cannot be seen, as in most containers.
pub(crate) fn capped_unseen() -> Result<MadePlace, String> {
    let mut place = capped()?;
    let joined = place.around.take().unwrap_or_default();
    place.around = Some(format!("{joined}\numount -l /sys/fs/cgroup/blkio"));
    Ok(place)
}

/// Half of a quick check passes before the cap is felt.
const BURST: Duration = Duration::from_secs(10);

/// An unseen cap that begins when a bucket is empty.
pub(crate) fn bucket() -> Result<MadePlace, String> {
    let (folder, place) = on_disk()?;
    let (group, limit, mut place) = cap_group(&folder, place, false)?;
    place.around = Some(format!("echo $$ > {group}/cgroup.procs\numount -l /sys/fs/cgroup/blkio"));
    let script = format!(
        "sleep {}; for what in read write; do echo {limit} > {group}/blkio.throttle.${{what}}_iops_device; done",
        BURST.as_secs()
    );
    place.child = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).spawn().ok();
    Ok(place)
}

/// A loop device over this file.
fn attach(file: &Path, direct: bool, place: MadePlace) -> Result<(String, MadePlace), String> {
    let mut command = vec!["losetup", "--find", "--show"];
    if direct {
        command.push("--direct-io=on");
    }
    let file = file.display().to_string();
    command.push(&file);
    let device = run(&command)?;
    let place = place.undoing(&["losetup", "--detach", &device]);
    Ok((device, place))
}

/// A file of this size.
fn image(path: &Path, size: &str) -> Result<(), String> {
    run(&["truncate", "--size", size, &path.display().to_string()]).map(|_| ())
}

/// ext4 on `device`, mounted below `folder`: the target.
fn mounted(device: &str, folder: &Path, mut place: MadePlace) -> Result<MadePlace, String> {
    run(&["mkfs.ext4", "-q", "-F", device])?;
    let point = folder.join("mounted");
    fs::create_dir(&point).map_err(|error| error.to_string())?;
    let point = point.display().to_string();
    run(&["mount", device, &point])?;
    place.target.clone_from(&point);
    Ok(place.undoing(&["umount", "-l", &point]))
}

/// A loop device with direct I/O on the disk, which works on many I/Os at once.
fn on_loop(name: &str, set: &[(&str, &str)]) -> Result<MadePlace, String> {
    let (folder, place) = on_disk()?;
    let file = folder.join(name);
    image(&file, "512M")?;
    let (device, place) = attach(&file, true, place)?;
    let queue = format!("/sys/block/{}/queue", device.trim_start_matches("/dev/"));
    for (setting, value) in set {
        write(format!("{queue}/{setting}"), value)?;
    }
    mounted(&device, &folder, place)
}

/// kyber that aims at one nanosecond lets through one read at a time.
pub(crate) fn scheduler() -> Result<MadePlace, String> {
    on_loop(
        "image",
        &[("scheduler", "kyber"), ("iosched/read_lat_nsec", "1"), ("iosched/write_lat_nsec", "1")],
    )
}

/// Fewer places than the disk below works on at once. Where four I/Os fill that disk, it is the limit, and no mistake.
pub(crate) fn few_tags() -> Result<MadePlace, String> {
    let four = on_loop("image", &[("scheduler", "none"), ("nr_requests", "4")])?;
    let few = reads_per_second(&four.target)?;
    drop(four);
    let many = reads_per_second(&on_loop("image", &[("scheduler", "none"), ("nr_requests", "128")])?.target)?;
    if many < few * 1.3 {
        return Err(format!(
            "four places are no bottleneck here: {few:.0} IOPS with them, {many:.0} with 128"
        ));
    }
    on_loop("image", &[("scheduler", "none"), ("nr_requests", "4")])
}

/// Random reads at depth 32 of a file in `folder`.
fn reads_per_second(folder: &str) -> Result<f64, String> {
    let file = format!("{folder}/probe");
    let program = env!("CARGO_BIN_EXE_iostack");
    let what = "--size 128m --engine libaio --queue-depth 32 --time-based true --runtime 2s";
    let what: Vec<&str> = what.split(' ').collect();
    let command = [&[program, "run", "--on", &file, "--quiet", "--json"], &what[..]].concat();
    let told: iostack_model::OutcomeFile =
        serde_json::from_str(&run(&command)?).map_err(|error| error.to_string())?;
    told.outcomes.first().map(iostack_model::Outcome::rate).ok_or_else(|| "nothing was run".to_owned())
}

/// A flush of the upper file system waits for a journal in the lower one.
pub(crate) fn slow_fsync() -> Result<MadePlace, String> {
    on_loop("image", &[("scheduler", "none")])
}

pub(crate) fn loop_on_loop() -> Result<MadePlace, String> {
    let (folder, place) = on_disk()?;
    let file = folder.join("image");
    image(&file, "640M")?;
    let (lower, place) = attach(&file, true, place)?;
    let (upper, place) = attach(Path::new(&lower), true, place)?;
    mounted(&upper, &folder, place)
}

pub(crate) fn tmpfs() -> Result<MadePlace, String> {
    let (folder, place) = on_disk()?;
    let point = folder.join("mounted");
    fs::create_dir(&point).map_err(|error| error.to_string())?;
    let point = point.display().to_string();
    run(&["mount", "-t", "tmpfs", "-o", "size=1g", "none", &point])?;
    let mut place = place.undoing(&["umount", "-l", &point]);
    place.target = point;
    Ok(place)
}

pub(crate) fn zram() -> Result<MadePlace, String> {
    let (folder, place) = on_disk()?;
    let number =
        fs::read_to_string("/sys/class/zram-control/hot_add").map_err(|error| format!("zram: {error}"))?;
    let number = number.trim();
    let place = place.undoing(&["sh", "-c", &format!("echo {number} > /sys/class/zram-control/hot_remove")]);
    write(format!("/sys/block/zram{number}/disksize"), "512M")?;
    mounted(&format!("/dev/zram{number}"), &folder, place)
}

/// Memory, and the first CPU alone.
pub(crate) fn one_cpu() -> Result<MadePlace, String> {
    let mut place = zram()?;
    place.around = Some("taskset --pid --cpu-list 0 $$ > /dev/null".to_owned());
    Ok(place)
}
