//! How are skewed draws made exact, fast and small?
//!
//! The ranks 0..count are cut into about a thousand segments in each of which the weight hardly changes. A segment is
//! drawn by its length times its largest weight (the envelope), then a rank in it uniformly, which is accepted with
//! probability weight / largest weight. The result follows the weights exactly, whatever their sum, for any count; most
//! draws are accepted without computing a weight, because they lie below the segment's smallest.
//!
//! ```text
//!   weight │▇▇                     ▇ accepted at once: below the smallest weight of the segment
//!          │▇▇▒▒                   ▒ the weight decides
//!          │▇▇▇▇▇▇▒▒▒▒
//!          │▇▇▇▇▇▇▇▇▇▇▇▇▇▇▒▒▒▒▒▒▒▒
//!          └──────────────────────► rank
//! ```
//!
//! Sources: rejection from a piecewise constant envelope, Devroye, *Non-Uniform Random Variate Generation* (1986), II.3 and
//! VIII.1; drawing the segment in constant time, Walker 1977 and Vose 1991 (alias method).

use iostack_model::{Distribution, Zone};

use crate::{Result, Rng, refuse_if};

/// Draws ranks by weight.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    segments: Vec<Segment>,
    weight: Weight,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    first: u64,
    count: u64,
    /// Largest weight in it.
    peak: f64,
    /// Smallest weight over the largest, in 2^64ths: draws below it need no weight.
    sure: u64,
    /// Draws below this, in 2^64ths, stay; others go to the segment `alias`.
    stay: u64,
    alias: u32,
}

/// The weight of a rank; any factor common to all ranks is left out.
#[derive(Clone, Copy, Debug)]
enum Weight {
    /// 1 / (rank + 1)^theta
    Zipf { theta: f64 },
    /// Weight of a rank when the share up to x is (x / count)^power.
    Pareto { power: f64, count: f64 },
    /// exp(-((rank - middle) / deviation)^2 / 2)
    Normal { middle: f64, deviation: f64 },
    /// All ranks of a segment alike.
    Flat,
}

/// Each segment reaches this much farther from the start (or, of a normal distribution, this many fit in one
/// deviation): weights in it differ by a few percent.
const SEGMENTS_PER_UNIT: u64 = 64;

/// Beyond so many deviations lies less than one draw in 10^15.
const DEVIATIONS: f64 = 8.0;

impl Envelope {
    /// The envelope of `distribution` over the ranks 0..count; `count` must not be 0.
    pub(super) fn new(distribution: &Distribution, count: u64) -> Result<Envelope> {
        let (weight, bounds) = match distribution {
            Distribution::Uniform => (Weight::Flat, vec![0, count]),
            Distribution::Zipf { theta } => {
                require(*theta > 0.0 && *theta < 100.0, "zipf", *theta, "above 0 and below 100")?;
                (Weight::Zipf { theta: *theta }, growing_bounds(count))
            }
            Distribution::Pareto { h } => {
                require(*h > 0.0 && *h < 1.0, "pareto", *h, "between 0 and 1")?;
                // fio's lib/zipf.c draws rank = count * u^(ln h / ln(1 - h)); this is the inverse exponent.
                let power = (1.0 - h).ln() / h.ln();
                (Weight::Pareto { power, count: count as f64 }, growing_bounds(count))
            }
            Distribution::Normal { deviation_percent } => {
                let percent = *deviation_percent;
                require(percent > 0.0 && percent <= 100.0, "normal", percent, "above 0 and at most 100")?;
                let (middle, deviation) = (count as f64 / 2.0, count as f64 * percent / 100.0);
                (Weight::Normal { middle, deviation }, bounds_around(middle, deviation, count))
            }
            Distribution::Zoned(zones) => return zoned(zones, count),
        };
        let segments = bounds.windows(2).map(|pair| {
            let (first, last) = (pair[0], pair[1] - 1);
            let (a, b) = (weight.of(first), weight.of(last));
            Segment::new(first, pair[1] - first, a.max(b), a.min(b))
        });
        Ok(Envelope { segments: with_aliases(segments.collect()), weight })
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            // The upper half of a product picks, the lower half is the fraction that was left over.
            let (slot, rest) = multiply(rng.next_u64(), self.segments.len() as u64);
            let mut segment = &self.segments[slot as usize];
            if rest >= segment.stay {
                segment = &self.segments[segment.alias as usize];
            }
            let (step, height) = multiply(rng.next_u64(), segment.count);
            let rank = segment.first + step;
            if height <= segment.sure || self.weight.reaches(rank, height, segment.peak) {
                return rank;
            }
        }
    }
}

