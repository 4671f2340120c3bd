//! How does a thread read and write through memory?
//!
//! ```text
//!   read ─► page there? ─ yes ─► copy ─► back          write ─► page there, or all of it written? ─► copy, dirty ─► back
//!              no ─► read-ahead's window ─► sleep                 no ─► read it first                    │ too many: wait
//!                                                                                                        ▼
//!   flusher ─► runs of dirty pages, in order ─► the drive                  fsync ─► dirty pages, journal, flush ─► back
//! ```
//!
//! This part stands above the host. It asks the host for two things only: clocks on a thread's core ([`Kind::Compute`]), and
//! I/Os that the kernel submits there and that an interrupt completes without waking anybody (`by_kernel`). Callers of
//! direct I/O pass; where the cache holds newer data, those are written first.
//!
//! Start reading at `walk.rs`, a call's way through the pages; `flusher.rs` is write-back, `issue.rs` what goes down.

mod config;
mod flusher;
mod issue;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use iostack_model::{Bytes, Engine, HostLayer, HostUse, Stage};

use super::cache::{PageCache, ReadAhead};
use super::filesystem::FileSystem;
use super::layer::{LAYER_NAMES, Layer, LayerWork};
use super::system::System;
use crate::engine::{CALLER_SHIFT, Caller, Kind, Part, PartId, RequestId, Shape, Sim, Stamps, Time};
pub(crate) use config::Config;
use flusher::Flusher;
use issue::Io;

/// Bytes of a page.
pub(in crate::host) const PAGE: u64 = 4096;

/// Reason why a call stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Done,
    /// The pages that it asked for are on the way.
    Issued,
    /// Somebody else asked for this page.
    Page(u32),
    /// No page can go.
    Memory,
    /// Too much is dirty.
    Limit,
    /// Pages that are being written must be on the drive.
    Writing,
}

/// A call under way.
#[derive(Clone, Debug)]
struct BufferedCall {
    id: RequestId,
    /// It passes the cache, once what the cache holds is on the drive.
    is_direct: bool,
    /// The next page, and the first that is not its own.
    page: u32,
    end: u32,
    /// Steps of a flush.
    step: u32,
    /// Pages that a flush has still to write.
    left: usize,
    stop: Stop,
    ios: Vec<Io>,
    /// I/Os that it waits for.
    awaited: u32,
    slept: bool,
}

/// A thread that submits.
#[derive(Clone, Debug)]
struct Client {
    is_buffered: bool,
    is_mapped: bool,
    space: u32,
    ahead: ReadAhead,
    queue: VecDeque<RequestId>,
    op: Option<BufferedCall>,
}

/// Stamps of the writes that each block holds, of runs that verify.
#[derive(Clone, Debug, Default)]
struct HeldStamps {
    memory: Stamps,
    /// Stamps that were sent to the drive: requests are cut by them, the drive answers by its own.
    drive: Stamps,
    /// Pages that move in several pieces, and how many are under way.
    pieces: BTreeMap<u32, u32>,
}

#[derive(Default)]
pub(crate) struct Buffered {
    host: PartId,
    config: Config,
    system: System,
    fs: FileSystem,
    cache: PageCache,
    clients: Vec<Client>,
    flushers: Vec<Flusher>,
    /// Callers that wait for something that is not their own.
    sleepers: Vec<u32>,
    /// Pages that have a place on the drive; those that get it at write-back; blocks of places that are known.
    placed: BTreeSet<u32>,
    unplaced: BTreeSet<u32>,
    mapped: BTreeSet<u32>,
    held: Option<HeldStamps>,
    /// Clocks of the step that is being put together.
    bill: f64,
    work: LayerWork,
    /// New callers have come.
    is_restarted: bool,
    hits: u64,
    misses: u64,
    written_back: u64,
    /// Pages that went to the drive since the start.
    written_total: usize,
}

impl Buffered {
    /// Above `host`, which has these numbers; with `proves` reads bring stamps back.
    pub(crate) fn new(
        host: PartId,
        config: Config,
        system: System,
        fs: FileSystem,
        proves: bool,
    ) -> Buffered {
        Buffered {
            cache: PageCache::new(config.pages, config.window),
            flushers: (0..config.spaces).map(|_| Flusher::default()).collect(),
            held: proves.then(HeldStamps::default),
            host,
            config,
            system,
            fs,
            ..Buffered::default()
        }
    }

