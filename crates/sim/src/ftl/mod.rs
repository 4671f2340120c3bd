//! Where does flash put a page, and what must be moved for it?
//!
//! ```text
//!   write ──► open block of the plane ──full──► candidate ──victim──► next_valid, relocate .. ──► erase ──► free
//!                                                   ▲ an overwrite or a trim lowers its count of valid pages
//! ```
//!
//! A page-mapped translation layer without time: each call says what happens to pages and blocks, and the caller (a device,
//! or [`Ftl::write_timeless`]) decides when. A page is the unit of mapping. Memory is 8 bytes per physical page, and is
//! touched only where something was written: a drive of any size starts at once, also full ([`Ftl::precondition`]).
//!
//! **Writing.** Choose a plane ([`Ftl::home`] for a fixed stripe, else any), wait until
//! [`Ftl::room`], then [`Ftl::write`]. Pages of a stream follow each other in a plane's open block, so that consecutive writes
//! to a plane share pages of the flash. The page is mapped at once; a device reads from its buffer what is not yet programmed.
//!
//! **Collecting**, each plane for itself, one victim at a time, page by page, with writes in between:
//!
//! ```text
//!   while ftl.urgency(plane) >= what you want to do now {
//!       let Some(victim) = ftl.victim(plane) else { break };          // nothing to gain: use another plane
//!       let mut cursor = 0;
//!       while let Some((lpn, from)) = ftl.next_valid(victim, &mut cursor) {
//!           .. read `from` ..
//!           if let Some(to) = ftl.relocate(lpn, from) { .. program `to` .. }   // None: overwritten or trimmed meanwhile
//!       }
//!       .. erase ..
//!       ftl.erase(victim);
//!   }
//! ```
//!
//! [`Ftl::victim`] gives the same block until it is erased. [`Ftl::relocate`] may be called for several pages whose reads
//! are under way at once. Between `room` and `write`, nothing else may take room of that plane and stream.
//!
//! **It cannot get stuck.** The host never gets the last free block of a plane, so the victim's pages always have a place to go
//! to, and its erase gives the block back. Where `room` is false, `victim` therefore is `Some` and collecting makes room,
//! but for a plane whose full blocks hold nothing but valid pages (in a stripe that is not fixed, planes differ by chance).
//! Then another plane has room or a victim: [`Ftl::new`] refuses over-provisioning for which that is not so. With
//! [`Urgency::Foreground`] and no victim, write as long as there is room.
//!
//! Start reading at [`Ftl::write`].

mod audit;
mod collect;
mod divide;
mod layout;
mod map;
mod precondition;
mod rows;
mod shuffle;
mod spec;
mod steady;
mod sys;
mod victims;
mod wear;

use std::collections::VecDeque;

use iostack_model::{Bytes, FlashUse, StreamUse};

pub(crate) use divide::Divisor;
use layout::Layout;
use map::Map;
pub use precondition::Making;
use rows::Rows;
pub(crate) use spec::STREAMS_MAX;
pub use spec::{FtlSpec, Geometry, StartState, Stream, Victim};
use victims::{APART, Victims};

/// A physical page: (plane x blocks per plane + block) x pages per block + page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PhysicalPage(pub u32);

/// An erase block: plane x blocks per plane + block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block(pub u32);

/// Need of a plane for the collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Not at all.
    None,
    /// Fewer free blocks than the high watermark: when there is nothing else to do.
    Background,
    /// No more free blocks than the low watermark: before the next write of the host's.
    Foreground,
}

/// A page-mapped translation layer.
#[derive(Clone, Debug)]
pub struct Ftl {
    spec: FtlSpec,
    rows: Rows,
    per_block: Divisor,
    per_plane: Divisor,
    map: Map,
    /// Valid pages of each block, and [`APART`]. In an open block, places that are not written yet count as valid.
    valid: Vec<u16>,
    erases: Vec<u32>,
    /// Host writes when each block was opened for the host, or, where data was moved to it, the block that it came from; 0 for what
    /// was laid out. Empty unless hot data has a stream.
    opened: Vec<u64>,
    /// Handle of each block; that behind the last for blocks of all. Empty with one handle.
    handles: Vec<u8>,
    planes: Vec<Plane>,
    victims: Victims,
    /// Plane in which [`Ftl::write_timeless`] goes on, and pages that it still takes there.
    ahead: u32,
    unit_left: u32,
    /// Host writes ever, and what lies before the start.
    written: u64,
    counts: FtlCounts,
}

/// Counts since the beginning of measuring, and of the present.
#[derive(Clone, Debug, Default)]
struct FtlCounts {
    /// [`Ftl::written`] at the beginning.
    written: u64,
    moved: u64,
    erases: u64,
    mapped: u64,
    free: u64,
    /// Pages written for the host, and moved out of blocks, by handle.
    by_handle: [[u64; 2]; STREAMS_MAX as usize + 1],
}

