//! When does the next thing happen?
//!
//! ```text
//!   near: a ring, sorted                 far: a heap with four children a node
//!   [ 12  40  75  90 .. ]  <  all of     [ 95, .. ]
//!      push: moved in from the nearer end   only when more is pending than fits near
//! ```
//!
//! With some tens of events pending, which is what a queue depth of some tens makes, a sorted ring beats a heap: the next one
//! is taken at no cost, and most new ones belong at an end: right behind the present (a link, a processor) or behind all
//! others (a die). What is pushed goes behind all of its moment, so that comparing moments suffices to keep ties in order.
//! (A queue for each kind of event beside the ring, as most kinds come in order, was tried: no faster.)
//!
//! In the heap each event is one number; the sequence keeps the order of ties:
//!
//! ```text
//!   127          72 71       40 39      30 29      0
//!   [ time, ns     | sequence  | part     | token   ]
//! ```

use super::Time;

/// Bits of a token, which belongs to the part that is woken.
pub(super) const TOKEN_BITS: u32 = 30;
/// Bits of a part's number.
pub(super) const PART_BITS: u32 = 10;
const SEQUENCE_BITS: u32 = 32;
const TIME_SHIFT: u32 = TOKEN_BITS + PART_BITS + SEQUENCE_BITS;
const SEQUENCE_SHIFT: u32 = TOKEN_BITS + PART_BITS;

/// The last moment there is: 833 days.
pub(super) const TIME_MAX: Time = (1 << (128 - TIME_SHIFT)) - 1;

/// What happens at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) time: Time,
    pub(super) part: u16,
    pub(super) token: u32,
}

/// Places of the ring.
const RING: usize = 128;
const MASK: usize = RING - 1;

/// So many events are kept sorted; moving more costs more than a heap.
const NEAR_MAX: usize = 64;
const _: () = assert!(RING.is_power_of_two() && NEAR_MAX < RING);

/// Events in order of time; those of the same moment in order of insertion.
#[derive(Clone, Debug)]
pub(super) struct Calendar {
    /// From `first` on, `count` events in order; all before any of `far`.
    near: Box<[Event; RING]>,
    first: usize,
    count: usize,
    far: Heap,
}

impl Default for Calendar {
    fn default() -> Calendar {
        Calendar { near: Box::new([Event::default(); RING]), first: 0, count: 0, far: Heap::default() }
    }
}

impl Calendar {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        if self.count == NEAR_MAX {
            self.spill();
        }
        if event.time >= self.far.first {
            return self.far.push_behind(event);
        }
        let (near, behind) = (&mut self.near, self.first + self.count);
        let mut place = behind;
        if self.count == 0 || near[(behind - 1) & MASK].time <= event.time {
            // Behind all others.
        } else if event.time < near[(self.first + self.count / 2) & MASK].time {
            // What comes before it moves one place to the front.
            place = self.first + MASK;
            self.first = place & MASK;
            while near[(place + 1) & MASK].time <= event.time {
                near[place & MASK] = near[(place + 1) & MASK];
                place += 1;
            }
        } else {
            while near[(place - 1) & MASK].time > event.time {
                near[place & MASK] = near[(place - 1) & MASK];
                place -= 1;
            }
        }
        near[place & MASK] = event;
        self.count += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.count == 0 {
            self.refill()?;
        }
        let event = self.near[self.first & MASK];
        self.first = (self.first + 1) & MASK;
        self.count -= 1;
        Some(event)
    }

    /// Moves the later half of what is near away.
    #[cold]
    #[inline(never)]
    fn spill(&mut self) {
        while self.count > NEAR_MAX / 2 {
            self.count -= 1;
            self.far.push_before(self.near[(self.first + self.count) & MASK]);
        }
    }

    /// Takes the next ones from afar; `None` when there are none.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> Option<()> {
        self.first = 0;
        while self.count < NEAR_MAX / 2
            && let Some(next) = self.far.pop()
        {
            self.near[self.count] = next;
            self.count += 1;
        }
        (self.count > 0).then_some(())
    }

    pub(super) fn len(&self) -> usize {
        self.count + self.far.keys.len()
    }
}

/// The first first; each node has four children.
#[derive(Clone, Debug)]
struct Heap {
    keys: Vec<u128>,
    /// Moment of the first; the end of time when there is none.
    first: Time,
    /// Number of the last that was put behind all others of its moment.
    behind: u32,
    /// Number of the last that was put before all others.
    before: u32,
}

impl Default for Heap {
    fn default() -> Heap {
        Heap { keys: Vec::new(), first: Time::MAX, behind: 1 << 31, before: 1 << 31 }
    }
}

