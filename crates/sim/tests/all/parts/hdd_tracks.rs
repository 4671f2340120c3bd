//! How a disk's sectors lie on its tracks: skews by zone, serpentine order, spares. Times that geometry alone decides.

use iostack_model::Stage;
use iostack_sim::devices;
use iostack_sim::engine::{Kind, World};
use iostack_sim::sheet::Sheet;

use super::hdd::{HP_97560, TURN, hp};
use crate::load::{closed_loop, near};

const HEADS: u64 = 19;

/// ns on the medium of a read from `first` on.
fn medium(world: &mut World, first: u64, sectors: u64) -> u64 {
    closed_loop(world, 1, 1, |_| (Kind::Read, first * 512, sectors as u32 * 512)).stage(Stage::Medium)
}

#[test]
fn each_zone_passes_at_the_rate_of_its_tracks_and_skews() {
    let by_zone = [
        ("hdd.zone_table", "1000:36"),
        ("hdd.track_skews", "0:8 1000:5"),
        ("hdd.cylinder_skews", "1000:5ms"),
    ];
    let mut world = hp(&by_zone);
    let (inner, outer_skews, inner_skews) =
        (1000 * HEADS * 72, [TURN * 8 / 72, 3_748_126], [TURN * 5 / 36, 5_000_000]);
    let time = |cylinders: u64, [track, cylinder]: [u64; 2]| {
        cylinders * (HEADS * TURN + (HEADS - 1) * track) + (cylinders - 1) * cylinder
    };
    assert_eq!(medium(&mut world, 0, 5 * HEADS * 72), time(5, outer_skews));
    assert_eq!(medium(&mut world, inner, 5 * HEADS * 36), time(5, inner_skews));
    // Over the boundary, the outer zone's skew.
    let both = time(1, outer_skews) + outer_skews[1] + time(1, inner_skews);
    assert_eq!(medium(&mut world, inner - HEADS * 72, HEADS * (72 + 36)), both);
}

#[test]
fn a_serpent_changes_surfaces_once_a_group() {
    let [track, cylinder] = [1_665_834, 3_748_126];
    let serpent = |heads: u64| {
        let mut world = hp(&[
            ("hdd.layout", "serpentine"),
            ("hdd.layout_group", "10"),
            ("hdd.heads", heads.to_string().as_str()),
        ]);
        medium(&mut world, 0, 2 * 10 * heads * 72)
    };
    let group = |heads: u64| 10 * heads * TURN + heads * 9 * cylinder + (heads - 1) * track;
    // After an odd number of surfaces the next group is beside, after an even one ten cylinders away.
    assert_eq!(serpent(3), 2 * group(3) + cylinder);
    assert_eq!(serpent(4), 2 * group(4) + 3_240_000 + 1_264_911);
}

#[test]
fn spares_have_no_address_and_cost_a_stream_their_share() {
    let spares = [("hdd.zone_table", "1000:36"), ("hdd.spare_sectors", "6"), ("hdd.spare_tracks", "20")];
    let mut world = hp(&spares);
    let [outer, inner] = [(1000 * HEADS - 20) * 66, (962 * HEADS - 20) * 30];
    assert_eq!(world.shape().expect("a disk").capacity.0, (outer + inner) * 512);
    for (first, used, per_track) in [(0, 66, 72.0), (outer, 30, 36.0)] {
        let last = used as f64 / per_track * TURN as f64;
        let whole = (HEADS - 1) * (TURN + 1_665_834);
        near(medium(&mut world, first, HEADS * used) as f64, whole as f64 + last, 1e-6);
    }
}

#[test]
fn layouts_that_cannot_be_are_refused() {
    for (key, value, what) in [
        ("hdd.track_skews", "7:1ms", "no zone begins at cylinder 7"),
        ("hdd.cylinder_skews", "0:72", "a turn or more of skew"),
        ("hdd.layout", "serpentine", "not a count"),
        ("hdd.spare_sectors", "72", "not within 0 and 71"),
        ("hdd.spare_tracks", "37278", "not within 0 and 37277"),
    ] {
        let sheet = Sheet::from_values("hdd", &[&HP_97560[..], &[(key, value)]].concat()).expect("a kind");
        let error = devices::build(&sheet, &mut World::new(), 1).expect_err(key).to_string();
        assert!(error.contains(what), "{error}");
    }
}
