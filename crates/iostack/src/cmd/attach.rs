//! What `iostack stages` and `iostack layers` share: a look at something that runs already, or at a command.

use std::ffi::OsString;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use iostack_attribute::command::Command;
use iostack_attribute::processes;
use iostack_model::{Ladder, Nanos};
use iostack_report::Document;
use iostack_target::Audience as _;

use crate::cmd::run::RunArgs;
use crate::exit::Ended;
use crate::talk::Talk;
use crate::written::{self, Format};

/// The live view is redrawn this often.
const REDRAW_EVERY: Duration = Duration::from_millis(500);

/// Time to look at a running program without `--runtime`.
const RUNTIME: Nanos = Nanos::secs(10);

/// Forms of a picture of stages or of layers.
pub(crate) struct Pictures<T> {
    /// Document of the whole picture.
    pub(crate) told: fn(&T) -> Document,
    /// A block that is redrawn in place.
    pub(crate) live: fn(&T) -> String,
    pub(crate) json: fn(&T) -> anyhow::Result<String>,
}

/// A command that has been told to end may take so long.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whom to look at, but for what the command of that name alone knows.
#[derive(clap::Args)]
pub(crate) struct FollowArgs {
    /// Look at a process that runs already, for --runtime (10 s).
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    /// With --pid: also at what it started and will start, and so on.
    #[arg(long)]
    pub(crate) children: bool,
}

/// A command to look at; behind the arguments of a job, as the parser wants the last one last.
#[derive(clap::Args)]
pub(crate) struct CommandArgs {
    /// Run this, behind `--`, and look at it with all that it starts, from its first
    /// instruction to its last; at most for --runtime. Its output passes through.
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "pid")]
    command: Vec<OsString>,
}

/// Whom to look at.
pub(crate) struct Whom<'a> {
    pub(crate) follow: &'a FollowArgs,
    pub(crate) command: &'a CommandArgs,
}

impl Whom<'_> {
    /// The number of the process to follow, and the command when it is one; `None` when there is neither.
    pub(crate) fn begin(&self) -> anyhow::Result<Option<Followed>> {
        anyhow::ensure!(
            !self.follow.children || self.follow.pid.is_some() || self.is_command(),
            "--children goes with --pid, whose children are meant"
        );
        if let Some(pid) = self.follow.pid {
            return Ok(Some(Followed { pid, children: self.follow.children, command: None, was_cut: false }));
        }
        let words = &self.command.command;
        let Some(word) = words.first() else { return Ok(None) };
        let command = Command::start(words).with_context(|| format!("cannot run `{}`", word.display()))?;
        Ok(Some(Followed { pid: command.pid(), children: true, command: Some(command), was_cut: false }))
    }

    /// True when somebody is named: without, a job of our own is looked at.
    pub(crate) fn is_named(&self) -> bool {
        self.follow.pid.is_some() || self.is_command() || self.follow.children
    }

    fn is_command(&self) -> bool {
        !self.command.command.is_empty()
    }

    /// Flag or word for whom it looks at.
    pub(crate) fn what(&self, otherwise: &'static str) -> &'static str {
        match (self.follow.pid, self.is_command()) {
            (Some(_), _) => "--pid",
            (None, true) => "a command",
            (None, false) => otherwise,
        }
    }

    /// The same for another command, to look at next.
    pub(crate) fn again(&self, name: &str, why: &str) -> Option<String> {
        let children = if self.follow.children { " --children" } else { "" };
        let words: Vec<_> = self.command.command.iter().map(|word| word.to_string_lossy()).collect();
        let whom = match self.follow.pid {
            Some(pid) => format!("--pid {pid}{children}"),
            None if words.is_empty() => return None,
            None => Some(format!("-- {}", words.join(" ")))
                .filter(|typed| typed.len() < 40)
                .unwrap_or("-- ..".into()),
        };
        Some(format!("iostack {name} {whom}    # {why}"))
    }
}

/// A process that is followed.
pub(crate) struct Followed {
    pub(crate) pid: u32,
    pub(crate) children: bool,
    pub(crate) command: Option<Command>,
    /// The time to look was over before the command.
    was_cut: bool,
}

impl Followed {
    /// Read and write calls so far.
    pub(crate) fn calls(&self) -> Option<u64> {
        match (&self.command, self.children) {
            (Some(command), _) => command.calls(),
            (None, true) => {
                Some(processes::descendants(self.pid).into_iter().filter_map(processes::calls).sum())
            }
            (None, false) => processes::calls(self.pid),
        }
    }

    /// Looks for as long as asked, or until it ends, or until Ctrl-C.
    pub(crate) fn watch<T>(
        &mut self,
        talk: &Talk,
        runtime: Option<Nanos>,
        pictures: &Pictures<T>,
        so_far: impl FnMut() -> T,
    ) -> anyhow::Result<()> {
        let pid = self.pid;
        if let Some(command) = &mut self.command {
            self.was_cut = watch_command(talk, command, runtime)?;
        } else {
            watch(talk, runtime, pictures, so_far, || has_ended(pid));
        }
        Ok(())
    }

