//! A call's way through the pages, as far as it gets without time. What it costs goes to the bill, what it needs to its I/Os.

use super::issue::Io;
use super::{Buffered, BufferedCall, PAGE, Stop};
use crate::engine::{Kind, Sim};
use crate::host::cache::{DIRTY, MARKER, PENDING, PageRoom, WRITING, Window};
use crate::host::filesystem::WriteOrder;
use crate::host::layer::Layer;

impl Buffered {
    /// Goes on where the call is.
    pub(super) fn walk(&mut self, client: u32, sim: &Sim) -> Stop {
        let op = self.op(client);
        let (id, is_direct) = (op.id, op.is_direct);
        if is_direct {
            return self.walk_past(client, sim);
        }
        match sim.request(id).kind {
            Kind::Read => self.walk_read(client, sim),
            Kind::Write => self.walk_write(client, sim),
            Kind::Flush => self.walk_flush(client),
            Kind::Trim | Kind::Compute => Stop::Done,
        }
    }

    /// Bytes of the page that the call touches: first and end within the page.
    fn within(&self, client: u32, page: u32, sim: &Sim) -> (u64, u64) {
        let of = &self.clients[client as usize];
        let request = sim.request(of.op.as_ref().expect("it has a call").id);
        let at = u64::from(page - of.space * self.config.space_pages) * PAGE;
        let end = request.offset + u64::from(request.length);
        (request.offset.max(at) - at, end.min(at + PAGE) - at)
    }

    /// The page was reached: looked up, copied, or its data used in place.
    fn pass_page(&mut self, client: u32, page: u32, sim: &Sim) {
        let (from, to) = self.within(client, page, sim);
        self.charge(Layer::PageCache, self.system.lookup);
        if !self.clients[client as usize].is_mapped {
            self.charge(Layer::Copy, self.system.copy * (to - from) as f64);
        }
        self.clients[client as usize].ahead.passed(page);
        self.op(client).page += 1;
    }

    fn walk_read(&mut self, client: u32, sim: &Sim) -> Stop {
        loop {
            let op = self.op(client);
            let (page, end) = (op.page, op.end);
            if page == end {
                return Stop::Done;
            }
            let Some(slot) = self.cache.find(page) else {
                self.misses += 1;
                return self.miss(client, page, end - page);
            };
            if self.cache.has(slot, PENDING) {
                return Stop::Page(page);
            }
            if self.cache.has(slot, MARKER) {
                self.cache.clear_marker(slot);
                let most = self.config.ahead;
                let hole = (page + 1..=page + most).find(|&page| !self.cache.holds(page));
                let ahead = &mut self.clients[client as usize].ahead;
                let window = hole.and_then(|hole| ahead.marked(page, end - page, hole));
                if window.is_some_and(|window| self.plan(client, window, None)) {
                    return Stop::Issued;
                }
            }
            self.hits += 1;
            self.cache.touch(slot);
            self.pass_page(client, page, sim);
        }
    }

    /// The page is not there: a window is read, and the page is waited for.
    fn miss(&mut self, client: u32, page: u32, wanted: u32) -> Stop {
        if self.asks_for_map(client, page) {
            return Stop::Issued;
        }
        let most = self.config.ahead;
        let of = &mut self.clients[client as usize];
        let window = if of.is_mapped {
            let first = page.saturating_sub(most / 2).max(of.space * self.config.space_pages);
            // A fault enters the kernel as a call does.
            let fault = self.system.syscall;
            let window = Window { first, count: most.max(1), marker: None };
            self.charge(Layer::Syscall, fault);
            window
        } else {
            of.ahead.missed(page, wanted)
        };
        if !self.plan(client, window, Some(page)) && !self.cache.holds(page) {
            return Stop::Memory;
        }
        Stop::Issued
    }

