//! Whose data is in a page that was written piece by piece?
//!
//! Flash keeps one stamp for a mapped page. Where a host writes less than a page, the stamp is the number of a record with
//! a stamp for each sector. Records are never given up: only verified runs of small writes make them.

use crate::engine::Request;

/// Stamps from here on are numbers of records.
const RECORDS: u32 = 1 << 31;
/// A sector whose stamp comes with the old page, which is still being read.
const MISSING: u32 = u32::MAX - 1;

#[derive(Clone, Debug)]
pub(super) struct Mixed {
    sector: u32,
    sectors: usize,
    records: Vec<Box<[u32]>>,
}

impl Mixed {
    /// A table for pages of `page` bytes, which are written in units of `sector` bytes.
    pub(super) fn new(page: u64, sector: u64) -> Mixed {
        Mixed { sector: sector as u32, sectors: (page / sector) as usize, records: Vec::new() }
    }

    /// The stamp of a page in which `length` bytes from `start` are `stamp`, and the rest is as in `old`; `None` while that
    /// is not known.
    pub(super) fn write(&mut self, old: Option<u32>, start: u32, length: u32, stamp: u32) -> u32 {
        assert!(stamp < RECORDS, "stamps end below {RECORDS}");
        let (first, count) = ((start / self.sector) as usize, (length / self.sector) as usize);
        if count == self.sectors {
            return stamp;
        }
        let mut record = self.expand(old);
        record[first..first + count].fill(stamp);
        self.records.push(record);
        RECORDS + self.records.len() as u32 - 1
    }

    /// Fills what was missing in `page` from `old`.
    pub(super) fn complete(&mut self, page: u32, old: u32) -> u32 {
        if page < RECORDS {
            return page;
        }
        let rest = self.expand(Some(old));
        let record = &mut self.records[(page - RECORDS) as usize];
        record
            .iter_mut()
            .zip(&rest)
            .filter(|(stamp, _)| **stamp == MISSING)
            .for_each(|(stamp, &old)| *stamp = old);
        page
    }

    /// The stamp that `length` bytes from `start` have in common, or [`Request::TORN`].
    pub(super) fn read(&self, page: u32, start: u32, length: u32) -> u32 {
        if page < RECORDS {
            return page;
        }
        let record = &self.records[(page - RECORDS) as usize];
        let found = &record[(start / self.sector) as usize..][..(length / self.sector).max(1) as usize];
        if found.iter().all(|&stamp| stamp == found[0]) { found[0] } else { Request::TORN }
    }

    fn expand(&self, page: Option<u32>) -> Box<[u32]> {
        match page {
            Some(record) if record >= RECORDS => self.records[(record - RECORDS) as usize].clone(),
            plain => vec![plain.unwrap_or(MISSING); self.sectors].into_boxed_slice(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_written_piece_by_piece_remembers_each_piece() {
        let mut mixed = Mixed::new(4096, 512);
        let page = mixed.write(Some(7), 512, 1024, 8);
        assert_eq!(
            [(0, 512), (512, 1024), (1536, 2560), (0, 1024)].map(|(a, b)| mixed.read(page, a, b)),
            [7, 8, 7, Request::TORN]
        );
        assert_eq!(mixed.write(Some(page), 0, 4096, 9), 9);
    }

    #[test]
    fn what_is_missing_comes_with_the_old_page() {
        let mut mixed = Mixed::new(4096, 512);
        let old = mixed.write(Some(1), 0, 512, 2);
        let page = mixed.write(None, 512, 512, 3);
        let page = mixed.complete(page, old);
        assert_eq!([0, 512, 1024].map(|start| mixed.read(page, start, 512)), [2, 3, 1]);
    }
}
