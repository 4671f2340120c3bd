//! The way of a row of a parity array: read what its parity needs, compute, write. And the rebuild, row by row.
//!
//! ```text
//!   writes of a row ──► one under way, the others gather ──► reads ──► parity ──► writes ──► those that gathered, as one
//! ```
//!
//! The first of the requests that an I/O of a row is for leads it: the members' I/Os are parts of it.

use iostack_model::{Bytes, Stage};

use super::array::{MIXED, REBUILD, REBUILDS, ROW, Raid};
use super::layout::Share;
use super::plan::{ByteSpan, MemberIo, Plan, StripeRow};
use super::work::{Cause, RowIo, Wish};
use crate::engine::{Kind, RequestId, Sim, token};

impl Raid {
    /// True when a member has not these bytes, which end at `end`: of reads.
    pub(super) fn is_lost(&self, member: usize, end: u64) -> bool {
        self.failed[member]
            && end > self.rebuild.as_ref().map_or(0, |rebuild| rebuild.done) * self.layout.unit
    }

    /// True when a member takes no write that begins at `offset`.
    pub(super) fn is_out(&self, member: usize, offset: u64) -> bool {
        self.failed[member]
            && offset >= self.rebuild.as_ref().map_or(0, |rebuild| rebuild.begun) * self.layout.unit
    }

