//! The way of a request through the adapter.

use std::collections::VecDeque;

use iostack_model::{Bytes, RaidUse, ResourceUse, Stage};

use super::super::parameter::Pace;
use super::cache::{Holder, RaidCache};
use super::layout::{Share, StripeLayout};
use super::work::{Cause, Rebuild, Rows, Wish};
use crate::engine::{Kind, Part, PartId, RequestId, Server, Shape, Sim, Stamps, Time, token, usage};

/// The adapter has taken a command; it has one ready for a member; a write's data have come; a read's have gone.
const COMMAND: u8 = 0;
const ISSUE: u8 = 1;
const CAME: u8 = 2;
const GONE: u8 = 3;
/// Parity is computed; the rebuild may go on.
pub(super) const MIXED: u8 = 4;
pub(super) const REBUILD: u8 = 5;

/// [`crate::engine::Request::user`] of a member's request: the member below, and above whose part it is. Whoever forks or
/// spawns a request has its `user`.
const MEMBER_BITS: u32 = 8;
/// A part of a host's request; of an I/O of a row; then flights by their slot.
const HOST: u32 = 0;
pub(super) const ROW: u32 = 1;
const FLIGHTS: u32 = 2;
/// The `user` of who leads a row for the rebuild; of a flight, its slot and 1.
pub(super) const REBUILDS: u32 = u32::MAX;

#[derive(Default)]
pub(super) struct Raid {
    pub(super) capacity: Bytes,
    pub(super) block: Bytes,
    pub(super) layout: StripeLayout,
    pub(super) members: Vec<PartId>,
    pub(super) command: u64,
    pub(super) member_command: u64,
    pub(super) adapter: Server,
    pub(super) link: Option<(Server, Pace)>,
    /// Places in the command queue that are free, and who waits for one.
    pub(super) free: u64,
    pub(super) waiting: VecDeque<RequestId>,
    pub(super) writes_back: bool,
    pub(super) destages: usize,
    pub(super) cache: RaidCache,
    /// Writes that wait for room in the cache.
    pub(super) blocked: VecDeque<RequestId>,
    /// Trims that wait for bytes in flight to land.
    pub(super) held: Vec<RequestId>,
    /// Flushes that wait for runs below a number.
    pub(super) flushes: Vec<(RequestId, u64)>,
    /// Stamps of clean pages; members keep those of their own.
    pub(super) stamps: Stamps,
    /// The members' stamps are not those of the array: there is parity, or a replacement.
    pub(super) keeps_stamps: bool,
    /// Members that have failed.
    pub(super) failed: Vec<bool>,
    pub(super) rows: Rows,
    pub(super) rebuild: Option<Rebuild>,
    /// I/Os in flight of each member.
    pub(super) loads: Vec<u32>,
    /// Choices among copies so far: those that are alike take turns.
    pub(super) turn: usize,
    pub(super) counts: RaidUse,
}

impl Raid {
    fn admit(&mut self, sim: &mut Sim) {
        while self.free > 0
            && let Some(id) = self.waiting.pop_front()
        {
            self.free -= 1;
            sim.spend(id, Stage::Admit);
            if self.command == 0 {
                self.taken(id, sim);
            } else {
                sim.wake_at(self.adapter.serve(sim.now(), self.command), token(COMMAND, id.0));
            }
        }
    }

    fn taken(&mut self, id: RequestId, sim: &mut Sim) {
        let kind = sim.request(id).kind;
        self.counts.reads_host += u64::from(kind == Kind::Read);
        self.counts.writes_host += u64::from(kind == Kind::Write);
        match kind {
            Kind::Read => self.read(id, sim),
            Kind::Write if self.writes_back => {
                self.blocked.push_back(id);
                self.make_room(sim);
            }
            Kind::Write => self.take_data(id, sim),
            Kind::Trim => self.trim(id, sim),
            Kind::Flush if self.cache.holds_below(self.cache.next) => {
                self.flushes.push((id, self.cache.next));
            }
            Kind::Flush => self.flush_members(id, sim),
            Kind::Compute => unreachable!("only hosts compute"),
        }
    }

    /// First byte and end of a request.
    fn range(id: RequestId, sim: &Sim) -> (u64, u64) {
        let request = sim.request(id);
        (request.offset, request.offset + u64::from(request.length))
    }

