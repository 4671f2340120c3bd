//! Talk on stderr: progress with an end time, rewritten in place on a terminal, one line a step elsewhere.

use std::io::{IsTerminal, Write};

use iostack_model::Nanos;

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
            eprintln!("{text}");
        }
    }

    /// Something the user must know, also when quiet.
    pub(crate) fn warn(&self, text: &str) {
        self.clear();
        eprintln!("iostack: {text}");
    }

    /// A new step of a longer work began.
    pub(crate) fn step(&self, title: &str, elapsed: Nanos, end: Nanos) {
        if !self.quiet && !self.terminal {
            eprintln!("[{} of {}] {title}", seconds(elapsed), seconds(end));
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
            eprint!("\r\x1b[K{line}");
            let _ = std::io::stderr().flush();
        }
    }

    /// True when live lines are shown.
    pub(crate) fn is_live(&self) -> bool {
        self.terminal && !self.quiet
    }

    /// Removes the live line.
    pub(crate) fn clear(&self) {
        if self.terminal && !self.quiet {
            eprint!("\r\x1b[K");
        }
    }
}

fn seconds(span: Nanos) -> String {
    format!("{:>3.0} s", span.as_secs_f64())
}
