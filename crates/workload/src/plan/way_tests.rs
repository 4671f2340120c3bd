//! Do I/Os follow, turn and stride as the job asks? Seeds are fixed.

use iostack_model::{
    Access, Bytes, FileOrder, FileTurns, Follow, Job, Mix, Verify, VerifyMode, WritePointers, Zones,
};

use super::*;

const BLOCK: u64 = 4096;

/// One pass over so many blocks in each file: file and block of each I/O.
fn pass(job: &Job, blocks: u64, files: u16) -> Vec<(u16, u64)> {
    let mut plan = Plan::new(job, Region::new(0, blocks * BLOCK), files, 0).expect("sound");
    let ops = tests::pass(&mut plan);
    ops.iter().map(|op| (op.file, op.offset / BLOCK)).collect()
}

fn blocks(job: &Job, blocks: u64) -> Vec<u64> {
    pass(job, blocks, 1).into_iter().map(|(_, block)| block).collect()
}

/// I/Os that begin where the one before ended.
fn following(blocks: &[u64]) -> usize {
    blocks.windows(2).filter(|pair| pair[1] == pair[0] + 1).count()
}

fn randomly(follow: Follow) -> Job {
    Job { follow, access: Access::UNIFORM, ..Job::default() }
}

#[test]
fn backward_goes_from_the_end_to_the_start_and_again() {
    let job = Job { access: Access::Backward { step: Bytes(2 * BLOCK) }, ..Job::default() };
    assert_eq!(blocks(&job, 8), [0, 6, 5, 4, 3, 2, 1, 0]);
    let job = Job { access: Access::Backward { step: Bytes(4 * BLOCK) }, ..Job::default() };
    assert_eq!(blocks(&job, 8), [0, 4, 1, 4, 1, 4, 1, 4]);
}

#[test]
fn so_many_percent_are_at_random() {
    for percent in [0, 30, 100] {
        let follow = Follow { random: [percent; 3], ..Follow::NONE };
        let drawn = 100_000 - following(&blocks(&randomly(follow), 100_000));
        let wanted = 1000 * usize::from(percent);
        assert!(drawn.abs_diff(wanted) < 700, "{drawn} for {percent} %");
    }
}

#[test]
fn a_share_is_each_directions_own() {
    let follow = Follow { random: [100, 0, 100], ..Follow::NONE };
    let job = Job { mix: Mix::reads(50), ..randomly(follow) };
    let mut plan = Plan::new(&job, Region::new(0, 10_000 * BLOCK), 1, 0).expect("sound");
    let mut ops = Vec::new();
    plan.fill(&mut ops, 1000);
    let writes: Vec<u64> = ops.iter().filter(|op| op.direction == 1).map(|op| op.offset / BLOCK).collect();
    assert!(writes.len() > 400 && writes.iter().copied().eq(0..writes.len() as u64), "{writes:?}");
}

#[test]
fn a_run_goes_on_or_stays() {
    let runs = |again| {
        let draws = blocks(&randomly(Follow { run: 4, again, ..Follow::NONE }), 4096);
        draws[..3].iter().for_each(|&block| assert!(block < 3, "the first follow the start"));
        draws[3..]
            .chunks_exact(4)
            .all(|run| run.windows(2).all(|pair| pair[1] == pair[0] + u64::from(!again) || pair[0] == 4095))
    };
    assert!(runs(true) && runs(false));
}

