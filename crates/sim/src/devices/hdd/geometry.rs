//! Where is a sector, and when does it come round?
//!
//! Platters turn for ever: the angle at a moment is the moment modulo one turn. Sectors follow each other along a track,
//! then along the tracks of a cylinder, then along the cylinders; each track begins a little later than the one before it
//! (its skew), so that the head has time to get there. Outer zones have more sectors per track.

use crate::engine::Time;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) cylinder: u32,
    pub(super) head: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) track: Track,
    pub(super) sector: u32,
    pub(super) per_track: u32,
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    first_sector: u64,
    first_cylinder: u32,
    per_track: u32,
}

/// A disk's shape.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    /// ns of one turn.
    pub(super) turn: u64,
    pub(super) heads: u32,
    /// Sectors in all.
    pub(super) sectors: u64,
    /// ns by which a track begins later than the one before it in the cylinder.
    pub(super) track_skew: u64,
    /// The same for the first track of the next cylinder.
    pub(super) cylinder_skew: u64,
    zones: Vec<Zone>,
}

impl Geometry {
    /// `zones` zones of equal width, whose sectors per track fall evenly from `outer` to `inner`. No skew yet.
    pub(super) fn new(turn: u64, cylinders: u32, heads: u32, zones: u32, outer: u32, inner: u32) -> Geometry {
        let zone = |zone: u32| {
            let first = (u64::from(cylinders) * u64::from(zone) / u64::from(zones)) as u32;
            (first, outer - ((outer - inner) * zone + zones.saturating_sub(1) / 2) / (zones - 1).max(1))
        };
        Geometry::of_zones(turn, cylinders, heads, &(0..zones).map(zone).collect::<Vec<_>>())
    }

    /// Zones by their first cylinder, 0 to begin with, and sectors per track. No skew yet.
    pub(super) fn of_zones(turn: u64, cylinders: u32, heads: u32, zones: &[(u32, u32)]) -> Geometry {
        let mut list = Vec::new();
        let mut sectors = 0;
        for (index, &(first_cylinder, per_track)) in zones.iter().enumerate() {
            list.push(Zone { first_sector: sectors, first_cylinder, per_track });
            let end = zones.get(index + 1).map_or(cylinders, |next| next.0);
            sectors += u64::from(end - first_cylinder) * u64::from(heads) * u64::from(per_track);
        }
        Geometry { turn, heads, sectors, track_skew: 0, cylinder_skew: 0, zones: list }
    }

    pub(super) fn spot(&self, sector: u64) -> Spot {
        assert!(sector < self.sectors, "sector {sector} of {}", self.sectors);
        let zone = self.zones[self.zones.partition_point(|zone| zone.first_sector <= sector) - 1];
        let within = sector - zone.first_sector;
        let (tracks, sector) = (within / u64::from(zone.per_track), within % u64::from(zone.per_track));
        let heads = u64::from(self.heads);
        let track =
            Track { cylinder: zone.first_cylinder + (tracks / heads) as u32, head: (tracks % heads) as u32 };
        Spot { track, sector: sector as u32, per_track: zone.per_track }
    }

    /// ns from the beginning of a track to its `sector`.
    pub(super) fn angle(&self, sector: u32, per_track: u32) -> u64 {
        let exact = u128::from(sector) * u128::from(self.turn);
        ((exact + u128::from(per_track) / 2) / u128::from(per_track)) as u64
    }

    /// ns from `now` until the sector begins to pass under its head.
    pub(super) fn until(&self, now: Time, spot: Spot) -> u64 {
        let cylinder = u64::from(self.heads - 1) * self.track_skew + self.cylinder_skew;
        let skew = u64::from(spot.track.cylinder) * cylinder + u64::from(spot.track.head) * self.track_skew;
        let begins = (skew + self.angle(spot.sector, spot.per_track)) % self.turn;
        (begins + self.turn - now % self.turn) % self.turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_fill_tracks_then_cylinders_then_zones() {
        let disk = Geometry::new(6000, 10, 2, 2, 60, 40);
        assert_eq!(disk.sectors, 5 * 2 * 60 + 5 * 2 * 40);
        let place = |sector| {
            let spot = disk.spot(sector);
            (spot.track.cylinder, spot.track.head, spot.sector, spot.per_track)
        };
        assert_eq!([place(0), place(59), place(60)], [(0, 0, 0, 60), (0, 0, 59, 60), (0, 1, 0, 60)]);
        assert_eq!([place(120), place(599)], [(1, 0, 0, 60), (4, 1, 59, 60)]);
        assert_eq!([place(600), place(999)], [(5, 0, 0, 40), (9, 1, 39, 40)]);
    }

    #[test]
    fn zones_fall_evenly_from_the_outermost_to_the_innermost() {
        let disk = Geometry::new(6000, 100, 1, 5, 100, 60);
        let per_track: Vec<_> = disk.zones.iter().map(|zone| zone.per_track).collect();
        assert_eq!(per_track, [100, 90, 80, 70, 60]);
    }

    #[test]
    fn a_sector_comes_round_once_a_turn() {
        let mut disk = Geometry::new(6000, 10, 2, 1, 60, 60);
        (disk.track_skew, disk.cylinder_skew) = (500, 900);
        assert_eq!([disk.until(0, disk.spot(0)), disk.until(1, disk.spot(0))], [0, 5999]);
        assert_eq!(disk.until(100, disk.spot(3)), 200);
        assert_eq!(disk.until(6000, disk.spot(60)), 500);
        assert_eq!(disk.until(12_000, disk.spot(120)), 1400);
    }
}
