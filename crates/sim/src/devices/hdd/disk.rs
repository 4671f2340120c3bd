//! The way of a command through the disk.
//!
//! ```text
//!   admit ──► controller ──► read: cache? ──► arm: seek, rotate, medium ──► link
//!                            write: buffer? ──► link ──► acknowledged, the arm later; or the arm, then acknowledged
//!                                                         (`hdd.write_overlap`: the arm moves while the link works)
//! ```

use std::collections::VecDeque;

use iostack_model::{Bytes, ResourceUse, Stage};

use super::super::parameter::Pace;
use super::arm::{Ahead, Arm, Passage};
use super::cache::{Dirty, DirtyRun, Segments};
use super::order::{ArmJob, ArmOrder, ArmPurpose};
use super::smr::Shingled;
use crate::engine::{Kind, Part, RequestId, Server, Shape, Sim, Stamps, Time, token, usage};

/// The controller has taken a command; a write's data have come; a read's data have gone; the arm is through.
const COMMAND: u8 = 0;
const CAME: u8 = 1;
const GONE: u8 = 2;
const ARM: u8 = 3;
/// There was nothing to do for a while.
const IDLE: u8 = 4;

/// Memory for writes.
#[derive(Default)]
pub(super) struct WriteCache {
    /// Sectors it holds, and of those taken.
    pub(super) size: u64,
    pub(super) used: u64,
    pub(super) dirty: Dirty,
    /// Writes that wait for room.
    pub(super) blocked: VecDeque<RequestId>,
    /// Flushes under way.
    pub(super) flushes: Vec<PendingFlush>,
}

/// All runs below a number must be on the platter; how many are not.
pub(super) struct PendingFlush {
    id: RequestId,
    below: u64,
    left: usize,
}

pub(super) struct Disk {
    pub(super) capacity: Bytes,
    pub(super) sector: u64,
    /// Controller times: of reads (and all else), of writes.
    pub(super) overhead: [u64; 2],
    /// The same where a cache has the data, or takes them.
    pub(super) hit_overhead: [u64; 2],
    pub(super) controller: Server,
    pub(super) link: Server,
    pub(super) pace: Pace,
    /// The arm moves while a write's data come.
    pub(super) overlaps: bool,
    /// Places in the command queue that are free, and who waits for one.
    pub(super) free: u64,
    pub(super) waiting: VecDeque<RequestId>,
    pub(super) arm: Arm,
    pub(super) jobs: Vec<ArmJob>,
    /// Job of the arm, its start, and its way.
    pub(super) current: Option<(ArmJob, Time, Passage)>,
    pub(super) order: ArmOrder,
    pub(super) age_limit: u64,
    pub(super) up: bool,
    pub(super) segments: Segments,
    /// Sectors that are read ahead.
    pub(super) read_ahead: u64,
    pub(super) buffer: WriteCache,
    pub(super) shingled: Option<Shingled>,
    pub(super) stamps: Stamps,
}

impl Disk {
    fn admit(&mut self, sim: &mut Sim) {
        while self.free > 0
            && let Some(id) = self.waiting.pop_front()
        {
            self.free -= 1;
            sim.spend(id, Stage::Admit);
            let overhead = self.overhead_of(id, sim);
            sim.wake_at(self.controller.serve(sim.now(), overhead), token(COMMAND, id.0));
        }
    }

    fn overhead_of(&mut self, id: RequestId, sim: &Sim) -> u64 {
        let kind = sim.request(id).kind;
        let index = usize::from(kind == Kind::Write);
        let [miss, hit] = [self.overhead, self.hit_overhead].map(|times| times[index]);
        let is_hit = miss != hit
            && match kind {
                Kind::Read => {
                    let (first, count) = self.sectors(id, sim);
                    self.catch_up(sim.now());
                    self.remembers(first, first + count)
                }
                Kind::Write => self.is_buffered(id, sim),
                _ => false,
            };
        if is_hit { hit } else { miss }
    }

    /// First sector and number of sectors of a request.
    fn sectors(&self, id: RequestId, sim: &Sim) -> (u64, u64) {
        let request = sim.request(id);
        let first = request.offset / self.sector;
        let last = (request.offset + u64::from(request.length)).div_ceil(self.sector);
        (first, last - first)
    }

