//! Where is the head, how long until it is there, and how far has it read on?

use super::geometry::{Geometry, Track};
use super::seek::SeekCurve;
use super::smr::Pass;
use crate::engine::{Server, Time};

/// A way of the head over sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passage {
    /// ns for which bands were cleaned first.
    pub(super) cleaned: u64,
    /// ns to the first track.
    pub(super) moved: u64,
    /// ns until the data had come.
    pub(super) waited: u64,
    /// ns until the first sector came round.
    pub(super) turned: u64,
    /// Moment at which the last sector was past.
    pub(super) end: Time,
}

/// Reading that goes on although nobody asks yet. Its end is looked up only when someone wants to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// The next sector, and the moment from which on the head makes for it.
    pub(super) next: u64,
    pub(super) since: Time,
    /// Sectors from here on are not read.
    pub(super) limit: u64,
}

/// The arm with its heads.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub(super) geometry: Geometry,
    pub(super) curve: SeekCurve,
    pub(super) head_switch: u64,
    pub(super) write_settle: u64,
    /// Track under the head.
    pub(super) at: Track,
    /// The sector behind the last one it served.
    pub(super) past: u64,
    pub(super) ahead: Option<Ahead>,
    pub(super) server: Server,
}

impl Arm {
    /// ns to another track.
    pub(super) fn way(&self, to: Track, write: bool) -> u64 {
        if self.at == to {
            return 0;
        }
        self.way_between(self.at, to, write)
    }

    /// Time between tracks. To the next track or cylinder a head settles well enough to write within the time itself.
    fn way_between(&self, from: Track, to: Track, write: bool) -> u64 {
        let distance = from.cylinder.abs_diff(to.cylinder);
        let switch = if from.head == to.head { 0 } else { self.head_switch };
        let settle = if write && distance > 1 { self.write_settle } else { 0 };
        self.curve.time(distance).max(switch) + settle
    }

    /// ns until `sector` begins to pass under the head, if the arm starts `now`: on the way, waiting for the data of a write
    /// (`data`: when they are there), turning.
    pub(super) fn positioning(&self, now: Time, sector: u64, data: Option<Time>) -> [u64; 3] {
        let spot = self.geometry.spot(sector);
        let way = self.way(spot.track, data.is_some());
        let waited = data.unwrap_or(0).saturating_sub(now + way);
        [way, waited, self.geometry.until(now + way + waited, spot)]
    }

    /// The head goes from where it is over `count` sectors, starting `now`. Stays where it is if that takes until after
    /// `stop`: then only what was past by then counts. How many were past, and when.
    fn pass(
        &self,
        now: Time,
        (first, count): (u64, u64),
        stop: Time,
        data: Option<Time>,
    ) -> (u64, Passage, Track) {
        let [moved, waited, turned] = self.positioning(now, first, data);
        let mut passage =
            Passage { moved, waited, turned, end: now + moved + waited + turned, ..Passage::default() };
        let (mut sector, last, mut at) = (first, first + count, self.at);
        if passage.end > stop {
            return (0, passage, at);
        }
        loop {
            let spot = self.geometry.spot(sector);
            let from = self.geometry.angle(spot.sector, spot.per_track);
            let past = |count| self.geometry.angle(spot.sector + count, spot.per_track) - from;
            if sector > first {
                let there = passage.end + self.way_between(at, spot.track, data.is_some());
                let begins = there + self.geometry.until(there, spot);
                if begins + past(1) > stop {
                    break;
                }
                passage.end = begins;
            }
            at = spot.track;
            let run = (last - sector).min(u64::from(spot.used - spot.sector)) as u32;
            if passage.end + past(run) > stop {
                let time = stop - passage.end;
                let mut done = (time * u64::from(spot.per_track) / self.geometry.turn) as u32;
                while past(done + 1) <= time {
                    done += 1;
                }
                while past(done) > time {
                    done -= 1;
                }
                passage.end += past(done);
                sector += u64::from(done);
                break;
            }
            passage.end += past(run);
            sector += u64::from(run);
            if sector == last {
                break;
            }
        }
        (sector - first, passage, at)
    }

    /// Moves over sectors from `now` on and stays there; what came at `arrived` is served.
    pub(super) fn serve(
        &mut self,
        arrived: Time,
        now: Time,
        (first, count): (u64, u64),
        data: Option<Time>,
    ) -> Passage {
        assert!(self.ahead.is_none(), "reading ahead ends before the arm serves");
        let (_, passage, at) = self.pass(now, (first, count), Time::MAX, data);
        (self.at, self.past) = (at, first + count);
        self.server.account.book(arrived, now, passage.end);
        passage
    }

