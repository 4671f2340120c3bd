//! The tests, and the job of each.
//!
//! ```text
//!   0        a quarter, at most 64 MiB                      end of the region
//!   ├── cached tests: read in before, so reads hit ──┼── direct tests ──────┤
//! ```
//!
//! Direct writes drop cached pages of the bytes they touch, so the two kinds keep to bytes of their own.

use iostack_model::{Access, Amount, BlockSizes, Bytes, Direction, Engine, Job, Mix, Nanos, Sync};

use iostack_target::Place;

/// One test of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test {
    /// Name in the tool of 2008.
    pub(crate) name: &'static str,
    /// Read or write.
    pub(crate) direction: Direction,
    /// Size of one I/O.
    pub(crate) bytes: Bytes,
    /// Around the page cache.
    pub(crate) direct: bool,
}

const fn test(name: &'static str, direction: Direction, bytes: u64, direct: bool) -> Test {
    Test { name, direction, bytes: Bytes(bytes), direct }
}

/// Small is 4,096 bytes, medium 131,072, as in 2008.
pub(crate) const TESTS: [Test; 8] = [
    test("Small_direct_read", Direction::Read, 4096, true),
    test("Small_direct_write", Direction::Write, 4096, true),
    test("Medium_direct_read", Direction::Read, 131_072, true),
    test("Medium_direct_write", Direction::Write, 131_072, true),
    test("Small_cached_read", Direction::Read, 4096, false),
    test("Small_cached_write", Direction::Write, 4096, false),
    test("Medium_cached_read", Direction::Read, 131_072, false),
    test("Medium_cached_write", Direction::Write, 131_072, false),
];

/// Cached writes are followed by fdatasync this often, as in 2008.
pub(crate) const SYNC_EVERY: u32 = 10;
/// Rounds of each test: the fewest whose interval is not mostly Student's factor (2.8 at five, 4.3 at three).
pub(crate) const ROUNDS: u32 = 5;
/// A shorter round says nothing.
pub(crate) const ROUND_SHORTEST: Nanos = Nanos::millis(10);
/// Time of a round beside its own: probes attached and detached, threads, counters.
pub(crate) const OVERHEAD: Nanos = Nanos::millis(250);

/// The tests that can be made here, and why the others are not.
pub(crate) fn tests(place: &Place, direct_only: bool) -> (Vec<Test>, Vec<String>) {
    let (mut made, mut notes) = (Vec::new(), Vec::new());
    for test in TESTS.into_iter().filter(|test| test.direct || !direct_only) {
        match refusal(&test, place) {
            Some(why) if notes.contains(&why) => {}
            Some(why) => notes.push(why),
            None => made.push(test),
        }
    }
    if made.iter().any(|test| !test.direct) {
        notes.push(cached_note(place));
    }
    (made, notes)
}

fn refusal(test: &Test, place: &Place) -> Option<String> {
    let (writes, unit) = (test.direction == Direction::Write, place.logical_block);
    let small = format!("Small direct tests are left out: direct I/O here is in units of {unit}.");
    let refusals = [
        (
            writes && !place.writable,
            "Writes are left out: this target is only read (--destroy-data would allow them).",
        ),
        (!test.direct && !place.buffered, "Cached tests are left out: there is no page cache here."),
        (test.direct && !place.direct, "Direct tests are left out: this target takes no direct I/O."),
        (test.direct && unit > test.bytes, small.as_str()),
    ];
    refusals.into_iter().find(|(refused, _)| *refused).map(|(_, why)| why.to_owned())
}

fn cached_note(place: &Place) -> String {
    format!(
        "Cached tests use the first {}, read in before each round: their reads hit the page cache. Writes are followed \
         by fdatasync every {SYNC_EVERY}; after reads it would have nothing to do and is left out.",
        cached_region(place)
    )
}

/// The bytes of the cached tests, from the start.
fn cached_region(place: &Place) -> Bytes {
    Bytes((place.region.0 / 4).min(Bytes::mib(64).0) >> 20 << 20)
}

