//! Do the operations follow what the job asks? Every seed is fixed; bounds are for one false alarm in a thousand seeds.

use std::collections::HashMap;

use iostack_model::{Access, BlockSizes, Bytes, Direction, Distribution, Job, Mix, Order, Zone};

use super::*;

const BLOCK: u64 = 4096;

fn random(distribution: Distribution) -> Access {
    Access::Random { order: Order::Independent, distribution }
}

fn region_of(blocks: u64) -> Region {
    Region::new(1 << 20, blocks * BLOCK)
}

fn plan(job: &Job, blocks: u64) -> Plan {
    Plan::new(job, region_of(blocks), 1, 0).expect("a sound job")
}

fn in_batches(plan: &mut Plan, batch: usize) -> Vec<Op> {
    let mut ops = Vec::new();
    while plan.fill(&mut ops, batch) == Filled::More {}
    ops
}

/// One pass, in batches of an odd size.
pub(super) fn pass(plan: &mut Plan) -> Vec<Op> {
    in_batches(plan, 37)
}

/// `count` operations, over as many passes as it takes; the blocks they start at.
fn blocks(job: &Job, blocks: u64, count: usize) -> Vec<u64> {
    let mut plan = plan(job, blocks);
    let mut ops = Vec::new();
    while ops.len() < count {
        if plan.fill(&mut ops, count) == Filled::RegionDone {
            plan.restart();
        }
    }
    ops.truncate(count);
    ops.iter().map(|op| (op.offset - (1 << 20)) / BLOCK).collect()
}

fn counts(draws: &[u64], of: u64) -> Vec<f64> {
    let mut counts = vec![0.0; of as usize];
    for &draw in draws {
        counts[draw as usize] += 1.0;
    }
    counts
}

/// Chi-square per degree of freedom must stay below 1 + 4.5 deviations for many degrees of freedom.
fn assert_follows(counts: &[f64], shares: &[f64], what: &str) {
    let draws: f64 = counts.iter().sum();
    let whole: f64 = shares.iter().sum();
    let chi: f64 = counts
        .iter()
        .zip(shares)
        .map(|(&n, share)| (n - draws * share / whole).powi(2) / (draws * share / whole))
        .sum();
    let freedom = counts.len() as f64 - 1.0;
    let limit = freedom + 4.5 * (2.0 * freedom).sqrt();
    assert!(chi < limit, "{what}: chi-square {chi:.1} for {freedom} degrees of freedom, at most {limit:.1}");
}

#[test]
fn uniform_draws_are_uniform_aligned_and_inside() {
    for (of, draws) in [(1000, 200_000), (7, 50_000), (1, 10)] {
        let drawn = blocks(&Job::default(), of, draws);
        if of > 1 {
            assert_follows(&counts(&drawn, of), &vec![1.0; of as usize], "uniform");
        }
    }
    let ops = pass(&mut plan(&Job::default(), 100));
    assert_eq!(ops.len(), 100);
    assert!(ops.iter().all(|op| op.offset % BLOCK == 0 && op.offset >= 1 << 20));
    assert!(ops.iter().all(|op| op.offset + u64::from(op.length) <= (1 << 20) + 100 * BLOCK));
}

#[test]
fn a_permutation_visits_each_block_once_and_differently_each_pass() {
    let job = Job { access: Access::PERMUTATION, ..Job::default() };
    for (mix, of) in [(Mix::READ, 1000), (Mix::reads(50), 999)] {
        let mut plan = plan(&Job { mix, ..job.clone() }, of);
        let first = pass(&mut plan);
        plan.restart();
        let second = pass(&mut plan);
        for ops in [&first, &second] {
            let mut offsets: Vec<u64> = ops.iter().map(|op| (op.offset - (1 << 20)) / BLOCK).collect();
            offsets.sort_unstable();
            assert!(offsets.into_iter().eq(0..of));
        }
        let same = first.iter().zip(&second).filter(|(a, b)| a.offset == b.offset).count();
        assert!(same < 15, "{same}");
    }
}

/// Counts of so many draws, the most drawn block first: blocks are scattered, and their ranks found again by counting.
fn by_rank(distribution: Distribution, of: u64, draws: usize) -> Vec<f64> {
    let job = Job { access: random(distribution), ..Job::default() };
    let mut ranks = counts(&blocks(&job, of, draws), of);
    ranks.sort_by(|a, b| b.total_cmp(a));
    ranks
}

