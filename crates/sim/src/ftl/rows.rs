//! Where does a page lie that was written in order?

use super::divide::Divisor;
use super::spec::Geometry;

/// Pages in order: units of a few pages, row by row over the planes.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) unit: Divisor,
    pub(super) planes: Divisor,
    in_plane: Divisor,
    pub(super) logical: u32,
}

impl Rows {
    pub(super) fn new(geometry: &Geometry, unit: u32) -> Rows {
        Rows {
            unit: Divisor::new(unit),
            planes: Divisor::new(geometry.planes),
            in_plane: Divisor::new(geometry.blocks_per_plane * geometry.pages_per_block),
            logical: geometry.logical_pages as u32,
        }
    }

    /// The plane of a page, and its place in the order of the plane.
    #[inline]
    pub(super) fn split(&self, lpn: u32) -> (u32, u32) {
        let (unit, within) = self.unit.split(lpn);
        let (row, plane) = self.planes.split(unit);
        (plane, row * self.unit.get() + within)
    }

    /// The page at a place in the order of a plane; `None` beyond the last.
    #[inline]
    pub(super) fn join(&self, plane: u32, index: u32) -> Option<u32> {
        let (row, within) = self.unit.split(index);
        let unit = u64::from(row) * u64::from(self.planes.get()) + u64::from(plane);
        let lpn = unit * u64::from(self.unit.get()) + u64::from(within);
        (lpn < u64::from(self.logical)).then_some(lpn as u32)
    }

    /// Pages of a plane.
    pub(super) fn count(&self, plane: u32) -> u32 {
        let row = u64::from(self.planes.get()) * u64::from(self.unit.get());
        let rows = u64::from(self.logical) / row * u64::from(self.unit.get());
        let before = u64::from(plane) * u64::from(self.unit.get());
        let rest = (u64::from(self.logical) % row).saturating_sub(before).min(u64::from(self.unit.get()));
        (rows + rest) as u32
    }

    /// First place of a plane.
    #[inline]
    pub(super) fn first(&self, plane: u32) -> u32 {
        plane * self.in_plane.get()
    }

    /// Plane of a place, and how far in it lies.
    #[inline]
    pub(super) fn within(&self, place: u32) -> (u32, u32) {
        self.in_plane.split(place)
    }

    #[inline]
    pub(super) fn place(&self, lpn: u32) -> u32 {
        let (plane, index) = self.split(lpn);
        self.first(plane) + index
    }

    #[inline]
    pub(super) fn page(&self, at: u32) -> Option<u32> {
        let (plane, index) = self.within(at);
        self.join(plane, index)
    }
}
