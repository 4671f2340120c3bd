//! What goes down to the host, and what is back?
//!
//! The lower bits of a request's `user` say what it was for; the upper ones whose thread submitted it.

use super::{Buffered, HeldStamps, PAGE};
use crate::engine::{CALLER_SHIFT, Kind, Request, RequestId, Sim};

/// A call computes; a thread goes to sleep; a flusher computes.
pub(super) const RUN: u32 = 1;
pub(super) const IDLE: u32 = 2;
pub(super) const FLUSH: u32 = 3;
/// Pages come, pages go, something else is read or written.
const FILL: u32 = 4;
const CLEAN: u32 = 5;
const OTHER: u32 = 6;
/// Pages that the flusher sent.
const FLUSHED: u32 = 7;
/// The call waits for it.
const AWAITED: u32 = 8;

/// An I/O to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Io {
    pub(super) kind: Kind,
    /// First byte, in its space of the drive.
    pub(super) offset: u64,
    pub(super) length: u32,
    /// It is of pages of the cache.
    pub(super) is_pages: bool,
    pub(super) is_awaited: bool,
}

impl Buffered {
    /// The thread computes.
    pub(super) fn compute(&mut self, thread: u32, what: u32, clocks: f64, sim: &mut Sim) {
        let id = sim.spawn(Kind::Compute, 0, clocks.round().max(1.0) as u32);
        let request = sim.request_mut(id);
        (request.user, request.by_kernel) = (thread << CALLER_SHIFT | what, true);
        sim.send(self.host, id);
    }

    /// The space of a thread, a caller's or the kernel's: its first byte in the cache's numbers.
    fn base(&self, thread: u32) -> u64 {
        u64::from(thread % self.config.spaces * self.config.space_pages) * PAGE
    }

    /// Sends an I/O down from this thread, cut where a run that verifies needs it.
    pub(super) fn issue(&mut self, thread: u32, whole: Option<RequestId>, io: Io, sim: &mut Sim) {
        let base = self.base(thread);
        let (mut at, end) = (io.offset, io.offset + u64::from(io.length));
        loop {
            let piece = match (&self.held, io.is_pages) {
                (Some(held), true) => held.piece(io.kind, base, at, end),
                _ => end - at,
            };
            self.issue_piece(thread, whole, Io { offset: at, length: piece as u32, ..io }, sim);
            at += piece;
            if at >= end {
                break;
            }
        }
    }

    fn issue_piece(&mut self, thread: u32, whole: Option<RequestId>, io: Io, sim: &mut Sim) {
        let base = self.base(thread);
        let what = match (io.is_pages, io.kind) {
            (true, Kind::Read) => FILL,
            (true, _) if whole.is_none() => FLUSHED,
            (true, _) => CLEAN,
            _ => OTHER,
        };
        let id = match whole {
            Some(whole) if io.is_awaited => {
                self.op(thread).awaited += 1;
                let id = sim.fork(whole, io.offset, io.length);
                sim.request_mut(id).kind = io.kind;
                id
            }
            _ => sim.spawn(io.kind, io.offset, io.length),
        };
        let awaited = if whole.is_some() && io.is_awaited { AWAITED } else { 0 };
        let request = sim.request_mut(id);
        (request.user, request.by_kernel) = (thread << CALLER_SHIFT | what | awaited, true);
        request.stamp = 0;
        if let (Some(held), FILL | CLEAN | FLUSHED) = (&mut self.held, what) {
            held.sent(base + io.offset, io.length);
        }
        if let (Some(held), CLEAN | FLUSHED) = (&mut self.held, what) {
            request.stamp = held.memory.read(base + io.offset, io.length);
            held.drive.write(base + io.offset, io.length, request.stamp);
        }
        sim.send(self.host, id);
    }

    /// Something is back.
    pub(super) fn back(&mut self, id: RequestId, sim: &mut Sim) {
        let Request { user, offset, length, stamp, .. } = *sim.request(id);
        let (thread, what) = (user >> CALLER_SHIFT, user & ((1 << CALLER_SHIFT) - 1));
        match what & !AWAITED {
            RUN => {
                sim.release(id);
                return self.perform(thread, sim);
            }
            FLUSH => {
                sim.release(id);
                return self.flush_computed(thread, sim);
            }
            IDLE => return sim.release(id),
            FILL => self.fill(thread, (offset, length), stamp),
            CLEAN | FLUSHED => self.cleaned(thread, (offset, length)),
            _ => {}
        }
        if what & AWAITED == 0 {
            sim.release(id);
        } else {
            let whole = sim.join(id);
            let op = self.op(thread);
            op.awaited -= 1;
            if op.awaited == 0 && whole.is_some() {
                self.resume(thread, sim);
            }
        }
        match what & !AWAITED {
            FILL => self.wake_sleepers(sim),
            CLEAN => self.after_cleaning(thread, false, sim),
            FLUSHED => self.after_cleaning(thread, true, sim),
            _ => {}
        }
    }

    /// Pages have come.
    fn fill(&mut self, thread: u32, (offset, length): (u64, u32), stamp: u32) {
        let base = self.base(thread);
        if let Some(held) = &mut self.held {
            held.memory.write(base + offset, length, stamp);
        }
        for page in pages_of(base + offset, length) {
            if self.held.as_mut().is_none_or(|held| held.is_last(page)) {
                self.cache.filled(page);
            }
        }
    }

    fn cleaned(&mut self, thread: u32, (offset, length): (u64, u32)) {
        for page in pages_of(self.base(thread) + offset, length) {
            if self.held.as_mut().is_none_or(|held| held.is_last(page)) {
                self.cache.written(page);
                self.written_back += 1;
                self.written_total += 1;
            }
        }
    }
}

/// Pages that the range touches.
fn pages_of(offset: u64, length: u32) -> std::ops::Range<u32> {
    (offset / PAGE) as u32..(offset + u64::from(length)).div_ceil(PAGE) as u32
}

impl HeldStamps {
    /// A piece of these bytes goes out.
    fn sent(&mut self, offset: u64, length: u32) {
        pages_of(offset, length).for_each(|page| *self.pieces.entry(page).or_default() += 1);
    }

    /// A piece of the page is back; whether it was the last.
    fn is_last(&mut self, page: u32) -> bool {
        let left = self.pieces.get_mut(&page).expect("what is back was sent");
        *left -= 1;
        let last = *left == 0;
        if last {
            self.pieces.remove(&page);
        }
        last
    }

    /// Bytes from `at` on, at most up to `end`, that one write made: as far as the drive knows, or as memory holds.
    fn piece(&self, kind: Kind, base: u64, at: u64, end: u64) -> u64 {
        let stamps = if kind == Kind::Read { &self.drive } else { &self.memory };
        let first = stamps.read(base + at, 512);
        let same = |block: &u64| stamps.read(base + *block, 512) == first;
        let mut to = at + 512;
        while to < end && same(&to) {
            to += 512;
        }
        to - at
    }
}