#[derive(Clone, Debug)]
struct Plane {
    free: VecDeque<u32>,
    /// Open blocks by lane.
    fronts: [Front; LANES],
    victim: Option<u32>,
    /// No full block has been erased less.
    least_erases: u32,
}

/// The next place in an open block, and the one after its last; equal when none is open.
#[derive(Clone, Copy, Debug, Default)]
struct Front {
    next: u32,
    end: u32,
}

/// Lanes of what was moved, of each handle of the host's, and of what was moved of each but the first.
const LANES: usize = 2 * STREAMS_MAX as usize;
/// Open block for moved pages.
const LANE_MOVED: usize = 0;
/// A host write ages everything by one; ages before the start are smaller than this.
const WRITTEN_BEFORE: u64 = 1 << 40;

impl Ftl {
    /// An empty layer; an error says what of the specification cannot work.
    pub fn new(spec: &FtlSpec) -> Result<Ftl, String> {
        spec.check()?;
        let geometry = &spec.geometry;
        let blocks = geometry.blocks() as usize;
        let blocks_per_plane = geometry.blocks_per_plane;
        let plane = |plane| Plane {
            free: (plane * blocks_per_plane..(plane + 1) * blocks_per_plane).collect(),
            fronts: [Front::default(); LANES],
            victim: None,
            least_erases: 0,
        };
        Ok(Ftl {
            rows: Rows::new(geometry, spec.stripe_unit),
            per_block: Divisor::new(geometry.pages_per_block),
            per_plane: Divisor::new(blocks_per_plane),
            map: Map::new(geometry.logical_pages, geometry.pages(), spec.stamps, Layout::Fresh),
            valid: vec![APART; blocks],
            erases: vec![0; blocks],
            opened: vec![0; if spec.hot_cold { blocks } else { 0 }],
            handles: vec![0; if spec.handles() > 1 { blocks } else { 0 }],
            planes: (0..geometry.planes).map(plane).collect(),
            victims: Victims::new(geometry, spec.victim, spec.seed),
            ahead: 0,
            unit_left: spec.stripe_unit,
            written: WRITTEN_BEFORE,
            counts: FtlCounts { written: WRITTEN_BEFORE, free: blocks as u64, ..FtlCounts::default() },
            spec: spec.clone(),
        })
    }

    /// Specification of the layer.
    pub fn spec(&self) -> &FtlSpec {
        &self.spec
    }

    /// Brings what [`Ftl::lookup`] and [`Ftl::write`] need of a page near to the processor. Called for several pages before
    /// the first of them is used, their waits for memory overlap.
    #[inline]
    pub fn prefetch(&self, lpn: u32) {
        if let Some(place) = self.map.touch(lpn) {
            std::hint::black_box(self.valid[self.per_block.quotient(place) as usize]);
        }
    }

    /// Asks the processor for what [`Ftl::lookup`] and [`Ftl::write`] need of a page, for a caller that needs it soon.
    #[inline]
    pub fn bring_near(&self, lpn: u32) {
        self.map.bring_near(lpn);
    }

    /// Asks for what [`Ftl::write`] needs of a page, for a caller that writes it next.
    #[inline]
    pub fn bring_copy_near(&self, lpn: u32) {
        self.map.bring_copy_near(lpn);
    }

    /// Place of a page; `None` when it was never written, or trimmed.
    #[inline]
    pub fn lookup(&self, lpn: u32) -> Option<PhysicalPage> {
        self.map.place(lpn).map(PhysicalPage)
    }

    /// Stamp that was written with a page; 0 for what the start laid out, and without stamps.
    #[inline]
    pub fn stamp(&self, place: PhysicalPage) -> u32 {
        self.map.stamp(place)
    }

    /// The plane of a place.
    #[inline]
    pub fn plane_of(&self, place: PhysicalPage) -> u32 {
        self.per_plane.quotient(self.per_block.quotient(place.0))
    }

    /// The first place of a plane.
    pub fn first_of(&self, plane: u32) -> u32 {
        plane * self.per_plane.get() * self.per_block.get()
    }

    /// The plane of a block.
    #[inline]
    pub fn plane_of_block(&self, block: Block) -> u32 {
        self.per_plane.quotient(block.0)
    }

    /// The plane where a page lives by the stripe.
    #[inline]
    pub fn home(&self, lpn: u32) -> u32 {
        self.rows.split(lpn).0
    }

    /// The stripe has taken a page.
    #[inline]
    fn advance(&mut self) {
        self.unit_left -= 1;
        if self.unit_left == 0 {
            self.skip();
        }
    }

    /// The stripe goes to its next plane.
    #[inline]
    fn skip(&mut self) {
        self.unit_left = self.spec.stripe_unit;
        self.ahead += 1;
        if self.ahead as usize == self.planes.len() {
            self.ahead = 0;
        }
    }

