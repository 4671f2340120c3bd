//! Which I/Os of the members does a row of a parity array take? Nothing is done here.
//!
//! ```text
//!   write    read-modify-write   old data and old parity     or reconstruct: the rest of the row     the fewer I/Os
//!   read     of a member that failed: the same bytes of all others that are needed
//! ```

use super::layout::{Share, StripeLayout};

/// Begin and end.
pub(super) type ByteSpan = (u64, u64);

/// An I/O of a member, and whether its bytes are parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberIo {
    pub(super) share: Share,
    pub(super) is_parity: bool,
}

/// I/Os of a row: the writes follow the reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) reads: Vec<MemberIo>,
    pub(super) writes: Vec<MemberIo>,
    /// Bytes that parity, or data of a failed member, is computed from, for each parity.
    pub(super) mixed: u64,
}

/// A row, and which of its columns are lost; parities are the last columns.
pub(super) struct StripeRow<'a> {
    pub(super) layout: &'a StripeLayout,
    pub(super) number: u64,
    pub(super) lost: Vec<bool>,
}

/// Spans in order, those that touch as one.
fn union(mut spans: Vec<ByteSpan>) -> Vec<ByteSpan> {
    spans.sort_unstable();
    let mut whole: Vec<ByteSpan> = Vec::new();
    for (first, end) in spans {
        match whole.last_mut() {
            Some(last) if last.1 >= first => last.1 = last.1.max(end),
            _ => whole.push((first, end)),
        }
    }
    whole
}

/// The part of `all` that is not in `some`, both in order.
fn without(all: &[ByteSpan], some: &[ByteSpan]) -> Vec<ByteSpan> {
    let mut rest = Vec::new();
    for &(start, end) in all {
        let mut first = start;
        for &(from, to) in some.iter().filter(|some| some.0 < end && some.1 > start) {
            if from > first {
                rest.push((first, from));
            }
            first = to;
        }
        if first < end {
            rest.push((first, end));
        }
    }
    rest
}