    fn taken(&mut self, id: RequestId, sim: &mut Sim) {
        sim.spend(id, Stage::Controller);
        match sim.request(id).kind {
            Kind::Read => self.look_up(id, sim),
            Kind::Write if self.is_buffered(id, sim) => {
                self.buffer.blocked.push_back(id);
                self.make_room(sim);
            }
            Kind::Write if self.overlaps => {
                let data = self.link.serve(sim.now(), self.pace.time(u64::from(sim.request(id).length)));
                self.ask_arm(ArmPurpose::Write(id), data, sim);
            }
            Kind::Write => self.take_data(id, sim),
            Kind::Trim => self.complete(id, sim),
            Kind::Compute => unreachable!("only hosts compute"),
            Kind::Flush => {
                let is_destage =
                    |(job, ..): &&(ArmJob, Time, Passage)| matches!(job.what, ArmPurpose::Destage(_));
                let left = self.buffer.dirty.len() + self.current.iter().filter(is_destage).count();
                if left == 0 {
                    self.complete(id, sim);
                } else {
                    self.buffer.flushes.push(PendingFlush { id, below: self.buffer.dirty.next, left });
                }
            }
        }
        self.work(sim);
    }

    fn is_buffered(&self, id: RequestId, sim: &Sim) -> bool {
        self.sectors(id, sim).1 <= self.buffer.size
    }

    /// Lets writes into the buffer while there is room.
    fn make_room(&mut self, sim: &mut Sim) {
        while let Some(&id) = self.buffer.blocked.front() {
            let (_, count) = self.sectors(id, sim);
            if self.buffer.used + count > self.buffer.size {
                return;
            }
            self.buffer.blocked.pop_front();
            self.buffer.used += count;
            sim.spend(id, Stage::Buffer);
            self.take_data(id, sim);
        }
    }

    fn take_data(&mut self, id: RequestId, sim: &mut Sim) {
        let time = self.pace.time(u64::from(sim.request(id).length));
        sim.wake_at(self.link.serve(sim.now(), time), token(CAME, id.0));
    }

    fn data_came(&mut self, id: RequestId, sim: &mut Sim) {
        sim.spend(id, Stage::Link);
        let ((first, count), now) = (self.sectors(id, sim), sim.now());
        if self.is_buffered(id, sim) {
            self.buffer.used -= self.buffer.dirty.insert(first, count, now);
            self.complete(id, sim);
            self.make_room(sim);
        } else {
            self.ask_arm(ArmPurpose::Write(id), now, sim);
        }
        self.work(sim);
    }

    /// A request waits for the arm from now on.
    fn ask_arm(&mut self, what: ArmPurpose, data: Time, sim: &Sim) {
        let (ArmPurpose::Read(id) | ArmPurpose::Write(id)) = what else { unreachable!("nobody asked") };
        let (first, count) = self.sectors(id, sim);
        self.jobs.push(ArmJob { what, first, count, at: first, since: sim.now(), data });
    }

    /// A read is answered by what the disk remembers, or waits for the arm.
    fn look_up(&mut self, id: RequestId, sim: &mut Sim) {
        let (first, count) = self.sectors(id, sim);
        self.catch_up(sim.now());
        if self.remembers(first, first + count) {
            // Only of the stream that is read on: a hit far behind its end would have all between read.
            let follows = |ahead: Ahead| first <= ahead.next && self.segments.has(first, ahead.next);
            if self.arm.ahead.is_some_and(follows) {
                let limit = first + count + self.read_ahead;
                let limit = self.shingled.as_ref().map_or(limit, |smr| smr.ahead(first + count, limit));
                self.arm.read_further(sim.now(), limit);
            }
            return self.give_data(id, 0, sim);
        }
        self.ask_arm(ArmPurpose::Read(id), 0, sim);
    }

    fn remembers(&mut self, first: u64, last: u64) -> bool {
        self.segments.has(first, last) || self.buffer.dirty.has(first, last)
    }

