//! The server with users, a disk and a processor made of constant times.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use iostack_model::{Bytes, Commit, Tpcc as Load};
use iostack_workload::Region;

use super::schema::PAGE;
use super::{Tpcc, needed};
use crate::apps::application::{Application, Part, Step};

/// What happened.
#[derive(Default, PartialEq, Debug)]
struct Ran {
    ended: [u64; 5],
    reads: Vec<u64>,
    writes: Vec<(u64, u32)>,
    flushes: u64,
    parts: BTreeMap<Part, u64>,
    /// Latency of all transactions.
    latency: u64,
    inside_most: u32,
}

fn load(commit: Commit) -> Load {
    Load {
        warehouses: 3,
        users: 20,
        pool: Bytes::mib(32),
        redo_log: Bytes::mib(8),
        commit,
        ..Load::default()
    }
}

fn server(load: &Load) -> Tpcc {
    let region = Region::new(0, needed(load));
    Tpcc::new(load, region, Bytes(512), 7)
}

/// Every step takes a constant time; `steps` in all.
fn run(tpcc: &mut Tpcc, steps: u64) -> Ran {
    run_and_look(tpcc, steps, |_| {})
}

/// The same; `look` sees the server after each.
fn run_and_look(tpcc: &mut Tpcc, steps: u64, look: impl Fn(&mut Tpcc)) -> Ran {
    let mut ran = Ran::default();
    let count = tpcc.actors() as usize;
    let (mut marks, mut parts, mut began) = (vec![0u64; count], vec![Part::Client; count], vec![0u64; count]);
    let mut posted = 0u64;
    let mut calendar: BinaryHeap<Reverse<(u64, u32)>> =
        (0..count as u32).map(|actor| Reverse((0, actor))).collect();
    for _ in 0..steps {
        let Reverse((now, actor)) = calendar.pop().expect("somebody can always go on");
        let at = actor as usize;
        if at + 1 < count {
            *ran.parts.entry(parts[at]).or_default() += now - marks[at];
        }
        marks[at] = now;
        let mut then = |time: u64, part: Part| {
            parts[at] = part;
            calendar.push(Reverse((now + time, actor)));
        };
        match tpcc.next(actor) {
            Step::Read { offset, part, .. } => {
                ran.reads.push(offset);
                then(1_000_000, part);
            }
            Step::Write { offset, length, part } => {
                ran.writes.push((offset, length));
                then(500_000, part);
            }
            Step::Post { offset, length } => {
                posted += 1;
                ran.writes.push((offset, length));
                then(0, Part::Writes);
            }
            Step::Drain => then(std::mem::take(&mut posted) * 100_000, Part::Writes),
            Step::Flush(part) => {
                ran.flushes += 1;
                then(2_000_000, part);
            }
            Step::Compute(clocks) => then(u64::from(clocks) / 2, Part::Processor),
            Step::Pause(time, part) => then(time.0, part),
            Step::Wait(part) => parts[at] = part,
            Step::End(kind) => {
                ran.ended[kind] += 1;
                ran.latency += now - began[at];
                began[at] = now;
                then(0, Part::Client);
            }
            Step::Over => panic!("TPC-C never ends"),
        }
        while let Some(other) = tpcc.woken() {
            calendar.push(Reverse((now, other)));
        }
        look(tpcc);
        ran.inside_most = ran.inside_most.max(tpcc.gate.inside);
    }
    ran
}

#[test]
fn everybody_gets_on_and_the_parts_of_transactions_add_up() {
    for commit in [Commit::Group, Commit::Serial] {
        let mut tpcc = server(&load(commit));
        let ran = run(&mut tpcc, 300_000);
        assert!(ran.ended.iter().all(|&count| count > 50), "{commit:?}: {:?}", ran.ended);
        assert_eq!(ran.inside_most, 8, "as many as may be let in");
        let parts: u64 = ran.parts.values().sum();
        // What is under way at the end belongs to no transaction yet.
        assert!(parts >= ran.latency && parts - ran.latency < ran.latency / 20, "{parts} of {}", ran.latency);
    }
}

#[test]
fn in_series_each_commit_has_a_flush_and_in_groups_they_share() {
    let flushes = |commit| {
        let mut tpcc = server(&load(commit));
        let ran = run(&mut tpcc, 300_000);
        let log = tpcc.schema.log().1;
        let batches = ran.writes.iter().filter(|&&(offset, _)| offset == log).count() as u64;
        // Two flushes for each batch of pages; a new order in a hundred is rolled back.
        let commits = ran.ended[0] + ran.ended[1] + ran.ended[3];
        (ran.flushes - 2 * batches) as f64 / commits as f64
    };
    let (group, series) = (flushes(Commit::Group), flushes(Commit::Serial));
    assert!((0.98..1.01).contains(&series), "{series} flushes for each commit in series");
    assert!(group < 0.7, "{group} flushes for each commit in groups");
}

#[test]
fn the_same_seed_asks_for_the_same_bytes() {
    let ran = |seed: u64| {
        let load = load(Commit::Group);
        let region = Region::new(0, needed(&load));
        run(&mut Tpcc::new(&load, region, Bytes(512), seed), 50_000)
    };
    assert_eq!(ran(1), ran(1));
    assert_ne!(ran(1), ran(2));
}

#[test]
fn a_read_page_is_in_the_pool_and_none_is_read_while_it_is() {
    let load = load(Commit::Group);
    let mut tpcc = server(&load);
    let (hits, looks) = (|tpcc: &Tpcc| tpcc.hits, |tpcc: &Tpcc| tpcc.looks);
    tpcc.begin();
    let ran = run(&mut tpcc, 300_000);
    let missed = looks(&tpcc) - hits(&tpcc);
    // Each miss is a read, or waits for one; some wait again because the page went meanwhile.
    let reads = ran.reads.len() as u64;
    assert!(reads <= missed && missed - reads < missed / 20, "{missed} missed, {reads} read");
    let base = tpcc.schema.offset(0);
    assert!(
        ran.reads.iter().all(|&offset| offset >= base && (offset - base).is_multiple_of(u64::from(PAGE)))
    );
    assert!(tpcc.pool.len() == tpcc.pool.capacity() && tpcc.pool.dirty() <= tpcc.pool.capacity());
}

#[test]
fn a_database_that_fits_is_not_read() {
    let load = Load { warehouses: 1, pool: Bytes::mib(256), ..load(Commit::Group) };
    let mut tpcc = server(&load);
    tpcc.begin();
    let ran = run(&mut tpcc, 100_000);
    assert_eq!(ran.reads.len(), 0);
    // New pages are looked for, and made.
    assert!(tpcc.hits <= tpcc.looks && tpcc.looks - tpcc.hits < tpcc.looks / 1000);
}

#[test]
fn the_log_never_overtakes_a_page_that_was_not_written() {
    let load = load(Commit::Group);
    let mut tpcc = server(&load);
    run_and_look(&mut tpcc, 300_000, |tpcc| {
        let since = tpcc.pool.oldest_change().expect("pages are dirty");
        // Users that were let in before may still put in theirs.
        assert!(tpcc.log.position() - since < load.redo_log.0, "the ring went round");
    });
}
