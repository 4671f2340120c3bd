//! Does iostack measure what fio measures? The same job on the same loop device of our own, in turns with fio.
//!
//!   fio, iostack, iostack, fio, fio, iostack, ..  ──► ratio of each pair ──► interval of the mean ratio
//!
//! Compared is what both define alike:
//!
//! - **I/Os per second**, and the **time in the device** per read, by the device's own counters in /sys. Turns, because
//!   storage drifts by more than the two programs differ; a ratio within a pair cancels the drift. They differ when the
//!   99 % interval of the mean ratio lies wholly outside of `MARGIN`, however wide it is. Pairs are added until the
//!   interval is narrow enough to tell, whatever it tells; where `PAIRS_MOST` are not enough it is not told, and the test
//!   counts as skipped.
//! - **IOPS times latency**, which in a closed loop is the depth that was kept. No noise of the storage moves it, so it is
//!   held to the depth asked for in every single run.
//! - **Reads counted**, against those that the device counted: every one, and no more.
//!
//! Percentiles are not compared. fio spends two thousand instructions more on each I/O, which on fast storage is a real
//! difference, and not ours to hide.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use iostack_model::OutcomeFile;
use iostack_testkit::{Loop, folder};

/// Pairs that count, at least and at most; one more before them warms up.
const PAIRS_LEAST: usize = 6;
const PAIRS_MOST: usize = 20;
/// Difference, either way, that is put down to fio's own cost and to chance.
const MARGIN: f64 = 0.15;
/// Half of an interval that is wider than this tells nothing yet.
const NARROW: f64 = 0.10;
/// Share of the depth asked for that must be kept.
const KEPT: f64 = 0.95;
const FILE_BYTES: u64 = 256 << 20;

/// Two loads at once would measure each other.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
#[ignore = "slow: up to 20 pairs of runs in turns with fio, which a busy machine cannot tell apart"]
fn psync_at_depth_1_agrees_with_fio() {
    agree("psync", 1);
}

#[test]
#[ignore = "slow: up to 20 pairs of runs in turns with fio, which a busy machine cannot tell apart"]
fn libaio_at_depth_8_agrees_with_fio() {
    agree("libaio", 8);
}

#[test]
#[ignore = "slow: up to 20 pairs of runs in turns with fio, which a busy machine cannot tell apart"]
fn io_uring_at_depth_8_agrees_with_fio() {
    agree("io_uring", 8);
}

/// Figures of one run.
#[derive(Clone, Copy, Debug)]
struct Figures {
    ios: f64,
    iops: f64,
    latency_mean_ns: f64,
    /// Reads that the device counted, merged ones too, and the time they were in it.
    device_reads: f64,
    device_ns: f64,
}

impl Figures {
    fn depth_kept(&self) -> f64 {
        self.iops * self.latency_mean_ns / 1e9
    }
}

