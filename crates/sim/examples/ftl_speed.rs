//! How fast is the flash translation layer?
//!
//! ```text
//!   cargo run --release -p iostack-sim --example ftl_speed [GIB [OVER_PROVISIONING_PERCENT [PAGES_PER_BLOCK [MILLION_WRITES]]]]
//! ```
//!
//! Fills a drive, overwrites it at random until it is steady, then times random writes, by CPU time. The last line is a
//! checksum of where the pages came to lie.

use std::fs;

use iostack_model::Bytes;
use iostack_sim::ftl::{Ftl, FtlSpec, Geometry, Making, State};
use iostack_workload::Rng;

const PLANES: u32 = 4;
const ROUNDS: u32 = 5;

fn main() {
    let arguments = std::env::args().skip(1).map(|text| text.parse().expect("arguments are numbers"));
    let mut arguments = arguments.chain(std::iter::repeat(f64::NAN));
    let mut next = |default: f64| arguments.next().filter(|value| value.is_finite()).unwrap_or(default);
    let (gib, spare, pages, millions) = (next(1.0), next(7.0), next(256.0), next(0.5));
    let logical = (gib * f64::from(1 << 18)) as u64;
    let blocks = logical as f64 * (1.0 + spare / 100.0) / pages / f64::from(PLANES);
    let geometry = Geometry {
        planes: PLANES,
        blocks_per_plane: blocks.ceil() as u32 + 4,
        pages_per_block: pages as u32,
        page: Bytes(4096),
        logical_pages: logical,
    };
    let mut ftl = Ftl::new(&FtlSpec::of(geometry)).expect("a possible geometry");
    let begin = cpu_seconds();
    ftl.precondition_by(State::Steady, Making::Written);
    println!("{gib} GiB, {spare} % over-provisioned, blocks of {pages} pages of 4 KiB, greedy");
    println!("  made steady by writing in {:.2} CPU-s", cpu_seconds() - begin);
    let mut rng = Rng::from_seed(3);
    for _ in 0..ROUNDS {
        let writes = (millions * 1e6) as u64 / 256 * 256;
        ftl.begin();
        let begin = cpu_seconds();
        random_writes(&mut ftl, &mut rng, writes);
        let rate = writes as f64 / (cpu_seconds() - begin) / 1e6;
        let amplification = ftl.counts().write_amplification;
        println!(
            "  {rate:.2} M host writes per CPU-s, {:.1} M pages, amplification {amplification:.3}",
            rate * amplification
        );
    }
    let places = (0..1000).filter_map(|index| ftl.lookup((index * (logical / 1000)) as u32));
    println!("  checksum {:08x}", places.fold(0u32, |sum, place| sum.rotate_left(5) ^ place.0));
}

fn random_writes(ftl: &mut Ftl, rng: &mut Rng, writes: u64) {
    let logical = ftl.spec().geometry.logical_pages;
    let mut batch = [0; 256];
    for _ in 0..writes / batch.len() as u64 {
        batch.fill_with(|| rng.below(logical) as u32);
        ftl.write_all_timeless(&batch);
    }
}

/// CPU time of this thread: wall time on a shared machine tells nothing.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e9
}
