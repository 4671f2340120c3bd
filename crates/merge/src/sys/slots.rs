//! Where does a request stay while the kernel has it?

use super::Request;

/// Requests by the numbers that the kernel gives back; a slot is filled while its request is queued or in flight.
pub(crate) struct Slots {
    requests: Vec<Option<Request>>,
    free: Vec<u32>,
}

impl Slots {
    pub(crate) fn new(count: u32) -> Slots {
        Slots { requests: (0..count).map(|_| None).collect(), free: (0..count).rev().collect() }
    }

    /// Queued and in flight.
    pub(crate) fn held(&self) -> usize {
        self.requests.len() - self.free.len()
    }

    pub(crate) fn put(&mut self, request: Request) -> u32 {
        let slot = self.free.pop().expect("a lane is not pushed to beyond its depth");
        self.requests[slot as usize] = Some(request);
        slot
    }

    pub(crate) fn take(&mut self, slot: u32) -> Request {
        self.free.push(slot);
        self.requests[slot as usize].take().expect("a completion has its request")
    }

    /// All that are held, when the kernel has none of them.
    pub(crate) fn take_all(&mut self) -> Vec<Request> {
        self.free = (0..self.requests.len() as u32).rev().collect();
        self.requests.iter_mut().filter_map(Option::take).collect()
    }
}
