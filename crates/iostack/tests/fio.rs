//! Does iostack measure what fio measures? The same job on the same file, in turns with fio.
//!
//!   fio, iostack, iostack, fio, fio, iostack, ..  ──► ratio of each pair ──► interval of the mean ratio
//!
//! Turns, because storage drifts by more than the two programs differ; a ratio within a pair cancels the drift. The
//! programs disagree when the 99 % interval of the mean ratio lies wholly outside of `MARGIN`: fio spends two thousand
//! instructions more on each I/O, which on fast storage is a real difference of some percent, and not ours to hide.
//!
//! With several I/Os in flight, fio's latency of one holds its handling of the others: the user time that it reports
//! per I/O, times the depth, at most. So much its latencies may lie above ours, and no more.
//! When the interval is too wide to say anything, the test says so and counts as skipped.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use iostack_model::OutcomeFile;

/// Pairs that count; one more before them warms up.
const PAIRS: usize = 8;
/// Student's t of a 99 % interval for `PAIRS` - 1 degrees of freedom (two-sided).
const STUDENT: f64 = 3.499;
/// Difference, either way, that is put down to fio's own cost and to chance.
const MARGIN: f64 = 0.10;
/// Half of an interval wider than this says nothing.
const TOO_WIDE: f64 = 0.30;
const FILE_BYTES: usize = 256 << 20;

/// Two loads at once would measure each other.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn psync_at_depth_1_agrees_with_fio() {
    agree("psync", 1);
}

#[test]
fn libaio_at_depth_8_agrees_with_fio() {
    agree("libaio", 8);
}

#[test]
fn io_uring_at_depth_8_agrees_with_fio() {
    agree("io_uring", 8);
}

/// What both programs say of one run.
#[derive(Clone, Copy, Debug)]
struct Figures {
    iops: f64,
    p50_ns: f64,
    p99_ns: f64,
    /// User time in which a queue's worth of I/Os is handled.
    handling_ns: f64,
}

type Figure = (&'static str, fn(&Figures) -> f64);

const FIGURES: [Figure; 3] = [("IOPS", |it| it.iops), ("p50 ns", |it| it.p50_ns), ("p99 ns", |it| it.p99_ns)];

fn agree(engine: &str, queue_depth: u32) {
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = Folder::new(engine);
    let skipped = |why: &str| println!("SKIPPED {engine} at depth {queue_depth} agrees with fio: {why}");
    if Command::new("fio").arg("--version").output().is_err() {
        return skipped("fio is not installed");
    }
    folder.write_jobs(engine, queue_depth);
    let mut pairs = Vec::new();
    for turn in 0..=PAIRS {
        let ours_first = (turn % 2 == 1).then(|| folder.iostack());
        let theirs = match folder.fio(queue_depth) {
            Ok(figures) => figures,
            Err(why) => return skipped(&format!("fio cannot run it here: {why}")),
        };
        let ours = ours_first.unwrap_or_else(|| folder.iostack());
        pairs.push((ours, theirs));
    }
    let judged: Vec<Judged> = FIGURES.iter().map(|&figure| judge(figure, &pairs[1..])).collect();
    let table: String = judged.iter().map(|it| it.text.as_str()).collect();
    println!("{table}");
    assert!(judged.iter().all(|it| it.agrees), "{engine} at depth {queue_depth} differs from fio:\n{table}");
    let unclear: Vec<&str> = judged.iter().filter(|it| it.is_too_wide).map(|it| it.text.trim()).collect();
    if !unclear.is_empty() {
        skipped(&format!("too noisy to tell: {}", unclear.join(" | ")));
    }
}

/// One figure over all pairs.
struct Judged {
    agrees: bool,
    is_too_wide: bool,
    text: String,
}

fn judge((name, of): Figure, pairs: &[(Figures, Figures)]) -> Judged {
    let ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| (of(ours) / of(theirs)).ln()).collect();
    let (mean, half) = interval(&ratios);
    let mut text = format!(
        "{name:>7}: iostack/fio {:.3} [{:.3}, {:.3}];",
        mean.exp(),
        (mean - half).exp(),
        (mean + half).exp()
    );
    for (ours, theirs) in pairs {
        write!(text, " {:.0}/{:.0}", of(ours), of(theirs)).expect("a String takes everything");
    }
    text.push('\n');
    let handling =
        pairs.iter().map(|(_, theirs)| theirs.handling_ns / of(theirs)).sum::<f64>() / pairs.len() as f64;
    let excused = if name == "IOPS" { 0.0 } else { handling.clamp(0.0, 0.5) };
    let (low, high) = ((1.0 - excused).ln() - MARGIN.ln_1p(), MARGIN.ln_1p());
    // An interval too wide to confirm anything refutes nothing either.
    let is_too_wide = half > TOO_WIDE;
    let agrees = is_too_wide || (mean + half >= low && mean - half <= high);
    Judged { agrees, is_too_wide, text }
}

/// Mean, and half the width of its interval.
fn interval(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, STUDENT * (variance / count).sqrt())
}

