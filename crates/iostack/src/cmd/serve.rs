//! `iostack serve DRIVE`: a simulated drive as a disk for any program, in real time.

use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use iostack_host::save::{Output, Taken};
use iostack_model::Nanos;
use iostack_model::answers::Served;
use iostack_serve::layers::{self, LAYERS};
use iostack_serve::nbd::Place;
use iostack_serve::{Door, Route, Wanted};
use iostack_sim::sheet::Sheet;
use iostack_target::{Audience as _, EXAMPLE, changes};

use crate::exit::Ended;
use crate::talk::Talk;
use crate::written::AnswerArgs;

/// The live view is redrawn this often.
const REDRAW_EVERY: Duration = Duration::from_secs(1);

/// Looked at this often whether it should end.
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum As {
    /// The best that this machine has.
    #[default]
    Best,
    /// A file; as root a block device too.
    Fuse,
    /// A network disk: NBD.
    Nbd,
}

/// Arguments of `iostack serve`.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub(crate) struct ServeArgs {
    /// A simulated drive (`iostack sim list`), with layers over it if you like:
    /// "delay(80us) | sim(x25e)".
    drive: String,
    /// How programs come to it.
    #[arg(long = "as", value_enum, default_value_t = As::Best, value_name = "ROUTE")]
    route: As,
    /// Directory for the file `disk`; empty, or made.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "listen")]
    mount: Option<PathBuf>,
    /// Where NBD listens: /run/disk.sock, 127.0.0.1:10809. There is no
    /// password: another address is open to all who reach it.
    #[arg(long, value_name = "PLACE")]
    listen: Option<Place>,
    /// Keep the data in this file, which is there again after a restart;
    /// otherwise they are in memory, and gone at the end.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Allow --store of a file that iostack has not made: ITS DATA IS LOST.
    #[arg(long, requires = "store")]
    destroy_data: bool,
    /// Change a number of the drive, such as `flash.over_provisioning=28%`; may
    /// be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Reproduces whatever chance does in the drive, and what a power cut loses.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Cut the power after this time; it comes back when nothing is mounted on
    /// the disk. What was not flushed may be lost. May be repeated.
    #[arg(long, value_name = "TIME")]
    power_cut: Vec<Nanos>,
    /// End after this time; otherwise with Ctrl-C, or with the command.
    #[arg(long, value_name = "TIME")]
    runtime: Option<Nanos>,
    #[command(flatten)]
    answer: AnswerArgs,
    /// Run this meanwhile, with the disk's path in `IOSTACK_DISK` and in place
    /// of {}.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn after_help() -> String {
    let row = |kind: &layers::LayerKind| format!("  {:<36} {}\n", kind.example, kind.does);
    let rows: String = LAYERS.iter().map(row).collect();
    format!("Layers, from the program down, each before a `|`:\n{rows}")
}

impl ServeArgs {
    fn wanted(&self) -> anyhow::Result<Wanted> {
        let stack = layers::parse(&self.drive).map_err(anyhow::Error::msg)?;
        let sheet = Sheet::load(&stack.device, &changes(&self.set, EXAMPLE)?)?;
        ensure!(
            sheet.kind.name != "platform",
            "`{}` is a whole machine, and a disk is wanted; name a drive (`iostack sim list`)",
            stack.device
        );
        Ok(Wanted {
            typed: self.drive.clone(),
            sheet,
            stack,
            seed: self.seed,
            store: self.store.clone(),
            destroy_data: self.destroy_data,
            volatile: !self.power_cut.is_empty(),
            route: match self.route {
                As::Best => Route::Best,
                As::Fuse => Route::Fuse,
                As::Nbd => Route::Nbd,
            },
            mount: self.mount.clone(),
            listen: self.listen.clone(),
            stop: iostack_host::signals::stop_flag(),
        })
    }
}

