//! How does a command go through the device?
//!
//! ```text
//!   admit ──► link ──► cores ──┬─ read ──► die ──► channel ──► link ──► done       read.rs
//!    queue                     └─ write ─► buffer ─┬─► done (early)                 write.rs
//!                                                  └─► channel ──► die ──► done     schedule.rs
//! ```
//!
//! Each arrow that takes time is one event. Which die does what next is decided in `schedule.rs`.

use std::collections::VecDeque;

use iostack_model::{Bytes, FlashUse, Gauge, ResourceUse, Stage};

use super::buffer::{Buffer, NONE};
use super::die::{Die, Idle, Meter, Phase, ReadSlot};
use super::heat::Heat;
use super::layout::Layout;
use super::mapping::Mapping;
use super::mixed::Mixed;
use super::sense::Senses;
use super::slc::Slc;
use super::spec::{ReadsTogether, Spec};
use super::way::{Cores, Link, Transfer};
use super::zones::Zones;
use crate::engine::{
    Caller, Kind, Part, Request, RequestId, Server, Shape, Sim, Time, ZoneShape, token, usage,
};
use crate::ftl::Ftl;

/// Kinds of wake-up. A command has come over the link.
const CAME: u8 = 0;
/// The firmware is through with it.
const DECIDED: u8 = 1;
/// A die's phase ends.
pub(super) const DIE: u8 = 2;
/// Data of a read has left the die.
pub(super) const LEFT: u8 = 3;
/// Data of a read is with the host.
const DONE: u8 = 4;
/// The rest of a page that was written in part is there.
pub(super) const MERGED: u8 = 5;
/// The data of a program is in the die, whose cells may be interrupted now.
pub(super) const LOADED: u8 = 6;
/// A command that waited has a place in the queue.
const ENTERED: u8 = 7;
/// A die may have something to do with the mapping table.
pub(super) const CHORE: u8 = 8;
/// The entry of the mapping table is there, from the host's memory.
pub(super) const MAPPED: u8 = 9;
/// Data of a write is in the drive's memory.
const STORED: u8 = 10;
/// Data of a read has been through the drive's memory.
const FETCHED: u8 = 11;
/// The host may send the next write of a zone.
pub(super) const ZONE_NEXT: u8 = 12;
/// The least time of a zone's reset is over.
pub(super) const RESET: u8 = 13;

/// Bit of an entry in lists of reads that is not a request, but a page of the buffer that is being merged.
pub(super) const INNER: u32 = 1 << 31;

pub(super) struct Ssd {
    pub(super) spec: Spec,
    pub(super) layout: Layout,
    pub(super) ftl: Ftl,
    pub(super) link: Link,
    pub(super) cores: Cores,
    /// The drive's memory, where it can hold data up.
    memory: Option<(Transfer, Server)>,
    pub(super) channels: Vec<Server>,
    pub(super) dies: Vec<Die>,
    pub(super) idle: Idle,
    pub(super) meter: Meter,
    pub(super) buffer: Buffer,
    pub(super) slc: Option<Slc>,
    pub(super) mapping: Option<Mapping>,
    /// All senses take equally long.
    pub(super) alike: bool,
    pub(super) senses: Option<Senses>,
    pub(super) heat: Option<Heat>,
    pub(super) zones: Option<Zones>,
    /// Reads may share a sense.
    pub(super) shares: bool,
    /// Entries of requests, by their number.
    pub(super) slots: Vec<ReadSlot>,
    /// Entries of pages that are being merged, by their number in the buffer.
    pub(super) inner: Vec<ReadSlot>,
    pub(super) admitted: u32,
    waiting: VecDeque<RequestId>,
    /// Waiting requests that have got a place and enter at this moment.
    entering: usize,
    /// Rank of the die after the one that was given the last pages.
    pub(super) cursor: usize,
    pub(super) mixed: Option<Mixed>,
    pub(super) counts: SsdCounts,
    pub(super) formula: Option<&'static str>,
}

