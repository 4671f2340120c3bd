//! Where are the planes?
//!
//! Planes are numbered in the order in which consecutive pages visit them (`flash.order`), so that "the next plane" is the
//! next number everywhere, in the translation layer as well. A plane belongs to a die, a die to a channel.

/// Counts of each kind of unit, in the order of the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnitCounts {
    pub(super) channels: u32,
    pub(super) chips: u32,
    pub(super) dies: u32,
    pub(super) planes: u32,
}

impl UnitCounts {
    pub(super) fn planes_in_all(self) -> u64 {
        u64::from(self.dies_in_all()) * u64::from(self.planes)
    }

    pub(super) fn dies_in_all(self) -> u32 {
        self.channels * self.chips * self.dies
    }
}

/// Table of planes, dies and channels: each plane's die, each die's channel.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) counts: UnitCounts,
    /// Die of each plane.
    pub(super) die: Vec<u16>,
    /// Channel of each die.
    pub(super) channel: Vec<u16>,
    /// Planes of all dies, one die after the other.
    planes: Vec<u32>,
    /// Dies in the order in which they are first visited.
    pub(super) order: Vec<u16>,
}

impl Layout {
    /// The planes in the order of `letters`, such as `cwdp`.
    pub(super) fn new(counts: UnitCounts, letters: &str) -> Layout {
        let (planes_in_all, dies_in_all) = (counts.planes_in_all() as usize, counts.dies_in_all() as usize);
        let mut die = Vec::with_capacity(planes_in_all);
        let mut channel = vec![0; dies_in_all];
        let mut planes = vec![0; planes_in_all];
        let mut order: Vec<u16> = Vec::with_capacity(dies_in_all);
        let mut seen = vec![false; dies_in_all];
        for number in 0..planes_in_all as u32 {
            let (mut rest, mut c, mut w, mut d, mut p) = (number, 0, 0, 0, 0);
            for letter in letters.bytes() {
                let (digit, base) = match letter {
                    b'c' => (&mut c, counts.channels),
                    b'w' => (&mut w, counts.chips),
                    b'd' => (&mut d, counts.dies),
                    _ => (&mut p, counts.planes),
                };
                *digit = rest % base;
                rest /= base;
            }
            let die_number = (c * counts.chips + w) * counts.dies + d;
            die.push(die_number as u16);
            channel[die_number as usize] = c as u16;
            planes[(die_number * counts.planes + p) as usize] = number;
            if !std::mem::replace(&mut seen[die_number as usize], true) {
                order.push(die_number as u16);
            }
        }
        Layout { counts, die, channel, planes, order }
    }

    /// The planes of a die.
    pub(super) fn planes_of(&self, die: u32) -> &[u32] {
        let count = self.counts.planes as usize;
        &self.planes[die as usize * count..][..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: UnitCounts = UnitCounts { channels: 3, chips: 2, dies: 4, planes: 2 };

    #[test]
    fn each_order_numbers_each_plane_once() {
        for letters in crate::sheet::words_of("flash.order") {
            let layout = Layout::new(COUNTS, letters);
            let mut planes = layout.planes.clone();
            planes.sort_unstable();
            assert!(planes.iter().copied().eq(0..48), "{letters}");
            let mut order = layout.order.clone();
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..24), "{letters}");
            for die in 0..24 {
                assert!(
                    layout.planes_of(die).iter().all(|&plane| u32::from(layout.die[plane as usize]) == die)
                );
                assert_eq!(u32::from(layout.channel[die as usize]), die / 8);
            }
        }
    }

    #[test]
    fn the_first_letter_changes_first() {
        let channels = |letters: &str| {
            let layout = Layout::new(COUNTS, letters);
            (0..4).map(|plane| layout.channel[usize::from(layout.die[plane])]).collect::<Vec<_>>()
        };
        assert_eq!(channels("cwdp"), [0, 1, 2, 0]);
        assert_eq!(channels("dpcw"), [0, 0, 0, 0]);
        assert_eq!(channels("wcdp"), [0, 0, 1, 1]);
    }
}
