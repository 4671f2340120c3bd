//! Where is a sector, and when does it come round?
//!
//! Platters turn for ever: the angle at a moment is the moment modulo one turn. Sectors follow each other along a track,
//! then along the tracks of a cylinder, then along the cylinders; each track begins a little later than the one before it
//! (its skew), so that the head has time to get there. Outer zones have more sectors per track.
//!
//! In serpentine order a group of cylinders is filled surface by surface, one inwards, the next outwards. Spare sectors end
//! each track, spare tracks each zone: no address is there.

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
    /// Sectors of the track that have addresses: the first ones.
    pub(super) used: u32,
    /// ns by which the track begins later than the disk's first.
    pub(super) skew: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Zone {
    pub(super) first_sector: u64,
    pub(super) first_cylinder: u32,
    pub(super) cylinders: u32,
    pub(super) per_track: u32,
    /// ns by which a track begins later than the one before it in the cylinder.
    pub(super) track_skew: u64,
    /// The same for the first track of the next cylinder.
    pub(super) cylinder_skew: u64,
    /// Skew of its first track.
    skew: u64,
}

/// Order and spares of the tracks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    /// Cylinders of a group in serpentine order, and ns by which a group begins later than the track before it.
    pub(super) group: Option<(u32, u64)>,
    /// Sectors at the end of each track, and tracks at the end of each zone, without addresses.
    pub(super) spare_sectors: u32,
    pub(super) spare_tracks: u64,
}

/// A disk's shape.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    /// ns of one turn.
    pub(super) turn: u64,
    pub(super) heads: u32,
    /// Sectors in all.
    pub(super) sectors: u64,
    /// The sector with which addresses begin; those before it have the last addresses.
    pub(super) origin: u64,
    pub(super) zones: Vec<Zone>,
    layout: Layout,
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
        let zone = |(index, &(first_cylinder, per_track)): (usize, &(u32, u32))| {
            let end = zones.get(index + 1).map_or(cylinders, |next| next.0);
            let cylinders = end - first_cylinder;
            Zone {
                first_cylinder,
                cylinders,
                per_track,
                first_sector: 0,
                track_skew: 0,
                cylinder_skew: 0,
                skew: 0,
            }
        };
        let zones = zones.iter().enumerate().map(zone).collect();
        let mut geometry = Geometry { turn, heads, sectors: 0, origin: 0, zones, layout: Layout::default() };
        geometry.lay_out(Layout::default());
        geometry
    }

    /// Sectors and skews of all zones follow each other anew.
    pub(super) fn lay_out(&mut self, layout: Layout) {
        (self.layout, self.sectors) = (layout, 0);
        let mut skew = 0;
        for index in 0..self.zones.len() {
            let zone = &mut self.zones[index];
            (zone.first_sector, zone.skew) = (self.sectors, skew);
            let tracks = u64::from(zone.cylinders) * u64::from(self.heads);
            let used = u64::from(zone.per_track - layout.spare_sectors);
            self.sectors += (tracks - layout.spare_tracks) * used;
            let (_, last) = self.track(self.zones[index], tracks - 1);
            skew = last + layout.group.map_or(self.zones[index].cylinder_skew, |(_, between)| between);
        }
    }

    /// The zone's track of this number in the order of addresses, and its skew.
    fn track(&self, zone: Zone, number: u64) -> (Track, u64) {
        let heads = u64::from(self.heads);
        if let Some((group, between)) = self.layout.group {
            let wide = u64::from(group);
            let before = number / (wide * heads) * wide;
            let rest = number - before * heads;
            let width = wide.min(u64::from(zone.cylinders) - before);
            let (head, along) = (rest / width, rest % width);
            let cylinder = before + if head % 2 == 0 { along } else { width - 1 - along };
            let groups = before / wide;
            let steps = groups * heads * (wide - 1) + head * (width - 1) + along;
            let skew = steps * zone.cylinder_skew
                + (groups * (heads - 1) + head) * zone.track_skew
                + groups * between;
            let track = Track { cylinder: zone.first_cylinder + cylinder as u32, head: head as u32 };
            return (track, zone.skew + skew);
        }
        let (cylinder, head) = (number / heads, number % heads);
        let skew = cylinder * ((heads - 1) * zone.track_skew + zone.cylinder_skew) + head * zone.track_skew;
        let track = Track { cylinder: zone.first_cylinder + cylinder as u32, head: head as u32 };
        (track, zone.skew + skew)
    }

    pub(super) fn spot(&self, sector: u64) -> Spot {
        assert!(sector < self.sectors, "sector {sector} of {}", self.sectors);
        let behind = sector + self.origin;
        let sector = if behind < self.sectors { behind } else { behind - self.sectors };
        let zone = self.zones[self.zones.partition_point(|zone| zone.first_sector <= sector) - 1];
        let used = zone.per_track - self.layout.spare_sectors;
        let within = sector - zone.first_sector;
        let (track, skew) = self.track(zone, within / u64::from(used));
        let sector = (within % u64::from(used)) as u32;
        Spot { track, sector, per_track: zone.per_track, used, skew }
    }

    /// ns from the beginning of a track to its `sector`.
    pub(super) fn angle(&self, sector: u32, per_track: u32) -> u64 {
        let exact = u128::from(sector) * u128::from(self.turn);
        ((exact + u128::from(per_track) / 2) / u128::from(per_track)) as u64
    }

    /// ns from `now` until the sector begins to pass under its head.
    pub(super) fn until(&self, now: Time, spot: Spot) -> u64 {
        let begins = (spot.skew + self.angle(spot.sector, spot.per_track)) % self.turn;
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
        (disk.zones[0].track_skew, disk.zones[0].cylinder_skew) = (500, 900);
        assert_eq!([disk.until(0, disk.spot(0)), disk.until(1, disk.spot(0))], [0, 5999]);
        assert_eq!(disk.until(100, disk.spot(3)), 200);
        assert_eq!(disk.until(6000, disk.spot(60)), 500);
        assert_eq!(disk.until(12_000, disk.spot(120)), 1400);
    }

    #[test]
    fn a_serpent_goes_there_and_back_and_spares_have_no_address() {
        let mut disk = Geometry::new(6000, 5, 2, 1, 60, 60);
        (disk.zones[0].track_skew, disk.zones[0].cylinder_skew) = (500, 900);
        disk.lay_out(Layout { group: Some((3, 1100)), spare_sectors: 10, spare_tracks: 1 });
        assert_eq!(disk.sectors, 9 * 50);
        let spots: Vec<_> = (0..9).map(|track| disk.spot(track * 50 + 49)).collect();
        let places: Vec<_> = spots.iter().map(|spot| (spot.track.cylinder, spot.track.head)).collect();
        assert_eq!(places, [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1), (3, 0), (4, 0), (4, 1)]);
        assert!(spots.iter().all(|spot| (spot.sector, spot.used, spot.per_track) == (49, 50, 60)));
        let skews: Vec<_> = spots.iter().map(|spot| spot.skew).collect();
        assert_eq!(skews, [0, 900, 1800, 2300, 3200, 4100, 5200, 6100, 6600]);
    }
}