/// Counts since the beginning of measuring, beside those of the translation layer.
#[derive(Default)]
pub(super) struct SsdCounts {
    /// Pages that were read only because a write was smaller.
    pub(super) merged_pages: u64,
    /// Bytes of writes that were taken.
    pub(super) bytes_host: u64,
    /// Pages written to the blocks with one bit a cell, those of them that were folded, and their erases.
    pub(super) slc_written: u64,
    pub(super) folded: u64,
    pub(super) slc_erases: u64,
}

impl Ssd {
    pub(super) fn new(spec: Spec, ftl: Ftl, formula: Option<&'static str>) -> Ssd {
        let layout = spec.layout.clone();
        let planes = layout.counts.planes as usize;
        let count = layout.order.len();
        let mut ranks = vec![0; count];
        layout.order.iter().enumerate().for_each(|(rank, &die)| ranks[usize::from(die)] = rank as u16);
        let dies = layout
            .channel
            .iter()
            .zip(ranks)
            .map(|(&channel, rank)| Die::new(channel, rank, planes))
            .collect();
        Ssd {
            senses: spec.senses.clone().map(|senses| senses.start(&ftl)),
            ftl,
            link: spec.link.clone(),
            cores: spec.cores.clone(),
            memory: spec.memory.clone().map(|memory| (memory, Server::default())),
            channels: vec![Server::default(); layout.counts.channels as usize],
            dies,
            idle: Idle::all(count),
            meter: Meter::default(),
            buffer: Buffer::new(
                spec.buffer,
                if spec.fixed { count } else { 1 } * usize::from(spec.ftl.streams),
            ),
            slc: spec.slc.map(|slc| Slc::new(&spec, slc)),
            mapping: spec.mapping.map(|mapping| Mapping::new(mapping, spec.capacity, spec.page_shift)),
            alike: spec.slc.is_none() && spec.mapping.is_none() && spec.senses.is_none(),
            heat: spec.heat.clone(),
            zones: spec.zones.as_ref().map(|zones| Zones::new(&spec, zones)),
            shares: spec.die.reads_together != ReadsTogether::None && planes > 1 || spec.unit > 1,
            slots: Vec::new(),
            inner: Vec::new(),
            admitted: 0,
            waiting: VecDeque::new(),
            entering: 0,
            cursor: 0,
            mixed: spec.ftl.stamps.then(|| Mixed::new(1 << spec.page_shift, spec.sector)),
            counts: SsdCounts::default(),
            formula,
            layout,
            spec,
        }
    }

    /// Entry of a request, or of a page that is being merged.
    #[inline]
    pub(super) fn slot(&mut self, id: u32) -> &mut ReadSlot {
        if id & INNER == 0 { &mut self.slots[id as usize] } else { &mut self.inner[(id & !INNER) as usize] }
    }

    /// A place to keep something for a request.
    #[inline]
    fn fresh_slot(&mut self, id: RequestId) -> &mut ReadSlot {
        let index = id.0 as usize;
        if index >= self.slots.len() {
            assert!(index < 1 << 24, "more than {} requests are under way", 1 << 24);
            self.slots.resize(index + 1, ReadSlot::EMPTY);
        }
        self.slots[index] = ReadSlot::EMPTY;
        &mut self.slots[index]
    }

    /// The same for a page that is being merged.
    pub(super) fn inner_slot(&mut self, page: u32) -> u32 {
        if page as usize >= self.inner.len() {
            self.inner.resize(page as usize + 1, ReadSlot::EMPTY);
        }
        self.inner[page as usize] = ReadSlot::EMPTY;
        page | INNER
    }

    /// Mapped pages that a request touches: first and count.
    #[inline]
    pub(super) fn pages(&self, offset: u64, length: u32) -> (u64, u64) {
        let first = offset >> self.spec.page_shift;
        (first, ((offset + u64::from(length.max(1)) - 1) >> self.spec.page_shift) - first + 1)
    }

