//! What does a device do that has no parts that move and nothing to erase?
//!
//! ```text
//!   command queue ──► controller ──► bank ──► data      a read; of a write the data come first
//!      admit            c, once      access   x per page
//! ```
//!
//! Its commands may be *extended*: several requests, wherever their data lie, pay the fixed cost c once and end together.
//! A batch of b pages takes c + b x, so that batching gains at most (c + x) / x. Who makes the batches is a policy: a part of
//! the host hands them over with [`Sim::send_together`], or the device takes all that waits when it is free.
//!
//! With one command at a time nothing overlaps, as in the device of Shin's slides; with more, commands, banks and data do.

use std::collections::VecDeque;

use crate::sheet::{Sheet, SheetError};
use iostack_model::{Bytes, ResourceUse, Stage};

use super::parameter::{Pace, count_within, time_or, whole_bytes};
use crate::engine::{Kind, Part, PartId, RequestId, Server, Shape, Sim, Stamps, Time, World, token, usage};

/// A command's controller time is over; all its data have moved; a request's bank is through; a request's data have moved.
const COMMAND: u8 = 0;
const BATCH: u8 = 1;
const BANK: u8 = 2;
const DATA: u8 = 3;

/// A command in the device.
#[derive(Default)]
struct DramCommand {
    requests: Vec<RequestId>,
    /// Those that are not through.
    left: usize,
}

struct Dram {
    capacity: Bytes,
    command: u64,
    rate: Pace,
    page: u64,
    batch: usize,
    gathers: bool,
    /// Requests of a command end one by one.
    streams: bool,
    access: [u64; 2],
    controller: Server,
    banks: Vec<Server>,
    memory: Server,
    waiting: VecDeque<RequestId>,
    commands: Vec<DramCommand>,
    /// Places for commands that are free.
    free: Vec<u32>,
    stamps: Stamps,
}

pub(super) fn build(sheet: &Sheet, world: &mut World, _seed: u64) -> Result<PartId, SheetError> {
    let page = whole_bytes(sheet, "dram.page", 512)?;
    let queue_depth = count_within(sheet, "dram.queue_depth", 1, 65_536)? as u32;
    let banks = count_within(sheet, "dram.banks", 1, 4096)? as usize;
    let access = sheet.time("dram.access")?.0;
    let dram = Dram {
        capacity: Bytes(whole_bytes(sheet, "dram.capacity", 512)?),
        command: sheet.time("dram.command")?.0,
        rate: Pace::from_sheet(sheet, "dram.rate")?,
        page,
        batch: count_within(sheet, "dram.batch", 1, 65_536)? as usize,
        gathers: sheet.word("dram.gather")? == "device",
        streams: sheet.word("dram.completes")? == "request",
        access: [access, time_or(sheet, "dram.write_access", access)?],
        controller: Server::default(),
        banks: vec![Server::default(); banks],
        memory: Server::default(),
        waiting: VecDeque::new(),
        commands: (0..queue_depth).map(|_| DramCommand::default()).collect(),
        free: (0..queue_depth).rev().collect(),
        stamps: Stamps::of_device(&world.sim),
    };
    Ok(world.add(Box::new(dram)))
}

/// True when requests of this kind move data.
fn moves_data(kind: Kind) -> bool {
    matches!(kind, Kind::Read | Kind::Write)
}

impl Dram {
    /// Starts commands while there are places for them.
    fn start(&mut self, sim: &mut Sim) {
        while !self.waiting.is_empty()
            && let Some(place) = self.free.pop()
        {
            let mut requests = std::mem::take(&mut self.commands[place as usize].requests);
            self.take_command(&mut requests, sim);
            for &id in &requests {
                sim.spend(id, Stage::Admit);
                sim.request_mut(id).scratch = u64::from(place);
            }
            self.commands[place as usize] = DramCommand { left: requests.len(), requests };
            sim.wake_at(self.controller.serve(sim.now(), self.command), token(COMMAND, place));
        }
    }

    /// Takes the requests of the next command from those that wait.
    fn take_command(&mut self, requests: &mut Vec<RequestId>, sim: &Sim) {
        let first = self.waiting.pop_front().expect("something waits");
        let kind = sim.request(first).kind;
        requests.push(first);
        let limit = if moves_data(kind) { self.batch } else { 1 };
        if self.gathers {
            let mut index = 0;
            while requests.len() < limit && index < self.waiting.len() {
                if sim.request(self.waiting[index]).kind == kind {
                    requests.extend(self.waiting.remove(index));
                } else {
                    index += 1;
                }
            }
            return;
        }
        let mut followers = sim.request(first).followers;
        while requests.len() < limit && followers > 0 {
            let next = self.waiting.pop_front().expect("a request's followers arrive with it");
            assert!(sim.request(next).kind == kind, "requests that share a command are of one kind");
            requests.push(next);
            followers -= 1;
        }
    }

    /// The page of a byte.
    #[inline]
    fn page_of(&self, byte: u64) -> u64 {
        // Dividing 64 bits is slow.
        if self.page.is_power_of_two() { byte >> self.page.trailing_zeros() } else { byte / self.page }
    }

