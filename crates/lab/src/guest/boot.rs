//! From nothing to a device that answers.

use std::fs::{self, File};
use std::path::Path;

use super::log::KernelLog;
use super::near_side::{failed, tell};
use super::sections::{sections, symbols};
use super::{LAB, Message, PLAN, Plan, Ready, Work, device, hand_over, measure, trial, watch};
use crate::sys::guest as sys;

/// Carrier of a job: told what to run and where, it tells its outcome with [`tell`].
pub type RunJob<'a> = &'a dyn Fn(&serde_json::Value, &Ready) -> Result<(), String>;

/// True in the lab's machine, in its first process.
pub fn is_here() -> bool {
    std::process::id() == 1 && Path::new(LAB).exists()
}

/// Does what the plan says and switches the machine off.
pub fn run(job: RunJob<'_>) -> ! {
    let ended = prepare().and_then(|mut plan| match device::driven(&mut plan) {
        Ok(ready) => work(&plan, &ready, job),
        // Who looks why there is none must get in.
        Err(why) if matches!(plan.work, Work::Shell) => shell(&format!("No device is there to use: {why}")),
        Err(why) => Err(why),
    });
    match ended {
        Ok(()) => tell(&Message::Done),
        Err(text) => tell(&Message::Failed(text)),
    }
    sys::power_off();
    std::process::exit(0)
}

fn prepare() -> Result<Plan, String> {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")] {
        sys::mount(kind, Path::new(at), kind, "").map_err(failed("mount", at))?;
    }
    // Not every kernel has them; what needs them says so.
    for (kind, at) in [("debugfs", "/sys/kernel/debug"), ("tracefs", "/sys/kernel/tracing")] {
        let _ = sys::mount(kind, Path::new(at), kind, "");
    }
    if !Path::new(PLAN).exists() {
        hand_over::take()?;
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
    tell(&Message::Hello(release));
    let text = fs::read_to_string(PLAN).map_err(failed("read", PLAN))?;
    let plan: Plan =
        serde_json::from_str(&text).map_err(|error| format!("the plan cannot be read: {error}"))?;
    // Where I/Os are counted, a second thread would be in the count.
    if matches!(plan.work, Work::Job(_) | Work::Trial(_)) {
        watch::start(plan.gives_up_s);
    }
    Ok(plan)
}

fn work(plan: &Plan, ready: &Ready, job: RunJob<'_>) -> Result<(), String> {
    match &plan.work {
        Work::Cost(measures) => {
            for one in measures {
                tell(&Message::Step("counting".to_owned()));
                tell(&Message::Ticks(measure::count(one, ready)?));
            }
            tell(&Message::Sections(sections()));
            if plan.symbols {
                tell(&Message::Symbols(symbols()?));
            }
            tell(&Message::Iomem(fs::read_to_string("/proc/iomem").unwrap_or_default()));
        }
        Work::Job(value) => job(value, ready)?,
        Work::Shell => shell(&format!("The device is {}", ready.path.display()))?,
        Work::Trial(trials) => trial::run(trials, plan, ready)?,
        Work::Nothing => {}
    }
    if let Some(folder) = &ready.folder {
        sys::unmount(folder).map_err(failed("unmount", folder))?;
    }
    tell(&Message::Complaints(KernelLog::whole().complaints()));
    Ok(())
}

/// A shell on the console, after a line about what there is.
fn shell(about: &str) -> Result<(), String> {
    let text = format!(
        "echo; echo '{}; leave with exit, or Ctrl-A X.'; \
         /bin/busybox --install -s /bin; exec setsid -c /bin/sh -i </dev/ttyS0 >/dev/ttyS0 2>&1",
        about.replace('\'', "\"")
    );
    let mut command = std::process::Command::new("/bin/busybox");
    command.args(["sh", "-c", &text]).env("PATH", "/bin").env("HOME", "/").env("TERM", "linux");
    let console = || File::options().read(true).write(true).open("/dev/ttyS0");
    let open = || console().map_err(failed("open", "/dev/ttyS0"));
    command.stdin(open()?).stdout(open()?).stderr(open()?);
    command.status().map(|_| ()).map_err(failed("run", "/bin/busybox"))
}
