//! Which pages are in the pool, and which one goes?
//!
//! A list from the page used last to the one used longest ago, as `InnoDB`'s without its midpoint: a page that is read once goes
//! where all go. A page that is being read or written cannot go, a dirty one only after it was written.

use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// A page in the pool.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// Its number.
    pub(crate) page: u32,
    newer: u32,
    older: u32,
    /// It is being read: whoever wants it waits.
    pub(crate) reading: bool,
    /// It is being written.
    pub(crate) writing: bool,
    /// Position in the log of its first change since it was written; 0 when clean.
    pub(crate) dirty_since: u64,
}

/// The pool.
#[derive(Clone, Debug)]
pub(crate) struct Lru {
    slots: Vec<Slot>,
    /// Slot of each page.
    places: Vec<u32>,
    newest: u32,
    oldest: u32,
    capacity: u32,
    dirty: u32,
    /// Pages in the order of their first change; those written since are left out when they come up.
    changed: VecDeque<(u64, u32)>,
}

impl Lru {
    /// An empty one of `capacity` pages, for pages below `pages`.
    pub(crate) fn new(capacity: u32, pages: u32) -> Lru {
        Lru {
            slots: Vec::with_capacity(capacity as usize),
            places: vec![NONE; pages as usize],
            newest: NONE,
            oldest: NONE,
            capacity,
            dirty: 0,
            changed: VecDeque::new(),
        }
    }

    /// Pages that fit.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Pages in it.
    pub(crate) fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Dirty pages.
    pub(crate) fn dirty(&self) -> u32 {
        self.dirty
    }

    /// The page as it lies in the pool.
    pub(crate) fn get(&self, page: u32) -> Option<&Slot> {
        self.slots.get(self.places[page as usize] as usize)
    }

    fn slot(&mut self, page: u32) -> &mut Slot {
        let place = self.places[page as usize];
        self.slots.get_mut(place as usize).expect("asked of pages in the pool")
    }

    /// The page was used: it is the newest now. False when it is not in the pool.
    #[inline]
    pub(crate) fn touch(&mut self, page: u32) -> bool {
        let place = self.places[page as usize];
        if place == NONE {
            return false;
        }
        if place != self.newest {
            self.unlink(place);
            self.link(place);
        }
        true
    }

    /// Looks for room among the `depth` oldest pages: how many of them had to stay, and whether a page can be put in now.
    pub(crate) fn room(&self, depth: u32) -> (u32, bool) {
        if self.len() < self.capacity {
            return (0, true);
        }
        let mut stay = 0;
        let mut place = self.oldest;
        while place != NONE && stay < depth {
            let slot = &self.slots[place as usize];
            if !(slot.reading || slot.writing || slot.dirty_since > 0) {
                return (stay, true);
            }
            stay += 1;
            place = slot.newer;
        }
        (stay, false)
    }

    /// Puts a page in as the newest, in place of the oldest that can go.
    ///
    /// # Panics
    /// When [`Lru::room`] would have said that there is none, or the page is in.
    pub(crate) fn insert(&mut self, page: u32, reading: bool) {
        assert!(self.places[page as usize] == NONE, "page {page} is in the pool already");
        let place = if self.len() < self.capacity {
            self.slots.push(Slot { page, newer: NONE, older: NONE, reading, writing: false, dirty_since: 0 });
            self.len() - 1
        } else {
            let place = self.victim();
            self.places[self.slots[place as usize].page as usize] = NONE;
            self.unlink(place);
            let slot = &mut self.slots[place as usize];
            (slot.page, slot.reading) = (page, reading);
            place
        };
        self.places[page as usize] = place;
        self.link(place);
    }

    fn victim(&self) -> u32 {
        let mut place = self.oldest;
        loop {
            assert!(place != NONE, "a page was put into a pool without room");
            let slot = &self.slots[place as usize];
            if !(slot.reading || slot.writing || slot.dirty_since > 0) {
                return place;
            }
            place = slot.newer;
        }
    }

    /// The page has been read.
    pub(crate) fn read(&mut self, page: u32) {
        self.slot(page).reading = false;
    }

    /// The page was changed, at this position of the log (above 0).
    pub(crate) fn change(&mut self, page: u32, position: u64) {
        let slot = self.slot(page);
        if slot.dirty_since == 0 {
            slot.dirty_since = position;
            self.dirty += 1;
            self.changed.push_back((position, page));
        }
    }

    /// The page is being written as it is now: further changes make it dirty again.
    pub(crate) fn write(&mut self, page: u32) {
        let slot = self.slot(page);
        assert!(slot.dirty_since > 0 && !slot.writing, "page {page} is written without need");
        (slot.dirty_since, slot.writing) = (0, true);
        self.dirty -= 1;
    }