    /// Pages of a request: the first, and how many.
    #[inline]
    fn pages(&self, id: RequestId, sim: &Sim) -> (u64, u64) {
        let request = sim.request(id);
        let first = self.page_of(request.offset);
        (first, self.page_of(request.offset + u64::from(request.length) + self.page - 1) - first)
    }

    /// The data phase of a command, or of one request.
    #[inline]
    fn bytes(&self, id: RequestId, sim: &Sim) -> u64 {
        self.pages(id, sim).1 * self.page
    }

    /// The controller has taken the command.
    fn taken(&mut self, place: u32, sim: &mut Sim) {
        let now = sim.now();
        let requests = std::mem::take(&mut self.commands[place as usize].requests);
        for &id in &requests {
            sim.spend(id, Stage::Controller);
        }
        let kind = sim.request(requests[0]).kind;
        if !moves_data(kind) {
            self.commands[place as usize].requests = requests;
            return self.end(place, sim);
        }
        if self.access == [0, 0] && self.streams {
            for &id in &requests {
                self.go_to_memory(id, sim);
            }
        } else if self.access == [0, 0] {
            let bytes = requests.iter().map(|&id| self.bytes(id, sim)).sum();
            sim.wake_at(self.memory.serve(now, self.rate.time(bytes)), token(BATCH, place));
        } else {
            for &id in &requests {
                if kind == Kind::Read { self.go_to_bank(id, sim) } else { self.go_to_memory(id, sim) }
            }
        }
        self.commands[place as usize].requests = requests;
    }

    fn go_to_memory(&mut self, id: RequestId, sim: &mut Sim) {
        let time = self.rate.time(self.bytes(id, sim));
        sim.wake_at(self.memory.serve(sim.now(), time), token(DATA, id.0));
    }

    /// All pages of the request go to their banks; it goes on when the last is through.
    fn go_to_bank(&mut self, id: RequestId, sim: &mut Sim) {
        let access = self.access[usize::from(sim.request(id).kind == Kind::Write)];
        let (first, pages) = self.pages(id, sim);
        let banks = self.banks.len() as u64;
        let finish = (first..first + pages)
            .map(|page| self.banks[(page % banks) as usize].serve(sim.now(), access))
            .max();
        sim.wake_at(finish.expect("a request has pages"), token(BANK, id.0));
    }

    fn one_is_through(&mut self, id: RequestId, sim: &mut Sim) {
        let place = sim.request(id).scratch as u32;
        let command = &mut self.commands[place as usize];
        command.left -= 1;
        let is_last = command.left == 0;
        if !self.streams && is_last {
            self.end(place, sim);
        } else if self.streams {
            command.requests.retain(|&other| other != id);
            self.finish(id, sim);
            if is_last {
                self.free.push(place);
                self.start(sim);
            }
        }
    }

    fn finish(&mut self, id: RequestId, sim: &mut Sim) {
        sim.spend(id, Stage::Medium);
        self.stamps.keep(sim.request_mut(id));
        sim.finish(id);
    }

    /// The command is through, and all its requests with it.
    fn end(&mut self, place: u32, sim: &mut Sim) {
        let mut requests = std::mem::take(&mut self.commands[place as usize].requests);
        for id in requests.drain(..) {
            self.finish(id, sim);
        }
        self.commands[place as usize].requests = requests;
        self.free.push(place);
        self.start(sim);
    }
}

impl Part for Dram {
    fn name(&self) -> &'static str {
        "dram"
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        self.waiting.push_back(id);
        if sim.request(id).followers == 0 {
            self.start(sim);
        }
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let (kind, index) = ((token >> 24) as u8, token & 0xff_ffff);
        let id = RequestId(index);
        match kind {
            COMMAND => self.taken(index, sim),
            BATCH => self.end(index, sim),
            BANK => {
                let write = sim.request(id).kind == Kind::Write;
                let access = self.access[usize::from(write)];
                sim.spend_until(id, Stage::DieWait, sim.now() - access);
                sim.spend(id, Stage::Die);
                if write { self.one_is_through(id, sim) } else { self.go_to_memory(id, sim) }
            }
            _ => {
                sim.spend(id, Stage::Medium);
                let write = sim.request(id).kind == Kind::Write;
                if write && self.access != [0, 0] {
                    self.go_to_bank(id, sim);
                } else {
                    self.one_is_through(id, sim);
                }
            }
        }
    }

    fn begin(&mut self, now: Time) {
        let servers = [&mut self.controller, &mut self.memory].into_iter().chain(&mut self.banks);
        servers.for_each(|server| server.account.begin(now));
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        list.push(usage("controller", [&self.controller.account], now));
        if self.access != [0, 0] {
            list.push(usage("bank", self.banks.iter().map(|bank| &bank.account), now));
        }
        list.push(usage("dram", [&self.memory.account], now));
    }

    fn shape(&self) -> Option<Shape> {
        Some(Shape { capacity: self.capacity, block: Bytes(512) })
    }
}
