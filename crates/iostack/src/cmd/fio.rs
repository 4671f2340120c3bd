//! `iostack fio ...`: fio's command line, so that a script runs with `alias fio='iostack fio'`.
//!
//! What is typed means what it means to fio, and what is printed has fio's forms; what is measured, and what nobody may
//! write over, is as for `iostack run`.

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::ensure;
use iostack::targets::{TargetFlags, TargetTable};
use iostack_host::Growing;
use iostack_host::save::{self, Output, Taken};
use iostack_model::{Job, OutcomeFile};
use iostack_report::fio;
use iostack_target::Wanted;
use iostack_workload::gather;
use iostack_workload::{Dialect, FioAsked, FioFormat, FioInstead, ParseContext};

use crate::cmd::options;
use crate::cmd::run::{FinishedRun, log_outputs};
use crate::exit::{self, Ended};
use crate::talk::{Talk, data, paragraph};
use crate::written;

/// Arguments of `iostack fio`.
#[derive(clap::Args)]
pub(crate) struct FioArgs {
    /// As fio takes them: `iostack fio --help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FIO_ARGUMENTS")]
    words: Vec<String>,
}

/// Result of a command that ran; it may be that its answer could not be written.
type FioEnd = anyhow::Result<Ended>;

/// Exit status of a run that a signal ended early, as of fio.
const INTERRUPTED: u8 = 128;

/// The status that a shell gives of fio after SIGHUP, which kills it.
const HUNG_UP: u8 = 129;

/// Does what the command line asks. Exit codes are fio's, and 2 for what cannot be written.
pub(crate) fn run(args: &FioArgs) -> ExitCode {
    iostack_host::signals::obey_although_ignored();
    match asked(&args.words) {
        Ok(told) => {
            let hung_up = iostack_host::signals::was_hung_up();
            exit::code_or(&told, if hung_up { HUNG_UP } else { INTERRUPTED })
        }
        Err(error) => {
            exit::code(&Err(error));
            ExitCode::from(if exit::is_interrupted() { INTERRUPTED } else { 1 })
        }
    }
}

/// Advice to use `iostack fio`, when an option of fio's was typed at another command.
pub(crate) fn meant(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue};
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
    let name = typed.trim_start_matches('-').split('=').next().unwrap_or_default();
    let known = iostack_workload::options_reference();
    known.iter().find(|option| option.dialect == Dialect::Fio && option.is_called(name))?;
    Some(format!(
        "`--{name}` is fio's: `iostack fio --name=job1 --{name}=..` takes fio's command line as it is"
    ))
}

/// An error: it was refused, or failed.
fn asked(words: &[String]) -> anyhow::Result<FioEnd> {
    let context = ParseContext {
        env: &|name| std::env::var(name).ok(),
        include: &|path| std::fs::read(path).map(|bytes| iostack_workload::fio_text(&bytes)),
        lenient: false,
        cpus: iostack_host::machine().cpu.cores_online,
    };
    let iostack_workload::FioCommand { file, asked } =
        iostack_workload::parse_fio_command(words, &context, &job_file)?;
    let jobs = gather::of_sections(file.jobs, &asked.sections)?;
    let said = match &asked.instead {
        None => return load(jobs, &asked),
        Some(FioInstead::Help) => say(&help()),
        Some(FioInstead::Version) => say(&format!("{}\n", fio::version(env!("CARGO_PKG_VERSION")))),
        Some(FioInstead::OptionHelp(name)) => options::of_fio(name)?,
        Some(FioInstead::Engines) => say(&engines()),
        Some(FioInstead::Parse) => Ended::Done,
        Some(FioInstead::Show) => say(&show(&jobs)),
    };
    Ok(Ok(said))
}

/// `-` is stdin, as for fio.
fn job_file(path: &Path) -> std::io::Result<String> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        Ok(iostack_workload::fio_text(&bytes))
    } else {
        std::fs::read(path).map(|bytes| iostack_workload::fio_text(&bytes))
    }
}

fn say(text: &str) -> Ended {
    data(text);
    Ended::Done
}

