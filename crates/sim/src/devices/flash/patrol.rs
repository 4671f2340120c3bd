//! What does a die do for itself? It looks through its pages, one each so often, whoever waits.
//!
//! Dies take turns. One that is idle begins when its time has come, one at work as soon as a step of it ends: of reads that find the
//! die idle a share of `patrol.time / patrol.period` waits, as long as is left of it. Nothing is simulated of what nobody meets.

use super::die::Phase;
use super::spec::Patrol;
use super::ssd::{DIE, Ssd};
use crate::engine::{Sim, token};

impl Ssd {
    /// The die does what its time has come for. False when there is nothing, or when an `idle` one is through with it.
    #[inline]
    pub(super) fn patrols(&mut self, number: u32, idle: bool, sim: &mut Sim) -> bool {
        self.spec.patrol.is_some_and(|patrol| self.patrol(patrol, number, idle, sim))
    }

    fn patrol(&mut self, patrol: Patrol, number: u32, idle: bool, sim: &mut Sim) -> bool {
        let Patrol { period, time } = patrol;
        let (now, dies) = (sim.now(), self.dies.len() as u64);
        let die = &mut self.dies[number as usize];
        let ahead = period * u64::from(die.rank) / dies;
        let turn = (now + ahead) / period;
        if std::mem::replace(&mut die.patrols, turn) == turn {
            return false;
        }
        let until = if idle { turn * period - ahead } else { now } + time;
        if until <= now {
            return false;
        }
        die.turn_to(Phase::Patrol, now);
        die.until = until;
        die.account.book(now, now, until);
        sim.wake_at(until, token(DIE, number));
        self.heat_by(Phase::Patrol, now, (until - now) as f64);
        true
    }
}
