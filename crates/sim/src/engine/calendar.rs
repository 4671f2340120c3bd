//! When does the next thing happen?
//!
//! ```text
//!   near: a ring, sorted                 slots of 256 ns, not sorted         far: a heap
//!   [ 12  40  75  90 .. ]  <  all of     [ .. ][ .. ][ .. ]          and     [ 95, .. ]
//!      push: moved in from the nearer end   only when more is pending than fits near
//! ```
//!
//! With some tens of events pending, which is what a queue depth of some tens makes, a sorted ring beats a heap: the next one
//! is taken at no cost, and most new ones belong at an end: right behind the present (a link, a processor) or behind all
//! others (a die). What is pushed goes behind all of its moment, so that comparing moments suffices to keep ties in order.
//! (A queue for each kind of event beside the ring, as most kinds come in order, was tried: no faster.)
//!
//! With some hundreds pending, as threads and drives make them, most new ones go into the slot of their time; near takes
//! slot by slot. What lies beyond all slots, and what would not fit near although it is of the same slot, is in the heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Time;

/// A wake-up of a part at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WakeUp {
    pub(super) time: Time,
    /// Part and token as one word: what is moved in words is soon read again.
    whom: u64,
}

impl WakeUp {
    #[inline]
    pub(super) fn new(time: Time, part: u16, token: u32) -> WakeUp {
        WakeUp { time, whom: u64::from(part) << 32 | u64::from(token) }
    }

    #[inline]
    pub(super) fn part(self) -> u16 {
        (self.whom >> 32) as u16
    }

    #[inline]
    pub(super) fn token(self) -> u32 {
        self.whom as u32
    }
}

/// Places of the ring.
const RING: usize = 128;
const MASK: usize = RING - 1;

/// So many events are kept sorted; moving more costs more than a heap.
const NEAR_MAX: usize = 64;
const _: () = assert!(RING.is_power_of_two() && NEAR_MAX < RING);

/// Sorted events: from `first` on `count` in order. Times and the rest apart, as searching reads times alone.
#[derive(Clone, Debug)]
struct SlotRing {
    times: [Time; RING],
    whom: [u64; RING],
    first: usize,
    count: usize,
}

impl SlotRing {
    /// The place that is so far behind another.
    #[inline]
    fn after(place: usize, index: usize) -> usize {
        place.wrapping_add(index) & MASK
    }

    #[inline]
    fn time(&self, index: usize) -> Time {
        self.times[SlotRing::after(self.first, index)]
    }

    #[inline]
    fn get(&self, index: usize) -> WakeUp {
        let place = SlotRing::after(self.first, index);
        WakeUp { time: self.times[place], whom: self.whom[place] }
    }

    #[inline]
    fn set(&mut self, place: usize, event: WakeUp) {
        (self.times[place], self.whom[place]) = (event.time, event.whom);
    }

    /// Inserts an event; a function by itself, since it would be repeated wherever a part asks to be woken.
    #[inline(never)]
    fn insert(&mut self, event: WakeUp) {
        let mut place = SlotRing::after(self.first, self.count);
        if self.count == 0 || self.times[SlotRing::after(place, MASK)] <= event.time {
            // Behind all others.
        } else if event.time < self.time(self.count / 2) {
            // What comes before it moves one place to the front.
            place = SlotRing::after(self.first, MASK);
            self.first = place;
            loop {
                let next = SlotRing::after(place, 1);
                if self.times[next] > event.time {
                    break;
                }
                (self.times[place], self.whom[place]) = (self.times[next], self.whom[next]);
                place = next;
            }
        } else {
            loop {
                let before = SlotRing::after(place, MASK);
                if self.times[before] <= event.time {
                    break;
                }
                (self.times[place], self.whom[place]) = (self.times[before], self.whom[before]);
                place = before;
            }
        }
        self.count += 1;
        self.set(place, event);
    }

