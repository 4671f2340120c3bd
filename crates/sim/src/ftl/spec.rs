//! What is a flash translation layer made of, and what of it is impossible?

use iostack_model::Bytes;
use serde::Deserialize;

/// Numbers of blocks and pages. A page is the unit of mapping; several may share a page of the flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Number of physical pages.
    pub fn pages(&self) -> u64 {
        self.blocks() * u64::from(self.pages_per_block)
    }

    /// Number of erase blocks.
    pub fn blocks(&self) -> u64 {
        u64::from(self.planes) * u64::from(self.blocks_per_plane)
    }

    /// Physical over usable capacity, less 1.
    pub fn over_provisioning(&self) -> f64 {
        self.pages() as f64 / self.logical_pages as f64 - 1.0
    }
}

/// Rule that chooses the block to be collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The one with the fewest valid pages.
    Greedy,
    /// The one with the fewest valid pages of so many taken at random (d-choices).
    Choices(u32),
    /// The one that was filled first.
    Fifo,
    /// Any block, by chance.
    Random,
    /// The one with the greatest age x (1 - u) / 2u, u the valid share, age in host writes since it was filled
    /// (Kawaguchi, Nishioka, Motoda 1995).
    CostBenefit,
}

/// Writer of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The host, data of no known temperature.
    Host,
    /// The host, data that is likely to be overwritten soon; see [`super::Ftl::temperature`].
    Hot,
    /// The host, by a placement handle, of [`FtlSpec::streams`].
    Placed(u8),
    /// The collector, which moves pages.
    Moved,
}

/// Content of the flash at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartState {
    /// Nothing was ever written.
    Fresh,
    /// Every logical page was written once, in order.
    Filled,
    /// Then at random, until the write amplification no longer changed.
    Steady,
}

/// All that a translation layer is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FtlSpec {
    /// Blocks and pages.
    pub geometry: Geometry,
    /// Rule that chooses the block to be collected.
    pub victim: Victim,
    /// Hot data has open blocks of its own, also for what the collector moves of it.
    pub hot_cold: bool,
    /// Placement handles, each of which has open blocks of its own; 1: all data is of one. Not together with `hot_cold`.
    pub streams: u8,
    /// Data that the collector moves of a handle's blocks stays apart from the others' (persistently isolated, as NVM Express says); otherwise all
    /// that is moved comes together (initially isolated).
    pub isolated: bool,
    /// Consecutive pages that stay together in a plane, those of one page of the flash, before the next plane takes over.
    pub stripe_unit: u32,
    /// A logical page always lives in the same plane, [`super::Ftl::home`]; otherwise wherever there is room.
    pub fixed: bool,
    /// Free blocks of a plane at which it is collected in the foreground. At least 1.
    pub free_low: u32,
    /// A plane is collected in the background until it has so many free blocks. At least `free_low`, and 2.
    pub free_high: u32,
    /// The least worn block of a plane is collected when another has been erased so many times more; `None`: never for that.
    pub wear_spread: Option<u32>,
    /// Decides whatever chance does.
    pub seed: u64,
    /// Keeps a stamp with each physical page.
    pub stamps: bool,
}

/// Two values of a table entry have a meaning of their own.
const PAGES_MAX: u64 = u32::MAX as u64 - 2;
/// [`super::divide::Divisor`] takes 31 bits.
const PLANE_MAX: u64 = (1 << 31) - 1;
/// Most placement handles: what drives of today have.
pub(crate) const STREAMS_MAX: u8 = 8;
/// One bit of the count of valid pages has a meaning of its own.
const PAGES_PER_BLOCK_MAX: u32 = 32_767;

impl FtlSpec {
    /// Greedy, pages in turn over the planes wherever there is room, watermarks 1 and 2.
    pub fn greedy(geometry: Geometry) -> FtlSpec {
        FtlSpec {
            geometry,
            victim: Victim::Greedy,
            hot_cold: false,
            streams: 1,
            isolated: false,
            stripe_unit: 1,
            fixed: false,
            free_low: 1,
            free_high: 2,
            wear_spread: None,
            seed: 1,
            stamps: false,
        }
    }