fn key(event: Event, sequence: u32) -> u128 {
    assert!(event.time <= TIME_MAX, "virtual time ends after 833 days");
    u128::from(event.time) << TIME_SHIFT
        | u128::from(sequence) << SEQUENCE_SHIFT
        | u128::from(event.part) << TOKEN_BITS
        | u128::from(event.token)
}

impl Heap {
    fn push_behind(&mut self, event: Event) {
        if self.behind == u32::MAX {
            self.renumber();
        }
        self.behind += 1;
        self.push(key(event, self.behind));
    }

    fn push_before(&mut self, event: Event) {
        if self.before == 0 {
            self.renumber();
        }
        self.before -= 1;
        self.push(key(event, self.before));
    }

    fn push(&mut self, key: u128) {
        let mut place = self.keys.len();
        self.keys.push(key);
        while place > 0 {
            let above = (place - 1) / 4;
            if self.keys[above] <= key {
                break;
            }
            self.keys[place] = self.keys[above];
            place = above;
        }
        self.keys[place] = key;
        self.note_first();
    }

    fn note_first(&mut self) {
        self.first = self.keys.first().map_or(Time::MAX, |key| (key >> TIME_SHIFT) as u64);
    }

    fn pop(&mut self) -> Option<Event> {
        let first = *self.keys.first()?;
        let last = self.keys.pop().expect("it has a first");
        if !self.keys.is_empty() {
            self.sink(last);
        }
        self.note_first();
        Some(Event {
            time: (first >> TIME_SHIFT) as u64,
            part: (first >> TOKEN_BITS) as u16 & ((1 << PART_BITS) - 1),
            token: first as u32 & ((1 << TOKEN_BITS) - 1),
        })
    }

    /// Numbers ran out: numbers what is here anew, in the same order. A sorted list is a heap.
    #[cold]
    fn renumber(&mut self) {
        self.keys.sort_unstable();
        (self.before, self.behind) = (1 << 31, 1 << 31);
        for key in &mut self.keys {
            self.behind += 1;
            let mask = u128::from(u32::MAX) << SEQUENCE_SHIFT;
            *key = (*key & !mask) | u128::from(self.behind) << SEQUENCE_SHIFT;
        }
    }

    /// Puts `key` where the first was, and further down as far as it must.
    #[inline]
    fn sink(&mut self, key: u128) {
        let heap = &mut self.keys[..];
        let mut place = 0;
        loop {
            let first = place * 4 + 1;
            let Some(children) = heap.get(first..heap.len().min(first + 4)).filter(|c| !c.is_empty()) else {
                break;
            };
            let (mut least, mut value) = (0, children[0]);
            for (index, &child) in children.iter().enumerate().skip(1) {
                if child < value {
                    (least, value) = (index, child);
                }
            }
            if key <= value {
                break;
            }
            heap[place] = value;
            place = first + least;
        }
        heap[place] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_workload::Rng;

    #[test]
    fn events_come_in_order_and_ties_as_they_were_put() {
        let mut rng = Rng::from_seed(1);
        let mut calendar = Calendar::default();
        calendar.far.behind = u32::MAX - 2000;
        let mut expected = Vec::new();
        for token in 0..5000 {
            let time = rng.below(300);
            calendar.push(Event { time, part: 7, token });
            expected.push((time, token));
        }
        expected.sort_by_key(|&(time, _)| time);
        let told: Vec<_> =
            std::iter::from_fn(|| calendar.pop()).map(|event| (event.time, event.token)).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn near_and_far_together_are_one_order() {
        for pending in [1, 30, NEAR_MAX, 1000] {
            let mut rng = Rng::from_seed(pending as u64);
            let mut calendar = Calendar::default();
            (calendar.far.before, calendar.far.behind) = (3000, u32::MAX - 5000);
            let mut reference = std::collections::BTreeSet::new();
            let (mut now, mut number) = (0, 0);
            for _ in 0..20_000 {
                while reference.len() < pending {
                    let time = now + [3, 100, 5000][rng.below(3) as usize] * rng.below(20);
                    calendar.push(Event { time, part: 1, token: number });
                    reference.insert((time, number));
                    number += 1;
                }
                for _ in 0..=rng.below(2) {
                    let told = calendar.pop().map(|event| (event.time, event.token));
                    assert_eq!(told, reference.pop_first());
                    now = told.map_or(now, |(time, _)| time);
                }
                assert_eq!(calendar.len(), reference.len());
            }
        }
    }
}
