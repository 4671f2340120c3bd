//! Places with a bottleneck that is known because it was made. Each is gone when dropped.

use std::any::Any;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use iostack_testkit::{Folder, Loop, Mounted, Zram, tool};

/// A target with a known bottleneck, and how to look at it.
pub(crate) struct MadePlace {
    /// The target of the check.
    pub(crate) target: String,
    /// Shell lines before the check, in a mount namespace of its own.
    pub(crate) around: Option<String>,
    /// Parts that it is made of; the last goes first.
    held: Vec<Box<dyn Any>>,
}

impl MadePlace {
    fn new(target: &Path) -> MadePlace {
        MadePlace { target: target.display().to_string(), around: None, held: Vec::new() }
    }

    fn holding(mut self, part: impl Any) -> MadePlace {
        self.held.push(Box::new(part));
        self
    }
}

impl Drop for MadePlace {
    fn drop(&mut self) {
        while self.held.pop().is_some() {}
    }
}

/// A command that is run when it is dropped.
struct Undo([String; 3]);

impl Drop for Undo {
    fn drop(&mut self) {
        // A panic in drop would hide the test's own; what stays is in a folder of the build.
        let _ = Command::new(&self.0[0]).args(&self.0[1..]).output();
    }
}

/// Programs that run while it lives.
pub(crate) struct Busy(Vec<Child>);

impl Busy {
    /// Programs that take half of the CPUs.
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

fn write(path: impl AsRef<Path>, text: &str) -> Result<(), String> {
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.as_ref().display()))
}

/// A new folder on a real file system.
fn folder() -> Folder {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let name = format!("verdicts-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    Folder::below(env!("CARGO_TARGET_TMPDIR"), &name)
}

/// A folder, and a group of version 1 for the disk below it: the group, and its cap of 4,000 reads and writes a second.
fn grouped() -> Result<(MadePlace, String, String), String> {
    let folder = folder();
    let number = tool("stat", &["-c".as_ref(), "%d".as_ref(), folder.as_os_str()])?;
    let number: u64 = number.parse().map_err(|error| format!("{number}: {error}"))?;
    // The encoding of dev_t for small numbers: linux/kdev_t.h, new_encode_dev.
    let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xfff00));
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let group = format!("/sys/fs/cgroup/blkio/{name}");
    fs::create_dir(&group).map_err(|error| format!("{group}: {error}"))?;
    let gone = Undo(["rmdir".to_owned(), "--".to_owned(), group.clone()]);
    let mut place = MadePlace::new(&folder).holding(folder).holding(gone);
    place.around = Some(format!("echo $$ > {group}/cgroup.procs"));
    Ok((place, group, format!("{major}:{minor} 4000")))
}

/// A cap that a file states.
pub(crate) fn capped() -> Result<MadePlace, String> {
    let (place, group, cap) = grouped()?;
    write(format!("{group}/blkio.throttle.read_iops_device"), &cap)?;
    write(format!("{group}/blkio.throttle.write_iops_device"), &cap)?;
    Ok(place)
}

/// The same where the file cannot be seen, as in most containers.
pub(crate) fn capped_unseen() -> Result<MadePlace, String> {
    capped().map(unseen)
}

fn unseen(mut place: MadePlace) -> MadePlace {
    let joined = place.around.take().unwrap_or_default();
    place.around = Some(format!("{joined}\numount -l /sys/fs/cgroup/blkio"));
    place
}

/// Half of a quick check passes before the cap is felt.
const BURST: Duration = Duration::from_secs(10);

/// An unseen cap that begins when a bucket is empty.
pub(crate) fn bucket() -> Result<MadePlace, String> {
    let (place, group, cap) = grouped()?;
    let script = format!(
        "sleep {}; for what in read write; do echo {cap} > {group}/blkio.throttle.${{what}}_iops_device; done",
        BURST.as_secs()
    );
    let late = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).spawn();
    Ok(unseen(place.holding(Busy(late.into_iter().collect()))))
}