/// The job of one test in one round.
pub(crate) fn job(test: &Test, place: &Place, runtime: Nanos, seed: u64, round: u32) -> Job {
    let cached = cached_region(place);
    let (offset, size) =
        if test.direct { (cached, Bytes(place.region.0 - cached.0)) } else { (Bytes(0), cached) };
    let write = test.direction == Direction::Write;
    let fdatasync_every = if write && !test.direct { SYNC_EVERY } else { 0 };
    Job {
        name: test.name.to_owned(),
        mix: if write { Mix::WRITE } else { Mix::READ },
        access: Access::UNIFORM,
        block_sizes: BlockSizes::all(test.bytes),
        offset: Amount::Bytes(offset),
        size: Some(Amount::Bytes(size)),
        engine: Engine::Psync,
        direct: test.direct,
        runtime: Some(runtime),
        time_based: true,
        sync: Sync { fdatasync_every, ..Sync::default() },
        // Dropping the cache of the file would empty it under the cached tests too.
        invalidate: false,
        seed: seed.wrapping_add(u64::from(round)),
        slice: Nanos((runtime.0 / 10).max(1_000_000)),
        ..Job::default()
    }
}

/// Reads the bytes of the cached tests into the page cache.
pub(crate) fn warm_up(place: &Place) -> Job {
    Job {
        name: "warm up".to_owned(),
        access: Access::Sequential,
        block_sizes: BlockSizes::all(Bytes::mib(1)),
        size: Some(Amount::Bytes(cached_region(place))),
        engine: Engine::Psync,
        direct: false,
        invalidate: false,
        ..Job::default()
    }
}

/// Length of one round of a test that takes `runtime` in all.
pub(crate) fn round_time(runtime: Nanos) -> Nanos {
    Nanos(runtime.0 / u64::from(ROUNDS))
}

#[cfg(test)]
mod unit {
    use super::*;
    use crate::check::planned::place_for_tests;

    #[test]
    fn the_tests_are_those_of_2008_and_their_cached_variants() {
        let (tests, _) = tests(&place_for_tests(), false);
        assert_eq!(tests.len(), 8);
        for test in &tests {
            let job = job(test, &place_for_tests(), Nanos::secs(1), 7, 3);
            assert_eq!(job.block_sizes, BlockSizes::all(test.bytes));
            assert_eq!((job.depth(), job.threads, job.engine), (1, 1, Engine::Psync), "{}", test.name);
            assert_eq!(job.direct, test.name.contains("direct"));
            assert_eq!(job.mix.destroys(), test.name.contains("write"));
            assert_eq!(test.bytes.0, if test.name.starts_with("Small") { 4096 } else { 131_072 });
            let synced = test.name.ends_with("cached_write");
            assert_eq!(job.sync.fdatasync_every, if synced { 10 } else { 0 }, "{}", test.name);
        }
    }

    #[test]
    fn direct_and_cached_tests_never_touch_the_same_bytes() {
        for region in [16, 100, 256, 1024] {
            let place = Place { region: Bytes::mib(region), ..place_for_tests() };
            let range = |test: &Test| {
                let job = job(test, &place, Nanos::secs(1), 1, 0);
                let (offset, size) = (job.offset.of(place.region), job.size.expect("set").of(place.region));
                offset.0..offset.0 + size.0
            };
            let cached = range(&TESTS[4]);
            let direct = range(&TESTS[0]);
            assert!(cached.end <= direct.start && direct.end == place.region.0, "{region} MiB");
            assert!(cached.end >= 1 << 20 && direct.end - direct.start >= 1 << 20, "{region} MiB");
        }
    }

    #[test]
    fn a_read_only_target_gets_no_write_and_says_so() {
        let place = Place { writable: false, ..place_for_tests() };
        let (tests, notes) = tests(&place, false);
        assert!(tests.iter().all(|test| test.direction == Direction::Read) && tests.len() == 4);
        assert_eq!(notes.iter().filter(|note| note.contains("--destroy-data")).count(), 1, "{notes:?}");
    }

    #[test]
    fn what_the_target_cannot_do_is_left_out_aloud() {
        let (none, notes) = tests(&Place { direct: false, ..place_for_tests() }, true);
        assert!(none.is_empty() && notes.iter().any(|note| note.contains("no direct I/O")), "{notes:?}");
        let large = Place { logical_block: Bytes::kib(16), ..place_for_tests() };
        let (medium, notes) = tests(&large, true);
        assert_eq!(medium.len(), 2, "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("16 KiB") || note.contains("16KiB")), "{notes:?}");
    }
}
