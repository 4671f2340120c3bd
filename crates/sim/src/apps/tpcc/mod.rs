//! What does TPC-C ask of storage, on a database like `InnoDB` of `MySQL` 5.1?
//!
//! ```text
//!   user ──► let in ──► statements ──► page in the pool? ──► read it ──► .. ──► commit: log, flush ──► next transaction
//!   cleaner ──► pages that are dirty at the pool's end, or older than the log may get ──► doublewrite, flush, pages, flush
//! ```
//!
//! [`draw`] knows the standard, [`schema`] the pages, [`user`] the way of a transaction, [`cleaner`] that of page writes,
//! [`log`] who commits with whom. What is modelled and what is not is in `docs/applications.md`.

mod cleaner;
mod draw;
mod log;
mod schema;
#[cfg(test)]
mod tests;
mod user;

use std::collections::VecDeque;

use iostack_model::{Bytes, Tpcc as Load};
use iostack_workload::{Region, Rng};

use crate::apps::application::{Application, Manner, Step};
use crate::apps::lock::{Gate, Locks};
use crate::apps::lru::Lru;
use cleaner::Cleaner;
use draw::{Act, Content, Drawn, KINDS};
use log::Log;
use schema::{DISTRICTS, PAGE, Schema};
use user::User;

/// Transactions that ran before the first one, without taking time: about a minute of a fast server. Fewer when the pool has
/// been filled anew twice.
const WARM: u32 = 50_000;

/// Bytes of the target that it uses.
pub(super) fn needed(load: &Load) -> u64 {
    Schema::new(load, 0).needed()
}

/// The server and its users.
pub(crate) struct Tpcc {
    schema: Schema,
    content: Content,
    pool: Lru,
    gate: Gate,
    /// Rows of warehouses, then of districts.
    rows: Locks,
    log: Log,
    users: Vec<User>,
    cleaner: Cleaner,
    /// Who waits for a page that another reads: page and actor.
    for_page: Vec<(u32, u32)>,
    /// Who waits for a page that may go, or for room in the log.
    starved: Vec<u32>,
    woken: VecDeque<u32>,
    /// Of the room to grow: pages that were in the pool once.
    made: Vec<bool>,
    looks: u64,
    hits: u64,
}

impl Tpcc {
    pub(super) fn new(load: &Load, region: Region, block: Bytes, seed: u64) -> Tpcc {
        let schema = Schema::new(load, region.offset);
        let mut rng = Rng::stream(seed, u64::MAX);
        let content = Content::new(schema.clone(), &mut rng);
        let users = (0..load.users).map(|number| User::new(number % load.warehouses, seed, number));
        let (log_first, log_bytes) = schema.log();
        let mut tpcc = Tpcc {
            pool: Lru::new((load.pool.0 / u64::from(PAGE)) as u32, schema.pages()),
            gate: Gate::new(load.inside),
            rows: Locks::new((load.warehouses * (1 + DISTRICTS)) as usize),
            log: Log::new(load.commit, log_first, log_bytes, block.0.clamp(512, u64::from(PAGE))),
            users: users.collect(),
            cleaner: Cleaner::new(load.users),
            for_page: Vec::new(),
            starved: Vec::new(),
            woken: VecDeque::new(),
            made: vec![false; (schema.growth.1 - schema.growth.0) as usize],
            looks: 0,
            hits: 0,
            content,
            schema,
        };
        tpcc.warm(load.warehouses, &mut rng);
        tpcc
    }

    /// The pool as it is after a while: some pages, as they came, and then what the last transactions used.
    fn warm(&mut self, warehouses: u32, rng: &mut Rng) {
        let data = self.schema.growth.0;
        // A step without common factors visits each page once.
        let step = (data / 3..data).find(|&step| greatest_common(step, data) == 1).unwrap_or(1);
        for index in 0..u64::from(self.pool.capacity().min(data)) {
            self.pool.insert((index * u64::from(step) % u64::from(data)) as u32, false);
        }
        let mut drawn = Drawn::default();
        let mut missed = 0;
        for turn in 0..WARM {
            self.content.draw(turn % warehouses, rng, &mut drawn);
            for &act in &drawn.acts {
                let (page, changes) = match act {
                    Act::Use(page) | Act::Make(page) => (page, false),
                    Act::Change(page) => (page, true),
                    _ => continue,
                };
                if !self.pool.touch(page) {
                    missed += 1;
                    self.make_room_at_once();
                    self.pool.insert(page, false);
                    self.made(page);
                }
                if changes {
                    self.pool.change(page, self.log.position());
                }
            }
            self.log.append_at_once(drawn.redo);
            self.clean_at_once();
            if missed > 2 * self.pool.capacity() {
                break;
            }
        }
    }

    fn make_room_at_once(&mut self) {
        let mut pages = Vec::new();
        while !self.pool.room(1).1 {
            self.pool.dirty_at_the_end(1, 1, &mut pages);
            let page = pages.pop().expect("nothing is read or written while the pool is warmed");
            self.pool.write(page);
            self.pool.written(page);
        }
    }

    fn clean_at_once(&mut self) {
        while let Some(since) = self.pool.oldest_change()
            && self.log.is_aging(since)
        {
            let mut pages = Vec::new();
            self.pool.changed_first(1, &mut pages);
            let page = pages.pop().expect("one has the oldest change");
            self.pool.write(page);
            self.pool.written(page);
        }
    }

    /// A page of the room to grow that holds nothing yet.
    fn is_unmade(&self, page: u32) -> bool {
        page.checked_sub(self.schema.growth.0).is_some_and(|index| !self.made[index as usize])
    }

    fn made(&mut self, page: u32) {
        if let Some(index) = page.checked_sub(self.schema.growth.0) {
            self.made[index as usize] = true;
        }
    }

    fn wake(&mut self, actor: Option<u32>) {
        self.woken.extend(actor);
    }

    /// The cleaner has to look.
    fn call_cleaner(&mut self) {
        if std::mem::take(&mut self.cleaner.idle) {
            self.woken.push_back(self.cleaner.actor);
        }
    }
}

fn greatest_common(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common(b, a % b) }
}

impl Application for Tpcc {
    fn actors(&self) -> u32 {
        self.users.len() as u32 + 1
    }

    fn manner(&self, actor: u32) -> Manner {
        let depth = if actor == self.cleaner.actor { schema::DOUBLEWRITE } else { 1 };
        Manner { direct: true, depth }
    }

    fn next(&mut self, actor: u32) -> Step {
        if actor == self.cleaner.actor { self.clean() } else { self.go_on(actor) }
    }

    fn woken(&mut self) -> Option<u32> {
        self.woken.pop_front()
    }

    fn begin(&mut self) {
        (self.looks, self.hits) = (0, 0);
    }

    fn hits(&self) -> Option<(u64, u64)> {
        Some((self.looks, self.hits))
    }

    fn kinds(&self) -> &'static [&'static str] {
        KINDS
    }
}
