//! What is a flash translation layer made of, and what of it is impossible?

use iostack_model::Bytes;

/// How many blocks and pages there are. A page is the unit of mapping; several may share a page of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Planes of all dies of all channels.
    pub planes: u32,
    /// Erase blocks of a plane.
    pub blocks_per_plane: u32,
    /// Pages of an erase block.
    pub pages_per_block: u32,
    /// Bytes of a page.
    pub page: Bytes,
    /// Pages that the host sees.
    pub logical_pages: u64,
}

impl Geometry {
    /// Physical pages.
    pub fn pages(&self) -> u64 {
        self.blocks() * u64::from(self.pages_per_block)
    }

    /// Erase blocks.
    pub fn blocks(&self) -> u64 {
        u64::from(self.planes) * u64::from(self.blocks_per_plane)
    }

    /// Physical over usable capacity, less 1.
    pub fn over_provisioning(&self) -> f64 {
        self.pages() as f64 / self.logical_pages as f64 - 1.0
    }
}

/// Which block is collected?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The one with the fewest valid pages.
    Greedy,
    /// The one with the fewest valid pages of so many taken at random (d-choices).
    Choices(u32),
    /// The one that was filled first.
    Fifo,
    /// Any.
    Random,
    /// The one with the greatest age x (1 - u) / 2u, u the valid share, age in host writes since it was filled
    /// (Kawaguchi, Nishioka, Motoda 1995).
    CostBenefit,
}

/// Who writes a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The host.
    Host,
    /// The host, data that is likely to be overwritten soon; see [`super::Ftl::temperature`].
    Hot,
    /// The collector.
    Moved,
}

/// Which streams have open blocks of their own, in each plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// None: one log.
    One,
    /// The collector.
    Moved,
    /// The collector, and hot data.
    HotCold,
}

impl Streams {
    /// Open blocks of a plane.
    pub const fn open(self) -> u32 {
        match self {
            Streams::One => 1,
            Streams::Moved => 2,
            Streams::HotCold => 3,
        }
    }
}

/// What the flash holds at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Fresh,
    /// Every logical page was written once, in order.
    Filled,
    /// Then at random, until the write amplification no longer changed.
    Steady,
}

/// Over which planes consecutive pages go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripe {
    /// Every plane once, in order of allocation.
    pub planes: Vec<u32>,
    /// Consecutive pages that stay together: those of one page of the flash.
    pub unit: u32,
    /// A logical page always lives in the same plane, [`super::Ftl::home`].
    pub fixed: bool,
}

impl Stripe {
    /// Planes in order of their numbers, page by page, wherever there is room.
    pub fn plain(planes: u32) -> Stripe {
        Stripe { planes: (0..planes).collect(), unit: 1, fixed: false }
    }

    /// The order of four letters, the fastest first: `cwdp` is channel, way (chip), die, plane. Planes are numbered
    /// ((channel x ways + way) x dies + die) x planes + plane. `None` when a letter is missing or there twice.
    pub fn order(letters: &str, channels: u32, ways: u32, dies: u32, planes: u32) -> Option<Vec<u32>> {
        let counts = [('c', channels), ('w', ways), ('d', dies), ('p', planes)];
        let index = |letter| counts.iter().position(|&(name, _)| name == letter);
        let order = letters.chars().map(index).collect::<Option<Vec<_>>>()?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if sorted != [0, 1, 2, 3] {
            return None;
        }
        let of = |mut number: u32| {
            let mut digits = [0; 4];
            for &index in &order {
                digits[index] = number % counts[index].1;
                number /= counts[index].1;
            }
            digits.iter().zip(counts).fold(0, |sum, (digit, (_, count))| sum * count + digit)
        };
        Some((0..channels * ways * dies * planes).map(of).collect())
    }
}

/// All that a translation layer is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FtlSpec {
    /// Blocks and pages.
    pub geometry: Geometry,
    /// Which block is collected.
    pub victim: Victim,
    /// Which streams have open blocks of their own.
    pub streams: Streams,
    /// Over which planes consecutive pages go.
    pub stripe: Stripe,
    /// With so many free blocks or fewer, a plane is collected in the foreground. At least 1.
    pub free_low: u32,
    /// A plane is collected in the background until it has so many free blocks. At least `free_low`, and 2.
    pub free_high: u32,
    /// Decides whatever chance does.
    pub seed: u64,
    /// Keeps a stamp with each physical page.
    pub stamps: bool,
}

impl FtlSpec {
    /// Greedy, with a stream for moved pages, watermarks 1 and 2, planes in order.
    pub fn of(geometry: Geometry) -> FtlSpec {
        FtlSpec {
            geometry,
            victim: Victim::Greedy,
            streams: Streams::Moved,
            stripe: Stripe::plain(geometry.planes),
            free_low: 1,
            free_high: 2,
            seed: 1,
            stamps: false,
        }
    }

