//! The counter against loads whose cost is known to the instruction.
//!
//! The load is this test program itself, started again to run one ignored test that never ends. It runs in a thread
//! of its own while the main thread waits, so finding the busiest thread is tested as well.
#![cfg(target_arch = "x86_64")]

mod sys;

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use iostack_model::Nanos;
use iostack_stepcount::{CountedBy, Doubt, Question, StepError, Subject, UserCost, cost};

/// Names the load that `the_load` runs.
const LOAD: &str = "IOSTACK_TEST_LOAD";

#[test]
#[ignore = "helper: the load of the other tests; it never ends"]
fn the_load() {
    let Ok(load) = std::env::var(LOAD) else { return };
    let program = File::open("/proc/self/exe").unwrap();
    match load.as_str() {
        "reads" => sys::reads(&program),
        "clears" => sys::reads_and_clears(&program),
        "plans" => sys::plans(&program),
        "submits" => sys::submits(&program),
        "lays out" => lays_out_and_reads(),
        "signals" => {
            sys::alarm_often();
            sys::reads(&program)
        }
        "zeroes" => sys::reads(&File::open("/dev/zero").unwrap()),
        "spins" => sys::spins(),
        other => panic!("no load is called {other}"),
    }
}

/// Writes a file of its own for a while, as a generator lays its file out, and reads it for ever.
fn lays_out_and_reads() -> ! {
    use std::io::Write;
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("step-lays-out-{}", std::process::id()));
    let mut file =
        File::options().read(true).append(true).create_new(true).open(&path).expect("a file of our own");
    std::fs::remove_file(&path).expect("ours");
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_millis(2_500) {
        file.set_len(0).expect("ours");
        for _ in 0..1000 {
            file.write_all(&[7; 4096]).expect("there is room");
        }
    }
    sys::reads(&file)
}

/// Answer of the counter; `None`, said aloud, where tracing is not permitted.
type Answer = Option<Result<UserCost, StepError>>;

/// Counts one of the loads.
fn count(load: &str, instructions: u64) -> Answer {
    ask(command(load), instructions)
}

fn command(load: &str) -> Subject {
    let own = std::env::current_exe().expect("Linux tells");
    let own = own.to_str().expect("cargo names it in ASCII");
    let words = ["env", &format!("{LOAD}={load}"), own, "--ignored", "--exact", "the_load"];
    Subject::Command { words: words.iter().map(OsString::from).collect(), output: None }
}

fn ask(subject: Subject, instructions: u64) -> Answer {
    ask_of(subject, instructions, false, Nanos::secs(60))
}

fn ask_of(subject: Subject, instructions: u64, reads: bool, patience: Nanos) -> Answer {
    let answer = cost(&Question {
        subject,
        warm_up: Nanos::millis(300),
        instructions,
        reads,
        patience,
        hold_clock: true,
        stop: &AtomicBool::new(false),
        talk: &|_| (),
    });
    if let Err(refused @ StepError::Refused { .. }) = &answer {
        eprintln!("skipped: {refused}");
        return None;
    }
    Some(answer)
}

/// Every turn took exactly so many instructions and carried so many I/Os, in the whole and in each part.
fn assert_turns(cost: &UserCost, instructions: u64, ios: u64) {
    assert!(cost.ios >= ios);
    assert_eq!(cost.instructions * ios, cost.ios * instructions);
    let per_io = instructions as f64 / ios as f64;
    let differs = |part: &&f64| (**part - per_io).abs() > f64::EPSILON * per_io;
    assert_eq!(cost.instructions_per_io_parts.iter().find(differs), None);
}

#[test]
fn a_loop_of_97_instructions_per_read_is_counted_as_97() {
    let Some(cost) = count("reads", 20_000).map(Result::unwrap) else { return };
    assert_turns(&cost, sys::READ_TURN, 1);
    assert_eq!(cost.calls.len(), 1);
    assert_eq!(cost.calls[0].count, cost.ios);
    assert_eq!((cost.calls[0].name.as_str(), cost.calls[0].ios), ("pread64", cost.ios));
    assert_eq!(cost.thread, "the_load");
    // Every executed instruction has an address, and every one of the 97 is executed equally often.
    assert_eq!(cost.addresses.len(), 97);
    assert!(cost.addresses.iter().all(|address| address.count == cost.ios), "{:?}", cost.addresses);
    let function = cost.functions[0].function.as_deref().unwrap();
    assert!(function.contains("reads"), "{function}");
    let own = std::env::current_exe().unwrap();
    assert_eq!(cost.files.iter().map(|file| PathBuf::from(&file.path)).collect::<Vec<_>>(), [own]);
}

#[test]
fn a_load_that_plans_256_ios_at_a_time_is_counted_in_whole_plans() {
    for instructions in [60_000, 70_000, 81_000] {
        let Some(cost) = count("plans", instructions).map(Result::unwrap) else { return };
        assert_turns(&cost, sys::PLAN_TURNS, sys::PLAN_EVERY);
        assert!(cost.beats >= 4, "{}", cost.beats);
        assert_eq!((cost.apart_turns, cost.ios), (0, cost.beats * sys::PLAN_EVERY));
    }
}

#[test]
fn a_job_that_reads_is_counted_when_it_reads_and_not_while_its_file_is_laid_out() {
    let cost = ask_of(command("lays out"), 20_000, true, Nanos::secs(60)).map(Result::unwrap);
    let Some(cost) = cost else { return };
    assert_turns(&cost, sys::READ_TURN, 1);
    assert_eq!(cost.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["pread64"]);
}

