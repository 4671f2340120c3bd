//! The cache against models that are too simple to be wrong.

use std::collections::BTreeMap;

use super::*;
use iostack_workload::Rng;

/// Pages by last use, the newest last, with whether each is dirty.
struct Naive {
    pages: Vec<(u32, bool)>,
    capacity: usize,
    window: usize,
}

impl Naive {
    /// Uses a page; the one that was written for it, if any.
    fn uses(&mut self, page: u32, writes: bool) -> (bool, Option<u32>) {
        let mut written = None;
        let found = self.pages.iter().position(|&(each, _)| each == page);
        let was_dirty = found.is_some_and(|at| self.pages.remove(at).1);
        if found.is_none() && self.pages.len() == self.capacity {
            let within = &self.pages[..self.window.max(1).min(self.capacity)];
            let victim = within.iter().position(|&(_, dirty)| !dirty).unwrap_or(0);
            let (page, dirty) = self.pages.remove(victim);
            written = dirty.then_some(page);
        }
        self.pages.push((page, was_dirty || writes));
        (found.is_some(), written)
    }
}

fn uses(cache: &mut PageCache, page: u32, writes: bool) -> (bool, Option<u32>) {
    let mut written = None;
    let found = cache.find(page);
    let slot = found.unwrap_or_else(|| {
        while let PageRoom::Write(page) = cache.room() {
            assert_eq!(written.replace(page), None, "one page in, one page out");
            cache.begin_writing(page);
        }
        let slot = cache.insert(page, PENDING);
        cache.filled(page);
        slot
    });
    cache.touch(slot);
    if writes {
        cache.soil(slot);
    }
    if let Some(page) = written {
        cache.written(page);
    }
    (found.is_some(), written)
}

#[test]
fn replacement_is_that_of_the_naive_model() {
    for seed in 0..60 {
        let mut rng = Rng::from_seed(seed);
        let capacity = 1 + rng.below(40) as usize;
        let window = rng.below(capacity as u64 + 1) as usize;
        let mut naive = Naive { pages: Vec::new(), capacity, window };
        let mut cache = PageCache::new(capacity, window);
        let (pages, writes) = (1 + rng.below(90), rng.below(100));
        for step in 0..3000 {
            let (page, is_write) = (rng.below(pages) as u32, rng.below(100) < writes);
            let expected = naive.uses(page, is_write);
            assert_eq!(uses(&mut cache, page, is_write), expected, "seed {seed} step {step}");
            assert_eq!(cache.len(), naive.pages.len());
            let dirty: Vec<u32> =
                std::iter::successors(cache.next_dirty(0), |&at| cache.next_dirty(at + 1)).collect();
            let mut theirs: Vec<u32> = naive.pages.iter().filter(|page| page.1).map(|page| page.0).collect();
            theirs.sort_unstable();
            assert_eq!((cache.dirty(), dirty), (theirs.len(), theirs));
        }
    }
}

/// Whatever order things happen in, the lists and counts stay true.
#[test]
fn pages_on_their_way_stay_and_all_counts_add_up() {
    for seed in 0..60 {
        let mut rng = Rng::from_seed(seed);
        let (capacity, window) = (2 + rng.below(30) as usize, rng.below(20) as usize);
        let mut cache = PageCache::new(capacity, window);
        let mut writing: Vec<u32> = Vec::new();
        let mut pending: Vec<u32> = Vec::new();
        for _ in 0..5000 {
            let page = rng.below(100) as u32;
            match (rng.below(6), cache.find(page)) {
                (0..=2, None) => match cache.room() {
                    PageRoom::Free => {
                        cache.insert(page, PENDING);
                        pending.push(page);
                    }
                    PageRoom::Write(page) => {
                        cache.begin_writing(page);
                        writing.push(page);
                    }
                    PageRoom::None => {
                        assert!(!writing.is_empty() || !pending.is_empty(), "nothing would ever change");
                    }
                },
                (0..=2, Some(slot)) if !cache.has(slot, PENDING) => {
                    cache.touch(slot);
                    if rng.below(2) == 0 {
                        cache.soil(slot);
                    }
                }
                (3, _) if !writing.is_empty() => {
                    cache.written(writing.swap_remove(rng.below(writing.len() as u64) as usize));
                }
                (4, _) if !pending.is_empty() => {
                    cache.filled(pending.swap_remove(rng.below(pending.len() as u64) as usize));
                }
                (5, _) => {
                    if let Some(page) = cache.next_dirty(page) {
                        cache.begin_writing(page);
                        writing.push(page);
                    }
                }
                _ => {}
            }
            assert_eq!(cache.writing, writing.len());
            let most = capacity + (capacity / 64).max(1);
            assert!(cache.len() <= most, "{} of {most}", cache.len());
            let flags = (0..100).filter_map(|page| cache.find(page)).filter(|&slot| cache.has(slot, PENDING));
            assert_eq!(flags.count(), pending.len());
        }
        for page in writing {
            cache.written(page);
        }
        let held = (0..100).filter(|&page| cache.holds(page)).count();
        assert_eq!(held, cache.len());
    }
}

/// A reader that reads `each` pages at a time; the windows that were read for it.
fn windows(most: u32, each: u32, reads: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut ahead = ReadAhead::new(most);
    let mut cached: BTreeMap<u32, bool> = BTreeMap::new();
    let mut list = Vec::new();
    for first in reads {
        for page in first..first + each {
            let wanted = first + each - page;
            let window = match cached.get(&page).copied() {
                None => Some(ahead.missed(page, wanted)),
                Some(true) => {
                    cached.insert(page, false);
                    let hole = (page..page + 1_000_000)
                        .find(|page| !cached.contains_key(page))
                        .expect("some page is not read");
                    ahead.marked(page, wanted, hole)
                }
                Some(false) => None,
            };
            if let Some(Window { first, count, marker }) = window {
                list.push((first, count));
                for page in first..first + count {
                    cached.entry(page).or_insert(marker == Some(page));
                }
            }
            ahead.passed(page);
        }
    }
    list
}

/// "readahead size: 16k, 32k, 64k, 128k, 128k .. for sequential reads": the comment above `get_next_ra_size`.
#[test]
fn the_windows_of_a_sequential_reader_are_linux_s() {
    assert_eq!(windows(32, 1, 0..100), [(0, 4), (4, 8), (12, 16), (28, 32), (60, 32), (92, 32), (124, 32)]);
    assert_eq!(
        windows(32, 4, (0..25).map(|at| at * 4)),
        [(0, 8), (8, 16), (24, 32), (56, 32), (88, 32), (120, 32)]
    );
    assert_eq!(windows(32, 64, [0, 64]), [(0, 32 + 32), (64, 32), (96, 32), (128, 32)]);
}

#[test]
fn a_random_reader_reads_what_it_asks_for() {
    assert_eq!(windows(32, 2, [1000, 500, 2000]), [(1000, 2), (500, 2), (2000, 2)]);
    assert_eq!(windows(0, 1, 0..3), [(0, 1), (1, 1), (2, 1)]);
}
