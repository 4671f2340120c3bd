//! No output is lost in silence: every output of every command, on what cannot take it.
//!
//! `FILES` and `STDOUT` are the outputs there are; a test looks through the help of all commands for one that is missing.
//! What boots a machine (the lab), traces the kernel or takes minutes is only refused here, before it begins; it writes
//! through the same two functions.

#[path = "lab/room.rs"]
mod room;

use std::fs;
use std::process::{Command, Output, Stdio};

use room::Room;

/// A run of a moment.
const RUN: &str = "run --on sim:zero --set zero.latency=10us --io-count 10 --quiet";
const SWEEP: &str = "sim sweep zero --set zero.latency=10us --vary queue_depth=1 --io-count 10 --quiet";
const WHAT_IF: &str =
    "sim what-if zero --set zero.latency=20us --base zero.latency=10us --io-count 10 --quiet";
const AB: &str =
    "ab --on sim:zero --a zero.latency=10us --b zero.latency=11us --runtime 2ms --blocks 6 --quiet";
const STAGES: &str = "stages --on sim:zero --set zero.latency=10us --io-count 10 --quiet";
const MERGE: &str = "merge sim:x25e --quick --quiet";
const IOLAT: &str = "iolat . --runtime 150ms --size 16m --direct-only --quiet";
const CHECK: &str = "check . --quick --size 16m --quiet";
const SERVE: &str = "serve sim:zero --listen 127.0.0.1:0 --runtime 1ms --quiet";
const FIO: &str = "fio --name=a --size=40k --on=sim:zero --eta=never";
const HISTORY: &str = "history --store kept --quiet";
const EXPERIMENT: &str = "repro mine.toml --quiet";

/// When a row is carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Here.
    Run,
    /// Here, in the slow tests.
    Slow,
    /// Only refused: it boots, traces, or writes what its child prints.
    Refuse,
}

/// Command, its flag for a file or directory, and how it is tried.
const FILES: &[(&str, &str, How)] = &[
    (RUN, "--output", How::Run),
    (RUN, "--html", How::Run),
    (RUN, "--timeline", How::Run),
    (RUN, "--csv", How::Run),
    (RUN, "--parquet", How::Run),
    (AB, "--output", How::Run),
    (AB, "--html", How::Run),
    (STAGES, "--output", How::Run),
    (STAGES, "--html", How::Run),
    (STAGES, "--timeline", How::Run),
    (AB, "--csv", How::Run),
    (AB, "--parquet", How::Run),
    (STAGES, "--csv", How::Run),
    (STAGES, "--parquet", How::Run),
    ("layers --pid 1", "--output", How::Refuse),
    ("layers --pid 1", "--html", How::Refuse),
    ("layers --on sim:zero", "--timeline", How::Refuse),
    ("layers --on sim:zero", "--csv", How::Refuse),
    ("layers --on sim:zero", "--parquet", How::Refuse),
    ("sim show x25e", "--html", How::Run),
    (SWEEP, "--csv", How::Run),
    (SWEEP, "--parquet", How::Run),
    (SWEEP, "--output", How::Run),
    (SWEEP, "--html", How::Run),
    (WHAT_IF, "--output", How::Run),
    (WHAT_IF, "--html", How::Run),
    ("lab exec --on sim:x25e", "--output", How::Refuse),
    ("lab exec --on sim:x25e", "--html", How::Refuse),
    ("lab exec --on sim:x25e", "--csv", How::Refuse),
    ("lab exec --on sim:x25e", "--parquet", How::Refuse),
    (SERVE, "--output", How::Run),
    (SERVE, "--html", How::Run),
    (SERVE, "--csv", How::Run),
    (SERVE, "--parquet", How::Run),
    (EXPERIMENT, "--output", How::Run),
    ("sim check optane-class", "--output", How::Run),
    ("doctor", "--output", How::Run),
    ("compare outcome.json outcome.json", "--output", How::Run),
    (EXPERIMENT, "--html", How::Run),
    (EXPERIMENT, "--svg", How::Run),
    (MERGE, "--output", How::Run),
    (MERGE, "--html", How::Run),
    (MERGE, "--csv", How::Run),
    (MERGE, "--parquet", How::Run),
    (HISTORY, "--output", How::Run),
    (HISTORY, "--html", How::Run),
    (HISTORY, "--csv", How::Run),
    (HISTORY, "--parquet", How::Run),
    ("report outcome.json", "--html", How::Run),
    ("report outcome.json", "--output", How::Run),
    ("report outcome.json", "--csv", How::Run),
    ("report outcome.json", "--parquet", How::Run),
    (IOLAT, "--output", How::Slow),
    (IOLAT, "--html", How::Slow),
    (IOLAT, "--csv", How::Slow),
    (IOLAT, "--parquet", How::Slow),
    (IOLAT, "--save-reference", How::Slow),
    (CHECK, "--output", How::Slow),
    (CHECK, "--csv", How::Slow),
    (CHECK, "--parquet", How::Slow),
    ("cost {} -- true", "--output", How::Refuse),
    ("lab cost brd", "--html", How::Refuse),
    ("lab cost brd", "--write", How::Refuse),
    ("lab bench brd", "--html", How::Refuse),
];

