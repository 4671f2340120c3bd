//! Who waits, who may go, and what goes with him?
//!
//! ```text
//!   ticket   7   8   9   10  11  12
//!          ┌───┬───┬───┬───┬───┬───┐
//!          │ o │ o │ o │ o │ o │ o │ ◄── push
//!          └───┴───┴───┴───┴───┴───┘
//!          ◄─── batch_max ───►     may not lead: their own requests would be left behind
//! ```
//!
//! Requests leave in the order in which they came, so a ticket says the place in the line. Pure: `tests/all/schedules.rs` tries
//! arrivals by the thousand.

use std::collections::VecDeque;

/// Requests that wait, and how many batches are on their way.
#[derive(Debug)]
pub(crate) struct Lineup<T> {
    waiting: VecDeque<T>,
    /// Ticket of the oldest that waits, or of the next to come.
    first: u64,
    /// Somebody is about to take.
    led: bool,
    /// Batches on their way.
    active: usize,
    /// Number of batches that may be on their way at a time.
    pub(crate) active_max: usize,
    /// Requests in a batch, at most.
    pub(crate) batch_max: usize,
}

/// Requests of consecutive tickets that a winner takes.
#[derive(Debug)]
pub(crate) struct Load<T> {
    /// Ticket of the first.
    pub(crate) ticket: u64,
    /// The oldest; apart from the others, so that one by itself allocates nothing.
    pub(crate) first: Option<T>,
    pub(crate) others: Vec<T>,
}

/// Whom to wake for a ticket. Threads that wait at the same time mostly have different ones.
pub(crate) fn bit(ticket: u64) -> u32 {
    1 << (ticket % 32)
}

impl<T> Load<T> {
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    /// All of them, the oldest first.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> {
        self.first.take().into_iter().chain(self.others.drain(..))
    }

    /// The same with each one's bit.
    pub(crate) fn drain_with_bits(&mut self) -> impl Iterator<Item = (T, u32)> {
        let ticket = self.ticket;
        self.drain().zip((ticket..).map(bit))
    }

    /// Gives up what it still has.
    pub(crate) fn clear(&mut self) {
        self.first = None;
        self.others.clear();
    }

    /// Whom to wake for it.
    pub(crate) fn bits(&self) -> u32 {
        (self.ticket..).take(self.len()).fold(0, |bits, ticket| bits | bit(ticket))
    }
}

impl<T> Lineup<T> {
    /// `active_max` and `batch_max` are at least 1.
    pub(crate) fn new(active_max: usize, batch_max: usize) -> Lineup<T> {
        let (active_max, batch_max) = (active_max.max(1), batch_max.max(1));
        Lineup { waiting: VecDeque::new(), first: 0, led: false, active: 0, active_max, batch_max }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn active(&self) -> usize {
        self.active
    }

    fn is_open(&self) -> bool {
        !self.led && self.active < self.active_max
    }

    /// True when a request that comes may go at once.
    pub(crate) fn is_clear(&self) -> bool {
        self.waiting.is_empty() && self.is_open()
    }

    /// Adds a request at the end of the line: its ticket.
    pub(crate) fn push(&mut self, item: T) -> u64 {
        self.waiting.push_back(item);
        self.first + self.waiting.len() as u64 - 1
    }

    /// Makes the owner of this ticket a winner, if it still waits, a batch may go, and its request would be in it.
    pub(crate) fn lead(&mut self, ticket: u64) -> bool {
        let place = ticket.wrapping_sub(self.first);
        let within = place < self.waiting.len().min(self.batch_max) as u64;
        let leads = within && self.is_open();
        self.led |= leads;
        leads
    }

    /// Sends a request that finds nobody before it as a batch of its own; else it is given back.
    pub(crate) fn go_alone(&mut self, item: T) -> Result<Load<T>, T> {
        if !self.is_clear() {
            return Err(item);
        }
        self.active += 1;
        self.first += 1;
        Ok(Load { ticket: self.first - 1, first: Some(item), others: Vec::new() })
    }

    /// The winner takes the oldest, at most `room`.
    pub(crate) fn take(&mut self, room: usize) -> Load<T> {
        assert!(self.led, "somebody took who does not lead");
        let (ticket, count) = (self.first, self.waiting.len().min(self.batch_max).min(room));
        self.first += count as u64;
        let mut taken = self.waiting.drain(..count);
        Load { ticket, first: taken.next(), others: taken.collect() }
    }

    /// The winner takes a batch and goes: another may lead.
    pub(crate) fn go(&mut self) -> Load<T> {
        let load = self.take(usize::MAX);
        self.abdicate();
        self.active += 1;
        load
    }

    /// The winner does not lead any more.
    pub(crate) fn abdicate(&mut self) {
        self.led = false;
    }

    /// A batch is through.
    pub(crate) fn leave(&mut self) {
        assert!(self.active > 0, "a batch is through that never went");
        self.active -= 1;
    }

    /// Whom to wake, since a batch may go and nobody sees to it: the oldest that waits.
    pub(crate) fn heir(&self) -> Option<u64> {
        (self.is_open() && !self.waiting.is_empty()).then_some(self.first)
    }
}
