//! Clocks by layer against loads whose answer is known.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Helper, Paranoid, ladder_with, random, spin};
use iostack_attribute::classify::Rules;
use iostack_attribute::ladder;
use iostack_attribute::layers::{LayerError, LayerTrace, Subject};
use iostack_engine::Control;
use iostack_model::{
    Carrier, Job, Ladder, LaneRequest, Layers, Nanos, Observer, Rung, Storage, TargetKind, TargetName,
};
use iostack_testkit::{Folder, folder};

const NOBODY: u32 = 65534;

fn start(
    subject: Subject,
    storage: &Storage,
    ladder: &Ladder,
    rate_hz: u32,
) -> Result<LayerTrace, LayerError> {
    LayerTrace::start(Rules::built_in(), subject, storage, ladder, 1_000_000_000, rate_hz)
}

/// The ladder without a rung and those above it.
fn without(ladder: &Ladder, rung: Rung) -> Ladder {
    let mut ladder = ladder.clone();
    for state in ladder.rungs.iter_mut().filter(|state| state.rung >= rung) {
        state.reached = false;
    }
    ladder
}

fn join(observer: &dyn Observer) {
    let stat = std::fs::read_link("/proc/thread-self").expect("proc");
    let thread_id = stat.file_name().and_then(|name| name.to_str()?.parse().ok()).expect("a number");
    let request = LaneRequest { thread_id, slots: 1, carrier: Carrier::Call, direct: false };
    assert!(observer.lane(&request).is_none());
}

fn call_the_kernel() {
    // One cheap system call.
    std::hint::black_box(std::os::unix::process::parent_id());
}

/// A load of two threads, one in user space and one in system calls, for `span` each. Returns what they say themselves.
fn known_load(observer: &dyn Observer, span: Duration) -> Duration {
    let both = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        let both = &both;
        let body = move |step: fn()| {
            join(observer);
            both.wait();
            observer.opened();
            let at_work = spin(span, step);
            both.wait();
            observer.closed();
            at_work
        };
        let user = scope.spawn(move || body(|| {}));
        let system = scope.spawn(move || body(call_the_kernel));
        user.join().expect("it only works") + system.join().expect("it only works")
    })
}

#[track_caller]
fn close(layers: &Layers, known: Duration, tolerance: f64) {
    let found = layers.clocks.tasks.0 as f64;
    let known = known.as_nanos() as f64;
    println!(
        "found {:.3} ms, known {:.3} ms: {:+.2} %",
        found / 1e6,
        known / 1e6,
        100.0 * (found / known - 1.0)
    );
    println!(
        "{} samples, cost {:.2} %, {}; notes {:?}",
        layers.samples,
        100.0 * layers.sampling_cost,
        layers.clocks.how,
        layers.notes
    );
    for row in &layers.rows {
        println!("  {:14} {:>12} {}", row.layer, row.time, row.samples);
    }
    // What the hypervisor took looks like work to the kernel, and to the load like somebody else's turn.
    let steal =
        layers.notes.iter().find_map(|note| note.strip_prefix("The hypervisor took ")?.split(' ').next());
    let steal: f64 = steal.map_or(0.01, |percent| percent.parse::<f64>().expect("a number") / 100.0);
    let more = found / known - 1.0;
    let missed = layers.notes.iter().any(|note| note.starts_with("Switches were missed"));
    assert!(!(missed && layers.clocks.exact), "what was missed is said, and not called exact");
    // One slice that was missed may be long.
    let tolerance = if missed { 0.25 } else { tolerance };
    // Interrupts that fall into its slices are long steps to the load, or wake whoever takes its CPU: it counts few.
    let interrupts = layers.clocks.beside.interrupts.0 as f64 / known;
    let most = tolerance + 2.0 * steal + interrupts;
    assert!(-tolerance <= more && more <= most, "{found} ns found, {known} ns known, at most {most} more");
    let sum: u64 = layers.rows.iter().map(|row| row.time.0).sum();
    assert_eq!(sum, layers.clocks.total().0, "rows add up to the total");
}

