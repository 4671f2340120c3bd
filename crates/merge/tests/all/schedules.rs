//! Does every request get carried, once and in its turn, whatever the order in which requests come and batches end?
//!
//! The pure parts of the policies, driven by one thread through random schedules. A seed that fails is kept by proptest.

#[path = "../../src/policy/lineup.rs"]
#[expect(dead_code, reason = "whom to wake by bits is for threads, which are not here")]
mod lineup;
#[path = "../../src/policy/plug.rs"]
mod plug;

use lineup::{Lineup, Load};
use plug::{Plug, WorkerAct};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum LineEvent {
    /// A caller that has no request brings one.
    Comes(usize),
    /// A caller that waits wakes, whether or not somebody meant it.
    Wakes(usize),
    /// One of the batches on their way is through.
    Ends(usize),
    /// The number of batches at a time changes, as the rule may.
    Width(usize),
}

fn event() -> impl Strategy<Value = LineEvent> {
    prop_oneof![
        4 => (0..16_usize).prop_map(LineEvent::Comes),
        2 => (0..16_usize).prop_map(LineEvent::Wakes),
        3 => (0..16_usize).prop_map(LineEvent::Ends),
        1 => (1..5_usize).prop_map(LineEvent::Width),
    ]
}

/// Callers around a line, without threads. A request is its caller's number.
struct Callers {
    lineup: Lineup<usize>,
    /// Ticket of a caller that waits.
    waits: Vec<Option<u64>>,
    out: Vec<Vec<usize>>,
    came: usize,
    through: usize,
    /// The order of coming, which is that of going.
    order: std::collections::VecDeque<usize>,
}

impl Callers {
    fn new(callers: usize, active_max: usize, batch_max: usize) -> Callers {
        Callers {
            lineup: Lineup::new(active_max, batch_max),
            waits: vec![None; callers],
            out: Vec::new(),
            came: 0,
            through: 0,
            order: std::collections::VecDeque::new(),
        }
    }

    fn is_out(&self, caller: usize) -> bool {
        self.out.iter().flatten().any(|&other| other == caller)
    }

    fn step(&mut self, event: LineEvent) {
        match event {
            LineEvent::Comes(caller) => self.come(caller % self.waits.len()),
            LineEvent::Wakes(caller) => self.wake(caller % self.waits.len()),
            LineEvent::Ends(which) if !self.out.is_empty() => self.end(which % self.out.len()),
            LineEvent::Ends(_) => {}
            LineEvent::Width(active_max) => self.lineup.active_max = active_max,
        }
    }

    fn come(&mut self, caller: usize) {
        if self.waits[caller].is_some() || self.is_out(caller) {
            return;
        }
        self.came += 1;
        self.order.push_back(caller);
        match self.lineup.go_alone(caller) {
            Ok(load) => self.goes(load, caller),
            Err(caller) => {
                self.waits[caller] = Some(self.lineup.push(caller));
                self.wake(caller);
            }
        }
    }

    /// It leads if it may, as a thread does that was woken.
    fn wake(&mut self, caller: usize) {
        let Some(ticket) = self.waits[caller] else { return };
        if self.lineup.lead(ticket) {
            let load = self.lineup.go();
            self.goes(load, caller);
        }
    }

    fn goes(&mut self, mut load: Load<usize>, winner: usize) {
        let batch: Vec<usize> = load.drain().collect();
        assert!(batch.contains(&winner), "{winner} works for others only");
        assert!(batch.len() <= self.lineup.batch_max, "a batch of {}", batch.len());
        for &caller in &batch {
            assert_eq!(self.order.pop_front(), Some(caller), "somebody was overtaken");
            self.waits[caller] = None;
        }
        self.out.push(batch);
        // Who has to be woken is, whenever that comes.
        self.wake_heir();
    }

    fn end(&mut self, which: usize) {
        self.through += self.out.swap_remove(which).len();
        self.lineup.leave();
    }

    fn wake_heir(&mut self) {
        let Some(heir) = self.lineup.heir() else { return };
        let caller = self.waits.iter().position(|&ticket| ticket == Some(heir));
        self.wake(caller.expect("the heir waits"));
    }

