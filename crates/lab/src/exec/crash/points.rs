//! Which disks may a power cut leave? The rule is that of power cuts (`volatile.rs` of `iostack-serve`).
//!
//! Each atom of the drive is what it was at one moment since it was safe: of the writes to it that are not safe the first few
//! are there, none torn within the atom, and the others are lost. Atoms do not know of each other, so that writes are lost and
//! kept in any order, and torn between atoms.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use iostack_workload::Rng;

use super::image::{Content, PAGE, Pages, hash_over, held, write};
use super::record::{Event, Record, Write};

/// Part of a write within one atom that is not safe.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Place of the write among the writes.
    pub(super) write: usize,
    pub(super) atom: (u32, u64),
    /// Offset and length of each piece.
    pub(super) parts: Vec<(u64, u64)>,
}

/// Units that are lost, by their places among those in flight.
pub(super) type Lost = BTreeSet<usize>;

/// The disks at a moment: what is safe, and what is not.
pub(super) struct Walk<'a> {
    record: &'a Record,
    /// Number of events that have happened.
    pub(super) at: usize,
    pub(super) safe: Arc<Pages>,
    safe_hash: u64,
    /// Parts of writes that are not safe, in the order in which they were asked.
    pub(super) flight: Vec<Unit>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(record: &'a Record) -> Walk<'a> {
        let safe_hash = hash_over(&record.base, &Pages::new(), 0);
        Walk { record, at: 0, safe: Arc::clone(&record.base), safe_hash, flight: Vec::new() }
    }

    /// Goes on to where so many events have happened.
    pub(super) fn go_to(&mut self, at: usize) {
        for (_, event) in &self.record.events[self.at..at] {
            match *event {
                Event::Asked(number) => self.asked(number),
                Event::Through(number) => self.is_through(number),
                Event::Flushed(disk, before) => {
                    self.settle(|unit| unit.atom.0 == disk && unit.write < before);
                }
            }
        }
        self.at = at;
    }

    fn asked(&mut self, number: usize) {
        let Write { disk, offset, length, ref data } = self.record.writes[number];
        let (atom, range) = (self.record.atoms[disk as usize], (offset, length));
        let atoms: BTreeSet<u64> = if data.is_some() {
            (offset / atom..(offset + length).div_ceil(atom)).collect()
        } else {
            // Zeros that become zeros change nothing, and a trim may be of the whole drive.
            let pages = held(&[&self.safe], disk, range).into_iter();
            let safe = pages.flat_map(|page| page * PAGE / atom..((page + 1) * PAGE).div_ceil(atom));
            let flying = self.flight.iter().filter(|unit| unit.atom.0 == disk).map(|unit| unit.atom.1);
            safe.chain(flying).collect()
        };
        for each in atoms {
            let (from, until) = (offset.max(each * atom), (offset + length).min((each + 1) * atom));
            if from < until {
                self.flight.push(Unit {
                    write: number,
                    atom: (disk, each),
                    parts: vec![(from, until - from)],
                });
            }
        }
    }

    /// The write is safe, and with it what it covers.
    fn is_through(&mut self, number: usize) {
        let Write { disk, offset, length, .. } = self.record.writes[number];
        self.settle(|unit| unit.write == number);
        for unit in self.flight.iter_mut().filter(|unit| unit.atom.0 == disk && unit.write < number) {
            unit.parts = unit.parts.iter().flat_map(|part| left_of(*part, (offset, length))).collect();
        }
        self.flight.retain(|unit| !unit.parts.is_empty());
    }

    /// These become safe.
    fn settle(&mut self, is_safe: impl Fn(&Unit) -> bool) {
        let (safe, rest): (Vec<Unit>, Vec<Unit>) =
            std::mem::take(&mut self.flight).into_iter().partition(is_safe);
        self.flight = rest;
        let over = self.over(safe.iter());
        self.safe_hash = hash_over(&over, &self.safe, self.safe_hash);
        Arc::make_mut(&mut self.safe).extend(over);
    }

    /// Pages that these units change.
    fn over<'u>(&self, units: impl Iterator<Item = &'u Unit>) -> Pages {
        let mut over = Pages::new();
        for unit in units {
            let one = &self.record.writes[unit.write];
            for &(offset, length) in &unit.parts {
                let content = match &one.data {
                    None => Content::Zeros,
                    Some(data) => Content::Bytes(&data[(offset - one.offset) as usize..][..length as usize]),
                };
                write(&mut over, &[&self.safe], one.disk, (offset, length), content);
            }
        }
        over
    }

    /// Pages over those that are safe, when these units are lost, and the hash of all.
    pub(super) fn disk(&self, lost: &Lost) -> (Pages, u64) {
        let kept = (0..).zip(&self.flight).filter(|(place, _)| !lost.contains(place)).map(|(_, unit)| unit);
        let over = self.over(kept);
        let hash = hash_over(&over, &self.safe, self.safe_hash);
        (over, hash)
    }

    /// Units of each atom, in the order in which they were asked: the last few of each may be lost.
    pub(super) fn chains(&self) -> Vec<Vec<usize>> {
        let mut chains: BTreeMap<(u32, u64), Vec<usize>> = BTreeMap::new();
        for (place, unit) in (0..).zip(&self.flight) {
            chains.entry(unit.atom).or_default().push(place);
        }
        chains.into_values().collect()
    }

    /// Number of disks that a power cut may leave; most of them are different.
    pub(super) fn legal(&self) -> u64 {
        self.chains().iter().fold(1, |all, chain| all.saturating_mul(chain.len() as u64 + 1))
    }

    /// Places of the writes in flight among the writes, ascending.
    pub(super) fn writes(&self) -> Vec<usize> {
        let writes: BTreeSet<usize> = self.flight.iter().map(|unit| unit.write).collect();
        writes.into_iter().collect()
    }
}