#[test]
fn a_cpu_bound_load_of_ours_is_found_within_2_percent() {
    let Some(ladder) = ladder_with("a_cpu_bound_load_of_ours_is_found_within_2_percent", Rung::Tracing)
    else {
        return;
    };
    let trace = start(Subject::Load, &Storage::default(), &ladder, 0).unwrap();
    // What is done before the load opens does not count.
    spin(Duration::from_millis(30), || {});
    let known = known_load(trace.observer(), Duration::from_millis(400));
    spin(Duration::from_millis(30), || {});
    let layers = trace.finish(None, "nothing");
    assert!(layers.clocks.how.contains("bracketed"), "{}", layers.clocks.how);
    close(&layers, known, 0.02);
    let user = layers.rows.iter().find(|row| row.layer == "user").expect("half of it is user space");
    let share = user.time.0 as f64 / layers.clocks.tasks.0 as f64;
    assert!((0.4..0.98).contains(&share), "user share {share}");
}

#[test]
fn two_windows_of_a_load_add_up() {
    let Some(ladder) = ladder_with("two_windows_of_a_load_add_up", Rung::Tracing) else { return };
    let trace = start(Subject::Load, &Storage::default(), &ladder, 0).unwrap();
    let first = known_load(trace.observer(), Duration::from_millis(150));
    spin(Duration::from_millis(50), || {});
    let second = known_load(trace.observer(), Duration::from_millis(150));
    close(&trace.finish(None, ""), first + second, 0.02);
}

#[test]
fn without_bpf_the_total_is_perfs_and_says_so() {
    let Some(ladder) = ladder_with("without_bpf_the_total_is_perfs_and_says_so", Rung::AllSamples) else {
        return;
    };
    let ladder = without(&ladder, Rung::Tracing);
    let trace = start(Subject::Load, &Storage::default(), &ladder, 0).unwrap();
    let known = known_load(trace.observer(), Duration::from_millis(300));
    let layers = trace.finish(None, "");
    assert!(!layers.clocks.exact);
    close(&layers, known, 0.1);
}

#[test]
#[ignore = "helper: the load that another test attaches to"]
fn helper_spin() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let span = Duration::from_millis(300);
    // One thread was there before, one is made while watched.
    let late = std::thread::spawn(move || spin(span, || {}));
    let own = spin(span, call_the_kernel);
    println!("KNOWN {}", (own + late.join().unwrap()).as_nanos());
    std::io::stdin().read_line(&mut line).unwrap();
}

/// Attaches to a helper, lets it work, and gives what both say.
fn foreign(ladder: &Ladder) -> (Layers, Duration) {
    foreign_doing("helper_spin", &Storage::default(), ladder)
}

fn foreign_doing(what: &str, storage: &Storage, ladder: &Ladder) -> (Layers, Duration) {
    let mut helper = Helper::start(&format!("layers::{what}"), None, &[]).expect("our own program runs");
    let pid = helper.child.id();
    // It is past its start when it waits for input.
    std::thread::sleep(Duration::from_millis(200));
    let trace = start(Subject::Process { pid }, storage, ladder, 0).expect("the helper waits");
    let mut input = helper.child.stdin.take().expect("piped");
    input.write_all(b"go\n").expect("the helper listens");
    let known = helper.line("KNOWN ").expect("the helper tells");
    let layers = trace.finish(None, "");
    (layers, Duration::from_nanos(known.parse().expect("a number")))
}

#[test]
fn all_threads_of_a_foreign_process_are_found_within_2_percent() {
    let name = "all_threads_of_a_foreign_process_are_found_within_2_percent";
    let Some(ladder) = ladder_with(name, Rung::Tracing) else { return };
    let (layers, known) = foreign(&ladder);
    assert!(layers.subject.starts_with("process "), "{}", layers.subject);
    close(&layers, known, 0.02);
}

#[test]
#[ignore = "helper: a program of few reads, beside which another is busy"]
fn helper_few_reads() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let file = std::fs::File::open("/proc/self/exe").expect("a running program has a file");
    let mut block = vec![0; 4096];
    let mut read = || {
        std::os::unix::fs::FileExt::read_exact_at(&file, &mut block, 0).expect("it is longer than a block");
    };
    let mut own = Duration::ZERO;
    for _ in 0..100 {
        own += spin(Duration::from_millis(1), &mut read);
        std::thread::sleep(Duration::from_millis(4));
    }
    println!("KNOWN {}", own.as_nanos());
    std::io::stdin().read_line(&mut line).unwrap();
}

