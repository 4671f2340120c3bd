//! A command that is ended early prints what it has, and exits with 2: what was asked was not done.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Command;

use iostack_model::OutcomeFile;
use iostack_model::answers::{Check, Sweep};
use serde::de::DeserializeOwned;

use crate::shared::{Room, Started, command};

/// Exit code, stdout and stderr of a command that gets `signal` as soon as a line of its stderr contains `begun`.
fn ended_by(signal: &str, begun: &str, line: &str, room: &Room) -> (Option<i32>, String, String) {
    let words: Vec<&str> = line.split(' ').collect();
    let mut child = Started::heard(command(&words).current_dir(&room.0));
    let mut talk = BufReader::new(child.0.stderr.take().expect("piped"));
    let mut said = String::new();
    while !said.contains(begun) {
        assert!(talk.read_line(&mut said).expect("text") > 0, "`{begun}` was never said: {said}");
    }
    child.signal(signal);
    let rest = std::thread::spawn(move || {
        talk.read_to_string(&mut said).expect("text");
        said
    });
    let (code, data, _) = child.end();
    (code, data, rest.join().expect("it only reads"))
}

#[test]
fn a_trace_that_comes_through_a_fifo_is_replayed_and_ends_at_the_first_signal() {
    let room = Room::new("interrupted-fifo");
    let fifo = room.0.join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("coreutils").success());
    let run = ["run", "--on", "sim:zero", "--replay", "fifo", "--json"];
    let begin = |arguments: &[&str]| Started::heard(command(arguments).current_dir(&room.0));
    let lines = "fio version 3 iolog\n0 a add\n0 a open\n1 a read 0 4096\n2 a read 4096 4096\n";
    let as_fio = ["fio", "--name=a", "--read_iolog=fifo", "--on=sim:zero", "--size=1m"];
    for (arguments, code, writes) in [(&run[..], 2, false), (&run[..], 2, true), (&as_fio[..], 128, true)] {
        for signal in ["-INT", "-TERM"] {
            let child = begin(arguments);
            child.until_it_listens();
            let writer = writes.then(|| {
                let mut writer = fs::File::options().write(true).open(&fifo).expect("it is read");
                writer.write_all(lines.as_bytes()).expect("it is read");
                writer
            });
            child.signal(signal);
            let (ended, data, said) = child.end();
            assert_eq!((ended, data.as_str()), (Some(code), ""), "{arguments:?} {signal} {writes}: {said}");
            assert!(said.contains("cannot read the trace `fifo`: interrupted"), "{said}");
            drop(writer);
        }
    }
    let child = begin(&run);
    fs::write(&fifo, lines).expect("it is read");
    let (code, data, said) = child.end();
    assert_eq!(code, Some(0), "{said}");
    let file: OutcomeFile = serde_json::from_str(&data).expect("a whole outcome");
    assert_eq!(file.outcomes[0].ios(), 2);
}

/// Interrupts a command: it says so, and exits with 2. Its JSON, which is whole.
fn interrupted<Answer: DeserializeOwned>(signal: &str, begun: &str, line: &str, room: &Room) -> Answer {
    let (code, data, said) = ended_by(signal, begun, line, room);
    assert_eq!(code, Some(2), "{signal}: {said}");
    let told = "iostack: interrupted; what is printed is of the part that was done";
    assert!(said.contains(told), "{signal}: {said}");
    serde_json::from_str(&data).expect("a whole answer")
}

#[test]
fn a_run_that_is_interrupted_prints_what_it_measured_and_exits_with_2() {
    let room = Room::new("interrupted-run");
    let line = "run --on data --size 1m --runtime 1h --time-based true --json";
    for signal in ["-INT", "-TERM", "-HUP"] {
        let _ = fs::remove_file(room.0.join("data"));
        let file: OutcomeFile = interrupted(signal, "laid out", line, &room);
        assert!(file.outcomes.iter().all(|outcome| outcome.interrupted));
    }
}

#[test]
fn a_sweep_that_is_interrupted_prints_its_points_and_exits_with_2() {
    let room = Room::new("interrupted-sweep");
    let line = "sim sweep zero --set zero.latency=10us --vary io_count=10,100000000000 --parallel 1 --json";
    let sweep: Sweep = interrupted("-TERM", "io_count=10:", line, &room);
    assert!(sweep.interrupted && sweep.points[0].outcomes[0].ios() == 10);
}

#[test]
fn a_check_that_is_interrupted_prints_its_report_and_exits_with_2() {
    let room = Room::new("interrupted-check");
    let line = "check . --quick --size 16m --json --no-files";
    assert!(interrupted::<Check>("-INT", "checking ", line, &room).interrupted);
}

#[test]
fn half_a_run_is_no_reference() {
    let room = Room::new("interrupted-iolat");
    let line = "iolat . --size 16m --direct-only --save-reference kept.json";
    let (code, data, said) = ended_by("-INT", " rounds on ", line, &room);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("the reference `kept.json` is not saved"), "{said}");
    assert!(data.starts_with("iostack iolat"), "{data}");
    assert!(!room.0.join("kept.json").exists());
}
