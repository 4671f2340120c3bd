//! Do schedulers do what they are known for, lose nothing, and starve nobody?

use iostack_workload::Rng;

use super::*;

/// 4 KiB at a block, of the process whose number is that of the mebibyte.
pub(super) fn entry(number: u64, block: u64, write: bool, since: Time) -> QueuedIo {
    let offset = block * 4096;
    let owner = (offset >> 20) as u32;
    QueuedIo { slot: number as u32, number, owner, write, sync: true, offset, end: offset + 4096, since }
}

fn scheduler(name: &str, rotates: bool) -> Box<dyn Scheduler> {
    order(&SchedulerSpec::plain(name, rotates))
}

/// A drive of `depth` whose I/Os take a millisecond; whoever asked asks again after `thinks`. In the order in which they
/// went: slot and moment.
fn drive(scheduler: &mut dyn Scheduler, first: &[QueuedIo], rounds: u64, thinks: u64) -> Vec<(u32, Time)> {
    let mut entries: Vec<QueuedIo> = first.to_vec();
    let mut asks: Vec<(Time, u32)> = Vec::new();
    let mut ends: Vec<(Time, u32)> = Vec::new();
    let (mut went, mut now) = (Vec::new(), 0);
    for &entry in first {
        scheduler.add(entry, 0);
    }
    while (went.len() as u64) < rounds {
        let mut idle = None;
        while ends.is_empty() {
            match scheduler.next(now) {
                NextIo::Go(slot) => {
                    went.push((slot, now));
                    ends.push((now + 1_000_000, slot));
                }
                NextIo::Idle(until) => {
                    assert!(until > now, "an idle drive until a moment that is over");
                    idle = Some(until);
                    break;
                }
                NextIo::Nothing => break,
            }
        }
        let moments = asks.iter().chain(&ends).map(|&(at, _)| at);
        now = moments.chain(idle).min().expect("something happens");
        for (_, slot) in ends.extract_if(.., |(at, _)| *at <= now) {
            scheduler.completed(&entries[slot as usize], now);
            asks.push((now + thinks, slot));
        }
        for (_, slot) in asks.extract_if(.., |(at, _)| *at <= now) {
            let number = entries.len() as u64;
            let next = QueuedIo { slot: number as u32, number, since: now, ..entries[slot as usize] };
            let next = QueuedIo { offset: next.end, end: next.end + 4096, ..next };
            entries.push(next);
            scheduler.add(next, now);
        }
    }
    went.into_iter().map(|(slot, at)| (entries[slot as usize].owner, at)).collect()
}

/// Owners and moments of what went of two readers far apart, who think so long between two reads.
fn two_readers(name: &str, rotates: bool, rounds: u64, thinks: u64) -> Vec<(u32, Time)> {
    let first = [entry(0, 0, false, 0), entry(1, 900_000, false, 0)];
    drive(&mut *scheduler(name, rotates), &first, rounds, thinks)
}

/// Changes of the owner while two readers think 200 us between two reads.
fn changes(name: &str, rotates: bool, rounds: u64) -> usize {
    let went = two_readers(name, rotates, rounds, 200_000);
    went.windows(2).filter(|two| two[0].0 != two[1].0).count()
}

#[test]
fn each_gives_every_io_once() {
    for name in crate::sheet::words_of("scheduler.order") {
        for rotates in [false, true] {
            let mut scheduler = scheduler(name, rotates);
            let mut rng = Rng::from_seed(7);
            let (mut waiting, mut flying): (Vec<u32>, Vec<QueuedIo>) = (Vec::new(), Vec::new());
            let mut entries = Vec::new();
            let mut now = 0;
            for number in 0..3000 {
                now += rng.below(3_000_000);
                let some = QueuedIo {
                    owner: rng.below(5) as u32,
                    sync: rng.below(4) > 0,
                    ..entry(number, rng.below(10_000), rng.below(2) == 0, now)
                };
                let some = QueuedIo { sync: some.sync || !some.write, ..some };
                entries.push(some);
                waiting.push(some.slot);
                scheduler.add(some, now);
                while flying.len() < 4
                    && let NextIo::Go(slot) = scheduler.next(now)
                {
                    let place = waiting.iter().position(|&known| known == slot);
                    waiting.swap_remove(place.unwrap_or_else(|| panic!("{name}: {slot} went twice")));
                    flying.push(entries[slot as usize]);
                }
                if flying.len() == 4 || rng.below(2) == 0 {
                    flying.pop().inspect(|gone| scheduler.completed(gone, now));
                }
            }
            for _ in 0..20_000 {
                flying.drain(..).for_each(|gone| scheduler.completed(&gone, now));
                match scheduler.next(now) {
                    NextIo::Go(slot) => {
                        waiting.retain(|&known| known != slot);
                        flying.push(entries[slot as usize]);
                    }
                    NextIo::Idle(until) => now = until,
                    NextIo::Nothing => break,
                }
            }
            assert!(waiting.is_empty(), "{name}: {} never went", waiting.len());
        }
    }
}