    /// The command has a place in the queue.
    #[inline]
    fn admit(&mut self, id: RequestId, sim: &mut Sim) {
        self.fresh_slot(id);
        let &Request { kind, offset, length, .. } = sim.request(id);
        // A write that finds others waiting is far from being programmed.
        if kind == Kind::Read || self.buffer.waiting.is_empty() {
            self.ftl.bring_near((offset >> self.spec.page_shift) as u32);
        }
        if kind == Kind::Read {
            return self.decide(id, sim);
        }
        let data = if kind == Kind::Write { u64::from(length) } else { 0 };
        let there = self.link.down(sim.now(), data);
        if there == sim.now() { self.came(id, sim) } else { sim.wake_at(there, token(CAME, id.0)) }
    }

    /// A command that is no read has come with its data, which goes to memory, and from there to a channel.
    #[inline]
    fn came(&mut self, id: RequestId, sim: &mut Sim) {
        if self.memory.is_none() || !self.passes_memory(STORED, id, sim) {
            self.decide(id, sim);
        }
    }

    /// True when the data of a request passes the memory first: there and back, behind that of others.
    fn passes_memory(&mut self, then: u8, id: RequestId, sim: &mut Sim) -> bool {
        let Some((transfer, server)) = &mut self.memory else { return false };
        let request = sim.request(id);
        if !matches!(request.kind, Kind::Read | Kind::Write) {
            return false;
        }
        let until = server.serve(sim.now(), transfer.data(2 * u64::from(request.length)));
        sim.wake_at(until, token(then, id.0));
        true
    }

    /// The command comes into the queue, or waits for a place in it.
    #[inline]
    pub(super) fn take_in(&mut self, id: RequestId, sim: &mut Sim) {
        if self.admitted >= self.spec.queue_depth {
            return self.waiting.push_back(id);
        }
        self.admitted += 1;
        self.admit(id, sim);
    }

    /// The command that has waited longest takes the place of one that is through.
    fn enter(&mut self, sim: &mut Sim) {
        self.entering -= 1;
        let next = self.waiting.pop_front().expect("it was counted");
        sim.spend(next, Stage::Admit);
        self.admit(next, sim);
    }

    /// The request stays within one mapped page.
    #[inline]
    fn within_page(&self, offset: u64, length: u32) -> bool {
        let page = 1u64 << self.spec.page_shift;
        (offset & (page - 1)) + u64::from(length) <= page
    }

    /// The firmware gets the command.
    #[inline]
    fn decide(&mut self, id: RequestId, sim: &mut Sim) {
        let request = sim.request(id);
        let one = self.within_page(request.offset, request.length);
        let pages = if one { 1 } else { self.pages(request.offset, request.length).1 };
        let (work, pages) = match request.kind {
            Kind::Read => (&self.spec.read, pages),
            Kind::Write => (&self.spec.write, pages),
            Kind::Trim | Kind::Flush => (&self.spec.write, 0),
            Kind::Compute => unreachable!("only hosts compute"),
        };
        let mut decided = self.cores.serve(sim.now(), work.command + work.page * pages) + work.delay;
        if let Some(heat) = &mut self.heat {
            let bytes = if pages > 0 { u64::from(request.length) } else { 0 };
            decided = decided.max(heat.pass(sim.now(), bytes));
        }
        if decided == sim.now() {
            return self.decided(id, sim);
        }
        sim.wake_at(decided, token(DECIDED, id.0));
    }

    /// The firmware knows what to do.
    #[inline]
    fn decided(&mut self, id: RequestId, sim: &mut Sim) {
        let (kind, offset, length) = {
            let request = sim.request(id);
            (request.kind, request.offset, request.length)
        };
        if kind != Kind::Read && self.zones.is_some() {
            return self.for_zones(kind, id, sim);
        }
        match kind {
            Kind::Read | Kind::Write => {}
            Kind::Trim => return self.trim(id, sim),
            Kind::Flush => return self.flush(id, sim),
            Kind::Compute => unreachable!("only hosts compute"),
        }
        if self.within_page(offset, length) {
            return self.page(kind, id, sim);
        }
        self.split(id, sim);
    }

