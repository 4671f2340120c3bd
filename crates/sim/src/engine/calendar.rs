//! When does the next thing happen?
//!
//! A heap with four children a node, of one 128-bit number per event: comparing moments, breaking ties by the order of
//! insertion, and telling whom to wake are one comparison and one load.
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

/// Events in order of time; those of the same moment in order of insertion.
#[derive(Clone, Debug, Default)]
pub(super) struct Calendar {
    heap: Vec<u128>,
    sequence: u32,
}

impl Calendar {
    #[inline]
    pub(super) fn push(&mut self, event: Event) {
        assert!(event.time <= TIME_MAX, "virtual time ends after 833 days");
        if self.sequence == u32::MAX {
            self.renumber();
        }
        self.sequence += 1;
        let key = u128::from(event.time) << TIME_SHIFT
            | u128::from(self.sequence) << SEQUENCE_SHIFT
            | u128::from(event.part) << TOKEN_BITS
            | u128::from(event.token);
        let mut place = self.heap.len();
        self.heap.push(key);
        while place > 0 {
            let above = (place - 1) / 4;
            if self.heap[above] <= key {
                break;
            }
            self.heap[place] = self.heap[above];
            place = above;
        }
        self.heap[place] = key;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        let first = *self.heap.first()?;
        let last = self.heap.pop().expect("it has a first");
        if !self.heap.is_empty() {
            self.sink(last);
        }
        Some(Event {
            time: (first >> TIME_SHIFT) as u64,
            part: (first >> TOKEN_BITS) as u16 & ((1 << PART_BITS) - 1),
            token: first as u32 & ((1 << TOKEN_BITS) - 1),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Puts `key` where the first was, and further down as far as it must.
    #[inline]
    fn sink(&mut self, key: u128) {
        let heap = &mut self.heap[..];
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

    /// Sequence numbers ran out: numbers what is pending anew, in the same order.
    #[cold]
    fn renumber(&mut self) {
        self.heap.sort_unstable();
        self.sequence = 0;
        for key in &mut self.heap {
            self.sequence += 1;
            let mask = u128::from(u32::MAX) << SEQUENCE_SHIFT;
            *key = (*key & !mask) | u128::from(self.sequence) << SEQUENCE_SHIFT;
        }
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
}
