//! What does a die do next?
//!
//! Reads come first, unless what they overtake has let enough of them pass. Then what was suspended; collection that writes
//! wait for; pages of the buffer; and when nobody wants the die, collection in advance.

use iostack_model::Stage;

use super::buffer::{BufferedPage, NONE};
use super::die::Phase;
use super::mapping::Mapping;
use super::spec::PLANES_MAX;
use super::ssd::{DIE, LOADED, Ssd};
use super::work::{PAGE, spend};
use crate::engine::{RequestId, Sim, Time, token};
use crate::ftl::{Stream, Urgency};

impl Ssd {
    /// A phase of a die may have ended.
    #[inline]
    pub(super) fn phase_ended(&mut self, number: u32, sim: &mut Sim) {
        let die = &self.dies[number as usize];
        // What was suspended leaves its wake-up behind.
        if die.until != sim.now() {
            return;
        }
        match die.phase {
            Phase::Sensing => self.sensed(number, sim),
            Phase::Register => self.leave(number, sim),
            Phase::Programming if self.zones.is_none() => self.programmed(number, sim),
            Phase::Programming | Phase::Resetting => self.zone_worked(number, sim),
            Phase::MoveSensing | Phase::FoldSensing => self.pages_sensed(number, sim),
            Phase::MoveLeaving | Phase::FoldLeaving | Phase::Table => self.worked(number, sim),
            Phase::MoveProgramming | Phase::FoldProgramming => self.move_programmed(number, sim),
            Phase::Erasing => self.erased(number, sim),
            Phase::FoldErasing => self.fold_erased(number, sim),
            Phase::Suspending | Phase::Patrol => self.next(number, sim),
            Phase::Idle | Phase::Leaving => {}
        }
    }

    /// The die is free: gives it something to do.
    pub(super) fn next(&mut self, number: u32, sim: &mut Sim) {
        let die = &self.dies[number as usize];
        let idle = die.phase == Phase::Idle;
        if idle {
            self.idle.remove(die.rank);
        }
        if self.patrols(number, idle, sim) {
            return;
        }
        let die = &self.dies[number as usize];
        let reads = die.reads.0 != NONE;
        let quiet = self.buffer.used == 0 && !die.dirty && die.suspended.is_none();
        if quiet {
            if reads && self.start_reads(number, sim) {
                return;
            }
        } else if self.next_of_many(number, reads, sim) {
            return;
        }
        let die = &mut self.dies[number as usize];
        die.dirty = false;
        die.turn_to(Phase::Idle, sim.now());
        self.idle.add(die.rank);
    }

    fn next_of_many(&mut self, number: u32, reads: bool, sim: &mut Sim) -> bool {
        if reads && !self.yields(number) && self.start_reads(number, sim) {
            return true;
        }
        self.dies[number as usize].overtaken = 0;
        self.resume(number, sim)
            || self.keep_table(number, sim)
            || self.collects_first(number) && self.collect(number, sim)
            || self.program(number, sim)
            || self.start_reads(number, sim)
            || self.must_fold(number) && self.fold(number, sim)
            || self.collect(number, sim)
            || self.fold(number, sim)
    }

    /// True when reads let something else pass.
    fn yields(&mut self, number: u32) -> bool {
        let urgent = self.urgent(number);
        let queue = self.queue_at(number);
        let die = &self.dies[number as usize];
        if die.suspended.is_none() && !urgent && !self.waits(number, queue) {
            return false;
        }
        if self.spec.die.read_priority || die.suspended.is_some() {
            let yields = die.overtaken >= self.spec.die.overtake;
            self.dies[number as usize].overtaken += u32::from(!yields);
            return yields;
        }
        let (since, first) = (die.worked_at, die.reads.0);
        let since = match self.buffer.head(queue) {
            Some(page) if !urgent => self.buffer.page(page).since,
            _ => since,
        };
        since < self.slot(first).since
    }

    /// Something that is no read waits for the die.
    fn waits(&self, number: u32, queue: usize) -> bool {
        match &self.zones {
            Some(zones) => !zones.queues[number as usize].is_empty(),
            None => self.writable(queue),
        }
    }

    /// Writes wait for blocks of this die, and have used what collection has won for them.
    fn collects_first(&self, number: u32) -> bool {
        let waits = self.spec.level && self.dies[number as usize].collector.earned < PAGE;
        waits && self.urgent(number) && self.slc_room(number) == 0
    }