#[test]
fn a_job_that_reads_and_only_writes_is_refused_with_what_it_calls() {
    let Some(answer) = ask_of(command("lays out"), 5_000, true, Nanos::millis(1)) else { return };
    let error = answer.unwrap_err();
    assert!(matches!(error, StepError::LaysOut { .. }), "{error}");
    assert!(error.to_string().contains("write"), "{error}");
}

#[test]
fn a_load_that_only_writes_is_doubted_where_nobody_said_that_it_reads() {
    let Some(cost) = count("lays out", 2_000) else { return };
    assert!(cost.unwrap().doubts.contains(&Doubt::MayLayOut));
}

#[test]
fn a_repeated_string_instruction_counts_once_and_its_iterations_are_told() {
    let Some(cost) = count("clears", 3_000).map(Result::unwrap) else { return };
    assert_turns(&cost, sys::CLEAR_TURN, 1);
    assert!(cost.repeats >= cost.ios * (sys::CLEAR_BYTES - 1), "{} of {}", cost.repeats, cost.ios);
}

#[test]
fn a_batch_of_16_per_io_submit_is_16_ios_and_16_completions() {
    let Some(cost) = count("submits", 20_000).map(Result::unwrap) else { return };
    assert_turns(&cost, sys::SUBMIT_TURN, sys::BATCH);
    assert_eq!(cost.completions, cost.ios);
    let calls: Vec<(&str, u64)> = cost.calls.iter().map(|call| (call.name.as_str(), call.count)).collect();
    let turns = cost.ios / sys::BATCH;
    assert_eq!(calls, [("io_getevents", turns), ("io_submit", turns)]);
}

#[test]
fn signals_are_delivered_and_their_handlers_counted() {
    let Some(cost) = count("signals", 50_000).map(Result::unwrap) else { return };
    assert!(cost.signals > 0);
    // A handler of one instruction returns by one system call: a few instructions per signal on top of the loop.
    let extra = cost.instructions - sys::READ_TURN * cost.ios;
    assert!(extra <= 20 * cost.signals, "{extra} for {} signals", cost.signals);
}

#[test]
fn switches_come_from_a_window_whose_ios_are_counted_by_the_kernel() {
    let Some(cost) = count("reads", 5_000) else { return };
    let free = cost.unwrap().free_run.unwrap();
    assert_eq!(free.counted_by, CountedBy::Calls);
    assert!(free.ios > 1000.0 && free.switches_voluntary_per_io < 0.01, "{free:?}");
}

#[test]
fn a_program_without_storage_io_is_refused_with_what_it_calls_instead() {
    for (load, calls) in [("zeroes", "pread64"), ("spins", "none")] {
        let Some(answer) = count(load, 2_000) else { return };
        let error = answer.unwrap_err();
        assert!(matches!(error, StepError::NoIo { .. }), "{error}");
        assert!(error.to_string().contains(calls), "{error}");
    }
}

#[test]
fn a_command_that_fails_is_refused_with_what_it_said() {
    let words = ["sh", "-c", "echo the disk is on fire; exit 3"].map(OsString::from).to_vec();
    let error = ask(Subject::Command { words, output: None }, 1000).unwrap().unwrap_err().to_string();
    assert!(error.contains("the disk is on fire") && error.contains("exit status: 3"), "{error}");
    let words = vec![OsString::from("no-such-program-anywhere")];
    let error = ask(Subject::Command { words, output: None }, 1000).unwrap().unwrap_err();
    assert!(matches!(error, StepError::NotStarted { .. }), "{error}");
    let error = ask(Subject::Process(4_000_000), 1000).unwrap().unwrap_err();
    assert!(matches!(error, StepError::NoProcess(4_000_000)), "{error}");
}

#[test]
fn nothing_of_the_command_is_left_behind() {
    // A child in a session of its own, as fio makes them, and one that ignores SIGTERM.
    let own = std::env::current_exe().unwrap();
    let script = format!(
        "trap '' TERM; setsid env {LOAD}=reads {} --ignored --exact the_load & sleep 100 & wait; wait",
        own.to_str().unwrap()
    );
    let words = ["sh", "-c", &script].map(OsString::from).to_vec();
    let Some(cost) = ask(Subject::Command { words, output: None }, 2_000) else { return };
    let pid = cost.unwrap().pid;
    // Its parent is dead as well, so whoever inherited it may not have collected it yet.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    assert!(status.is_empty() || status.contains("State:\tZ"), "{pid} still runs: {status}");
}

/// A process that is ended with the test, whatever comes of it.
struct OwnChild(Child);

impl Drop for OwnChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_was_running_is_left_running_and_untraced() {
    let own = std::env::current_exe().unwrap();
    let mut command = Command::new(own);
    command.args(["--ignored", "--exact", "the_load"]).env(LOAD, "reads").stdout(Stdio::null());
    let mut child = OwnChild(command.spawn().unwrap());
    std::thread::sleep(Duration::from_millis(200));
    let pid = child.0.id();
    let Some(cost) = ask(Subject::Process(pid), 5_000) else { return };
    assert_turns(&cost.unwrap(), sys::READ_TURN, 1);
    assert!(child.0.try_wait().unwrap().is_none(), "it ended");
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        assert!(status.contains("TracerPid:\t0\n"), "{status}");
    }
}
