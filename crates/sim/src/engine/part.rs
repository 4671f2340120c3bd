//! What is a part of the simulated world?

use iostack_model::{Bytes, Engine, FlashUse, HostUse, RaidUse, ResourceUse};

use super::{RequestId, Sim, Time};

/// A part's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartId(pub(super) u16);

/// Size of a device as the host sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Bytes that it holds.
    pub capacity: Bytes,
    /// Smallest unit of an I/O.
    pub block: Bytes,
}

/// Zones of a device that takes writes only where each of them goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneShape {
    /// Bytes from the start of one to the start of the next.
    pub size: Bytes,
    /// Bytes of each that can be written.
    pub capacity: Bytes,
    /// Zones that may be partly written at once.
    pub written_most: u32,
}

/// A thread that submits requests, for parts that know threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Way in which it asks.
    pub engine: Engine,
    /// I/Os go past the page cache.
    pub direct: bool,
    /// I/Os it keeps in flight.
    pub queue_depth: u32,
    /// I/Os it submits with one call, at most.
    pub batch_submit: u32,
    /// I/Os that must be through before it looks, when all that it may have in flight are.
    pub complete_min: u32,
    /// Number of the thread among those of all jobs that run together.
    pub number: u32,
    /// Processors it may use; all when absent.
    pub cpus: Option<Vec<u32>>,
}

/// Bits of [`super::Request::user`] below the number of the caller, which belong to it.
pub const CALLER_SHIFT: u32 = 13;

/// A core, a lock, an adapter, a device: something that a request visits.
///
/// A part never waits. It takes what arrives, asks to be woken, passes requests on, and returns.
pub trait Part: Send {
    /// Name in timelines and errors.
    fn name(&self) -> &str;

    /// A request has come from the part above. From now on its time is this part's: each stretch goes to a stage by
    /// [`Sim::spend`]. It leaves by [`Sim::send`] or [`Sim::finish`].
    fn arrive(&mut self, id: RequestId, sim: &mut Sim);

    /// A moment that this part asked for with [`Sim::wake_at`] has come.
    fn wake(&mut self, token: u32, sim: &mut Sim);

    /// A request that this part sent to another part is back. Passes it up unless the part does more.
    fn returned(&mut self, id: RequestId, sim: &mut Sim) {
        sim.finish(id);
    }

    /// All that follows at once from what happened has been said; time goes on after this. Asked for with
    /// [`Sim::settle_later`], once for each time.
    fn settled(&mut self, _sim: &mut Sim) {}

    /// These threads submit from now on: `user >> `[`CALLER_SHIFT`] of a request is its place in the list.
    fn meet(&mut self, _callers: &[Caller]) {}

    /// Measuring starts: accounts and counts begin anew.
    fn begin(&mut self, _now: Time) {}

    /// Adds a line for each kind of resource it has; see [`super::usage`].
    fn resources(&self, _now: Time, _list: &mut Vec<ResourceUse>) {}

    /// Adds what is worth seeing over time: name and present value.
    fn gauges(&self, _list: &mut Vec<(&'static str, f64)>) {}

    /// Work of flash management since [`Part::begin`].
    fn flash(&self) -> Option<FlashUse> {
        None
    }

    /// I/Os of an array's members since [`Part::begin`].
    fn raid(&self) -> Option<RaidUse> {
        None
    }

    /// Clocks of the host until now, of the part that is one; `ios` were asked for since [`Part::begin`].
    fn host(&self, _now: Time, _ios: u64) -> Option<HostUse> {
        None
    }

    /// Adds what this part spent of the host's clocks on so many I/Os.
    fn amend(&self, _ios: u64, _host: &mut HostUse) {}

    /// Size as the host sees it, of parts that are devices.
    fn shape(&self) -> Option<Shape> {
        None
    }

    /// Zones of a device that has some.
    fn zones(&self) -> Option<ZoneShape> {
        None
    }

    /// Words on how the state at the start was made, when it was not written: for the doubt.
    fn state_by_formula(&self) -> Option<String> {
        None
    }
}
