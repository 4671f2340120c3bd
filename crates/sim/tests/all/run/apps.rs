//! What does an application do on a platform?

use iostack_model::{App, Bytes, Commit, Job, Nanos, Outcome, Postmark, Tpcc};
use iostack_sim::run::{RunOptions, SimError, run};
use iostack_sim::sheet::Sheet;

fn platform(changes: &[(&str, &str)]) -> Sheet {
    let changes: Vec<(String, String)> =
        changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Sheet::load("x5570", &changes).expect("a platform of the repository")
}

fn one(sheet: &Sheet, job: &Job) -> Result<Outcome, SimError> {
    let ran = run(sheet, std::slice::from_ref(job), &RunOptions::seeded(1))?;
    Ok(ran.outcomes.into_iter().next().expect("one job"))
}

fn tpcc(change: impl FnOnce(&mut Tpcc)) -> Job {
    let mut app =
        Tpcc { warehouses: 2, users: 10, pool: Bytes::mib(64), redo_log: Bytes::mib(64), ..Tpcc::default() };
    change(&mut app);
    Job {
        app: Some(App::Tpcc(app)),
        ramp: Nanos::millis(500),
        runtime: Some(Nanos::secs(2)),
        ..Job::default()
    }
}

#[test]
fn users_are_always_in_a_transaction_and_its_parts_are_its_latency() {
    let outcome = one(&platform(&[]), &tpcc(|_| {})).expect("runs");
    let app = outcome.app.expect("an application");
    let mean = app.latency.sum_ns as f64 / app.latency.count as f64;
    // Little's law over the users; those under way at both ends make the difference.
    let users = app.per_second * mean / 1e9;
    assert!((users - 10.0).abs() < 0.2, "{users} users");
    let parts: f64 = app.parts.iter().map(|part| part.mean_ns).sum();
    assert!((parts - mean).abs() < 1e-6 * mean, "{parts} of {mean} ns");
    assert_eq!(app.kinds.iter().map(|kind| kind.count).sum::<u64>(), app.transactions);
    let per = |count: u64| count as f64 / app.transactions as f64;
    // What is in flight when measuring begins or ends counts on one side only.
    assert!((per(outcome.read.latency.count) - app.reads).abs() < 1e-9);
    assert!((per(outcome.write.latency.count) - app.writes).abs() < 1e-9);
    assert!((per(outcome.sync.count) - app.flushes).abs() < 0.01);
    assert!(app.hit_share.is_some_and(|share| (0.5..1.0).contains(&share)), "{:?}", app.hit_share);
}

#[test]
fn in_memory_the_cores_limit() {
    let one_core = platform(&[("platform.cores", "1")]);
    let app = one(&one_core, &tpcc(|app| app.pool = Bytes::mib(512))).expect("runs").app.expect("one");
    assert!(app.reads.abs() < f64::EPSILON, "everything is in the pool");
    let most = 2.93e9 / app.clocks;
    assert!((0.9 * most..=1.01 * most).contains(&app.per_second), "{} of {most}", app.per_second);
}

#[test]
fn commits_in_series_flush_more_and_do_less() {
    let sheet = platform(&[("platform.drive", "wd5000aaks")]);
    let app = |commit| {
        let job = tpcc(|app| (app.commit, app.pool) = (commit, Bytes::mib(512)));
        one(&sheet, &job).expect("runs").app.expect("one")
    };
    let (group, series) = (app(Commit::Group), app(Commit::Serial));
    assert!(series.flushes > 0.85 && group.flushes < 0.6, "{} and {}", series.flushes, group.flushes);
    assert!(group.per_second > 1.5 * series.per_second, "{} and {}", group.per_second, series.per_second);
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    let ran = |seed: u64| one(&platform(&[]), &Job { seed, ..tpcc(|_| {}) }).expect("runs");
    assert_eq!(ran(3), ran(3));
    assert_ne!(ran(3).app, ran(4).app);
}

#[test]
fn an_application_needs_a_platform_and_runs_alone() {
    let device = Sheet::from_values("zero", &[("zero.latency", "10us")]).expect("a kind");
    let error = one(&device, &tpcc(|_| {})).expect_err("a device has no processor");
    assert!(error.to_string().contains("needs a platform"), "{error}");
    let beside = run(&platform(&[]), &[tpcc(|_| {}), Job::default()], &RunOptions::seeded(1));
    assert!(matches!(beside, Err(SimError::NotAlone { .. })));
    let behind = Job { stonewall: true, io_count: Some(100), report_group: 1, ..Job::default() };
    let both = run(&platform(&[]), &[tpcc(|_| {}), behind], &RunOptions::seeded(1)).expect("one by one");
    assert_eq!(both.outcomes[1].ios(), 100);
    assert!(both.outcomes[0].app.is_some() && both.outcomes[1].app.is_none());
}

#[test]
fn an_application_that_does_not_fit_is_refused_with_its_bytes() {
    let error = one(&platform(&[]), &tpcc(|app| app.warehouses = 3000)).expect_err("200 GB on 32");
    let SimError::Job { source, .. } = error else { panic!("{error}") };
    assert!(source.to_string().contains("tpcc needs"), "{source}");
}

#[test]
fn postmark_ends_by_itself() {
    let app = Postmark { transactions: 1000, ..Postmark::default() };
    let job = Job { app: Some(App::Postmark(app)), threads: 2, direct: false, ..Job::default() };
    let app = one(&platform(&[]), &job).expect("runs").app.expect("one");
    assert_eq!((app.transactions, app.hit_share), (2000, None));
    assert!(app.writes > 4.0 && app.clocks > 40_000.0, "{app:?}");
}
