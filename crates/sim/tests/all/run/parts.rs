//! Small parts whose behaviour is known in closed form.

use iostack_model::{Bytes, Job, Outcome, ResourceUse, Stage};
use iostack_sim::engine::{Account, Part, PartId, RequestId, Server, Shape, Sim, Time, World, usage};
use iostack_sim::run::{About, RunOptions, SimError, run, run_world};
use iostack_workload::{Rng, natural_log};

use crate::load::drive_of_latency;

/// Length of a service, ns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Service {
    Fixed(u64),
    Exponential(f64),
    /// One time in ten the second.
    Mixed(u64, u64),
    /// The number that whoever submitted it wrote into `Request::user`.
    Asked,
}

impl Service {
    pub(crate) fn draw(self, rng: &mut Rng) -> u64 {
        match self {
            Service::Fixed(ns) => ns,
            Service::Exponential(mean) => exponential(mean, rng),
            Service::Mixed(usual, rare) => [rare, usual][usize::from(rng.below(10) > 0)],
            Service::Asked => unreachable!("the request says it"),
        }
    }
}

/// Outcomes of jobs on a device that takes 10 us for each I/O.
pub(crate) fn try_jobs(jobs: &[Job]) -> Result<Vec<Outcome>, SimError> {
    run(&drive_of_latency("10us"), jobs, &RunOptions::seeded(1)).map(|ran| ran.outcomes)
}

/// Outcome of a job on these parts.
pub(crate) fn outcome_of(world: World, job: &Job) -> Outcome {
    let ran = run_world(world, &About::default(), std::slice::from_ref(job), &RunOptions::seeded(1));
    ran.expect("a sound job").outcomes.remove(0)
}

/// Exponential with this mean, to the nearest ns.
pub(crate) fn exponential(mean: f64, rng: &mut Rng) -> u64 {
    let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    (-natural_log(uniform) * mean + 0.5) as u64
}

pub(crate) const SHAPE: Shape = Shape { capacity: Bytes(1 << 40), block: Bytes(512) };

/// Several servers with one queue, first come, first served.
pub(crate) struct Station {
    name: &'static str,
    servers: Vec<Server>,
    service: Service,
    rng: Rng,
    /// Each request goes to a server by chance, and waits for that one.
    apart: bool,
    below: Option<PartId>,
}

impl Station {
    pub(crate) fn add(world: &mut World, servers: usize, service: Service, seed: u64) -> PartId {
        Station::add_named(world, "server", servers, service, (seed, false), None)
    }

    pub(crate) fn add_named(
        world: &mut World,
        name: &'static str,
        servers: usize,
        service: Service,
        (seed, apart): (u64, bool),
        below: Option<PartId>,
    ) -> PartId {
        let servers = vec![Server::default(); servers];
        let part = Station { name, servers, service, rng: Rng::from_seed(seed), apart, below };
        let id = world.add(Box::new(part));
        world.set_root(id);
        id
    }
}

impl Part for Station {
    fn name(&self) -> &str {
        self.name
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        let service = match self.service {
            Service::Asked => u64::from(sim.request(id).user),
            drawn => drawn.draw(&mut self.rng),
        };
        let index = if self.apart {
            self.rng.below(self.servers.len() as u64) as usize
        } else {
            let all = self.servers.iter().enumerate();
            all.min_by_key(|(_, server)| server.free_at()).map_or(0, |(index, _)| index)
        };
        let done = self.servers[index].serve(sim.now(), service);
        sim.wake_at(done, id.0);
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let id = RequestId(token);
        sim.spend(id, Stage::Die);
        match self.below {
            Some(below) => sim.send(below, id),
            None => sim.finish(id),
        }
    }

    fn begin(&mut self, now: Time) {
        self.servers.iter_mut().for_each(|server| server.account.begin(now));
    }

    fn resources(&self, now: Time, list: &mut Vec<ResourceUse>) {
        let accounts: Vec<&Account> = self.servers.iter().map(|server| &server.account).collect();
        list.push(usage(self.name, accounts, now));
    }

    fn shape(&self) -> Option<Shape> {
        Some(SHAPE)
    }
}

/// Answers late, and loses one request; or forgets data.
pub(crate) struct Faulty {
    /// This request is never answered.
    pub(crate) loses: Option<u64>,
    /// Reads bring this instead of what was written.
    pub(crate) brings: u32,
    pub(crate) seen: u64,
}

impl Part for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn arrive(&mut self, id: RequestId, sim: &mut Sim) {
        self.seen += 1;
        if self.loses != Some(self.seen) {
            sim.wake_at(sim.now() + 1000, id.0);
        }
    }

    fn wake(&mut self, token: u32, sim: &mut Sim) {
        let id = RequestId(token);
        sim.spend(id, Stage::Medium);
        sim.request_mut(id).stamp = self.brings;
        sim.finish(id);
    }

    fn shape(&self) -> Option<Shape> {
        Some(SHAPE)
    }
}
