//! No output is lost in silence: every output of every command, on what cannot take it.
//!
//! `FILES` and `STDOUT` are the outputs there are; a test looks through the help of all commands for one that is missing.
//! What boots a machine (the lab), traces the kernel or takes minutes is only refused here, before it begins; it writes
//! through the same two functions.

use std::fs;
use std::process::{Command, Output};

use crate::shared::{IOSTACK, Room, command, iostack_in, listed_commands, names, printed, refused, said};

/// A run of a moment.
const RUN: &str = "run --on sim:zero --set zero.latency=10us --io-count 10 --quiet";
const SWEEP: &str = "sim sweep zero --set zero.latency=10us --vary queue_depth=1 --io-count 10 --quiet";
const WHAT_IF: &str =
    "sim what-if zero --set zero.latency=20us --base zero.latency=10us --io-count 10 --quiet";
const AB: &str =
    "ab --on sim:zero --a zero.latency=10us --b zero.latency=11us --runtime 2ms --blocks 6 --quiet";
const STAGES: &str = "stages --on sim:zero --set zero.latency=10us --io-count 10 --quiet";
const MERGE: &str = "merge sim:x25e --quick --quiet";
const PROBE: &str = "probe sim:zero --set zero.latency=10us --quick --quiet";
const IOLAT: &str = "iolat . --runtime 150ms --size 16m --direct-only --quiet";
const CHECK: &str = "check . --quick --size 16m --quiet";
const SERVE: &str = "serve sim:zero --listen 127.0.0.1:0 --runtime 1ms --quiet";
const FIO: &str = "fio --name=a --size=40k --on=sim:zero --eta=never";
const HISTORY: &str = "history --store kept --quiet";
const WHY: &str = "why record.jsonl --quiet";
/// A run of I/Os enough for a point.
const CURVE: &str =
    "run --on sim:zero --set zero.latency=10us --io-count 200 --quiet --json --output curve.json";
const CALIBRATE: &str = "calibrate curve.json --quiet";
const EXPERIMENT: &str = "repro mine.toml --quiet";

/// Way to try a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// The row is run.
    Run,
    /// Here, in the slow tests.
    Slow,
    /// Only refused: it boots, traces, or writes what its child prints.
    Refuse,
}

/// Commands, their flags for a file or directory, and how they are tried.
const FILES: &[(&str, &[&str], How)] = &[
    (RUN, &["--output", "--html", "--timeline", "--csv", "--parquet"], How::Run),
    (AB, &["--output", "--html", "--csv", "--parquet"], How::Run),
    (STAGES, &["--output", "--html", "--timeline", "--csv", "--parquet"], How::Run),
    ("layers --pid 1", &["--output", "--html", "--folded", "--speedscope", "--firefox"], How::Refuse),
    ("layers --on sim:zero", &["--timeline", "--csv", "--parquet"], How::Refuse),
    ("watch --runtime 1ms", &["--output", "--html", "--csv", "--parquet"], How::Refuse),
    (WHY, &["--output", "--html", "--csv", "--parquet", "--perfetto", "--folded"], How::Run),
    ("sim show x25e", &["--html"], How::Run),
    (SWEEP, &["--csv", "--parquet", "--output", "--html"], How::Run),
    (WHAT_IF, &["--output", "--html"], How::Run),
    ("lab exec --on sim:x25e", &["--output", "--html", "--csv", "--parquet"], How::Refuse),
    (SERVE, &["--output", "--html", "--csv", "--parquet"], How::Run),
    (EXPERIMENT, &["--output", "--html", "--svg"], How::Run),
    ("sim check optane-class", &["--output"], How::Run),
    (CALIBRATE, &["--sheet", "--output", "--html", "--csv", "--parquet"], How::Run),
    ("doctor", &["--output"], How::Run),
    ("compare outcome.json outcome.json", &["--output"], How::Run),
    (MERGE, &["--output", "--html", "--csv", "--parquet"], How::Run),
    (PROBE, &["--output", "--html", "--csv", "--parquet"], How::Run),
    (HISTORY, &["--output", "--html", "--csv", "--parquet"], How::Run),
    ("report outcome.json", &["--html", "--output", "--csv", "--parquet"], How::Run),
    (IOLAT, &["--output", "--html", "--csv", "--parquet", "--save-reference"], How::Slow),
    (CHECK, &["--output", "--csv", "--parquet"], How::Slow),
    ("cost {} -- true", &["--output"], How::Refuse),
    ("lab cost brd", &["--html", "--write"], How::Refuse),
    ("lab bench brd", &["--html"], How::Refuse),
    ("lab test brd", &["--tap", "--junit"], How::Refuse),
    ("lab sheet 6.1", &["--output"], How::Refuse),
];

