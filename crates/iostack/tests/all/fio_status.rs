//! Do `--status-interval`, SIGUSR1 and `--eta=always` tell what came of a run so far, in fio's forms, without a change to the last
//! report?

use std::process::{Command, Output};

use iostack_testkit::folder;
use serde_json::{Deserializer, Value};

use crate::shared::{IOSTACK, has_fio, printed, said};

const JOBS: &str = "--size=64k --name=first --rw=randread --time_based --runtime=1 --name=second --stonewall --rw=write \
                    --status-interval=200ms";

/// Runs the jobs in a folder of their own: what ended, and the file `report`, where there is one.
fn run(program: &str, test: &str, arguments: &[&str]) -> (Output, Option<String>) {
    let folder = folder!(test);
    let words = (program != "fio").then_some("fio");
    let output = Command::new(program)
        .args(words)
        .args(JOBS.split(' '))
        .args(arguments)
        .current_dir(&*folder)
        .output();
    (output.expect("it starts"), std::fs::read_to_string(folder.join("report")).ok())
}

fn ours(test: &str, arguments: &[&str]) -> (String, Option<String>) {
    let (output, report) = run(IOSTACK, test, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    (printed(&output), report)
}

/// I/Os and milliseconds of each job in each report.
fn seen(text: &str) -> Vec<Vec<[u64; 3]>> {
    // fio may talk before the report.
    let text = &text[text.find('{').expect("a report")..];
    let reports = Deserializer::from_str(text).into_iter::<Value>().map(|report| report.expect("JSON"));
    let number = |job: &Value, side: &str, key: &str| job[side][key].as_u64().expect("a count");
    let of = |job: &Value| {
        let ios = |side| number(job, side, "total_ios");
        [ios("read"), ios("write"), number(job, "read", "runtime")]
    };
    reports.map(|report| report["jobs"].as_array().expect("jobs").iter().map(of).collect()).collect()
}

fn assert_grows(reports: &[Vec<[u64; 3]>]) {
    assert!(reports.len() >= 2, "one along the way, and one at the end: {reports:?}");
    assert!(reports.iter().all(|jobs| jobs.len() == 2), "all jobs are in each: {reports:?}");
    for pair in reports.windows(2) {
        let [before, after] = [pair[0][0], pair[1][0]];
        assert!(before[0] <= after[0] && before[2] <= after[2], "{reports:?}");
    }
    let (last, first) = (&reports[reports.len() - 1], &reports[0]);
    assert_eq!(first[1], [0, 0, 0], "what has not begun has done nothing");
    assert!(first[0][0] > 0 && first[0][0] < last[0][0] && first[0][2] < last[0][2], "{reports:?}");
    assert_eq!(last[1][1], 16, "the whole of the second job");
}

#[test]
fn each_report_tells_all_jobs_and_more_of_them() {
    let (text, _) = ours("status-json", &["--output-format=json"]);
    assert_grows(&seen(&text));
}

#[test]
fn fio_does_the_same() {
    if has_fio("fio_does_the_same") {
        let (output, _) = run("fio", "status-fio", &["--output-format=json"]);
        assert_grows(&seen(&printed(&output)));
    }
}

#[test]
fn a_file_holds_all_reports_one_behind_the_other() {
    let (text, report) = ours("status-file", &["--output-format=json", "--output=report"]);
    assert_eq!(text, "");
    assert_grows(&seen(&report.expect("it was written")));
}

#[test]
fn what_is_said_before_the_run_is_said_once_and_of_what_did_nothing_nothing() {
    let (text, _) = ours("status-normal", &[]);
    let lines = |begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
    let reports = lines("Run status group 0");
    assert!(reports >= 2, "{text}");
    assert_eq!(lines("Starting "), 1, "{text}");
    assert_eq!(lines("first: (groupid=0, jobs=1)"), reports, "{text}");
    assert_eq!(lines("second: (groupid=1, jobs=1)"), 1, "{text}");
}

/// Starts a run of an hour in a shell that has SIGINT ignored, as of what runs in the background, sends it `signals` when its
/// file is there, and waits: exit code and stdout.
fn signalled(program: &str, test: &str, signals: &[&str]) -> (Option<i32>, String) {
    let folder = folder!(test);
    let first = if program == "fio" { "" } else { "fio" };
    let words = "--name=a --rw=randread --size=64k --time_based --runtime=3600 --eta=never --thread";
    let send = signals.join(" $run; sleep 1; kill -");
    let script = format!(
        "{program} {first} {words} > out 2> said & run=$!; until [ -s a.0.0 ]; do sleep 0.1; done; sleep 1; kill -{send} $run; \
         wait $run"
    );
    let output = Command::new("sh").args(["-c", &script]).current_dir(&*folder).output().expect("sh");
    (output.status.code(), std::fs::read_to_string(folder.join("out")).expect("it was made"))
}

#[test]
fn sigusr1_tells_what_came_of_it_and_the_run_goes_on_until_it_is_ended_with_128() {
    for (program, test) in [(IOSTACK, "usr1-ours"), ("fio", "usr1-fio")] {
        if program == "fio" && !has_fio("sigusr1_tells_what_came_of_it, its half of fio") {
            return;
        }
        // The last ends it also where it was ignored at the start.
        let (code, text) = signalled(program, test, &["USR1", "INT"]);
        assert_eq!(code, Some(128), "{program}: {text}");
        assert_eq!(text.matches("Run status group 0").count(), 2, "{program}: {text}");
        assert_eq!(signalled(program, &format!("{test}-term"), &["TERM"]).0, Some(128), "{program}");
        let (code, text) = signalled(program, &format!("{test}-hup"), &["HUP"]);
        assert_eq!(code, Some(129), "{program}: {text}");
    }
}

#[test]
fn eta_always_shows_progress_in_a_pipe_as_fio_does() {
    for (program, test) in [(IOSTACK, "eta-ours"), ("fio", "eta-fio")] {
        if program == "fio" && !has_fio("eta_always_shows_progress, its half of fio") {
            return;
        }
        let first = (program != "fio").then_some("fio");
        let words = "--name=a --rw=randread --size=64k --time_based --runtime=3 --eta=always";
        let mut command = Command::new(program);
        let folder = folder!(test);
        command.args(first).args(words.split(' ')).current_dir(&*folder);
        let output = command.output().expect("it starts");
        let text = printed(&output);
        assert!(text.contains("Jobs: 1 (f=1): [r(1)][") && text.contains("[eta "), "{program}: {text}");
    }
}