/// Ranges of a part that lie outside the range.
fn left_of((from, length): (u64, u64), (offset, bytes): (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
    let (until, end) = (from + length, offset + bytes);
    [(from, until.min(offset)), (from.max(end), until)]
        .into_iter()
        .filter(|(from, until)| from < until)
        .map(|(from, until)| (from, until - from))
}

/// Numbers of events at which points lie, one an epoch: just before something becomes safe, and at the end. `said` gives how
/// many lines the program had written at a moment.
pub(super) fn epochs(record: &Record, said: &dyn Fn(usize) -> usize) -> Vec<usize> {
    let (mut walk, mut found) = (Walk::new(record), Vec::new());
    let (mut asked, mut lines) = (false, usize::MAX);
    for at in 0..=record.events.len() {
        let event = record.events.get(at).map(|(_, event)| *event);
        let settles = match event {
            Some(Event::Asked(_)) => {
                asked = true;
                continue;
            }
            Some(Event::Through(_) | Event::Flushed(..)) => {
                walk.go_to(at);
                !walk.flight.is_empty()
            }
            None => true,
        };
        if at >= record.begun && settles && (asked || lines != said(at)) {
            found.push(at);
            (asked, lines) = (false, said(at));
        }
    }
    found
}

/// Chooses legal points: none lost, all lost, and then by `seed` one write lost, all from one on, all but one, and any. All
/// that there are where they are no more than `most`.
pub(super) fn choose(walk: &Walk<'_>, most: u64, seed: u64) -> Vec<Lost> {
    let chains = walk.chains();
    if walk.legal() <= most {
        return all(&chains);
    }
    let (writes, mut random) = (walk.writes(), Rng::from_seed(seed));
    let mut shuffled: Vec<(u32, usize)> =
        writes.iter().flat_map(|&one| (0..3).map(move |way| (way, one))).collect();
    for last in (1..shuffled.len()).rev() {
        shuffled.swap(last, random.below(last as u64 + 1) as usize);
    }
    let everything: Lost = (0..walk.flight.len()).collect();
    let (mut known, mut chosen) = (BTreeSet::new(), Vec::new());
    let mut put = |lost: Lost| {
        if (chosen.len() as u64) < most && known.insert(lost.clone()) {
            chosen.push(lost);
        }
        (chosen.len() as u64) < most
    };
    let mut goes_on = put(Lost::new()) && put(everything.clone());
    // Each of these has many more of its kind than the few that chance repeats.
    for turn in 0..most.saturating_mul(4) {
        if !goes_on {
            break;
        }
        let lost = match shuffled.pop().filter(|_| turn % 4 != 3) {
            Some((0, write)) => losing(walk, &chains, |unit| unit.write == write),
            Some((1, write)) => losing(walk, &chains, |unit| unit.write >= write),
            Some((_, write)) => restoring(&chains, &everything, |place| walk.flight[place].write == write),
            None => {
                // Of each write all, none, or parts.
                let fates: BTreeMap<usize, u64> = writes.iter().map(|&one| (one, random.below(4))).collect();
                let mut flips =
                    walk.flight.iter().map(|_| random.below(2) == 0).collect::<Vec<_>>().into_iter();
                losing(walk, &chains, |unit| match fates[&unit.write] {
                    0 => flips.next() == Some(true),
                    fate => fate == 1,
                })
            }
        };
        goes_on = put(lost);
    }
    chosen
}

/// Every legal point.
fn all(chains: &[Vec<usize>]) -> Vec<Lost> {
    chains.iter().fold(vec![Lost::new()], |points, chain| {
        let each = points.iter().flat_map(|point| {
            (0..=chain.len()).rev().map(|kept| point.iter().chain(&chain[kept..]).copied().collect())
        });
        each.collect()
    })
}

/// Loses these units, and what was written to their atoms after them.
fn losing(walk: &Walk<'_>, chains: &[Vec<usize>], mut is_lost: impl FnMut(&Unit) -> bool) -> Lost {
    let mut lost = Lost::new();
    for chain in chains {
        let first = chain.iter().position(|&place| is_lost(&walk.flight[place])).unwrap_or(chain.len());
        lost.extend(&chain[first..]);
    }
    lost
}

/// Keeps these of the lost units, and what was written to their atoms before them.
pub(super) fn restoring(chains: &[Vec<usize>], lost: &Lost, is_kept: impl Fn(usize) -> bool) -> Lost {
    let mut left = lost.clone();
    for chain in chains {
        let kept = chain.iter().rposition(|&place| is_kept(place)).map_or(0, |last| last + 1);
        chain[..kept].iter().for_each(|place| {
            left.remove(place);
        });
    }
    left
}

/// Takes lost writes back, many together and then one by one, as long as it still fails: with any one of those that are left
/// there, it does not.
pub(super) fn smallest<E>(
    walk: &Walk<'_>,
    lost: Lost,
    fails: &mut dyn FnMut(&Lost) -> Result<bool, E>,
) -> Result<Lost, E> {
    let chains = walk.chains();
    let writes_of = |lost: &Lost| lost.iter().map(|&place| walk.flight[place].write).collect::<BTreeSet<_>>();
    let mut lost = lost;
    let mut step = writes_of(&lost).len().max(1);
    loop {
        let (mut at, mut is_smaller) = (0, false);
        loop {
            let writes: Vec<usize> = writes_of(&lost).into_iter().collect();
            let Some(back) = writes.get(at..).filter(|rest| !rest.is_empty()) else { break };
            let back = &back[..step.min(back.len())];
            let fewer = restoring(&chains, &lost, |place| back.contains(&walk.flight[place].write));
            if fails(&fewer)? {
                (lost, is_smaller) = (fewer, true);
            } else {
                at += step;
            }
        }
        match step {
            1 if !is_smaller => return Ok(lost),
            _ => step = step.div_ceil(2),
        }
    }
}

/// Name of a point: events before it, and the writes that are lost, from 1; of a torn one the parts, from 0.
pub(super) fn name(walk: &Walk<'_>, lost: &Lost) -> String {
    let words = walk.writes().into_iter().filter_map(|write| {
        let of_write: Vec<usize> =
            (0..walk.flight.len()).filter(|&place| walk.flight[place].write == write).collect();
        let parts: Vec<String> = (0..)
            .zip(&of_write)
            .filter(|(_, place)| lost.contains(place))
            .map(|(part, _): (usize, _)| part.to_string())
            .collect();
        match parts.len() {
            0 => None,
            all if all == of_write.len() => Some((write + 1).to_string()),
            _ => Some(format!("{}/{}", write + 1, parts.join("+"))),
        }
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { walk.at.to_string() } else { format!("{}:{}", walk.at, words.join(",")) }
}

/// The point of a name, with the walk brought to its moment; `None` where the run has no such point.
pub(super) fn named(walk: &mut Walk<'_>, name: &str) -> Option<Lost> {
    let (at, words) = name.split_once(':').unwrap_or((name, ""));
    let at = at.parse().ok().filter(|at| *at <= walk.record.events.len())?;
    walk.go_to(at);
    let mut lost = Lost::new();
    for word in words.split(',').filter(|word| !word.is_empty()) {
        let (number, parts) =
            word.split_once('/').map_or((word, None), |(number, parts)| (number, Some(parts)));
        let write = number.parse::<usize>().ok()?.checked_sub(1)?;
        let of_write: Vec<usize> =
            (0..walk.flight.len()).filter(|&place| walk.flight[place].write == write).collect();
        let chosen: Vec<usize> = match parts {
            None => of_write,
            Some(parts) => parts
                .split('+')
                .map(|part| of_write.get(part.parse::<usize>().ok()?).copied())
                .collect::<Option<_>>()?,
        };
        if chosen.is_empty() {
            return None;
        }
        lost.extend(chosen);
    }
    let legal = walk.chains().iter().all(|chain| chain.iter().map(|place| lost.contains(place)).is_sorted());
    legal.then_some(lost)
}
