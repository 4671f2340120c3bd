//! Platforms whose truth is known, because each was built so: a number of its sheet is drawn until one part is the limit.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use iostack_model::Effort;
use iostack_model::answers::{Check, Limit};
use iostack_sim::targets::Simulations;
use iostack_study::check::{self, CheckQuestion};
use iostack_target::{AnyTarget, EXAMPLE, Targets as _, changes};
use iostack_workload::Rng;

/// A way to be limited.
pub(crate) struct Truth {
    /// Name of the limit.
    pub(crate) name: &'static str,
    /// Number of draws: fewest of those that take longest.
    pub(crate) draws: u64,
    /// Target, and effort of the check.
    pub(crate) on: &'static str,
    pub(crate) effort: Effort,
    /// Names of the limit from outside.
    pub(crate) limits: &'static [Limit],
    /// The part that must have been full, at the most of all ways or over queue depth; `None`: no part may have been.
    pub(crate) full: Option<&'static str>,
    /// Numbers that bring it about.
    pub(crate) draw: fn(&mut Rng) -> Vec<String>,
}

/// Number from `low` to `high`, uniformly distributed.
pub(crate) fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low + rng.unit() * (high - low)
}

fn one_of<'a>(rng: &mut Rng, words: &[&'a str]) -> &'a str {
    words[rng.below(words.len() as u64) as usize]
}

const FAST: [&str; 2] = ["optane-class", "nvme-776k"];

/// A drive whose tables are made in no time.
const SMALL: &str = "flash.capacity=8GB";

/// A member of an array that is the X25-E with a sixteenth of its capacity, whose tables are made in no time.
fn member() -> String {
    static SHEET: OnceLock<String> = OnceLock::new();
    let path = SHEET.get_or_init(|| {
        let sheet = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../platforms/devices/x25e.toml");
        let sheet = std::fs::read_to_string(sheet).expect("it is built in");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("truth-member.toml");
        std::fs::write(&path, sheet.replacen("\"32GB\"", "\"2GiB\"", 1)).expect("our own folder");
        path.display().to_string()
    });
    format!("raid0.member={path}")
}

/// A truth of a drive, without its name and numbers.
const OF_A_DRIVE: Truth = Truth {
    name: "",
    draws: 25,
    on: "",
    effort: Effort::Quick,
    limits: &[Limit::Device],
    full: None,
    draw: |_| Vec::new(),
};