    #[inline]
    fn push_back(&mut self, event: WakeUp) {
        self.set(SlotRing::after(self.first, self.count), event);
        self.count += 1;
    }
}

/// Events in order of time; those of the same moment in order of insertion.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    /// Events before all others.
    near: Box<SlotRing>,
    /// Moment from which on events are in the slots or in the heap: the end of time while all fits near.
    end: Time,
    /// Events before it belong near: the earlier of `end` and the first in the heap.
    limit: Time,
    slots: Slots,
    far: Heap,
}

impl Default for Calendar {
    fn default() -> Calendar {
        Calendar {
            near: Box::new(SlotRing { times: [0; RING], whom: [0; RING], first: 0, count: 0 }),
            end: Time::MAX,
            limit: Time::MAX,
            slots: Slots::default(),
            far: Heap::default(),
        }
    }
}

impl Calendar {
    #[inline]
    pub(super) fn push(&mut self, event: WakeUp) {
        if event.time >= self.limit || self.near.count == NEAR_MAX {
            return self.push_late(event);
        }
        self.near.insert(event);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<WakeUp> {
        if self.near.count == 0 {
            self.refill()?;
        }
        let event = self.near.get(0);
        self.near.first = SlotRing::after(self.near.first, 1);
        self.near.count -= 1;
        Some(event)
    }

    /// Moment of the next event.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Time> {
        if self.near.count == 0 {
            self.refill()?;
        }
        Some(self.near.time(0))
    }

    #[inline(never)]
    fn push_late(&mut self, event: WakeUp) {
        if event.time < self.end {
            if self.near.count == NEAR_MAX {
                self.spill();
                return self.push(event);
            }
            self.far.push_behind(event);
        } else {
            self.push_behind_end(event);
        }
        self.limit = self.end.min(self.far.first);
    }

    fn push_behind_end(&mut self, event: WakeUp) {
        if (event.time >> SLOT_SHIFT) - (self.end >> SLOT_SHIFT) < SLOTS as u64 {
            self.slots.push(event);
        } else {
            self.far.push_behind(event);
        }
    }

    /// Moves the later half of what is near away: into slots, or to the heap when it is all of one slot.
    #[cold]
    fn spill(&mut self) {
        let count = self.near.count;
        let end = ((self.near.time(count / 2) >> SLOT_SHIFT) + 1) << SLOT_SHIFT;
        // What is in the heap comes before what is in slots, at the same moment: no slot for what is before the heap's.
        // A list is of one stretch: what lies in slots must stay within a round of them from the new end.
        let fits =
            self.slots.count == 0 || self.slots.latest.saturating_sub(end >> SLOT_SHIFT) < SLOTS as u64;
        if fits && self.far.first >= self.end && self.near.time(count - 1) >= end {
            self.end = end;
            while self.near.time(self.near.count - 1) >= end {
                self.near.count -= 1;
            }
            for index in self.near.count..count {
                self.push_behind_end(self.near.get(index));
            }
        } else {
            while self.near.count > NEAR_MAX / 2 {
                self.near.count -= 1;
                self.far.push_before(self.near.get(self.near.count));
            }
        }
        self.limit = self.end.min(self.far.first);
    }

    /// Takes the next ones from afar; `None` when there are none.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> Option<()> {
        self.near.first = 0;
        while self.near.count < NEAR_MAX / 4 {
            if self.far.first < self.end {
                // Of this stretch of time, or there are no slots.
                while self.near.count < NEAR_MAX / 2
                    && self.far.first < self.end
                    && let Some(next) = self.far.pop()
                {
                    self.near.push_back(next);
                }
                break;
            }
            let slot = self.slots.next(self.end);
            if slot.is_none() && self.far.keys.is_empty() {
                self.end = Time::MAX;
                break;
            }
            let start = slot.unwrap_or(Time::MAX).min(self.far.first) >> SLOT_SHIFT;
            self.end = (start + 1) << SLOT_SHIFT;
            // Those of the heap were put first.
            while self.far.first < self.end && self.near.count < NEAR_MAX {
                let next = self.far.pop().expect("it has a first");
                self.near.push_back(next);
            }
            self.limit = self.end.min(self.far.first);
            // Taken whole: what spills meanwhile may begin a list of the same stretch.
            let mut list = self.slots.take(start);
            while let Some(event) = self.slots.pop(&mut list) {
                self.push(event);
            }
        }
        self.limit = self.end.min(self.far.first);
        (self.near.count > 0).then_some(())
    }

    pub(super) fn len(&self) -> usize {
        self.near.count + self.slots.count + self.far.keys.len()
    }
}