    /// The block that tells the place of the page must be read first; asks for it.
    fn asks_for_map(&mut self, client: u32, page: u32) -> bool {
        let Some(each) = self.fs.map else { return false };
        let block = (u64::from(page) / each) as u32;
        if self.config.is_new || !self.mapped.insert(block) {
            return false;
        }
        let offset = self.config.files + u64::from(block) * PAGE % self.fs.area.max(PAGE);
        let io = Io { kind: Kind::Read, offset, length: PAGE as u32, is_pages: false, is_awaited: true };
        self.op(client).ios.push(io);
        true
    }

    /// Takes room for one page; false when there is none.
    fn take(&mut self, client: u32, page: u32, flags: u8) -> bool {
        loop {
            match self.cache.room() {
                PageRoom::Free => break,
                PageRoom::None => return false,
                PageRoom::Write(victim) => {
                    self.cache.begin_writing(victim);
                    self.charge(Layer::FileSystem, self.fs.page);
                    self.place(victim);
                    let io = self.io_of(Kind::Write, victim, 1, false);
                    self.op(client).ios.push(io);
                }
            }
        }
        self.charge(Layer::PageCache, self.system.page);
        self.cache.insert(page, flags);
        true
    }

    pub(super) fn io_of(&self, kind: Kind, first: u32, count: u32, is_awaited: bool) -> Io {
        let offset = u64::from(first % self.config.space_pages) * PAGE;
        Io { kind, offset, length: count * PAGE as u32, is_pages: true, is_awaited }
    }

    /// Reads what is missing of a window, as far as memory goes; `needed` is waited for. Whether anything goes down.
    fn plan(&mut self, client: u32, window: Window, needed: Option<u32>) -> bool {
        let space = self.clients[client as usize].space * self.config.space_pages;
        let last = space + (self.config.files / PAGE) as u32;
        let end = window.first.saturating_add(window.count).min(last);
        let before = self.op(client).ios.len();
        let (mut page, mut full) = (window.first, false);
        while page < end && !full {
            let first = page;
            while page < end && !self.cache.holds(page) {
                if !self.take(client, page, PENDING) {
                    full = true;
                    break;
                }
                page += 1;
            }
            if page > first {
                let waits = needed.is_some_and(|needed| (first..page).contains(&needed));
                let io = self.io_of(Kind::Read, first, page - first, waits);
                self.op(client).ios.push(io);
            }
            if !full {
                page += 1;
            }
        }
        if let Some(marker) = window.marker {
            self.cache.set_marker(marker);
        }
        self.op(client).ios.len() > before
    }

    fn walk_write(&mut self, client: u32, sim: &Sim) -> Stop {
        loop {
            let op = self.op(client);
            let (id, page, end) = (op.id, op.page, op.end);
            if page == end {
                return if self.is_over_limit() { Stop::Limit } else { Stop::Done };
            }
            let (from, to) = self.within(client, page, sim);
            let slot = match self.cache.find(page) {
                Some(slot) if self.cache.has(slot, PENDING) => return Stop::Page(page),
                Some(slot) => {
                    self.hits += 1;
                    slot
                }
                None => {
                    let is_known =
                        !self.config.is_new || self.placed.contains(&page) || self.unplaced.contains(&page);
                    if is_known && to - from < PAGE {
                        self.misses += 1;
                        let window = Window { first: page, count: 1, marker: None };
                        if self.asks_for_map(client, page) || self.plan(client, window, Some(page)) {
                            return Stop::Issued;
                        }
                        return Stop::Memory;
                    }
                    if !self.take(client, page, 0) {
                        return Stop::Memory;
                    }
                    self.cache.find(page).expect("it was put there just before")
                }
            };
            if let Some(held) = &mut self.held {
                let at = u64::from(page) * PAGE;
                let fresh =
                    self.config.is_new && !self.placed.contains(&page) && !self.unplaced.contains(&page);
                if fresh {
                    held.memory.write(at, PAGE as u32, 0);
                }
                held.memory.write(at + from, (to - from) as u32, sim.request(id).stamp);
            }
            self.dirties(client, page);
            self.cache.touch(slot);
            if !self.cache.has(slot, DIRTY) && self.fs.order == WriteOrder::Dirtied {
                let space = self.clients[client as usize].space;
                self.flushers[space as usize].order.push_back(page);
            }
            self.cache.soil(slot);
            self.pass_page(client, page, sim);
        }
    }

