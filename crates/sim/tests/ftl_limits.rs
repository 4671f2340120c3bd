//! What is refused, by name, and what is large and starts at once.

use iostack_model::Bytes;
use iostack_sim::ftl::{
    Ftl, FtlError, FtlSpec, Geometry, Made, Making, State, Stream, Streams, Stripe, Victim,
};
use iostack_workload::Rng;

fn spec() -> FtlSpec {
    FtlSpec::of(Geometry {
        planes: 4,
        blocks_per_plane: 100,
        pages_per_block: 64,
        page: Bytes(4096),
        logical_pages: 4 * 90 * 64,
    })
}

fn refusal(change: impl FnOnce(&mut FtlSpec)) -> FtlError {
    let mut spec = spec();
    change(&mut spec);
    Ftl::new(&spec).expect_err("it is impossible")
}

#[test]
fn impossible_geometries_are_refused_by_name() {
    assert!(Ftl::new(&spec()).is_ok());
    assert_eq!(refusal(|spec| spec.geometry.planes = 0), FtlError::Zero { what: "planes" });
    assert_eq!(refusal(|spec| spec.geometry.logical_pages = 0), FtlError::Zero { what: "logical pages" });
    let choices = refusal(|spec| spec.victim = Victim::Choices(0));
    assert_eq!(choices, FtlError::Zero { what: "blocks to choose a victim from" });
    let full = refusal(|spec| spec.geometry.logical_pages = 4 * 100 * 64);
    assert_eq!(full, FtlError::NoSpare { physical: 25_600, logical: 25_600 });
    let tight = refusal(|spec| spec.geometry.logical_pages = 4 * 97 * 64);
    assert_eq!(tight, FtlError::LittleSpare { spare: 3, needed: 4, high: 2, open: 2 });
    assert!(matches!(
        refusal(|spec| spec.geometry.blocks_per_plane = 1 << 30),
        FtlError::TooManyPages { .. }
    ));
    assert!(matches!(refusal(|spec| spec.geometry.pages_per_block = 40_000), FtlError::LongBlock { .. }));
    assert!(matches!(refusal(|spec| spec.stripe.unit = 3), FtlError::Unit { .. }));
    assert!(matches!(refusal(|spec| spec.stripe.planes = vec![0, 1, 2, 2]), FtlError::Stripe { .. }));
    assert!(matches!(refusal(|spec| (spec.free_low, spec.free_high) = (3, 2)), FtlError::Watermarks { .. }));
    let told = full.to_string();
    assert!(
        told.contains("25600 pages do not fit into 25600") && told.contains("over-provision more"),
        "{told}"
    );
}

#[test]
fn the_tightest_drive_that_is_allowed_still_works() {
    for streams in [Streams::One, Streams::Moved, Streams::HotCold] {
        let mut spec = FtlSpec { streams, stamps: true, ..spec() };
        spec.geometry.logical_pages = 4 * u64::from(100 - 2 - streams.open()) * 64;
        let mut ftl = Ftl::new(&spec).expect("just possible");
        ftl.precondition_by(State::Filled, Making::Auto);
        let mut rng = Rng::from_seed(1);
        for stamp in 1..20_000 {
            let lpn = rng.below(spec.geometry.logical_pages) as u32;
            let place = ftl.write_timeless(lpn, Stream::Host, stamp);
            assert_eq!(ftl.stamp(place), stamp);
        }
        ftl.audit();
    }
}

#[test]
fn the_letters_of_a_stripe_give_its_order() {
    // Planes are numbered ((channel x ways + way) x dies + die) x planes + plane.
    assert_eq!(Stripe::order("cwdp", 2, 2, 1, 2).expect("four letters"), [0, 4, 2, 6, 1, 5, 3, 7]);
    assert_eq!(Stripe::order("pdwc", 2, 2, 1, 2).expect("four letters"), [0, 1, 2, 3, 4, 5, 6, 7]);
    for wrong in ["cwd", "cwdd", "cwdx", "cwdpp", ""] {
        assert_eq!(Stripe::order(wrong, 2, 2, 1, 2), None, "{wrong}");
    }
}

/// 1 TiB in 64 planes, over-provisioned by 7 %.
fn large() -> FtlSpec {
    let geometry = Geometry {
        planes: 64,
        blocks_per_plane: 4383,
        pages_per_block: 1024,
        page: Bytes(4096),
        logical_pages: 1 << 28,
    };
    FtlSpec { stripe: Stripe { unit: 4, ..Stripe::plain(64) }, ..FtlSpec::of(geometry) }
}

#[test]
fn a_tebibyte_is_full_or_steady_at_once() {
    // One after the other, since both look at the memory of the process.
    full_at_once();
    steady_at_once();
}

fn steady_at_once() {
    let mut ftl = Ftl::new(&large()).expect("possible");
    let made = ftl.precondition(State::Steady);
    assert!(matches!(made, Made::Formula(_)), "{made:?}");
    let resident = resident_kib();
    assert!(resident < 200_000, "{resident} KiB before anything was written");
    let mut rng = Rng::from_seed(1);
    let mut pages = vec![0; 1 << 16];
    pages.fill_with(|| rng.below(1 << 28) as u32);
    ftl.write_all_timeless(&pages);
    // Some pages were written, a few more than once; the others are still where the formula has them.
    for &lpn in &pages {
        assert!(ftl.lookup(lpn).is_some());
    }
    let counts = ftl.counts();
    assert_eq!((counts.pages_host, counts.pages_mapped), (1 << 16, 1 << 28));
    // A is 7.8 with alpha = 4379 x 1024 x 64 / 2^28 (Desnoyers 2012): victims have 1024 (1 - 1 / 7.8) = 893 valid pages.
    for plane in 0..64 {
        let victim = ftl.victim(plane).expect("something to gain");
        let valid = ftl.valid_pages(victim);
        assert!((885..900).contains(&valid), "{valid} valid pages");
        let mut cursor = 0;
        let found = std::iter::from_fn(|| ftl.next_valid(victim, &mut cursor)).count();
        assert_eq!(found, valid as usize);
    }
}

fn full_at_once() {
    let mut ftl = Ftl::new(&large()).expect("possible");
    assert_eq!(ftl.precondition(State::Filled), Made::Written);
    assert!(resident_kib() < 200_000);
    let mut planes: Vec<u32> =
        (0..256).map(|lpn| ftl.plane_of(ftl.lookup(lpn).expect("it is full"))).collect();
    planes.dedup();
    assert!(planes.into_iter().eq(0..64), "units of four go from plane to plane");
    let before = ftl.lookup(12_345);
    let to = ftl.write_timeless(12_345, Stream::Host, 0);
    assert!(before != Some(to) && ftl.lookup(12_345) == Some(to) && ftl.lookup(12_346).is_some());
    ftl.trim(12_345);
    assert_eq!(ftl.lookup(12_345), None);
}

/// Memory in use by this process.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is there");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