    /// The host can write another page there without taking what the collector needs.
    #[inline]
    pub fn room(&self, plane: u32, stream: Stream) -> bool {
        self.room_in(plane, self.lane(stream))
    }

    #[inline]
    fn room_in(&self, plane: u32, lane: usize) -> bool {
        let state = &self.planes[plane as usize];
        let front = &state.fronts[lane];
        front.next < front.end || state.free.len() > 1
    }

    /// The block that a place belongs to, and its number there.
    pub fn within_block(&self, place: PhysicalPage) -> (Block, u32) {
        let (block, number) = self.per_block.split(place.0);
        (Block(block), number)
    }

    /// So often the block was erased.
    pub fn erases_of(&self, block: Block) -> u32 {
        self.erases[block.0 as usize]
    }

    /// Places of each block that are written, and how often it was erased.
    pub fn written_places(&self) -> Vec<(u32, u32)> {
        let full = self.per_block.get();
        let mut all: Vec<_> = self.erases.iter().map(|&erases| (full, erases)).collect();
        for plane in &self.planes {
            plane.free.iter().for_each(|&block| all[block as usize].0 = 0);
            for front in plane.fronts.iter().filter(|front| front.next < front.end) {
                let (block, written) = self.per_block.split(front.next);
                all[block as usize].0 = written;
            }
        }
        all
    }

    /// Pages that hold data.
    #[inline]
    pub fn mapped(&self) -> u64 {
        self.counts.mapped
    }

    /// Pages of a block, valid or not.
    #[inline]
    pub fn block_pages(&self) -> i64 {
        i64::from(self.per_block.get())
    }

    #[inline]
    fn lane(&self, stream: Stream) -> usize {
        match stream {
            Stream::Moved => LANE_MOVED,
            Stream::Hot if self.spec.hot_cold => 2,
            Stream::Host | Stream::Hot => 1,
            Stream::Placed(handle) => 1 + usize::from(handle),
        }
    }

    /// Open blocks of the lane are for what is moved.
    fn is_for_moved(&self, lane: usize) -> bool {
        lane == LANE_MOVED || lane > usize::from(self.spec.handles())
    }

    /// The handle of a lane's blocks.
    fn handle_of(&self, lane: usize) -> u8 {
        match (lane as u8, self.spec.handles()) {
            (0, _) if self.spec.keeps_apart() => 0,
            (0, handles) => handles,
            (lane, handles) if lane <= handles => lane - 1,
            (lane, handles) => lane - handles,
        }
    }

    /// Lane of what is moved out of a block; counts so many pages.
    #[inline]
    fn moved_lane(&mut self, block: u32, pages: u64) -> usize {
        self.counts.moved += pages;
        if self.handles.is_empty() { LANE_MOVED } else { self.lane_by_handle(block, pages) }
    }

    #[cold]
    fn lane_by_handle(&mut self, block: u32, pages: u64) -> usize {
        let handle = self.handles[block as usize];
        self.counts.by_handle[usize::from(handle)][1] += pages;
        if self.spec.keeps_apart() && handle > 0 {
            usize::from(self.spec.handles() + handle)
        } else {
            LANE_MOVED
        }
    }

    /// Pages that the host writes are of one stream, however old.
    #[inline]
    pub fn host_is_one(&self) -> bool {
        self.opened.is_empty()
    }

    /// Hot when the page was last written less than a drive write ago: what is overwritten so soon is likely to be overwritten
    /// again.
    #[inline]
    pub fn temperature(&self, lpn: u32) -> Stream {
        if self.host_is_one() { Stream::Host } else { self.temperature_by_age(lpn) }
    }

    fn temperature_by_age(&self, lpn: u32) -> Stream {
        let Some(place) = self.lookup(lpn) else { return Stream::Host };
        let opened = self.opened[self.per_block.quotient(place.0) as usize];
        if self.written - opened < self.spec.geometry.logical_pages { Stream::Hot } else { Stream::Host }
    }

    /// The host writes a page: takes the next place of the plane's open block, maps the page to it, and forgets the old copy.
    #[inline]
    pub fn write(&mut self, lpn: u32, plane: u32, stream: Stream, stamp: u32) -> PhysicalPage {
        debug_assert!(stream != Stream::Moved, "the host does not move");
        self.write_in(lpn, plane, self.lane(stream), stamp)
    }

    #[inline]
    fn write_in(&mut self, lpn: u32, plane: u32, lane: usize, stamp: u32) -> PhysicalPage {
        debug_assert!(self.room_in(plane, lane), "no room in plane {plane}");
        if !self.handles.is_empty() {
            self.counts.by_handle[lane - 1][0] += 1;
        }
        let to = self.allocate(plane, lane, 1);
        self.map.set_stamp(to, stamp);
        self.written += 1;
        match self.map.set(lpn, Some(to)) {
            Some(old) => self.invalidate(old),
            None => self.counts.mapped += 1,
        }
        PhysicalPage(to)
    }