type FioFigure = (&'static str, fn(&Figures) -> f64);

const FIGURES: [FioFigure; 2] =
    [("IOPS", |it| it.iops), ("device ns a read", |it| it.device_ns / it.device_reads)];

fn agree(engine: &str, queue_depth: u32) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let skipped = |why: &str| println!("SKIPPED {engine} at depth {queue_depth} agrees with fio: {why}");
    if Command::new("fio").arg("--version").output().is_err() {
        return skipped("fio is not installed");
    }
    let folder = folder!(engine);
    let device = match Loop::with(&lay_out(&folder), &["--direct-io=on"]) {
        Ok(device) => device,
        Err(why) => return skipped(&format!("no loop device can be made: {why}")),
    };
    write_job(&folder, engine, queue_depth, &device);
    let mut pairs = Vec::new();
    for turn in 0..=PAIRS_MOST {
        let ours_first = (turn % 2 == 1).then(|| by_iostack(&folder, &device));
        let theirs = match by_fio(&folder, &device) {
            Ok(figures) => figures,
            Err(why) => return skipped(&format!("fio cannot run it here: {why}")),
        };
        let ours = ours_first.unwrap_or_else(|| by_iostack(&folder, &device));
        assert_is_whole(&ours);
        if turn > 0 {
            pairs.push((ours, theirs));
        }
        if pairs.len() >= PAIRS_LEAST && FIGURES.iter().all(|&figure| judge(figure, &pairs).is_narrow) {
            break;
        }
    }
    assert_depth_is_kept(pairs.iter().map(|(ours, _)| ours.depth_kept()), queue_depth);
    let judged: Vec<Judged> = FIGURES.iter().map(|&figure| judge(figure, &pairs)).collect();
    let table: String = judged.iter().map(|it| it.text.as_str()).collect();
    let kept = |of: fn(&(Figures, Figures)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
    println!(
        "{table}depth kept: iostack {:.3}, fio {:.3}",
        kept(|it| it.0.depth_kept()),
        kept(|it| it.1.depth_kept())
    );
    assert!(
        judged.iter().all(|it| !it.differs),
        "{engine} at depth {queue_depth} differs from fio:\n{table}"
    );
    let unclear: Vec<&str> = judged.iter().filter(|it| !it.is_narrow).map(|it| it.text.trim()).collect();
    if !unclear.is_empty() {
        skipped(&format!("{PAIRS_MOST} pairs do not tell: {}", unclear.join(" | ")));
    }
}

/// Holds that a run counts what the device counts, which no noise changes.
fn assert_is_whole(run: &Figures) {
    // The kernel reads a little of a device that is opened, to look for partitions and file systems.
    let more = run.device_reads - run.ios;
    assert!(
        (0.0..=run.ios / 100.0 + 1000.0).contains(&more),
        "{more} of the device's reads were not counted: {run:?}"
    );
}

/// The depth asked for is kept. The middle run counts: at the end of each the last I/Os are waited for, and a device that stalls
/// just then keeps fewer in flight for as long.
fn assert_depth_is_kept(runs: impl Iterator<Item = f64>, queue_depth: u32) {
    let mut kept: Vec<f64> = runs.map(|depth| depth / f64::from(queue_depth)).collect();
    kept.sort_by(f64::total_cmp);
    let middle = kept[kept.len() / 2];
    assert!((KEPT..=1.001).contains(&middle), "{middle:.3} of depth {queue_depth} was kept: {kept:.3?}");
}

/// Judgement of one figure over all pairs.
struct Judged {
    differs: bool,
    is_narrow: bool,
    text: String,
}

fn judge((name, of): FioFigure, pairs: &[(Figures, Figures)]) -> Judged {
    let ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| (of(ours) / of(theirs)).ln()).collect();
    let (mean, half) = interval(&ratios);
    let mut text = format!(
        "{name}: iostack/fio {:.3} [{:.3}, {:.3}];",
        mean.exp(),
        (mean - half).exp(),
        (mean + half).exp()
    );
    text.extend(pairs.iter().map(|(ours, theirs)| format!(" {:.0}/{:.0}", of(ours), of(theirs))));
    text.push('\n');
    let differs = mean + half < -MARGIN.ln_1p() || mean - half > MARGIN.ln_1p();
    Judged { differs, is_narrow: half <= NARROW, text }
}

/// Mean, and half the width of its 99 % interval.
fn interval(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, student(values.len() - 1) * (variance / count).sqrt())
}

/// Student's t of a 99 % interval (two-sided), for at least five degrees of freedom; of a range, that of its least.
fn student(freedom: usize) -> f64 {
    match freedom {
        ..=5 => 4.032,
        6 => 3.707,
        7 => 3.499,
        8 => 3.355,
        9 => 3.250,
        10..=11 => 3.169,
        12..=14 => 3.055,
        _ => 2.947,
    }
}

/// Reads that ended, and the time that reads were in the device (`Documentation/block/stat.rst`, fields 1, 2 and 4). Neighbours
/// that are submitted together are merged into one request; those it took in stand in field 2.
fn counters(device: &Loop) -> (f64, f64) {
    let name = device.file_name().expect("a device has a name").to_string_lossy().into_owned();
    let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).expect("it is attached");
    let fields: Vec<f64> = text.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    (fields[0] + fields[1], fields[3] * 1e6)
}

/// Lays the file out in full, because reads of holes never reach the medium.
fn lay_out(folder: &Path) -> PathBuf {
    let file = folder.join("data");
    let mut random = std::fs::File::open("/dev/urandom").expect("Linux has it").take(FILE_BYTES);
    let mut writer = std::fs::File::create(&file).expect("the folder was made above");
    std::io::copy(&mut random, &mut writer).expect("there is room for 256 MiB under target/");
    writer.sync_all().expect("what was written reaches the disk");
    file
}

/// Writes one job for both programs.
fn write_job(folder: &Path, engine: &str, queue_depth: u32, device: &Loop) {
    let job = format!(
        "[conformance]\nfilename={}\nsize={FILE_BYTES}\nrw=randread\nbs=4k\ndirect=1\nioengine={engine}\n\
         iodepth={queue_depth}\ntime_based=1\nruntime=1s\n",
        device.display()
    );
    std::fs::write(folder.join("job.fio"), &job).expect("the folder was made above");
}