    /// Writes wait for blocks of this die.
    fn urgent(&self, number: u32) -> bool {
        let planes = self.layout.planes_of(number);
        planes.iter().any(|&plane| self.ftl.urgency(plane) == Urgency::Foreground)
    }

    /// The queue that a die takes pages from: of its streams, that with the most.
    pub(super) fn queue_at(&self, number: u32) -> usize {
        let streams = usize::from(self.spec.ftl.streams);
        let first = if self.spec.fixed { number as usize * streams } else { 0 };
        if streams == 1 {
            return first;
        }
        (first + 1..first + streams).fold(first, |most, other| {
            if self.buffer.ready(other) > self.buffer.ready(most) { other } else { most }
        })
    }

    /// The stream of a page of the buffer.
    fn stream_of(&mut self, page: u32) -> Stream {
        let BufferedPage { lpn, stream, .. } = *self.buffer.page(page);
        if self.spec.ftl.streams > 1 { Stream::Placed(stream) } else { self.ftl.temperature(lpn) }
    }

    /// Pages are issued when they fill a program, or when somebody waits for them.
    pub(super) fn writable(&self, queue: usize) -> bool {
        let ready = self.buffer.ready(queue);
        ready > 0 && (ready >= self.spec.group() || self.pressed())
    }

    fn pressed(&self) -> bool {
        !self.spec.early || !self.buffer.waiting.is_empty() || self.buffer.flushing()
    }

    /// A page is ready: to a die that is idle.
    pub(super) fn offer(&mut self, queue: usize, sim: &mut Sim) {
        if !self.spec.fixed {
            return self.dispatch(sim);
        }
        let die = queue / usize::from(self.spec.ftl.streams);
        if self.dies[die].phase == Phase::Idle && self.writable(queue) {
            self.next(die as u32, sim);
        }
    }

    /// Somebody waits for what is in the buffer.
    pub(super) fn press(&mut self, sim: &mut Sim) {
        if !self.spec.fixed {
            return self.dispatch(sim);
        }
        let mut rank = 0;
        while let Some(idle) = self.idle.from(rank) {
            rank = usize::from(idle) + 1;
            let number = u32::from(self.layout.order[usize::from(idle)]);
            if self.writable(self.queue_at(number)) {
                self.next(number, sim);
            }
        }
    }

    /// Gives pages to dies that are idle, in the order of allocation.
    fn dispatch(&mut self, sim: &mut Sim) {
        let mut rank = self.cursor;
        let mut again = true;
        while self.writable(self.queue_at(0)) {
            match self.idle.from(rank) {
                Some(idle) => {
                    rank = usize::from(idle) + 1;
                    self.next(u32::from(self.layout.order[usize::from(idle)]), sim);
                }
                None if again => (rank, again) = (0, false),
                None => return,
            }
        }
    }

    /// Programs pages of the buffer, if there are some and blocks have room.
    fn program(&mut self, number: u32, sim: &mut Sim) -> bool {
        if self.zones.is_some() {
            return self.zone_work(number, sim);
        }
        let queue = self.queue_at(number);
        if !self.writable(queue) || self.is_full(number) {
            return false;
        }
        let mut group = std::mem::take(&mut self.dies[number as usize].group);
        let mut cells = self.spec.die.cells;
        let cache = self.spec.slc;
        match cache {
            Some(slc) if self.fill_slc(number, queue, &mut group) => cells = slc.cells,
            Some(slc) if !slc.direct => {}
            _ => {
                if self.spec.fixed {
                    self.fill_fixed(queue, &mut group);
                } else {
                    self.fill(number, queue, &mut group);
                }
                self.dies[number as usize].collector.spend(group.len() as u32);
            }
        }
        let empty = group.is_empty();
        self.dies[number as usize].group = group;
        if empty {
            return false;
        }
        self.cursor = usize::from(self.dies[number as usize].rank) + 1;
        self.bring_next_near(queue);
        self.load(number, cells.program, sim);
        true
    }

    /// Asks for what the next program of a queue needs of the tables.
    fn bring_next_near(&self, queue: usize) {
        self.buffer.next_ones(queue, self.spec.group()).for_each(|lpn| self.ftl.bring_copy_near(lpn));
    }

    /// No plane of the die has room, whatever page comes: what collection is for, and so the case of most that ask.
    fn is_full(&self, number: u32) -> bool {
        let planes = self.layout.planes_of(number);
        self.spec.slc.is_none()
            && self.ftl.host_is_one()
            && planes.iter().all(|&plane| !self.ftl.room(plane, Stream::Host))
    }

