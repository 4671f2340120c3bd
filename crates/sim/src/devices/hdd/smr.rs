//! Where do the sectors of a disk with shingled tracks go, and what does it cost?
//!
//! ```text
//!   write ──► begins a band, or goes on where its band's stream stands? ──► in place
//!             else ──► next sectors of the media cache; without room, the band of what is oldest there is cleaned first
//!   idle ───► the band of what is oldest is cleaned: read, with what the media cache has of it, and written anew
//! ```
//!
//! The media cache is a log on the outermost tracks, which are not shingled. A band whose stream has broken off is in line to be
//! cleaned like any other. At the start all bands are written, and the media cache is empty.
//!
//! Left out: copies of the map, and a scratch band that guards a band while it is written.

use std::collections::{BTreeMap, VecDeque};

use crate::engine::Time;

/// A way of the head over sectors that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) writes: bool,
}

/// A run that entered the media cache at a position; nothing, but the beginning of a stream, if it has no sectors.
#[derive(Clone, Copy, Debug)]
struct Entry {
    position: u64,
    first: u64,
    count: u64,
}

/// Bands and the media cache; sizes in sectors.
#[derive(Clone, Debug)]
pub(super) struct Shingled {
    band: u64,
    /// Sectors of the host; those of the media cache follow.
    pub(super) host: u64,
    log: u64,
    /// Position in the log of the next sector. Positions rise for ever.
    head: u64,
    /// Runs of the host's sectors whose newest data are in the log: count and position by their first.
    map: BTreeMap<u64, (u64, u64)>,
    /// Entries from the oldest that may be alive on.
    entries: VecDeque<Entry>,
    /// Bands that were written from their beginning up to here.
    streams: BTreeMap<u64, u64>,
    /// ns without work until bands are cleaned.
    pub(super) idle: Option<u64>,
    /// Moment at which cleaning is to begin, if nothing comes.
    pub(super) due: Time,
    /// Sectors the host has written, and the head.
    pub(super) written: [u64; 2],
}

impl Shingled {
    pub(super) fn new(band: u64, host: u64, log: u64, idle: Option<u64>) -> Shingled {
        Shingled {
            band,
            host,
            log,
            head: 0,
            map: BTreeMap::new(),
            entries: VecDeque::new(),
            streams: BTreeMap::new(),
            idle,
            due: Time::MAX,
            written: [0; 2],
        }
    }

    /// True when nothing is to be cleaned.
    pub(super) fn is_clean(&self) -> bool {
        self.entries.is_empty()
    }

    /// Sectors of the log that cannot be written.
    pub(super) fn used(&self) -> u64 {
        self.head - self.entries.front().map_or(self.head, |oldest| oldest.position)
    }

    /// Sectors written for each that the host wrote; 0 without writes.
    pub(super) fn amplification(&self) -> f64 {
        self.written[1] as f64 / (self.written[0] as f64).max(1.0)
    }

    /// The sector that the head goes to for a read or a write of `first`.
    pub(super) fn place(&self, first: u64, writes: bool) -> u64 {
        match (writes, self.mapped(first, first + 1).next()) {
            (true, _) if self.streams_at(first) => first,
            (true, _) => self.host + self.head % self.log,
            (false, Some((.., position))) => self.host + position % self.log,
            (false, None) => first,
        }
    }

    fn streams_at(&self, first: u64) -> bool {
        first.is_multiple_of(self.band) || self.streams.get(&(first / self.band)) == Some(&first)
    }

    /// Parts of `first..last` that the log has: first, count, position.
    fn mapped(&self, first: u64, last: u64) -> impl Iterator<Item = (u64, u64, u64)> {
        let before = self.map.range(..first).next_back();
        before.into_iter().chain(self.map.range(first..last)).filter_map(
            move |(&from, &(count, position))| {
                let (begin, end) = (from.max(first), (from + count).min(last));
                (begin < end).then(|| (begin, end - begin, position + begin - from))
            },
        )
    }

    /// The log no longer has the newest of `first..last`.
    fn forget(&mut self, first: u64, last: u64) {
        let before = self.map.range(..first).next_back().map(|(&from, _)| from);
        let inside = self.map.range(first..last).map(|(&from, _)| from);
        for from in before.into_iter().chain(inside).collect::<Vec<_>>() {
            let (count, position) = self.map[&from];
            let end = from + count;
            if end <= first {
                continue;
            }
            self.map.remove(&from);
            if from < first {
                self.map.insert(from, (first - from, position));
            }
            if end > last {
                self.map.insert(last, (end - last, position + last - from));
            }
        }
    }

    /// Ways over positions of the log, in two where it begins anew.
    fn log_passes(&self, position: u64, count: u64, writes: bool) -> impl Iterator<Item = Pass> + use<> {
        let (at, log, host) = (position % self.log, self.log, self.host);
        let until = count.min(log - at);
        let ways = [(host + at, until), (host, count - until)];
        ways.into_iter().filter(|way| way.1 > 0).map(move |(first, count)| Pass { first, count, writes })
    }

