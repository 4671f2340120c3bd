//! Data on stdout, talk on stderr: progress with an end time, rewritten in place on a terminal, one line a step
//! elsewhere.
//!
//! A reader that went away (`iostack ... | head`) must not end a run that has a scratch file to remove, so a closed
//! pipe is no error here.

use std::io::{IsTerminal, Write};

use iostack_model::Nanos;

/// Writes to stdout.
pub(crate) fn data(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn tell(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// How to talk.
pub(crate) struct Talk {
    terminal: bool,
    quiet: bool,
}

/// Longest live line; leaves the last column free so that no terminal wraps.
const WIDTH: usize = 79;

impl Talk {
    /// `quiet` says nothing but warnings.
    pub(crate) fn new(quiet: bool) -> Self {
        Talk { terminal: std::io::stderr().is_terminal(), quiet }
    }

    /// Something worth knowing, on its own line.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.clear();
            tell(&format!("{text}\n"));
        }
    }

    /// Something the user must know, also when quiet.
    pub(crate) fn warn(&self, text: &str) {
        self.clear();
        tell(&format!("iostack: {text}\n"));
    }

    /// A new step of a longer work began.
    pub(crate) fn step(&self, title: &str, elapsed: Nanos, end: Nanos) {
        if !self.quiet && !self.terminal {
            tell(&format!("[{} of {}] {title}\n", seconds(elapsed), seconds(end)));
        }
    }

    /// One measurement of a step began.
    pub(crate) fn point(&self, series: &str, label: &str, elapsed: Nanos, end: Nanos) {
        self.live(&format!("[{} of {}] {series}, {label}", seconds(elapsed), seconds(end)));
    }

    /// Replaces the live line; nothing when stderr is not a terminal.
    pub(crate) fn live(&self, text: &str) {
        if !self.quiet && self.terminal {
            let line: String = text.chars().take(WIDTH).collect();
            tell(&format!("\r\x1b[K{line}"));
        }
    }

    /// True when live lines are shown.
    pub(crate) fn is_live(&self) -> bool {
        self.terminal && !self.quiet
    }

    /// Removes the live line.
    pub(crate) fn clear(&self) {
        if self.terminal && !self.quiet {
            tell("\r\x1b[K");
        }
    }
}

fn seconds(span: Nanos) -> String {
    format!("{:>3.0} s", span.as_secs_f64())
}