    fn row(&self, number: u64) -> StripeRow<'_> {
        let end = (number + 1) * self.layout.unit;
        let member = |column| self.layout.member(number, column);
        let columns = 0..self.layout.columns + self.layout.parities;
        let lost = columns.map(|column| self.is_lost(member(column), end)).collect();
        StripeRow { layout: &self.layout, number, lost }
    }

    /// Spans of these bytes by row.
    fn by_row(&self, first: u64, end: u64) -> impl Iterator<Item = (u64, ByteSpan)> + use<> {
        let row = self.layout.row();
        (first / row..end.div_ceil(row)).map(move |at| (at, (first.max(at * row), end.min((at + 1) * row))))
    }

    /// Writes the request's bytes, with parity.
    pub(super) fn write_rows(&mut self, id: RequestId, (first, end): ByteSpan, sim: &mut Sim) {
        let spans = self.by_row(first, end);
        let parts: Vec<_> = spans
            .map(|(row, (from, to))| (row, (from, to), sim.fork(id, from, (to - from) as u32)))
            .collect();
        for (row, span, owner) in parts {
            self.lock(row, Wish { owner, pieces: vec![span] }, sim);
        }
    }

    /// Begins what is wanted of a row once nothing else is under way there.
    pub(super) fn lock(&mut self, row: u64, wish: Wish, sim: &mut Sim) {
        if let Some(waiting) = self.rows.locks.get_mut(&row) {
            return waiting.push(wish);
        }
        self.rows.locks.insert(row, Vec::new());
        self.begin_locked(row, vec![wish], sim);
    }

    fn begin_locked(&mut self, row: u64, wishes: Vec<Wish>, sim: &mut Sim) {
        let pieces: Vec<ByteSpan> = wishes.iter().flat_map(|wish| wish.pieces.iter().copied()).collect();
        let (plan, cause) = match pieces.as_slice() {
            [] if self.layout.parities == 0 => (self.copy_row(row), Cause::Rebuild),
            [] => (self.row(row).rebuild(), Cause::Rebuild),
            some => (self.row(row).write(some), Cause::HostWrites),
        };
        if cause == Cause::HostWrites {
            self.counts.stripes_written += 1;
            let whole: u64 = pieces.iter().map(|(first, end)| end - first).sum();
            self.counts.stripes_full += u64::from(plan.reads.is_empty() && whole == self.layout.row());
        }
        let owners = wishes.into_iter().map(|wish| wish.owner).collect();
        self.begin_row(RowIo { owners, plan, locked: Some(row), cause }, sim);
    }

    /// Parts of a read of a member that failed, one for each row that has bytes of it; the rest is forked as ever.
    pub(super) fn fork_degraded(
        &mut self,
        id: RequestId,
        (first, end): ByteSpan,
        sim: &mut Sim,
    ) -> (Vec<RequestId>, Vec<(RequestId, Plan)>) {
        let (mut parts, mut rows) = (Vec::new(), Vec::new());
        for (number, (from, to)) in self.by_row(first, end) {
            match self.row(number).read(&[(from, to)]) {
                Some(plan) => rows.push((sim.fork(id, from, (to - from) as u32), plan)),
                None => self.fork(id, from, to, &mut parts, sim),
            }
        }
        (parts, rows)
    }

    /// Reads a row of which a member failed.
    pub(super) fn read_row(&mut self, owner: RequestId, plan: Plan, sim: &mut Sim) {
        self.begin_row(RowIo { owners: vec![owner], plan, locked: None, cause: Cause::HostReads }, sim);
    }

    fn begin_row(&mut self, io: RowIo, sim: &mut Sim) {
        let (leader, under_way) = (io.owners[0], &mut self.rows.under_way);
        let at = under_way.iter().position(Option::is_none).unwrap_or_else(|| {
            under_way.push(None);
            under_way.len() - 1
        });
        under_way[at] = Some(io);
        sim.spend(leader, Stage::Controller);
        sim.request_mut(leader).scratch = at as u64;
        self.row_goes_on(leader, sim);
    }

    /// The next step of the I/O that this request leads: its reads, its parity, its writes, its end.
    pub(super) fn row_goes_on(&mut self, leader: RequestId, sim: &mut Sim) {
        let at = sim.request(leader).scratch as usize;
        let io = self.rows.under_way[at].as_mut().expect("it is under way until its end");
        let cause = io.cause;
        let (kind, ios) = if !io.plan.reads.is_empty() {
            (Kind::Read, std::mem::take(&mut io.plan.reads))
        } else if let (1.., Some((mixer, pace))) = (io.plan.mixed, &mut self.rows.mixer) {
            let time = pace.time(std::mem::take(&mut io.plan.mixed));
            return sim.wake_at(mixer.serve(sim.now(), time), token(MIXED, leader.0));
        } else if !io.plan.writes.is_empty() {
            (Kind::Write, std::mem::take(&mut io.plan.writes))
        } else {
            return self.row_ends(at, sim);
        };
        let parts: Vec<_> = ios.iter().map(|io| self.row_part(leader, kind, io, cause, sim)).collect();
        self.issue_all(&parts, sim);
    }

    fn row_part(
        &mut self,
        leader: RequestId,
        kind: Kind,
        io: &MemberIo,
        cause: Cause,
        sim: &mut Sim,
    ) -> RequestId {
        let Share { member, offset, length } = io.share;
        let part = sim.fork(leader, offset, length as u32);
        sim.request_mut(part).kind = kind;
        Raid::address(part, member, ROW, sim);
        self.count(kind, io.is_parity, cause);
        part
    }

    fn row_ends(&mut self, at: usize, sim: &mut Sim) {
        let io = self.rows.under_way[at].take().expect("it was just found");
        for &owner in &io.owners {
            sim.spend(owner, Stage::Controller);
            self.owner_ends(owner, sim);
        }
        let Some(row) = io.locked else { return };
        let waiting = self.rows.locks.get_mut(&row).map(std::mem::take).unwrap_or_default();
        let Some(first) = waiting.first() else {
            self.rows.locks.remove(&row);
            return;
        };
        let rebuilds = first.pieces.is_empty();
        let (next, later) = waiting.into_iter().partition(|wish| wish.pieces.is_empty() == rebuilds);
        self.rows.locks.insert(row, later);
        self.begin_locked(row, next, sim);
    }

    /// A mirror's row is read from a copy that has it, and written to those that have not.
    fn copy_row(&mut self, row: u64) -> Plan {
        let (unit, mut plan) = (self.layout.unit, Plan::default());
        let (offset, copies) = (row * unit, self.layout.copies as usize);
        for first in (0..self.members.len()).step_by(copies) {
            let io = |member| MemberIo { share: Share { member, offset, length: unit }, is_parity: false };
            let lost: Vec<_> = (first..first + copies)
                .filter(|&member| self.is_lost(member, offset + unit))
                .map(io)
                .collect();
            if !lost.is_empty() {
                plan.reads.push(io(self.choose_copy(first, offset + unit)));
                plan.writes.extend(lost);
            }
        }
        plan
    }

    pub(super) fn rebuild_next(&mut self, sim: &mut Sim) {
        let Some(rebuild) = self.rebuild.as_mut().filter(|rebuild| rebuild.begun < rebuild.rows) else {
            return;
        };
        let row = rebuild.begun;
        (rebuild.begun, rebuild.since) = (row + 1, sim.now());
        let owner = sim.spawn(Kind::Write, 0, 0);
        sim.request_mut(owner).user = REBUILDS;
        self.lock(row, Wish { owner, pieces: Vec::new() }, sim);
    }

    pub(super) fn rebuilt(&mut self, sim: &mut Sim) {
        let rebuild = self.rebuild.as_mut().expect("it goes on");
        rebuild.done = rebuild.begun;
        self.counts.rebuilt = Bytes(rebuild.done * self.layout.unit);
        sim.wake_at(sim.now().max(rebuild.since + rebuild.pace), token(REBUILD, 0));
    }
}
