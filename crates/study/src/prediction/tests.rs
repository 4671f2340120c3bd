//! Points pair by what was asked, errors have their sign, and what cannot be scored is said.

use std::sync::atomic::AtomicBool;

use iostack_model::{Amount, Band, Bins, Bytes, Flow, Interval, Job, Mix, Nanos, Outcome, Sync, TargetName};
use iostack_sim::targets::Simulations;
use iostack_target::{Targets as _, Wanted};

use super::score::words;
use super::*;
use crate::sweep::pool::{RunWindow, Task};

fn job(depth: u32) -> Job {
    Job { engine: iostack_model::Engine::Libaio, queue_depth: depth, ..Job::default() }
}

/// So many I/Os in a second, all of this latency.
fn outcome(job: Job, ios: u64, ns: u64) -> Outcome {
    let mut latency = Bins::default();
    if ios > 0 {
        let bin = iostack_model::bin_index(ns) as u32;
        latency = Bins { counts: vec![(bin, ios)], count: ios, min_ns: ns, max_ns: ns, ..Bins::default() };
    }
    let read = Flow { latency, ..Flow::default() };
    let empty = Outcome::empty(job, TargetName::default(), iostack_model::Storage::default());
    Outcome { elapsed: Nanos::secs(1), read, ..empty }
}

fn predicted(job: Job, mean: f64, low: f64, high: f64, samples: u32) -> Predictions {
    let iops = Interval { mean, low, high, samples };
    let all = vec![Predicted { job, iops, latency_p99: None }];
    Predictions { origin: "prediction.json".to_owned(), draws: samples, all }
}

fn scored(predictions: &Predictions, outcome: &Outcome) -> iostack_model::answers::Prediction {
    score(predictions, &[outcome.into()])
}

#[test]
fn the_error_is_of_the_measured_value_and_the_band_holds_its_ends() {
    let predictions = predicted(job(4), 1100.0, 1000.0, 1200.0, 20);
    for (measured, error, within) in
        [(1000, 10.0, true), (999, 10.110_11, false), (1200, -8.333_33, true), (1201, -8.409_66, false)]
    {
        let told = scored(&predictions, &outcome(job(4), measured, 1_000));
        let figure = told.points[0].iops;
        let own = figure.error_percent.expect("something was measured");
        assert!((own - error).abs() < 1e-4, "{measured}: {own}");
        assert_eq!(figure.within, Some(within), "{measured}");
        assert_eq!((told.iops.banded, told.iops.within), (1, u32::from(within)));
        assert_eq!(told.iops.worst_percent, Some(own.abs()));
    }
}

#[test]
fn without_a_band_nothing_lies_within_or_beside_it() {
    let told = scored(&predicted(job(4), 1000.0, 1000.0, 1000.0, 0), &outcome(job(4), 1000, 1_000));
    assert_eq!(told.points[0].iops.within, None);
    assert_eq!((told.draws, told.iops.banded, told.iops.within, told.iops.points), (0, 0, 0, 1));
}

#[test]
fn where_nothing_moved_there_is_no_error_and_no_infinity() {
    let told = scored(&predicted(job(4), 1000.0, 900.0, 1100.0, 20), &outcome(job(4), 0, 0));
    let figure = told.points[0].iops;
    assert_eq!((figure.error_percent, figure.within), (None, Some(false)));
    assert_eq!((told.iops.points, told.iops.median_percent, told.iops.worst_percent), (0, None, None));
    // Nothing was predicted, and something came: all of it is missing.
    let told = scored(&predicted(job(4), 0.0, 0.0, 0.0, 20), &outcome(job(4), 10, 1_000));
    assert_eq!(told.points[0].iops.error_percent, Some(-100.0));
}

#[test]
fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
    let mut predictions = predicted(job(1), 110.0, 110.0, 110.0, 0);
    predictions.all.extend(predicted(job(2), 120.0, 0.0, 0.0, 0).all);
    let outcomes = [outcome(job(1), 100, 1_000), outcome(job(2), 100, 1_000)];
    let told = score(&predictions, &outcomes.each_ref().map(MeasuredPoint::from));
    assert!((told.iops.median_percent.expect("two") - 15.0).abs() < 1e-9);
    assert!((told.iops.worst_percent.expect("two") - 20.0).abs() < 1e-9);
}

#[test]
fn a_percentile_is_scored_where_a_thousand_ios_bear_it() {
    let predictions = Predictions::of_outcomes("a.json", &[outcome(job(4), 1000, 2_000)]);
    let p99 = |ios| scored(&predictions, &outcome(job(4), ios, 1_000)).points[0].latency_p99;
    assert_eq!(p99(999), None);
    let error = p99(1000).expect("a thousand are enough").error_percent.expect("measured");
    assert!((error - 100.0).abs() < 2.0, "{error}");
}

