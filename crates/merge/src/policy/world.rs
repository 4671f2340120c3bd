//! What does the rule make of callers and a device, in virtual time?
//!
//! One thread plays all callers; the line and the rule are the library's own. For tests: no clock, a seed, the same result each time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::lineup::{Lineup, Load};
use super::queue::BatchRule;

#[derive(Clone, Copy, Debug)]
pub(super) enum Machine {
    /// One command at a time, each c + b x ns.
    Serial { fixed_ns: u64, each_ns: u64 },
    /// Commands do not hinder each other; each takes c + b x ns.
    Parallel { fixed_ns: u64, each_ns: u64 },
}

/// Callers that come back as soon as they can.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowd {
    pub(super) callers: usize,
    /// The winner is back after so long, ns; who sleeps, after this and up to twice `wake_ns`.
    pub(super) think_ns: u64,
    pub(super) wake_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CrowdEvent {
    Comes(usize),
    Wakes(usize),
    Ends(usize),
    Looks,
}

#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) ns: u64,
    pub(super) requests: u64,
    pub(super) batches: u64,
    /// The longest that a batch which could go was held back, ns.
    pub(super) held_ns_max: u64,
}

pub(super) struct CrowdWorld<R> {
    lineup: Lineup<usize>,
    rule: R,
    machine: Machine,
    crowd: Crowd,
    now: u64,
    events: BinaryHeap<Reverse<(u64, CrowdEvent)>>,
    tickets: Vec<u64>,
    batches: Vec<(u64, Vec<usize>)>,
    /// Leader, and since when.
    leader: Option<(usize, u64)>,
    free_at: u64,
    seed: u64,
    outcome: Outcome,
}

impl<R: BatchRule> CrowdWorld<R> {
    pub(super) fn new(rule: R, machine: Machine, crowd: Crowd, batch_max: usize) -> CrowdWorld<R> {
        let first =
            (0..crowd.callers).map(|caller| Reverse((caller as u64 * 100, CrowdEvent::Comes(caller))));
        CrowdWorld {
            lineup: Lineup::new(1, batch_max),
            rule,
            machine,
            crowd,
            now: 0,
            events: first.collect(),
            tickets: vec![u64::MAX; crowd.callers],
            batches: Vec::new(),
            leader: None,
            free_at: 0,
            seed: 1,
            outcome: Outcome::default(),
        }
    }

    /// Runs on until so many requests more are through.
    pub(super) fn run(&mut self, requests: u64) -> Outcome {
        let began = self.now;
        self.outcome = Outcome::default();
        while self.outcome.requests < requests {
            let Reverse((at, event)) = self.events.pop().expect("somebody was left behind");
            self.now = at;
            match event {
                CrowdEvent::Comes(caller) => self.come(caller),
                CrowdEvent::Wakes(caller) => self.lead(caller),
                CrowdEvent::Ends(batch) => self.end(batch),
                CrowdEvent::Looks => {}
            }
            self.look();
        }
        self.outcome.ns = self.now - began;
        std::mem::take(&mut self.outcome)
    }

    fn at(&mut self, ns: u64, event: CrowdEvent) {
        self.events.push(Reverse((self.now + ns, event)));
    }

    fn random(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % below.max(1)
    }

    fn come(&mut self, caller: usize) {
        self.rule.came(self.now);
        if self.lineup.is_clear() && self.rule.hold(self.now, 1, self.lineup.batch_max).is_none() {
            let load = self.lineup.go_alone(caller).expect("it was clear");
            self.go(load, caller);
            return;
        }
        self.tickets[caller] = self.lineup.push(caller);
        self.lead(caller);
    }

    fn lead(&mut self, caller: usize) {
        if self.lineup.lead(self.tickets[caller]) {
            self.leader = Some((caller, self.now));
        }
    }

    /// The leader looks whether to go.
    fn look(&mut self) {
        let Some((caller, since)) = self.leader else { return };
        if let Some(left) = self.rule.hold(self.now, self.lineup.waiting(), self.lineup.batch_max) {
            self.at(left.as_nanos() as u64 + 1, CrowdEvent::Looks);
            return;
        }
        self.leader = None;
        self.outcome.held_ns_max = self.outcome.held_ns_max.max(self.now - since);
        let load = self.lineup.go();
        self.go(load, caller);
        self.wake_heir();
    }

    fn go(&mut self, mut load: Load<usize>, winner: usize) {
        let mut batch: Vec<usize> = load.drain().collect();
        // The first is the one that need not be woken.
        batch.sort_by_key(|&caller| caller != winner);
        self.rule.goes(batch.len(), self.lineup.active());
        let requests = batch.len() as u64;
        let end = match self.machine {
            Machine::Serial { fixed_ns, each_ns } => {
                self.free_at = self.free_at.max(self.now) + fixed_ns + requests * each_ns;
                self.free_at
            }
            Machine::Parallel { fixed_ns, each_ns } => self.now + fixed_ns + requests * each_ns,
        };
        self.batches.push((self.now, batch));
        self.at(end - self.now, CrowdEvent::Ends(self.batches.len() - 1));
    }

    fn end(&mut self, batch: usize) {
        let (since, batch) = std::mem::take(&mut self.batches[batch]);
        self.lineup.leave();
        if let Some(active_max) = self.rule.served(self.now, since, batch.len()) {
            self.lineup.active_max = active_max;
        }
        self.outcome.requests += batch.len() as u64;
        self.outcome.batches += 1;
        for (place, caller) in batch.into_iter().enumerate() {
            let woken = if place == 0 { 0 } else { self.crowd.wake_ns + self.random(self.crowd.wake_ns) };
            self.at(woken + self.crowd.think_ns, CrowdEvent::Comes(caller));
        }
        self.wake_heir();
    }

    fn wake_heir(&mut self) {
        let Some(heir) = self.lineup.heir() else { return };
        let caller = self.tickets.iter().position(|&ticket| ticket == heir).expect("the heir waits");
        self.at(self.crowd.wake_ns, CrowdEvent::Wakes(caller));
    }
}
