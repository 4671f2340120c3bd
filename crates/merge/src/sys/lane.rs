//! What leads to a device?
//!
//! A [`Device`] answers single calls and gives out lanes. A [`Lane`] belongs to one thread, which queues requests and then enters:
//! all that is queued travels together.

use std::io;

use super::Request;

/// Device that answers: a file by one of the kernel's interfaces, or memory.
pub(crate) trait Device: Send + Sync {
    /// Reads at an offset, at once and by itself: bytes that came, fewer at the end of the file. Retries after a signal.
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes at an offset, at once and by itself: bytes that were taken.
    fn write(&self, buffer: &[u8], offset: u64) -> io::Result<usize>;

    /// A new lane with room for `depth` requests in flight, for the calling thread.
    fn lane(&self, depth: usize) -> io::Result<Box<dyn Lane>>;

    /// Requests that one batch may carry.
    fn batch_max(&self) -> usize;

    /// Name of what carries batches.
    fn name(&self) -> &'static str;

    /// Bytes that can be read.
    fn len(&self) -> io::Result<u64>;

    /// Gets what was written onto its medium, or its data only. Memory has none.
    fn sync(&self, _data_only: bool) -> io::Result<()> {
        Ok(())
    }
}

/// One thread's way to a device. Dropping it waits for what is in flight.
pub(crate) trait Lane {
    /// Requests that it has room for, queued and in flight.
    fn depth(&self) -> usize;

    /// Requests that are queued or in flight.
    fn held(&self) -> usize;

    /// Queues a request for the next [`Lane::enter`]; there must be room.
    fn push(&mut self, request: Request);

    /// Sends what is queued as one batch, then waits until at least `least` of what it holds (at most all) are through.
    ///
    /// Appends to `finished`, in any order. A request that cannot be sent is finished with the error; the lane itself never
    /// fails. Signals are not the caller's business: it goes on waiting.
    fn enter(&mut self, least: usize, finished: &mut Vec<Finished>);
}

/// Carrier that does all that is queued before it returns, so that nothing is in flight in between.
pub(crate) trait AtOnce {
    /// Empties `queued`, and appends all of it to `finished`.
    fn carry(&mut self, queued: &mut Vec<Request>, finished: &mut Vec<Finished>);
}

/// The lane of such a one.
pub(crate) struct AtOnceLane<C> {
    carrier: C,
    depth: usize,
    queued: Vec<Request>,
}

impl<C: AtOnce> AtOnceLane<C> {
    pub(crate) fn new(carrier: C, depth: usize) -> AtOnceLane<C> {
        AtOnceLane { carrier, depth, queued: Vec::new() }
    }
}

impl<C: AtOnce> Lane for AtOnceLane<C> {
    fn depth(&self) -> usize {
        self.depth
    }

    fn held(&self) -> usize {
        self.queued.len()
    }

    fn push(&mut self, request: Request) {
        self.queued.push(request);
    }

    fn enter(&mut self, _least: usize, finished: &mut Vec<Finished>) {
        self.carrier.carry(&mut self.queued, finished);
    }
}

/// A request with its result, which its owner does not know yet: [`Finished::deliver`] tells.
#[derive(Debug)]
pub(crate) struct Finished {
    request: Request,
    result: io::Result<usize>,
}

impl Finished {
    pub(crate) fn new(request: Request, result: io::Result<usize>) -> Finished {
        Finished { request, result }
    }

    /// Takes the result of a system call: bytes, or a negative error.
    pub(crate) fn of_call(request: Request, returned: i32) -> Finished {
        let result = usize::try_from(returned).map_err(|_| io::Error::from_raw_os_error(-returned));
        Finished { request, result }
    }

    /// Tag of its owner: [`Request::tag`].
    pub(crate) fn tag(&self) -> u64 {
        self.request.tag()
    }

    /// The owner has its result, and its memory, from now on.
    pub(crate) fn deliver(self) {
        self.request.complete(self.result);
    }
}