    /// Open blocks of a plane.
    pub const fn open_blocks(&self) -> u32 {
        self.handles() as u32 + if self.keeps_apart() { self.handles() as u32 } else { 1 }
    }

    /// Handles that have open blocks of their own: for the host two where hot data is the second.
    pub(super) const fn handles(&self) -> u8 {
        if self.hot_cold { 2 } else { self.streams }
    }

    /// Data that is moved of their blocks does not come together.
    pub(super) const fn keeps_apart(&self) -> bool {
        self.hot_cold || self.isolated
    }

    /// Refuses what cannot work, and says what to do.
    pub(super) fn check(&self) -> Result<(), String> {
        let Geometry { planes, blocks_per_plane, pages_per_block, page, logical_pages } = self.geometry;
        let choices = if let Victim::Choices(count) = self.victim { count } else { 1 };
        let counts = [
            ("planes", u64::from(planes)),
            ("blocks in a plane", u64::from(blocks_per_plane)),
            ("pages in a block", u64::from(pages_per_block)),
            ("bytes in a page", page.0),
            ("logical pages", logical_pages),
            ("pages in a unit of the stripe", u64::from(self.stripe_unit)),
            ("free blocks as low watermark", u64::from(self.free_low)),
            ("blocks to choose a victim from", u64::from(choices)),
        ];
        if let Some((what, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(format!("there are no {what}; give at least 1"));
        }
        if self.streams == 0 || self.streams > STREAMS_MAX || self.streams > 1 && self.hot_cold {
            return Err(format!(
                "{} placement handles are not 1 to {STREAMS_MAX}, or hot data has a stream as well; give fewer, or one of both",
                self.streams
            ));
        }
        if pages_per_block > PAGES_PER_BLOCK_MAX {
            return Err(format!(
                "a block of {pages_per_block} mapped pages is longer than {PAGES_PER_BLOCK_MAX}; \
                 give fewer pages to a block or a larger mapping unit"
            ));
        }
        let in_plane = u64::from(blocks_per_plane) * u64::from(pages_per_block);
        let pages = u128::from(planes) * u128::from(in_plane);
        if pages > u128::from(PAGES_MAX) || in_plane > PLANE_MAX {
            return Err(format!(
                "{pages} mapped pages are more than {PAGES_MAX}, or those of a plane more than {PLANE_MAX}; \
                 give fewer blocks or a larger mapping unit"
            ));
        }
        let unit = self.stripe_unit;
        if !pages_per_block.is_multiple_of(unit) {
            return Err(format!(
                "a block of {pages_per_block} mapped pages is no multiple of the {unit} of a flash page"
            ));
        }
        let (low, high) = (self.free_low, self.free_high);
        if high < low.max(2) {
            return Err(format!(
                "free blocks {low} (low) and {high} (high): high must be at least low, and at least 2"
            ));
        }
        self.check_spare()
    }

    /// The collector must be able to win a block as long as one of the watermarks asks for it.
    fn check_spare(&self) -> Result<(), String> {
        let geometry = &self.geometry;
        let (physical, logical) = (geometry.pages(), geometry.logical_pages);
        if physical <= logical {
            return Err(format!(
                "{logical} pages do not fit into {physical} with any to spare; over-provision more, \
                 a page cannot be overwritten in place"
            ));
        }
        let row = u64::from(geometry.planes) * u64::from(self.stripe_unit);
        let in_plane = logical.div_ceil(row) * u64::from(self.stripe_unit);
        let in_blocks = in_plane.div_ceil(u64::from(geometry.pages_per_block));
        let (high, open) = (self.free_high, self.open_blocks());
        let needed = high + open;
        let spare = u64::from(geometry.blocks_per_plane).saturating_sub(in_blocks);
        if spare < u64::from(needed) {
            return Err(format!(
                "{spare} spare blocks in a plane are fewer than the {needed} needed ({high} free, {open} open); \
                 over-provision more, or lower the high watermark"
            ));
        }
        Ok(())
    }
}