    /// Moves over several runs of sectors; the passage is the first one's, until the end of all.
    pub(super) fn serve_all(&mut self, arrived: Time, now: Time, passes: &[Pass], data: Time) -> Passage {
        let mut whole = Passage { end: now, ..Passage::default() };
        for (index, pass) in passes.iter().enumerate() {
            let (start, data) = (whole.end, pass.writes.then_some(data));
            let came = if index == 0 { arrived } else { start };
            let passage = self.serve(came, start, (pass.first, pass.count), data);
            whole = if index == 0 { passage } else { Passage { end: passage.end, ..whole } };
        }
        whole
    }

    /// Reading goes on from `next` to `limit`.
    pub(super) fn read_on(&mut self, now: Time, next: u64, limit: u64) {
        let limit = limit.min(self.geometry.sectors);
        self.ahead = (next < limit).then_some(Ahead { next, since: now, limit });
    }

    /// Brings reading ahead up to `now`; the sector that comes next.
    pub(super) fn catch_up(&mut self, now: Time) -> Option<Ahead> {
        let ahead = self.ahead?;
        let count = ahead.limit - ahead.next;
        if count == 0 {
            return self.ahead;
        }
        let (done, passage, at) = self.pass(ahead.since, (ahead.next, count), now, None);
        let until = if done == count { passage.end } else { now };
        let start = ahead.since.max(self.server.free_at());
        if until > start {
            self.server.account.book(start, start, until);
        }
        if done > 0 {
            self.at = at;
            self.ahead = Some(Ahead { next: ahead.next + done, since: passage.end, ..ahead });
        }
        self.ahead
    }

    /// Reading ahead is to go on to `limit`; if it had stopped, it starts again.
    pub(super) fn read_further(&mut self, now: Time, limit: u64) {
        if let Some(ahead) = &mut self.ahead
            && limit > ahead.limit
        {
            if ahead.next == ahead.limit {
                ahead.since = now;
            }
            ahead.limit = limit.min(self.geometry.sectors);
        }
    }

    /// The arm goes on reading until it has `last`; reading ahead ends there.
    pub(super) fn serve_reading_on(&mut self, arrived: Time, now: Time, last: u64) -> Passage {
        let ahead = self.ahead.take().expect("it reads ahead");
        let (_, passage, at) = self.pass(ahead.since, (ahead.next, last - ahead.next), Time::MAX, None);
        (self.at, self.past) = (at, last);
        self.server.account.book(arrived, now, passage.end);
        Passage { end: passage.end, ..Passage::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::Layout;
    use super::*;
    use iostack_workload::Rng;

    fn skewed(geometry: &mut Geometry, track: u64) {
        for zone in &mut geometry.zones {
            (zone.track_skew, zone.cylinder_skew) = (track, 2_000_000);
        }
        geometry.lay_out(Layout::default());
    }

    fn arm() -> Arm {
        let mut geometry = Geometry::new(8_333_333, 1000, 4, 8, 900, 500);
        skewed(&mut geometry, 1_000_000);
        let curve = SeekCurve::through(2_000_000, 8_000_000, 18_000_000, 1000).expect("it rises");
        Arm {
            geometry,
            curve,
            head_switch: 900_000,
            write_settle: 300_000,
            at: Track::default(),
            past: 0,
            ahead: None,
            server: Server::default(),
        }
    }

    #[test]
    fn a_skew_that_is_too_short_costs_a_turn() {
        let mut arm = arm();
        skewed(&mut arm.geometry, 800_000);
        let (_, passage, _) = arm.pass(0, (0, 2 * 900), Time::MAX, None);
        assert_eq!(passage.end, 3 * 8_333_333 + 800_000);
    }

    #[test]
    fn what_was_read_until_a_moment_is_what_ends_by_then() {
        let mut rng = Rng::from_seed(11);
        for _ in 0..2000 {
            let mut arm = arm();
            arm.at = Track { cylinder: rng.below(1000) as u32, head: rng.below(4) as u32 };
            let (now, first) = (rng.below(1 << 30), rng.below(arm.geometry.sectors - 5000));
            let count = 1 + rng.below(5000);
            let stop = now + rng.below(60_000_000);
            let (done, passage, _) = arm.pass(now, (first, count), stop, None);
            assert!(done == 0 || passage.end <= stop);
            if done > 0 {
                assert_eq!(arm.pass(now, (first, done), Time::MAX, None).1.end, passage.end);
            }
            if done < count {
                assert!(arm.pass(now, (first, done + 1), Time::MAX, None).1.end > stop);
            }
        }
    }

    #[test]
    fn looking_at_what_is_read_ahead_does_not_change_it() {
        let mut rng = Rng::from_seed(12);
        let (mut often, mut once) = (arm(), arm());
        often.read_on(0, 5000, 20_000);
        once.read_on(0, 5000, 20_000);
        let mut now = 0;
        while now < 100_000_000 {
            now += rng.below(2_000_000);
            often.catch_up(now);
        }
        once.catch_up(now);
        assert_eq!(often.ahead.map(|ahead| (ahead.next, ahead.since)), once.ahead.map(|a| (a.next, a.since)));
        assert_eq!(often.server.account.busy(now), once.server.account.busy(now));
    }
}
