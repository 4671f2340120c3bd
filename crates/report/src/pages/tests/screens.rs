//! The screens as a whole: they fit, they say what they must, and they stay true when something is missing.

use iostack_model::answers::{Check, Step};
use iostack_model::{Caveat, Nanos, OutcomeFile};

use crate::fixture;
use crate::text::{WIDTH, ascii};

fn told(check: &Check) -> String {
    crate::check(check).text()
}

fn outcome(file: &OutcomeFile) -> String {
    crate::run(file).text()
}

/// Every line fits, and there is no blank at its end.
pub(crate) fn assert_fits(screen: &str) {
    for line in screen.lines() {
        assert!(line.chars().count() <= WIDTH, "{} columns: {line}", line.chars().count());
        assert_eq!(line.trim_end(), line);
    }
    assert!(screen.ends_with('\n') && !screen.contains("\n\n\n"), "{screen}");
}

/// The words in their order, whatever the line breaks.
fn words(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn assert_says(screen: &str, facts: &[&str]) {
    let words = words(screen);
    for fact in facts {
        assert!(words.contains(fact), "`{fact}` is missing from\n{screen}");
    }
}

fn all_checks() -> [Check; 3] {
    [fixture::check(), fixture::check_quick(), fixture::check_interrupted()]
}

#[test]
fn every_screen_fits_eighty_columns_with_and_without_unicode() {
    for each in all_checks() {
        assert_fits(&told(&each));
        let plain = ascii(&told(&each));
        assert_fits(&plain);
        assert!(plain.is_ascii() && !plain.contains('?'), "{plain}");
    }
    assert_fits(&outcome(&fixture::outcome_file()));
}

#[test]
fn the_screen_has_at_most_ninety_lines_before_the_notes() {
    let screen = told(&fixture::check());
    let (figures, notes) = screen.split_once("\nNOTES\n").expect("the fixture has doubts");
    assert!(figures.lines().count() <= 90, "{} lines", figures.lines().count());
    assert_eq!(notes.matches("\n[").count() + 1, 3, "{notes}");
}

#[test]
fn the_screen_says_the_conditions_the_figures_and_the_answer() {
    let screen = told(&fixture::check());
    assert_says(
        &screen,
        &[
            "iostack check directory:/fixture",
            "nvme0n1p2 on nvme0n1, Fixture SSD 512, nvme, 410 GiB",
            "scheduler none; 8 queues of 1023; cache write back",
            "ext4 on /fixture",
            "Fixture F-8000, 8 CPUs, 32 GiB, kvm, Linux 6.18.0-fixture, clock tsc 3.00 GHz",
            "SEQ1M Q8",
            "RND4K Q32",
            "p50 p90 p99 p99.9 p99.99 max",
            "random read at 64 (498.9k IOPS, 40 I/Os at once)",
            "io_uring, batches of 16 Q32 367.1k 1450 4350 0.06 0.06 689.7k",
            "MB/s: sequential read 5624 (256 KiB), random read",
            "most IOPS: 367.1k from 32 (psync, depth 1 each), 482.6k from 1 (io_uring, depth 64 each)",
            "fsync p50",
            "random write falls at 7.4 s: 277.0k to 97.00k IOPS",
            "random read: none 367.1k, mq-deadline -2.7 %, kyber -6.2 %",
            "VERDICT The device is the limit",
            "1. Submit reads in batches of 16 with io_uring: +24 % (measured here: CPU per I/O)",
            "$ iostack run --batch 16 --on /fixture",
            "[1] The hypervisor took 1.3 % of the CPU time. Rates may be too low, latencies too high. Repeat when",
        ],
    );
    assert!(
        screen.lines().last().is_some_and(|line| line.starts_with("next: iostack check --full /fixture"))
    );
}

#[test]
fn a_doubt_is_marked_beside_its_figure() {
    let screen = told(&fixture::check());
    let line = |start: &str| screen.lines().find(|line| line.starts_with(start)).expect(start).to_owned();
    assert!(line("RND4K Q32").ends_with("[2]"), "{}", line("RND4K Q32"));
    // A percentile that its samples do not support is not shown; no note has to say so.
    assert!(line("read ").contains(" -  ") && !line("read ").contains('['), "{}", line("read "));
    assert!(!line("write ").contains('['), "{}", line("write "));
}

#[test]
fn a_doubt_told_by_every_point_is_one_note() {
    let mut doubtful = fixture::check();
    for (index, point) in doubtful.steps.iter_mut().flat_map(|step| &mut step.points).enumerate() {
        point.outcome.caveats.push(Caveat::ForeignCpu { share: 0.01 + index as f64 / 1000.0 });
    }
    let screen = told(&doubtful);
    assert_fits(&screen);
    assert_eq!(screen.matches("Other programs took").count(), 2, "two are told, the rest counted\n{screen}");
    assert_says(&screen, &["more.) Rates may be too low, latencies too high. Stop them"]);
}

#[test]
fn a_path_that_a_shell_would_split_is_quoted_in_the_next_command() {
    let mut spaced = fixture::check();
    spaced.target.path = "/mnt/my data".into();
    assert_says(&told(&spaced), &["next: iostack check --full '/mnt/my data'"]);
    spaced.effort = iostack_model::Effort::Full;
    // The fixture's advice has one run; without any there is nothing more to ask.
    assert_says(&told(&spaced), &["next: iostack run --batch 16 --on /fixture"]);
    spaced.verdict.advice.clear();
    assert!(!told(&spaced).contains("next:"));
}

#[test]
fn a_skipped_step_says_why_and_a_missing_one_is_named() {
    assert_says(&told(&fixture::check_quick()), &["sustained skipped: it would write to a block device"]);
    let interrupted = told(&fixture::check_interrupted());
    assert_says(
        &interrupted,
        &["INTERRUPTED", "not measured in this check: cells, engines, size", "next: iostack check"],
    );
    assert!(!interrupted.contains("SEQ1M"), "{interrupted}");
}

#[test]
fn a_check_that_measured_nothing_is_still_a_screen() {
    let mut empty = fixture::check_interrupted();
    empty.steps.clear();
    empty.summary = iostack_model::answers::Summary::default();
    empty.storage = iostack_model::Storage::default();
    let screen = told(&empty);
    assert_fits(&screen);
    assert_says(&screen, &["names none behind this path", "VERDICT"]);
}

#[test]
fn a_step_without_points_and_without_a_note_admits_it() {
    let mut odd = fixture::check();
    for Step { points, .. } in &mut odd.steps {
        points.clear();
    }
    assert_says(&told(&odd), &["threads skipped: no reason given"]);
}

#[test]
fn a_curve_that_still_rises_has_no_saturation() {
    let mut rising = fixture::check();
    rising.summary.saturation[0].depth = None;
    assert_says(&told(&rising), &["random read not by 128"]);
}

#[test]
fn hostile_names_reach_no_terminal() {
    let mut hostile = fixture::check();
    hostile.storage.devices[1].model = Some("\u{1b}]2;owned\u{7}Evil".to_owned());
    assert!(told(&hostile).chars().all(|c| c == '\n' || !c.is_control()));
    let mut file = fixture::outcome_file();
    "\u{1b}[2J".clone_into(&mut file.outcomes[0].job.name);
    assert!(outcome(&file).chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn a_run_says_what_was_asked_and_what_came() {
    let screen = outcome(&fixture::outcome_file());
    assert_says(
        &screen,
        &[
            "random reads of 4 KiB with io_uring, depth 32, on directory:/fixture; seed 1",
            "IOPS 367.1k ±1.0% (95 %: 363.5k to 370.8k), 1504 MB/s",
            "random 70 % reads and 30 % writes of 4 KiB with libaio",
            "read 69.97k (286.6 MB/s), write 29.99k (122.8 MB/s)",
            "sequential writes of 1 MiB with psync",
            "depth 31.8 of 32 asked",
            "nvme0n1p2 counts 1,101,386 reads (ours: 1,101,386)",
            "each I/O costs 1900 ns CPU (5700 clocks",
        ],
    );
}

#[test]
fn a_run_that_went_wrong_says_so() {
    let mut file = fixture::outcome_file();
    file.outcomes.truncate(1);
    let one = &mut file.outcomes[0];
    one.interrupted = true;
    one.caveats = vec![
        Caveat::Interrupted { after: Nanos::secs(1), asked: Some(Nanos::secs(3)) },
        Caveat::Failed { count: 3, message: "Input/output error".to_owned() },
    ];
    one.failures = vec![iostack_model::Failure {
        direction: iostack_model::Direction::Read,
        errno: 5,
        count: 3,
        offset_first: 8192,
        message: "Input/output error".to_owned(),
        ignored: false,
    }];
    one.device = None;
    let screen = outcome(&file);
    assert_fits(&screen);
    assert_says(
        &screen,
        &[
            "random-read [1,2] INTERRUPTED after 3 s",
            "FAILED 3 reads failed: Input/output error (first at byte 8192)",
            "no counters of its own",
            "[1] Interrupted after 1 s of 3 s.",
        ],
    );
}

#[test]
fn a_synchronous_engine_asked_for_depth_is_explained() {
    let mut file = fixture::outcome_file();
    file.outcomes[2].job.queue_depth = 32;
    assert_says(&outcome(&file), &["depth 1, (32 asked, but psync has one in flight)"]);
}