/// Command and flag of each row that is tried so, or of all.
fn outputs(how: Option<How>) -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = FILES.iter().filter(move |row| how.is_none_or(|how| row.2 == how));
    rows.flat_map(|(command, flags, _)| flags.iter().map(|flag| (*command, *flag)))
}

/// Flags with a file that is read; `serve.rs` tries the store, and the recorder its folder, which are no results.
const READ: &[&str] = &[
    "--store",
    "--record",
    "--job",
    "--costs",
    "--assert",
    "--rules",
    "--replay",
    "--source",
    "--copy",
    "--prediction",
    "--validation",
];

/// Flags whose value is a directory.
const DIRECTORIES: &[(&str, &str)] = &[("repro", "--svg"), ("check", "--output")];

/// Commands and what they print in each of their forms.
const STDOUT: &[&str] = &[
    "--help",
    "--version",
    "help run",
    "sim list",
    "sim list --json",
    "sim show x25e",
    "sim show x25e --json",
    "sim show x25e --file",
    "sim keys zero",
    "sim keys zero --markdown",
    "sim check optane-class",
    "sim check optane-class --json",
    "sim what-if --list",
    "fleet --help", // the rest is Python, and tried there
    "fio --help",
    "fio --version",
    "fio --cmdhelp=bs",
    "fio --enghelp",
    "fio --showcmd --name=a",
    FIO,
    "options rw",
    "options rw --markdown",
    "manual share",
    "doctor",
    "doctor --json",
    "lab list",
    CALIBRATE,
    "calibrate curve.json --json",
    "repro --list",
    "report outcome.json",
    "report outcome.json --format markdown",
    "report outcome.json --format csv",
    "report outcome.json --format openmetrics",
    "report outcome.json --format fio-json",
    "schema",
    "schema run",
    "compare outcome.json outcome.json",
    "compare outcome.json outcome.json --json",
    "history add outcome.json --store kept",
    HISTORY,
    "history --store kept --json",
    WHY,
    "why record.jsonl --json",
];

/// A room with an outcome and an experiment in it.
fn furnished(name: &str) -> Room {
    let room = Room::new(name);
    room.file("mine.toml", MINE);
    room.file("record.jsonl", RECORD);
    for line in [
        format!("{RUN} --json --output outcome.json"),
        CURVE.to_owned(),
        "history add outcome.json --store kept".to_owned(),
    ] {
        let made = iostack_in(&room.0, &line);
        assert!(made.status.success(), "{}", said(&made));
    }
    room
}

/// An interval of a watch in which one thread slept long.
const RECORD: &str = "{\"kind\":\"watch --lines\",\"schema\":1,\"ended_unix_ns\":2000000000,\"elapsed\":1000000000,\"ios\":[],\"waits\":[],\
                      \"devices\":[],\"slow\":[],\"sleeps\":[{\"process\":7,\"name\":\"db\",\"cgroup\":\"/\",\"thread\":7,\
                      \"ended_unix_ns\":1900000000,\"slept_ns\":9000000,\"runnable_ns\":0,\"waker\":\"\",\"behind\":\"\",\
                      \"stack\":[\"io_schedule\"]}],\"events\":[],\"lost\":0,\"runs\":0,\"kernel_cost_ns\":0,\"own_cost_ns\":0}\n";

const MINE: &str = r#"title = "Ten microseconds"
source = "an example"
measured = "nothing"
simulated = "a device that answers after 10 us"

[[curve]]
name = "one"
device = "zero"
set = { "zero.latency" = "10us" }
job = { io_count = 1000 }

[[plot]]
heading = "One point"
figure = "iops"

[[verdict]]
claim = "cmu.device_a"
field = "read_iops"
says = "A device of 10 us reaches what device A advertises."
test = "value"
within = "10%"
curve = "one"
"#;

/// Runs it with a standard output that takes no byte.
fn with_full_stdout(room: &Room, line: &str) -> Output {
    let full = fs::File::options().write(true).open("/dev/full").expect("Linux has /dev/full");
    let words: Vec<&str> = line.split_whitespace().collect();
    command(&words).current_dir(&room.0).stdout(full).output().expect("the binary was built")
}

/// The command with its flag, where `{}` stands or at the end.
fn typed(command: &str, flag: &str, file: &str) -> String {
    if command.contains("{}") {
        return command.replace("{}", &format!("{flag} {file}"));
    }
    format!("{command} {flag} {file}")
}

fn is_directory(command: &str, flag: &str) -> bool {
    DIRECTORIES.iter().any(|(first, name)| command.starts_with(first) && *name == flag)
}

