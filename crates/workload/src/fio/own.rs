//! What may be asked of fio itself, and not of a job?

use std::path::PathBuf;

use iostack_model::Nanos;

use super::set::SECOND;
use super::units::time;
use crate::options::value::{Set, bad, whole};

/// What a command line asks of fio itself, not of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioAsked {
    /// What is printed, in this order; normal, where nothing was asked.
    pub formats: Vec<FioFormat>,
    /// The version of terse lines; 3, where nothing was asked.
    pub terse_version: Option<u8>,
    /// Where to, instead of stdout.
    pub output: Option<PathBuf>,
    /// Run only these.
    pub sections: Vec<String>,
    /// Instead of a run.
    pub instead: Option<FioInstead>,
    /// Refuse jobs that write.
    pub readonly: bool,
    /// No live line on a terminal.
    pub quiet: bool,
    /// Progress in fio's form on stdout, wherever that goes.
    pub shows_always: bool,
    /// What answers; not fio's.
    pub on: Option<String>,
    /// What exists may be overwritten; not fio's.
    pub destroy_data: bool,
    /// A report as a page; not fio's.
    pub html: Option<PathBuf>,
    /// What is asked and not reported, each in a line.
    pub unreported: Vec<&'static str>,
    /// Print the report this often while it runs, too.
    pub status_every: Option<Nanos>,
    pub(super) files: Vec<PathBuf>,
}

/// `--output-format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioFormat {
    /// For people.
    Normal,
    /// One line a job.
    Terse,
    /// The report.
    Json,
    /// With histograms.
    JsonPlus,
}

/// What is answered instead of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FioInstead {
    /// `--help`
    Help,
    /// `--version`
    Version,
    /// `--cmdhelp`, of an option, or of all.
    OptionHelp(String),
    /// `--enghelp`
    Engines,
    /// `--parse-only`
    Parse,
    /// `--showcmd`
    Show,
}

/// How an option of fio itself gets its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    /// Only behind `=`.
    Maybe,
    Value,
}

/// An option of fio itself.
pub(super) struct Own {
    pub(super) name: &'static str,
    pub(super) takes: Takes,
    meaning: &'static str,
    pub(super) set: fn(&mut FioAsked, &str) -> Set,
}

const fn own(
    name: &'static str,
    takes: Takes,
    meaning: &'static str,
    set: fn(&mut FioAsked, &str) -> Set,
) -> Own {
    Own { name, takes, meaning, set }
}

/// More often, threads would do little but tell.
const STATUS_LEAST: Nanos = Nanos::millis(10);

const NOTHING: fn(&mut FioAsked, &str) -> Set = |_, _| Ok(());