    /// Refuses what cannot work.
    pub(super) fn check(&self) -> Result<(), FtlError> {
        let geometry = &self.geometry;
        let zero = [
            ("planes", u64::from(geometry.planes)),
            ("blocks in a plane", u64::from(geometry.blocks_per_plane)),
            ("pages in a block", u64::from(geometry.pages_per_block)),
            ("bytes in a page", geometry.page.0),
            ("logical pages", geometry.logical_pages),
            ("pages in a unit of the stripe", u64::from(self.stripe.unit)),
            ("free blocks as low watermark", u64::from(self.free_low)),
        ];
        if let Some(&(what, _)) = zero.iter().find(|&&(_, count)| count == 0) {
            return Err(FtlError::Zero { what });
        }
        if self.victim == Victim::Choices(0) {
            return Err(FtlError::Zero { what: "blocks to choose a victim from" });
        }
        if geometry.pages_per_block > PAGES_PER_BLOCK_MAX {
            return Err(FtlError::LongBlock { pages: geometry.pages_per_block });
        }
        let pages = u128::from(geometry.blocks()) * u128::from(geometry.pages_per_block);
        let in_plane = u64::from(geometry.blocks_per_plane) * u64::from(geometry.pages_per_block);
        if pages > u128::from(PAGES_MAX) || in_plane > PLANE_MAX {
            return Err(FtlError::TooManyPages { pages });
        }
        let unit = self.stripe.unit;
        if !geometry.pages_per_block.is_multiple_of(unit) {
            return Err(FtlError::Unit { pages_per_block: geometry.pages_per_block, unit });
        }
        let mut planes = self.stripe.planes.clone();
        planes.sort_unstable();
        if !planes.into_iter().eq(0..geometry.planes) {
            return Err(FtlError::Stripe { planes: geometry.planes });
        }
        if self.free_high < self.free_low.max(2) {
            return Err(FtlError::Watermarks { low: self.free_low, high: self.free_high });
        }
        self.check_spare()
    }

    /// The collector must be able to win a block as long as one of the watermarks asks for it.
    fn check_spare(&self) -> Result<(), FtlError> {
        let geometry = &self.geometry;
        let (physical, logical) = (geometry.pages(), geometry.logical_pages);
        if physical <= logical {
            return Err(FtlError::NoSpare { physical, logical });
        }
        let row = u64::from(geometry.planes) * u64::from(self.stripe.unit);
        let in_plane = logical.div_ceil(row) * u64::from(self.stripe.unit);
        let in_blocks = in_plane.div_ceil(u64::from(geometry.pages_per_block));
        let reserve = self.free_high + self.streams.open();
        let spare = u64::from(geometry.blocks_per_plane).saturating_sub(in_blocks);
        if spare < u64::from(reserve) {
            return Err(FtlError::LittleSpare {
                spare,
                needed: reserve,
                high: self.free_high,
                open: self.streams.open(),
            });
        }
        Ok(())
    }
}

/// Two values of a table entry have a meaning of their own.
const PAGES_MAX: u64 = u32::MAX as u64 - 2;
/// [`super::divide::Divisor`] takes 31 bits.
const PLANE_MAX: u64 = (1 << 31) - 1;
/// One bit of the count of valid pages has a meaning of its own.
const PAGES_PER_BLOCK_MAX: u32 = 32_767;

/// No flash can be like that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FtlError {
    /// Nothing of something.
    #[error("there are no {what}; give at least 1")]
    Zero {
        /// Of what.
        what: &'static str,
    },
    /// The count of valid pages has 15 bits.
    #[error(
        "a block of {pages} mapped pages is longer than {PAGES_PER_BLOCK_MAX}; give fewer pages to a block or a larger mapping unit"
    )]
    LongBlock {
        /// As given.
        pages: u32,
    },
    /// A page's number has 32 bits.
    #[error(
        "{pages} mapped pages are more than {PAGES_MAX}, or those of a plane more than {PLANE_MAX}; give fewer blocks or a larger mapping unit"
    )]
    TooManyPages {
        /// In all.
        pages: u128,
    },
    /// A page of the flash lies in two blocks.
    #[error("a block of {pages_per_block} mapped pages is no multiple of the {unit} of a flash page")]
    Unit {
        /// As given.
        pages_per_block: u32,
        /// As given.
        unit: u32,
    },
    /// The stripe does not visit each plane once.
    #[error("the stripe does not visit each of the {planes} planes once")]
    Stripe {
        /// There are.
        planes: u32,
    },
    /// The collector would stop before it may start.
    #[error("free blocks {low} (low) and {high} (high): high must be at least low, and at least 2")]
    Watermarks {
        /// Foreground.
        low: u32,
        /// Background.
        high: u32,
    },
    /// Zero over-provisioning.
    #[error(
        "{logical} pages do not fit into {physical} with any to spare; over-provision more, a page cannot be overwritten in place"
    )]
    NoSpare {
        /// Pages of the flash.
        physical: u64,
        /// Pages that the host sees.
        logical: u64,
    },
    /// Too little of it for the watermarks.
    #[error(
        "{spare} spare blocks in a plane are fewer than the {needed} needed ({high} free, {open} open); over-provision more, or lower the high watermark"
    )]
    LittleSpare {
        /// Blocks of a plane less those that the host's data fills.
        spare: u64,
        /// Needed.
        needed: u32,
        /// Free blocks until which is collected.
        high: u32,
        /// Open blocks.
        open: u32,
    },
}
