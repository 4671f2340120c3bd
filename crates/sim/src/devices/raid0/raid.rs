//! The way of a request through the adapter.

use std::collections::VecDeque;

use iostack_model::{Bytes, ResourceUse, Stage};

use super::super::parameter::Pace;
use super::cache::{Holder, RaidCache};
use super::layout::StripeLayout;
use crate::engine::{Kind, Part, PartId, RequestId, Server, Shape, Sim, Stamps, Time, token, usage};

/// The adapter has taken a command; it has one ready for a member; a write's data have come; a read's have gone.
const COMMAND: u8 = 0;
const ISSUE: u8 = 1;
const CAME: u8 = 2;
const GONE: u8 = 3;

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
        match sim.request(id).kind {
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
        let (mut had, mut asked) = (Vec::new(), Vec::new());
        for piece in self.cache.pieces(first, end) {
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
        if let Some(id) = whole {
            self.give_data(id, sim);
        }
    }

    /// Forks a part of the request for each member that has some of these bytes.
    fn fork(&self, id: RequestId, first: u64, end: u64, parts: &mut Vec<RequestId>, sim: &mut Sim) {
        for share in self.layout.shares(first, end - first) {
            let part = sim.fork(id, share.offset, share.length as u32);
            sim.request_mut(part).scratch = share.member as u64;
            parts.push(part);
        }
    }

    /// The adapter passes commands to members, whose numbers are in `scratch`.
    fn issue_all(&mut self, parts: &[RequestId], sim: &mut Sim) {
        for &part in parts {
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
        self.fork(id, first, end, &mut parts, sim);
        self.issue_all(&parts, sim);
        self.make_room(sim);
    }

    /// A flush goes to every member.
    fn flush_members(&mut self, id: RequestId, sim: &mut Sim) {
        sim.spend(id, Stage::Buffer);
        let parts: Vec<_> = (0..self.members.len() as u64)
            .map(|member| {
                let part = sim.fork(id, 0, 0);
                sim.request_mut(part).scratch = member;
                part
            })
            .collect();
        self.issue_all(&parts, sim);
    }

    /// Sends dirty runs to the members, as many at once as may be.
    fn destage(&mut self, sim: &mut Sim) {
        while let Some((slot, run)) = self.cache.take_off(self.destages) {
            let shares = self.layout.shares(run.first, run.end - run.first);
            self.cache.departed(slot, shares.len());
            let parts: Vec<_> = shares
                .iter()
                .map(|share| {
                    let part = sim.spawn(Kind::Write, share.offset, share.length as u32);
                    let request = sim.request_mut(part);
                    (request.stamp, request.scratch) = (run.stamp, share.member as u64);
                    // Whoever forks or spawns a request has its `user`: 0 in what was forked.
                    request.user = slot as u32 + 1;
                    part
                })
                .collect();
            self.issue_all(&parts, sim);
        }
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

    fn give_data(&mut self, id: RequestId, sim: &mut Sim) {
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
        "raid0"
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
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
        if let Some(slot) = sim.request(part).user.checked_sub(1) {
            sim.release(part);
            return self.landed(slot as usize, sim);
        }
        let Some(id) = sim.join(part) else { return };
        if sim.request(id).kind != Kind::Read {
            return self.complete(id, sim);
        }
        let (first, end) = Raid::range(id, sim);
        self.cache.remember(first, end);
        self.give_data(id, sim);
    }

    fn begin(&mut self, now: Time) {
        self.adapter.account.begin(now);
        if let Some((link, _)) = &mut self.link {
            link.account.begin(now);
        }
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        if self.command > 0 || self.member_command > 0 {
            list.push(usage("adapter", [&self.adapter.account], now));
        }
        if let Some((link, _)) = &self.link {
            list.push(usage("adapter link", [&link.account], now));
        }
    }

    fn gauges(&self, list: &mut Vec<(&'static str, f64)>) {
        if self.writes_back {
            list.push(("buffered bytes", self.cache.used as f64));
        }
    }

    fn shape(&self) -> Option<Shape> {
        Some(Shape { capacity: self.capacity, block: self.block })
    }
}
