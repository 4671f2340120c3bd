//! What does a request by itself cost on the thread's own lane?

use crate::lanes::with_lane;
use crate::sys::{Device, Finished, Pending, Request};

use super::Carry;

/// Each by itself, on the calling thread's lane.
pub(crate) struct OwnRing;

impl Carry for OwnRing {
    fn carry(&self, device: &dyn Device, request: Request, _: &Pending<'_>) {
        let mut finished = Vec::with_capacity(1);
        // Where no lane can be had the request is given up: its caller then makes a plain call.
        let _ = with_lane(device, 1, |lane| {
            lane.push(request);
            lane.enter(1, &mut finished);
        });
        finished.into_iter().for_each(Finished::deliver);
    }
}
