//! What may a part do? The present moment, the requests under way, and what happens later.

use std::collections::VecDeque;

use iostack_model::Stage;

use super::calendar::{Calendar, WakeUp};
use super::{Kind, PartId, Request, RequestId, Time};

/// A token of a kind (0..64) and an index below 2^24, for [`Sim::wake_at`].
#[inline]
pub fn token(kind: u8, index: u32) -> u32 {
    debug_assert!(kind < 64 && index < 1 << 24);
    u32::from(kind) << 24 | index
}

/// A stretch of one request's time, for timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Number of the request, [`Request::serial`].
    pub serial: u64,
    /// Kind of the request.
    pub kind: Kind,
    /// First byte of the request, or of its part.
    pub offset: u64,
    /// Bytes of the request, or of its part.
    pub length: u32,
    /// Part that had the request.
    pub part: PartId,
    /// Stage that the time goes to.
    pub stage: Stage,
    /// Begin of the stretch.
    pub begin: Time,
    /// End of the stretch.
    pub end: Time,
}

/// A message that is delivered before time goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Arrive(u16, RequestId),
    Return(u16, RequestId),
    Completed(RequestId),
}

/// Messages in order; mostly there is but one.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// Message before all others.
    first: Option<Message>,
    others: VecDeque<Message>,
}

