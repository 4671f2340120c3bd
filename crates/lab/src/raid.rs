//! One disk of several: the kernel's md, without a superblock, as `mdadm --build` makes it.

use std::fmt;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

/// Way in which several disks are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raid {
    /// 0, 1, 5, 6 or 10.
    pub level: u32,
    /// KiB of a chunk; of no meaning to level 1.
    pub chunk_kib: u32,
}

/// Level, the fewest disks, and the kernel's module.
const LEVELS: [(u32, usize, &str); 5] =
    [(0, 1, "raid0"), (1, 2, "raid1"), (5, 3, "raid456"), (6, 4, "raid456"), (10, 2, "raid10")];

/// KiB of a chunk that nobody chose: mdadm's.
pub const CHUNK_KIB: u32 = 512;

/// A chunk is whole pages, and short enough for every disk.
const CHUNKS_KIB: std::ops::RangeInclusive<u32> = 4..=65536;

impl Raid {
    /// Refused where there is none such over so many disks.
    pub fn checked(level: u32, chunk_kib: u32, disks: usize) -> anyhow::Result<Raid> {
        let known = LEVELS.iter().find(|(known, ..)| *known == level);
        let unknown = || format!("`--raid {level}` is no level; choose from 0, 1, 5, 6, 10");
        let (_, least, _) = known.with_context(unknown)?;
        ensure!(
            disks >= *least,
            "RAID-{level} is over {least} disks or more; name them with commas: --on sim:x25e,x25e"
        );
        ensure!(
            CHUNKS_KIB.contains(&chunk_kib) && chunk_kib.is_power_of_two(),
            "`--chunk-kib {chunk_kib}` is no chunk; give a power of two from {} to {}",
            CHUNKS_KIB.start(),
            CHUNKS_KIB.end()
        );
        Ok(Raid { level, chunk_kib })
    }

    /// The kernel's module for it.
    pub(crate) fn module(self) -> &'static str {
        LEVELS.iter().find(|(level, ..)| *level == self.level).expect("it was looked for before").2
    }

    /// Bytes of the whole, over disks of these sizes; as little as the least lets it have.
    pub(crate) fn capacity(self, disks: &[u64]) -> u64 {
        let chunk = u64::from(self.chunk_kib) << 10;
        let whole = |bytes: u64| bytes / chunk * chunk;
        let (least, count) = (disks.iter().copied().min().unwrap_or_default(), disks.len() as u64);
        match self.level {
            0 => disks.iter().map(|&bytes| whole(bytes)).sum(),
            1 => least,
            5 => whole(least) * (count - 1),
            6 => whole(least) * (count - 2),
            // Two copies, and the last chunk of an odd number of disks has only one place.
            _ => whole(whole(least) * count / 2),
        }
    }

    /// Bytes of a chunk, 0 where there is none.
    pub(crate) fn chunk_bytes(self) -> u32 {
        if self.level == 1 { 0 } else { self.chunk_kib << 10 }
    }

    /// Number of the kernel's for the layout.
    pub(crate) fn layout(self) -> u32 {
        match self.level {
            // Left-symmetric, mdadm's.
            5 | 6 => 2,
            // Near copies, two of them.
            10 => 0x102,
            _ => 0,
        }
    }
}

impl fmt::Display for Raid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.chunk_bytes() {
            0 => write!(f, "{}", self.level),
            bytes => write!(f, "{}, chunks of {} KiB", self.level, bytes >> 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_much_is_left_of_the_disks() {
        let of = |level, disks: &[u64]| Raid { level, chunk_kib: 64 }.capacity(disks);
        let mib = 1 << 20;
        assert_eq!(of(0, &[mib + 5, mib]), 2 * mib);
        assert_eq!(of(0, &[3 * mib, mib]), 4 * mib, "what the larger has more is used, too");
        assert_eq!(of(1, &[mib + 512, 2 * mib]), mib + 512);
        assert_eq!((of(5, &[mib; 3]), of(6, &[mib; 5])), (2 * mib, 3 * mib));
        assert_eq!((of(10, &[mib; 4]), of(10, &[mib; 3])), (2 * mib, 24 * (64 << 10)));
    }

    #[test]
    fn what_is_none_is_refused() {
        for (level, chunk, disks, why) in [
            (2, 64, 3, "`--raid 2` is no level"),
            (5, 64, 2, "RAID-5 is over 3 disks or more"),
            (0, 3, 2, "`--chunk-kib 3` is no chunk"),
            (0, 24, 2, "`--chunk-kib 24` is no chunk"),
        ] {
            let error = Raid::checked(level, chunk, disks).expect_err(why).to_string();
            assert!(error.starts_with(why), "{error}");
        }
        let words = |level| Raid { level, chunk_kib: CHUNK_KIB }.to_string();
        assert_eq!([words(1), words(0)], ["1", "0, chunks of 512 KiB"]);
    }
}
