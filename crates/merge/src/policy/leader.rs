//! What if one thread sends for all, and goes on sending?
//!
//! Leader and followers: the leader sends what waits, reaps what is through, wakes its owners, and sends what came meanwhile, so
//! that several batches are in flight. When its own request is through it leads no more: the oldest that waits does, at once and
//! on its own lane. What it still has in flight it stays for, since a lane is its thread's: no longer than the device takes for
//! what is there, as nothing is added.

use crate::lanes::with_lane;
use crate::sys::{Device, Finished, Pending, Request};

use super::Carry;
use super::lineup::Load;
use super::queue::{AtOnce, Lead, Queue};

/// One leader at a time.
pub(crate) struct LeaderFollower {
    queue: Queue<Request, AtOnce>,
    depth: usize,
}

impl LeaderFollower {
    pub(crate) fn new(depth: usize) -> LeaderFollower {
        LeaderFollower { queue: Queue::new(1, depth, AtOnce), depth }
    }

    /// Some are through: their owners know, and are woken by one call.
    fn deliver(&self, finished: &mut Vec<Finished>) {
        let mut bits = 0;
        for request in finished.drain(..) {
            bits |= request.tag() as u32;
            request.deliver();
        }
        self.queue.wake(bits);
    }
}

/// A leader's. Dropping it wakes all whose requests it ever had, unless they are known to be through.
struct Out<'a> {
    queue: &'a Queue<Request, AtOnce>,
    bits: u32,
}

impl Out<'_> {
    fn take(&mut self, right: &mut Lead<'_, Request, AtOnce>, room: usize) -> Load<Request> {
        let load = right.take(room);
        self.bits |= load.bits();
        load
    }
}

impl Drop for Out<'_> {
    fn drop(&mut self) {
        self.queue.wake(self.bits);
    }
}

impl Carry for LeaderFollower {
    fn carry(&self, device: &dyn Device, request: Request, pending: &Pending<'_>) {
        let Some(mut right) = self.queue.lead(request, || pending.is_done()) else { return };
        let mut out = Out { queue: &self.queue, bits: 0 };
        // After `out`, and so gone before it: who is woken finds its request given up, if it was not carried.
        let mut load = out.take(&mut right, usize::MAX);
        let mut right = Some(right);
        let carried = with_lane(device, self.depth, |lane| {
            let mut finished = Vec::new();
            loop {
                for (mut request, bit) in load.drain_with_bits() {
                    while lane.held() >= lane.depth() {
                        lane.enter(1, &mut finished);
                    }
                    request.set_tag(u64::from(bit));
                    lane.push(request);
                }
                if lane.held() == 0 {
                    break;
                }
                lane.enter(1, &mut finished);
                self.deliver(&mut finished);
                match &mut right {
                    Some(right) if !pending.is_done() => {
                        load = out.take(right, lane.depth() - lane.held());
                    }
                    _ => right = None,
                }
            }
        });
        if carried.is_ok() {
            out.bits = 0;
        }
    }
}