impl Segment {
    fn new(first: u64, count: u64, peak: f64, smallest: f64) -> Segment {
        let sure = if peak > 0.0 { scaled(smallest / peak) } else { u64::MAX };
        Segment { first, count, peak, sure, stay: u64::MAX, alias: 0 }
    }

    fn mass(&self) -> f64 {
        self.count as f64 * self.peak
    }
}

impl Weight {
    fn of(self, rank: u64) -> f64 {
        let rank = rank as f64;
        match self {
            Weight::Zipf { theta } => (rank + 1.0).powf(-theta),
            Weight::Pareto { power, count } if rank == 0.0 => (1.0 / count).powf(power),
            // The difference of two near numbers, without cancelling their digits.
            Weight::Pareto { power, count } => {
                (rank / count).powf(power) * (power * (1.0 / rank).ln_1p()).exp_m1()
            }
            Weight::Normal { middle, deviation } => {
                let z = (rank + 0.5 - middle) / deviation;
                (-0.5 * z * z).exp()
            }
            Weight::Flat => 1.0,
        }
    }

    #[cold]
    fn reaches(self, rank: u64, height: u64, peak: f64) -> bool {
        height as f64 / 2f64.powi(64) * peak < self.of(rank)
    }
}

/// Zones one after the other, each a segment of its own.
fn zoned(zones: &[Zone], count: u64) -> Result<Envelope> {
    let (mut segments, mut first, mut reached) = (Vec::new(), 0, 0.0);
    for zone in zones {
        reached += zone.size_percent;
        let end = ((count as f64 * reached / 100.0).round() as u64).clamp(first, count);
        let what = format!("the zone of {} % of {count} blocks does not hold one block", zone.size_percent);
        let remedy = "give the zone a larger share or the job a larger size";
        refuse_if(end == first && zone.access_percent > 0.0, what, remedy)?;
        if zone.access_percent > 0.0 {
            let weight = zone.access_percent / (end - first) as f64;
            segments.push(Segment::new(first, end - first, weight, weight));
        }
        first = end;
    }
    let accesses: f64 = zones.iter().map(|zone| zone.access_percent).sum();
    let off = (accesses - 100.0).abs() > 0.01 || (reached - 100.0).abs() > 0.01;
    let what = format!("the zones have {accesses} % of the accesses and {reached} % of the size");
    refuse_if(off, what, "make both add up to 100")?;
    Ok(Envelope { segments: with_aliases(segments), weight: Weight::Flat })
}

/// Bounds that grow with the distance from 0, for weights that fall by a power of it.
fn growing_bounds(count: u64) -> Vec<u64> {
    let mut bounds = vec![0];
    let mut reached = 0;
    while reached < count {
        reached = (reached + (reached / SEGMENTS_PER_UNIT).max(1)).min(count);
        bounds.push(reached);
    }
    bounds
}

/// Equal steps away from the middle, up to where nothing is drawn any more.
fn bounds_around(middle: f64, deviation: f64, count: u64) -> Vec<u64> {
    let step = ((deviation / SEGMENTS_PER_UNIT as f64) as u64).max(1);
    let steps = (DEVIATIONS * deviation / step as f64).ceil() as u64 + 1;
    let centre = middle as u64;
    let below = (1..=steps).rev().map(|n| centre.saturating_sub(n * step));
    let above = (0..=steps).map(|n| centre.saturating_add(n.saturating_mul(step)).min(count));
    let mut bounds: Vec<u64> = below.chain(above).collect();
    bounds.dedup();
    bounds
}

/// Fills in `stay` and `alias` by Vose's method: every slot gets the mean mass, made of its own and one other's.
fn with_aliases(mut segments: Vec<Segment>) -> Vec<Segment> {
    let mean = segments.iter().map(Segment::mass).sum::<f64>() / segments.len() as f64;
    let mut masses: Vec<f64> = segments.iter().map(|segment| segment.mass() / mean).collect();
    let (mut poor, mut rich): (Vec<usize>, Vec<usize>) =
        (0..masses.len()).partition(|&index| masses[index] < 1.0);
    while let (Some(&giver), Some(taker)) = (rich.last(), poor.pop()) {
        segments[taker].stay = scaled(masses[taker]);
        segments[taker].alias = giver as u32;
        masses[giver] -= 1.0 - masses[taker];
        if masses[giver] < 1.0 {
            rich.pop();
            poor.push(giver);
        }
    }
    segments
}

/// A fraction of 1 in 2^64ths; a float-to-integer cast saturates.
fn scaled(fraction: f64) -> u64 {
    (fraction * 2f64.powi(64)) as u64
}

#[inline]
fn multiply(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    ((product >> 64) as u64, product as u64)
}

fn require(holds: bool, name: &str, value: f64, range: &str) -> Result<()> {
    refuse_if(!holds, format!("{name}:{value} is not a distribution"), format!("give a number {range}"))
}
