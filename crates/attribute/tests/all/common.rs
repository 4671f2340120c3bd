//! What the live tests of this crate share.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use iostack_attribute::ladder;
use iostack_engine::{Control, lay_out};
use iostack_host::Held;
use iostack_model::{Bytes, Data, Ladder, Rung};

/// A file of `size` random bytes.
pub(crate) fn random(folder: &Path, name: &str, size: u64) -> PathBuf {
    let path = folder.join(name);
    let held = Held::open(&path).or_else(|_| Held::make(&path)).expect("the folder is writable");
    lay_out(&Arc::new(held), Bytes(size), &Data::Random, 1, &Control::none()).expect("there is room");
    path
}

/// The ladder, or `None` and a word when a rung is missing.
pub(crate) fn ladder_with(name: &str, rung: Rung) -> Option<Ladder> {
    let ladder = ladder::probe();
    if !ladder.has(rung) {
        let reason = ladder.rungs.iter().find(|state| state.rung == rung).map(|state| state.reason.clone());
        println!("SKIPPED {name}: {}", reason.unwrap_or_default());
        return None;
    }
    Some(ladder)
}

/// Works for about `span` and tells how long the calling thread was at it: the sum of the steps of a clock, without
/// what it waited for its CPU in a step (the kernel tells, where it can), and without the steps still so long that a
/// hypervisor must have had the CPU.
pub(crate) fn spin(span: Duration, mut step: impl FnMut()) -> Duration {
    let (maybe_waited, taken) = (Duration::from_micros(5), Duration::from_micros(100));
    let mut waited = waited_so_far();
    let begun = Instant::now();
    let mut last = begun;
    let mut at_work = Duration::ZERO;
    while last - begun < span {
        step();
        let now = Instant::now();
        let mut gap = now - last;
        if gap > maybe_waited {
            let before = std::mem::replace(&mut waited, waited_so_far());
            gap = gap.saturating_sub(waited.saturating_sub(before));
        }
        if gap < taken {
            at_work += gap;
        }
        last = now;
    }
    at_work
}

thread_local! {
    /// Opened once: that work is in no step.
    static SCHEDSTAT: Option<File> = File::open("/proc/thread-self/schedstat").ok();
}

/// Time that the calling thread was ready without a CPU: the second number of its `schedstat`, where there is one.
fn waited_so_far() -> Duration {
    let read = |file: &File| {
        let mut text = [0; 80];
        let length = file.read_at(&mut text, 0).ok()?;
        str::from_utf8(&text[..length]).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    Duration::from_nanos(SCHEDSTAT.with(|file| file.as_ref().and_then(read)).unwrap_or(0))
}

/// Another run of this test program, doing one test that only helps.
pub(crate) struct Helper {
    pub(crate) child: Child,
    pub(crate) lines: BufReader<ChildStdout>,
}

impl Helper {
    /// Runs the ignored test `name`; `user` is who it runs as, ourselves without. `None` when that user cannot.
    pub(crate) fn start(name: &str, user: Option<u32>, variables: &[(&str, String)]) -> Option<Helper> {
        let program = std::env::current_exe().expect("a running program has a file");
        let mut command = Command::new(program);
        command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).current_dir("/");
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut child = command.spawn().ok()?;
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Some(Helper { child, lines })
    }

    /// The rest of the next line that begins with `mark`; `None` at the end.
    pub(crate) fn line(&mut self, mark: &str) -> Option<String> {
        let mut line = String::new();
        while self.lines.read_line(&mut line).ok()? > 0 {
            // The test runner writes the name of the test before the first line.
            if let Some(at) = line.find(mark) {
                return Some(line[at + mark.len()..].trim().to_owned());
            }
            line.clear();
        }
        None
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// `kernel.perf_event_paranoid` at another value, until dropped; one test at a time on the machine.
pub(crate) struct Paranoid {
    file: File,
    before: String,
}

const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

impl Paranoid {
    /// `None` when it may not be written.
    pub(crate) fn set(level: i32) -> Option<Paranoid> {
        let file = File::options().read(true).write(true).open(PARANOID).ok()?;
        file.lock().ok()?;
        let before = std::fs::read_to_string(PARANOID).ok()?;
        let guard = Paranoid { file, before };
        std::fs::write(PARANOID, level.to_string()).ok()?;
        Some(guard)
    }
}

impl Drop for Paranoid {
    fn drop(&mut self) {
        // Put back also when the test fails; there is nobody to tell when that fails.
        let _put_back = std::fs::write(PARANOID, &self.before);
        let _unlocked = self.file.unlock();
    }
}