/// ext4 on `device`, mounted: the target.
fn mounted<D: std::ops::Deref<Target = Path> + 'static>(device: D) -> Result<MadePlace, String> {
    let mounted = Mounted::new("ext4", device, folder())?;
    Ok(MadePlace::new(&mounted).holding(mounted))
}

/// A loop device with direct I/O over a new file on the disk, which works on many I/Os at once; and the folder of the file.
fn on_disk(bytes: u64) -> Result<(Loop, Folder), String> {
    let folder = folder();
    let file = folder.join("image");
    let made = fs::File::create(&file).and_then(|image| image.set_len(bytes));
    made.map_err(|error| format!("{}: {error}", file.display()))?;
    Ok((Loop::with(&file, &["--direct-io=on"])?, folder))
}

fn on_loop(set: &[(&str, &str)]) -> Result<MadePlace, String> {
    let (device, folder) = on_disk(512 << 20)?;
    let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for (setting, value) in set {
        write(format!("/sys/block/{name}/queue/{setting}"), value)?;
    }
    let mut place = mounted(device)?;
    place.held.insert(0, Box::new(folder));
    Ok(place)
}

/// kyber that aims at one nanosecond lets through one read at a time.
pub(crate) fn scheduler() -> Result<MadePlace, String> {
    on_loop(&[("scheduler", "kyber"), ("iosched/read_lat_nsec", "1"), ("iosched/write_lat_nsec", "1")])
}

/// Fewer places than the disk below works on at once. Where four I/Os fill that disk, it is the limit, and no mistake.
pub(crate) fn few_tags() -> Result<MadePlace, String> {
    let four = on_loop(&[("scheduler", "none"), ("nr_requests", "4")])?;
    let few = reads_per_second(&four.target)?;
    drop(four);
    let many = reads_per_second(&on_loop(&[("scheduler", "none"), ("nr_requests", "128")])?.target)?;
    if many < few * 1.3 {
        return Err(format!(
            "four places are no bottleneck here: {few:.0} IOPS with them, {many:.0} with 128"
        ));
    }
    on_loop(&[("scheduler", "none"), ("nr_requests", "4")])
}

/// Random reads at depth 32 of a file in `folder`.
fn reads_per_second(folder: &str) -> Result<f64, String> {
    let file = format!("{folder}/probe");
    let program = env!("CARGO_BIN_EXE_iostack");
    let what = "--size 128m --engine libaio --queue-depth 32 --time-based true --runtime 2s";
    let what: Vec<&str> = what.split(' ').collect();
    let command = [&[program, "run", "--on", &file, "--quiet", "--json"], &what[..]].concat();
    let told: iostack_model::OutcomeFile =
        serde_json::from_str(&tool(command[0], &command[1..])?).map_err(|error| error.to_string())?;
    told.outcomes.first().map(iostack_model::Outcome::rate).ok_or_else(|| "nothing was run".to_owned())
}

/// A flush of the upper file system waits for a journal in the lower one.
pub(crate) fn slow_fsync() -> Result<MadePlace, String> {
    on_loop(&[("scheduler", "none")])
}

pub(crate) fn loop_on_loop() -> Result<MadePlace, String> {
    let (lower, folder) = on_disk(640 << 20)?;
    let mut place = mounted(Loop::with(&lower, &["--direct-io=on"])?)?;
    place.held.splice(0..0, [Box::new(folder) as Box<dyn Any>, Box::new(lower)]);
    Ok(place)
}

pub(crate) fn tmpfs() -> Result<MadePlace, String> {
    let folder = folder();
    let point = folder.display().to_string();
    tool("mount", &["-t", "tmpfs", "-o", "size=1g", "none", &point])?;
    let gone = Undo(["umount".to_owned(), "-l".to_owned(), point]);
    Ok(MadePlace::new(&folder).holding(folder).holding(gone))
}

pub(crate) fn zram() -> Result<MadePlace, String> {
    mounted(Zram::new(512 << 20)?)
}

/// Memory, and the first CPU alone.
pub(crate) fn one_cpu() -> Result<MadePlace, String> {
    let mut place = zram()?;
    place.around = Some("taskset --pid --cpu-list 0 $$ > /dev/null".to_owned());
    Ok(place)
}