    /// A command of several pages is one part for each.
    fn split(&mut self, id: RequestId, sim: &mut Sim) {
        let Request { kind, offset, length, .. } = *sim.request(id);
        let (first, count) = self.pages(offset, length);
        // All parts are made before the first goes on: it might be the whole otherwise.
        let end = offset + u64::from(length);
        let mut head = NONE;
        for number in (first..first + count).rev() {
            let from = offset.max(number << self.spec.page_shift);
            let until = end.min((number + 1) << self.spec.page_shift);
            let child = sim.fork(id, from, (until - from) as u32);
            let slot = self.fresh_slot(child);
            (slot.child, slot.rest, slot.next) = (true, from > offset, head);
            head = child.0;
        }
        while head != NONE {
            let next = std::mem::replace(&mut self.slot(head).next, NONE);
            self.page(kind, RequestId(head), sim);
            head = next;
        }
    }

    #[inline]
    fn page(&mut self, kind: Kind, id: RequestId, sim: &mut Sim) {
        if kind == Kind::Read { self.read(id, sim) } else { self.write(id, sim) }
    }

    /// Data of a read goes to the host.
    #[inline]
    pub(super) fn deliver(&mut self, id: RequestId, sim: &mut Sim) {
        if self.memory.is_none() || !self.passes_memory(FETCHED, id, sim) {
            self.send(id, sim);
        }
    }

    #[inline]
    fn send(&mut self, id: RequestId, sim: &mut Sim) {
        let with_command = !self.slots[id.0 as usize].rest;
        let there = self.link.up(sim.now(), u64::from(sim.request(id).length), with_command);
        if there == sim.now() {
            return self.complete(id, sim);
        }
        sim.wake_at(there, token(DONE, id.0));
    }

    /// A command, or the part of one, is through.
    #[inline]
    pub(super) fn complete(&mut self, id: RequestId, sim: &mut Sim) {
        let whole = if self.slots[id.0 as usize].child { sim.join(id) } else { Some(id) };
        let Some(id) = whole else { return };
        sim.finish(id);
        self.give_place(sim);
    }

    /// A place in the queue is free: for the command that waits longest.
    #[inline]
    pub(super) fn give_place(&mut self, sim: &mut Sim) {
        if self.waiting.len() <= self.entering || self.admitted > self.spec.queue_depth {
            self.admitted -= 1;
            return;
        }
        // By way of the calendar: whoever completes a request is in the middle of something.
        self.entering += 1;
        sim.wake_at(sim.now(), token(ENTERED, 0));
    }

    /// The wait of a write since its slot was marked: the shares of collection and folding in what the dies did, and `stage`.
    pub(super) fn charge_wait(&mut self, id: RequestId, stage: Stage, sim: &mut Sim) {
        let (moved, worked) = self.meter.read(sim.now());
        let slot = self.slots[id.0 as usize];
        let (wait, worked) = (sim.now() - slot.since, worked - slot.worked);
        let mut until = slot.since;
        for (mover, time) in moved.since(slot.moved) {
            if worked > 0 && time > 0 {
                until += (u128::from(wait) * u128::from(time) / u128::from(worked)) as u64;
                sim.spend_until(id, mover, until);
            }
        }
        sim.spend(id, stage);
    }

    /// A write begins to wait.
    pub(super) fn mark_wait(&mut self, id: RequestId, now: Time) {
        let (moved, worked) = self.meter.read(now);
        let slot = &mut self.slots[id.0 as usize];
        (slot.since, slot.moved, slot.worked) = (now, moved, worked);
    }

    /// A die works for so long from now on.
    #[inline]
    pub(super) fn heat_by(&mut self, phase: Phase, now: Time, time: f64) {
        if let Some(heat) = &mut self.heat {
            heat.work(phase, now, time);
        }
    }
}