#[test]
fn files_take_turns_of_any_length() {
    let order = |file_order, file_every| {
        let job = Job {
            access: Access::Sequential,
            file_turns: FileTurns { order: file_order, every: file_every },
            ..Job::default()
        };
        pass(&job, 6, 2)
    };
    let turns = |every| order(FileOrder::Turns, every).iter().map(|(file, _)| *file).collect::<Vec<_>>();
    assert_eq!(turns(1), [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(turns(4), [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1], "who is done passes its turn on");
    let one_by_one = order(FileOrder::Sequential, 1);
    assert!(one_by_one.iter().copied().eq((0..2).flat_map(|file| (0..6).map(move |block| (file, block)))));
    let mut at_random = order(FileOrder::Random, 1);
    assert_ne!(at_random, order(FileOrder::Turns, 1));
    at_random.sort_unstable();
    assert_eq!(at_random, one_by_one, "each file is passed over once");
}

#[test]
fn zones_are_worked_on_in_turn_and_what_lies_between_is_not_touched() {
    let zones = Zones { size: Bytes(2 * BLOCK), range: Bytes(3 * BLOCK), skip: Bytes(BLOCK) };
    let job = Job { access: Access::Sequential, zones: Some(zones), ..Job::default() };
    assert_eq!(blocks(&job, 9), [0, 1, 4, 5, 0, 1, 4, 5, 0]);
    let drawn = blocks(&Job { access: Access::PERMUTATION, ..job.clone() }, 4000);
    assert!(drawn.iter().all(|block| block % 4 < 3), "the skipped block was touched");
    assert!(drawn.chunks_exact(2).all(|pair| pair[0] / 4 == pair[1] / 4 && pair[0] != pair[1]));
    let too_small = Job { zones: Some(Zones { range: Bytes(100), ..zones }), ..job };
    Plan::new(&too_small, Region::new(0, 9 * BLOCK), 1, 0).expect_err("no block fits");
}

/// Zones of four blocks, of which three are written.
fn with_pointers(job: Job) -> Job {
    let pointers =
        WritePointers { zone: Bytes(4 * BLOCK), capacity: Bytes(3 * BLOCK), ..WritePointers::default() };
    Job { write_pointers: Some(pointers), ..job }
}

#[test]
fn zones_are_written_from_their_start_on_and_begin_again_when_they_are_full() {
    let writes = |access| with_pointers(Job { mix: Mix::WRITE, access, ..Job::default() });
    assert_eq!(
        blocks(&writes(Access::Sequential), 9),
        [0, 1, 2, 4, 5, 6],
        "whole zones, as far as they hold"
    );
    for (access, most) in [(Access::PERMUTATION, 0), (Access::UNIFORM, 0), (Access::PERMUTATION, 2)] {
        let mut job = writes(access);
        job.write_pointers.iter_mut().for_each(|zones| zones.open_most = most);
        let written = blocks(&job, 64);
        assert_eq!(written.len(), 64);
        let mut next = [0; 16];
        for (number, block) in written.iter().enumerate() {
            let (zone, place) = ((block / 4) as usize, block % 4);
            assert_eq!(place, next[zone], "write {number} to zone {zone}");
            next[zone] = (place + 1) % 3;
            let begun = next.iter().filter(|&&place| place > 0).count() as u32;
            assert!(most == 0 || begun <= most, "write {number}: {begun} zones are open");
        }
    }
    let kept =
        Job { verify: Some(Verify::of_mode(VerifyMode::WriteThenRead)), ..writes(Access::PERMUTATION) };
    let mut written = blocks(&kept, 16);
    written.sort_unstable();
    assert_eq!(written, [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14], "nothing twice, as it is read back");
}

#[test]
fn reads_stay_below_the_write_pointers_unless_they_may_go_beyond() {
    let job = with_pointers(Job { mix: Mix::reads(50), ..randomly(Follow::NONE) });
    let mut plan = Plan::new(&job, Region::new(0, 64 * BLOCK), 1, 0).expect("sound");
    let ops = tests::pass(&mut plan);
    let mut written = [0; 16];
    for op in &ops {
        let (zone, end) = ((op.offset / BLOCK / 4) as usize, op.offset / BLOCK % 4 + 1);
        if op.direction == 1 {
            written[zone] = end;
        } else {
            assert!(
                end <= written[zone],
                "a read of block {end} of zone {zone}, of which {} are",
                written[zone]
            );
        }
    }
    assert_eq!((ops.len(), ops[0].direction), (64, 1), "what is first is a write");
    let read = |reads_beyond| {
        let mut job = with_pointers(Job { access: Access::Sequential, ..Job::default() });
        job.write_pointers.iter_mut().for_each(|zones| zones.reads_beyond = reads_beyond);
        blocks(&job, 8)
    };
    assert_eq!((read(false), read(true)), (vec![], (0..8).collect()), "nothing is written, as with fio");
}

#[test]
fn random_places_are_multiples_of_the_alignment() {
    let job = Job { align: Bytes(8 * BLOCK), ..randomly(Follow::NONE) };
    let draws = blocks(&job, 800);
    assert!(draws.iter().all(|block| block % 8 == 0) && draws.iter().any(|&block| block > 700));
}
