//! The way of one transaction.
//!
//! A user is let in for some statements at a time; it waits outside for locked rows, for its client, and for its commit. Clocks
//! are gathered until something has to be waited for, so that a transaction in memory is few steps.

use iostack_model::Nanos;
use iostack_workload::Rng;

use super::Tpcc;
use super::draw::{Act, Drawn};
use super::schema::PAGE;
use crate::apps::application::{Part, Step};
use crate::apps::lock::Gate;

/// Statements for which a user is let in at once. `InnoDB` lets in for each; then a transaction would be fifty steps.
const TOGETHER: u32 = 8;

/// From the answers to the next of them: a client on a local network, 100 us for each. Assumed.
const CLIENT_TOGETHER: Nanos = Nanos::micros(100 * TOGETHER as u64);

/// Pages at the pool's end among which a user looks for one that may go, and of which so many may be dirty before the cleaner
/// is called (`BUF_LRU_FREE_SEARCH_LEN` and `BUF_FLUSH_FREE_BLOCK_MARGIN` of `MySQL` 5.1).
pub(super) const SEARCH: u32 = 133;
pub(super) const MARGIN: u32 = SEARCH - 69;

/// Where a user is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Begin,
    Enter,
    Work,
    /// The page has been read.
    Fetched(u32),
    /// Some statements are answered.
    Answered,
    Commit,
    /// It has its turn to commit.
    Append,
    /// What it put into the log ends here.
    Ask(u64),
    Writing,
    Flushed,
    End,
}

/// One user.
#[derive(Debug)]
pub(super) struct User {
    home: u32,
    rng: Rng,
    at: At,
    drawn: Drawn,
    /// The next act.
    act: usize,
    /// The page of the act has been looked for.
    looked: bool,
    clocks: u32,
    answers: u32,
    held: Vec<u32>,
    writes: Vec<Step>,
}