fn lost_on_stdout(room: &Room, command: &str) {
    let output = with_full_stdout(room, command);
    assert_eq!(output.status.code(), Some(2), "{command}");
    refused(&output, &["cannot write the result to standard output: No space left on device"]);
}

#[test]
fn a_result_that_standard_output_refuses_is_exit_2_with_its_name() {
    let room = furnished("outputs-stdout");
    for command in STDOUT {
        lost_on_stdout(&room, command);
    }
    for command in [RUN, SERVE, STAGES, SWEEP, WHAT_IF, EXPERIMENT, MERGE] {
        lost_on_stdout(&room, command);
        lost_on_stdout(&room, &format!("{command} --json"));
    }
    for form in ["fio-json", "fio-json+", "terse", "text", "markdown", "csv", "openmetrics"] {
        lost_on_stdout(&room, &format!("{RUN} --format {form}"));
    }
    lost_on_stdout(&room, &format!("{SWEEP} --dry-run"));
    lost_on_stdout(&room, &format!("{EXPERIMENT} --markdown"));
}

#[test]
fn what_cannot_be_written_is_refused_before_the_run() {
    let room = furnished("outputs-refused");
    let kept = names(&room.0);
    for (command, flag) in outputs(None) {
        let mut names = vec![("/proc/nothing/x", "/proc/nothing")];
        if !is_directory(command, flag) {
            names.push(("mine.toml", "`mine.toml` exists and is not overwritten"));
        }
        for (name, words) in names {
            let row = typed(command, flag, name);
            let output = iostack_in(&room.0, &row);
            assert!(output.stdout.is_empty(), "{row} ran before it was refused");
            refused(&output, &[words]);
        }
    }
    assert_eq!(fs::read_to_string(room.0.join("mine.toml")).expect("kept"), MINE);
    assert_eq!(names(&room.0), kept, "something was left behind");
}

/// Every two outputs of a command that go to files, with the options that ask for them; logs are the job's.
fn pairs() -> Vec<(&'static str, &'static str, &'static str)> {
    let logs = [(RUN, "--log-trace"), (FIO, "--write_iolog"), (FIO, "--output"), (FIO, "--html")];
    let all: Vec<(&str, &str)> = outputs(None).chain(logs).collect();
    let two =
        all.iter().enumerate().flat_map(|(at, one)| all[at + 1..].iter().map(move |other| (one, other)));
    two.filter(|((one, flag), (other, another))| {
        one == other && !is_directory(one, flag) && !is_directory(one, another)
    })
    .map(|(&(command, one), &(_, other))| (command, one, other))
    .collect()
}

