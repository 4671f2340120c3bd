//! What is left behind when a run is ended from outside? The tests start themselves again as the run that is ended.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;

use iostack_host::{Scratch, signals, sweep};
use iostack_model::Bytes;
use iostack_testkit::folder;

const DIRECTORY: &str = "IOSTACK_TEST_DIRECTORY";

fn left_in(room: &Path) -> usize {
    std::fs::read_dir(room).expect("it is there").count()
}

/// The run: makes a scratch file, says so, and ends only when told to.
#[test]
#[ignore = "helper: the run of the other tests; it ends only by signals"]
fn the_run_that_is_ended() {
    let room = std::env::var_os(DIRECTORY).expect("the other tests say where");
    let stop = signals::stop_flag();
    let _scratch = Scratch::create(Path::new(&room), Bytes::mib(1)).expect("1 MiB is free");
    println!("ready");
    let mut said = false;
    loop {
        if stop.load(Ordering::SeqCst) && !said {
            println!("stopping");
            said = true;
        }
        if said && std::env::var_os("IOSTACK_TEST_POLITE").is_some() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Starts the run and waits until it has its scratch file.
fn start(room: &Path, polite: bool) -> (Child, BufReader<std::process::ChildStdout>) {
    let program = std::env::current_exe().expect("this test's own program");
    let mut command = Command::new(program);
    command
        .args(["--exact", "signals::the_run_that_is_ended", "--nocapture", "--ignored"])
        .env(DIRECTORY, room);
    if polite {
        command.env("IOSTACK_TEST_POLITE", "1");
    }
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it can be started");
    let mut output = BufReader::new(run.stdout.take().expect("it is piped"));
    wait_for(&mut output, "ready");
    assert_eq!(left_in(room), 1, "the scratch file is there while the run is");
    (run, output)
}

fn wait_for(output: &mut BufReader<std::process::ChildStdout>, word: &str) {
    let mut line = String::new();
    while !line.ends_with(&format!("{word}\n")) {
        line.clear();
        assert!(output.read_line(&mut line).expect("it is readable") > 0, "the run ended before `{word}`");
    }
}

fn send(run: &Child, signal: &str) {
    let command = format!("kill -{signal} {}", run.id());
    assert!(Command::new("sh").args(["-c", &command]).status().expect("a shell").success());
}

#[test]
fn the_first_signal_lets_a_run_end_by_itself() {
    let room = folder!("signals-first");
    let (mut run, mut output) = start(&room, true);
    send(&run, "INT");
    wait_for(&mut output, "stopping");
    // The harness still wants to print its result.
    std::io::copy(&mut output, &mut std::io::sink()).expect("it is readable");
    assert!(run.wait().expect("it ends").success());
    assert_eq!(left_in(&room), 0);
}

#[test]
fn the_second_signal_ends_a_run_and_still_removes_its_files() {
    let room = folder!("signals-second");
    let (mut run, mut output) = start(&room, false);
    send(&run, "TERM");
    wait_for(&mut output, "stopping");
    assert_eq!(left_in(&room), 1, "the first signal ends nothing");
    send(&run, "TERM");
    assert_eq!(run.wait().expect("it ends").code(), Some(130));
    assert_eq!(left_in(&room), 0);
}

#[test]
fn what_kill_9_leaves_the_next_run_sweeps() {
    let room = folder!("signals-kill");
    let (mut run, _output) = start(&room, false);
    assert!(sweep(&room).is_empty(), "a living run keeps its file");
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let swept = sweep(&room);
    assert_eq!(swept.len(), 1, "{swept:?}");
    assert_eq!(left_in(&room), 0);
}

#[test]
fn an_ignored_hangup_stays_ignored() {
    let room = folder!("signals-nohup");
    let program = std::env::current_exe().expect("this test's own program");
    let script = "trap '' HUP; exec \"$0\" --exact signals::the_run_that_is_ended --nocapture --ignored";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(program).env(DIRECTORY, &*room).env("IOSTACK_TEST_POLITE", "1");
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a shell");
    let mut output = BufReader::new(run.stdout.take().expect("it is piped"));
    wait_for(&mut output, "ready");
    send(&run, "HUP");
    send(&run, "HUP");
    assert_eq!(run.try_wait().expect("it can be asked"), None, "two hang-ups would have ended it");
    send(&run, "TERM");
    wait_for(&mut output, "stopping");
    std::io::copy(&mut output, &mut std::io::sink()).expect("it is readable");
    assert!(run.wait().expect("it ends").success());
}
