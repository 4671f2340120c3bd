//! `iostack cost`: user instructions, system calls and context switches per I/O of any program.

use std::cell::Cell;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::bail;
use iostack_host::save::{self, Output};
use iostack_model::Nanos;
use iostack_model::answers::labelled;
use iostack_stepcount::{CountedBy, PlaceCost, Question, Subject, UserCost};
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::Ended;
use crate::talk::{Talk, data, wrapped};
use crate::written::json_pretty;

/// No job file is larger.
const JOB_FILE_MAX: u64 = 1 << 20;

const LONG_HELP: &str = "\
How it counts: the busiest thread of the command (or process) and all its children
is executed one instruction at a time (ptrace), so no performance counters are
needed and the result repeats. I/Os are what its system calls carry: read, write,
pread and the like on files and block devices, io_submit, io_uring_enter. Stepping
slows the thread about a thousandfold; so that work it does by time is not charged
to a thousandth of its I/Os, the time-stamp counter (rdtsc) of a command's thread is
held back meanwhile. Where a dear turn of the loop comes back after a fixed number
of I/Os, as planning in batches does, whole such beats are counted, and dear turns off
the beat, such as the end of an interval, are told apart. A thread that polls for completions finds them sooner than at
full speed. Switches and CPU time come from half a second in which it runs freely.

A command or process whose words say that it reads (fio's and iostack's rw=, also in
job files) is stepped when it does: as long as it only writes it lays out its file.

The command should run for 30 seconds or more; it is ended (SIGTERM) when counting
is done. A process given with --pid is left running.

Examples:
  iostack cost -- fio --name=a --filename=f --size=256m --rw=randread \\
      --direct=1 --time_based --runtime=60
  iostack cost --pid $(pgrep -n fio)";

/// Arguments of `iostack cost`.
#[derive(clap::Args)]
#[command(after_long_help = LONG_HELP)]
pub(crate) struct CostArgs {
    /// The command and its arguments, behind `--`. It is started, counted, and ended.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "pid")]
    command: Vec<OsString>,
    /// Count a process that runs already, and leave it running.
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pid: Option<u32>,
    /// Time the command gets before counting starts.
    #[arg(long, value_name = "TIME", default_value = "1s", conflicts_with = "pid")]
    after: Nanos,
    /// User instructions to count; up to five times as many when they are uneven.
    #[arg(long, value_name = "COUNT", default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    instructions: u64,
    /// Longest time to count, and before that to wait until a file is laid out.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    patience: Nanos,
    /// New file for what the command prints. Without it, the end of it is shown when something fails.
    #[arg(long, value_name = "FILE", conflicts_with = "pid")]
    output: Option<PathBuf>,
    /// Let the stepped thread see the real time. Work it does by time is then charged to far fewer I/Os.
    #[arg(long, conflicts_with = "pid")]
    real_clock: bool,
    /// Print everything as JSON, also the executions of every instruction.
    #[arg(long)]
    json: bool,
    /// List this many functions.
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    functions: usize,
}

/// Answer that `--json` prints.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Counted {
    #[serde(flatten)]
    cost: UserCost,
}

iostack_model::kinds! {
    Counted: "cost", unlabelled;
}