#[test]
fn zipf_ranks_have_the_frequencies_of_the_formula() {
    for theta in [0.5, 0.99, 1.0, 1.2, 2.5] {
        let of = 2000;
        let drawn = by_rank(Distribution::Zipf { theta }, of, 400_000);
        let shares: Vec<f64> = (1..=of).map(|rank| (rank as f64).powf(-theta)).collect();
        let whole: f64 = shares.iter().sum();
        for rank in 0..3 {
            let (got, expected) = (drawn[rank] / 400_000.0, shares[rank] / whole);
            assert!(
                (got - expected).abs() < 0.06 * expected + 0.0005,
                "theta {theta} rank {rank}: {got} for {expected}"
            );
        }
    }
}

fn pareto(h: f64, rank: f64) -> f64 {
    let power = (1.0 - h).ln() / h.ln();
    (rank + 1.0).powf(power) - rank.powf(power)
}

type Share = fn(f64) -> f64;

#[test]
fn the_envelope_draws_exactly_by_weight() {
    let of = 3000_u64;
    let cases: [(Distribution, Share); 4] = [
        (Distribution::Zipf { theta: 0.9 }, |rank| (rank + 1.0).powf(-0.9)),
        (Distribution::Pareto { h: 0.2 }, |rank| pareto(0.2, rank)),
        (Distribution::Pareto { h: 0.7 }, |rank| pareto(0.7, rank)),
        (Distribution::Normal { deviation_percent: 20.0 }, |rank| {
            (-0.5 * ((rank + 0.5 - 1500.0) / 600.0).powi(2)).exp()
        }),
    ];
    for (distribution, share) in cases {
        let mut shares: Vec<f64> = (0..of).map(|rank| share(rank as f64)).collect();
        let envelope = envelope::Envelope::new(&distribution, of).expect("sound");
        let mut rng = Rng::from_seed(17);
        let draws: Vec<u64> = (0..3_000_000).map(|_| envelope.draw(&mut rng)).collect();
        let mut seen = counts(&draws, of);
        // The chi-square test wants five draws or more expected of each rank; the rarest are taken together.
        let whole: f64 = shares.iter().sum();
        let (mut rare_seen, mut rare_share) = (0.0, 0.0);
        for index in (0..shares.len()).rev() {
            if shares[index] / whole * 3_000_000.0 < 5.0 {
                rare_seen += seen.remove(index);
                rare_share += shares.remove(index);
            }
        }
        if rare_share / whole * 3_000_000.0 >= 5.0 {
            seen.push(rare_seen);
            shares.push(rare_share);
        }
        assert_follows(&seen, &shares, &format!("{distribution:?}"));
    }
}

#[test]
fn a_pareto_of_02_gives_80_percent_of_accesses_to_20_percent_of_blocks() {
    let drawn = by_rank(Distribution::Pareto { h: 0.2 }, 10_000, 500_000);
    let hot = drawn[..2000].iter().sum::<f64>() / 500_000.0;
    assert!((hot - 0.8).abs() < 0.01, "{hot}");
}

#[test]
fn hot_blocks_are_scattered_and_the_same_for_all_threads() {
    let job = Job { access: random(Distribution::Zipf { theta: 1.2 }), ..Job::default() };
    let hottest = |thread| {
        let mut plan = Plan::new(&job, region_of(100_000), 1, thread).expect("sound");
        let mut seen: HashMap<u64, u32> = HashMap::new();
        for op in pass(&mut plan) {
            *seen.entry(op.offset).or_default() += 1;
        }
        let mut seen: Vec<_> = seen.into_iter().collect();
        seen.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        seen.into_iter().take(8).map(|(offset, _)| offset).collect::<Vec<_>>()
    };
    let hot = hottest(0);
    assert_eq!(hot[..4], hottest(1)[..4]);
    let span = hot.iter().max().expect("eight") - hot.iter().min().expect("eight");
    assert!(span > 10_000 * BLOCK, "the eight hottest lie within {span} bytes");
}

#[test]
fn zones_get_their_share_of_accesses() {
    let zone = |access_percent, size_percent| Zone { access_percent, size_percent };
    let zones = vec![zone(60.0, 10.0), zone(30.0, 20.0), zone(8.0, 30.0), zone(2.0, 40.0)];
    let drawn = blocks(&Job { access: random(Distribution::Zoned(zones)), ..Job::default() }, 1000, 100_000);
    let mut seen = [0.0; 4];
    for block in drawn {
        seen[usize::from(block >= 100) + usize::from(block >= 300) + usize::from(block >= 600)] += 1.0;
    }
    assert_follows(&seen, &[60.0, 30.0, 8.0, 2.0], "zones");
}