/// Serves until it is to end, and tells what happened. Exit 1 when the command failed.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<Ended> {
    let store = Output::new("--store", args.store.as_ref().filter(|path| !path.exists()));
    args.answer.refuse("serve", store.map(|store| Output { taken: Taken::Replaced, ..store }))?;
    let talk = args.answer.talk();
    let wanted = args.wanted()?;
    // From here on a signal takes down what was mounted.
    talk.stop();
    let quiet = args.answer.quiet;
    let mut door = Door::open(wanted, iostack_host::machine(), move |line| {
        if !quiet {
            eprintln!("iostack: {line}");
        }
    })?;
    let result = attend(args, &mut door, &talk);
    talk.clear();
    let (served, lost) = door.end();
    // Ctrl-C is how it ends where nothing else ends it.
    if args.runtime.is_none() && args.command.is_empty() {
        iostack_host::signals::stop_flag().store(false, Ordering::Relaxed);
    }
    let ended = result?;
    args.answer.tell(&served, &talk)?;
    lost.map_err(anyhow::Error::msg)?;
    Ok(ended)
}

/// Serves until the time is up, the command has ended, or a signal came.
fn attend(args: &ServeArgs, door: &mut Door, talk: &Talk) -> anyhow::Result<Ended> {
    welcome(args, door, talk);
    let mut child = Running(start(args, &door.path)?);
    let mut cuts = args.power_cut.clone();
    cuts.sort_unstable();
    cuts.reverse();
    let started = Instant::now();
    let mut before = door.so_far();
    let (mut redraw, mut told) = (started + REDRAW_EVERY, false);
    loop {
        std::thread::sleep(LOOK_EVERY);
        door.power_on();
        let elapsed = Nanos(started.elapsed().as_nanos() as u64);
        if cuts.last().is_some_and(|&at| at <= elapsed) {
            cuts.pop();
            door.cut().context("the store could not be brought back after the power cut")?;
            talk.say(&format!("the power was cut after {:.1} s", elapsed.as_secs_f64()));
        }
        if let Some(child) = &mut child.0
            && let Some(status) = child.try_wait().context("cannot look at the command")?
        {
            return Ok(if status.success() { Ended::Done } else { Ended::FoundProblem });
        }
        // Ctrl-C reaches the command too; the disk stays until that has ended.
        let stopped = talk.stop().load(Ordering::Relaxed) && child.0.is_none();
        if (stopped || args.runtime.is_some_and(|runtime| elapsed >= runtime))
            && may_end(door, talk, &mut told)
        {
            return Ok(Ended::Done);
        }
        if talk.is_live() && Instant::now() >= redraw && args.command.is_empty() {
            let now = door.so_far();
            talk.block(&(iostack_report::live_served(&before, &now) + "Ctrl-C ends it\n"));
            before = now;
            redraw = Instant::now() + REDRAW_EVERY;
        }
    }
}

/// A file system on it would lose what it has not written yet: it must go first. Said once.
fn may_end(door: &Door, talk: &Talk, told: &mut bool) -> bool {
    let mounted = door.is_mounted();
    if mounted && !std::mem::replace(told, true) {
        let path = &door.path;
        talk.warn(&format!(
            "{path} is mounted; `umount {path}` ends this, a second Ctrl-C loses what is not written"
        ));
    }
    !mounted
}

/// A command, which does not outlive its disk.
struct Running(Option<Child>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _it_may_have_ended = child.kill();
            let _it_is_dead = child.wait();
        }
    }
}

fn welcome(args: &ServeArgs, door: &Door, talk: &Talk) {
    let Served { drive, capacity, route, notes, .. } = door.so_far();
    talk.announce(&format!("{drive}, {capacity}, is {} (by {route})", door.path));
    for note in notes {
        talk.say(&note);
    }
    if args.command.is_empty() && args.runtime.is_none() {
        talk.say("Ctrl-C ends it and tells what happened");
    }
}

fn start(args: &ServeArgs, path: &str) -> anyhow::Result<Option<Child>> {
    let Some((program, rest)) = args.command.split_first() else { return Ok(None) };
    let rest = rest.iter().map(|word| word.replace("{}", path));
    let child = Command::new(program).args(rest).env("IOSTACK_DISK", path).spawn();
    child.map(Some).with_context(|| format!("cannot start `{program}`"))
}