impl Messages {
    #[inline]
    pub(super) fn push(&mut self, message: Message) {
        if self.first.is_none() && self.others.is_empty() {
            self.first = Some(message);
        } else {
            self.others.push_back(message);
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Message> {
        self.first.take().or_else(|| if self.others.is_empty() { None } else { self.others.pop_front() })
    }
}

/// The number under which the driver's alarms are in the calendar.
pub(super) const DRIVER: u16 = u16::MAX;

/// The moment, the requests, and the future.
#[derive(Debug, Default)]
pub struct Sim {
    pub(super) now: Time,
    pub(super) me: u16,
    pub(super) calendar: Calendar,
    pub(super) messages: Messages,
    pub(super) root: u16,
    /// Whoever asked to be told when all that follows at once has been said.
    pub(super) settles: Option<u16>,
    requests: Vec<Request>,
    free: Vec<RequestId>,
    serial: u64,
    spans: Option<Vec<Span>>,
    spans_max: usize,
    keeps_stamps: bool,
}

impl Sim {
    /// The present moment, ns.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// A request under way.
    #[inline]
    pub fn request(&self, id: RequestId) -> &Request {
        &self.requests[id.0 as usize]
    }

    /// A request under way, to be changed.
    #[inline]
    pub fn request_mut(&mut self, id: RequestId) -> &mut Request {
        &mut self.requests[id.0 as usize]
    }

    /// Wakes this part at `time`, which is not in the past, with `token`.
    #[inline]
    pub fn wake_at(&mut self, time: Time, token: u32) {
        debug_assert!(time >= self.now);
        self.calendar.push(WakeUp::new(time, self.me, token));
    }

    /// Calls this part's [`super::Part::settled`] when all that follows at once from what happens has been said: also what
    /// the driver submits upon it. One part at a time may ask.
    #[inline]
    pub fn settle_later(&mut self) {
        debug_assert!(self.settles.is_none_or(|part| part == self.me));
        self.settles = Some(self.me);
    }

    /// All of the request's time since it was last charged was `stage`.
    #[inline]
    pub fn spend(&mut self, id: RequestId, stage: Stage) {
        let request = &mut self.requests[id.0 as usize];
        let begin = request.charge(stage, self.now);
        if self.spans.is_some() && begin < self.now {
            self.keep_span(id, stage, begin);
        }
    }

    /// The first part of the time since the request was last charged, until `until`, was `stage`.
    #[inline]
    pub fn spend_until(&mut self, id: RequestId, stage: Stage, until: Time) {
        let now = std::mem::replace(&mut self.now, until);
        debug_assert!(until <= now);
        self.spend(id, stage);
        self.now = now;
    }

    #[cold]
    fn keep_span(&mut self, id: RequestId, stage: Stage, begin: Time) {
        let Request { serial, kind, offset, length, .. } = *self.request(id);
        let (part, end) = (PartId(self.me), self.now);
        let spans = self.spans.as_mut().expect("asked for just before");
        if spans.len() < self.spans_max && serial != Request::NOBODY {
            spans.push(Span { serial, kind, offset, length, part, stage, begin, end });
        }
    }

    /// Devices that are made from now on keep stamps: a job verifies.
    pub fn keep_stamps(&mut self) {
        self.keeps_stamps = true;
    }

    /// True when devices must keep stamps; asked when they are made.
    pub fn keeps_stamps(&self) -> bool {
        self.keeps_stamps
    }

    /// Keeps the first `at_most` spans from now on.
    pub fn keep_spans(&mut self, at_most: usize) {
        self.spans = Some(Vec::new());
        self.spans_max = at_most;
    }

    /// The spans that were kept.
    pub fn take_spans(&mut self) -> Vec<Span> {
        self.spans.take().unwrap_or_default()
    }

    /// Passes the request to the part below; it comes back to this part's [`super::Part::returned`].
    #[inline]
    pub fn send(&mut self, below: PartId, id: RequestId) {
        let me = self.me;
        let request = self.request_mut(id);
        request.down(me);
        request.followers = 0;
        self.messages.push(Message::Arrive(below.0, id));
    }

    /// Passes the request to another part for good: it comes back to the part above this one.
    #[inline]
    pub fn hand_over(&mut self, below: PartId, id: RequestId) {
        self.messages.push(Message::Arrive(below.0, id));
    }

    /// Passes requests to the part below as one extended command, for a device that knows such: it pays its fixed cost once.
    /// Each comes back on its own. They are of one kind, in the order given; a device takes as many as one of its commands
    /// carries, and a device that knows no extended commands takes them one by one.
    pub fn send_together(&mut self, below: PartId, ids: &[RequestId]) {
        for (index, &id) in ids.iter().enumerate() {
            self.send(below, id);
            self.request_mut(id).followers = (ids.len() - 1 - index) as u32;
        }
    }

    /// A request that nobody above waits for, such as a cache's write to the device below. Whoever spawned it sends it, and
    /// [`Sim::release`]s it when it is back. Its number is [`Request::NOBODY`].
    pub fn spawn(&mut self, kind: Kind, offset: u64, length: u32) -> RequestId {
        let id = self.make(kind, offset, length);
        self.request_mut(id).serial = Request::NOBODY;
        id
    }

    /// This part is through with the request: it goes back to whoever sent it.
    ///
    /// # Panics
    /// When the request has time that was not charged to a stage.
    #[inline]
    pub fn finish(&mut self, id: RequestId) {
        let now = self.now;
        let request = self.request_mut(id);
        assert!(request.mark == now, "a request was finished with time that belongs to no stage");
        let message = if let Some(above) = request.up() {
            Message::Return(above, id)
        } else {
            assert!(request.parent.is_none(), "a part of a request ends by `join`");
            Message::Completed(id)
        };
        self.messages.push(message);
    }

    /// A part of the request, with a way of its own: `send` it or work on it, then [`Sim::join`] it.
    pub fn fork(&mut self, id: RequestId, offset: u64, length: u32) -> RequestId {
        let parent = self.request(id);
        assert!(parent.mark == self.now, "a request was forked with time that belongs to no stage");
        let (kind, stamp, serial, stream) = (parent.kind, parent.stamp, parent.serial, parent.stream);
        self.request_mut(id).children += 1;
        let part = self.make(kind, offset, length);
        let child = self.request_mut(part);
        (child.stamp, child.serial, child.parent, child.stream) = (stamp, serial, Some(id), stream);
        part
    }

    /// The part of a request has ended. The whole, when it was the last: with the stages of this part, which took longest.
    ///
    /// Stamps of parts that were read become the whole's, [`Request::TORN`] when they differ.
    pub fn join(&mut self, child: RequestId) -> Option<RequestId> {
        let parent = self.request(child).parent.expect("only what was forked is joined");
        let pair = self.requests.get_disjoint_mut([child.0 as usize, parent.0 as usize]);
        let [done, whole] = pair.expect("both are under way");
        assert!(done.mark == self.now, "a part of a request was joined with time that belongs to no stage");
        self.free.push(child);
        if whole.kind == Kind::Read {
            let first = !std::mem::replace(&mut whole.stamped, true);
            whole.stamp = if first || whole.stamp == done.stamp { done.stamp } else { Request::TORN };
        }
        whole.children -= 1;
        if whole.children > 0 {
            return None;
        }
        whole.adopt(done);
        Some(parent)
    }

    #[inline]
    fn make(&mut self, kind: Kind, offset: u64, length: u32) -> RequestId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.requests.push(Request::default());
            RequestId(self.requests.len() as u32 - 1)
        });
        let now = self.now;
        self.request_mut(id).renew(kind, offset, length, now);
        id
    }

    /// The driver submits a request to the first part.
    #[inline]
    pub fn submit(&mut self, kind: Kind, offset: u64, length: u32) -> RequestId {
        let id = self.make(kind, offset, length);
        let serial = self.serial;
        self.request_mut(id).serial = serial;
        self.serial += 1;
        self.messages.push(Message::Arrive(self.root, id));
        id
    }

    /// The driver has taken what it wants from a completed request.
    #[inline]
    pub fn release(&mut self, id: RequestId) {
        self.free.push(id);
    }

    /// Wakes the driver.
    pub fn alarm_at(&mut self, time: Time, token: u32) {
        self.calendar.push(WakeUp::new(time, DRIVER, token));
    }

    /// Requests submitted so far.
    pub fn submitted(&self) -> u64 {
        self.serial
    }

    /// Events that are still to come.
    pub fn pending(&self) -> usize {
        self.calendar.len()
    }

    /// The request under way that was submitted first.
    pub fn oldest(&self) -> Option<&Request> {
        let mut through = vec![false; self.requests.len()];
        self.free.iter().for_each(|id| through[id.0 as usize] = true);
        let under_way = self.requests.iter().zip(through).filter(|&(_, through)| !through);
        under_way.map(|(request, _)| request).min_by_key(|request| request.serial)
    }

    /// Requests and parts of requests that are under way.
    pub fn under_way(&self) -> usize {
        self.requests.len() - self.free.len()
    }
}