pub(crate) const TRUTHS: [Truth; 12] = [
    Truth {
        name: "link",
        on: "sim:x25e",
        full: Some("link"),
        draw: |rng| vec![SMALL.to_owned(), format!("link.rate={:.0}MB/s", between(rng, 20.0, 120.0))],
        ..OF_A_DRIVE
    },
    Truth {
        name: "controller",
        on: "sim:x25e",
        full: Some("controller"),
        draw: |rng| vec![SMALL.to_owned(), format!("controller.read={:.1}us", between(rng, 15.0, 150.0))],
        ..OF_A_DRIVE
    },
    Truth {
        name: "dies",
        on: "sim:tlc-1t",
        full: Some("die"),
        draw: |rng| {
            let [channels, chips] = [1 + rng.below(2), 1 + rng.below(2)];
            vec![SMALL.to_owned(), format!("flash.channels={channels}"), format!("flash.chips={chips}")]
        },
        ..OF_A_DRIVE
    },
    Truth {
        name: "arm",
        on: "sim:wd5000aaks",
        full: Some("arm"),
        draw: |rng| vec![format!("hdd.rpm={}", one_of(rng, &["4200", "5400", "7200", "10000", "15000"]))],
        ..OF_A_DRIVE
    },
    Truth {
        name: "RAID of drives",
        on: "sim:raid0-p55",
        full: Some("controller"),
        draw: |rng| vec![member(), format!("raid0.members={}", 2 + rng.below(2))],
        ..OF_A_DRIVE
    },
    Truth {
        name: "adapter",
        on: "sim:raid0-p410i",
        limits: &[Limit::Cap, Limit::Device],
        full: Some("adapter"),
        draw: |rng| vec![member(), format!("raid0.controller={:.1}us", between(rng, 12.0, 60.0))],
        ..OF_A_DRIVE
    },
    Truth {
        name: "cap",
        draws: 40,
        on: "sim:gp-cloud",
        limits: &[Limit::Cap],
        full: Some("bucket"),
        draw: |rng| {
            let rate = between(rng, 1000.0, 16000.0);
            vec![format!("cloud.iops_burst={rate:.0}/s"), "cloud.rate=4GiB/s".to_owned()]
        },
        ..OF_A_DRIVE
    },
    Truth {
        name: "the only core",
        on: "sim:nvme-server",
        limits: &[Limit::OneCore],
        full: Some("core"),
        draw: |rng| {
            let ghz = between(rng, 1.0, 2.4);
            vec![
                "platform.cores=1".to_owned(),
                format!("platform.ghz={ghz:.2}"),
                format!("platform.drive={}", one_of(rng, &FAST)),
            ]
        },
        ..OF_A_DRIVE
    },
    Truth {
        name: "a thread on one of many cores",
        on: "sim:nvme-server",
        limits: &[Limit::OneCore],
        full: Some("core"),
        draw: |rng| {
            let ghz = between(rng, 1.2, 2.6);
            vec![format!("platform.ghz={ghz:.2}"), format!("platform.cores={}", 6 + rng.below(20))]
        },
        ..OF_A_DRIVE
    },
    Truth {
        name: "all cores",
        on: "sim:nvme-server",
        limits: &[Limit::AllCores],
        full: Some("core"),
        draw: |rng| {
            let ghz = between(rng, 0.8, 1.6);
            vec![
                format!("platform.cores={}", 2 + rng.below(2)),
                format!("platform.ghz={ghz:.2}"),
                "platform.drive=nvme-776k".to_owned(),
            ]
        },
        ..OF_A_DRIVE
    },
    Truth {
        name: "the scheduler's lock",
        on: "sim:nvme-server",
        effort: Effort::Default,
        limits: &[Limit::Scheduler],
        full: Some("lock"),
        draw: |rng| {
            let hold = between(rng, 20_000.0, 30_000.0);
            vec![
                "platform.scheduler=bfq".to_owned(),
                // As short as it is, cores that meet by chance go by it without waiting.
                format!("platform.scheduler.scheduler.hold={hold:.0}"),
                "platform.scheduler.scheduler.contention=1000".to_owned(),
                format!("platform.cores={}", 8 + rng.below(16)),
            ]
        },
        ..OF_A_DRIVE
    },
    Truth {
        name: "the depth that was asked",
        draws: 10,
        on: "sim:tlc-1t",
        limits: &[Limit::Generator],
        full: None,
        draw: |rng| {
            let chips = 8 + rng.below(9);
            vec![
                "flash.capacity=40GB".to_owned(),
                "flash.over_provisioning=100%".to_owned(),
                format!("flash.chips={chips}"),
                "flash.channels=16".to_owned(),
                "flash.queue_depth=1024".to_owned(),
                "link.rate=64GB/s".to_owned(),
                "channel.rate=8GB/s".to_owned(),
                "controller.read=10ns".to_owned(),
                "controller.read_page=10ns".to_owned(),
            ]
        },
        ..OF_A_DRIVE
    },
];

/// The numbers of a draw.
pub(crate) fn drawn(truth: &Truth, draw: u64) -> Vec<String> {
    let number = TRUTHS.iter().position(|other| other.name == truth.name).expect("one of them");
    (truth.draw)(&mut Rng::stream(draw, number as u64))
}

/// A simulated target with these numbers.
pub(crate) fn opened(on: &str, set: &[String]) -> AnyTarget {
    let set = changes(set, EXAMPLE).expect("changes");
    Simulations.open(Some(on), &set).expect("a simulated target")
}

/// Check of a simulated target.
pub(crate) fn checked(on: &str, set: &[String], effort: Effort, seed: u64) -> Check {
    let asked = CheckQuestion { effort, size: None, seed, against: None };
    let check = check::answer(&asked, &*opened(on, set), &AtomicBool::new(false));
    check.unwrap_or_else(|error| panic!("{on} {set:?}: {error:#}"))
}

/// Results of `work` for each truth and draw, on all CPUs, in no order.
pub(crate) fn each<T: Send>(
    cases: &[(&'static Truth, u64)],
    work: impl Fn(&'static Truth, u64) -> T + Sync,
) -> Vec<T> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some(&(truth, draw)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = work(truth, draw);
                    found.lock().expect("no thread panicked").push(one);
                }
            });
        }
    });
    found.into_inner().expect("no thread panicked")
}
