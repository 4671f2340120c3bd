//! Does an A/B say that two differ where they do, and only there? Held against simulated drives whose difference is known; what
//! differs from run to run is the draw of offsets and sizes, as many times anew as there are runs. In virtual time: the same in
//! every run of this test.

use std::sync::atomic::AtomicBool;

use iostack_stats::{AbAnswer, AbReport, AbSide};
use iostack_study::ab::{self, Asked, Primary};

/// A drive with the noise of random reads of two sizes.
const DRIVE: &str = "sim:x25e";
/// The number that decides, as it is.
const AS_IT_IS: &str = "controller.read_page=16.2us";
/// With this the rate is about 5 % less.
const SLOWER: &str = "controller.read_page=17.4us";

const SEEDS: u64 = 100;

fn compared(own: [&str; 2], figure: Primary, (runtime, blocks): (&str, u32), seed: u64) -> AbReport {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let options = [
        pair("pattern", "random"),
        pair("block_size", "4k/60:64k/40"),
        pair("engine", "io_uring"),
        pair("queue_depth", "4"),
        pair("runtime", runtime),
        pair("seed", &seed.to_string()),
    ];
    let own = own.map(|text| vec![text.to_owned()]);
    let asked = Asked {
        jobs: &[],
        sections: &[],
        on: Some(DRIVE.to_owned()),
        options: &options,
        set: &["flash.capacity=1GiB".to_owned()],
        own: [&own[0], &own[1]],
        time: None,
        blocks: Some(blocks),
        difference: "2%",
        figure: Some(figure),
        destroy_data: false,
    };
    let (report, failed) = ab::answer(&asked, &AtomicBool::new(false)).expect("a sound comparison");
    assert!(!failed);
    report
}

/// What a run takes, and how many turns.
const SHORT: (&str, u32) = ("100ms", 12);

#[test]
fn of_a_hundred_comparisons_of_the_same_five_at_most_find_a_difference() {
    for figure in [Primary::Iops, Primary::Latency] {
        let same = |seed: &u64| {
            let report = compared([AS_IT_IS; 2], figure, SHORT, *seed);
            matches!(report.answer, AbAnswer::Better { .. })
        };
        let alarms = (1..=SEEDS).filter(same).count();
        println!("{figure:?}: {alarms} false alarms of {SEEDS}");
        assert!(alarms <= 5, "{figure:?}: {alarms} of {SEEDS}");
    }
}

#[test]
fn a_difference_of_5_percent_is_found_90_times_of_100_and_its_interval_holds_it() {
    let long = compared([AS_IT_IS, SLOWER], Primary::Iops, ("2s", 24), 1);
    let truth = long.rows[0].change_percent.mean;
    assert!((-6.0..-4.0).contains(&truth), "the drives differ by {truth} %");
    let (mut found, mut held) = (0, 0);
    for seed in 1..=SEEDS {
        let report = compared([AS_IT_IS, SLOWER], Primary::Iops, SHORT, 1000 + seed);
        let change = report.rows[0].change_percent;
        held += u64::from(change.low <= truth && truth <= change.high);
        match report.answer {
            AbAnswer::Better { side: AbSide::A, .. } => found += 1,
            AbAnswer::Better { side: AbSide::B, .. } => panic!("seed {seed}: the slower one is better"),
            _ => {}
        }
    }
    println!("truth {truth:.2} %: found {found}, held by the interval {held} of {SEEDS}");
    assert!(found >= 90 && held >= 90, "found {found}, held {held} of {SEEDS}");
}
