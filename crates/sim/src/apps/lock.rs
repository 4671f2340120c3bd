//! Who may go on, and who waits for whom?
//!
//! Locks and gates keep their waiting lists in the order of arrival, and hand themselves over: whoever leaves makes the first
//! that waits the owner, so that nobody overtakes.

use std::collections::VecDeque;

const FREE: u32 = u32::MAX;

/// Locks with one owner each.
#[derive(Clone, Debug)]
pub(crate) struct Locks {
    owners: Vec<u32>,
    /// (lock, actor), in the order of arrival.
    waiting: Vec<(u32, u32)>,
}

impl Locks {
    /// So many, all free.
    pub(crate) fn new(count: usize) -> Locks {
        Locks { owners: vec![FREE; count], waiting: Vec::new() }
    }

    /// True when `actor` has the lock; else it waits, and has it when [`Locks::release`] names it.
    ///
    /// # Panics
    /// When the actor has it already: it would wait for itself.
    pub(crate) fn take(&mut self, lock: u32, actor: u32) -> bool {
        let owner = &mut self.owners[lock as usize];
        assert!(*owner != actor, "actor {actor} takes lock {lock} twice");
        if *owner == FREE {
            *owner = actor;
            return true;
        }
        self.waiting.push((lock, actor));
        false
    }

    /// Gives the lock up. The actor that has it now, when somebody waited.
    ///
    /// # Panics
    /// When the actor does not have it.
    pub(crate) fn release(&mut self, lock: u32, actor: u32) -> Option<u32> {
        let owner = self.owners[lock as usize];
        assert!(owner == actor, "actor {actor} gives up lock {lock}, which {owner} has");
        let first = self.waiting.iter().position(|&(waited, _)| waited == lock);
        let next = first.map(|index| self.waiting.remove(index).1);
        self.owners[lock as usize] = next.unwrap_or(FREE);
        next
    }
}

/// A gate that lets so many in at a time.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    most: u32,
    /// How many are in.
    pub(crate) inside: u32,
    waiting: VecDeque<u32>,
}

impl Gate {
    /// Lets `most` in; 0 is all.
    pub(crate) fn new(most: u32) -> Gate {
        Gate { most: if most == 0 { u32::MAX } else { most }, inside: 0, waiting: VecDeque::new() }
    }

    /// True when `actor` is in; else it waits, and is in when [`Gate::leave`] names it.
    pub(crate) fn enter(&mut self, actor: u32) -> bool {
        if self.inside < self.most {
            self.inside += 1;
            return true;
        }
        self.waiting.push_back(actor);
        false
    }

    /// Somebody leaves; the actor that is in instead.
    pub(crate) fn leave(&mut self) -> Option<u32> {
        let next = self.waiting.pop_front();
        self.inside -= u32::from(next.is_none());
        next
    }
}

#[cfg(test)]
mod tests {
    use iostack_workload::Rng;

    use super::*;

    #[test]
    fn a_lock_goes_to_whoever_waited_longest() {
        let mut locks = Locks::new(2);
        assert!(locks.take(0, 7) && locks.take(1, 8));
        assert!(!locks.take(0, 8) && !locks.take(0, 9));
        assert_eq!(locks.release(0, 7), Some(8));
        assert_eq!(locks.owners[0], 8);
        assert_eq!(locks.release(0, 8), Some(9));
        assert_eq!(locks.release(0, 9), None);
        assert_eq!(locks.owners[0], FREE);
    }

    #[test]
    #[should_panic(expected = "takes lock 0 twice")]
    fn nobody_waits_for_itself() {
        let mut locks = Locks::new(1);
        locks.take(0, 1);
        locks.take(0, 1);
    }

    #[test]
    fn a_gate_never_lets_in_more_than_it_may() {
        let mut gate = Gate::new(3);
        let mut rng = Rng::from_seed(5);
        let (mut inside, mut waiting) = (Vec::new(), Vec::new());
        for actor in 0..10_000 {
            if rng.below(2) == 0 {
                if gate.enter(actor) { inside.push(actor) } else { waiting.push(actor) }
            } else if inside.pop().is_some()
                && let Some(next) = gate.leave()
            {
                assert_eq!(next, waiting.remove(0));
                inside.push(next);
            }
            assert!(inside.len() <= 3 && gate.inside as usize == inside.len());
            assert!(inside.len() == 3 || waiting.is_empty());
        }
    }
}