#[test]
fn two_outputs_that_are_one_file_are_refused_before_the_run() {
    let room = furnished("outputs-same");
    fs::create_dir(room.0.join("real")).expect("ours");
    std::os::unix::fs::symlink("real", room.0.join("linked")).expect("ours");
    let kept = names(&room.0);
    let mut rows: Vec<(String, &str, &str)> = Vec::new();
    for (command, one, other) in pairs() {
        rows.push((format!("{command} {one}=real/x {other}=linked/x"), one, other));
    }
    rows.push((format!("{EXPERIMENT} --svg=real --html=linked/mine.svg"), "--svg", "--html"));
    assert!(rows.len() > 40, "the table was not understood: {rows:?}");
    for (row, one, other) in rows {
        let output = iostack_in(&room.0, &row);
        let said = said(&output);
        // fio's exit code for what it does not begin is 1.
        let code = if row.starts_with("fio") { 1 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{row}: {said}");
        assert!(output.stdout.is_empty(), "{row} ran before it was refused");
        let names = |option: &str| said.contains(option.trim_start_matches('-').trim_start_matches("log-"));
        assert!(said.contains("are the same file") && names(one) && names(other), "{row}: {said}");
        assert_eq!(said.lines().count(), 1, "{row}: {said}");
    }
    assert_eq!(names(&room.0), kept, "something was left behind");
    assert_eq!(fs::read_dir(room.0.join("real")).expect("ours").count(), 0, "something was left behind");
    let null = iostack_in(&room.0, &format!("{RUN} --output /dev/null --html /dev/null"));
    assert!(null.status.success(), "{}", said(&null));
}

/// Runs it where the file system at `full` takes names but no byte more; `None` when none can be made here.
fn on_full(room: &Room, arguments: &str) -> Option<Output> {
    let script = "mount -t tmpfs -o size=4k none full && head -c 4096 /dev/zero > full/taken && \
                  \"$@\"; code=$?; ls -A full >&2; exit $code";
    fs::create_dir_all(room.0.join("full")).expect("ours");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(IOSTACK).args(arguments.split_whitespace()).current_dir(&room.0);
    command.output().ok()
}

/// False, said aloud, where no such file system can be mounted.
fn can_fill(room: &Room, test: &str) -> bool {
    let can = on_full(room, "options rw").is_some_and(|output| output.status.success());
    if !can {
        println!("SKIPPED {test}: no mounts in name spaces here");
    }
    can
}

fn lost_on_full(room: &Room, how: How) {
    for (command, flag) in outputs(Some(how)) {
        let file = if is_directory(command, flag) { "full" } else { "full/it" };
        let mut row = typed(command, flag, file);
        // What is lost costs no page beside it.
        let has_page = flag != "--html" && outputs(Some(how)).any(|row| row == (command, "--html"));
        if has_page {
            row += " --html beside.html";
        }
        let output = on_full(room, &row).expect("it was tried before");
        if has_page {
            let page = room.0.join("beside.html");
            let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{row}: the page: {error}"));
            assert!(text.contains("</html>"), "{row}: half a page");
            fs::remove_file(page).expect("ours");
        }
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{row}: {said}");
        assert!(said.contains("cannot write `full/"), "{row}: {said}");
        assert!(said.contains("No space left on device"), "{row}: {said}");
        assert_eq!(said.lines().last(), Some("taken"), "{row}: something was left behind: {said}");
    }
}

#[test]
fn a_file_that_a_full_disk_refuses_is_exit_2_with_its_name() {
    let room = furnished("outputs-full");
    if can_fill(&room, "a_file_that_a_full_disk_refuses_is_exit_2_with_its_name") {
        lost_on_full(&room, How::Run);
    }
}

#[test]
fn a_history_on_a_full_disk_is_exit_2_with_its_name_and_the_store_before_it_holds() {
    let room = furnished("outputs-history");
    if can_fill(&room, "a_history_on_a_full_disk_is_exit_2_with_its_name_and_the_store_before_it_holds") {
        let lost = on_full(&room, "history add outcome.json --store full/kept").expect("it was tried before");
        let said = said(&lost);
        assert_eq!(lost.status.code(), Some(2), "{said}");
        assert!(said.contains("`full/kept") && said.contains("No space left on device"), "{said}");
    }
    let told = iostack_in(&room.0, HISTORY);
    assert!(told.status.success(), "{}", said(&told));
}

#[test]
#[ignore = "slow: two minutes"]
fn what_measures_this_machine_loses_nothing_in_silence_either() {
    let room = furnished("outputs-slow");
    for command in [IOLAT.to_owned(), format!("{IOLAT} --json"), format!("{CHECK} --no-files --json")] {
        lost_on_stdout(&room, &command);
    }
    if can_fill(&room, "what_measures_this_machine_loses_nothing_in_silence_either") {
        lost_on_full(&room, How::Slow);
    }
}

/// The commands that `help` of `path` lists.
fn commands(room: &Room, path: &str) -> Vec<String> {
    let help = printed(&iostack_in(&room.0, &format!("{path} --help")));
    listed_commands(&help).iter().map(|name| format!("{path} {name}").trim().to_owned()).collect()
}

#[test]
fn every_output_of_every_command_is_in_the_tables() {
    let room = furnished("outputs-tables");
    let mut missing = Vec::new();
    let mut paths = commands(&room, "");
    let nested: Vec<String> = paths.iter().flat_map(|path| commands(&room, path)).collect();
    paths.extend(nested);
    for path in &paths {
        let text = iostack_in(&room.0, &format!("{path} --help")).stdout;
        for line in String::from_utf8_lossy(&text).lines() {
            let mut words = line.split_whitespace();
            let (Some(flag), Some(value)) = (words.next(), words.next()) else { continue };
            let is_file = flag.starts_with("--") && ["<FILE>", "<DIR>", "<TRACE>"].contains(&value);
            let is_tried = || outputs(None).any(|row| row.0.starts_with(path.as_str()) && row.1 == flag);
            if is_file && !READ.contains(&flag) && !is_tried() {
                missing.push(format!("{path} {flag}"));
            }
        }
        let printed =
            STDOUT.iter().chain(&[RUN, STAGES, SWEEP, WHAT_IF, EXPERIMENT, MERGE, PROBE, IOLAT, CHECK]);
        let mut all = printed.copied().chain(FILES.iter().map(|row| row.0));
        // A shell prints by itself; `up`, `test` and `bisect` fetch and boot, and print as all others do.
        let exempt = ["lab shell", "lab up", "lab test", "lab bisect"].contains(&path.as_str());
        if !exempt && !all.any(|row| row.starts_with(path.as_str())) {
            missing.push(path.clone());
        }
    }
    assert!(paths.len() > 20, "the help was not understood: {paths:?}");
    assert!(missing.is_empty(), "not tried by any test of this file: {missing:#?}");
}
