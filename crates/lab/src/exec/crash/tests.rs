//! Small records, against whoever counts every disk by hand.

use std::collections::BTreeSet;
use std::sync::Arc;

use iostack_workload::Rng;

use super::image::{PAGE, read};
use super::points::{Lost, Walk, choose, epochs, name, named, restoring, smallest};
use super::prove::shares;
use super::record::{Event, Record, Write};

const SECTOR: u64 = 512;
const SECTORS: u64 = 6;

/// Each write fills its sectors with a byte of its own, from 1.
fn record(atom: u64, writes: &[(u64, u64)], events: Vec<Event>) -> Record {
    let made = |(number, &(sector, sectors)): (u8, &(u64, u64))| {
        let length = sectors * SECTOR;
        let data = Some(Arc::from(vec![number + 1; length as usize]));
        Write { disk: 0, offset: sector * SECTOR, length, data }
    };
    let writes = (0..).zip(writes).map(made).collect();
    let events = (0..).zip(events).collect();
    Record { atoms: vec![atom], writes, events, ..Record::default() }
}

/// A record by chance: writes, some through, and flushes, each answered later or never.
fn by_chance(seed: u64) -> Record {
    let mut random = Rng::from_seed(seed);
    let (mut writes, mut events, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..12 {
        match random.below(4) {
            0 | 1 if writes.len() < 6 => {
                let sector = random.below(SECTORS);
                writes.push((sector, 1 + random.below((SECTORS - sector).min(3))));
                events.push(Event::Asked(writes.len() - 1));
                if random.below(4) == 0 {
                    open.push(Event::Through(writes.len() - 1));
                }
            }
            2 => open.push(Event::Flushed(0, writes.len())),
            _ if !open.is_empty() => events.push(open.remove(random.below(open.len() as u64) as usize)),
            _ => {}
        }
    }
    let mut record = record(2 * SECTOR, &writes, events);
    record.writes.iter_mut().skip(3).step_by(5).for_each(|trim| trim.data = None);
    record
}

/// The first byte of each sector.
fn content(walk: &Walk<'_>, lost: &Lost) -> Vec<u8> {
    let (over, mut bytes) = (walk.disk(lost).0, vec![0; PAGE as usize]);
    read(&[&over, &walk.safe], 0, 0, &mut bytes);
    bytes.chunks_exact(SECTOR as usize).take(SECTORS as usize).map(|sector| sector[0]).collect()
}

/// All disks by the rule alone: each atom as it was at one moment, but for sectors that are safe.
fn by_hand(record: &Record) -> BTreeSet<Vec<u8>> {
    let covers =
        |write: &Write, sector: u64| (write.offset..write.offset + write.length).contains(&(sector * SECTOR));
    // Content after so many writes.
    let then = |sector: u64, count: usize| {
        let last = record.writes[..count].iter().rfind(|write| covers(write, sector));
        last.and_then(|write| write.data.as_ref()).map_or(0, |data| data[0])
    };
    let safe_since = |sector: u64| {
        let safe = record.events.iter().map(|(_, event)| match *event {
            Event::Flushed(_, count) => count,
            Event::Through(number) if covers(&record.writes[number], sector) => number + 1,
            _ => 0,
        });
        safe.max().unwrap_or_default()
    };
    let mut disks = BTreeSet::from([Vec::new()]);
    for atom in 0..SECTORS / 2 {
        let versions: BTreeSet<Vec<u8>> = (0..=record.writes.len())
            .map(|count| {
                (atom * 2..atom * 2 + 2).map(|sector| then(sector, count.max(safe_since(sector)))).collect()
            })
            .collect();
        disks = disks
            .iter()
            .flat_map(|disk| versions.iter().map(|version| [&disk[..], version].concat()).collect::<Vec<_>>())
            .collect();
    }
    disks
}

#[test]
fn every_legal_disk_and_no_other_is_among_all_points() {
    for seed in 0..300 {
        let record = by_chance(seed);
        let mut walk = Walk::new(&record);
        walk.go_to(record.events.len());
        let all: BTreeSet<Vec<u8>> =
            choose(&walk, u64::MAX, 1).iter().map(|lost| content(&walk, lost)).collect();
        assert_eq!(all, by_hand(&record), "seed {seed}: {:?}", record.events);
    }
}

#[test]
fn chance_chooses_legal_points_none_twice_and_equal_disks_alone_have_equal_hashes() {
    for seed in 0..100 {
        let record = by_chance(seed);
        let mut walk = Walk::new(&record);
        walk.go_to(record.events.len());
        let (legal, disks) = (walk.legal(), by_hand(&record));
        for most in [legal - 1, legal / 2] {
            let chosen = choose(&walk, most, seed);
            assert!(
                chosen.len() as u64 <= most && chosen.iter().collect::<BTreeSet<_>>().len() == chosen.len()
            );
            assert!(most < 2 || chosen[1].len() == walk.flight.len(), "none lost, then all");
            for lost in &chosen {
                let here = content(&walk, lost);
                assert!(disks.contains(&here), "seed {seed}: {lost:?}");
                for other in &chosen {
                    let same = walk.disk(lost).1 == walk.disk(other).1;
                    assert_eq!(same, here == content(&walk, other), "seed {seed}: {lost:?}, {other:?}");
                }
            }
        }
    }
}

/// So many writes, each of a page of its own but for the last, which is of the first page.
fn in_flight(count: u64) -> Record {
    let writes: Vec<(u64, u64)> = (0..count).map(|page| (page % (count - 1) * 8, 8)).collect();
    record(PAGE, &writes, (0..writes.len()).map(Event::Asked).collect())
}

#[test]
fn the_smallest_set_is_found_however_much_else_was_lost() {
    let record = in_flight(41);
    let mut walk = Walk::new(&record);
    walk.go_to(41);
    let mut tried = 0;
    // Write 40 is of the atom of write 0, and lost with it.
    for (known, found) in [(&[3, 17][..], &[3, 17][..]), (&[20], &[20]), (&[0, 5], &[0, 5, 40]), (&[], &[])] {
        let mut fails = |lost: &Lost| {
            tried += 1;
            Ok::<bool, ()>(known.iter().all(|place| lost.contains(place)))
        };
        let smallest = smallest(&walk, (0..41).collect(), &mut fails).expect("it cannot fail");
        assert_eq!(smallest, found.iter().copied().collect());
    }
    assert!(tried < 4 * 41, "halves first: {tried}");
}

#[test]
fn a_lost_write_takes_what_was_written_to_its_atom_later_and_a_kept_one_what_was_before() {
    let record = in_flight(3);
    let mut walk = Walk::new(&record);
    walk.go_to(3);
    assert_eq!(walk.chains(), [vec![0, 2], vec![1]]);
    let all: BTreeSet<Lost> = choose(&walk, 6, 1).into_iter().collect();
    assert!(all.len() == 6 && !all.contains(&Lost::from([0])) && all.contains(&Lost::from([2])));
    assert_eq!(restoring(&walk.chains(), &Lost::from([0, 1, 2]), |place| place == 2), Lost::from([1]));
}

#[test]
fn a_point_is_found_by_its_name_and_no_other_name_is_one() {
    for seed in 0..50 {
        let record = by_chance(seed);
        let at = record.events.len();
        let mut walk = Walk::new(&record);
        walk.go_to(at);
        for lost in choose(&walk, u64::MAX, 1) {
            let name = name(&walk, &lost);
            assert_eq!(named(&mut Walk::new(&record), &name), Some(lost), "seed {seed}: {name}");
        }
    }
    let record = in_flight(3);
    for wrong in ["", "x", "4", "3:9", "3:0", "3:1", "3:2/1", "3:2/x", "3:2,,x", "2:3"] {
        assert_eq!(named(&mut Walk::new(&record), wrong), None, "{wrong}");
    }
    assert_eq!(named(&mut Walk::new(&record), "3:1,3"), Some(Lost::from([0, 2])));
}

#[test]
fn an_epoch_ends_where_something_becomes_safe_and_one_that_brought_nothing_is_none() {
    use Event::{Asked, Flushed, Through};
    let events = vec![Asked(0), Asked(1), Flushed(0, 2), Flushed(0, 2), Asked(2), Through(2), Asked(3)];
    let record = record(PAGE, &[(0, 8), (8, 8), (16, 8), (24, 8)], events);
    assert_eq!(epochs(&record, &|_| 0), [2, 5, 7]);
    assert_eq!(epochs(&Record { begun: 5, ..record.clone() }, &|_| 0), [5, 7]);
    // A line that was written is one more promise of the same disk.
    assert_eq!(epochs(&record, &|at| at / 7), [2, 5, 7]);
    let mut walk = Walk::new(&record);
    walk.go_to(5);
    assert_eq!((walk.legal(), walk.writes()), (2, vec![2]));
}

#[test]
fn points_are_shared_alike_and_what_a_small_epoch_leaves_goes_to_others() {
    assert_eq!(shares(&[2, 100, 1000], 90), [2, 44, 44]);
    assert_eq!(shares(&[2, 3], 90), [2, 3]);
    assert_eq!(shares(&[9, 9, 9], 2), [1, 1, 0]);
    assert_eq!(shares(&[], 5), [0; 0]);
}

#[test]
fn disks_that_are_equal_are_one_in_whichever_order_they_came_to_be() {
    let record = in_flight(3);
    let hash = |at| {
        let mut walk = Walk::new(&record);
        walk.go_to(at);
        walk.disk(&Lost::new()).1
    };
    assert_ne!(hash(2), hash(3));
    let mut walk = Walk::new(&record);
    walk.go_to(3);
    assert_eq!(hash(2), walk.disk(&Lost::from([2])).1);
    let (over, none) = walk.disk(&Lost::from([0, 1, 2]));
    assert!(over.is_empty() && none == 0);
}