impl User {
    pub(super) fn new(home: u32, seed: u64, number: u32) -> User {
        User {
            home,
            rng: Rng::stream(seed, u64::from(number)),
            at: At::Begin,
            drawn: Drawn::default(),
            act: 0,
            looked: false,
            clocks: 0,
            answers: 0,
            held: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// The clocks gathered so far, as a step.
    fn spend(&mut self) -> Option<Step> {
        let clocks = std::mem::take(&mut self.clocks);
        (clocks > 0).then_some(Step::Compute(clocks))
    }
}

impl Tpcc {
    /// The next step of a user.
    pub(super) fn go_on(&mut self, actor: u32) -> Step {
        loop {
            let step = match self.users[actor as usize].at {
                At::Begin => self.begins(actor),
                At::Enter => self.enters(actor),
                At::Work => self.works(actor),
                At::Fetched(page) => self.fetched(actor, page),
                At::Answered => {
                    self.leaves();
                    self.users[actor as usize].at = At::Enter;
                    Some(Step::Pause(CLIENT_TOGETHER, Part::Client))
                }
                At::Commit => self.commits(actor),
                At::Append => {
                    let redo = self.users[actor as usize].drawn.redo;
                    let position = self.log.append(redo);
                    self.users[actor as usize].at = At::Ask(position);
                    None
                }
                At::Ask(position) => self.asks(actor, position),
                At::Writing => Some(self.writes(actor)),
                At::Flushed => {
                    self.users[actor as usize].at = At::End;
                    let Tpcc { log, woken, .. } = self;
                    woken.extend(log.flushed());
                    let next = log.turn.as_mut().and_then(Gate::leave);
                    self.wake(next);
                    None
                }
                At::End => Some(self.ends(actor)),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn begins(&mut self, actor: u32) -> Option<Step> {
        if let Some(since) = self.pool.oldest_change()
            && self.log.is_aging(since)
        {
            self.call_cleaner();
            if self.log.is_old(since) {
                self.starved.push(actor);
                return Some(Step::Wait(Part::Cleaning));
            }
        }
        let user = &mut self.users[actor as usize];
        self.content.draw(user.home, &mut user.rng, &mut user.drawn);
        (user.act, user.answers, user.looked, user.at) = (0, 0, false, At::Enter);
        None
    }

    fn enters(&mut self, actor: u32) -> Option<Step> {
        self.users[actor as usize].at = At::Work;
        (!self.gate.enter(actor)).then_some(Step::Wait(Part::Entry))
    }

    fn leaves(&mut self) {
        let next = self.gate.leave();
        self.wake(next);
    }

    /// Goes on with its acts until something takes time.
    fn works(&mut self, actor: u32) -> Option<Step> {
        loop {
            let user = &mut self.users[actor as usize];
            let Some(&act) = user.drawn.acts.get(user.act) else {
                user.at = At::Commit;
                return user.spend();
            };
            let waits = match act {
                Act::Compute(clocks) => {
                    user.clocks += clocks;
                    None
                }
                Act::Answer => {
                    user.answers += 1;
                    let more = user.act + 1 < user.drawn.acts.len();
                    if user.answers.is_multiple_of(TOGETHER) && more {
                        (user.at, user.act) = (At::Answered, user.act + 1);
                        return user.spend();
                    }
                    None
                }
                Act::Lock(row) => match user.spend() {
                    Some(step) => return Some(step),
                    None => self.locks(actor, row),
                },
                Act::Use(page) => self.uses(actor, page, false),
                Act::Change(page) => self.uses(actor, page, true),
                Act::Make(page) => self.makes(actor, page),
            };
            if waits.is_some() {
                return waits;
            }
            let user = &mut self.users[actor as usize];
            (user.act, user.looked) = (user.act + 1, false);
        }
    }

    fn locks(&mut self, actor: u32, row: u32) -> Option<Step> {
        let free = self.rows.take(row, actor);
        let user = &mut self.users[actor as usize];
        user.held.push(row);
        if free {
            return None;
        }
        // It waits outside, and has the lock when it is woken.
        (user.act, user.at) = (user.act + 1, At::Enter);
        self.leaves();
        Some(Step::Wait(Part::Rows))
    }

    /// A page is used; the step that brings it when it is not there.
    fn uses(&mut self, actor: u32, page: u32, changes: bool) -> Option<Step> {
        let there = self.pool.get(page).map(|slot| slot.reading);
        let user = &mut self.users[actor as usize];
        if !std::mem::replace(&mut user.looked, true) {
            self.looks += 1;
            self.hits += u64::from(there == Some(false));
        }
        if there == Some(false) {
            self.pool.touch(page);
            if changes {
                self.pool.change(page, self.log.position());
            }
            return None;
        }
        if let Some(step) = user.spend() {
            return Some(step);
        }
        if there.is_none() && self.is_unmade(page) {
            // Somebody else made it, who is not so far yet.
            return self.makes(actor, page).or_else(|| self.uses(actor, page, changes));
        }
        if there == Some(true) {
            self.for_page.push((page, actor));
            return Some(Step::Wait(Part::Reads));
        }
        if let Some(wait) = self.no_room(actor) {
            return Some(wait);
        }
        self.pool.insert(page, true);
        self.users[actor as usize].at = At::Fetched(page);
        Some(Step::Read { offset: self.schema.offset(page), length: PAGE, part: Part::Reads })
    }

    /// Waits for the cleaner when no page may go.
    fn no_room(&mut self, actor: u32) -> Option<Step> {
        let (stay, room) = self.pool.room(SEARCH);
        if stay > MARGIN {
            self.cleaner.end_is_dirty = true;
            self.call_cleaner();
        }
        if room {
            return None;
        }
        self.starved.push(actor);
        Some(Step::Wait(Part::Cleaning))
    }

    fn makes(&mut self, actor: u32, page: u32) -> Option<Step> {
        if !self.pool.touch(page) {
            if let Some(step) = self.users[actor as usize].spend() {
                return Some(step);
            }
            if let Some(wait) = self.no_room(actor) {
                return Some(wait);
            }
            self.pool.insert(page, false);
            self.made(page);
        }
        None
    }

    fn fetched(&mut self, actor: u32, page: u32) -> Option<Step> {
        self.pool.read(page);
        let Tpcc { for_page, woken, .. } = self;
        for_page.retain(|&(waited, other)| {
            if waited == page {
                woken.push_back(other);
            }
            waited != page
        });
        // It may go from now on, which may help others.
        self.woken.extend(self.starved.drain(..));
        self.users[actor as usize].at = At::Work;
        None
    }

    fn commits(&mut self, actor: u32) -> Option<Step> {
        self.leaves();
        let user = &mut self.users[actor as usize];
        if user.drawn.redo == 0 || user.drawn.rolled_back {
            user.at = At::End;
            return None;
        }
        user.at = At::Append;
        if let Some(turn) = &mut self.log.turn {
            return (!turn.enter(actor)).then_some(Step::Wait(Part::Log));
        }
        // Rows are given up before the flush: whoever sees them commits behind it.
        self.gives_up(actor);
        None
    }

    fn asks(&mut self, actor: u32, position: u64) -> Option<Step> {
        let Tpcc { log, users, .. } = self;
        let user = &mut users[actor as usize];
        if log.has(position) {
            user.at = At::End;
            return None;
        }
        if !log.leads(actor) {
            return Some(Step::Wait(Part::Log));
        }
        log.writes(&mut user.writes);
        user.at = At::Writing;
        None
    }

    fn writes(&mut self, actor: u32) -> Step {
        let user = &mut self.users[actor as usize];
        user.writes.pop().unwrap_or_else(|| {
            user.at = At::Flushed;
            Step::Flush(Part::Log)
        })
    }

    fn gives_up(&mut self, actor: u32) {
        let held = std::mem::take(&mut self.users[actor as usize].held);
        for &row in &held {
            let next = self.rows.release(row, actor);
            self.wake(next);
        }
        self.users[actor as usize].held = held;
        self.users[actor as usize].held.clear();
    }

    fn ends(&mut self, actor: u32) -> Step {
        self.gives_up(actor);
        let user = &mut self.users[actor as usize];
        user.at = At::Begin;
        Step::End(user.drawn.kind)
    }
}
