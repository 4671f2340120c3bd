//! Our own load: every engine, direct and buffered.

use iostack_model::{Part, Stage, Way};
use iostack_testkit::folder;

use super::common::{ENGINES, MATCHED, assert_complete, counted, ios, traced};
use crate::common::random;

const MIB: u64 = 1 << 20;

#[test]
fn ninety_seven_reads_are_counted_as_97() {
    let folder = folder!("stages-97");
    let path = random(&folder, "data", 16 * MIB);
    for engine in ENGINES {
        let job = counted(engine, 1, 97, 16 * MIB);
        let Some((outcome, stages)) = traced("ninety_seven_reads_are_counted_as_97", &job, &path) else {
            return;
        };
        assert_eq!(outcome.ios(), 97);
        assert_complete(&outcome, &stages);
        assert_eq!(ios(&stages, Way::Device) + ios(&stages, Way::Unmatched), 97, "no direct read is a hit");
    }
}

#[test]
fn the_stages_of_direct_reads_add_up_to_what_the_engine_measured() {
    let folder = folder!("stages-direct");
    let path = random(&folder, "data", 64 * MIB);
    for engine in ENGINES {
        for depth in [1, 4, 32] {
            let job = counted(engine, depth, 5_000, 64 * MIB);
            let test = "the_stages_of_direct_reads_add_up_to_what_the_engine_measured";
            let Some((outcome, stages)) = traced(test, &job, &path) else { return };
            assert_complete(&outcome, &stages);
            let device = stages.way(Way::Device).expect("direct reads go there");
            assert!(device.whole.count as f64 >= MATCHED * 5_000.0, "{} of 5,000", device.whole.count);
            assert!(device.part_mean_ns(Part::Device) > 0.0);
            assert!(device.stages.iter().any(|(stage, _)| *stage == Stage::Submit));
        }
    }
}