    fn charge(&mut self, layer: Layer, clocks: f64) {
        self.work.add(layer, clocks);
        self.bill += clocks;
    }

    /// The page of an offset in a space.
    fn page_of(&self, space: u32, offset: u64) -> u32 {
        space * self.config.space_pages + (offset / PAGE) as u32
    }

    fn op(&mut self, client: u32) -> &mut BufferedCall {
        self.clients[client as usize].op.as_mut().expect("it has a call under way")
    }

    /// The next call of this caller, unless one is under way.
    fn start(&mut self, client: u32, sim: &mut Sim) {
        let of = &mut self.clients[client as usize];
        if of.op.is_some() {
            return;
        }
        let Some(id) = of.queue.pop_front() else { return };
        // It waited for calls before it.
        sim.spend(id, Stage::Submit);
        let (space, is_buffered, is_mapped) = (of.space, of.is_buffered, of.is_mapped);
        let request = sim.request(id);
        let (kind, last) = (request.kind, request.offset + u64::from(request.length).max(1) - 1);
        let op = BufferedCall {
            id,
            is_direct: !is_buffered || kind == Kind::Trim,
            page: self.page_of(space, request.offset),
            end: self.page_of(space, last) + 1,
            step: 0,
            left: self.cache.dirty(),
            stop: Stop::Done,
            ios: Vec::new(),
            awaited: 0,
            slept: false,
        };
        if !op.is_direct && !is_mapped {
            self.charge(Layer::Syscall, self.system.syscall);
            self.charge(Layer::Vfs, self.system.vfs);
            let write = if kind == Kind::Write { self.fs.write } else { 0.0 };
            self.charge(Layer::FileSystem, self.fs.clocks + write);
        }
        self.clients[client as usize].op = Some(op);
        self.advance(client, sim);
    }

    /// The call goes as far as it can without time, then computes for what that took.
    fn advance(&mut self, client: u32, sim: &mut Sim) {
        let stop = self.walk(client, sim);
        self.op(client).stop = stop;
        let bill = std::mem::take(&mut self.bill);
        if bill > 0.0 {
            return self.compute(client, issue::RUN, bill, sim);
        }
        self.perform(client, sim);
    }

    /// It has computed: its I/Os go down, and it goes on, sleeps or ends.
    fn perform(&mut self, client: u32, sim: &mut Sim) {
        let op = self.op(client);
        let (id, stop) = (op.id, op.stop);
        sim.spend(id, if op.slept { Stage::Return } else { Stage::Submit });
        let ios = std::mem::take(&mut op.ios);
        for io in &ios {
            self.issue(client, Some(id), *io, sim);
        }
        let op = self.op(client);
        op.ios = ios;
        op.ios.clear();
        let waits = op.awaited > 0;
        if matches!(stop, Stop::Done | Stop::Limit) && !op.is_direct && sim.request(id).kind == Kind::Write {
            let space = self.clients[client as usize].space;
            self.kick(space, sim);
        }
        match stop {
            Stop::Done => return self.end(client, sim),
            _ if waits => {}
            Stop::Issued => return self.advance(client, sim),
            _ if self.may_go_on(client, sim) => return self.advance(client, sim),
            _ => self.sleepers.push(client),
        }
        self.op(client).slept = true;
        self.work.add(Layer::Switch, self.system.switch_out);
        self.compute(client, issue::IDLE, self.system.switch_out, sim);
    }

    /// A caller wakes, and goes on.
    fn resume(&mut self, client: u32, sim: &mut Sim) {
        self.charge(Layer::Switch, self.system.wake + self.system.switch_in);
        self.advance(client, sim);
    }

    fn end(&mut self, client: u32, sim: &mut Sim) {
        let Some(op) = self.clients[client as usize].op.take() else { return };
        let request = sim.request_mut(op.id);
        if op.is_direct {
            self.pass(client, op.id, sim);
        } else {
            if let (Some(held), Kind::Read) = (&self.held, request.kind) {
                let base = u64::from(self.clients[client as usize].space * self.config.space_pages) * PAGE;
                request.stamp = held.memory.read(base + request.offset, request.length);
            }
            sim.finish(op.id);
        }
        self.start(client, sim);
    }

    /// Hands a request to the host, for good.
    fn pass(&mut self, client: u32, id: RequestId, sim: &mut Sim) {
        let request = sim.request(id);
        if let (Some(held), Kind::Write | Kind::Trim) = (&mut self.held, request.kind) {
            let base = u64::from(self.clients[client as usize].space * self.config.space_pages) * PAGE;
            let stamp = if request.kind == Kind::Trim { 0 } else { request.stamp };
            held.drive.write(base + request.offset, request.length, stamp);
        }
        sim.hand_over(self.host, id);
    }

