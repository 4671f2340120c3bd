//! One run of the emulator, from boot to power-off.
//!
//! The guest sends its messages, a line of JSON each, through a port that the emulator copies to its stdout; the kernel's
//! console goes to a file, whose last lines say what happened when something did. Whatever becomes of this process, the
//! emulator dies with it, and a guest that is silent for too long is given up (`patience.rs`). Most machines begin with a
//! snapshot (`snapshot.rs`).

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use iostack_host::{dies_with_us, memory_file};
use serde_json::Value;

use super::bootable::Bootable;
use super::cache::Cache;
use super::command::{last_lines, not_started};
use super::image::Image;
use super::mailbox::{Drives, Mailbox, Served};
use super::memory::Memory;
use super::monitor::Monitor;
use super::packages::Say;
use super::patience::{Patience, WALL_TIMES};
use super::private;
use super::qemu::Qemu;
use super::snapshot::{self, Kept};
use crate::LabError;
use crate::guest::Message;
use crate::run_files::RunFiles;
use crate::sys::host::{keeps, on_one_processor};

/// Lines of the guest's log that an error shows.
const LOG_LINES: usize = 15;

/// Words by which the kernel announces that it gives up.
const CAUSES: [&str; 8] = [
    "Initramfs unpacking failed",
    "Out of memory:",
    "deadlocked on memory",
    "Kernel panic",
    "BUG:",
    "Oops",
    "general protection",
    "blocked for more than",
];

/// Those of them that more memory would help.
const MEMORY_CAUSES: usize = 3;

/// Model of the emulated processor. Without byte-wise `rep movsb`: each of its 4,096 turns would count as an instruction
/// where a page is copied, 4,096 against the 512 of `rep movsq`, and a copy would outweigh the layers.
const PROCESSOR: &str = "max,-erms,-fsrm";

/// A machine whose only timers are the processor's own: the kernel holds them to the clock that it is told, and finds no other
/// to compare it with.
const FEW_CLOCKS: &str = "microvm,pit=off,pic=off,rtc=on,isa-serial=on,x-option-roms=off";
/// Source of the machine's processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// One emulated processor; an instruction is a nanosecond of every clock of the guest. Exact.
    Exact,
    /// Emulated processors that run beside each other.
    Emulated,
    /// The host's own processor.
    Kvm,
}

/// Hears each message of the guest.
pub type Hear<'a> = &'a mut dyn FnMut(&Message);

/// Machine to boot, and what it is given.
pub struct Boot<'a> {
    /// Emulator that boots it.
    pub qemu: &'a Qemu,
    /// Folder for files of this run.
    pub scratch: &'a Scratch,
    /// Ends it when it is set.
    pub stop: &'a AtomicBool,
    /// Kernel that boots.
    pub kernel: Bootable,
    /// Makes the files that it boots with, whatever it is to do.
    pub base: &'a dyn Fn() -> Result<Image, LabError>,
    /// Name of what is in them beside this program.
    pub base_name: String,
    /// Files of this run.
    pub(crate) files: RunFiles,
    /// Cache of snapshots; `None` where it boots whatever there is.
    pub kept_in: Option<&'a Cache>,
    /// The machine has the few clocks that simulated drives go by.
    pub few_clocks: bool,
    /// Words for the kernel's command line.
    pub append: String,
    /// Devices, in the emulator's words.
    pub devices: Vec<String>,
    /// The last of them is plugged into a machine that begins with a snapshot.
    pub plugged: bool,
    /// Memory in MiB.
    pub memory_mib: u32,
    /// Number of processors.
    pub processors: u32,
    /// Source of the processors.
    pub accelerator: Accelerator,
    /// Plugin of the emulator.
    pub plugin: Option<&'a Path>,
    /// The file to which it writes what it counts.
    pub counts: Option<PathBuf>,
    /// The guest is given up when it is silent for longer, not counting time in which the emulator waits for a processor.
    pub limit: Duration,
    /// The guest's console is the terminal's: for `iostack lab shell`.
    pub interactive: bool,
    /// Hears when the guest is silent for long, and what does not move in it.
    pub say: Say<'a>,
}

/// Beginning of the names of folders of runs; the process follows.
const SCRATCH: &str = "iostack-lab-";

