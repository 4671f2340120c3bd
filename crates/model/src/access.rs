//! Which bytes a job touches, in which order and direction, and how many at once.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Bytes;
use crate::possible::{Possible, guarded};

words! {
    /// Direction of one I/O.
    #[derive(PartialOrd, Ord, Hash)]
    #[serde(rename_all = "lowercase")]
    pub enum Direction {
        /// Data comes from the target.
        Read = "read",
        /// Data goes to the target.
        Write = "write",
        /// The target may forget the range (discard, hole punch).
        Trim = "trim",
    }
}

/// Shares of the directions in percent; they add up to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Mix {
    /// Percent of reads.
    pub read: u8,
    /// Percent of writes.
    pub write: u8,
    /// Percent of trims.
    pub trim: u8,
}

guarded!(Mix);

impl Possible for Mix {
    fn impossible(&self) -> Option<String> {
        let Mix { read, write, trim } = self;
        let all = u16::from(*read) + u16::from(*write) + u16::from(*trim);
        (all != 100).then(|| format!("mix of {read} + {write} + {trim} percent; it is 100"))
    }
}

impl Mix {
    /// Mix of reads only.
    pub const READ: Mix = Mix { read: 100, write: 0, trim: 0 };
    /// Mix of writes only.
    pub const WRITE: Mix = Mix { read: 0, write: 100, trim: 0 };
    /// Mix of trims only.
    pub const TRIM: Mix = Mix { read: 0, write: 0, trim: 100 };

    /// `read` percent reads, the rest writes.
    pub const fn reads(read: u8) -> Mix {
        Mix { read, write: 100 - read, trim: 0 }
    }

    /// The shares of so many reads, writes and trims. A direction that moved at all has 1 % at least: who asks whether
    /// anything is written must not be told no.
    pub fn of_counts(ios: [u64; 3]) -> Mix {
        let all = ios.iter().map(|&count| u128::from(count)).sum::<u128>().max(1);
        let share = |count: u64| (u128::from(count) * 100 / all).max(u128::from(count > 0)) as u8;
        let mut shares = ios.map(share);
        let most = (0..3).rev().max_by_key(|&each| ios[each]).unwrap_or(0);
        shares[most] = 100
            - shares.iter().enumerate().filter(|&(each, _)| each != most).map(|(_, share)| share).sum::<u8>();
        Mix { read: shares[0], write: shares[1], trim: shares[2] }
    }

    /// True when the job changes data on the target.
    pub const fn destroys(self) -> bool {
        self.write > 0 || self.trim > 0
    }

    /// The share of one direction in percent.
    pub const fn of(self, direction: Direction) -> u8 {
        match direction {
            Direction::Read => self.read,
            Direction::Write => self.write,
            Direction::Trim => self.trim,
        }
    }
}

/// Rule by which the next offset follows from the last one.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// One block after the other, from the start again at the end of the region.
    Sequential,
    /// One block, then `gap` bytes left out, and so on (fio's `rw=read:GAP`).
    Strided {
        /// Bytes skipped after each block.
        gap: Bytes,
    },
    /// Offsets that go from the end towards the start: each block begins `step` bytes before the end of the one
    /// before (fio's `rw=read:-STEP`).
    Backward {
        /// Bytes of a step: at least one block, or the next would lie behind.
        step: Bytes,
    },
    /// Offsets drawn by chance.
    Random {
        /// Independent draws, or each block once.
        order: Order,
        /// Distribution of the draws over the region.
        distribution: Distribution,
    },
}

impl Access {
    /// Independent uniform draws.
    pub const UNIFORM: Access =
        Access::Random { order: Order::Independent, distribution: Distribution::Uniform };

    /// Each block once per pass, in random order.
    pub const PERMUTATION: Access =
        Access::Random { order: Order::Permutation, distribution: Distribution::Uniform };
}

/// Rule for those I/Os of a random job that do not go to a place of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Follow {
    /// Percent of the reads, writes and trims that are at random (fio's `percentage_random`); the others go on behind the
    /// last one of their direction.
    pub random: [u8; 3],
    /// One of so many is at random (fio's `rw=randread:8`).
    pub run: u32,
    /// The others of a run repeat its place instead of going on behind it (fio's `rw_sequencer=identical`).
    pub again: bool,
}

impl Default for Follow {
    fn default() -> Self {
        Follow::NONE
    }
}

impl Follow {
    /// Each I/O has a place of its own.
    pub const NONE: Follow = Follow { random: [100; 3], run: 1, again: false };
}

/// `one of 8 at a place of its own, the others behind it`
impl fmt::Display for Follow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = if self.again { "in its place" } else { "behind it" };
        match (self.run, self.random) {
            (0 | 1, [100, 100, 100]) => f.write_str("each at a place of its own"),
            (0 | 1, [read, write, trim]) if read == write && write == trim => {
                write!(f, "{read} % at a place of their own, the others behind it")
            }
            (0 | 1, [read, write, trim]) => {
                write!(
                    f,
                    "{read}/{write}/{trim} % (read/write/trim) at a place of their own, the others behind it"
                )
            }
            (run, _) => write!(f, "one of {run} at a place of its own, the others {others}"),
        }
    }
}

