//! When does the next thing happen?
//!
//! ```text
//!   near: a ring, sorted                 far: a heap with four children a node
//!   [ 12  40  75  90 .. ]  <  all of     [ 95, .. ]
//!      push: moved in from the nearer end   only when more is pending than fits near
//! ```
//!
//! Each event is one 128-bit number, which tells when, after which others of that moment, and whom to wake. With some tens of
//! events pending, which is what a queue depth of some tens makes, a sorted ring beats a heap: the next one is taken at
//! no cost, and most new ones belong at an end: right behind the present (a link, a processor) or behind all others (a die).
//! What is pushed later has a larger number, so that comparing moments suffices to keep ties in order.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    near: Box<[u128; RING]>,
    first: usize,
    count: usize,
    far: Heap,
    sequence: u32,
}

impl Default for Calendar {
    fn default() -> Calendar {
        Calendar { near: Box::new([0; RING]), first: 0, count: 0, far: Heap::default(), sequence: 0 }
    }
}

/// The moment, which decides between an event and one that is pushed later.
#[inline]
fn moment(key: u128) -> u64 {
    (key >> TIME_SHIFT) as u64
}

impl Calendar {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        assert!(event.time <= TIME_MAX, "virtual time ends after 833 days");
        if self.sequence == u32::MAX || self.count == NEAR_MAX {
            self.make_room();
        }
        self.sequence += 1;
        let key = u128::from(event.time) << TIME_SHIFT
            | u128::from(self.sequence) << SEQUENCE_SHIFT
            | u128::from(event.part) << TOKEN_BITS
            | u128::from(event.token);
        if self.far.keys.first().is_some_and(|&first| moment(first) <= event.time) {
            return self.far.push(key);
        }
        let (near, behind) = (&mut self.near, self.first + self.count);
        let place = if self.count == 0 || moment(near[(behind - 1) & MASK]) <= event.time {
            behind
        } else if event.time < moment(near[(self.first + self.count / 2) & MASK]) {
            // What comes before it moves one place to the front.
            self.first = self.first.wrapping_sub(1) & MASK;
            let mut place = self.first;
            while moment(near[(place + 1) & MASK]) <= event.time {
                near[place & MASK] = near[(place + 1) & MASK];
                place += 1;
            }
            place
        } else {
            let mut place = behind;
            while moment(near[(place - 1) & MASK]) > event.time {
                near[place & MASK] = near[(place - 1) & MASK];
                place -= 1;
            }
            place
        };
        near[place & MASK] = key;
        self.count += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.count == 0 {
            self.refill()?;
        }
        let first = self.near[self.first & MASK];
        self.first = (self.first + 1) & MASK;
        self.count -= 1;
        Some(Event {
            time: moment(first),
            part: (first >> TOKEN_BITS) as u16 & ((1 << PART_BITS) - 1),
            token: first as u32 & ((1 << TOKEN_BITS) - 1),
        })
    }

    /// Numbers or places ran out.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.sequence == u32::MAX {
            self.renumber();
        }
        if self.count == NEAR_MAX {
            for index in NEAR_MAX / 2..NEAR_MAX {
                self.far.push(self.near[(self.first + index) & MASK]);
            }
            self.count = NEAR_MAX / 2;
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

    /// Sequence numbers ran out: numbers what is pending anew, in the same order.
    #[cold]
    fn renumber(&mut self) {
        // A sorted list is a heap.
        self.far.keys.sort_unstable();
        self.sequence = 0;
        let mut anew = |key: &mut u128| {
            self.sequence += 1;
            let mask = u128::from(u32::MAX) << SEQUENCE_SHIFT;
            *key = (*key & !mask) | u128::from(self.sequence) << SEQUENCE_SHIFT;
        };
        (0..self.count).for_each(|index| anew(&mut self.near[(self.first + index) & MASK]));
        self.far.keys.iter_mut().for_each(anew);
    }
}

/// The least first; each node has four children.
#[derive(Clone, Debug, Default)]
struct Heap {
    keys: Vec<u128>,
}

impl Heap {
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
    }

    fn pop(&mut self) -> Option<u128> {
        let first = *self.keys.first()?;
        let last = self.keys.pop().expect("it has a first");
        if !self.keys.is_empty() {
            self.sink(last);
        }
        Some(first)
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
        let mut calendar = Calendar { sequence: u32::MAX - 2000, ..Calendar::default() };
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
            let mut calendar = Calendar { sequence: u32::MAX - 5000, ..Calendar::default() };
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
