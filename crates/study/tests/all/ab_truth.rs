//! Does an A/B say that two differ where they do, and only there? Held against simulated drives whose difference is known; what
//! differs from run to run is the draw of offsets, sizes and latencies, as many times anew as there are runs. In virtual time:
//! the same in every run of this test.
//!
//! | of 100 comparisons | allowed | seen, of four kinds |
//! | --- | --- | --- |
//! | of the same drive: a difference | 5 at most | 1 to 4 |
//! | of two that differ by 5 %: found | 90 at least | 93 to 100 |
//! | of those found: the interval holds the difference | 90 of 100 at least | 91 of 93, 93 of 99, 95 of 99, 98 of 100 |

use std::sync::atomic::AtomicBool;

use iostack_model::Interval;
use iostack_sim::targets::Simulations;
use iostack_stats::{AbAnswer, AbReport, AbSide};
use iostack_study::ab::{self, AbQuestion, Primary};

/// A job on a drive, and the number that decides.
struct Comparison {
    on: &'static str,
    /// Changes of both sides.
    set: &'static [&'static str],
    job: &'static [(&'static str, &'static str)],
    figure: Primary,
    /// Time of a run, and blocks of four.
    runtime: &'static str,
    blocks: u32,
    /// The number as it is, and with which the drive is about 5 % worse.
    as_it_is: &'static str,
    worse: &'static str,
    /// Time of a run of the reference, from which the difference is known.
    long: &'static str,
}

const SIZES: &[(&str, &str)] =
    &[("pattern", "random"), ("block_size", "4k/60:64k/40"), ("engine", "io_uring"), ("queue_depth", "4")];
const ALONE: &[(&str, &str)] = &[("pattern", "random"), ("engine", "psync")];

/// Random reads of two sizes.
const FLASH: Comparison = Comparison {
    on: "sim:x25e",
    set: &["flash.capacity=64MiB", "flash.over_provisioning=100%"],
    job: SIZES,
    figure: Primary::Iops,
    runtime: "80ms",
    blocks: 12,
    as_it_is: "controller.read_page=16.2us",
    worse: "controller.read_page=17.6us",
    long: "2s",
};
const FLASH_LATENCY: Comparison = Comparison { figure: Primary::Latency, ..FLASH };
/// A volume of a cloud, whose reads take from 0.3 to 20 ms.
const CLOUD: Comparison = Comparison {
    on: "sim:gp-cloud",
    set: &[],
    job: ALONE,
    figure: Primary::Latency,
    runtime: "1500ms",
    blocks: 12,
    as_it_is: "cloud.read_p50=600us",
    worse: "cloud.read_p50=700us",
    long: "100s",
};
/// A disk, whose arm is anywhere.
const DISK: Comparison = Comparison {
    on: "sim:wd5000aaks",
    set: &[],
    job: ALONE,
    figure: Primary::Iops,
    runtime: "3s",
    blocks: 12,
    as_it_is: "hdd.rpm=7200",
    worse: "hdd.rpm=6200",
    long: "100s",
};

const SEEDS: u64 = 100;

fn compared(kind: &Comparison, own: [&str; 2], (runtime, blocks): (&str, u32), seed: u64) -> AbReport {
    let seed = seed.to_string();
    let own_words = [("runtime", runtime), ("seed", &seed)];
    let words = kind.job.iter().chain(&own_words).copied();
    let options: Vec<_> = words.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let [a, b] = own.map(|text| vec![text.to_owned()]);
    let asked = AbQuestion {
        on: Some(kind.on.to_owned()),
        a,
        b,
        blocks: Some(blocks),
        difference: "2%".to_owned(),
        figure: Some(kind.figure),
        set: kind.set.iter().map(|&text| text.to_owned()).collect(),
        options,
        ..AbQuestion::default()
    };
    let (report, failed) =
        ab::answer(&asked, &Simulations, &AtomicBool::new(false)).expect("a sound comparison");
    assert!(!failed);
    report
}

/// Holds that at most five of a hundred comparisons of a drive with itself find a difference.
fn same(kind: &Comparison) {
    let alarm = |seed: &u64| {
        let report = compared(kind, [kind.as_it_is; 2], (kind.runtime, kind.blocks), *seed);
        matches!(report.answer, AbAnswer::Better { .. })
    };
    let alarms = (1..=SEEDS).filter(alarm).count();
    println!("{} {:?}: {alarms} false alarms of {SEEDS}", kind.on, kind.figure);
    assert!(alarms <= 5, "{alarms} of {SEEDS}");
}

/// A difference of 5 % is found 90 times of 100, and the interval of nine of ten that found it holds it.
fn different(kind: &Comparison) {
    let own = [kind.as_it_is, kind.worse];
    let truth = compared(kind, own, (kind.long, 24), 1).rows[0].change_percent.mean;
    assert!((4.0..6.0).contains(&truth.abs()), "{}: they differ by {truth} %", kind.on);
    let (mut found, mut held) = (0, 0);
    for seed in 1..=SEEDS {
        let report = compared(kind, own, (kind.runtime, kind.blocks), 1000 + seed);
        let Interval { low, high, .. } = report.rows[0].change_percent;
        match report.answer {
            AbAnswer::Better { side: AbSide::A, .. } => {
                found += 1;
                held += u64::from(low <= truth && truth <= high);
            }
            AbAnswer::Better { side: AbSide::B, .. } => panic!("seed {seed}: the worse one is better"),
            _ => {}
        }
    }
    println!("{} {:?}: {truth:.2} % found {found} of {SEEDS}, held {held}", kind.on, kind.figure);
    assert!(found >= 90 && held * 100 >= found * 90, "found {found}, held {held}");
}

#[test]
fn reads_of_two_sizes_by_iops() {
    same(&FLASH);
    different(&FLASH);
}

#[test]
fn reads_of_two_sizes_by_latency() {
    same(&FLASH_LATENCY);
    different(&FLASH_LATENCY);
}

#[test]
fn reads_of_a_cloud_volume_by_latency() {
    same(&CLOUD);
    different(&CLOUD);
}

#[test]
fn reads_of_a_disk_by_iops() {
    same(&DISK);
    different(&DISK);
}