#[test]
fn only_what_asks_the_same_pairs() {
    let same = Job { name: "other".to_owned(), seed: 9, runtime: Some(Nanos::secs(3)), ..job(4) };
    let predictions = predicted(job(4), 1.0, 1.0, 1.0, 0);
    assert_eq!(scored(&predictions, &outcome(same, 10, 1_000)).points.len(), 1);
    for other in [
        job(5),
        Job { threads: 2, ..job(4) },
        Job { mix: Mix::reads(70), ..job(4) },
        Job { direct: false, ..job(4) },
        Job { block_sizes: iostack_model::BlockSizes::all(Bytes::kib(8)), ..job(4) },
    ] {
        let told = scored(&predictions, &outcome(other, 10, 1_000));
        assert_eq!((told.points.len(), told.unpaired.len()), (0, 1), "{:?}", told.unpaired);
    }
    // Depth means nothing to an interface that waits for each I/O.
    let psync = |depth| Job { engine: iostack_model::Engine::Psync, ..job(depth) };
    let told = scored(&predicted(psync(4), 1.0, 1.0, 1.0, 0), &outcome(psync(1), 10, 1_000));
    assert_eq!(told.points.len(), 1);
}

#[test]
fn another_interface_is_noted_and_the_same_is_preferred() {
    let psync = |depth| Job { engine: iostack_model::Engine::Psync, queue_depth: depth, ..Job::default() };
    let mut predictions = predicted(job(1), 5.0, 5.0, 5.0, 0);
    let ran = outcome(psync(1), 10, 1_000);
    let note = scored(&predictions, &ran).points[0].note.clone();
    assert_eq!(note.as_deref(), Some("predicted for libaio, measured with psync"));
    predictions.all.extend(predicted(psync(1), 10.0, 10.0, 10.0, 0).all);
    let told = scored(&predictions, &ran);
    assert_eq!((told.points[0].note.clone(), told.points[0].iops.error_percent), (None, Some(0.0)));
}

#[test]
fn a_prediction_of_another_job_is_refused_with_both() {
    let predictions = predicted(job(4), 1.0, 1.0, 1.0, 0);
    assert!(predictions.refuse_others(&[job(8), job(4)]).is_ok());
    let error = predictions.refuse_others(&[job(8)]).expect_err("another depth").to_string();
    for word in ["`prediction.json`", "randread 4 KiB, depth 4;", "randread 4 KiB, depth 8", "what-if SHEET"]
    {
        assert!(error.contains(word), "{error}");
    }
    let none = Predictions { origin: "empty.json".to_owned(), ..Predictions::default() };
    let error = none.refuse_others(&[job(8)]).expect_err("nothing").to_string();
    assert!(error.contains("`empty.json` predicts nothing"), "{error}");
}

/// The outcome of a job on a simulated drive.
fn ran(device: &str, job: Job) -> Outcome {
    let target = Simulations.open(Some(device), &[]).expect("built in");
    let file = target.run(&[job], Wanted::default(), &AtomicBool::new(false)).expect("it runs");
    file.outcomes.into_iter().next_back().expect("one job")
}

#[test]
fn a_sheet_predicts_itself_and_its_band_comes_from_its_assumptions() {
    let talk = AtomicBool::new(false);
    let measured = ran("tlc-1t", Job { io_count: Some(4_000), ..job(1) });
    let sheet = SheetPredictor::open("sim:tlc-1t", &Simulations).expect("built in");
    let told = sheet.beside(&[(&measured).into()], Draws { count: 9, seed: 1 }, &talk);
    let iops = told.points[0].iops;
    assert!(iops.error_percent.expect("measured").abs() < 2.0, "{iops:?}");
    // 77 us of sensing are assumed: a fifth of them either way is seen.
    assert_eq!((iops.predicted.samples, iops.within, told.draws), (9, Some(true), 9), "{iops:?}");
    assert!(iops.predicted.relative() > 0.03, "{iops:?}");
}

#[test]
fn a_job_on_a_larger_drive_is_predicted_on_all_of_the_sheets() {
    let talk = AtomicBool::new(false);
    let large =
        Job { size: Some(Amount::Bytes(Bytes(1 << 40))), offset: Amount::Bytes(Bytes(1 << 30)), ..job(2) };
    let measured = outcome(large, 10, 1_000);
    let sheet = SheetPredictor::open("x25e", &Simulations).expect("built in");
    let told = sheet.beside(&[(&measured).into()], Draws { count: 0, seed: 1 }, &talk);
    assert_eq!((told.points.len(), told.unpaired.len()), (1, 0), "{:?}", told.unpaired);
}

