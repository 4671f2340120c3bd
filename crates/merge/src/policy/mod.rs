//! Who carries a request, alone or with others?

use crate::Policy;
use crate::sys::{Device, Finished, Pending, Request};

/// A way for single blocking calls.
pub(crate) trait Carry: Send + Sync {
    /// Takes one request on its way; returns when `pending` is done.
    fn carry(&self, device: &dyn Device, request: Request, pending: &Pending<'_>);
}

/// The way of a policy.
pub(crate) fn of(policy: Policy) -> Box<dyn Carry> {
    match policy {
        Policy::Auto
        | Policy::Pread
        | Policy::Ring
        | Policy::Stm
        | Policy::Atm
        | Policy::LeaderFollower
        | Policy::Hybrid => Box::new(Alone),
    }
}

/// Each by itself.
struct Alone;

impl Carry for Alone {
    fn carry(&self, device: &dyn Device, request: Request, _: &Pending<'_>) {
        let mut lane = device.lane(1).expect("calls need no lane");
        lane.push(request);
        let mut finished = Vec::new();
        lane.enter(1, &mut finished);
        finished.into_iter().for_each(Finished::deliver);
    }
}