/// Files of one run, removed with it.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new folder in the system's folder for such.
    pub fn new() -> Result<Scratch, LabError> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let folder = std::env::temp_dir();
        sweep(&folder);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{SCRATCH}{}-{number}", std::process::id()));
            // One that is there already is somebody else's trap.
            if private::new_folder(&path)? {
                return Ok(Scratch(path));
            }
        }
    }

    /// A file or folder in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

/// Removes the folders of processes that were killed.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(SCRATCH).and_then(|rest| rest.split('-').next());
        let process: Option<u32> = process.and_then(|digits| digits.parse().ok());
        let is_over = |process: u32| !Path::new("/proc").join(process.to_string()).exists();
        if process.is_some_and(is_over) && private::is_ours(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Ends the emulator when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Beginning of a machine.
#[derive(Clone, Copy)]
enum Begin<'a> {
    /// Boots with its files.
    Boot(&'a [u8]),
    /// Boots the same, up to where it stops itself.
    ToStop(&'a [u8]),
    /// Goes on behind its stop.
    Kept(&'a Kept),
}

/// Boots or goes on with a snapshot, hands each message to `hear`, and returns when the machine is off. The guest's last word
/// must be [`Message::Done`], unless the drives' power was cut.
pub fn run(boot: &Boot<'_>, mut drives: Option<&mut dyn Drives>, hear: Hear<'_>) -> Result<(), LabError> {
    if let Some(kept) = snapshot::kept(boot)? {
        let again = drives.as_mut().map(|drives| &mut **drives as &mut dyn Drives);
        match run_with_drives(boot, Begin::Kept(&kept), again, hear) {
            Err(LabError::Snapshot(why)) => snapshot::give_up(boot, kept.folder(), &why),
            ended => return ended,
        }
    }
    let mut image = (boot.base)()?;
    boot.files.all().for_each(|(path, bytes)| image.program(path, bytes));
    run_with_drives(boot, Begin::Boot(&image.finish()), drives, hear)
}

fn run_with_drives(
    boot: &Boot<'_>,
    begin: Begin<'_>,
    drives: Option<&mut dyn Drives>,
    hear: Hear<'_>,
) -> Result<(), LabError> {
    let mut ends = Ends::default();
    let Some(drives) = drives else { return run_alone(boot, begin, ends, hear) };
    let made = machine_memory(boot).and_then(|file| Ok((file.try_clone()?, file, UnixStream::pair()?)));
    let (memory, file, (ours, theirs)) = made.map_err(no_memory())?;
    (ends.memory, ends.door) = (Some(memory), Some(theirs));
    let mailbox = Mailbox::new(Memory::new(file, u64::from(boot.memory_mib) << 20), drives);
    std::thread::scope(|scope| {
        let answers = scope.spawn(|| mailbox.serve(ours));
        let ran = run_alone(boot, begin, ends, hear);
        // The emulator has ended, and with it the last that could ring.
        match (ran, answers.join()) {
            (Err(LabError::Guest { .. }), Ok(Ok(Served::UntilCut))) => Ok(()),
            (Err(LabError::Guest { what, log }), Ok(Err(error))) => {
                Err(LabError::Guest { what: format!("{what} (the drives' end said: {error})"), log })
            }
            (ran, _) => ran,
        }
    })
}

/// The machine's memory, a file of ours.
fn machine_memory(boot: &Boot<'_>) -> io::Result<fs::File> {
    let file = memory_file(c"iostack-lab")?;
    file.set_len(u64::from(boot.memory_mib) << 20)?;
    Ok(file)
}

fn no_memory() -> impl FnOnce(io::Error) -> LabError {
    LabError::file("make", Path::new("the machine's memory"))
}

/// Descriptors for the emulator.
#[derive(Default)]
struct Ends {
    memory: Option<fs::File>,
    /// The drives' end.
    door: Option<UnixStream>,
    monitor: Option<UnixStream>,
}

/// Takes what the guest's memory and devices are, and where it looks for files.
pub(super) type Keep<'a> = &'a mut dyn FnMut(&mut Monitor, &fs::File, Vec<(u64, u64)>) -> io::Result<()>;

/// Boots without what belongs to one run, and lets `keep` look at the machine where it stopped itself.
pub(super) fn boot_to_stop(boot: &Boot<'_>, keep: Keep<'_>) -> Result<(), LabError> {
    let image = (boot.base)()?.finish();
    let memory = machine_memory(boot).map_err(no_memory())?;
    let (ours, theirs) = UnixStream::pair().map_err(no_memory())?;
    let ends = Ends { memory: memory.try_clone().ok(), monitor: Some(theirs), door: None };
    let mut running = start(boot, Begin::ToStop(&image), &ends)?;
    drop(ends);
    let mut keep = |places| keep(&mut Monitor::open(ours.try_clone()?)?, &memory, places);
    match listen(&mut running, boot, &mut |_| {}) {
        Err(RunEnd::Stopped(places)) => {
            keep(places).map_err(|error| LabError::Snapshot(format!("it cannot be kept ({error})")))
        }
        ended => Err(explained(boot, ended.err().unwrap_or(RunEnd::Early), running)),
    }
}

/// The guest's console is in the file `console`, the emulator's own words in `emulator`.
fn run_alone(boot: &Boot<'_>, begin: Begin<'_>, mut ends: Ends, hear: Hear<'_>) -> Result<(), LabError> {
    let mut running = if let Begin::Kept(kept) = begin {
        go_on(boot, kept, &mut ends)?
    } else {
        start(boot, begin, &ends)?
    };
    drop(ends);
    if boot.interactive {
        while running.0.try_wait().is_ok_and(|ended| ended.is_none()) && !boot.stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
        }
        return Ok(());
    }
    match listen(&mut running, boot, hear) {
        Ok(()) => Ok(()),
        Err(ended) => Err(explained(boot, ended, running)),
    }
}

/// Starts the emulator with a snapshot. Whatever goes wrong, the guest has not run.
fn go_on(boot: &Boot<'_>, kept: &Kept, ends: &mut Ends) -> Result<Running, LabError> {
    let of_snapshot = |error: io::Error| {
        let said = fs::read_to_string(boot.scratch.path("emulator")).unwrap_or_default();
        LabError::Snapshot([error.to_string(), last_lines(&said, 3)].join(" ").trim_end().to_owned())
    };
    if ends.memory.is_none() {
        ends.memory = Some(machine_memory(boot).map_err(no_memory())?);
    }
    if let Some(memory) = &ends.memory {
        kept.fill(memory, &boot.files.packed()).map_err(of_snapshot)?;
    }
    let (ours, theirs) = UnixStream::pair().map_err(of_snapshot)?;
    ends.monitor = Some(theirs);
    let running = start(boot, Begin::Kept(kept), ends)?;
    ends.monitor = None;
    let went_on = Monitor::open(ours).and_then(|mut monitor| kept.resume(&mut monitor, plugged(boot)));
    went_on.map_err(of_snapshot).map(|()| running)
}

/// Error of a run that ended too early.
fn explained(boot: &Boot<'_>, ended: RunEnd, running: Running) -> LabError {
    drop(running);
    let told = |name: &str| {
        let bytes = fs::read(boot.scratch.path(name)).unwrap_or_default();
        telling_lines(&plain(&String::from_utf8_lossy(&bytes)))
    };
    let said = told("emulator");
    let what = match ended {
        RunEnd::Interrupted => return LabError::Interrupted,
        RunEnd::Failed(text) => format!("the guest failed: {text}"),
        RunEnd::Limit => format!(
            "the guest did not go on for {} s of its own, or {} s by the clock, and was ended; give it more with \
             --time-limit",
            boot.limit.as_secs(),
            boot.limit.as_secs() * u64::from(WALL_TIMES)
        ),
        _ => "the guest ended before its work was done".to_owned(),
    };
    let what = if said.is_empty() { what } else { format!("{what} (the emulator said: {said})") };
    let log = told("console");
    let why = if lacks_memory(&log) { "out of memory; give it more with --memory-mib: " } else { "" };
    LabError::Guest { what: format!("{why}{what}"), log }
}

/// Starts the emulator.
fn start(boot: &Boot<'_>, begin: Begin<'_>, ends: &Ends) -> Result<Running, LabError> {
    let [initrd, log, errors] = ["initrd", "console", "emulator"].map(|name| boot.scratch.path(name));
    if let Begin::Boot(image) | Begin::ToStop(image) = begin {
        fs::write(&initrd, image).map_err(LabError::file("write", &initrd))?;
    }
    let mut command = boot.qemu.command();
    command.args(arguments(boot, begin, &initrd, &log, ends));
    let sockets = [&ends.door, &ends.monitor].into_iter().flatten().map(AsRawFd::as_raw_fd);
    let state = if let Begin::Kept(kept) = begin { Some(kept.state()) } else { None };
    let files = ends.memory.iter().chain(state).map(AsRawFd::as_raw_fd);
    keeps(&mut command, sockets.chain(files).collect());
    if boot.interactive {
        command.stdout(Stdio::inherit()).stdin(Stdio::inherit());
    } else {
        // The terminal's Ctrl-C is kept from it: the lab ends its machine itself.
        command.stdout(Stdio::piped()).stdin(Stdio::null()).process_group(0);
    }
    let file = fs::File::create(&errors).map_err(LabError::file("make", &errors))?;
    command.stderr(Stdio::from(file));
    dies_with_us(&mut command);
    if boot.accelerator == Accelerator::Exact {
        // The emulated processor and the emulated devices are threads. On one processor a device that was rung answers
        // before its caller goes on, every time; on two, whoever is quicker decides whether the caller sleeps first.
        on_one_processor(&mut command);
    }
    let spawned = command.spawn();
    Ok(Running(spawned.map_err(|source| not_started(&command, "start the emulator", &source))?))
}

/// True when the kernel says that its memory was too small.
fn lacks_memory(log: &str) -> bool {
    CAUSES[..MEMORY_CAUSES].iter().any(|cause| log.contains(cause))
}

/// The lines that say what happened: around the kernel's own word for it, else the last.
fn telling_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    let cause = lines.iter().position(|line| CAUSES.iter().any(|cause| line.contains(cause)));
    match cause {
        Some(at) => lines[at.saturating_sub(4)..lines.len().min(at + LOG_LINES - 4)].join("\n"),
        None => last_lines(log, LOG_LINES),
    }
}

/// A serial console sends colours and cursor moves, too.
fn plain(log: &str) -> String {
    let mut out = String::new();
    let mut characters = log.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // Up to the letter that ends the sequence.
            let _ = characters.by_ref().skip(1).find(char::is_ascii_alphabetic);
        } else if !character.is_control() || character == '\n' {
            out.push(character);
        }
    }
    out
}