/// Holds the file that both read, and the jobs; gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fio-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("cargo made the folder above for tests");
        Folder(path)
    }

    /// Lays the file out in full, because reads of holes never reach the medium, and writes one job for both programs.
    fn write_jobs(&self, engine: &str, queue_depth: u32) {
        let file = self.0.join("data");
        let mut writer = std::fs::File::create(&file).expect("the folder was made above");
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut block = vec![0; 1 << 20];
        for _ in 0..FILE_BYTES / block.len() {
            for word in block.chunks_exact_mut(8) {
                // xorshift64 (Marsaglia 2003): enough to defeat compression.
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                word.copy_from_slice(&state.to_le_bytes());
            }
            writer.write_all(&block).expect("there is room for 256 MiB under target/");
        }
        writer.sync_all().expect("what was written reaches the disk");
        let job = format!(
            "[conformance]\nfilename={}\nsize={FILE_BYTES}\nrw=randread\nbs=4k\ndirect=1\nioengine={engine}\n\
             iodepth={queue_depth}\ntime_based=1\nruntime=1s\n",
            file.display()
        );
        std::fs::write(self.0.join("iostack.fio"), &job).expect("the folder was made above");
        // fio's percentiles leave the submission out unless it is told; ours never do.
        let percentiles = "lat_percentiles=1\nclat_percentiles=0\npercentile_list=50:99\n";
        std::fs::write(self.0.join("fio.fio"), job + percentiles).expect("the folder was made above");
    }

    fn iostack(&self) -> Figures {
        let program = env!("CARGO_BIN_EXE_iostack");
        let output = Command::new(program)
            .args(["run", "iostack.fio", "--json", "--quiet"])
            .current_dir(&self.0)
            .output()
            .expect("cargo built the program for this test");
        assert!(output.status.success(), "iostack failed: {}", said(&output));
        let file: OutcomeFile =
            serde_json::from_slice(&output.stdout).expect("--json prints an outcome file");
        let outcome = file.outcomes.first().expect("the job file has one job");
        let latency = outcome.latency();
        let quantile = |fraction| latency.quantile_ns(fraction).expect("the job did I/O") as f64;
        Figures { iops: outcome.rate(), p50_ns: quantile(0.5), p99_ns: quantile(0.99), handling_ns: 0.0 }
    }

    fn fio(&self, queue_depth: u32) -> Result<Figures, String> {
        let output = Command::new("fio")
            .args(["--output-format=json", "fio.fio"])
            .current_dir(&self.0)
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        // fio may say something before its JSON.
        let json = text.find('{').map_or("", |start| &text[start..]);
        let read: serde_json::Value = serde_json::from_str(json).map_err(|_| said(&output))?;
        let job = &read["jobs"][0];
        let read = &job["read"];
        let figure =
            |value: &serde_json::Value| value.as_f64().filter(|&it| it > 0.0).ok_or_else(|| said(&output));
        let percentile = &read["lat_ns"]["percentile"];
        let iops = figure(&read["iops"])?;
        // Percent of the run time.
        let user_ns_per_io = job["usr_cpu"].as_f64().unwrap_or(0.0) / 100.0 * 1e9 / iops;
        Ok(Figures {
            iops,
            handling_ns: user_ns_per_io * f64::from(queue_depth),
            p50_ns: figure(&percentile["50.000000"])?,
            p99_ns: figure(&percentile["99.000000"])?,
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover under target/ harms nobody, and a panic in drop would hide the test's own.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().replace('\n', " ")
}

#[test]
fn the_judge_tells_agreement_from_difference_and_from_noise() {
    let pairs =
        |ratios: [f64; PAIRS]| ratios.map(|ratio| (figures(1000.0 * ratio), figures(1000.0))).to_vec();
    let verdict = |ratios| {
        let judged = judge(FIGURES[0], &pairs(ratios));
        (judged.agrees, judged.is_too_wide)
    };
    assert_eq!(verdict([1.0, 1.02, 0.99, 1.01, 1.03, 1.0, 0.98, 1.01]), (true, false));
    assert_eq!(verdict([1.3, 1.31, 1.29, 1.3, 1.32, 1.3, 1.28, 1.3]), (false, false));
    assert_eq!(verdict([0.7, 0.71, 0.69, 0.7, 0.72, 0.7, 0.7, 0.71]), (false, false));
    assert_eq!(verdict([0.5, 2.0, 1.0, 0.7, 1.9, 0.6, 1.4, 1.1]), (true, true));
}

#[test]
fn a_latency_below_fios_is_excused_by_fios_own_handling_and_no_more() {
    let agrees = |handling_ns| {
        let ours = Figures { iops: 1.0, p50_ns: 80.0, p99_ns: 80.0, handling_ns: 0.0 };
        let theirs = Figures { p50_ns: 100.0, handling_ns, ..ours };
        judge(FIGURES[1], &[(ours, theirs); PAIRS]).agrees
    };
    assert!(agrees(15.0));
    assert!(!agrees(1.0));
}

fn figures(iops: f64) -> Figures {
    Figures { iops, p50_ns: 1.0, p99_ns: 1.0, handling_ns: 0.0 }
}