/// ns of a slot, as a power of two: few events are of one, so that they are soon in order.
const SLOT_SHIFT: u32 = 8;
const SLOTS: usize = 4096;

/// Lists of events, each of a stretch of time, in order of insertion.
#[derive(Clone, Debug)]
struct Slots {
    /// First and last node of each list that has any.
    lists: Box<[[u32; 2]; SLOTS]>,
    /// A bit for each list that has any.
    used: [u64; SLOTS / 64],
    /// Events, and the next node of the same list; those without an event are a list from `free` to the end.
    nodes: Vec<(WakeUp, u32)>,
    free: u32,
    count: usize,
    /// Number of the latest stretch that has any, or had.
    latest: u64,
}

impl Default for Slots {
    fn default() -> Slots {
        let lists = vec![[0; 2]; SLOTS].try_into().expect("as many");
        Slots { lists, used: [0; SLOTS / 64], nodes: Vec::new(), free: 0, count: 0, latest: 0 }
    }
}

impl Slots {
    #[inline]
    fn push(&mut self, event: WakeUp) {
        let number = event.time >> SLOT_SHIFT;
        self.latest = if self.count == 0 { number } else { self.latest.max(number) };
        let node = self.free;
        if let Some((place, next)) = self.nodes.get_mut(node as usize) {
            (*place, self.free) = (event, *next);
        } else {
            self.free += 1;
            self.nodes.push((event, self.free));
        }
        let index = number as usize % SLOTS;
        let ([first, last], bit) = (&mut self.lists[index], 1 << (index % 64));
        if self.used[index / 64] & bit == 0 {
            self.used[index / 64] |= bit;
            *first = node;
        } else {
            self.nodes[*last as usize].1 = node;
        }
        *last = node;
        self.count += 1;
    }

    /// Takes the list of a stretch, whose number is its start over its length: first and last node.
    #[inline]
    fn take(&mut self, number: u64) -> Option<[u32; 2]> {
        let index = number as usize % SLOTS;
        let (word, bit) = (&mut self.used[index / 64], 1 << (index % 64));
        let has_any = *word & bit != 0;
        *word &= !bit;
        has_any.then_some(self.lists[index])
    }

    /// Takes the first event of a list that was taken.
    #[inline]
    fn pop(&mut self, list: &mut Option<[u32; 2]>) -> Option<WakeUp> {
        let [node, end] = (*list)?;
        let (event, next) = &mut self.nodes[node as usize];
        *list = (node != end).then_some([*next, end]);
        *next = std::mem::replace(&mut self.free, node);
        self.count -= 1;
        Some(*event)
    }

    /// Start of the first stretch that has any; none begins before `from`.
    fn next(&self, from: Time) -> Option<Time> {
        if self.count == 0 {
            return None;
        }
        let (base, words) = (from >> SLOT_SHIFT, SLOTS / 64);
        let first = base as usize % SLOTS;
        let found = (0..=words).find_map(|step| {
            let word = (first / 64 + step) % words;
            let bits = self.used[word];
            let bits = match step {
                0 => bits & (u64::MAX << (first % 64)),
                _ if step == words => bits & !(u64::MAX << (first % 64)),
                _ => bits,
            };
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        });
        let found = found.expect("some are counted");
        Some((base + ((found + SLOTS - first) % SLOTS) as u64) << SLOT_SHIFT)
    }
}