impl StripeRow<'_> {
    fn ios(&self, column: usize, spans: &[ByteSpan], into: &mut Vec<MemberIo>) {
        let member = self.layout.member(self.number, column as u64);
        let is_parity = column as u64 >= self.layout.columns;
        into.extend(spans.iter().map(|&(first, end)| {
            let offset = self.number * self.layout.unit + first;
            MemberIo { share: Share { member, offset, length: end - first }, is_parity }
        }));
    }

    /// Spans within the unit of each column of data, of spans of the array's bytes that are in this row.
    fn columns(&self, pieces: &[ByteSpan]) -> Vec<Vec<ByteSpan>> {
        let (unit, start) = (self.layout.unit, self.number * self.layout.row());
        let of_column = |column: u64| {
            let base = start + column * unit;
            let cut = |&(first, end): &ByteSpan| (first.max(base), end.min(base + unit));
            let within = pieces.iter().map(cut).filter(|(first, end)| first < end);
            union(within.map(|(first, end)| (first - base, end - base)).collect())
        };
        (0..self.layout.columns).map(of_column).collect()
    }

    /// Columns with which all others can be computed: data first.
    fn sources(&self) -> impl Iterator<Item = usize> {
        (0..self.lost.len()).filter(|&column| !self.lost[column]).take(self.layout.columns as usize)
    }

    /// Takes these bytes to the members, and new parity of them.
    pub(super) fn write(&self, pieces: &[ByteSpan]) -> Plan {
        let data = self.columns(pieces);
        let all = union(data.iter().flatten().copied().collect());
        let parities = data.len()..self.lost.len();
        let mut plan = Plan::default();
        for (column, spans) in data.iter().enumerate().filter(|(column, _)| !self.lost[*column]) {
            self.ios(column, spans, &mut plan.writes);
        }
        let kept: Vec<usize> = parities.filter(|&column| !self.lost[column]).collect();
        for &column in &kept {
            self.ios(column, &all, &mut plan.writes);
        }
        if kept.is_empty() {
            return plan;
        }
        let mut ways = Vec::new();
        let gaps: Vec<_> = data.iter().map(|spans| without(&all, spans)).collect();
        if (0..data.len()).all(|column| gaps[column].is_empty() || !self.lost[column]) {
            let mut reads = Vec::new();
            gaps.iter().enumerate().for_each(|(column, gaps)| self.ios(column, gaps, &mut reads));
            ways.push(reads);
        }
        if (0..data.len()).all(|column| data[column].is_empty() || !self.lost[column]) {
            let mut reads = Vec::new();
            data.iter().enumerate().for_each(|(column, spans)| self.ios(column, spans, &mut reads));
            for &column in &kept {
                self.ios(column, &all, &mut reads);
            }
            ways.push(reads);
        }
        if ways.is_empty() {
            let mut reads = Vec::new();
            self.sources().for_each(|column| self.ios(column, &all, &mut reads));
            ways.push(reads);
        }
        let bytes = |ios: &[MemberIo]| -> u64 { ios.iter().map(|io| io.share.length).sum() };
        // The first of those that are alike is taken: reconstruct, as md does.
        plan.reads = ways.into_iter().min_by_key(|reads| (reads.len(), bytes(reads))).unwrap_or_default();
        let new: u64 = data.iter().flatten().map(|(first, end)| end - first).sum();
        plan.mixed = (bytes(&plan.reads) + new) * kept.len() as u64;
        plan
    }

    /// Reads these bytes, some of which are of a member that failed; `None` when none are.
    pub(super) fn read(&self, pieces: &[ByteSpan]) -> Option<Plan> {
        let data = self.columns(pieces);
        let lost = (0..data.len()).filter(|&column| self.lost[column]);
        let lost = union(lost.flat_map(|column| data[column].iter().copied()).collect());
        if lost.is_empty() {
            return None;
        }
        let mut plan = Plan::default();
        for column in self.sources() {
            let own = data.get(column).into_iter().flatten().copied();
            self.ios(column, &union(lost.iter().copied().chain(own).collect()), &mut plan.reads);
        }
        plan.mixed = lost.iter().map(|(first, end)| end - first).sum::<u64>() * self.layout.columns;
        Some(plan)
    }

    /// Writes what the lost columns had to the members that took their place.
    pub(super) fn rebuild(&self) -> Plan {
        let (unit, mut plan) = (self.layout.unit, Plan::default());
        self.sources().for_each(|column| self.ios(column, &[(0, unit)], &mut plan.reads));
        for column in (0..self.lost.len()).filter(|&column| self.lost[column]) {
            self.ios(column, &[(0, unit)], &mut plan.writes);
        }
        plan.mixed = unit * self.layout.columns * plan.writes.len() as u64;
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads and writes of a plan for a row of `columns` and `parities`, without those of `lost` columns.
    fn counts(columns: u64, parities: u64, lost: &[usize], pieces: &[ByteSpan]) -> (usize, usize) {
        let layout = StripeLayout { unit: 100, columns, copies: 1, parities };
        let lost = (0..layout.members()).map(|column| lost.contains(&column)).collect();
        let plan = StripeRow { layout: &layout, number: 0, lost }.write(pieces);
        (plan.reads.len(), plan.writes.len())
    }

    #[test]
    fn a_small_write_takes_the_fewer_reads() {
        let small = [(10, 20)];
        // One read of the other column, or of old data and old parity; then Q, too.
        assert_eq!(
            [2, 3, 4, 9].map(|columns| counts(columns, 1, &[], &small)),
            [(1, 2), (2, 2), (2, 2), (2, 2)]
        );
        assert_eq!(
            [2, 4, 5, 9].map(|columns| counts(columns, 2, &[], &small)),
            [(1, 3), (3, 3), (3, 3), (3, 3)]
        );
    }

    #[test]
    fn a_whole_stripe_reads_nothing_and_most_of_one_the_rest() {
        assert_eq!(counts(4, 1, &[], &[(0, 400)]), (0, 5));
        assert_eq!(counts(4, 2, &[], &[(200, 400), (0, 200)]), (0, 6));
        assert_eq!(counts(4, 1, &[], &[(0, 300)]), (1, 4));
        // Of the second column only what the parity's range covers.
        assert_eq!(counts(2, 1, &[], &[(0, 30), (120, 130)]), (1, 3));
    }

    #[test]
    fn writes_go_on_without_what_failed() {
        let small = [(10, 20)];
        // The parity; the data itself; another column, which reconstructing would need.
        assert_eq!(counts(4, 1, &[4], &small), (0, 1));
        assert_eq!(counts(4, 1, &[0], &small), (3, 1));
        assert_eq!(counts(4, 1, &[1], &small), (2, 2));
        assert_eq!(counts(4, 2, &[4], &small), (2, 2));
        assert_eq!(counts(4, 2, &[0], &small), (3, 2));
        // Two of the data: neither way is open, so all is read that is left.
        assert_eq!(counts(4, 2, &[0, 1], &small), (4, 2));
    }

    #[test]
    fn what_failed_is_read_from_all_others_and_nothing_twice() {
        let layout = StripeLayout { unit: 100, columns: 3, copies: 1, parities: 1 };
        let read = |lost: usize, pieces: &[ByteSpan]| {
            let lost = (0..4).map(|column| column == lost).collect();
            StripeRow { layout: &layout, number: 0, lost }.read(pieces).map(|plan| plan.reads.len())
        };
        assert_eq!([read(1, &[(10, 20)]), read(3, &[(10, 20)])], [None, None]);
        assert_eq!([read(0, &[(10, 20)]), read(0, &[(0, 300)])], [Some(3), Some(3)]);
    }
}
