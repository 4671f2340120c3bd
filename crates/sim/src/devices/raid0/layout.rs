//! Which member has which bytes?

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
    pub(super) members: u64,
}

impl StripeLayout {
    /// Stretches of the members that have these bytes: one each, since stripe units of a member follow each other.
    pub(super) fn shares(&self, offset: u64, length: u64) -> Vec<Share> {
        let (mut at, end) = (offset, offset + length);
        let mut shares: Vec<Share> = Vec::new();
        while at < end {
            let (unit, within) = (at / self.unit, at % self.unit);
            let length = (self.unit - within).min(end - at);
            let member = (unit % self.members) as usize;
            if let Some(share) = shares.iter_mut().find(|share| share.member == member) {
                share.length += length;
            } else {
                let offset = unit / self.members * self.unit + within;
                shares.push(Share { member, offset, length });
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
        let layout = StripeLayout { unit: 100, members: 3 };
        assert_eq!(layout.shares(320, 50), [Share { member: 0, offset: 120, length: 50 }]);
        let shares = layout.shares(250, 500);
        let expected = [(2, 50, 150), (0, 100, 200), (1, 100, 150)];
        assert_eq!(shares, expected.map(|(member, offset, length)| Share { member, offset, length }));
    }
}