/// Events with their sequence, which keeps the order of ties; the first first.
#[derive(Clone, Debug)]
struct Heap {
    keys: BinaryHeap<Reverse<(Time, i64, WakeUp)>>,
    /// Moment of the first; the end of time when there is none.
    first: Time,
    /// Number of the last that was put behind all others of its moment.
    behind: i64,
    /// Number of the last that was put before all others.
    before: i64,
}

impl Default for Heap {
    fn default() -> Heap {
        Heap { keys: BinaryHeap::new(), first: Time::MAX, behind: 0, before: 0 }
    }
}

impl Heap {
    fn push_behind(&mut self, event: WakeUp) {
        self.behind += 1;
        self.push(event, self.behind);
    }

    fn push_before(&mut self, event: WakeUp) {
        self.before -= 1;
        self.push(event, self.before);
    }

    fn push(&mut self, event: WakeUp, sequence: i64) {
        self.keys.push(Reverse((event.time, sequence, event)));
        self.first = self.first.min(event.time);
    }

    fn pop(&mut self) -> Option<WakeUp> {
        let Reverse((.., event)) = self.keys.pop()?;
        self.first = self.keys.peek().map_or(Time::MAX, |next| next.0.0);
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_workload::Rng;

    #[test]
    fn near_and_far_together_are_one_order() {
        for pending in [1, 30, NEAR_MAX, 1000] {
            let mut rng = Rng::from_seed(pending as u64);
            let mut calendar = Calendar::default();
            let mut reference = std::collections::BTreeSet::new();
            let (mut now, mut number) = (0, 0);
            for _ in 0..20_000 {
                while reference.len() < pending {
                    let time = now + [3, 100, 5000, 400_000][rng.below(4) as usize] * rng.below(20);
                    calendar.push(WakeUp::new(time, 1, number));
                    reference.insert((time, number));
                    number += 1;
                }
                for _ in 0..=rng.below(2) {
                    let told = calendar.pop().map(|event| (event.time, event.token()));
                    assert_eq!(told, reference.pop_first());
                    now = told.map_or(now, |(time, _)| time);
                }
                assert_eq!(calendar.len(), reference.len());
            }
        }
    }

    #[test]
    fn the_last_list_may_be_longer_than_what_fits_near() {
        let mut calendar = Calendar::default();
        let times = [vec![0; NEAR_MAX - 24], vec![1 << SLOT_SHIFT; 4 * NEAR_MAX]].concat();
        let events = || times.iter().zip(0..).map(|(&time, token)| WakeUp::new(time, 1, token));
        events().for_each(|event| calendar.push(event));
        assert!(std::iter::from_fn(|| calendar.pop()).eq(events()));
    }

    #[test]
    fn slots_are_of_one_round_when_what_is_near_moves_their_begin_back() {
        let stretch = 1 << SLOT_SHIFT;
        let mut calendar = Calendar::default();
        let mut reference = std::collections::BTreeSet::new();
        let mut put = |calendar: &mut Calendar, time: Time| {
            let token = reference.len() as u32;
            calendar.push(WakeUp::new(time, 1, token));
            reference.insert((time, token));
        };
        // Far apart: what is near ends far away.
        (0..=NEAR_MAX as u64).for_each(|index| put(&mut calendar, index * 8 * stretch));
        let last = calendar.end + (SLOTS as u64 - 1) * stretch;
        put(&mut calendar, last);
        // So many that what is near ends much earlier.
        (0..2 * NEAR_MAX as u64).for_each(|index| put(&mut calendar, index * stretch / 4));
        let told: Vec<_> =
            std::iter::from_fn(|| calendar.pop()).map(|event| (event.time, event.token())).collect();
        assert!(told.iter().eq(&reference), "{} of {} came", told.len(), reference.len());
    }
}