/// Counts and prints.
pub(crate) fn run(args: &CostArgs) -> anyhow::Result<Ended> {
    let subject = match (args.pid, args.command.is_empty()) {
        (Some(pid), _) => Subject::Process(pid),
        (None, false) => Subject::Command { words: args.command.clone(), output: args.output.clone() },
        (None, true) => {
            bail!("no command was given; write it behind `--`, as in `iostack cost -- fio job.fio`")
        }
    };
    save::refuse(Output::new("--output", args.output.as_ref()))?;
    let words = match args.pid {
        Some(pid) => words_of(pid),
        None => args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    let talk = Talk::new(args.json);
    let said = Cell::new(false);
    let answer = iostack_stepcount::cost(&Question {
        subject,
        warm_up: args.after,
        instructions: args.instructions,
        reads: iostack_stepcount::reads(&words, small_file),
        patience: args.patience,
        hold_clock: !args.real_clock,
        stop: iostack_host::signals::stop_flag(),
        talk: &|text| {
            said.set(true);
            talk.say(text);
        },
    })?;
    if args.json {
        data(&json_pretty(&labelled(&Counted { cost: answer }))?);
    } else {
        data(&format!("{}{}", if said.get() { "\n" } else { "" }, table(&answer, args.functions)));
    }
    Ok(Ended::Done)
}

/// The command line of a running process.
fn words_of(pid: u32) -> Vec<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The text of a file that may be a job file.
fn small_file(name: &str) -> Option<String> {
    let facts = std::fs::metadata(name).ok()?;
    if !facts.is_file() || facts.len() > JOB_FILE_MAX {
        return None;
    }
    std::fs::read_to_string(name).ok()
}

/// One screen of 80 columns.
fn table(cost: &UserCost, functions: usize) -> String {
    let mut text = String::new();
    let mut line = |words: &str| text.extend([words, "\n"]);
    line(&cut(&format!("Cost per I/O of {}", cost.subject), 80));
    line(&format!(
        "thread {} ({}), {:.0} % of the program's CPU time; {} I/Os in {} instructions",
        cost.tid,
        cost.thread,
        cost.cpu_share * 100.0,
        cost.ios,
        cost.instructions
    ));
    line("");
    line(&row("user instructions", cost.instructions_per_io, &spread(cost)));
    if cost.apart_turns > 0 {
        let each = cost.apart_instructions as f64 / cost.apart_turns as f64;
        line(&row(
            "  and by time, not per I/O",
            each,
            &format!("instructions each, {} times", cost.apart_turns),
        ));
    }
    line(&row("system calls", cost.calls_per_io, ""));
    for call in &cost.calls {
        let carried = if call.ios > 0 {
            format!("carries {:.4} I/Os", call.ios as f64 / call.count as f64)
        } else {
            String::new()
        };
        line(&row(&format!("  {}", call.name), call.per_io, &carried));
    }
    text.push_str(&free_run(cost));
    text.push_str(&places("instructions by file", &cost.objects, 5));
    text.push_str(&places("instructions by function", &cost.functions, functions));
    for doubt in &cost.doubts {
        let _ = write!(text, "\n{}", wrapped("! ", &doubt.to_string(), 2, 78));
    }
    text.push_str(
        "\nNext: the same for another engine or batch size, and compare; --json for every number.\n",
    );
    text
}

fn row(label: &str, value: f64, note: &str) -> String {
    let number = if value >= 100.0 { format!("{value:.1}") } else { format!("{value:.3}") };
    format!("  {label:<30}{number:>12}   {note}").trim_end().to_owned()
}

fn spread(cost: &UserCost) -> String {
    format!("±{:.2} % between fifths", cost.spread * 100.0)
}

fn free_run(cost: &UserCost) -> String {
    let Some(free) = &cost.free_run else { return String::new() };
    let how = match free.counted_by {
        CountedBy::Ring => "by the ring's completions",
        CountedBy::Calls => "by read and write calls",
        CountedBy::Bytes => "by bytes",
    };
    let rows = [
        format!("\nrunning freely for {}, {:.0} I/Os/s, counted {how}", free.window, free.ios_per_second),
        row("switches, waiting", free.switches_voluntary_per_io, ""),
        row("switches, preempted", free.switches_involuntary_per_io, ""),
        row("CPU time, us", free.cpu_ns_per_io / 1000.0, &format!("thread {:.0} % busy", free.busy * 100.0)),
    ];
    rows.join("\n") + "\n"
}

fn places(title: &str, places: &[PlaceCost], most: usize) -> String {
    if most == 0 {
        return String::new();
    }
    let mut text = format!("\n{title}\n");
    for place in places.iter().take(most) {
        let label = match &place.function {
            Some(function) => format!("{} {function}", place.object),
            None => place.object.clone(),
        };
        let _ =
            writeln!(text, "  {:<51}{:>9.1}{:>8.1} %", cut(&label, 50), place.per_io, place.share * 100.0);
    }
    text
}

/// The first `width` characters, with a mark where something is missing.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 2).chain("..".chars()).collect()
}
