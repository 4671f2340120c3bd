//! What may be asked of fio itself, and not of a job?

use std::path::PathBuf;

use iostack_model::Nanos;

use super::units::seconds;
use crate::options::value::{Set, ValueError, assign, bad, one_of, put, switch, text, whole};

/// Options of a command line for fio itself, not for a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioAsked {
    /// Formats that are printed, in this order; normal, where nothing was asked.
    pub formats: Vec<FioFormat>,
    /// Version of terse lines; 3, where nothing was asked.
    pub terse_version: Option<u8>,
    /// File for the report, instead of stdout.
    pub output: Option<PathBuf>,
    /// Sections to run; all where empty.
    pub sections: Vec<String>,
    /// Answer instead of a run.
    pub instead: Option<FioInstead>,
    /// Refuse jobs that write.
    pub readonly: bool,
    /// No live line on a terminal.
    pub quiet: bool,
    /// Progress in fio's form on stdout, wherever that goes.
    pub shows_always: bool,
    /// Target of the run; not an option of fio.
    pub on: Option<String>,
    /// Existing data may be overwritten; not an option of fio.
    pub destroy_data: bool,
    /// File for a report as a page; not an option of fio.
    pub html: Option<PathBuf>,
    /// Notes on what is asked and not reported, a line each.
    pub unreported: Vec<&'static str>,
    /// Time between two reports while it runs.
    pub status_every: Option<Nanos>,
    pub(super) files: Vec<PathBuf>,
}

/// Format of the report (`--output-format`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioFormat {
    /// Text for people.
    Normal,
    /// One line for each job.
    Terse,
    /// Report in JSON.
    Json,
    /// Report in JSON with histograms.
    JsonPlus,
}

/// Answer instead of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FioInstead {
    /// Page of help (`--help`).
    Help,
    /// Version of fio and of iostack (`--version`).
    Version,
    /// Help on an option, or on all (`--cmdhelp`).
    OptionHelp(String),
    /// List of engines (`--enghelp`).
    Engines,
    /// Check of the jobs (`--parse-only`).
    Parse,
    /// Jobs as a command line (`--showcmd`).
    Show,
}

/// Place of an option's value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    /// A value only behind `=`.
    Maybe,
    Value,
}

use Takes::{Maybe, Nothing, Value};

/// An option of fio itself.
pub(super) struct Own {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    meaning: &'static str,
    pub(super) set: SetOwn,
}

/// Sets what was asked from a value as it was typed.
type SetOwn = fn(&mut FioAsked, &str) -> Set;

const fn own(name: &'static str, takes: Takes, meaning: &'static str, set: SetOwn) -> Own {
    Own { name, takes, meaning, set }
}

/// Shortest time between reports: more often, threads would do little but tell.
const STATUS_LEAST: Nanos = Nanos::millis(10);

const NOTHING: SetOwn = |_, _| Ok(());