#[test]
fn distributions_that_are_none_are_refused() {
    let zones = |a, b| Distribution::Zoned(vec![Zone { access_percent: a, size_percent: b }]);
    let bad = [
        Distribution::Zipf { theta: 0.0 },
        Distribution::Zipf { theta: f64::NAN },
        Distribution::Pareto { h: 1.0 },
        Distribution::Normal { deviation_percent: -1.0 },
        zones(90.0, 100.0),
        zones(100.0, 0.001),
    ];
    for distribution in bad {
        let job = Job { access: random(distribution.clone()), ..Job::default() };
        let error = Plan::new(&job, region_of(10), 1, 0).expect_err(&format!("{distribution:?}"));
        assert!(matches!(error, WorkloadError::Impossible { .. }), "{error}");
    }
}

#[test]
fn extreme_skew_and_size_neither_hang_nor_leave_the_region() {
    let cases = [
        (Distribution::Zipf { theta: 50.0 }, 1 << 40),
        (Distribution::Zipf { theta: 0.01 }, 1 << 40),
        (Distribution::Pareto { h: 0.001 }, 1 << 40),
        (Distribution::Pareto { h: 0.999 }, 1 << 40),
        (Distribution::Normal { deviation_percent: 0.000_001 }, 1 << 40),
        (Distribution::Normal { deviation_percent: 100.0 }, 3),
        (Distribution::Zipf { theta: 1.0 }, 1),
    ];
    for (distribution, of) in cases {
        let envelope = envelope::Envelope::new(&distribution, of).expect("sound");
        let mut rng = Rng::from_seed(1);
        let sum: u64 = (0..10_000).map(|_| envelope.draw(&mut rng)).inspect(|&rank| assert!(rank < of)).sum();
        println!("{distribution:?}: mean rank {}", sum / 10_000);
    }
}

#[test]
fn the_mix_has_its_shares() {
    let job = Job { mix: Mix { read: 70, write: 20, trim: 10 }, ..Job::default() };
    let mut seen = [0.0; 3];
    for op in pass(&mut plan(&job, 100_000)) {
        seen[usize::from(op.direction)] += 1.0;
    }
    assert_follows(&seen, &[70.0, 20.0, 10.0], "mix");
    let reads = pass(&mut plan(&Job { mix: Mix::reads(100), ..Job::default() }, 1000));
    assert!(reads.iter().all(|op| op.direction() == Direction::Read));
}

#[test]
fn block_sizes_have_their_shares_and_fit() {
    let sizes = vec![(Bytes(4096), 60), (Bytes(8192), 10), (Bytes(65_536), 30)];
    let block_sizes = BlockSizes { write: vec![(Bytes(512), 100)], read: sizes.clone(), trim: sizes };
    let job = Job { mix: Mix::reads(50), block_sizes, ..Job::default() };
    let mut seen = [0.0; 3];
    let ops = pass(&mut plan(&job, 1 << 20));
    for op in &ops {
        assert!(op.offset + u64::from(op.length) <= (1 << 20) + (BLOCK << 20));
        match (op.direction(), op.length) {
            (Direction::Write, length) => assert_eq!((length, op.offset % 512), (512, 0)),
            (_, 4096) => seen[0] += 1.0,
            (_, 8192) => seen[1] += 1.0,
            (_, length) => {
                assert_eq!(length, 65_536);
                seen[2] += 1.0;
            }
        }
        assert!(op.direction() == Direction::Write || op.offset % 4096 == 0);
    }
    assert_follows(&seen, &[60.0, 10.0, 30.0], "block sizes");
    assert_eq!(bytes(&ops), BLOCK << 20);
}

#[test]
fn a_sequence_goes_block_by_block_and_starts_again() {
    let job = Job { access: Access::Sequential, ..Job::default() };
    let mut plan = Plan::new(&job, Region::new(8192, 4 * BLOCK + 100), 1, 3).expect("sound");
    let offsets = |ops: Vec<Op>| ops.iter().map(|op| op.offset).collect::<Vec<_>>();
    let expected: Vec<u64> = (0..4).map(|n| 8192 + n * BLOCK).collect();
    assert_eq!(offsets(pass(&mut plan)), expected);
    assert_eq!(plan.fill(&mut Vec::new(), 10), Filled::RegionDone);
    plan.restart();
    assert_eq!(offsets(pass(&mut plan)), expected);
}