enum RunEnd {
    Early,
    Failed(String),
    Limit,
    Interrupted,
    /// It stopped itself, and looks for files in these places.
    Stopped(Vec<(u64, u64)>),
}

fn listen(running: &mut Running, boot: &Boot<'_>, hear: Hear<'_>) -> Result<(), RunEnd> {
    let (say, limit) = (boot.say, boot.limit);
    let mut patience = Patience::new(limit, running.0.id());
    let out = running.0.stdout.take().expect("it was piped");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut warned = false;
    loop {
        if !warned && patience.silent() > limit / 3 {
            say(&silence(patience.silent(), limit));
        }
        warned = patience.silent() > limit / 3;
        match receiver.recv_timeout(Duration::from_millis(100)) {
            Ok(line) => match serde_json::from_str::<Message>(&line) {
                Ok(Message::Failed(text)) => return Err(RunEnd::Failed(text)),
                Ok(Message::Waits(text)) => say(&text),
                Ok(Message::Stops(places)) => return Err(RunEnd::Stopped(places)),
                Ok(message) => {
                    patience.restart();
                    hear(&message);
                    if matches!(message, Message::Done) {
                        // How a machine is switched off takes longer than many a run.
                        return Ok(());
                    }
                }
                // The firmware writes to the same port before the kernel runs.
                Err(_) => {}
            },
            Err(RecvTimeoutError::Disconnected) => return Err(RunEnd::Early),
            Err(_) if boot.stop.load(Ordering::Relaxed) => return Err(RunEnd::Interrupted),
            Err(_) if patience.is_over() => return Err(RunEnd::Limit),
            Err(_) => {}
        }
    }
}