#[test]
fn a_load_that_flushes_says_so() {
    let flushing = |fdatasync_every| Job { sync: Sync { fdatasync_every, ..Sync::default() }, ..job(1) };
    assert!(words(&flushing(1)).ends_with(", flushed each 1"));
    assert!(!words(&flushing(0)).contains("flushed"));
}

#[test]
fn a_sheet_that_knows_all_its_numbers_has_no_band() {
    let talk = AtomicBool::new(false);
    let measured = ran("zero", Job { io_count: Some(100), ..job(1) });
    let sheet = SheetPredictor::open("zero", &Simulations).expect("built in");
    let told = sheet.beside(&[(&measured).into()], Draws { count: 9, seed: 1 }, &talk);
    assert_eq!((told.draws, told.points[0].iops.within), (0, None));
}

#[test]
fn what_the_sheet_cannot_answer_is_named_with_its_reason() {
    let talk = AtomicBool::new(false);
    let buffered = outcome(Job { threads: 0, ..job(2) }, 10, 1_000);
    let sheet = SheetPredictor::open("x25e", &Simulations).expect("built in");
    let told = sheet.beside(&[(&buffered).into()], Draws { count: 2, seed: 1 }, &talk);
    assert!(told.points.is_empty());
    assert!(told.unpaired[0].contains("not predicted: "), "{:?}", told.unpaired);
}

/// A job on a simulated drive, with the bands of so many draws.
fn with_bands(device: &str, job: Job, draws: Draws) -> Band {
    let window = RunWindow::Own;
    let mut outcomes = [ran(device, job.clone())];
    let task = Task { device: device.to_owned(), changes: Vec::new(), jobs: Ok(vec![job]), window };
    band_outcomes(&task, &mut outcomes, draws, &Simulations, &AtomicBool::new(false));
    let [outcome] = outcomes;
    outcome.band.expect("it was given one")
}

#[test]
fn each_figure_has_the_band_of_the_sheets_assumptions_and_a_seed_repeats_it() {
    let job = || Job { io_count: Some(4_000), ..job(1) };
    let draws = Draws { count: 9, seed: 1 };
    let band = with_bands("tlc-1t", job(), draws);
    assert_eq!((band.draws, band.failed, band.seed), (9, 0, 1));
    let (p50, p99) = (band.latency_p50.expect("enough"), band.latency_p99.expect("enough"));
    for figure in [band.iops, band.bandwidth, band.latency_mean, p50, p99] {
        assert!(figure.low <= figure.mean && figure.mean <= figure.high && figure.samples == 9, "{band:?}");
        assert!(figure.relative() > 0.03, "{band:?}");
    }
    // One at a time: rate and latency are each other's inverse, and so are their ends.
    let times = band.iops.low * band.latency_mean.high;
    assert!((times / 1e9 - 1.0).abs() < 0.05, "{band:?}");
    assert_eq!(band, with_bands("tlc-1t", job(), draws));
    assert_ne!(band, with_bands("tlc-1t", job(), Draws { seed: 2, ..draws }));
    let few = with_bands("tlc-1t", Job { io_count: Some(900), ..job() }, Draws { count: 3, seed: 1 });
    assert!(few.latency_p99.is_none() && few.latency_p50.is_some(), "{few:?}");
}

#[test]
fn a_sheet_without_ranges_draws_nothing_and_a_draw_that_fails_is_counted() {
    let band = with_bands("zero", Job { io_count: Some(100), ..job(1) }, Draws { count: 9, seed: 1 });
    assert_eq!((band.drawn, band.draws, band.iops.samples), (0, 0, 0));
    let mut outcomes = [ran("tlc-1t", Job { io_count: Some(100), ..job(1) })];
    let jobs = Err("no job".to_owned());
    let task = Task { device: "tlc-1t".to_owned(), changes: Vec::new(), jobs, window: RunWindow::Own };
    band_outcomes(&task, &mut outcomes, Draws { count: 4, seed: 1 }, &Simulations, &AtomicBool::new(false));
    let band = outcomes[0].band.clone().expect("it says that there is none");
    assert_eq!((band.draws, band.failed, band.iops.samples), (0, 4, 0));
}

#[test]
fn a_name_that_is_no_sheet_is_refused() {
    let error = SheetPredictor::open("x25f", &Simulations).err().expect("no such sheet").to_string();
    assert!(error.contains("did you mean `x25e`?"), "{error}");
}
