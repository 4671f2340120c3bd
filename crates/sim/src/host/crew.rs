//! Who runs on which core?
//!
//! A core has an account of what it did; what is booked beyond the present is one stretch. An interrupt runs at once: what the
//! core was doing ends later by as much. Threads that find no free core wait in one queue.

use std::collections::VecDeque;

use super::thread::Thread;
use super::together::Together;
use crate::engine::{Account, Time};

#[derive(Clone, Debug, Default)]
pub(crate) struct Core {
    pub(crate) account: Account,
    /// Thread that runs, lingers or spins on it.
    pub(crate) thread: Option<u32>,
    /// Moment when what runs ends, unless interrupts make it later.
    pub(crate) end: Time,
    /// Its interrupts are through then.
    pub(crate) interrupts_until: Time,
}

impl Core {
    /// It is busy for `ns` more, from now or from the end of what is booked; when it is through.
    #[inline]
    pub(crate) fn spend(&mut self, now: Time, ns: u64) -> Time {
        let start = now.max(self.account.until());
        self.end = start + ns;
        self.account.book(now, start, self.end);
        self.end
    }
}

/// Cores and those who wait for one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crew {
    pub(crate) cores: Vec<Core>,
    pub(crate) queue: VecDeque<u32>,
    /// Cores without a thread.
    idle: Vec<u64>,
    idle_count: usize,
    pub(crate) switches: u64,
    /// Rules by which work takes longer than its clocks, where there are any.
    pub(crate) together: Option<Together>,
}

impl Crew {
    pub(crate) fn new(cores: usize) -> Crew {
        let mut crew = Crew { cores: vec![Core::default(); cores], ..Crew::default() };
        crew.clear();
        crew
    }

    /// No thread is anywhere.
    pub(crate) fn clear(&mut self) {
        let cores = self.cores.len();
        self.queue.clear();
        self.cores.iter_mut().for_each(|core| core.thread = None);
        self.idle = vec![u64::MAX; cores.div_ceil(64)];
        if !cores.is_multiple_of(64) {
            *self.idle.last_mut().expect("there is a core") = (1 << (cores % 64)) - 1;
        }
        self.idle_count = cores;
    }

    /// A free core, its own if that is free; rather one without interrupts. It is the caller's now.
    #[inline]
    pub(crate) fn take_idle(&mut self, liked: u32, allowed: Option<&[u32]>, now: Time) -> Option<u32> {
        if self.idle_count == 0 {
            return None;
        }
        let free = |core: &u32| self.idle[*core as usize / 64] >> (core % 64) & 1 == 1;
        let quiet = |core: &u32| self.cores[*core as usize].account.until() <= now;
        let own = allowed.is_none_or(|allowed| allowed.contains(&liked)) && free(&liked);
        let core = if own && quiet(&liked) {
            liked
        } else {
            let place = |index: u32| allowed.map_or(index, |allowed| allowed[index as usize]);
            let all = allowed.map_or(self.cores.len(), <[u32]>::len) as u32;
            let mut others = (0..all).map(place).filter(free);
            let first = others.clone().next()?;
            // When none is quiet, its own.
            others.find(quiet).unwrap_or(if own { liked } else { first })
        };
        self.idle[core as usize / 64] &= !(1 << (core % 64));
        self.idle_count -= 1;
        Some(core)
    }

    /// The thread that waits longest for a core like this; it does not wait any more.
    #[inline]
    pub(crate) fn next_for(&mut self, core: u32, threads: &[Thread]) -> Option<u32> {
        let place = self.queue.iter().position(|&index| threads[index as usize].may_use(core))?;
        self.queue.remove(place)
    }

    #[inline]
    pub(crate) fn give_back(&mut self, core: u32) {
        self.cores[core as usize].thread = None;
        self.idle[core as usize / 64] |= 1 << (core % 64);
        self.idle_count += 1;
    }

    /// The core does what takes it `ns` alone, from now or from the end of what is booked; when it is through.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each I/O takes three, and a call would be a third of it")]
    pub(crate) fn run(&mut self, core: u32, now: Time, ns: u64) -> Time {
        let ns = if self.together.is_none() { ns } else { self.drawn_out(core, now, ns) };
        self.cores[core as usize].spend(now, ns)
    }

    /// Time that work takes now which takes `ns` on a core that is awake and alone.
    #[cold]
    fn drawn_out(&mut self, core: u32, now: Time, ns: u64) -> u64 {
        let exit = self.together.as_mut().map_or(0, |together| {
            let idle = now.saturating_sub(self.cores[core as usize].account.until());
            together.exit(idle)
        });
        exit + self.slowed(core, now, ns)
    }

    /// Time that work takes now which takes `ns` on a core that is alone.
    pub(crate) fn slowed(&mut self, core: u32, now: Time, ns: u64) -> u64 {
        let Some(together) = &mut self.together else { return ns };
        let sibling = together.sibling(core).is_some_and(|sibling| {
            let other = &self.cores[sibling as usize];
            other.thread.is_some() || other.account.until() > now
        });
        together.slowed(ns, sibling, self.cores.len() - self.idle_count)
    }

    /// An interrupt takes `ns` of the core, before all else; when it is through.
    #[inline]
    pub(crate) fn interrupt(&mut self, core: u32, now: Time, ns: u64) -> Time {
        let ns = if self.together.is_none() { ns } else { self.drawn_out(core, now, ns) };
        let core = &mut self.cores[core as usize];
        let start = now.max(core.interrupts_until);
        core.interrupts_until = start + ns;
        let until = core.account.until();
        if until > now {
            core.account.extend(until + ns);
            core.end += ns;
        } else {
            core.account.book(now, start, start + ns);
        }
        core.interrupts_until
    }
}