/// Warning before a silent guest is ended.
fn silence(silent: Duration, limit: Duration) -> String {
    format!(
        "the guest has been silent for {} s; it is ended after {} s of its own, or {} s by the clock (--time-limit)",
        silent.as_secs(),
        limit.as_secs(),
        (limit * WALL_TIMES).as_secs()
    )
}

/// Words that make the machine, whichever its run.
fn machine_words(boot: &Boot<'_>) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut put = |list: &[&str]| words.extend(list.iter().map(|word| (*word).to_owned()));
    match boot.accelerator {
        Accelerator::Exact => put(&["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]),
        Accelerator::Emulated => put(&["-accel", "tcg,thread=multi"]),
        Accelerator::Kvm => put(&["-accel", "kvm"]),
    }
    put(&["-cpu", if boot.accelerator == Accelerator::Kvm { "host" } else { PROCESSOR }]);
    put(&["-rtc", "base=2020-01-01,clock=vm", "-seed", "1"]);
    put(&["-machine", if boot.few_clocks { FEW_CLOCKS } else { "q35,hpet=off" }]);
    put(&["-m", &boot.memory_mib.to_string(), "-smp", &boot.processors.to_string()]);
    put(&["-kernel", &boot.kernel.image.to_string_lossy(), "-append", &boot.append]);
    put(&["-display", "none", "-nodefaults", "-no-user-config", "-no-reboot"]);
    // The port by which a guest stops itself.
    put(&["-device", "pvpanic"]);
    words
}

/// All words that a snapshot depends on.
pub(super) fn key_words(boot: &Boot<'_>) -> Vec<String> {
    let mut words = machine_words(boot);
    words.extend(boot.kernel.memory.iter().map(|(file, address)| format!("{}@{address:#x}", file.display())));
    words
}

fn arguments(boot: &Boot<'_>, begin: Begin<'_>, initrd: &Path, log: &Path, ends: &Ends) -> Vec<String> {
    let mut words = machine_words(boot);
    let mut put = |list: &[&str]| words.extend(list.iter().map(|word| (*word).to_owned()));
    if let Begin::Kept(_) = begin {
        put(&["-incoming", "defer"]);
    } else {
        put(&["-initrd", &initrd.to_string_lossy()]);
        if let Some((file, address)) = &boot.kernel.memory {
            let file = file.to_string_lossy().replace(',', ",,");
            put(&["-device", &format!("loader,file={file},addr={address:#x},force-raw=on")]);
        }
    }
    put(&["-action", if let Begin::ToStop(_) = begin { "panic=pause" } else { "panic=none" }]);
    if boot.interactive {
        put(&["-serial", "mon:stdio"]);
    } else {
        put(&["-serial", &format!("file:{}", log.display())]);
        put(&["-chardev", "stdio,id=lab,signal=off", "-device", "isa-debugcon,iobase=0x402,chardev=lab"]);
    }
    if let Some(monitor) = &ends.monitor {
        let socket = format!("socket,id=monitor,fd={}", monitor.as_raw_fd());
        put(&["-chardev", &socket, "-mon", "chardev=monitor,mode=control"]);
    }
    if let Some(memory) = &ends.memory {
        let (size, path) = (boot.memory_mib, format!("/proc/self/fd/{}", memory.as_raw_fd()));
        put(&[
            "-object",
            &format!("memory-backend-file,id=memory,size={size}M,mem-path={path},share=on"),
            "-machine",
            "memory-backend=memory",
        ]);
    }
    if !boot.few_clocks && !matches!(begin, Begin::Boot(_)) {
        // Its only place for a device that comes later.
        put(&["-device", "pcie-root-port,id=later,chassis=1"]);
    }
    if let Begin::ToStop(_) = begin {
        return words;
    }
    if let Some(plugin) = boot.plugin {
        let out = boot.counts.as_ref().map(|out| format!(",out={}", out.display())).unwrap_or_default();
        let door = ends.door.as_ref().map(|door| format!(",door={}", door.as_raw_fd())).unwrap_or_default();
        put(&["-plugin", &format!("{}{out}{door}", plugin.display())]);
    }
    let left_out = if boot.plugged && matches!(begin, Begin::Kept(_)) { 2 } else { 0 };
    words.extend_from_slice(&boot.devices[..boot.devices.len() - left_out]);
    words
}

/// The device to plug in, in the monitor's words.
fn plugged(boot: &Boot<'_>) -> Option<Value> {
    let words = boot.devices.last().filter(|_| boot.plugged)?;
    let (driver, properties) = words.split_once(',').unwrap_or((words, ""));
    let properties = properties.split(',').filter_map(|one| one.split_once('='));
    let all = properties.chain([("driver", driver), ("bus", "later")]);
    Some(all.map(|(name, value)| (name.to_owned(), Value::from(value))).collect())
}