    /// Remembers what was read ahead until now.
    fn catch_up(&mut self, now: Time) {
        let before = self.arm.ahead;
        if let (Some(before), Some(after)) = (before, self.arm.catch_up(now))
            && after.next > before.next
        {
            self.segments.read(before.next, after.next);
        }
    }

    /// Data go to the host; what the link could pass on during `meanwhile` has gone already, except for a sector.
    fn give_data(&mut self, id: RequestId, meanwhile: u64, sim: &mut Sim) {
        let whole = self.pace.time(u64::from(sim.request(id).length));
        let time = whole.saturating_sub(meanwhile).max(self.pace.time(self.sector).min(whole));
        sim.wake_at(self.link.serve(sim.now(), time), token(GONE, id.0));
    }

    /// Gives the arm something to do, if it is idle and there is something.
    fn work(&mut self, sim: &mut Sim) {
        while self.current.is_none() {
            self.catch_up(sim.now());
            let Some(job) = self.next_job(sim.now()) else { return self.rest(sim) };
            if let ArmPurpose::Read(id) = job.what
                && self.remembers(job.first, job.last())
            {
                sim.spend(id, Stage::ArmWait);
                self.give_data(id, 0, sim);
                continue;
            }
            let passage = self.serve(&job, sim.now());
            self.begin_job(job, passage, sim);
        }
    }

    fn begin_job(&mut self, job: ArmJob, passage: Passage, sim: &mut Sim) {
        self.current = Some((job, sim.now(), passage));
        sim.wake_at(passage.end, token(ARM, 0));
    }

    /// Nothing waits for the arm: bands are cleaned when that lasts.
    fn rest(&mut self, sim: &mut Sim) {
        let now = sim.now();
        let Some(shingled) = &mut self.shingled else { return };
        let Some(idle) = shingled.idle else { return };
        if shingled.due == Time::MAX {
            shingled.due = now + idle;
            if !shingled.is_clean() {
                sim.wake_at(shingled.due, token(IDLE, 0));
            }
        } else if shingled.due <= now
            && let Some(passes) = shingled.clean()
        {
            self.arm.ahead = None;
            let passage = self.arm.serve_all(now, now, &passes, now);
            let job = ArmJob { what: ArmPurpose::Clean, first: 0, count: 0, at: 0, since: now, data: now };
            self.begin_job(job, passage, sim);
        }
    }

    fn serve(&mut self, job: &ArmJob, now: Time) -> Passage {
        if let Some(shingled) = &mut self.shingled {
            shingled.due = Time::MAX;
            let [cleaning, own] = match job.data() {
                Some(_) => shingled.write(job.first, job.count),
                None => [Vec::new(), shingled.read(job.first, job.count)],
            };
            if job.data().is_some() || own.len() > 1 || own[0].first != job.first {
                self.arm.ahead = None;
                let cleaned = self.arm.serve_all(now, now, &cleaning, now).end - now;
                let passage = self.arm.serve_all(job.since, now + cleaned, &own, job.data);
                return Passage { cleaned, ..passage };
            }
        }
        if let (ArmPurpose::Read(_), Some(ahead)) = (job.what, self.arm.ahead) {
            let joins = job.first >= ahead.next || self.segments.has(job.first, ahead.next);
            if joins && job.first <= ahead.limit && ahead.next < ahead.limit {
                return self.arm.serve_reading_on(job.since, now, job.last());
            }
        }
        self.arm.ahead = None;
        self.arm.serve(job.since, now, (job.first, job.count), job.data())
    }

    /// Commands go before the write cache, unless somebody waits for that.
    fn next_job(&mut self, now: Time) -> Option<ArmJob> {
        let oldest = self.jobs.first().filter(|job| now - job.since >= self.age_limit);
        if oldest.is_some() {
            return Some(self.jobs.remove(0));
        }
        let urgent = !self.buffer.blocked.is_empty() || !self.buffer.flushes.is_empty();
        let mut candidates = self.jobs.clone();
        if self.jobs.is_empty() || urgent {
            let runs = self.buffer.dirty.sweep(self.arm.past, self.order.window());
            candidates.extend(runs.map(|(first, run)| {
                let DirtyRun { count, since, number } = run;
                ArmJob { what: ArmPurpose::Destage(number), first, count, at: first, since, data: since }
            }));
        }
        if let Some(shingled) = &self.shingled {
            for job in &mut candidates {
                job.at = shingled.place(job.first, job.data().is_some());
            }
        }
        let index = self.order.next(candidates.iter(), &self.arm, now, &mut self.up)?;
        if index < self.jobs.len() {
            return Some(self.jobs.remove(index));
        }
        self.buffer.dirty.remove(candidates[index].first);
        Some(candidates[index])
    }