    fn is_pending(&self, page: u32) -> bool {
        self.cache.find(page).is_some_and(|slot| self.cache.has(slot, super::cache::PENDING))
    }

    fn is_over_limit(&self) -> bool {
        self.cache.dirty() + self.cache.writing > self.config.limit
    }

    /// The reason why the call stopped has passed.
    fn may_go_on(&self, client: u32, sim: &Sim) -> bool {
        let op = self.clients[client as usize].op.as_ref().expect("it has a call under way");
        match op.stop {
            Stop::Done | Stop::Issued => true,
            Stop::Page(page) => !self.is_pending(page),
            Stop::Memory => self.cache.has_room(),
            Stop::Limit => !self.is_over_limit(),
            Stop::Writing if sim.request(op.id).kind == Kind::Flush => self.written_total >= op.left,
            Stop::Writing => !(op.page..op.end)
                .filter_map(|page| self.cache.find(page))
                .any(|slot| self.cache.has(slot, super::cache::WRITING)),
        }
    }

    /// Pages came or went: who waited for that goes on.
    fn wake_sleepers(&mut self, sim: &mut Sim) {
        let mut at = 0;
        while at < self.sleepers.len() {
            let client = self.sleepers[at];
            if !self.may_go_on(client, sim) {
                at += 1;
                continue;
            }
            self.sleepers.remove(at);
            let BufferedCall { id, stop, .. } = *self.op(client);
            sim.spend(id, if matches!(stop, Stop::Page(_)) { Stage::Device } else { Stage::Throttle });
            self.resume(client, sim);
        }
    }
}

impl Part for Buffered {
    fn name(&self) -> &'static str {
        "page cache"
    }

    fn meet(&mut self, callers: &[Caller]) {
        let spaces = self.config.spaces;
        let client = |caller: &Caller| Client {
            is_mapped: caller.engine == Engine::Mmap,
            is_buffered: !caller.direct || caller.engine == Engine::Mmap,
            space: caller.number % spaces,
            ahead: ReadAhead::new(self.config.ahead),
            queue: VecDeque::new(),
            op: None,
        };
        self.clients = callers.iter().map(client).collect();
        let first = (callers.len() as u32).next_multiple_of(spaces);
        self.is_restarted = true;
        for (flusher, thread) in self.flushers.iter_mut().zip(first..) {
            flusher.thread = thread;
        }
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        if std::mem::take(&mut self.is_restarted) {
            self.restart(sim);
        }
        let request = sim.request(id);
        let (client, kind) = (request.user >> CALLER_SHIFT, request.kind);
        let of = &self.clients[client as usize];
        if kind == Kind::Compute || !of.is_buffered && (self.cache.len() == 0 || kind == Kind::Flush) {
            return self.pass(client, id, sim);
        }
        self.clients[client as usize].queue.push_back(id);
        self.start(client, sim);
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        self.commit(token, sim);
    }

    fn returned(&mut self, id: RequestId, sim: &mut Sim) {
        self.back(id, sim);
    }

    fn begin(&mut self, _: Time) {
        self.work = LayerWork::default();
        (self.hits, self.misses, self.written_back) = (0, 0, 0);
    }

    fn gauges(&self, list: &mut Vec<(&'static str, f64)>) {
        list.push(("cached pages", self.cache.len() as f64));
        list.push(("dirty pages", (self.cache.dirty() + self.cache.writing) as f64));
        list.push(("pages written back", self.written_back as f64));
        let looked = (self.hits + self.misses).max(1);
        list.push(("page hits %", self.hits as f64 * 100.0 / looked as f64));
    }

    fn amend(&self, ios: u64, host: &mut HostUse) {
        for HostLayer { name, clocks } in self.work.each(ios) {
            host.clocks_per_io += clocks;
            match host.layers.iter_mut().find(|layer| layer.name == name) {
                Some(layer) => layer.clocks += clocks,
                None => host.layers.push(HostLayer { name, clocks }),
            }
        }
        host.layers.sort_by_key(|layer| LAYER_NAMES.iter().position(|(_, name)| *name == layer.name));
    }

    fn shape(&self) -> Option<Shape> {
        Some(Shape { capacity: Bytes(self.config.files), block: self.config.block })
    }
}
