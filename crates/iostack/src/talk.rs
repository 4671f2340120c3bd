//! Data on stdout, talk on stderr: progress with an end time, rewritten in place on a terminal, one line a step
//! elsewhere.
//!
//! A reader that went away (`iostack ... | head`) must not end a run that has a scratch file to remove, so a closed
//! pipe is no error here. Any other failure is remembered, the files beside the answer are still written, and the program
//! ends saying what was lost ([`lost`]).

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use iostack_model::{Nanos, OutcomeFile, Progress};
use iostack_target::Audience;

/// The first failure of stdout. After it nothing more is written there: half a result with a hole is worse than half.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Writes to stdout.
pub(crate) fn data(text: &str) {
    wrote(|| {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    });
}

/// Does what writes to stdout, unless that failed before, and remembers a failure.
pub(crate) fn wrote(write: impl FnOnce() -> io::Result<()>) {
    let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
    if lost.is_none() {
        *lost = write().err();
    }
}

/// Reason that stdout does not hold all that was written. To be called once, at the end: only closing reveals a network file
/// system that refuses what it took before.
pub(crate) fn lost() -> Option<io::Error> {
    wrote(|| io::stdout().as_fd().try_clone_to_owned().and_then(iostack_host::close));
    let lost = LOST.lock().unwrap_or_else(PoisonError::into_inner).take();
    lost.filter(|error| error.kind() != io::ErrorKind::BrokenPipe)
}

fn tell(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Lines of at most 80 columns: the first begins with `first`, the others `indent` columns in.
pub(crate) fn paragraph(first: &str, text: &str, indent: usize) -> String {
    wrapped(first, text, indent, 80)
}

/// The same in lines of at most so many columns.
pub(crate) fn wrapped(first: &str, text: &str, indent: usize, columns: usize) -> String {
    let mut lines = vec![first.to_owned()];
    let mut bare = true;
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("it begins with one");
        if !bare && last.chars().count() + 1 + word.chars().count() > columns {
            lines.push(format!("{}{word}", " ".repeat(indent)));
            continue;
        }
        if !bare {
            last.push(' ');
        }
        last.push_str(word);
        bare = false;
    }
    lines.join("\n") + "\n"
}

/// Talk on stderr.
pub(crate) struct Talk {
    terminal: bool,
    quiet: bool,
    /// Lines of the block that is drawn at present.
    drawn: AtomicUsize,
    /// Line to say once the run is under way; a refused run never says it.
    pending: Mutex<Option<String>>,
    /// Callback that tells the outcome so far.
    status: Option<Box<Teller>>,
    /// Callback that shows progress instead of a live line.
    shows: Option<Box<OnProgress>>,
}

type Teller = dyn Fn(&OutcomeFile) + Sync;
type OnProgress = dyn Fn(&Progress) + Sync;

/// Longest live line; leaves the last column free so that no terminal wraps.
const WIDTH: usize = 79;

impl Talk {
    /// `quiet` says nothing but warnings.
    pub(crate) fn new(quiet: bool) -> Self {
        Talk {
            terminal: io::stderr().is_terminal(),
            quiet,
            drawn: AtomicUsize::new(0),
            pending: Mutex::new(None),
            status: None,
            shows: None,
        }
    }

    /// The same, where `tell` is told what came of a run so far.
    pub(crate) fn telling(self, tell: impl Fn(&OutcomeFile) + Sync + 'static) -> Self {
        Talk { status: Some(Box::new(tell)), ..self }
    }

    /// The same, where `show` shows how far it is.
    pub(crate) fn showing(self, show: impl Fn(&Progress) + Sync + 'static) -> Self {
        Talk { shows: Some(Box::new(show)), ..self }
    }

    /// Something worth knowing about a run that is not refused: said as soon as it is under way.
    pub(crate) fn say_once_begun(&self, text: String) {
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    fn begun(&self) {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(text) = pending {
            self.say(&text);
        }
    }

    /// Something worth knowing, on its own line.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.announce(text);
        }
    }

    /// Says a line also when quiet: something nobody can do without, such as the name of a new disk.
    pub(crate) fn announce(&self, text: &str) {
        self.wipe();
        tell(&format!("{text}\n"));
    }

    /// Something the user must know, also when quiet.
    pub(crate) fn warn(&self, text: &str) {
        self.wipe();
        tell(&format!("iostack: {text}\n"));
    }

    /// Replaces the live block of several lines; nothing when stderr is not a terminal.
    pub(crate) fn block(&self, text: &str) {
        if !self.is_live() {
            return;
        }
        self.wipe();
        let lines: Vec<String> = text.lines().map(|line| line.chars().take(WIDTH).collect()).collect();
        tell(&(lines.join("\n") + "\n"));
        self.drawn.store(lines.len(), Ordering::Relaxed);
    }

    /// Takes away the live line or block.
    fn wipe(&self) {
        if self.is_live() {
            match self.drawn.swap(0, Ordering::Relaxed) {
                0 => tell("\r\x1b[K"),
                // To the block's first line, and away with all below.
                lines => tell(&format!("\r\x1b[{lines}A\x1b[J")),
            }
        }
    }

    /// True when live lines are shown.
    pub(crate) fn is_live(&self) -> bool {
        self.terminal && !self.quiet
    }
}

/// Ctrl-C ends a run; progress is a live line.
impl Audience for Talk {
    fn stop(&self) -> &AtomicBool {
        iostack_host::signals::stop_flag()
    }

    fn watches(&self) -> bool {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_live() || self.shows.is_some() || pending.is_some()
    }

    fn progress(&self, progress: &Progress) {
        self.begun();
        match &self.shows {
            Some(show) => show(progress),
            None => self.live(&iostack_report::text::live(progress)),
        }
    }

    fn asked(&self) -> Option<&AtomicBool> {
        self.status.as_ref().map(|_| iostack_host::signals::ask_flag())
    }

    fn status(&self, so_far: &OutcomeFile) {
        self.clear();
        self.status.iter().for_each(|tell| tell(so_far));
    }

    fn step(&self, title: &str, elapsed: Nanos, end: Nanos) {
        if !self.quiet && !self.terminal {
            tell(&format!("[{} of {}] {title}\n", seconds(elapsed), seconds(end)));
        }
    }

    fn point(&self, series: &str, label: &str, elapsed: Nanos, end: Nanos) {
        self.live(&format!("[{} of {}] {series}, {label}", seconds(elapsed), seconds(end)));
    }

    fn live(&self, text: &str) {
        self.begun();
        if !self.quiet && self.terminal {
            let line: String = text.chars().take(WIDTH).collect();
            tell(&format!("\r\x1b[K{line}"));
        }
    }

    fn clear(&self) {
        self.begun();
        self.wipe();
    }

    fn say(&self, line: &str) {
        Talk::say(self, line);
    }

    fn warn(&self, line: &str) {
        Talk::warn(self, line);
    }
}

fn seconds(span: Nanos) -> String {
    format!("{:>3.0} s", span.as_secs_f64())
}