/// Flags with a file that is read; `serve.rs` tries the store, which is no result.
const READ: &[&str] =
    &["--store", "--job", "--costs", "--assert", "--rules", "--replay", "--source", "--copy"];

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
];

impl Room {
    /// With an outcome and an experiment in it.
    fn furnished(name: &str) -> Room {
        let room = Room::new(name);
        fs::write(room.0.join("mine.toml"), MINE).expect("a new file");
        let made = room.iostack(&format!("{RUN} --json --output outcome.json"), Stdio::piped());
        assert!(made.status.success(), "{}", talk(&made));
        let kept = room.iostack("history add outcome.json --store kept", Stdio::piped());
        assert!(kept.status.success(), "{}", talk(&kept));
        room
    }

    fn iostack(&self, arguments: &str, stdout: Stdio) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iostack"));
        command.args(arguments.split_whitespace()).current_dir(&self.0).stdout(stdout).stderr(Stdio::piped());
        command.spawn().expect("the binary was built").wait_with_output().expect("it ends")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a directory");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

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

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn full() -> Stdio {
    Stdio::from(fs::File::options().write(true).open("/dev/full").expect("Linux has /dev/full"))
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
    let output = room.iostack(command, full());
    let talk = talk(&output);
    assert_eq!(output.status.code(), Some(2), "{command}: {talk}");
    let said = "cannot write the result to standard output: No space left on device";
    assert!(talk.contains(said), "{command}: {talk}");
}

#[test]
fn a_result_that_standard_output_refuses_is_exit_2_with_its_name() {
    let room = Room::furnished("outputs-stdout");
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
fn a_lost_answer_costs_no_file_beside_it() {
    let room = Room::furnished("outputs-beside");
    let output = room.iostack(&format!("{RUN} --html page.html"), full());
    assert_eq!(output.status.code(), Some(2), "{}", talk(&output));
    assert!(fs::read_to_string(room.0.join("page.html")).expect("written").contains("</html>"));
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let room = Room::furnished("outputs-pipe");
    let mut child = Command::new(env!("CARGO_BIN_EXE_iostack"))
        .args(["options"])
        .current_dir(&room.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), talk(&output).as_str()), (Some(0), ""));
}

