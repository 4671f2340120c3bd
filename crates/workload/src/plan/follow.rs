//! Which I/Os of a random job go where the one before went?

use iostack_model::{Follow, Job};

use crate::{Op, Rng};

/// Start and end of an I/O, from the start of the region.
type FollowPlace = (u64, u64);

/// Remembers the last I/O of each file and direction.
#[derive(Clone, Debug)]
pub(super) struct Following {
    follow: Follow,
    /// I/Os until the next random one.
    until_random: u32,
    last: Vec<[FollowPlace; 3]>,
}

impl Following {
    /// `None` where each I/O has a place of its own.
    pub(super) fn new(job: &Job, files: u16) -> Option<Following> {
        let Follow { run, .. } = job.follow;
        (job.follow != Follow::NONE).then(|| Following {
            follow: Follow { run: run.max(1), ..job.follow },
            until_random: run.max(1),
            last: vec![[(0, 0); 3]; usize::from(files)],
        })
    }

    /// Place of `op`, if it follows; `None` when it is random, or would reach beyond `length`. As in fio, a run ends with
    /// its random I/O: the first ones follow the start of the region.
    pub(super) fn next(&mut self, op: &Op, length: u64, rng: &mut Rng) -> Option<u64> {
        let (start, end) = self.last[usize::from(op.file)][usize::from(op.direction)];
        self.until_random -= 1;
        let place = if self.until_random > 0 {
            if self.follow.again { start } else { end }
        } else {
            self.until_random = self.follow.run;
            let percent = u64::from(self.follow.random[usize::from(op.direction)]);
            if percent >= 100 || rng.below(100) < percent {
                return None;
            }
            end
        };
        (place + u64::from(op.length) <= length).then_some(place)
    }

    /// A new start: the first ones follow it.
    pub(super) fn restart(&mut self) {
        self.last.fill([(0, 0); 3]);
    }

    /// `op` went there.
    pub(super) fn went(&mut self, op: &Op, place: u64) {
        self.last[usize::from(op.file)][usize::from(op.direction)] = (place, place + u64::from(op.length));
    }
}