#[test]
fn reads_and_writes_of_a_mixed_sequence_follow_their_own_sequences() {
    // As fio 3.33 with rw=rw, size=64k, write_iolog: 16 operations, both directions from offset 0 on.
    let job = Job { access: Access::Sequential, mix: Mix::reads(50), ..Job::default() };
    let ops = pass(&mut plan(&job, 16));
    assert_eq!(ops.len(), 16);
    for direction in [Direction::Read, Direction::Write] {
        let own: Vec<u64> = ops.iter().filter(|op| op.direction() == direction).map(|op| op.offset).collect();
        assert!(own.len() > 2);
        assert!(own.iter().copied().eq((0..own.len() as u64).map(|n| (1 << 20) + n * BLOCK)));
    }
}

#[test]
fn a_stride_ends_where_a_block_does_not_fit_and_begins_again_behind_the_file() {
    // As fio 3.33 does with files of so many blocks, in blocks: size, file, gap, offsets.
    let cases: [(u64, u64, u64, &[u64]); 6] = [
        (16, 16, 3, &[0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12]),
        (16, 32, 3, &[0, 4, 8, 12]),
        (9, 9, 1, &[0, 2, 4, 6, 8]),
        (9, 10, 1, &[0, 2, 4, 6, 8, 0, 2, 4, 6]),
        (4, 4, 4, &[0, 0, 0, 0]),
        (4, 5, 3, &[0]),
    ];
    for (blocks, file, gap, expected) in cases {
        let job = Job { access: Access::Strided { gap: Bytes(gap * BLOCK) }, ..Job::default() };
        let region = Region { offset: 0, length: blocks * BLOCK, file_length: file * BLOCK };
        let mut plan = Plan::new(&job, region, 1, 0).expect("sound");
        for _ in 0..2 {
            let seen: Vec<u64> = pass(&mut plan).iter().map(|op| op.offset / BLOCK).collect();
            assert_eq!(seen, expected, "{blocks} of {file}, gap {gap}");
            plan.restart();
        }
    }
    // A gap of half a block, size=8m bs=1m: the sixth would end behind the file.
    let job = Job { access: Access::Strided { gap: Bytes(BLOCK / 2) }, ..Job::default() };
    let seen = |files| pass(&mut Plan::new(&job, Region::new(0, 8 * BLOCK), files, 0).expect("sound"));
    let halves: Vec<u64> = seen(1).iter().map(|op| op.offset * 2 / BLOCK).collect();
    assert_eq!(halves, [0, 3, 6, 9, 12]);
    assert_eq!(seen(3).len(), 15, "five in each of three files");
}

#[test]
fn files_take_turns() {
    let job = Job { access: Access::Sequential, ..Job::default() };
    let mut plan = Plan::new(&job, Region::new(0, 2 * BLOCK), 3, 0).expect("sound");
    let places: Vec<(u16, u64)> = pass(&mut plan).iter().map(|op| (op.file, op.offset)).collect();
    assert_eq!(places, [(0, 0), (1, 0), (2, 0), (0, BLOCK), (1, BLOCK), (2, BLOCK)]);
}

#[test]
fn each_block_is_trimmed_and_then_written() {
    for access in [Access::Sequential, Access::UNIFORM] {
        let job = Job { access, mix: Mix { read: 0, write: 50, trim: 50 }, ..Job::default() };
        let ops = pass(&mut plan(&job, 8));
        assert_eq!(ops.len(), 16);
        for pair in ops.chunks(2) {
            assert_eq!((pair[0].direction(), pair[1].direction()), (Direction::Trim, Direction::Write));
            assert_eq!(pair[0].offset, pair[1].offset);
        }
    }
}

#[test]
fn a_seed_and_thread_reproduce_the_operations_whatever_the_batch() {
    let zoned = Distribution::Zipf { theta: 1.1 };
    for access in [Access::UNIFORM, random(zoned), Access::PERMUTATION] {
        let job = Job { access, mix: Mix::reads(70), seed: 5, ..Job::default() };
        let ops = |job: &Job, thread, batch| {
            in_batches(&mut Plan::new(job, region_of(500), 1, thread).expect("sound"), batch)
        };
        assert!(ops(&job, 0, 256) == ops(&job, 0, 1), "another batch, other operations");
        assert!(ops(&job, 0, 256) != ops(&job, 1, 256), "another thread, the same operations");
        let reseeded = Job { seed: 6, ..job.clone() };
        assert!(ops(&job, 0, 256) != ops(&reseeded, 0, 256), "another seed, the same operations");
    }
}