#[test]
fn what_cannot_be_written_is_refused_before_the_run() {
    let room = Room::furnished("outputs-refused");
    let kept = room.names();
    for (command, flag, _) in FILES {
        let row = format!("{command} {flag}");
        let missing = room.iostack(&typed(command, flag, "/proc/nothing/x"), Stdio::piped());
        let said = talk(&missing);
        assert_eq!(missing.status.code(), Some(2), "{row}: {said}");
        assert!(missing.stdout.is_empty(), "{row} ran before it was refused");
        assert!(said.contains("/proc/nothing"), "{row}: {said}");
        if is_directory(command, flag) {
            continue;
        }
        let exists = room.iostack(&typed(command, flag, "mine.toml"), Stdio::piped());
        let said = talk(&exists);
        assert_eq!(exists.status.code(), Some(2), "{row}: {said}");
        assert!(exists.stdout.is_empty(), "{row} ran before it was refused");
        assert!(said.contains("`mine.toml` exists and is not overwritten"), "{row}: {said}");
    }
    assert_eq!(fs::read_to_string(room.0.join("mine.toml")).expect("kept"), MINE);
    assert_eq!(room.names(), kept, "something was left behind");
}

/// Every two outputs of a command that go to files, with the options that ask for them; logs are the job's.
fn pairs() -> Vec<(&'static str, &'static str, &'static str)> {
    let rows: Vec<(&str, &str)> = FILES.iter().map(|(command, flag, _)| (*command, *flag)).collect();
    let logs = [(RUN, "--log-trace"), (FIO, "--write_iolog"), (FIO, "--output"), (FIO, "--html")];
    let all: Vec<(&str, &str)> = rows.into_iter().chain(logs).collect();
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
    let room = Room::furnished("outputs-same");
    fs::create_dir(room.0.join("real")).expect("ours");
    std::os::unix::fs::symlink("real", room.0.join("linked")).expect("ours");
    let kept = room.names();
    let mut rows: Vec<(String, &str, &str)> = Vec::new();
    for (command, one, other) in pairs() {
        rows.push((format!("{command} {one}=real/x {other}=linked/x"), one, other));
    }
    rows.push((format!("{EXPERIMENT} --svg=real --html=linked/mine.svg"), "--svg", "--html"));
    assert!(rows.len() > 40, "the table was not understood: {rows:?}");
    for (row, one, other) in rows {
        let output = room.iostack(&row, Stdio::piped());
        let said = talk(&output);
        // fio's exit code for what it does not begin is 1.
        let code = if row.starts_with("fio") { 1 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{row}: {said}");
        assert!(output.stdout.is_empty(), "{row} ran before it was refused");
        let names = |option: &str| said.contains(option.trim_start_matches('-').trim_start_matches("log-"));
        assert!(said.contains("are the same file") && names(one) && names(other), "{row}: {said}");
        assert_eq!(said.lines().count(), 1, "{row}: {said}");
    }
    assert_eq!(room.names(), kept, "something was left behind");
    assert_eq!(fs::read_dir(room.0.join("real")).expect("ours").count(), 0, "something was left behind");
    let null = room.iostack(&format!("{RUN} --output /dev/null --html /dev/null"), Stdio::piped());
    assert!(null.status.success(), "{}", talk(&null));
}

/// Runs it where the file system at `full` takes names but no byte more; `None` when none can be made here.
fn on_full(room: &Room, arguments: &str) -> Option<Output> {
    let script = "mount -t tmpfs -o size=4k none full && head -c 4096 /dev/zero > full/taken && \
                  \"$@\"; code=$?; ls -A full >&2; exit $code";
    fs::create_dir_all(room.0.join("full")).expect("ours");
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_iostack")).args(arguments.split_whitespace()).current_dir(&room.0);
    command.output().ok()
}

fn lost_on_full(room: &Room, rows: &[(&str, &str, How)]) {
    for (command, flag, _) in rows {
        let file = if is_directory(command, flag) { "full" } else { "full/it" };
        let mut row = typed(command, flag, file);
        // What is lost costs no page beside it.
        let has_page =
            *flag != "--html" && rows.iter().any(|(other, flag, _)| (other, flag) == (command, &"--html"));
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
        let said = talk(&output);
        assert_eq!(output.status.code(), Some(2), "{row}: {said}");
        assert!(said.contains("cannot write `full/"), "{row}: {said}");
        assert!(said.contains("No space left on device"), "{row}: {said}");
        assert_eq!(said.lines().last(), Some("taken"), "{row}: something was left behind: {said}");
    }
}

fn rows(how: How) -> Vec<(&'static str, &'static str, How)> {
    FILES.iter().copied().filter(|row| row.2 == how).collect()
}

#[test]
fn a_file_that_a_full_disk_refuses_is_exit_2_with_its_name() {
    let room = Room::furnished("outputs-full");
    match on_full(&room, "options rw") {
        Some(output) if output.status.success() => lost_on_full(&room, &rows(How::Run)),
        _ => println!(
            "SKIPPED a_file_that_a_full_disk_refuses_is_exit_2_with_its_name: no mounts in name spaces here"
        ),
    }
}

#[test]
fn a_history_on_a_full_disk_is_exit_2_with_its_name_and_the_store_before_it_holds() {
    let room = Room::furnished("outputs-history");
    match on_full(&room, "options rw") {
        Some(output) if output.status.success() => {
            let lost =
                on_full(&room, "history add outcome.json --store full/kept").expect("it was tried before");
            let said = talk(&lost);
            assert_eq!(lost.status.code(), Some(2), "{said}");
            assert!(said.contains("`full/kept") && said.contains("No space left on device"), "{said}");
        }
        _ => println!(
            "SKIPPED a_history_on_a_full_disk_is_exit_2_with_its_name_and_the_store_before_it_holds: no mounts in name spaces here"
        ),
    }
    let told = room.iostack(HISTORY, Stdio::piped());
    assert!(told.status.success(), "{}", talk(&told));
}

#[test]
#[ignore = "slow: two minutes"]
fn what_measures_this_machine_loses_nothing_in_silence_either() {
    let room = Room::furnished("outputs-slow");
    for command in [IOLAT.to_owned(), format!("{IOLAT} --json"), format!("{CHECK} --no-files --json")] {
        lost_on_stdout(&room, &command);
    }
    match on_full(&room, "options rw") {
        Some(output) if output.status.success() => lost_on_full(&room, &rows(How::Slow)),
        _ => println!(
            "SKIPPED what_measures_this_machine_loses_nothing_in_silence_either: no mounts in name spaces here"
        ),
    }
}

/// The commands that `help` of `path` lists.
fn commands(room: &Room, path: &str) -> Vec<String> {
    let text = room.iostack(&format!("{path} --help"), Stdio::piped()).stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    let listed =
        text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(|name| format!("{path} {name}").trim().to_owned()).collect()
}

#[test]
fn every_output_of_every_command_is_in_the_tables() {
    let room = Room::furnished("outputs-tables");
    let mut missing = Vec::new();
    let mut paths = commands(&room, "");
    let nested: Vec<String> = paths.iter().flat_map(|path| commands(&room, path)).collect();
    paths.extend(nested);
    for path in &paths {
        let text = room.iostack(&format!("{path} --help"), Stdio::piped()).stdout;
        for line in String::from_utf8_lossy(&text).lines() {
            let mut words = line.split_whitespace();
            let (Some(flag), Some(value)) = (words.next(), words.next()) else { continue };
            let is_file = flag.starts_with("--") && ["<FILE>", "<DIR>", "<TRACE>"].contains(&value);
            let tried = |row: &(&str, &str, How)| row.0.starts_with(path.as_str()) && row.1 == flag;
            if is_file && !READ.contains(&flag) && !FILES.iter().any(tried) {
                missing.push(format!("{path} {flag}"));
            }
        }
        let printed = STDOUT.iter().chain(&[RUN, STAGES, SWEEP, WHAT_IF, EXPERIMENT, MERGE, IOLAT, CHECK]);
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
