//! Does a large translation layer start at once, and in little memory?
//!
//! A program of its own, since it looks at the memory of its process.

use iostack_model::Bytes;
use iostack_sim::ftl::{Ftl, FtlSpec, Geometry, Making, StartState, Stream};
use iostack_workload::Rng;

/// 1 TiB in 64 planes, over-provisioned by 7 %.
fn large() -> FtlSpec {
    let geometry = Geometry {
        planes: 64,
        blocks_per_plane: 4383,
        pages_per_block: 1024,
        page: Bytes(4096),
        logical_pages: 1 << 28,
    };
    FtlSpec { stripe_unit: 4, ..FtlSpec::greedy(geometry) }
}

#[test]
fn a_tebibyte_is_full_or_steady_at_once() {
    // One after the other, since both look at the memory of the process.
    full_at_once();
    steady_at_once();
}

fn steady_at_once() {
    let mut ftl = Ftl::new(&large()).expect("possible");
    assert!(ftl.precondition(StartState::Steady, Making::Auto).is_some(), "it is made by formula");
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
    assert_eq!(ftl.precondition(StartState::Filled, Making::Auto), None);
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