impl Part for Ssd {
    fn name(&self) -> &'static str {
        "ssd"
    }

    #[inline]
    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        let request = sim.request(id);
        let end = request.offset + u64::from(request.length);
        assert!(end <= self.spec.capacity, "a request ends at {end}, beyond the capacity");
        if self.zones.is_some() && self.kept_back(id, sim) {
            return;
        }
        self.take_in(id, sim);
    }

    #[inline]
    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let (kind, index) = ((token >> 24) as u8, token & 0x00ff_ffff);
        let id = RequestId(index);
        match kind {
            DECIDED => {
                sim.spend(id, Stage::Controller);
                self.decided(id, sim);
            }
            DIE => self.phase_ended(index, sim),
            LEFT => self.left(id, sim),
            DONE => {
                sim.spend(id, Stage::Link);
                self.complete(id, sim);
            }
            CAME => {
                sim.spend(id, Stage::Link);
                self.came(id, sim);
            }
            STORED => {
                sim.spend(id, Stage::Controller);
                self.decide(id, sim);
            }
            FETCHED => {
                sim.spend(id, Stage::Controller);
                self.send(id, sim);
            }
            MERGED => self.piece_left(index, sim),
            LOADED => self.loaded(index, sim),
            CHORE => self.chore(index, sim),
            MAPPED => self.mapped(id, sim),
            ZONE_NEXT => self.next_of_zone(index, sim),
            RESET => self.through_with_reset(index, Stage::Controller, sim),
            _ => self.enter(sim),
        }
    }

    fn begin(&mut self, now: Time) {
        self.link.begin(now);
        self.cores.begin(now);
        self.memory.iter_mut().for_each(|(_, server)| server.account.begin(now));
        self.heat.iter_mut().for_each(|heat| heat.begin(now));
        self.channels.iter_mut().for_each(|channel| channel.account.begin(now));
        self.dies.iter_mut().for_each(|die| die.account.begin(now));
        self.ftl.begin();
        self.mapping.iter_mut().for_each(Mapping::begin);
        self.zones.iter_mut().for_each(Zones::begin);
        self.counts = SsdCounts::default();
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        list.push(usage("link", self.link.accounts(), now));
        list.push(usage("controller", self.cores.accounts(), now));
        if let Some((_, server)) = &self.memory {
            list.push(usage("memory", std::iter::once(&server.account), now));
        }
        list.extend(self.heat.iter().map(|heat| heat.usage(now)));
        list.push(usage("channel", self.channels.iter().map(|channel| &channel.account), now));
        list.push(usage("die", self.dies.iter().map(|die| &die.account), now));
    }

    fn gauges(&self, list: &mut Vec<(&'static str, f64)>) {
        if let Some(zones) = &self.zones {
            zones.gauges(list);
        } else {
            list.push((Gauge::FREE_BLOCKS, self.ftl.free_blocks_total() as f64));
        }
        if self.spec.buffer.is_some() && self.zones.is_none() {
            list.push((Gauge::BUFFERED_PAGES, f64::from(self.buffer.used)));
        }
        if let Some(slc) = &self.slc {
            list.push((Gauge::SLC_PAGES, f64::from(slc.used())));
        }
        list.extend(self.heat.iter().map(|heat| ("temperature", heat.degrees())));
    }

    fn flash(&self) -> Option<FlashUse> {
        if let Some(zones) = &self.zones {
            return Some(zones.counts(self.counts.bytes_host));
        }
        let (mut counts, own) = (self.ftl.counts(), &self.counts);
        counts.bytes_host = Bytes(own.bytes_host);
        counts.pages_merged += own.merged_pages;
        if let Some(slc) = &self.slc {
            // For the translation layer, folding is writing.
            counts.pages_programmed += own.slc_written;
            counts.pages_host = counts.pages_host + own.slc_written - own.folded;
            counts.pages_moved += own.folded;
            counts.pages_mapped += slc.valid();
            counts.erases += own.slc_erases;
        }
        if let Some(mapping) = &self.mapping {
            let used = mapping.counts();
            counts.pages_programmed += used.pages_programmed * used.page.0 / counts.page.0;
            counts.map = Some(used);
        }
        Some(counts.with_factors())
    }

    fn shape(&self) -> Option<Shape> {
        Some(Shape { capacity: Bytes(self.spec.capacity), block: Bytes(self.spec.sector) })
    }

    fn zones(&self) -> Option<ZoneShape> {
        self.zones.as_ref().map(|zones| zones.spec.shape)
    }

    fn meet(&mut self, _callers: &[Caller]) {
        self.zones.iter_mut().for_each(Zones::finish);
    }

    fn state_by_formula(&self) -> Option<String> {
        self.formula.map(str::to_owned)
    }
}