#[test]
fn nobody_starves_beside_one_who_never_stops() {
    for name in crate::sheet::words_of("scheduler.order") {
        for rotates in [false, true] {
            let mut scheduler = scheduler(name, rotates);
            let went =
                drive(&mut *scheduler, &[entry(0, 0, false, 0), entry(1, 9000, true, 0)], 8000, 10_000);
            let [a, b] = [0, 35].map(|owner| went.iter().filter(|&&(who, _)| who == owner).count());
            assert!(a.min(b) > 10, "{name}: {a} and {b} I/Os, rotating {rotates}");
        }
    }
}

#[test]
fn fifo_keeps_the_order() {
    let mut fifo = scheduler("noop", true);
    [5, 3, 9].into_iter().enumerate().for_each(|(at, block)| fifo.add(entry(at as u64, block, false, 0), 0));
    assert_eq!(
        [(); 4].map(|()| fifo.next(0)),
        [NextIo::Go(0), NextIo::Go(1), NextIo::Go(2), NextIo::Nothing]
    );
}

#[test]
fn deadline_goes_upwards_in_batches_and_reads_come_first() {
    let mut deadline = scheduler("mq-deadline", false);
    for (number, block) in [50, 10, 90, 30].into_iter().enumerate() {
        deadline.add(entry(number as u64, block, false, 0), 0);
        deadline.add(entry(number as u64 + 10, block, true, 0), 0);
    }
    let went: Vec<NextIo> = (0..8).map(|_| deadline.next(0)).collect();
    assert_eq!(went, [1, 3, 0, 2, 11, 13, 10, 12].map(NextIo::Go));
}

#[test]
fn deadline_s_writes_go_after_two_batches_and_what_is_old_goes_first() {
    let mut deadline = scheduler("mq-deadline", false);
    deadline.add(entry(0, 5, true, 0), 0);
    (1..200).for_each(|number| deadline.add(entry(number, 1000 - number, false, 0), 0));
    let place = (0..200).position(|_| deadline.next(0) == NextIo::Go(0));
    assert_eq!(place, Some(32), "two batches of 16 reads pass it over");

    let mut deadline = scheduler("mq-deadline", false);
    (0..40).for_each(|number| deadline.add(entry(number, 100 + number, false, 0), 0));
    assert!((0..16).all(|_| matches!(deadline.next(0), NextIo::Go(_))));
    deadline.add(entry(50, 1, false, 0), 0);
    let now = 500_000_000;
    // The oldest begins the new batch, though it lies behind.
    let went: Vec<NextIo> = (0..25).map(|_| deadline.next(now)).collect();
    assert_eq!(went[0], NextIo::Go(16));
    assert!(went.contains(&NextIo::Go(50)));
}

#[test]
fn anticipatory_waits_for_a_near_read_of_the_same_process() {
    let (anticipatory, noop) = (changes("anticipatory", true, 100), changes("noop", true, 100));
    assert!(anticipatory < 10 && noop == 99, "{anticipatory} and {noop} changes of 100");
}

#[test]
fn anticipatory_gives_up_who_thinks_long() {
    let last = two_readers("anticipatory", true, 100, 20_000_000)[99].1;
    assert!(last < 100 * 22_000_000, "no wait of 8 ms for each: {last}");
}

#[test]
fn cfq_and_bfq_keep_a_disk_for_a_process_and_no_drive_without_an_arm() {
    for name in ["cfq", "bfq"] {
        let (disk, without) = (changes(name, true, 400), changes(name, false, 400));
        assert!(disk < 10 && without > 300, "{name}: {disk} changes on a disk, {without} without an arm");
    }
}

#[test]
fn cfq_s_slices_and_bfq_s_budgets_end_turns() {
    for name in ["cfq", "bfq"] {
        let went = two_readers(name, true, 1000, 200_000);
        let of_first = went.iter().filter(|&&(owner, _)| owner == 0).count();
        assert!((400..600).contains(&of_first), "{name}: {of_first} of 1000");
        let turn = went.iter().position(|&(owner, _)| owner != 0).expect("a turn ends");
        assert!((80..86).contains(&turn), "{name}: 100 ms of 1.2 ms each, {turn}");
    }
}

#[test]
fn bfq_shares_bytes() {
    // One asks for 4 KiB at a time, the other for 16 KiB; without an arm, both always have one waiting.
    for (name, share) in [("bfq", 0.18..0.22), ("noop", 0.45..0.55)] {
        let mut scheduler = scheduler(name, false);
        let mut went = [0_u64; 2];
        let mut number = 0;
        let add = |scheduler: &mut dyn Scheduler, large: bool, number: &mut u64| {
            let base = entry(*number, *number % 7, false, 0);
            let (owner, length) = if large { (1, 16384) } else { (0, 4096) };
            scheduler.add(QueuedIo { owner, end: base.offset + length, ..base }, 0);
            *number += 1;
            large
        };
        let mut is_large = Vec::new();
        for turn in 0..8 {
            is_large.push(add(&mut *scheduler, turn % 2 == 1, &mut number));
        }
        for _ in 0..60_000 {
            let NextIo::Go(slot) = scheduler.next(0) else { panic!("{name} has some") };
            let large = is_large[slot as usize];
            went[usize::from(large)] += 1;
            is_large.push(add(&mut *scheduler, large, &mut number));
        }
        let large = went[1] as f64 / 60_000.0;
        assert!(share.contains(&large), "{name}: {large}");
    }
}
