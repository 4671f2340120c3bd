//! Random reads, in two ways that are compared.

use std::time::Instant;

use crate::measure::{BLOCK, Outcome, median};

/// Reads random blocks until the time is over: how many. The seed is the caller's number.
pub(crate) fn read_until(
    end: Instant,
    blocks: u64,
    seed: u64,
    buffer: &mut [u8],
    read: impl Fn(&mut [u8], u64) -> std::io::Result<()>,
) -> u64 {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut count = 0;
    // The clock is looked at for every eighth request.
    while count % 8 != 0 || Instant::now() < end {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        read(buffer, random % blocks * BLOCK as u64).expect("the target can be read");
        count += 1;
    }
    count
}

/// Prints both, and the median of the rounds' ratios of the second to the first.
pub(crate) fn print(what: &str, first: &[Outcome], second: &[Outcome]) {
    let of = |list: &[Outcome], value: fn(&Outcome) -> f64| median(list.iter().map(value).collect());
    let ratio = |value: fn(&Outcome) -> f64| {
        median(first.iter().zip(second).map(|(one, other)| value(other) / value(one)).collect())
    };
    println!(
        "{what:<22} {:>9.0} {:>7.2} {:>9.0} {:>7.2}   {:>5.2} {:>5.2}",
        of(first, |one| one.iops),
        of(first, |one| one.cpu_us),
        of(second, |one| one.iops),
        of(second, |one| one.cpu_us),
        ratio(|one| one.iops),
        ratio(|one| one.cpu_us),
    );
}