    /// The host needs a page no longer.
    pub fn trim(&mut self, lpn: u32) {
        if let Some(old) = self.map.set(lpn, None) {
            self.invalidate(old);
            self.counts.mapped -= 1;
        }
    }

    /// The next places of an open block, no more than it has; a new block when it is full.
    #[inline]
    fn allocate(&mut self, plane: u32, lane: usize, count: u32) -> u32 {
        let front = &self.planes[plane as usize].fronts[lane];
        let to = if front.next < front.end { front.next } else { self.open(plane, lane) };
        let front = &mut self.planes[plane as usize].fronts[lane];
        front.next = to + count;
        if front.next == front.end {
            self.close(plane, to);
        }
        to
    }

    #[cold]
    fn open(&mut self, plane: u32, lane: usize) -> u32 {
        let (for_moved, handle) = (self.is_for_moved(lane), self.handle_of(lane));
        let state = &mut self.planes[plane as usize];
        let from = state.victim.filter(|_| for_moved);
        let last_is_reserved = !for_moved && state.free.len() <= 1;
        assert!(!last_is_reserved, "no room in plane {plane}: ask `room` before writing");
        let block =
            state.free.pop_front().unwrap_or_else(|| panic!("no block for the collector of plane {plane}"));
        self.counts.free -= 1;
        if !self.opened.is_empty() {
            self.opened[block as usize] = from.map_or(self.written, |from| self.opened[from as usize]);
        }
        if let Some(kept) = self.handles.get_mut(block as usize) {
            *kept = handle;
        }
        self.valid[block as usize] = APART | self.per_block.get() as u16;
        let first = block * self.per_block.get();
        state.fronts[lane] = Front { next: first, end: first + self.per_block.get() };
        first
    }

    #[cold]
    fn close(&mut self, plane: u32, last: u32) {
        let block = self.per_block.quotient(last);
        let valid = &mut self.valid[block as usize];
        *valid &= !APART;
        self.victims.filled(plane, block, *valid, self.written);
    }

    #[inline]
    fn invalidate(&mut self, place: u32) {
        let block = self.per_block.quotient(place);
        let valid = &mut self.valid[block as usize];
        debug_assert!(*valid & !APART > 0, "block {block} has no valid page");
        *valid -= 1;
        self.victims.lowered(self.per_plane.quotient(block), block, *valid);
    }

    /// Free blocks of a plane.
    #[inline]
    pub fn free_blocks(&self, plane: u32) -> u32 {
        self.planes[plane as usize].free.len() as u32
    }

    /// Free blocks in all.
    pub fn free_blocks_total(&self) -> u64 {
        self.counts.free
    }

    /// Need of a plane for the collector.
    #[inline]
    pub fn urgency(&self, plane: u32) -> Urgency {
        match self.free_blocks(plane) {
            free if free <= self.spec.free_low => Urgency::Foreground,
            free if free < self.spec.free_high => Urgency::Background,
            _ => Urgency::None,
        }
    }

    /// Begins to measure: counts begin anew.
    pub fn begin(&mut self) {
        let FtlCounts { mapped, free, .. } = self.counts;
        self.counts = FtlCounts { written: self.written, mapped, free, ..FtlCounts::default() };
    }

    /// Counts since [`Ftl::begin`]; `pages_merged` is the device's.
    pub fn counts(&self) -> FlashUse {
        let geometry = &self.spec.geometry;
        let FtlCounts { written, moved, erases, mapped, free, by_handle } = self.counts;
        let handles = if self.spec.streams > 1 { usize::from(self.spec.streams) + 1 } else { 0 };
        let stream = |[pages_host, pages_moved]: [u64; 2]| StreamUse { pages_host, pages_moved };
        let host = self.written - written;
        let wear: u64 = self.erases.iter().map(|&erases| u64::from(erases)).sum();
        FlashUse {
            page: geometry.page,
            bytes_host: Bytes(host * geometry.page.0),
            pages_host: host,
            pages_programmed: host + moved,
            pages_moved: moved,
            pages_merged: 0,
            erases,
            over_provisioning: geometry.over_provisioning(),
            blocks: geometry.blocks(),
            blocks_free: free,
            pages_mapped: mapped,
            wear_min: self.erases.iter().copied().min().unwrap_or(0),
            wear_mean: wear as f64 / geometry.blocks() as f64,
            wear_max: self.erases.iter().copied().max().unwrap_or(0),
            streams: by_handle[..handles].iter().copied().map(stream).collect(),
            ..FlashUse::default()
        }
        .with_factors()
    }
}
