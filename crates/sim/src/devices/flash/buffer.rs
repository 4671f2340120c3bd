//! Which pages are written but not yet on flash?
//!
//! ```text
//!   write ──► waiting for room ──► merging (the rest of the page is read) ──► ready ──► issued to a die ──► gone
//! ```
//!
//! A page written again before it is issued is replaced in place; one that is being programmed gets a second version, and
//! reads find the newest. A flush waits for the pages that were there when it came: each flush closes an epoch.

use std::collections::VecDeque;

use crate::engine::{RequestId, Time};
use crate::index::Index;

/// No page, no request.
pub(super) const NONE: u32 = u32::MAX;

/// Stage of a page on its way through the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageStep {
    Free,
    Merging,
    Ready,
    Issued,
    /// Trimmed before it was issued.
    Dropped,
}

/// One version of a page.
#[derive(Clone, Debug)]
pub(super) struct BufferedPage {
    pub(super) lpn: u32,
    pub(super) stamp: u32,
    pub(super) stream: u8,
    pub(super) step: PageStep,
    /// Requests that are answered when it is programmed: the first of a list.
    pub(super) owners: u32,
    /// Reads that wait for the merge: the first of a list.
    pub(super) readers: u32,
    pub(super) since: Time,
    next: u32,
    epoch: u64,
}

/// Pages in order of arrival, linked through [`BufferedPage::next`].
#[derive(Clone, Debug)]
struct PageQueue {
    head: u32,
    tail: u32,
    len: u32,
}

#[derive(Clone, Debug, Default)]
struct Epoch {
    left: u32,
    flush: Option<RequestId>,
}

/// The write buffer, or what stands in for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    pub(super) pages: Vec<BufferedPage>,
    free: Vec<u32>,
    room: u32,
    pub(super) used: u32,
    newest: Index,
    queues: Vec<PageQueue>,
    /// Writes that wait for room.
    pub(super) waiting: VecDeque<RequestId>,
    epochs: VecDeque<Epoch>,
    first_epoch: u64,
}

impl Buffer {
    /// A buffer with room for so many pages, and `queues` of those that are ready.
    pub(super) fn new(room: Option<u32>, queues: usize) -> Buffer {
        Buffer {
            room: room.unwrap_or(u32::MAX),
            queues: vec![PageQueue { head: NONE, tail: NONE, len: 0 }; queues],
            epochs: VecDeque::from([Epoch::default()]),
            ..Buffer::default()
        }
    }

    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.used < self.room
    }

    /// The newest version of a page.
    #[inline]
    pub(super) fn find(&self, lpn: u32) -> Option<u32> {
        if self.newest.is_empty() { None } else { self.newest.get(lpn) }
    }

    pub(super) fn page(&mut self, number: u32) -> &mut BufferedPage {
        &mut self.pages[number as usize]
    }

    /// A new version of a page comes in.
    pub(super) fn insert(&mut self, lpn: u32, stamp: u32, step: PageStep, now: Time) -> u32 {
        assert!(self.has_room(), "a page was put into a full buffer");
        let epoch = self.first_epoch + self.epochs.len() as u64 - 1;
        self.epochs.back_mut().expect("one is open").left += 1;
        self.used += 1;
        let (owners, readers) = (NONE, NONE);
        let page =
            BufferedPage { lpn, stamp, stream: 0, step, owners, readers, since: now, next: NONE, epoch };
        let number = self.free.pop().unwrap_or(self.pages.len() as u32);
        if number as usize == self.pages.len() {
            self.pages.push(page);
        } else {
            self.pages[number as usize] = page;
        }
        self.newest.set(lpn, number);
        number
    }

    /// The page may be issued.
    pub(super) fn push(&mut self, queue: usize, number: u32) {
        let page = &mut self.pages[number as usize];
        (page.step, page.next) = (PageStep::Ready, NONE);
        let queue = &mut self.queues[queue];
        match queue.tail {
            NONE => queue.head = number,
            tail => self.pages[tail as usize].next = number,
        }
        queue.tail = number;
        queue.len += 1;
    }

    /// Pages that may be issued.
    #[inline]
    pub(super) fn ready(&self, queue: usize) -> u32 {
        self.queues[queue].len
    }

    /// The page that has waited longest.
    pub(super) fn head(&mut self, queue: usize) -> Option<u32> {
        loop {
            let head = self.queues[queue].head;
            if head == NONE || self.pages[head as usize].step != PageStep::Dropped {
                return (head != NONE).then_some(head);
            }
            self.unlink(queue);
            self.recycle(head);
        }
    }

    /// Numbers of the first pages of a queue, some of which may be dropped.
    pub(super) fn next_ones(&self, queue: usize, count: u32) -> impl Iterator<Item = u32> + '_ {
        let page = |number: u32| self.pages.get(number as usize);
        let all = std::iter::successors(page(self.queues[queue].head), move |last| page(last.next));
        all.take(count as usize).map(|page| page.lpn)
    }

    fn unlink(&mut self, queue: usize) {
        let queue = &mut self.queues[queue];
        queue.head = self.pages[queue.head as usize].next;
        if queue.head == NONE {
            queue.tail = NONE;
        }
    }

    /// The page that has waited longest is issued to a die.
    pub(super) fn issue(&mut self, queue: usize) {
        let head = self.head(queue).expect("a page is ready");
        self.unlink(queue);
        self.queues[queue].len -= 1;
        self.pages[head as usize].step = PageStep::Issued;
    }

    /// The page was programmed: its room is free.
    pub(super) fn release(&mut self, number: u32) {
        self.leave(number);
        self.recycle(number);
    }

    fn leave(&mut self, number: u32) {
        let BufferedPage { lpn, epoch, .. } = self.pages[number as usize];
        self.newest.remove(lpn, number);
        self.used -= 1;
        self.epochs[(epoch - self.first_epoch) as usize].left -= 1;
    }

    fn recycle(&mut self, number: u32) {
        self.pages[number as usize].step = PageStep::Free;
        self.free.push(number);
    }

    /// A merge that was dropped has ended.
    pub(super) fn forget(&mut self, number: u32) {
        assert_eq!(self.pages[number as usize].step, PageStep::Dropped);
        self.recycle(number);
    }

    /// The page is trimmed. Its owners, when they wait for it no longer.
    pub(super) fn drop_page(&mut self, number: u32, queue: usize) -> u32 {
        let page = &mut self.pages[number as usize];
        let (lpn, step) = (page.lpn, page.step);
        if step == PageStep::Issued {
            self.newest.remove(lpn, number);
            return NONE;
        }
        let owners = std::mem::replace(&mut page.owners, NONE);
        page.step = PageStep::Dropped;
        self.queues[queue].len -= u32::from(step == PageStep::Ready);
        self.leave(number);
        owners
    }

    /// A flush has come; false when there is nothing that it waits for.
    pub(super) fn close(&mut self, flush: RequestId) -> bool {
        if self.used == 0 {
            return false;
        }
        self.epochs.back_mut().expect("one is open").flush = Some(flush);
        self.epochs.push_back(Epoch::default());
        true
    }

    /// True when a flush waits.
    #[inline]
    pub(super) fn flushing(&self) -> bool {
        self.epochs.len() > 1
    }

    /// A flush whose pages are all on flash.
    pub(super) fn flushed(&mut self) -> Option<RequestId> {
        let flush = self.epochs.front().filter(|epoch| epoch.left == 0)?.flush?;
        self.epochs.pop_front();
        self.first_epoch += 1;
        Some(flush)
    }
}