/// One pass over `length` bytes in sequence, in blocks of any size from `least` to `most`.
fn ranged(least: u64, most: u64, length: u64, any_size: bool) -> Vec<Op> {
    let range = vec![(Bytes(least), 50), (Bytes(most), 50)];
    let block_sizes = BlockSizes { read: range.clone(), write: range.clone(), trim: range };
    let access = Access::Sequential;
    let job = Job { block_sizes, any_size, any_multiple: !any_size, access, ..Job::default() };
    pass(&mut Plan::new(&job, Region::new(0, length), 1, 0).expect("fits"))
}

fn bytes(ops: &[Op]) -> u64 {
    ops.iter().map(|op| u64::from(op.length)).sum()
}

#[test]
fn any_size_is_as_likely_and_a_pass_has_every_byte() {
    let length = 4096 * 10_000 + 1500;
    let ops = ranged(1000, 9000, length, true);
    let total = bytes(&ops);
    assert!((length - 999..=length).contains(&total), "all but what is less than the smallest: {total}");
    let starts =
        ops.iter().scan(0, |next, op| Some(std::mem::replace(next, op.offset + u64::from(op.length))));
    assert!(starts.eq(ops.iter().map(|op| op.offset)), "one behind the other");
    // 8001 sizes; 6 standard deviations of the count of each thousand are some 165.
    let thousands = counts(&ops.iter().map(|op| u64::from(op.length) / 1000).collect::<Vec<_>>(), 10);
    let each = ops.len() as f64 / 8.0;
    assert!(thousands[1..9].iter().all(|count| (count - each).abs() < 165.0), "{thousands:?}");
    assert!(ops.iter().any(|op| op.length % 8 != 0));
}

#[test]
fn any_multiple_of_the_smallest_is_as_likely_and_a_pass_has_every_block() {
    let length = 512 * 100 * 20_000 + 700;
    let ops = ranged(512, 512 * 200, length, false);
    assert_eq!(bytes(&ops), length / 512 * 512);
    assert!(ops.iter().all(|op| op.length % 512 == 0 && op.offset % 512 == 0));
    // Some 100 of each of 200 sizes; 6 standard deviations are 60.
    let sizes = counts(&ops.iter().map(|op| u64::from(op.length) / 512 - 1).collect::<Vec<_>>(), 200);
    let each = ops.len() as f64 / 200.0;
    assert!(sizes.iter().all(|count| (count - each).abs() < 60.0), "{sizes:?}");
}

/// The tight loop draws what the plan draws one by one, to the bit.
#[test]
fn the_tight_loops_draw_what_one_by_one_draws() {
    let sizes = vec![(Bytes(4096), 60), (Bytes(8192), 30), (Bytes(65_536), 10)];
    let split = BlockSizes { read: sizes.clone(), write: sizes.clone(), trim: sizes };
    let thirds = Mix { read: 34, write: 33, trim: 33 };
    for (mix, block_sizes) in [
        (Mix::reads(100), split.clone()),
        (Mix::reads(0), split.clone()),
        (Mix::reads(70), split),
        (Mix::reads(70), BlockSizes::all(Bytes(4096))),
        (thirds, BlockSizes::all(Bytes(4096))),
    ] {
        for access in [random(Distribution::Uniform), random(Distribution::Zipf { theta: 1.1 })] {
            let job = Job { mix, access, block_sizes: block_sizes.clone(), seed: 3, ..Job::default() };
            let (mut tight, mut single) = (plan(&job, 10_000), plan(&job, 10_000));
            let mut ops = Vec::new();
            let _more = tight.fill(&mut ops, 1_000);
            let drawn: Vec<Op> = (0..1_000).map_while(|_| single.next()).collect();
            assert_eq!(ops, drawn, "{job:?}");
        }
    }
}

#[test]
fn what_cannot_be_planned_is_refused() {
    let small = Plan::new(&Job::default(), Region::new(0, 4095), 1, 0);
    assert_eq!(small.map(|_| ()), Err(WorkloadError::RegionTooSmall { length: 4095, block: 4096 }));
    let empty = Job { mix: Mix { read: 0, write: 0, trim: 0 }, ..Job::default() };
    Plan::new(&empty, region_of(1), 1, 0).expect_err("no direction");
    for size in [0, 1 << 32] {
        let job = Job { block_sizes: BlockSizes::all(Bytes(size)), ..Job::default() };
        Plan::new(&job, region_of(1), 1, 0).expect_err("no such length");
    }
    let halves = BlockSizes { read: vec![(Bytes(4096), 50)], ..BlockSizes::all(Bytes(4096)) };
    Plan::new(&Job { block_sizes: halves, ..Job::default() }, region_of(1), 1, 0)
        .expect_err("half the reads");
}