fn by_iostack(folder: &Path, device: &Loop) -> Figures {
    let before = counters(device);
    let program = env!("CARGO_BIN_EXE_iostack");
    let output = Command::new(program)
        .args(["run", "job.fio", "--json", "--quiet"])
        .current_dir(folder)
        .output()
        .expect("cargo built the program for this test");
    assert!(output.status.success(), "iostack failed: {}", said(&output));
    let after = counters(device);
    let file: OutcomeFile = serde_json::from_slice(&output.stdout).expect("--json prints an outcome file");
    let outcome = file.outcomes.first().expect("the job file has one job");
    Figures {
        ios: outcome.ios() as f64,
        iops: outcome.rate(),
        latency_mean_ns: outcome.latency().mean_ns(),
        device_reads: after.0 - before.0,
        device_ns: after.1 - before.1,
    }
}

fn by_fio(folder: &Path, device: &Loop) -> Result<Figures, String> {
    let before = counters(device);
    let output = Command::new("fio")
        .args(["--output-format=json", "job.fio"])
        .current_dir(folder)
        .output()
        .map_err(|error| error.to_string())?;
    let after = counters(device);
    let text = String::from_utf8_lossy(&output.stdout);
    // fio may say something before its JSON.
    let json = text.find('{').map_or("", |start| &text[start..]);
    let read: serde_json::Value = serde_json::from_str(json).map_err(|_| said(&output))?;
    let read = &read["jobs"][0]["read"];
    let figure =
        |value: &serde_json::Value| value.as_f64().filter(|&it| it > 0.0).ok_or_else(|| said(&output));
    Ok(Figures {
        ios: figure(&read["total_ios"])?,
        iops: figure(&read["iops"])?,
        latency_mean_ns: figure(&read["lat_ns"]["mean"])?,
        device_reads: after.0 - before.0,
        device_ns: after.1 - before.1,
    })
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ")
}

#[test]
fn the_judge_tells_a_difference_however_wide_its_interval_is() {
    let verdict = |ratios: &[f64]| {
        let pairs: Vec<_> = ratios.iter().map(|&ratio| (figures(1000.0 * ratio), figures(1000.0))).collect();
        let judged = judge(FIGURES[0], &pairs);
        (judged.differs, judged.is_narrow)
    };
    assert_eq!(verdict(&[1.0, 1.02, 0.99, 1.01, 1.03, 1.0]), (false, true));
    assert_eq!(verdict(&[1.3, 1.31, 1.29, 1.3, 1.32, 1.3]), (true, true));
    assert_eq!(verdict(&[0.7, 0.71, 0.69, 0.7, 0.72, 0.7]), (true, true));
    // Too wide to agree, yet wholly outside.
    assert_eq!(verdict(&[0.4, 0.6, 0.5, 0.3, 0.5, 0.6]), (true, false));
    // Too wide to tell.
    assert_eq!(verdict(&[0.5, 2.0, 1.0, 0.7, 1.9, 0.6]), (false, false));
    // Just inside of the margin, and just outside.
    assert_eq!(verdict(&[1.149; 6]), (false, true));
    assert_eq!(verdict(&[1.151; 6]), (true, true));
    assert_eq!(verdict(&[1.0 / 1.149; 6]), (false, true));
    assert_eq!(verdict(&[1.0 / 1.151; 6]), (true, true));
}

#[test]
fn a_slot_that_stays_empty_or_a_read_that_was_not_counted_is_found() {
    let whole = Figures { ios: 1e5, iops: 1e5, latency_mean_ns: 8e4, device_reads: 1e5, device_ns: 1.0 };
    // Of three runs of which one stalled.
    let keeps =
        |run: &Figures| assert_depth_is_kept([4.0, run.depth_kept(), run.depth_kept()].into_iter(), 8);
    let passes = |run: Figures| {
        let both = || {
            assert_is_whole(&run);
            keeps(&run);
        };
        std::panic::catch_unwind(both).is_ok()
    };
    assert!(passes(whole));
    assert!(passes(Figures { latency_mean_ns: 7.601e4, ..whole }));
    assert!(!passes(Figures { latency_mean_ns: 7.599e4, ..whole }));
    assert!(!passes(Figures { latency_mean_ns: 8.01e4, ..whole }));
    assert!(!passes(Figures { device_reads: 1e5 - 1.0, ..whole }));
    assert!(!passes(Figures { device_reads: 1.021e5, ..whole }));
}

fn figures(iops: f64) -> Figures {
    Figures { ios: iops, iops, latency_mean_ns: 1.0, device_reads: 1.0, device_ns: 1.0 }
}