    fn arm_is_through(&mut self, sim: &mut Sim) {
        let (job, start, way) = self.current.take().expect("the arm was at work");
        let begins = start + way.cleaned;
        let there = begins + way.moved + way.waited;
        let ready = there + way.turned;
        if let ArmPurpose::Read(id) | ArmPurpose::Write(id) = job.what {
            sim.spend_until(id, Stage::ArmWait, start);
            sim.spend_until(id, Stage::Collect, begins);
            sim.spend_until(id, Stage::Seek, begins + way.moved);
            sim.spend_until(id, Stage::Link, there);
            sim.spend_until(id, Stage::Rotate, ready);
            sim.spend(id, Stage::Medium);
        }
        match job.what {
            ArmPurpose::Read(id) => {
                self.segments.read(job.first, job.last());
                let limit = job.last() + self.read_ahead;
                let limit = self.shingled.as_ref().map_or(limit, |smr| smr.ahead(job.last(), limit));
                self.arm.read_on(sim.now(), job.last(), limit);
                self.give_data(id, way.end - ready, sim);
            }
            ArmPurpose::Write(id) => self.complete(id, sim),
            ArmPurpose::Destage(number) => self.destaged(number, job.count, sim),
            ArmPurpose::Clean => {}
        }
        self.work(sim);
    }

    fn destaged(&mut self, number: u64, count: u64, sim: &mut Sim) {
        self.buffer.used -= count;
        let mut flushes = std::mem::take(&mut self.buffer.flushes);
        for flush in flushes.iter_mut().filter(|flush| number < flush.below) {
            flush.left -= 1;
        }
        for done in flushes.extract_if(.., |flush| flush.left == 0) {
            sim.spend(done.id, Stage::Buffer);
            self.complete(done.id, sim);
        }
        self.buffer.flushes = flushes;
        self.make_room(sim);
    }

    fn complete(&mut self, id: RequestId, sim: &mut Sim) {
        self.stamps.keep(sim.request_mut(id));
        sim.finish(id);
        self.free += 1;
        self.admit(sim);
    }
}

impl Part for Disk {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        self.waiting.push_back(id);
        self.admit(sim);
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let id = RequestId(token & 0xff_ffff);
        match (token >> 24) as u8 {
            COMMAND => self.taken(id, sim),
            CAME => self.data_came(id, sim),
            GONE => {
                sim.spend(id, Stage::Link);
                self.complete(id, sim);
            }
            IDLE => self.work(sim),
            _ => self.arm_is_through(sim),
        }
    }

    fn begin(&mut self, now: Time) {
        self.catch_up(now);
        if let Some(shingled) = &mut self.shingled {
            shingled.written = [0; 2];
        }
        for server in [&mut self.controller, &mut self.link, &mut self.arm.server] {
            server.account.begin(now);
        }
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        // Reading ahead is booked when it is looked at; this look must not change anything.
        let mut arm = self.arm.clone();
        arm.catch_up(now);
        list.push(usage("controller", [&self.controller.account], now));
        list.push(usage("arm", [&arm.server.account], now));
        list.push(usage("link", [&self.link.account], now));
    }

    fn gauges(&self, list: &mut Vec<(&'static str, f64)>) {
        if self.buffer.size > 0 {
            list.push(("buffered bytes", (self.buffer.used * self.sector) as f64));
        }
        if let Some(shingled) = &self.shingled {
            list.push(("media cache bytes", (shingled.used() * self.sector) as f64));
            list.push(("write amplification", shingled.amplification()));
        }
    }

    fn shape(&self) -> Option<Shape> {
        Some(Shape { capacity: self.capacity, block: Bytes(self.sector.max(512)) })
    }
}
