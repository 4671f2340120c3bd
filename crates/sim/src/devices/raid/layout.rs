//! Which member has which bytes?
//!
//! ```text
//!   RAID-0, 1, 10   columns take turns, a chunk each; a column is one member, or one of each copy
//!   RAID-5, 6       row r of n chunks has its parity at member n-1 - r%n, Q after it, then the data: left-symmetric, as md
//! ```

/// Bytes of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) member: usize,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Members take turns, a stripe unit each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StripeLayout {
    pub(super) unit: u64,
    /// Members that have data of a row, one for each column.
    pub(super) columns: u64,
    /// Members with the same bytes, one after the other.
    pub(super) copies: u64,
    /// Members of a row that have its parity.
    pub(super) parities: u64,
}

impl StripeLayout {
    pub(super) fn members(&self) -> usize {
        (self.columns * self.copies + self.parities) as usize
    }

    /// Bytes of data in a row.
    pub(super) fn row(&self) -> u64 {
        self.unit * self.columns
    }

    /// The member that has column `column` of the row, or its first copy; columns after the last are parities.
    pub(super) fn member(&self, row: u64, column: u64) -> usize {
        if self.parities == 0 {
            return (column * self.copies) as usize;
        }
        let members = self.columns + self.parities;
        let place = if column < self.columns { self.parities + column } else { column - self.columns };
        ((members - 1 - row % members + place) % members) as usize
    }

    /// Stretches of the members that have these bytes: one each where stripe units of a member follow each other, and more
    /// where parity lies between them. Of copies, the first.
    pub(super) fn shares(&self, offset: u64, length: u64) -> Vec<Share> {
        let (mut at, end) = (offset, offset + length);
        let mut shares: Vec<Share> = Vec::new();
        while at < end {
            let (unit, within) = (at / self.unit, at % self.unit);
            let length = (self.unit - within).min(end - at);
            let row = unit / self.columns;
            let member = self.member(row, unit % self.columns);
            let offset = row * self.unit + within;
            let before = shares.iter_mut().rev().find(|share| share.member == member);
            match before.filter(|share| share.offset + share.length == offset) {
                Some(share) => share.length += length,
                None => shares.push(Share { member, offset, length }),
            }
            at += length;
        }
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_requests_have_one_member_and_large_ones_a_stretch_of_each() {
        let layout = StripeLayout { unit: 100, columns: 3, copies: 1, parities: 0 };
        assert_eq!(layout.shares(320, 50), [Share { member: 0, offset: 120, length: 50 }]);
        let shares = layout.shares(250, 500);
        let expected = [(2, 50, 150), (0, 100, 200), (1, 100, 150)];
        assert_eq!(shares, expected.map(|(member, offset, length)| Share { member, offset, length }));
    }

    #[test]
    fn parity_moves_to_the_left_and_data_follow_it() {
        let places = |parities, rows: std::ops::Range<u64>| -> Vec<Vec<usize>> {
            let layout = StripeLayout { unit: 1, columns: 4 - parities, copies: 1, parities };
            rows.map(|row| (0..4).map(|column| layout.member(row, column)).collect()).collect()
        };
        // D0 D1 D2 P of `md`, left-symmetric; then D0 D1 P Q.
        assert_eq!(places(1, 0..2), [[0, 1, 2, 3], [3, 0, 1, 2]]);
        assert_eq!(places(2, 0..2), [[1, 2, 3, 0], [0, 1, 2, 3]]);
        assert_eq!(places(1, 4..5), places(1, 0..1));
    }
}