    /// Pages of the queue for the die's log, as long as it has room: false when it has none.
    fn fill_slc(&mut self, number: u32, queue: usize, group: &mut Vec<u32>) -> bool {
        let room = self.slc_room(number).min(self.spec.group());
        let slc = self.slc.as_mut().expect("it was asked for");
        for _ in 0..room {
            let Some(page) = self.buffer.head(queue) else { break };
            self.buffer.issue(queue);
            let BufferedPage { lpn, stamp, .. } = *self.buffer.page(page);
            slc.write(number, lpn, stamp);
            self.counts.slc_written += 1;
            // What it replaces is of no use to the collector.
            self.ftl.trim(lpn);
            Mapping::note(&mut self.mapping, lpn);
            group.push(page);
        }
        if self.spec.slc.is_some_and(|spec| slc.room(number, self.ftl.mapped()) < spec.paced) {
            spend(&mut self.dies[number as usize].fold.earned, group.len() as u32);
        }
        room > 0
    }

    /// Pages of the queue for the planes of a die, as many as share a program.
    fn fill(&mut self, number: u32, queue: usize, group: &mut Vec<u32>) {
        let planes = self.layout.counts.planes;
        let turn = self.dies[number as usize].turn;
        let mut used = 0;
        for step in 0..planes {
            let plane = self.layout.planes_of(number)[((turn + step) % planes) as usize];
            let before = group.len();
            let mut stream = None;
            for _ in 0..self.spec.unit {
                let Some(page) = self.buffer.head(queue) else { break };
                // Pages of one flash page are of one stream.
                let wanted = self.stream_of(page);
                if *stream.get_or_insert(wanted) != wanted || !self.ftl.room(plane, wanted) {
                    break;
                }
                self.issue(queue, page, plane, wanted, group);
            }
            used = if group.len() > before { step + 1 } else { used };
            if !self.spec.die.writes_together && !group.is_empty() || self.buffer.ready(queue) == 0 {
                break;
            }
        }
        self.dies[number as usize].turn = (turn + used) % planes;
    }

    /// Pages whose addresses say that they belong to this die, as many as share a program.
    fn fill_fixed(&mut self, queue: usize, group: &mut Vec<u32>) {
        let mut taken = [(NONE, 0, Stream::Host); PLANES_MAX];
        while let Some(page) = self.buffer.head(queue) {
            let stream = self.stream_of(page);
            let plane = self.ftl.home(self.buffer.page(page).lpn);
            let at = taken.iter().position(|each| each.0 == plane || each.0 == NONE);
            let at = at.expect("no die has more planes");
            let another = taken[at].0 == NONE && at > 0 && !self.spec.die.writes_together;
            let other_stream = taken[at].1 > 0 && taken[at].2 != stream;
            let full = taken[at].1 == self.spec.unit || !self.ftl.room(plane, stream);
            if another || other_stream || full {
                return;
            }
            taken[at] = (plane, taken[at].1 + 1, stream);
            self.issue(queue, page, plane, stream, group);
        }
    }

    fn issue(&mut self, queue: usize, page: u32, plane: u32, stream: Stream, group: &mut Vec<u32>) {
        self.buffer.issue(queue);
        let (lpn, stamp) = (self.buffer.page(page).lpn, self.buffer.page(page).stamp);
        if let Some(slc) = &mut self.slc {
            slc.forget(lpn);
        }
        self.ftl.write(lpn, plane, stream, stamp);
        Mapping::note(&mut self.mapping, lpn);
        group.push(page);
    }

    /// The data of a group goes to the die, which then programs it.
    fn load(&mut self, number: u32, program: u64, sim: &mut Sim) {
        let die = &self.dies[number as usize];
        let (first, count) = (die.group[0], die.group.len() as u64);
        for at in 0..count as usize {
            let page = self.dies[number as usize].group[at];
            let mut owner = self.buffer.page(page).owners;
            while owner != NONE {
                self.charge_wait(RequestId(owner), Stage::DieWait, sim);
                owner = self.slot(owner).next;
            }
        }
        let loaded = self.transfer(number, count, sim.now());
        let since = self.buffer.page(first).since;
        self.work(number, Phase::Programming, loaded, program, since, sim);
        self.dies[number as usize].dirty = true;
        self.keep_up(sim);
    }

