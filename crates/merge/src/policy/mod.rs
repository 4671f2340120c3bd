//! Who carries a request, alone or with others?

mod atm;
mod auto;
mod decide;
mod hybrid;
mod leader;
mod learn;
mod lineup;
mod plug;
mod queue;
mod ring;
mod send;
mod stm;
mod sync;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod world;

use std::io;
use std::sync::Arc;

use crate::sys::{Device, Pending, Request, call, lend_read, lend_write};
use crate::{Options, Policy};

/// A way for single blocking calls.
pub(crate) trait Carry: Send + Sync {
    /// Takes one request on its way; returns when `pending` is done.
    fn carry(&self, device: &dyn Device, request: Request, pending: &Pending<'_>);

    /// Reads by a plain call of this thread, where that is the way at present; else [`Carry::carry`] is asked.
    fn read(&self, _device: &dyn Device, _buffer: &mut [u8], _offset: u64) -> Option<io::Result<usize>> {
        None
    }

    /// Writes by a plain call of this thread, where that is the way at present.
    fn write(&self, _device: &dyn Device, _buffer: &[u8], _offset: u64) -> Option<io::Result<usize>> {
        None
    }

    /// Which way it takes at present, where it chooses.
    fn advice(&self) -> Option<Advice> {
        None
    }
}

/// Which way single calls take at present, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The way.
    pub policy: Policy,
    /// A clause that goes on after "because".
    pub why: String,
}

/// Reads by a way. What another carried and lost (`ECANCELED`) is read once more, by a plain call.
pub(crate) fn read(
    carry: &dyn Carry,
    device: &dyn Device,
    buffer: &mut [u8],
    offset: u64,
) -> io::Result<usize> {
    match lend_read(buffer, offset, |request, pending| carry.carry(device, request, pending)) {
        Err(error) if error.raw_os_error() == Some(libc::ECANCELED) => device.read(buffer, offset),
        result => result,
    }
}

/// Writes by a way. What another carried and lost (`ECANCELED`) is written once more, by a plain call.
pub(crate) fn write(carry: &dyn Carry, device: &dyn Device, buffer: &[u8], offset: u64) -> io::Result<usize> {
    match lend_write(buffer, offset, |request, pending| carry.carry(device, request, pending)) {
        Err(error) if error.raw_os_error() == Some(libc::ECANCELED) => device.write(buffer, offset),
        result => result,
    }
}

/// The way of a file's policy.
pub(crate) fn of(options: &Options, device: &Arc<dyn Device>, file_id: u64) -> Box<dyn Carry> {
    if options.policy == Policy::Auto {
        let merging = Options { policy: auto::MERGING, ..options.clone() };
        return Box::new(auto::Auto::new(one(&merging, device, file_id)));
    }
    one(options, device, file_id)
}

/// A way that does not change.
fn one(options: &Options, device: &Arc<dyn Device>, _file_id: u64) -> Box<dyn Carry> {
    let batch_max = options.batch_max.min(device.batch_max());
    match options.policy {
        Policy::Auto | Policy::Pread => Box::new(Alone),
        Policy::Atm => Box::new(atm::Atm::new(options, device, batch_max)),
        Policy::Ring => Box::new(ring::Ring),
        Policy::Hybrid => Box::new(hybrid::Hybrid::new(batch_max)),
        Policy::LeaderFollower => Box::new(leader::LeaderFollower::new(batch_max)),
        Policy::Stm => Box::new(stm::Stm::new(batch_max)),
    }
}

/// Each by itself, by a plain call.
struct Alone;

impl Carry for Alone {
    fn carry(&self, device: &dyn Device, request: Request, _: &Pending<'_>) {
        let result = call(device, &request);
        request.complete(result);
    }
}
