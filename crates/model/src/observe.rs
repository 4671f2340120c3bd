//! How may somebody look at a load from inside, one I/O at a time?
//!
//! The engine calls, an observer (such as the tracer of stages) listens. The engine knows nothing of who listens.

/// Request that a thread of the load is about to make.
#[derive(Clone, Copy, Debug)]
pub struct LaneRequest {
    /// Kernel thread id of the calling thread.
    pub thread_id: u32,
    /// Slots: at most this many I/Os in flight; an I/O's slot is below it.
    pub slots: u32,
    /// Carrier by which the kernel's events lead back to the slot.
    pub carrier: Carrier,
    /// Opened with `O_DIRECT`: an I/O without a bio is then a fault of the observer.
    pub direct: bool,
}

/// Interface that hands I/Os to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// One system call per I/O; slot 0.
    Call,
    /// `io_uring`: the slot is the low 32 bits of `user_data`.
    IoUring,
    /// libaio: the slot is `aio_data`; slot `n`'s control block lies at `blocks + n * 64`.
    Libaio {
        /// Address of the first control block.
        blocks: u64,
    },
    /// Page faults of a mapped file; slot 0.
    Fault,
}

/// Somebody who looks at a load.
pub trait Observer: Sync {
    /// The first thread of the load starts to measure: what counts begins here. May be called again by a later stage
    /// of the same job list.
    fn opened(&self);

    /// The first thread of the load has nothing more to submit.
    fn closed(&self);

    /// A thread is about to load; called in that thread. `None` when there is nothing to watch in it.
    fn lane(&self, request: &LaneRequest) -> Option<Box<dyn Lane + '_>>;
}

/// One thread's I/Os, in the eyes of an observer. Dropped, in the same thread, when its load ends.
pub trait Lane {
    /// Forgets what began before now: the ramp is over.
    fn restart(&mut self);

    /// The I/O of `slot` is about to be handed to the kernel, `late_ns` after it was meant to be.
    fn begin(&mut self, slot: u32, late_ns: u64);

    /// The call that waited has returned: the moment at which all I/Os completed by the next calls came back.
    fn returned(&mut self);

    /// The I/O of `slot` has come back. `whole`: it moved all its bytes; else it does not count.
    fn complete(&mut self, slot: u32, whole: bool);
}