fn load(mut jobs: Vec<Job>, asked: &FioAsked) -> anyhow::Result<FioEnd> {
    // From now on it ends nothing.
    iostack_host::signals::ask_flag();
    // Scripts take a word on stderr for a failure.
    let mut talk = Talk::new(asked.quiet || !std::io::stderr().is_terminal());
    asked.unreported.iter().for_each(|line| talk.warn(line));
    let wanted = Wanted { status: asked.status_every, ..Wanted::default() };
    let growing = asked.output.as_ref().map(|path| Arc::new(Growing::new(path, asked.destroy_data)));
    let begun = Arc::new(AtomicBool::new(false));
    let teller = (asked.clone(), growing.clone(), Arc::clone(&begun));
    talk = talk.telling(move |file| {
        let (asked, growing, begun) = &teller;
        let text = report(file, asked, !begun.swap(true, Ordering::Relaxed));
        growing.as_ref().map_or_else(|| data(&text), |growing| growing.add(&text));
    });
    if asked.shows_always {
        let shown = jobs.clone();
        talk = talk.showing(move |progress| data(&fio::eta(progress, &shown)));
    }
    for job in jobs.iter_mut().filter(|_| asked.readonly) {
        ensure!(!job.destroys(), "job `{}` writes or trims, and --readonly was given", job.name);
        job.beforehand.writes_none = true;
    }
    gather::apply(&mut jobs, &[])?;
    refuse(asked, &jobs)?;
    for job in &mut jobs {
        job.split_latency = true;
    }
    // Jobs that name nothing make their files where they are started.
    for job in jobs.iter_mut().filter(|job| job.files.is_empty() && job.directory.is_none()) {
        job.directory = Some(".".into());
    }
    let table = TargetTable::new(TargetFlags::default(), asked.destroy_data);
    let target = table.target(asked.on.as_ref().map(AsRef::as_ref))?;
    let ran = FinishedRun::of_jobs(jobs, target, asked.destroy_data, wanted, &talk)?;
    let told = begun.load(Ordering::Relaxed);
    let text = report(&ran.file, asked, !told);
    let answer = match (growing.filter(|_| told), &asked.output) {
        (Some(growing), _) => {
            growing.add(&text);
            growing.finish()
        }
        (None, Some(path)) if asked.destroy_data => save::replace(path, &text),
        (None, output) => written::answer(output.as_ref(), &text),
    };
    Ok(ran.end(answer, asked.html.as_ref(), &talk))
}

/// Refuses outputs that cannot be written, before the run.
fn refuse(asked: &FioAsked, jobs: &[Job]) -> anyhow::Result<()> {
    let mut outputs: Vec<Output<'_>> = Output::new("--html", asked.html.as_ref()).into_iter().collect();
    let taken = if asked.destroy_data { Taken::Replaced } else { Taken::Kept };
    outputs.extend(Output::new("--output", asked.output.as_ref()).map(|output| Output { taken, ..output }));
    let logs = fio::log_names(jobs);
    outputs.extend(log_outputs(&logs, asked.destroy_data));
    save::refuse(outputs)
}

/// `headed` unless one came before.
fn report(file: &OutcomeFile, asked: &FioAsked, headed: bool) -> String {
    let formats = if asked.formats.is_empty() { &[FioFormat::Normal][..] } else { &asked.formats };
    formats
        .iter()
        .map(|format| match format {
            FioFormat::Normal => fio::normal(file, std::process::id(), headed),
            FioFormat::Terse => fio::terse(file, asked.terse_version.unwrap_or(fio::TERSE_VERSION)),
            FioFormat::Json => fio::json(file, false),
            FioFormat::JsonPlus => fio::json(file, true),
        })
        .collect()
}

/// `fio --bs=4k --name=a --rw=randread`: the jobs as they were typed, each section once.
fn show(jobs: &[Job]) -> String {
    let mut words = vec!["fio".to_owned()];
    for (index, job) in jobs.iter().enumerate().filter(|(_, job)| job.thread_first == 0) {
        let global = if index == 0 { &job.options_global[..] } else { &[] };
        words.extend(global.iter().map(word));
        words.push(format!("--name={}", job.section()));
        words.extend(job.options.iter().map(word));
    }
    words.join(" ") + "\n"
}

fn word((name, value): &(String, String)) -> String {
    if value.is_empty() { format!("--{name}") } else { format!("--{name}={value}") }
}

/// Text of `iostack fio --help`.
pub(super) fn help() -> String {
    let mut text = "iostack fio [options] [job options] <job file(s)>\n".to_owned();
    for (name, takes_value, meaning) in iostack_workload::fio_command_options() {
        let name = format!("  --{name}{}", if takes_value { "=.." } else { "" });
        text += &paragraph(&format!("{name:<24}"), meaning, 24);
    }
    text + "\n`iostack fio --cmdhelp` lists the job options. Exit 0: done; 1: it failed\nor was refused; 2: the result could not be written.\n"
}

fn engines() -> String {
    let names = iostack_workload::options_reference();
    let row = names.iter().find(|option| option.name == "ioengine").expect("it is in the table");
    row.example.replace(", ", "\n") + "\n"
}