/// Options of fio itself, and three of ours.
pub(super) const OWN: &[Own] = &[
    own("output", Value, "Write the report to a new file", put!(output, text::<PathBuf>)),
    own("output-format", Value, "normal, terse, json, json+; several by commas", put!(formats, formats)),
    own("minimal", Nothing, "The same as --output-format=terse", put!(formats = [FioFormat::Terse])),
    own("append-terse", Nothing, "Print the terse lines too", |asked, _| {
        if asked.formats.is_empty() {
            asked.formats.push(FioFormat::Normal);
        }
        asked.formats.push(FioFormat::Terse);
        Ok(())
    }),
    own("terse-version", Value, "Version of the terse lines: 2, 3, 4, 5", |asked, text| {
        assign(&mut asked.terse_version, whole(text, 2, 5).map(|version| version as u8))
    }),
    own("section", Value, "Run only this section; may be repeated", |asked, text| {
        asked.sections.push(text.to_owned());
        Ok(())
    }),
    own("eta", Value, "Show progress: auto, always, never", |asked, text| {
        let words = [("auto", (false, false)), ("always", (true, true)), ("never", (true, false))];
        (asked.quiet, asked.shows_always) = one_of(text, &words)?;
        Ok(())
    }),
    own("eta-newline", Value, "Changes nothing: progress is one line", NOTHING),
    own("eta-interval", Value, "Changes nothing: progress is shown as it comes", NOTHING),
    own(
        "status-interval",
        Value,
        "Print the report so far this often, too; a bare number is seconds",
        |asked, text| {
            let every = seconds(text)?;
            if every < STATUS_LEAST {
                return bad("give 10ms or more");
            }
            assign(&mut asked.status_every, Ok(every))
        },
    ),
    own("parse-only", Nothing, "Only look whether the jobs can be read", put!(instead = FioInstead::Parse)),
    own("showcmd", Nothing, "Print the jobs as a command line", put!(instead = FioInstead::Show)),
    own("readonly", Nothing, "Refuse jobs that write or trim", put!(readonly, switch)),
    own("warnings-fatal", Nothing, "Changes nothing: what cannot be done is an error", NOTHING),
    own("version", Nothing, "Whose forms these are, and which iostack", put!(instead = FioInstead::Version)),
    own("help", Nothing, "This page", put!(instead = FioInstead::Help)),
    own("cmdhelp", Maybe, "What a job's option does here; all: of all", |asked, text| {
        assign(&mut asked.instead, Ok(FioInstead::OptionHelp(text.to_owned())))
    }),
    own("enghelp", Maybe, "Engines", put!(instead = FioInstead::Engines)),
    own("max-jobs", Value, "Changes nothing: threads are made as needed", NOTHING),
    own("alloc-size", Value, "Changes nothing: memory is taken as needed", NOTHING),
    own("aux-path", Value, "Changes nothing: no state files are made", NOTHING),
    own("debug", Value, "Changes nothing: strace and perf tell what runs", NOTHING),
    own("idle-prof", Value, "Reports nothing; system, percpu, calibrate", |asked, text| {
        asked.unreported.push("--idle-prof is not reported: `iostack run --layers` says where clocks go");
        one_of(text, &[("system", ()), ("percpu", ()), ("calibrate", ())])
    }),
    own("on", Value, "What answers, as for `iostack run`", put!(on, text::<String>)),
    own("html", Value, "Write iostack's report to a new file", put!(html, text::<PathBuf>)),
    own(
        "destroy-data",
        Nothing,
        "Allow writing over what exists: ITS DATA IS LOST",
        put!(destroy_data, switch),
    ),
];

const ONE_MACHINE: &str = "jobs run on this machine; start iostack on each, by ssh";
const TRIGGER: &str = "no command runs beside the load";

/// Options of fio itself that are refused, and why.
pub(super) const REFUSED: &[(&str, Takes, &str)] = &[
    ("bandwidth-log", Nothing, "use write_bw_log in the job"),
    ("inflate-log", Value, "logs are not compressed"),
    ("merge-blktrace-only", Nothing, "see `iostack run --replay`"),
    ("cpuclock-test", Nothing, "`iostack doctor` looks at the clock"),
    ("crctest", Maybe, "checksums are not measured"),
    ("server", Maybe, ONE_MACHINE),
    ("client", Value, ONE_MACHINE),
    ("daemonize", Value, ONE_MACHINE),
    ("remote-config", Value, ONE_MACHINE),
    ("trigger-file", Value, TRIGGER),
    ("trigger-timeout", Value, TRIGGER),
    ("trigger", Value, TRIGGER),
    ("trigger-remote", Value, TRIGGER),
];

fn formats(text: &str) -> Result<Vec<FioFormat>, ValueError> {
    let words = [
        ("normal", FioFormat::Normal),
        ("terse", FioFormat::Terse),
        ("json", FioFormat::Json),
        ("json+", FioFormat::JsonPlus),
    ];
    let word =
        |word: &str| if word.trim() == "minimal" { Ok(FioFormat::Terse) } else { one_of(word, &words) };
    text.split(',').map(word).collect()
}

/// Name and reason of each option of fio itself that is refused, for the manual.
pub fn fio_refused_switches() -> impl Iterator<Item = (&'static str, &'static str)> {
    REFUSED.iter().map(|&(name, _, why)| (name, why))
}

/// Name, whether a value follows, and meaning of each option of fio itself, for `--help`.
pub fn fio_command_options() -> impl Iterator<Item = (&'static str, bool, &'static str)> {
    OWN.iter().map(|own| (own.name, own.takes != Nothing, own.meaning))
}