    /// Joins what the cache has at once, and forks the rest to the members.
    fn read(&mut self, id: RequestId, sim: &mut Sim) {
        let (first, end) = Raid::range(id, sim);
        let (mut had, mut asked, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for piece in self.cache.pieces(first, end) {
            if piece.place == Holder::Member && self.layout.parities > 0 && self.failed.contains(&true) {
                let (parts, degraded) = self.fork_degraded(id, (piece.first, piece.end), sim);
                asked.extend(parts);
                rows.extend(degraded);
                continue;
            }
            if piece.place == Holder::Member {
                self.fork(id, piece.first, piece.end, &mut asked, sim);
                continue;
            }
            let length = (piece.end - piece.first) as u32;
            let part = sim.fork(id, piece.first, length);
            sim.request_mut(part).stamp = match piece.place {
                Holder::Dirty(stamp) => stamp,
                _ => self.stamps.read(piece.first, length),
            };
            had.push(part);
        }
        let whole = had.into_iter().filter_map(|part| sim.join(part)).last();
        self.issue_all(&asked, sim);
        for (owner, plan) in rows {
            self.read_row(owner, plan, sim);
        }
        if let Some(id) = whole {
            self.give_data(id, sim);
        }
    }

    /// Forks a part of the request for each member that has some of these bytes: all copies but of a read.
    pub(super) fn fork(
        &mut self,
        id: RequestId,
        first: u64,
        end: u64,
        parts: &mut Vec<RequestId>,
        sim: &mut Sim,
    ) {
        let kind = sim.request(id).kind;
        for share in self.layout.shares(first, end - first) {
            for member in self.copies_of(&share, kind) {
                let part = sim.fork(id, share.offset, share.length as u32);
                Raid::address(part, member, HOST, sim);
                self.count(
                    kind,
                    false,
                    if kind == Kind::Read { Cause::HostReads } else { Cause::HostWrites },
                );
                parts.push(part);
            }
        }
    }

    /// Members that do this: one for a read, all that are there for the rest.
    fn copies_of(&mut self, share: &Share, kind: Kind) -> Vec<usize> {
        let copies = share.member..share.member + self.layout.copies as usize;
        if copies.len() > 1 && kind == Kind::Read {
            return vec![self.choose_copy(share.member, share.offset + share.length)];
        }
        copies.filter(|&member| !self.is_out(member, share.offset)).collect()
    }

    /// The copy, of those that have all until `end`, with the fewest I/Os in flight; those that are alike take turns.
    pub(super) fn choose_copy(&mut self, first: usize, end: u64) -> usize {
        let copies = self.layout.copies as usize;
        self.turn += 1;
        let mut all = (0..copies).map(|index| first + (self.turn + index) % copies).collect::<Vec<_>>();
        all.retain(|&member| !self.is_lost(member, end));
        all.into_iter().min_by_key(|&member| self.loads[member]).expect("a copy is left")
    }

    /// Says which member a request is for, and whose it is.
    pub(super) fn address(part: RequestId, member: usize, tag: u32, sim: &mut Sim) {
        let request = sim.request_mut(part);
        (request.scratch, request.user) = (member as u64, tag << MEMBER_BITS | member as u32);
    }

    pub(super) fn count(&mut self, kind: Kind, is_parity: bool, cause: Cause) {
        let counts = &mut self.counts;
        let counter = match (kind, cause, is_parity) {
            (Kind::Read, Cause::Rebuild, _) => &mut counts.reads_rebuild,
            (Kind::Write, Cause::Rebuild, _) => &mut counts.writes_rebuild,
            (Kind::Read, _, false) => &mut counts.reads_data,
            (Kind::Read, _, true) => &mut counts.reads_parity,
            (Kind::Write, _, false) => &mut counts.writes_data,
            (Kind::Write, _, true) => &mut counts.writes_parity,
            _ => return,
        };
        *counter += 1;
        counts.for_writes += u64::from(cause == Cause::HostWrites);
    }

    /// The adapter passes commands to members, whose numbers are in `scratch`.
    pub(super) fn issue_all(&mut self, parts: &[RequestId], sim: &mut Sim) {
        for &part in parts {
            self.loads[sim.request(part).scratch as usize] += 1;
            if self.member_command == 0 {
                self.issue(part, sim);
            } else {
                sim.wake_at(self.adapter.serve(sim.now(), self.member_command), token(ISSUE, part.0));
            }
        }
    }

    fn issue(&self, part: RequestId, sim: &mut Sim) {
        sim.spend(part, Stage::Controller);
        let member = sim.request(part).scratch as usize;
        sim.send(self.members[member], part);
    }

    /// Lets writes into the cache while there is room.
    fn make_room(&mut self, sim: &mut Sim) {
        while let Some(&id) = self.blocked.front()
            && self.cache.reserve(u64::from(sim.request(id).length))
        {
            self.blocked.pop_front();
            sim.spend(id, Stage::Buffer);
            self.take_data(id, sim);
        }
    }

    fn take_data(&mut self, id: RequestId, sim: &mut Sim) {
        match self.transfer(id, sim) {
            Some(finish) => sim.wake_at(finish, token(CAME, id.0)),
            None => self.data_came(id, sim),
        }
    }

    /// Moment at which the request's data are through the link, if that is limited.
    fn transfer(&mut self, id: RequestId, sim: &Sim) -> Option<Time> {
        let (link, pace) = self.link.as_mut()?;
        Some(link.serve(sim.now(), pace.time(u64::from(sim.request(id).length))))
    }

    fn data_came(&mut self, id: RequestId, sim: &mut Sim) {
        let ((first, end), stamp) = (Raid::range(id, sim), sim.request(id).stamp);
        self.stamps.keep(sim.request_mut(id));
        if self.writes_back {
            self.cache.write(first, end, stamp);
            self.complete(id, sim);
            return self.destage(sim);
        }
        self.cache.forget(first, end);
        if self.layout.parities > 0 {
            return self.write_rows(id, (first, end), sim);
        }
        let mut parts = Vec::new();
        self.fork(id, first, end, &mut parts, sim);
        self.issue_all(&parts, sim);
    }

    fn trim(&mut self, id: RequestId, sim: &mut Sim) {
        let (first, end) = Raid::range(id, sim);
        self.cache.forget(first, end);
        if self.cache.flies(first, end) {
            return self.held.push(id);
        }
        sim.spend(id, Stage::Buffer);
        self.stamps.keep(sim.request_mut(id));
        let mut parts = Vec::new();
        if self.layout.parities > 0 {
            self.fork_whole_rows(id, (first, end), &mut parts, sim);
        } else {
            self.fork(id, first, end, &mut parts, sim);
        }
        if parts.is_empty() {
            self.complete(id, sim);
        }
        self.issue_all(&parts, sim);
        self.make_room(sim);
    }

    /// Forks a trim: with parity only whole rows are trimmed, as md does; the rest stays as it is.
    fn fork_whole_rows(
        &mut self,
        id: RequestId,
        (first, end): (u64, u64),
        parts: &mut Vec<RequestId>,
        sim: &mut Sim,
    ) {
        let (row, unit) = (self.layout.row(), self.layout.unit);
        let (from, to) = (first.div_ceil(row), end / row);
        for member in
            (0..self.members.len()).filter(|&member| from < to && !self.is_out(member, to * unit - 1))
        {
            let part = sim.fork(id, from * unit, ((to - from) * unit) as u32);
            Raid::address(part, member, HOST, sim);
            parts.push(part);
        }
    }

    /// A flush goes to every member.
    fn flush_members(&mut self, id: RequestId, sim: &mut Sim) {
        sim.spend(id, Stage::Buffer);
        let there = |member: &usize| !self.failed[*member] || self.rebuild.is_some();
        let parts: Vec<_> = (0..self.members.len())
            .filter(there)
            .map(|member| {
                let part = sim.fork(id, 0, 0);
                Raid::address(part, member, HOST, sim);
                part
            })
            .collect();
        self.issue_all(&parts, sim);
    }

    /// Sends dirty runs to the members, as many at once as may be.
    fn destage(&mut self, sim: &mut Sim) {
        let row = (self.layout.parities > 0).then(|| self.layout.row());
        while let Some((slot, runs)) = self.cache.take_off(self.destages, row) {
            let run = runs[0];
            let Some(row) = row else {
                self.fly(slot, (run.first, run.end), run.stamp, sim);
                continue;
            };
            self.cache.departed(slot, 1);
            let owner = sim.spawn(Kind::Write, run.first, 0);
            sim.request_mut(owner).user = slot as u32 + 1;
            let pieces = runs.iter().map(|run| (run.first, run.end)).collect();
            self.lock(run.first / row, Wish { owner, pieces }, sim);
        }
    }

    fn fly(&mut self, slot: usize, (first, end): (u64, u64), stamp: u32, sim: &mut Sim) {
        let mut parts = Vec::new();
        for share in self.layout.shares(first, end - first) {
            for member in self.copies_of(&share, Kind::Write) {
                let part = sim.spawn(Kind::Write, share.offset, share.length as u32);
                sim.request_mut(part).stamp = stamp;
                Raid::address(part, member, FLIGHTS + slot as u32, sim);
                self.count(Kind::Write, false, Cause::HostWrites);
                parts.push(part);
            }
        }
        self.cache.departed(slot, parts.len());
        self.issue_all(&parts, sim);
    }

    fn landed(&mut self, slot: usize, sim: &mut Sim) {
        if !self.cache.landed(slot) {
            return;
        }
        for id in std::mem::take(&mut self.held) {
            self.trim(id, sim);
        }
        self.flush_what_is_due(sim);
        self.make_room(sim);
        self.destage(sim);
    }

    fn flush_what_is_due(&mut self, sim: &mut Sim) {
        let flushes = std::mem::take(&mut self.flushes);
        let (held, due) = flushes.into_iter().partition(|&(_, below)| self.cache.holds_below(below));
        self.flushes = held;
        let due: Vec<_> = due;
        for (id, _) in due {
            self.flush_members(id, sim);
        }
    }

    /// A request that an I/O of a row was for has what it wanted.
    pub(super) fn owner_ends(&mut self, owner: RequestId, sim: &mut Sim) {
        match sim.request(owner).user {
            0 => sim.join(owner).into_iter().for_each(|id| self.whole(id, sim)),
            REBUILDS => {
                sim.release(owner);
                self.rebuilt(sim);
            }
            slot => {
                sim.release(owner);
                self.landed(slot as usize - 1, sim);
            }
        }
    }

    /// All parts of a request are back.
    fn whole(&mut self, id: RequestId, sim: &mut Sim) {
        if sim.request(id).kind != Kind::Read {
            return self.complete(id, sim);
        }
        let (first, end) = Raid::range(id, sim);
        self.cache.remember(first, end);
        self.give_data(id, sim);
    }

    fn give_data(&mut self, id: RequestId, sim: &mut Sim) {
        if self.keeps_stamps {
            self.stamps.keep(sim.request_mut(id));
        }
        match self.transfer(id, sim) {
            Some(finish) => sim.wake_at(finish, token(GONE, id.0)),
            None => self.complete(id, sim),
        }
    }

    fn complete(&mut self, id: RequestId, sim: &mut Sim) {
        sim.finish(id);
        self.free += 1;
        self.admit(sim);
    }
}

impl Part for Raid {
    fn name(&self) -> &'static str {
        if self.counts.level.is_empty() { "raid0" } else { "raid" }
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        if self.rebuild.as_ref().is_some_and(|rebuild| rebuild.begun == 0) {
            self.rebuild_next(sim);
        }
        self.waiting.push_back(id);
        self.admit(sim);
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let id = RequestId(token & 0xff_ffff);
        match (token >> 24) as u8 {
            COMMAND => {
                sim.spend(id, Stage::Controller);
                self.taken(id, sim);
            }
            ISSUE => self.issue(id, sim),
            MIXED => {
                sim.spend(id, Stage::Controller);
                self.row_goes_on(id, sim);
            }
            REBUILD => self.rebuild_next(sim),
            CAME => {
                sim.spend(id, Stage::Link);
                self.data_came(id, sim);
            }
            _ => {
                sim.spend(id, Stage::Link);
                self.complete(id, sim);
            }
        }
    }