/// Parts of the region that are worked on one after the other (fio's `zonemode=strided`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Zones {
    /// Bytes of I/O in each, before the next.
    pub size: Bytes,
    /// Bytes that each reaches over.
    pub range: Bytes,
    /// Bytes between them.
    pub skip: Bytes,
}

/// `zones of 16MiB with 1GiB of I/O in each, 64MiB apart`
impl fmt::Display for Zones {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zones of {} with {} of I/O in each, {} apart", self.range, self.size, self.skip)
    }
}

/// Zones that are written from their start on (fio's `zonemode=zbd`), of a target that has none of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WritePointers {
    /// Bytes from the start of one to the start of the next.
    pub zone: Bytes,
    /// Bytes of each that are written.
    pub capacity: Bytes,
    /// So many are written at a time; 0: any number.
    pub open_most: u32,
    /// Reads also go where nothing was written.
    pub reads_beyond: bool,
}

/// `zones of 64MiB of which 48MiB are written from their start on, 2 at a time`
impl fmt::Display for WritePointers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zones of {} of which {} are written from their start on", self.zone, self.capacity)?;
        if self.open_most > 0 { write!(f, ", {} at a time", self.open_most) } else { Ok(()) }
    }
}

/// Choice of the next one of several files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileOrder {
    /// One after the other, each for some I/Os, and again.
    #[default]
    Turns,
    /// A random file of those that have something left in this pass.
    Random,
    /// The next when one is done.
    Sequential,
}

with_defaults! {
    /// Rule by which another file comes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct FileTurns {
        /// Choice of the next file.
        pub order: FileOrder,
        /// Number of I/Os after which another file comes.
        pub every: u32 = 1,
    }
}

/// `another file after 4 I/Os, by chance`
impl fmt::Display for FileTurns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after =
            format!("another file after {} I/O{}", self.every, if self.every == 1 { "" } else { "s" });
        match self.order {
            FileOrder::Turns => write!(f, "{after}, in turn"),
            FileOrder::Random => write!(f, "{after}, by chance"),
            FileOrder::Sequential => f.write_str("another file when one is done"),
        }
    }
}

/// Repetition of random offsets before all others have been visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each draw is independent (fio's `norandommap`).
    Independent,
    /// Each block of the region once before any comes again (fio's default).
    Permutation,
}

/// Distribution of a random access over the region. Anything but `Uniform` implies independent draws.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// All blocks alike.
    Uniform,
    /// Rank r is drawn with weight 1 / r^theta; ranks are scattered over the region.
    Zipf {
        /// Exponent, above 0 and not 1.
        theta: f64,
    },
    /// Pareto with power h in (0, 1): fio's `pareto:h`.
    Pareto {
        /// Power of the distribution, between 0 and 1.
        h: f64,
    },
    /// Normal around the middle of the region: fio's `normal:d`.
    Normal {
        /// Standard deviation in percent of the region.
        deviation_percent: f64,
    },
    /// Zones laid one after the other; hot/cold is two of them (fio's `zoned:90/10:10/90`).
    Zoned(Vec<Zone>),
}

/// One zone of [`Distribution::Zoned`]: this share of the accesses goes to this share of the region.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Zone {
    /// Percent of accesses.
    pub access_percent: f64,
    /// Percent of the region.
    pub size_percent: f64,
}

/// Block sizes with their weights in percent, for each direction; never empty.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct BlockSizes {
    /// `(size, percent)` of reads; the percents add up to 100.
    pub read: Vec<(Bytes, u8)>,
    /// The same of writes.
    pub write: Vec<(Bytes, u8)>,
    /// The same of trims.
    pub trim: Vec<(Bytes, u8)>,
}

impl BlockSizes {
    /// One size for everything.
    pub fn all(size: Bytes) -> Self {
        let one = vec![(size, 100)];
        BlockSizes { read: one.clone(), write: one.clone(), trim: one }
    }

    /// Sizes and weights of one direction.
    pub fn of(&self, direction: Direction) -> &[(Bytes, u8)] {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }

    /// Smallest size of any direction.
    pub fn smallest(&self) -> Bytes {
        self.each().min().unwrap_or_default()
    }

    /// Largest size of any direction.
    pub fn largest(&self) -> Bytes {
        self.each().max().unwrap_or_default()
    }

    fn each(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.read.iter().chain(&self.write).chain(&self.trim).map(|&(size, _)| size)
    }
}

/// A size, or a share of the target's.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// So many bytes.
    Bytes(Bytes),
    /// Percent of the target.
    Percent(f64),
}

impl Amount {
    /// The amount of a target of `whole` bytes.
    pub fn of(self, whole: Bytes) -> Bytes {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => Bytes((whole.0 as f64 * percent / 100.0) as u64),
        }
    }
}
