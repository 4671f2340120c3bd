//! How does a written page get into the buffer, and when is its write answered?

use iostack_model::Stage;

use super::buffer::{BufferedPage, NONE, PageStep};
use super::mapping::Mapping;
use super::ssd::Ssd;
use crate::engine::{RequestId, Sim};

impl Ssd {
    /// A write of a page, or of a piece of it.
    pub(super) fn write(&mut self, id: RequestId, sim: &mut Sim) {
        if self.buffer.waiting.is_empty() && self.accept(id, false, sim) {
            return;
        }
        self.mark_wait(id, sim.now());
        self.buffer.waiting.push_back(id);
        if self.buffer.waiting.len() == 1 {
            self.press(sim);
        }
    }

    /// Takes the page into the buffer, if there is room.
    fn accept(&mut self, id: RequestId, waited: bool, sim: &mut Sim) -> bool {
        let (lpn, start, length, stamp) = self.piece(id, sim);
        let whole = u64::from(length) == 1 << self.spec.page_shift;
        let found = self.buffer.find(lpn);
        let version = found.map(|page| (page, self.buffer.page(page).step));
        if let Some((page, PageStep::Ready | PageStep::Merging)) = version {
            let old = self.buffer.page(page).stamp;
            self.buffer.page(page).stamp = self.mix(Some(old), start, length, stamp);
            self.taken(id, page, waited, sim);
            return true;
        }
        if !self.buffer.has_room() {
            return false;
        }
        let old = match found {
            _ if whole => Some(0),
            Some(page) => Some(self.buffer.page(page).stamp),
            None => None,
        };
        let stamp = self.mix(old, start, length, stamp);
        let page = self.buffer.insert(lpn, stamp, PageStep::Merging, sim.now());
        self.buffer.page(page).stream = sim.request(id).stream.min(self.spec.ftl.streams - 1);
        self.taken(id, page, waited, sim);
        if old.is_some() {
            self.ready(page, sim);
        } else {
            self.merge(page, lpn, sim);
        }
        true
    }

    /// The page and the piece of it that a request is about, and what it writes.
    fn piece(&self, id: RequestId, sim: &Sim) -> (u32, u32, u32, u32) {
        let request = sim.request(id);
        let start = request.offset & ((1 << self.spec.page_shift) - 1);
        ((request.offset >> self.spec.page_shift) as u32, start as u32, request.length, request.stamp)
    }

    fn mix(&mut self, old: Option<u32>, start: u32, length: u32, stamp: u32) -> u32 {
        self.mixed.as_mut().map_or(0, |mixed| mixed.write(old, start, length, stamp))
    }

    /// The write is in the buffer: answered now, or when its page is programmed.
    fn taken(&mut self, id: RequestId, page: u32, waited: bool, sim: &mut Sim) {
        self.counts.bytes_host += u64::from(sim.request(id).length);
        if waited {
            self.charge_wait(id, Stage::Buffer, sim);
        }
        if self.spec.early {
            return self.complete(id, sim);
        }
        self.mark_wait(id, sim.now());
        let owners = std::mem::replace(&mut self.buffer.page(page).owners, id.0);
        self.slot(id.0).next = owners;
    }

    /// The rest of the page must be read before it can be programmed.
    fn merge(&mut self, page: u32, lpn: u32, sim: &mut Sim) {
        let id = self.inner_slot(page);
        match self.look_up(id, lpn) {
            Some(die) => {
                self.counts.merged_pages += 1;
                self.enqueue(die, id, sim);
            }
            None => self.merged(page, 0, sim),
        }
    }

    /// The rest of the page is there, with the stamp `old`.
    pub(super) fn merged(&mut self, page: u32, old: u32, sim: &mut Sim) {
        let kept = self.buffer.page(page);
        let mut owner = kept.owners;
        if let Some(mixed) = &mut self.mixed {
            kept.stamp = mixed.complete(kept.stamp, old);
        }
        self.answer_readers(page, sim);
        if self.buffer.page(page).step == PageStep::Dropped {
            return self.buffer.forget(page);
        }
        while owner != NONE {
            sim.spend(RequestId(owner), Stage::Die);
            self.mark_wait(RequestId(owner), sim.now());
            owner = self.slot(owner).next;
        }
        self.ready(page, sim);
    }

    /// The page may be issued.
    fn ready(&mut self, page: u32, sim: &mut Sim) {
        let queue = self.queue_of(page);
        self.buffer.push(queue, page);
        self.offer(queue, sim);
    }

    /// The queue in which a page of the buffer waits for its die, or for any: one for each stream.
    pub(super) fn queue_of(&self, page: u32) -> usize {
        let BufferedPage { lpn, stream, .. } = self.buffer.pages[page as usize];
        let die = if self.spec.fixed { usize::from(self.layout.die[self.ftl.home(lpn) as usize]) } else { 0 };
        die * usize::from(self.spec.ftl.streams) + usize::from(stream)
    }

    /// Room may have become free, and flushes may be through.
    pub(super) fn settle(&mut self, sim: &mut Sim) {
        while let Some(flush) = self.buffer.flushed() {
            self.charge_wait(flush, Stage::Buffer, sim);
            self.complete(flush, sim);
        }
        while let Some(&id) = self.buffer.waiting.front() {
            // Out of the list first: what follows may look whether anything waits.
            if !self.buffer.has_room() && !self.replaces(id, sim) {
                break;
            }
            self.buffer.waiting.pop_front();
            let accepted = self.accept(id, true, sim);
            assert!(accepted, "a page was refused although there was room");
        }
    }

    /// The write replaces a page that is in the buffer.
    fn replaces(&self, id: RequestId, sim: &Sim) -> bool {
        let page = self.buffer.find(self.piece(id, sim).0);
        page.is_some_and(|page| self.buffer.pages[page as usize].step != PageStep::Issued)
    }

    /// All that is in the buffer must get onto flash.
    pub(super) fn flush(&mut self, id: RequestId, sim: &mut Sim) {
        if !self.buffer.close(id) {
            return self.complete(id, sim);
        }
        self.mark_wait(id, sim.now());
        self.press(sim);
    }

    /// Whole pages of the range are forgotten.
    pub(super) fn trim(&mut self, id: RequestId, sim: &mut Sim) {
        let (offset, length) = (sim.request(id).offset, u64::from(sim.request(id).length));
        let page = 1u64 << self.spec.page_shift;
        for lpn in offset.div_ceil(page)..(offset + length) >> self.spec.page_shift {
            if let Some(kept) = self.buffer.find(lpn as u32) {
                let queue = self.queue_of(kept);
                let owners = self.buffer.drop_page(kept, queue);
                self.answer(owners, sim);
            }
            if let Some(slc) = &mut self.slc {
                slc.forget(lpn as u32);
            }
            self.ftl.trim(lpn as u32);
            Mapping::note(&mut self.mapping, lpn as u32);
        }
        self.keep_up(sim);
        self.complete(id, sim);
        self.settle(sim);
        self.press(sim);
    }

    /// Answers writes whose page was trimmed while they waited.
    fn answer(&mut self, mut owner: u32, sim: &mut Sim) {
        while owner != NONE {
            let next = self.slot(owner).next;
            self.charge_wait(RequestId(owner), Stage::DieWait, sim);
            self.complete(RequestId(owner), sim);
            owner = next;
        }
    }
}