    /// How the command ended, in a sentence, and whether it did so well.
    pub(crate) fn end(&self) -> Option<(String, bool)> {
        let command = self.command.as_ref()?;
        Some(match command.status() {
            _ if self.was_cut => (format!("{} was ended at --runtime.", command.name()), true),
            None => (format!("{} goes on.", command.name()), true),
            Some(status) => match status.code() {
                Some(code) => (format!("{} ended with exit code {code}.", command.name()), code == 0),
                None => (format!("{} ended by {status}.", command.name()), false),
            },
        })
    }
}

/// True when nothing runs under this number any more.
fn has_ended(pid: u32) -> bool {
    !std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Lets a command run, and waits for its end and that of all that it started. True when its time was over before.
fn watch_command(talk: &Talk, command: &mut Command, runtime: Option<Nanos>) -> anyhow::Result<bool> {
    let stop = iostack_host::signals::stop_flag();
    let released = command.release();
    released.with_context(|| format!("cannot run `{}`", command.typed()))?;
    let end = runtime.map(|runtime| Instant::now() + Duration::from_nanos(runtime.0));
    let mut over = false;
    while !command.has_ended() && !over {
        std::thread::sleep(Duration::from_millis(5));
        over = stop.load(Ordering::Relaxed) || end.is_some_and(|end| Instant::now() >= end);
    }
    // Ctrl-C has gone to all that run in the terminal; another signal, or the end of the time, only to us.
    let was_cut = over && !stop.load(Ordering::Relaxed);
    let mut told = was_cut;
    if was_cut {
        command.signal(libc::SIGTERM);
    }
    let mut patience = Instant::now() + PATIENCE;
    while over && !command.has_ended() {
        std::thread::sleep(Duration::from_millis(5));
        if Instant::now() < patience {
            continue;
        }
        if told {
            talk.warn(&format!("{} goes on, though it was told to end", command.name()));
            break;
        }
        command.signal(libc::SIGTERM);
        (told, patience) = (true, Instant::now() + PATIENCE);
    }
    Ok(was_cut)
}

/// Time to look: `--runtime`, if given. Other options of a job are refused.
pub(crate) fn runtime(args: &RunArgs, what: &str) -> anyhow::Result<Option<Nanos>> {
    let looks = if what.starts_with('-') { "looks at what runs already" } else { "is looked at as it is" };
    anyhow::ensure!(
        args.jobs.is_empty() && args.on.is_none(),
        "a job and {what} were given; {what} {looks}: leave the job out"
    );
    let forms = &args.answer.forms;
    if !matches!(forms.chosen(), Format::Text | Format::Json | Format::Markdown)
        || forms.files().next().is_some()
    {
        bail!(
            "tables and fio's forms need a job of our own; use --format text, json or markdown with {what}"
        );
    }
    let mut runtime = None;
    for (name, value) in &args.flags.options {
        if name != "runtime" {
            bail!("`--{}` describes a job, but {what} {looks}", name.replace('_', "-"));
        }
        runtime = Some(value.parse().with_context(|| format!("--runtime `{value}`"))?);
    }
    Ok(runtime)
}

/// Looks for as long as asked, or until Ctrl-C, or until `ended` says so; draws what was seen so far meanwhile.
pub(crate) fn watch<T>(
    talk: &Talk,
    runtime: Option<Nanos>,
    pictures: &Pictures<T>,
    mut so_far: impl FnMut() -> T,
    ended: impl Fn() -> bool,
) {
    let stop = iostack_host::signals::stop_flag();
    let started = Instant::now();
    let end = started + Duration::from_nanos(runtime.unwrap_or(RUNTIME).0);
    let mut redraw = started + REDRAW_EVERY;
    while Instant::now() < end && !stop.load(Ordering::Relaxed) && !ended() {
        std::thread::sleep(Duration::from_millis(20));
        if talk.is_live() && Instant::now() >= redraw {
            let left = end.saturating_duration_since(Instant::now()).as_secs_f64();
            let block = (pictures.live)(&so_far());
            talk.block(&format!("{block}{left:.0} s left; Ctrl-C ends it with what was seen\n"));
            redraw = Instant::now() + REDRAW_EVERY;
        }
    }
    talk.clear();
}

/// Tells how the command ended, if it is one, here and in the notes of the answer. A command that failed is a problem found.
pub(crate) fn tell_end(followed: &Followed, talk: &Talk, notes: &mut Vec<String>) -> Ended {
    let Some((sentence, well)) = followed.end() else { return Ended::Done };
    talk.say(&sentence);
    notes.push(sentence);
    if well { Ended::Done } else { Ended::FoundProblem }
}

/// Prints what was seen, and what to look at next.
pub(crate) fn print<T>(
    args: &RunArgs,
    talk: &Talk,
    seen: &T,
    pictures: &Pictures<T>,
    next: &str,
) -> anyhow::Result<()> {
    let text = match args.answer.forms.chosen() {
        Format::Json => (pictures.json)(seen)?,
        Format::Markdown => (pictures.told)(seen).markdown(),
        _ => format!("{}\nnext: {next}\n", (pictures.told)(seen).text()),
    };
    let answer = written::answer(args.answer.output.as_ref(), &text);
    let page = written::page(args.answer.html.as_ref(), || (pictures.told)(seen).html(), talk);
    answer.and(page)
}

pub(crate) fn ladder() -> Ladder {
    iostack_attribute::ladder::probe()
}