/// Options of fio itself, and three of ours.
pub(super) const OWN: &[Own] = &[
    own("output", Takes::Value, "Write the report to a new file", |asked, text| {
        asked.output = Some(PathBuf::from(text));
        Ok(())
    }),
    own("output-format", Takes::Value, "normal, terse, json, json+; several by commas", set_formats),
    own("minimal", Takes::Nothing, "The same as --output-format=terse", |asked, _| {
        set_formats(asked, "terse")
    }),
    own("append-terse", Takes::Nothing, "Print the terse lines too", |asked, _| {
        if asked.formats.is_empty() {
            asked.formats.push(FioFormat::Normal);
        }
        asked.formats.push(FioFormat::Terse);
        Ok(())
    }),
    own("terse-version", Takes::Value, "Version of the terse lines: 2, 3, 4, 5", |asked, text| {
        asked.terse_version = Some(whole(text, 2, 5)? as u8);
        Ok(())
    }),
    own("section", Takes::Value, "Run only this section; may be repeated", |asked, text| {
        asked.sections.push(text.to_owned());
        Ok(())
    }),
    own("eta", Takes::Value, "Show progress: auto, always, never", |asked, text| {
        (asked.quiet, asked.shows_always) = (text != "auto", text == "always");
        if matches!(text, "auto" | "always" | "never") { Ok(()) } else { bad("give auto, always or never") }
    }),
    own("eta-newline", Takes::Value, "Changes nothing: progress is one line", NOTHING),
    own("eta-interval", Takes::Value, "Changes nothing: progress is shown as it comes", NOTHING),
    own(
        "status-interval",
        Takes::Value,
        "Print the report so far this often, too; a bare number is seconds",
        |asked, text| {
            let every = time(text, SECOND)?;
            if every < STATUS_LEAST {
                return bad("give 10ms or more");
            }
            asked.status_every = Some(every);
            Ok(())
        },
    ),
    own("parse-only", Takes::Nothing, "Only look whether the jobs can be read", |asked, _| {
        asked.instead = Some(FioInstead::Parse);
        Ok(())
    }),
    own("showcmd", Takes::Nothing, "Print the jobs as a command line", |asked, _| {
        asked.instead = Some(FioInstead::Show);
        Ok(())
    }),
    own("readonly", Takes::Nothing, "Refuse jobs that write or trim", |asked, _| {
        asked.readonly = true;
        Ok(())
    }),
    own("warnings-fatal", Takes::Nothing, "Changes nothing: what cannot be done is an error", NOTHING),
    own("version", Takes::Nothing, "Whose forms these are, and which iostack", |asked, _| {
        asked.instead = Some(FioInstead::Version);
        Ok(())
    }),
    own("help", Takes::Nothing, "This page", |asked, _| {
        asked.instead = Some(FioInstead::Help);
        Ok(())
    }),
    own("cmdhelp", Takes::Maybe, "What a job's option does here; all: of all", |asked, text| {
        asked.instead = Some(FioInstead::OptionHelp(text.to_owned()));
        Ok(())
    }),
    own("enghelp", Takes::Maybe, "Engines", |asked, _| {
        asked.instead = Some(FioInstead::Engines);
        Ok(())
    }),
    own("max-jobs", Takes::Value, "Changes nothing: threads are made as needed", NOTHING),
    own("alloc-size", Takes::Value, "Changes nothing: memory is taken as needed", NOTHING),
    own("aux-path", Takes::Value, "Changes nothing: no state files are made", NOTHING),
    own("debug", Takes::Value, "Changes nothing: strace and perf tell what runs", NOTHING),
    own("idle-prof", Takes::Value, "Reports nothing; system, percpu, calibrate", |asked, text| {
        asked.unreported.push("--idle-prof is not reported: `iostack run --layers` says where clocks go");
        if matches!(text, "system" | "percpu" | "calibrate") {
            return Ok(());
        }
        bad("give system, percpu or calibrate")
    }),
    own("on", Takes::Value, "What answers, as for `iostack run`", |asked, text| {
        asked.on = Some(text.to_owned());
        Ok(())
    }),
    own("html", Takes::Value, "Write iostack's report to a new file", |asked, text| {
        asked.html = Some(PathBuf::from(text));
        Ok(())
    }),
    own("destroy-data", Takes::Nothing, "Allow writing over what exists: ITS DATA IS LOST", |asked, _| {
        asked.destroy_data = true;
        Ok(())
    }),
];

const ONE_MACHINE: &str = "jobs run on this machine; start iostack on each, by ssh";
const TRIGGER: &str = "no command runs beside the load";

/// Options of fio itself that are refused, and why.
pub(super) const REFUSED: &[(&str, Takes, &str)] = &[
    ("bandwidth-log", Takes::Nothing, "use write_bw_log in the job"),
    ("inflate-log", Takes::Value, "logs are not compressed"),
    ("merge-blktrace-only", Takes::Nothing, "see `iostack run --replay`"),
    ("cpuclock-test", Takes::Nothing, "`iostack doctor` looks at the clock"),
    ("crctest", Takes::Maybe, "checksums are not measured"),
    ("server", Takes::Maybe, ONE_MACHINE),
    ("client", Takes::Value, ONE_MACHINE),
    ("daemonize", Takes::Value, ONE_MACHINE),
    ("remote-config", Takes::Value, ONE_MACHINE),
    ("trigger-file", Takes::Value, TRIGGER),
    ("trigger-timeout", Takes::Value, TRIGGER),
    ("trigger", Takes::Value, TRIGGER),
    ("trigger-remote", Takes::Value, TRIGGER),
];

fn set_formats(asked: &mut FioAsked, text: &str) -> Set {
    asked.formats.clear();
    for word in text.split(',') {
        let format = match word.trim() {
            "normal" => FioFormat::Normal,
            "terse" | "minimal" => FioFormat::Terse,
            "json" => FioFormat::Json,
            "json+" => FioFormat::JsonPlus,
            _ => return bad("give normal, terse, json or json+"),
        };
        asked.formats.push(format);
    }
    Ok(())
}

/// Name and reason of each option of fio itself that is refused, for the manual.
pub fn fio_refused_switches() -> impl Iterator<Item = (&'static str, &'static str)> {
    REFUSED.iter().map(|&(name, _, why)| (name, why))
}

/// Name, whether a value follows, and meaning of each option of fio itself, for `--help`.
pub fn fio_command_options() -> impl Iterator<Item = (&'static str, bool, &'static str)> {
    OWN.iter().map(|own| (own.name, own.takes != Takes::Nothing, own.meaning))
}