    /// A page is written to: the first time, it needs a place.
    fn dirties(&mut self, client: u32, page: u32) {
        let space = self.clients[client as usize].space as usize;
        self.flushers[space].has_changes = true;
        if !self.config.is_new || self.placed.contains(&page) || self.unplaced.contains(&page) {
            return;
        }
        self.unplaced.insert(page);
        if !self.fs.delayed {
            self.place(page);
        }
    }

    /// The page gets its place, if it has none.
    pub(super) fn place(&mut self, page: u32) {
        if self.unplaced.remove(&page) {
            self.placed.insert(page);
            self.charge(Layer::FileSystem, self.fs.allocate);
            self.flushers[(page / self.config.space_pages) as usize].new_bytes += PAGE;
        }
    }

    /// Everything that is dirty when the call begins, then the journal, then the drive's buffer.
    fn walk_flush(&mut self, client: u32) -> Stop {
        let space = self.clients[client as usize].space;
        let first = space * self.config.space_pages;
        let BufferedCall { step, left, .. } = *self.op(client);
        if step == 0 {
            let taken = if left > 0 { self.plan_sync(client, first, space) } else { 0 };
            let target = self.written_total + self.cache.writing;
            let op = self.op(client);
            if taken > 0 {
                op.left = left.saturating_sub(taken);
                return Stop::Issued;
            }
            (op.step, op.left) = (1, target);
        }
        let op = self.op(client);
        if op.step == 1 {
            if self.written_total < self.op(client).left {
                return Stop::Writing;
            }
            self.op(client).step = 2;
            if self.fs.journal > 0 && self.flushers[space as usize].has_changes {
                let record = self.record(space);
                self.op(client).ios.extend(record);
                return Stop::Issued;
            }
        }
        let barrier = self.fs.barrier;
        let op = self.op(client);
        if op.step == 2 {
            op.step = 3;
            if barrier {
                let flush = Io { kind: Kind::Flush, offset: 0, length: 0, is_pages: false, is_awaited: true };
                op.ios.push(flush);
                return Stop::Issued;
            }
        }
        Stop::Done
    }

    /// Writes of dirty pages from `first` on, as many as a flusher keeps in flight; how many pages.
    fn plan_sync(&mut self, client: u32, first: u32, space: u32) -> usize {
        let (mut at, mut taken) = (first, 0);
        for _ in 0..self.config.depth {
            let Some((first, count)) = self.next_extent(at, space) else { break };
            let io = self.io_of(Kind::Write, first, count, true);
            self.op(client).ios.push(io);
            taken += count as usize;
            at = first + count;
        }
        taken
    }

    /// A call that passes the cache: what is dirty there goes to the drive first; what it writes, the cache forgets.
    fn walk_past(&mut self, client: u32, sim: &Sim) -> Stop {
        let op = self.op(client);
        let (id, first, end) = (op.id, op.page, op.end);
        let space = self.clients[client as usize].space;
        let mut at = first;
        while self.cache.next_dirty(at).is_some_and(|page| page < end)
            && let Some((first, count)) = self.next_extent(at, space)
        {
            let io = self.io_of(Kind::Write, first, count, true);
            self.op(client).ios.push(io);
            at = first + count;
        }
        if at > first {
            return Stop::Issued;
        }
        let writes = sim.request(id).kind != Kind::Read;
        for page in first..end {
            let Some(slot) = self.cache.find(page) else { continue };
            if self.cache.has(slot, WRITING) {
                return Stop::Writing;
            }
            if self.cache.has(slot, PENDING) {
                return Stop::Page(page);
            }
            if writes {
                self.cache.forget(page);
            }
        }
        Stop::Done
    }
}
