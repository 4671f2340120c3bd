//! Programs whose I/Os and waits are known, because they count and time them themselves.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use iostack_attribute::stages::Subject;
use iostack_model::{Part, Stage, Stages, Storage};
use iostack_testkit::{Folder, Mounted, Zram, folder, or_skip, tool};

use super::common::{attach, show};
use crate::common::{Helper, random};

const KIB: usize = 1 << 10;

/// Traces what a helper does to a file from being told to start to its end, with the numbers that it says itself; `None`
/// where it cannot be run. With `cpu`, on that one only.
fn traced(test: &str, name: &str, path: &Path, cpu: Option<u32>) -> Option<(Stages, Vec<u64>)> {
    let variables = [("IOSTACK_TEST_FILE", path.display().to_string())];
    let mut helper = Helper::start(&format!("stages::known::{name}"), None, &variables)?;
    helper.line("READY")?;
    let pid = helper.child.id();
    if let Some(cpu) = cpu {
        let arguments = ["-a", "-p", "-c", &cpu.to_string(), &pid.to_string()];
        or_skip(test, tool("taskset", &arguments))?;
    }
    let trace = attach(test, &Subject::Process { pid }, &Storage::default())?;
    let mut input = helper.child.stdin.take().expect("piped");
    input.write_all(b"go\n").expect("it listens");
    let known = helper.line("KNOWN ").expect("it tells what it did");
    let stages = trace.finish();
    drop(input);
    show(&format!("{test}: {known}"), &stages, None);
    Some((stages, known.split(' ').map(|number| number.parse().expect("a number")).collect()))
}

/// In the program: does the work once it is told to, says what is known of it, and stays until nobody listens.
fn when_told(work: impl FnOnce(&Path) -> Vec<u64>) {
    let path = PathBuf::from(std::env::var_os("IOSTACK_TEST_FILE").expect("the test that runs us names it"));
    println!("READY");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a pipe");
    let known: Vec<String> = work(&path).iter().map(u64::to_string).collect();
    println!("KNOWN {}", known.join(" "));
    let _nobody_listens = std::io::stdin().read_to_end(&mut Vec::new());
}

/// A file that is in the page cache.
fn cached(folder: &Folder) -> PathBuf {
    let path = random(folder, "data", 1 << 20);
    let _warm = std::fs::read(&path).expect("ours");
    path
}

fn assert_sums(stages: &Stages) {
    for way in &stages.ways {
        let sum: u64 = way.stages.iter().map(|(_, bins)| bins.sum_ns).sum();
        assert_eq!(sum, way.whole.sum_ns, "the stages of {:?} add up", way.way);
    }
}

fn sum_of(stages: &Stages, wanted: Stage) -> u64 {
    let all = stages.ways.iter().flat_map(|way| &way.stages);
    all.filter(|(stage, _)| *stage == wanted).map(|(_, bins)| bins.sum_ns).sum()
}

#[test]
#[ignore = "helper: reads from the cache, beside a thread that never sleeps"]
fn helper_reads_in_a_crowd() {
    when_told(|path| {
        let stop = std::sync::atomic::AtomicBool::new(false);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(relaxed) {
                    std::hint::spin_loop();
                }
            });
            let file = File::open(path).expect("ours");
            let mut block = vec![0; 64 * KIB];
            let (mut waited, count) = (0, 50_000);
            for at in 0..count {
                let begun = Instant::now();
                file.read_exact_at(&mut block, (at % 16) * 64 * KIB as u64).expect("it is long enough");
                waited += begun.elapsed().as_nanos() as u64;
            }
            stop.store(true, relaxed);
            vec![count, waited]
        })
    });
}

#[test]
fn a_thread_that_loses_its_cpu_on_the_way_back_has_waited_for_it() {
    let test = "a_thread_that_loses_its_cpu_on_the_way_back_has_waited_for_it";
    let folder = folder!("stages-crowd");
    let path = cached(&folder);
    let Some((stages, known)) = traced(test, "helper_reads_in_a_crowd", &path, Some(0)) else { return };
    assert_eq!((stages.ios, stages.lost), (known[0], 0));
    assert_sums(&stages);
    let whole: u64 = stages.ways.iter().map(|way| way.whole.sum_ns).sum();
    let ratio = whole as f64 / known[1] as f64;
    // The program's own time has the reading of its clock in it and the tracer's own work outside of its two stamps: about
    // 1 us of 10, 0.89 to 0.94 in 25 runs. A tracer that stopped at the call's end would have lost the half.
    assert!((0.8..=1.0).contains(&ratio), "{whole} ns by stages, {} by the program", known[1]);
    let preempted = sum_of(&stages, Stage::Preempted);
    assert!(preempted > whole / 5, "{preempted} of {whole} ns: two threads shared a CPU");
    assert!(sum_of(&stages, Stage::Switch) < preempted / 10, "it never slept");
}

#[test]
#[ignore = "helper: one thread after the other reads twice"]
fn helper_many_threads() {
    when_told(|path| {
        let threads = 1_500;
        let file = File::open(path).expect("ours");
        for _ in 0..threads {
            let read = || {
                for at in [0, 4096] {
                    file.read_exact_at(&mut [0; 4096], at).expect("it is long enough");
                }
            };
            std::thread::scope(|scope| scope.spawn(read).join().expect("it only reads"));
        }
        vec![2 * threads]
    });
}

#[test]
fn threads_that_end_make_room_for_others() {
    let test = "threads_that_end_make_room_for_others";
    let folder = folder!("stages-threads");
    let path = cached(&folder);
    let Some((stages, known)) = traced(test, "helper_many_threads", &path, None) else { return };
    assert_eq!((stages.ios, stages.lost), (known[0], 0), "1,500 threads, of which 1,024 at a time have room");
    assert_sums(&stages);
}

#[test]
#[ignore = "helper: appends, and waits until each is safe"]
fn helper_syncs() {
    when_told(|path| {
        let mut file = OpenOptions::new().append(true).open(path).expect("ours");
        let count = 97;
        for _ in 0..count {
            file.write_all(&[7; 4096]).expect("there is room");
            file.sync_all().expect("a file can be synced");
        }
        vec![2 * count]
    });
}

/// A file system of our own on a zram of our own, gone with the test.
fn mounted(kind: &str) -> Result<Mounted<Zram>, String> {
    // XFS refuses less than 300 MB; what is never written takes no memory.
    Mounted::new(kind, Zram::new(512 << 20)?, folder!(&format!("stages-{kind}")))
}

#[test]
fn a_sync_that_waits_for_the_journal_says_so() {
    let test = "a_sync_that_waits_for_the_journal_says_so";
    for kind in ["ext4", "xfs"] {
        let Some(mounted) = or_skip(test, mounted(kind)) else { continue };
        let path = random(&mounted, "data", 4096);
        let title = format!("{test} {kind}");
        let Some((stages, known)) = traced(&title, "helper_syncs", &path, None) else { return };
        assert_eq!((stages.ios, stages.lost), (known[0], 0));
        assert_sums(&stages);
        let [journal, wake] = [Stage::Journal, Stage::Wake].map(|stage| sum_of(&stages, stage));
        // XFS pushes its log from workers of several names, ext4 from jbd2 alone.
        let least = if kind == "ext4" { wake } else { 0 };
        assert!(journal > least, "{kind}: {journal} ns for the journal, {wake} ns until other wake-ups");
        let part: f64 = stages.ways.iter().map(|way| way.part_mean_ns(Part::Journal)).sum();
        assert!(part > 0.0, "{kind}: a part of its own");
    }
}
