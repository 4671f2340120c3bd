//! Is what cannot work refused by name, and does the tightest that can work?

use iostack_model::Bytes;
use iostack_sim::ftl::{Ftl, FtlSpec, Geometry, Making, StartState, Stream, Victim};
use iostack_workload::Rng;

fn spec() -> FtlSpec {
    FtlSpec::greedy(Geometry {
        planes: 4,
        blocks_per_plane: 100,
        pages_per_block: 64,
        page: Bytes(4096),
        logical_pages: 4 * 90 * 64,
    })
}

type Change = fn(&mut FtlSpec);

#[test]
fn impossible_geometries_are_refused_by_name() {
    assert!(Ftl::new(&spec()).is_ok());
    let faults: [(Change, &str); 9] = [
        (|spec| spec.geometry.planes = 0, "there are no planes"),
        (|spec| spec.geometry.logical_pages = 0, "there are no logical pages"),
        (|spec| spec.victim = Victim::Choices(0), "there are no blocks to choose a victim from"),
        (
            |spec| spec.geometry.logical_pages = 4 * 100 * 64,
            "25600 pages do not fit into 25600 with any to spare; over-provision more",
        ),
        (|spec| spec.geometry.logical_pages = 4 * 97 * 64, "3 spare blocks in a plane are fewer than the 4"),
        (|spec| spec.geometry.blocks_per_plane = 1 << 30, "274877906944 mapped pages are more than"),
        (|spec| spec.geometry.pages_per_block = 40_000, "a block of 40000 mapped pages is longer than 32767"),
        (|spec| spec.stripe_unit = 3, "a block of 64 mapped pages is no multiple of the 3"),
        (|spec| (spec.free_low, spec.free_high) = (3, 2), "free blocks 3 (low) and 2 (high)"),
    ];
    for (change, expected) in faults {
        let mut spec = spec();
        change(&mut spec);
        let told = Ftl::new(&spec).expect_err(expected);
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn the_tightest_drive_that_is_allowed_still_works() {
    for hot_cold in [false, true] {
        let mut spec = FtlSpec { hot_cold, stamps: true, ..spec() };
        spec.geometry.logical_pages = 4 * u64::from(100 - 2 - spec.open_blocks()) * 64;
        let mut ftl = Ftl::new(&spec).expect("just possible");
        ftl.precondition(StartState::Filled, Making::Auto);
        let mut rng = Rng::from_seed(1);
        for stamp in 1..20_000 {
            let lpn = rng.below(spec.geometry.logical_pages) as u32;
            let place = ftl.write_timeless(lpn, Stream::Host, stamp);
            assert_eq!(ftl.stamp(place), stamp);
        }
        ftl.audit();
    }
}
