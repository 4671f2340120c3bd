//! How does a thread carry a batch?

use crate::lanes::with_lane;
use crate::sys::{Device, Finished, Request, by_itself};

use super::lineup::Load;

/// Carries requests by the calling thread, and delivers all when the last is through; one by itself is a plain call.
///
/// Where no lane can be had they are left in the load, whose owner gives them up: each caller then carries its own.
pub(crate) fn send(device: &dyn Device, load: &mut Load<Request>) {
    if load.others.is_empty() {
        return load.first.take().into_iter().for_each(|request| by_itself(device, request));
    }
    let mut finished = Vec::with_capacity(load.len());
    let sent = with_lane(device, load.len(), |lane| {
        for request in load.drain() {
            while lane.held() >= lane.depth() {
                lane.enter(1, &mut finished);
            }
            lane.push(request);
        }
        while lane.held() > 0 {
            lane.enter(lane.held(), &mut finished);
        }
    });
    if sent.is_ok() {
        finished.into_iter().for_each(Finished::deliver);
    }
}
