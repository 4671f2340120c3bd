//! The way of a command through the adapter.

use std::collections::VecDeque;

use iostack_model::{ResourceUse, Stage};

use super::Hardware;
use crate::engine::{Kind, Part, PartId, RequestId, Server, Sim, Time, token, usage};

/// The firmware has taken a command; its drive has it; its transfer is set up; its data are over the port; they have gone
/// up; completions have waited long enough.
const COMMAND: u8 = 0;
const STATUS: u8 = 1;
const SETUP: u8 = 2;
const DATA: u8 = 3;
const UP: u8 = 4;
const TIMER: u8 = 5;

/// The bus to one drive.
#[derive(Clone, Debug, Default)]
struct Port {
    bus: Server,
    /// Commands that the drive may have still, and those who wait.
    free: u64,
    waiting: VecDeque<RequestId>,
}

#[derive(Default)]
pub(crate) struct Adapter {
    hardware: Hardware,
    drives: Vec<PartId>,
    ports: Vec<Port>,
    /// Drive of each request under way: what a drive is given may come back with another number in it.
    drive_of: Vec<u16>,
    firmware: Server,
    uplink: Server,
    free: u64,
    waiting: VecDeque<RequestId>,
    /// Completions that wait for others.
    held: Vec<RequestId>,
    /// Commands go to the drives at the moment they come.
    passes_at_once: bool,
    /// Number of the timer that counts.
    timer: u32,
}

impl Adapter {
    pub(crate) fn new(hardware: Hardware, drives: Vec<PartId>) -> Adapter {
        let port = Port { free: hardware.drive_tags.unwrap_or(u64::MAX), ..Port::default() };
        Adapter {
            free: hardware.tags.unwrap_or(u64::MAX),
            passes_at_once: hardware.is_transparent(),
            ports: vec![port; drives.len()],
            hardware,
            drives,
            ..Adapter::default()
        }
    }

    fn start(&mut self, id: RequestId, sim: &mut Sim) {
        self.free -= 1;
        if self.drive_of.len() <= id.0 as usize {
            self.drive_of.resize(id.0 as usize + 1, 0);
        }
        self.drive_of[id.0 as usize] = sim.request(id).scratch as u16;
        let Hardware { command, delay, flush, uplink, .. } = &self.hardware;
        let delay = flush.filter(|_| sim.request(id).kind == Kind::Flush).unwrap_or(*delay);
        let mut through = self.firmware.serve(sim.now(), command.0) + delay.0;
        if let (Some(pace), Kind::Write) = (uplink, sim.request(id).kind) {
            through = through.max(self.uplink.serve(sim.now(), pace.time(u64::from(sim.request(id).length))));
        }
        if through == sim.now() {
            return self.taken(id, sim);
        }
        sim.wake_at(through, token(COMMAND, id.0));
    }

    #[inline]
    fn port_of(&self, id: RequestId) -> usize {
        usize::from(self.drive_of[id.0 as usize])
    }

    fn taken(&mut self, id: RequestId, sim: &mut Sim) {
        let index = self.port_of(id);
        let port = &mut self.ports[index];
        if port.free == 0 {
            return port.waiting.push_back(id);
        }
        port.free -= 1;
        self.command(id, sim);
    }

    /// The command goes over the port; a write's data go with it.
    fn command(&mut self, id: RequestId, sim: &mut Sim) {
        let mut time = self.hardware.port_command.0;
        if sim.request(id).kind == Kind::Write {
            time += self.hardware.on_port(sim.request(id).length);
        }
        if time == 0 {
            return self.status(id, sim);
        }
        let index = self.port_of(id);
        let bus = &mut self.ports[index].bus;
        sim.wake_at(bus.serve(sim.now(), time), token(STATUS, id.0));
    }

    fn status(&mut self, id: RequestId, sim: &mut Sim) {
        sim.spend(id, Stage::Adapter);
        // An extended command stays one where nothing separates its requests.
        let followers = if self.passes_at_once { sim.request(id).followers } else { 0 };
        sim.send(self.drives[self.port_of(id)], id);
        sim.request_mut(id).followers = followers;
    }

    /// Set-up of a transfer, and time from the first byte of its data until all is through, ns.
    fn phases(&self, id: RequestId, sim: &Sim) -> (u64, u64) {
        let read = sim.request(id).kind == Kind::Read;
        let (setup, length) =
            if read { (self.hardware.port_setup.0, sim.request(id).length) } else { (0, 0) };
        (setup, self.hardware.on_port(length) + self.hardware.port_end.0)
    }

    /// The data go: that is the link's time.
    fn data(&mut self, id: RequestId, sim: &mut Sim) {
        sim.spend(id, Stage::Adapter);
        sim.wake_at(sim.now() + self.phases(id, sim).1, token(DATA, id.0));
    }

    /// The drive is through with it.
    fn over(&mut self, id: RequestId, sim: &mut Sim) {
        let index = self.port_of(id);
        let port = &mut self.ports[index];
        port.free += 1;
        if let Some(next) = port.waiting.pop_front() {
            port.free -= 1;
            self.command(next, sim);
        }
        if let (Some(pace), Kind::Read) = (&self.hardware.uplink, sim.request(id).kind) {
            let time = pace.time(u64::from(sim.request(id).length));
            let up = self.uplink.serve(sim.now(), time);
            return sim.wake_at(up, token(UP, id.0));
        }
        self.through(id, sim);
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

    /// The transfer is set up; the bus is the command's until its data are over.
    fn returned(&mut self, id: RequestId, sim: &mut Sim) {
        let (setup, data) = self.phases(id, sim);
        if setup + data == 0 {
            return self.over(id, sim);
        }
        let index = self.port_of(id);
        let end = self.ports[index].bus.serve(sim.now(), setup + data);
        sim.wake_at(end - data, token(SETUP, id.0));
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let index = token & 0xFF_FFFF;
        let id = RequestId(index);
        match (token >> 24) as u8 {
            COMMAND => self.taken(id, sim),
            STATUS => self.status(id, sim),
            SETUP => self.data(id, sim),
            DATA => {
                sim.spend(id, Stage::Link);
                self.over(id, sim);
            }
            UP => self.through(id, sim),
            _ if index == self.timer && !self.held.is_empty() => self.interrupt(sim),
            _ => {}
        }
    }

    fn begin(&mut self, now: Time) {
        self.firmware.account.begin(now);
        self.uplink.account.begin(now);
        self.ports.iter_mut().for_each(|port| port.bus.account.begin(now));
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        if self.hardware.command.0 > 0 {
            list.push(usage("adapter", [&self.firmware.account], now));
        }
        if self.hardware.has_ports() {
            list.push(usage("port", self.ports.iter().map(|port| &port.bus.account), now));
        }
        if self.hardware.uplink.is_some() {
            list.push(usage("uplink", [&self.uplink.account], now));
        }
    }
}