/// Direct reads of a file of its own, until told to stop.
struct Neighbour {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<u64>>,
    path: PathBuf,
    _folder: Folder,
}

impl Neighbour {
    fn start() -> Neighbour {
        let folder = folder!("neighbour");
        let path = random(&folder, "data", 16 << 20);
        let job = Job { time_based: true, runtime: Some(Nanos::secs(60)), queue_depth: 1, ..Job::default() };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let target = TargetName { kind: TargetKind::File, path: path.clone() };
        let storage = iostack_host::storage(&path).expect("it is there");
        let thread = std::thread::spawn(move || {
            let control = Control { stop: &stopped, ..Control::none() };
            let files = vec![vec![target.path.clone()]];
            let outcome = iostack_engine::run_job(&job, &target, &storage, files, &control);
            outcome.expect("a file of our own can be read").ios()
        });
        Neighbour { stop, thread: Some(thread), path, _folder: folder }
    }

    fn ios(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("joined once").join().expect("it only reads")
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_program_beside_a_busy_neighbour_is_told_its_own_clocks() {
    let name = "a_program_beside_a_busy_neighbour_is_told_its_own_clocks";
    let Some(ladder) = ladder_with(name, Rung::Tracing) else { return };
    let neighbour = Neighbour::start();
    let storage = iostack_host::storage(&neighbour.path).expect("it is there");
    let (layers, known) = foreign_doing("helper_few_reads", &storage, &ladder);
    assert!(neighbour.ios() > 100, "the neighbour was busy");
    close(&layers, known, 0.05);
    assert!(layers.clocks.how.contains("bracketed"), "{}", layers.clocks.how);
    assert_eq!(layers.clocks.total(), layers.clocks.tasks, "a program of plain calls has no other threads");
    println!("beside: {:?}", layers.clocks.beside);
}

#[test]
fn a_foreign_process_is_watched_without_bpf_too() {
    let name = "a_foreign_process_is_watched_without_bpf_too";
    let Some(ladder) = ladder_with(name, Rung::AllSamples) else { return };
    let (layers, known) = foreign(&without(&ladder, Rung::Tracing));
    assert!(!layers.clocks.exact);
    close(&layers, known, 0.1);
}

#[test]
fn the_machine_holds_at_least_what_we_do() {
    let Some(ladder) = ladder_with("the_machine_holds_at_least_what_we_do", Rung::Tracing) else { return };
    let trace = start(Subject::Machine, &Storage::default(), &ladder, 0).unwrap();
    let known = spin(Duration::from_millis(200), || {});
    let layers = trace.finish(None, "");
    assert!(layers.clocks.total().0 as f64 > 0.98 * known.as_nanos() as f64, "{:?}", layers.clocks);
}

#[test]
fn a_process_that_does_not_exist_is_refused() {
    let Some(ladder) = ladder_with("a_process_that_does_not_exist_is_refused", Rung::AllSamples) else {
        return;
    };
    for pid in [4_194_305, 0] {
        let refused = start(Subject::Process { pid }, &Storage::default(), &ladder, 0);
        assert!(matches!(refused, Err(LayerError::NoProcess(_))), "{pid}");
    }
}

#[test]
fn a_process_that_ends_leaves_what_was_seen_and_a_note() {
    let name = "a_process_that_ends_leaves_what_was_seen_and_a_note";
    let Some(ladder) = ladder_with(name, Rung::AllSamples) else { return };
    let mut child = std::process::Command::new("sh")
        .args(["-c", "read x; exit 0"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let subject = Subject::Process { pid: child.id() };
    let trace = start(subject, &Storage::default(), &ladder, 0).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    let layers = trace.finish(None, "");
    assert!(layers.notes.iter().any(|note| note.contains("ended while")), "{:?}", layers.notes);
    let again = start(subject, &Storage::default(), &ladder, 0);
    assert!(matches!(again, Err(LayerError::NoProcess(_))));
}

#[test]
fn too_many_samples_and_a_missing_rung_are_refused_with_the_reason() {
    let refused = start(Subject::Load, &Storage::default(), &Ladder::default(), 1_000_000);
    assert!(matches!(refused, Err(LayerError::Rate { asked: 1_000_000 })));
    let nothing = without(&ladder::probe(), Rung::OwnSamples);
    let Err(error) = start(Subject::Load, &Storage::default(), &nothing, 0) else {
        panic!("there is no rung to stand on");
    };
    assert!(matches!(error, LayerError::Rung { rung: Rung::OwnSamples, .. }), "{error}");
}

#[test]
#[ignore = "helper: a load of an ordinary user"]
fn helper_own_load() {
    let ladder = ladder::probe();
    println!("RUNG {}", ladder.reached().map_or(0, |state| state.rung.number()));
    match start(Subject::Load, &Storage::default(), &ladder, 0) {
        Ok(trace) => {
            let known = known_load(trace.observer(), Duration::from_millis(200));
            let layers = trace.finish(None, "");
            assert!(!layers.clocks.exact);
            assert!(layers.notes.iter().any(|note| note.contains("own threads")), "{:?}", layers.notes);
            close(&layers, known, 0.1);
            println!("SAMPLES {}", layers.samples);
        }
        Err(error) => println!("REFUSED {error}: {:?}", error.remedy()),
    }
}

#[test]
fn an_ordinary_user_climbs_as_far_as_the_setting_lets_and_no_further() {
    let name = "an_ordinary_user_climbs_as_far_as_the_setting_lets_and_no_further";
    for (level, rung) in [(2, 0), (1, 1)] {
        let Some(_setting) = Paranoid::set(level) else {
            println!("SKIPPED {name}: kernel.perf_event_paranoid may not be written");
            return;
        };
        let Some(mut helper) = Helper::start("layers::helper_own_load", Some(NOBODY), &[]) else {
            println!("SKIPPED {name}: an ordinary user may not run this test program");
            return;
        };
        assert_eq!(helper.line("RUNG ").as_deref(), Some(rung.to_string().as_str()), "paranoid {level}");
        if rung == 0 {
            let refused = helper.line("REFUSED ").expect("nothing to stand on");
            assert!(
                refused.contains("own samples") && refused.contains("setcap cap_perfmon,cap_syslog+ep"),
                "{refused}"
            );
        } else {
            let samples: u64 = helper.line("SAMPLES ").expect("it is measured").parse().unwrap();
            assert!(samples > 50, "{samples}");
        }
    }
}

/// Work done in a while by a thread that is alone with it, with a trace or without.
fn look_ups(span: Duration) -> f64 {
    let mut count = 0_u64;
    let at_work = spin(span, || {
        count += 1;
        let _found = std::hint::black_box(Path::new("/proc/self/status")).symlink_metadata();
    });
    count as f64 / at_work.as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
#[ignore = "slow: only on a quiet machine is what work loses what sampling costs it"]
fn what_sampling_costs_is_said_and_not_much_less_than_what_work_loses_by_it() {
    let name = "what_sampling_costs_is_said_and_not_much_less_than_what_work_loses_by_it";
    let Some(ladder) = ladder_with(name, Rung::AllSamples) else { return };
    let ladder = without(&ladder, Rung::Tracing);
    // Fast, so that the loss stands out of the noise of the machine; neighbours are compared, since its speed drifts.
    let rate_hz = 10_007;
    let (mut losses, mut costs) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let plain = look_ups(Duration::from_millis(60));
        let trace = start(Subject::Machine, &Storage::default(), &ladder, rate_hz).unwrap();
        losses.push(1.0 - look_ups(Duration::from_millis(60)) / plain);
        costs.push(trace.finish(None, "").sampling_cost);
    }
    let (lost, said) = (median(losses), median(costs));
    println!("at {rate_hz} Hz: {:.2} % of the work lost, {:.2} % said", 100.0 * lost, 100.0 * said);
    assert!(said > 0.0);
    assert!(said > lost / 3.0, "{said} said, {lost} lost");
}
