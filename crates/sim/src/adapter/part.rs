//! The way of a command through the adapter.

use std::collections::VecDeque;

use iostack_model::{ResourceUse, Stage};

use super::Hardware;
use crate::engine::{Kind, Part, PartId, RequestId, Server, Shape, Sim, Time, token, usage};

/// The firmware has taken a command; a read's data have gone up; completions have waited long enough.
const COMMAND: u8 = 0;
const UP: u8 = 1;
const TIMER: u8 = 2;

pub(crate) struct Adapter {
    hardware: Hardware,
    drives: Vec<PartId>,
    firmware: Server,
    uplink: Server,
    free: u64,
    waiting: VecDeque<RequestId>,
    /// Completions that wait for others.
    held: Vec<RequestId>,
    /// Number of the timer that counts.
    timer: u32,
}

impl Adapter {
    pub(crate) fn new(hardware: Hardware, drives: Vec<PartId>) -> Adapter {
        Adapter {
            free: hardware.tags,
            hardware,
            drives,
            firmware: Server::default(),
            uplink: Server::default(),
            waiting: VecDeque::new(),
            held: Vec::new(),
            timer: 0,
        }
    }

    fn start(&mut self, id: RequestId, sim: &mut Sim) {
        self.free -= 1;
        let Hardware { command, delay, uplink, .. } = &self.hardware;
        let mut through = self.firmware.serve(sim.now(), command.0) + delay.0;
        if let (Some(pace), Kind::Write) = (uplink, sim.request(id).kind) {
            through = through.max(self.uplink.serve(sim.now(), pace.time(u64::from(sim.request(id).length))));
        }
        if through == sim.now() {
            return self.taken(id, sim);
        }
        sim.wake_at(through, token(COMMAND, id.0));
    }

    fn taken(&mut self, id: RequestId, sim: &mut Sim) {
        sim.spend(id, Stage::Adapter);
        let drive = sim.request(id).scratch as usize;
        sim.send(self.drives[drive], id);
    }

    /// Its data are in memory: an interrupt now, or with others.
    fn through(&mut self, id: RequestId, sim: &mut Sim) {
        self.free += 1;
        if self.hardware.coalesce <= 1 {
            sim.spend(id, Stage::Adapter);
            sim.finish(id);
        } else {
            self.held.push(id);
            if self.held.len() >= self.hardware.coalesce {
                self.interrupt(sim);
            } else if self.held.len() == 1 {
                self.timer = (self.timer + 1) & 0xFF_FFFF;
                sim.wake_at(sim.now() + self.hardware.coalesce_time.0, token(TIMER, self.timer));
            }
        }
        if let Some(next) = self.waiting.pop_front() {
            self.start(next, sim);
        }
    }

    fn interrupt(&mut self, sim: &mut Sim) {
        for id in self.held.drain(..) {
            sim.spend(id, Stage::Adapter);
            sim.finish(id);
        }
        self.timer = (self.timer + 1) & 0xFF_FFFF;
    }
}

impl Part for Adapter {
    fn name(&self) -> &'static str {
        "adapter"
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        if self.free == 0 {
            return self.waiting.push_back(id);
        }
        self.start(id, sim);
    }

    fn returned(&mut self, id: RequestId, sim: &mut Sim) {
        if let (Some(pace), Kind::Read) = (&self.hardware.uplink, sim.request(id).kind) {
            let time = pace.time(u64::from(sim.request(id).length));
            let up = self.uplink.serve(sim.now(), time);
            return sim.wake_at(up, token(UP, id.0));
        }
        self.through(id, sim);
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let index = token & 0xFF_FFFF;
        match (token >> 24) as u8 {
            COMMAND => self.taken(RequestId(index), sim),
            UP => self.through(RequestId(index), sim),
            _ if index == self.timer && !self.held.is_empty() => self.interrupt(sim),
            _ => {}
        }
    }

    fn begin(&mut self, now: Time) {
        self.firmware.account.begin(now);
        self.uplink.account.begin(now);
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        if self.hardware.command.0 > 0 {
            list.push(usage("adapter", [&self.firmware.account], now));
        }
        if self.hardware.uplink.is_some() {
            list.push(usage("uplink", [&self.uplink.account], now));
        }
    }

    fn shape(&self) -> Option<Shape> {
        None
    }
}
