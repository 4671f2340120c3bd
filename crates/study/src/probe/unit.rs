//! Which writes make the drive read first? Those that cover a part of its unit.

use iostack_model::answers::{ProbeFinding, ProbePoint, ProbeUnit};
use iostack_model::{Amount, Bytes, Direction, Interval, Job, Mix, Outcome};
use iostack_stats::quantile_interval;

use super::finding::{ProbeSubject, curve, part};
use super::measure::{Length, Prober};

pub(crate) const UNIT: ProbeSubject = ProbeSubject {
    key: "mapping_unit",
    name: "unit of the mapping",
    unit: ProbeUnit::Bytes,
    direction: Direction::Write,
    how: "durable writes of a size at its multiples, and half of it beside them: only those of the unit are slower beside",
};
pub(crate) const FLUSH: ProbeSubject = ProbeSubject {
    key: "flush",
    name: "a small write made durable",
    unit: ProbeUnit::Nanos,
    direction: Direction::Write,
    how: "median of fdatasync after one write",
};

const POINT: Length = Length { seconds: 0.35, ios: 600 };
const LARGEST: u64 = 128 << 10;
/// A write beside the unit takes this many times as long, at least.
const SLOWER: f64 = 1.03;

/// One size: time of a durable write at its multiples, and half of it further.
struct Pair {
    size: u64,
    at: Interval,
    beside: Interval,
}

/// Durable writes of each size, in place and beside.
pub(crate) fn ask(prober: &mut Prober<'_>) -> Vec<ProbeFinding> {
    let block = prober.place().logical_block.0.max(512);
    let (mut pairs, mut flushes): (Vec<Pair>, Vec<(u64, Interval)>) = (Vec::new(), Vec::new());
    let mut size = block * 2;
    let mut rate = 1e3;
    while size <= LARGEST {
        let mut both = Vec::new();
        for shift in [0, size / 2] {
            let job = Prober::durable(prober.job(Mix::WRITE, Bytes(size), 1));
            let region = prober.place().region.0 / size * size - size;
            let job =
                Job { offset: Amount::Bytes(Bytes(shift)), size: Some(Amount::Bytes(Bytes(region))), ..job };
            let Some(outcome) = prober.run(&prober.lasting(job, POINT, rate)) else {
                let missing = prober.missing();
                return vec![UNIT.untold(&missing), FLUSH.untold(missing)];
            };
            rate = outcome.rate();
            if shift == 0 {
                flushes.extend(quantile_interval(&outcome.sync, 0.5).map(|flush| (size, flush)));
            }
            both.extend(durable(&outcome));
        }
        if let [at, beside] = both[..] {
            pairs.push(Pair { size, at, beside });
        }
        size *= 2;
    }
    let found = unit(&pairs, block);
    prober.unit = found.as_ref().ok().map(|unit| Bytes(unit.mean as u64));
    let points = pairs.iter().map(|pair| ProbePoint {
        x: pair.size as f64,
        y: Interval {
            mean: pair.beside.mean / pair.at.mean,
            low: pair.beside.low / pair.at.high,
            high: pair.beside.high / pair.at.low,
            samples: pair.at.samples,
        },
    });
    let over = curve(
        ("size", ProbeUnit::Bytes),
        ("time beside over time in place", ProbeUnit::Share),
        points.collect(),
    );
    vec![UNIT.finding(found, Bytes(0), over), flush(prober, &flushes, &pairs)]
}

/// Time of one write and its flush.
fn durable(outcome: &Outcome) -> Option<Interval> {
    let (write, sync) = (outcome.latency(), &outcome.sync);
    let (write, sync) = (quantile_interval(&write, 0.5)?, quantile_interval(sync, 0.5)?);
    Some(Interval {
        mean: write.mean + sync.mean,
        low: write.low + sync.low,
        high: write.high + sync.high,
        samples: sync.samples,
    })
}

/// The size that alone is clearly slower beside its multiples.
fn unit(pairs: &[Pair], block: u64) -> Result<Interval, String> {
    let ratio = |pair: &Pair| pair.beside.mean / pair.at.mean;
    let mut slower: Vec<&Pair> =
        pairs.iter().filter(|pair| pair.beside.low > pair.at.high && ratio(pair) > SLOWER).collect();
    slower.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let Some(first) = slower.first() else {
        return Err(format!(
            "no write of up to {} takes longer beside its place: the unit is at most {}, or what is half covered costs nothing",
            Bytes(LARGEST),
            Bytes(block)
        ));
    };
    if let Some(most) = pairs.iter().find(|pair| ratio(pair) > ratio(first)) {
        return Err(format!(
            "writes of {} may take longer still beside their place: times vary too much",
            Bytes(most.size)
        ));
    }
    if let Some(second) = slower.get(1)
        && ratio(second) - 1.0 > (ratio(first) - 1.0) * 0.6
    {
        return Err(format!(
            "writes of {} and of {} both take longer beside their place",
            Bytes(first.size),
            Bytes(second.size)
        ));
    }
    Ok(Interval { samples: first.at.samples, ..Interval::exact(first.size as f64) })
}

/// Cost of a flush, of the unit or the smallest size above a page.
fn flush(prober: &mut Prober<'_>, flushes: &[(u64, Interval)], pairs: &[Pair]) -> ProbeFinding {
    let wanted = prober.unit.unwrap_or_else(|| prober.small()).0;
    let points = flushes.iter().map(|&(size, y)| ProbePoint { x: size as f64, y });
    let over = curve(("size", ProbeUnit::Bytes), ("time of fdatasync", ProbeUnit::Nanos), points.collect());
    let Some(&(size, flush)) = flushes.iter().find(|flush| flush.0 >= wanted) else {
        return FLUSH.finding(Err("no flush was measured".to_owned()), Bytes(0), over);
    };
    prober.program_ns = Some(flush.mean);
    let mut finding = FLUSH.finding(Ok(flush), Bytes(size), over);
    if let Some(pair) = pairs.iter().find(|pair| pair.size == size) {
        finding.parts = vec![part("durable", "write and flush", ProbeUnit::Nanos, pair.at)];
    }
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_the_size_that_is_slower_beside_its_place_and_two_such_sizes_are_none() {
        let time = |ns: f64| Interval { mean: ns, low: ns * 0.99, high: ns * 1.01, samples: 50 };
        let pair = |size, at, beside| Pair { size, at: time(at), beside: time(beside) };
        let one = [pair(4096, 300.0, 301.0), pair(8192, 200.0, 300.0), pair(16384, 201.0, 202.0)];
        assert_eq!(unit(&one, 512).expect("8 KiB").mean.to_bits(), 8192f64.to_bits());
        let two = [pair(4096, 200.0, 300.0), pair(8192, 200.0, 290.0)];
        assert!(unit(&two, 512).expect_err("two").contains("both"));
        let wide = Interval { mean: 400.0, low: 150.0, high: 600.0, samples: 50 };
        let unsure = [pair(2048, 200.0, 270.0), Pair { size: 4096, at: time(200.0), beside: wide }];
        assert!(unit(&unsure, 512).expect_err("4 KiB may be it").contains("vary too much"));
        assert!(unit(&one[..1], 512).expect_err("none").contains("at most"));
    }
}