    /// No more come: what remains ends, and only those are woken who are named.
    fn drain(&mut self) {
        self.wake_heir();
        while !self.out.is_empty() {
            self.end(0);
            self.wake_heir();
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Plugged {
    Reads,
    Writes,
    AloneEnds,
    WorkerLooks,
    WorkerEnds,
    Passes(u64),
}

fn plugged() -> impl Strategy<Value = Plugged> {
    prop_oneof![
        1 => Just(Plugged::Reads),
        2 => Just(Plugged::Writes),
        1 => Just(Plugged::AloneEnds),
        2 => Just(Plugged::WorkerLooks),
        2 => Just(Plugged::WorkerEnds),
        1 => (1..2000_u64).prop_map(Plugged::Passes),
    ]
}

/// A plug and its worker: what waits is the time at which it came.
struct Desk {
    plug: Plug<u64>,
    now: u64,
    alone: usize,
    carrying: bool,
    carried: u64,
    count: usize,
    batch_max: usize,
    /// Act for which the worker sleeps; none while it is awake.
    sleeps: Option<WorkerAct>,
}

impl Desk {
    const UNPLUG: u64 = 3000;

    fn step(&mut self, event: Plugged) {
        match event {
            Plugged::Reads if self.plug.go_alone() => {
                assert!(self.alone == 0 && !self.carrying, "a read went to a busy device");
                self.alone += 1;
            }
            Plugged::Reads => {
                self.plug.push(self.now, self.now, true);
                self.call();
            }
            Plugged::Writes => {
                self.plug.push(self.now, self.now, false);
                self.call();
            }
            Plugged::AloneEnds if self.alone > 0 => {
                self.alone -= 1;
                self.plug.alone_is_through();
                self.call();
            }
            Plugged::WorkerLooks if !self.carrying => self.look(),
            Plugged::WorkerEnds if self.carrying => {
                (self.carrying, self.sleeps) = (false, None);
                self.plug.carried();
            }
            Plugged::Passes(ns) => self.now += ns,
            _ => {}
        }
    }

    /// Wakes the worker, if that is said to be needed.
    fn call(&mut self) {
        if self.plug.calls(self.now) {
            self.sleeps = None;
        }
    }

    /// A worker that sleeps misses nothing.
    fn check(&self) {
        match (self.sleeps, self.plug.next(self.now)) {
            (None, _) | (Some(WorkerAct::Idle), WorkerAct::Idle) => {}
            (Some(WorkerAct::At(until)), WorkerAct::At(due)) => assert!(due >= until),
            (Some(WorkerAct::At(until)), WorkerAct::Go) => assert!(self.now >= until, "the worker sleeps on"),
            (sleeps, next) => panic!("the worker sleeps for {sleeps:?} and should {next:?}"),
        }
    }

    fn look(&mut self) {
        self.sleeps = Some(self.plug.next(self.now));
        match self.plug.next(self.now) {
            WorkerAct::Go => {
                let mut load = self.plug.take(self.batch_max);
                assert!(load.len() > 0 && load.len() <= self.batch_max);
                assert_eq!(load.ticket, self.carried, "somebody was overtaken");
                self.carried += load.drain().count() as u64;
                (self.carrying, self.sleeps) = (true, None);
            }
            WorkerAct::At(until) => assert!(until > self.now && until - self.now <= Self::UNPLUG),
            WorkerAct::Idle => {}
        }
    }
}

proptest! {
    #[test]
    fn each_request_is_carried_once_and_in_its_turn(
        events in prop::collection::vec(event(), 1..200),
        callers in 1..16_usize,
        active_max in 1..4_usize,
        batch_max in 1..6_usize,
    ) {
        let mut world = Callers::new(callers, active_max, batch_max);
        for event in events {
            world.step(event);
            prop_assert!(world.out.len() == world.lineup.active());
        }
        world.drain();
        prop_assert_eq!((world.came, world.lineup.waiting()), (world.through, 0), "somebody was left behind");
    }

    #[test]
    fn nobody_is_plugged_for_longer_than_was_said(
        events in prop::collection::vec(plugged(), 1..200),
        count in 1..6_usize,
        batch_max in 1..6_usize,
    ) {
        let plug = Plug::new(count, Desk::UNPLUG);
        let mut desk = Desk { plug, now: 0, alone: 0, carrying: false, carried: 0, count, batch_max, sleeps: None };
        let mut came = 0;
        for event in events {
            let went_alone = desk.alone;
            desk.step(event);
            desk.check();
            came += u64::from(
                matches!(event, Plugged::Writes) || (matches!(event, Plugged::Reads) && desk.alone == went_alone),
            );
            if !desk.carrying && desk.plug.next(desk.now) == WorkerAct::Idle {
                prop_assert_eq!(came, desk.carried);
            }
            if came - desk.carried >= desk.count as u64 && !desk.carrying {
                prop_assert_eq!(desk.plug.next(desk.now), WorkerAct::Go);
            }
        }
        for _ in 0..came {
            desk.step(Plugged::WorkerEnds);
            desk.now += Desk::UNPLUG;
            desk.look();
        }
        prop_assert_eq!(came, desk.carried, "somebody was left behind");
    }
}