    /// The page has been written.
    pub(crate) fn written(&mut self, page: u32) {
        self.slot(page).writing = false;
    }

    /// Position of the oldest change that is not being written.
    pub(crate) fn oldest_change(&mut self) -> Option<u64> {
        while let Some(&(position, page)) = self.changed.front() {
            if self.get(page).is_some_and(|slot| slot.dirty_since == position) {
                return Some(position);
            }
            self.changed.pop_front();
        }
        None
    }

    /// Up to `most` dirty pages among the `depth` oldest of the list, oldest first.
    pub(crate) fn dirty_at_the_end(&self, depth: u32, most: usize, into: &mut Vec<u32>) {
        let mut place = self.oldest;
        for _ in 0..depth {
            if place == NONE || into.len() >= most {
                return;
            }
            let slot = &self.slots[place as usize];
            if slot.dirty_since > 0 && !slot.writing {
                into.push(slot.page);
            }
            place = slot.newer;
        }
    }

    /// Up to `most` pages, those changed first.
    pub(crate) fn changed_first(&self, most: usize, into: &mut Vec<u32>) {
        for &(position, page) in &self.changed {
            if into.len() >= most {
                return;
            }
            let due = self.get(page).is_some_and(|slot| slot.dirty_since == position && !slot.writing);
            if due && !into.contains(&page) {
                into.push(page);
            }
        }
    }

    fn unlink(&mut self, place: u32) {
        let (newer, older) = (self.slots[place as usize].newer, self.slots[place as usize].older);
        match newer {
            NONE => self.newest = older,
            _ => self.slots[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.slots[older as usize].newer = newer,
        }
    }

    fn link(&mut self, place: u32) {
        let slot = &mut self.slots[place as usize];
        (slot.newer, slot.older) = (NONE, self.newest);
        match self.newest {
            NONE => self.oldest = place,
            newest => self.slots[newest as usize].newer = place,
        }
        self.newest = place;
    }
}

#[cfg(test)]
mod tests {
    use iostack_workload::Rng;

    use super::*;

    /// The same, with a plain list.
    struct Plain(Vec<u32>, usize);

    impl Plain {
        fn touch(&mut self, page: u32) -> bool {
            let found = self.0.iter().position(|&other| other == page);
            if let Some(index) = found {
                self.0.remove(index);
            } else if self.0.len() == self.1 {
                self.0.remove(0);
            }
            self.0.push(page);
            found.is_some()
        }
    }

    #[test]
    fn it_holds_what_a_plain_list_holds() {
        let (mut pool, mut plain) = (Lru::new(50, 200), Plain(Vec::new(), 50));
        let mut rng = Rng::from_seed(11);
        for _ in 0..50_000 {
            let page = rng.below(200).min(rng.below(200)) as u32;
            let hit = pool.touch(page);
            if !hit {
                pool.insert(page, false);
            }
            assert_eq!(hit, plain.touch(page));
        }
        assert!((0..200).all(|page| pool.get(page).is_some() == plain.0.contains(&page)));
    }

    #[test]
    fn a_dirty_page_stays_until_it_was_written() {
        let mut pool = Lru::new(2, 10);
        pool.insert(1, false);
        pool.insert(2, false);
        pool.change(1, 5);
        pool.change(2, 6);
        pool.change(1, 7);
        assert_eq!((pool.room(10), pool.dirty(), pool.oldest_change()), ((2, false), 2, Some(5)));
        pool.write(1);
        assert_eq!((pool.room(10), pool.oldest_change()), ((2, false), Some(6)));
        pool.change(1, 9);
        pool.written(1);
        assert_eq!(pool.room(10), (2, false), "it was changed while it was written");
        pool.write(2);
        pool.written(2);
        assert_eq!((pool.room(10), pool.dirty(), pool.oldest_change()), ((1, true), 1, Some(9)));
        pool.insert(3, true);
        assert!(pool.get(2).is_none() && pool.get(3).is_some_and(|slot| slot.reading));
        let mut pages = Vec::new();
        pool.changed_first(4, &mut pages);
        assert_eq!(pages, [1]);
    }

    #[test]
    fn uniform_use_hits_by_the_share_that_fits() {
        let mut pool = Lru::new(300, 1000);
        let mut rng = Rng::from_seed(2);
        let mut hits = 0;
        for turn in 0..60_000 {
            let page = rng.below(1000) as u32;
            let hit = pool.touch(page);
            if !hit {
                pool.insert(page, false);
            }
            hits += u32::from(hit && turn >= 10_000);
        }
        // 50 000 draws of 0.3: a standard deviation of 0.2 %.
        assert!((f64::from(hits) / 50_000.0 - 0.3).abs() < 0.01, "{hits}");
    }
}