    fn returned(&mut self, part: RequestId, sim: &mut Sim) {
        let user = sim.request(part).user;
        self.loads[(user % (1 << MEMBER_BITS)) as usize] -= 1;
        match user >> MEMBER_BITS {
            HOST => sim.join(part).into_iter().for_each(|id| self.whole(id, sim)),
            ROW => sim.join(part).into_iter().for_each(|leader| self.row_goes_on(leader, sim)),
            flight => {
                sim.release(part);
                self.landed((flight - FLIGHTS) as usize, sim);
            }
        }
    }

    fn begin(&mut self, now: Time) {
        self.adapter.account.begin(now);
        if let Some((link, _)) = &mut self.link {
            link.account.begin(now);
        }
        if let Some((mixer, _)) = &mut self.rows.mixer {
            mixer.account.begin(now);
        }
        let RaidUse { level, members, failed, rebuilt, .. } = std::mem::take(&mut self.counts);
        self.counts = RaidUse { level, members, failed, rebuilt, ..RaidUse::default() };
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        if self.command > 0 || self.member_command > 0 {
            list.push(usage("adapter", [&self.adapter.account], now));
        }
        if let Some((link, _)) = &self.link {
            list.push(usage("adapter link", [&link.account], now));
        }
        if let Some((mixer, _)) = &self.rows.mixer {
            list.push(usage("parity", [&mixer.account], now));
        }
    }

    fn gauges(&self, list: &mut Vec<(&'static str, f64)>) {
        if self.writes_back {
            list.push(("buffered bytes", self.cache.used as f64));
        }
        if self.rebuild.is_some() {
            list.push(("rebuilt bytes", self.counts.rebuilt.0 as f64));
        }
    }

    fn raid(&self) -> Option<RaidUse> {
        (!self.counts.level.is_empty()).then(|| self.counts.clone())
    }

    fn shape(&self) -> Option<Shape> {
        Some(Shape { capacity: self.capacity, block: self.block })
    }
}