    /// Ways of a read.
    pub(super) fn read(&self, first: u64, count: u64) -> Vec<Pass> {
        let (mut passes, mut next, last) = (Vec::new(), first, first + count);
        let in_place = |first, last| Pass { first, count: last - first, writes: false };
        for (from, count, position) in self.mapped(first, last) {
            passes.push(in_place(next, from));
            passes.extend(self.log_passes(position, count, false));
            next = from + count;
        }
        passes.push(in_place(next, last));
        passes.retain(|pass| pass.count > 0);
        passes
    }

    /// End of reading ahead that goes on from `next`: before what the log has.
    pub(super) fn ahead(&self, next: u64, limit: u64) -> u64 {
        self.mapped(next - 1, limit).next().map_or(limit.min(self.host), |(from, ..)| from.max(next))
    }

    /// Ways of a write: those of cleaning that makes room, then its own.
    pub(super) fn write(&mut self, first: u64, count: u64) -> [Vec<Pass>; 2] {
        let ([mut cleaning, mut own], mut next, last) = ([Vec::new(), Vec::new()], first, first + count);
        self.written[0] += count;
        self.written[1] += count;
        while next < last {
            let end = self.band_end(next / self.band).min(last);
            if self.streams_at(next) {
                own.push(Pass { first: next, count: end - next, writes: true });
                self.stream(next, end);
                next = end;
                continue;
            }
            let count = (end - next).min(self.log);
            self.drop_dead();
            while self.used() + count > self.log {
                cleaning.extend(self.clean().expect("the log is full of something"));
            }
            own.extend(self.log_passes(self.head, count, true));
            self.forget(next, next + count);
            self.map.insert(next, (count, self.head));
            self.entries.push_back(Entry { position: self.head, first: next, count });
            self.head += count;
            next += count;
        }
        [cleaning, own]
    }

    fn band_end(&self, band: u64) -> u64 {
        ((band + 1) * self.band).min(self.host)
    }

    /// A stream has written `first..last` of a band.
    fn stream(&mut self, first: u64, last: u64) {
        let band = first / self.band;
        self.forget(first, last);
        if last == self.band_end(band) {
            self.streams.remove(&band);
        } else if self.streams.insert(band, last).is_none() {
            self.entries.push_back(Entry { position: self.head, first, count: 0 });
        }
        self.drop_dead();
    }

    fn drop_dead(&mut self) {
        while let Some(&Entry { position, first, count }) = self.entries.front() {
            let here = |(.., at): (u64, u64, u64)| (position..position + count).contains(&at);
            let streams = count == 0 && self.streams.contains_key(&(first / self.band));
            if streams || self.mapped(first, first + count).any(here) {
                break;
            }
            self.entries.pop_front();
        }
    }

    /// Ways of cleaning the band of what is oldest; `None` when nothing is to be cleaned.
    pub(super) fn clean(&mut self) -> Option<Vec<Pass>> {
        self.drop_dead();
        let band = self.entries.front()?.first / self.band;
        let (first, last) = (band * self.band, self.band_end(band));
        let mut runs: Vec<_> =
            self.mapped(first, last).map(|(_, count, position)| (position, count)).collect();
        runs.sort_unstable();
        let whole = Pass { first, count: last - first, writes: false };
        let log = runs.into_iter().flat_map(|(position, count)| self.log_passes(position, count, false));
        let passes = [whole].into_iter().chain(log).chain([Pass { writes: true, ..whole }]).collect();
        self.forget(first, last);
        self.streams.remove(&band);
        self.written[1] += last - first;
        self.drop_dead();
        Some(passes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_workload::Rng;

    #[test]
    fn each_sector_is_read_where_it_was_written_last() {
        let (host, mut rng) = (1000, Rng::from_seed(7));
        let mut disk = Shingled::new(100, host, 150, None);
        let mut places: Vec<u64> = (0..host).collect();
        let sectors = |passes: &[Pass]| -> Vec<u64> {
            passes.iter().flat_map(|pass| pass.first..pass.first + pass.count).collect()
        };
        for _ in 0..20_000 {
            let most = [8, 30, 300][rng.below(3) as usize];
            let count = 1 + rng.below(most);
            let starts = [rng.below(host), rng.below(host) / 100 * 100];
            let first = starts[rng.below(2) as usize].min(host - count);
            assert_eq!(sectors(&disk.read(first, count)), places[first as usize..(first + count) as usize]);
            let [cleaning, own] = if rng.below(20) == 0 {
                [disk.clean().unwrap_or_default(), Vec::new()]
            } else {
                disk.write(first, count)
            };
            for sector in sectors(&cleaning.into_iter().filter(|pass| pass.writes).collect::<Vec<_>>()) {
                places[sector as usize] = sector;
            }
            let written = sectors(&own);
            assert!(written.is_empty() || written.len() as u64 == count);
            for (sector, &place) in (first..).zip(&written) {
                places[sector as usize] = place;
            }
            let mut logged: Vec<_> = places.iter().filter(|&&place| place >= host).collect();
            let count = logged.len();
            logged.sort_unstable();
            logged.dedup();
            assert!(logged.len() == count && count as u64 <= disk.used(), "a sector of the log is two's");
        }
    }
}