    /// So many pages go over the die's channel from now on: when they are there.
    #[inline]
    pub(super) fn transfer(&mut self, number: u32, pages: u64, now: Time) -> Time {
        let time = self.spec.channel.time(pages << self.spec.page_shift);
        self.channels[usize::from(self.dies[number as usize].channel)].serve(now, time)
    }

    /// The die starts a step that is no read: cells are at work from `from`, for `time`.
    pub(super) fn work(
        &mut self,
        number: u32,
        phase: Phase,
        from: u64,
        time: u64,
        since: u64,
        sim: &mut Sim,
    ) {
        let now = sim.now();
        let die = &mut self.dies[number as usize];
        die.turn_to(phase, now);
        (die.cells_from, die.until, die.suspensions) = (from, from + time, 0);
        die.account.book(since, now, die.until);
        sim.wake_at(die.until, token(DIE, number));
        self.meter.change(now, true, phase);
        self.heat_by(phase, now, time as f64);
    }

    /// It has ended.
    pub(super) fn ended(&mut self, number: u32, sim: &mut Sim) {
        let die = &mut self.dies[number as usize];
        die.worked_at = sim.now();
        let phase = die.phase;
        self.meter.change(sim.now(), false, phase);
    }

    /// It has ended, and nothing follows from it.
    pub(super) fn worked(&mut self, number: u32, sim: &mut Sim) {
        self.ended(number, sim);
        self.next(number, sim);
    }

    /// Pages of the buffer are programmed.
    fn programmed(&mut self, number: u32, sim: &mut Sim) {
        self.ended(number, sim);
        let mut group = std::mem::take(&mut self.dies[number as usize].group);
        let loaded = self.dies[number as usize].cells_from;
        for page in group.drain(..) {
            let mut owner = self.buffer.page(page).owners;
            while owner != NONE {
                let next = self.slot(owner).next;
                sim.spend_until(RequestId(owner), Stage::Channel, loaded);
                sim.spend(RequestId(owner), Stage::Die);
                self.complete(RequestId(owner), sim);
                owner = next;
            }
            self.buffer.release(page);
        }
        self.dies[number as usize].group = group;
        self.settle(sim);
        self.next(number, sim);
    }

    /// A read has come: interrupts what the die does, if it may.
    #[inline]
    pub(super) fn suspend(&mut self, number: u32, sim: &mut Sim) {
        let (now, spec) = (sim.now(), &self.spec.die);
        let die = &mut self.dies[number as usize];
        let may = match die.phase {
            Phase::Programming | Phase::MoveProgramming | Phase::FoldProgramming => spec.suspend_program,
            Phase::Erasing | Phase::FoldErasing | Phase::Resetting => spec.suspend_erase,
            _ => false,
        };
        if !may || die.overtaken >= spec.overtake || die.suspensions >= spec.suspend_most {
            return;
        }
        if now < die.cells_from {
            if !std::mem::replace(&mut die.asked, true) {
                sim.wake_at(die.cells_from, token(LOADED, number));
            }
            return;
        }
        // What is nearly done is not worth it.
        let left = die.until - now;
        if left <= spec.suspend_time {
            return;
        }
        let time = spec.suspend_time;
        die.account.cut(now);
        let phase = die.phase;
        die.suspended = Some((phase, left));
        die.suspensions += 1;
        self.ended(number, sim);
        self.heat_by(phase, now, -(left as f64));
        let die = &mut self.dies[number as usize];
        die.turn_to(Phase::Suspending, now);
        die.until = now + time;
        die.account.book(now, now, die.until);
        sim.wake_at(die.until, token(DIE, number));
    }

    /// The data of a program is in the die.
    pub(super) fn loaded(&mut self, number: u32, sim: &mut Sim) {
        let die = &mut self.dies[number as usize];
        die.asked = false;
        if die.reads.0 != NONE {
            self.suspend(number, sim);
        }
    }

    /// Goes on with what was interrupted.
    fn resume(&mut self, number: u32, sim: &mut Sim) -> bool {
        let die = &mut self.dies[number as usize];
        let Some((phase, left)) = die.suspended.take() else { return false };
        let (from, suspensions) = (die.cells_from, die.suspensions);
        self.work(number, phase, sim.now(), left, sim.now(), sim);
        let die = &mut self.dies[number as usize];
        (die.cells_from, die.suspensions) = (from, suspensions);
        true
    }
}
