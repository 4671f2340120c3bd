//! Who looks at a load from inside, and is it over for all?
//!
//! An [`Observer`] that the caller brings. It hears when a stage's first thread starts to measure and when the first
//! one is done, and it may ask for a *lane*: a call before and after each I/O of a thread.

use std::sync::atomic::{AtomicBool, Ordering};

use iostack_model::{Carrier, Job, Lane, LaneRequest, Observer};

/// The observer of one stage.
pub(crate) struct Watch<'a> {
    pub(crate) observer: Option<&'a dyn Observer>,
    opened: AtomicBool,
    closed: AtomicBool,
    /// A job has ended with which all others of the stage do.
    over: AtomicBool,
}

impl<'a> Watch<'a> {
    pub(crate) const fn new(observer: Option<&'a dyn Observer>) -> Watch<'a> {
        let [opened, closed, over] = [const { AtomicBool::new(false) }; 3];
        Watch { observer, opened, closed, over }
    }

    /// Nobody is to submit any more.
    pub(crate) fn end_all(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// True when nobody is.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// A thread starts to measure.
    pub(crate) fn open(&self) {
        if let Some(observer) = self.observer
            && !self.opened.swap(true, Ordering::AcqRel)
        {
            observer.opened();
        }
    }

    /// A thread has nothing more to submit.
    pub(crate) fn close(&self) {
        if let Some(observer) = self.observer
            && self.opened.load(Ordering::Acquire)
            && !self.closed.swap(true, Ordering::AcqRel)
        {
            observer.closed();
        }
    }

    /// The calling thread's lane.
    pub(crate) fn lane(&self, job: &Job, carrier: Carrier) -> Option<Box<dyn Lane + 'a>> {
        let slots =
            if matches!(carrier, Carrier::Call | Carrier::Fault) { 1 } else { job.queue_depth.max(1) };
        let thread_id = iostack_host::thread_number().cast_unsigned();
        self.observer?.lane(&LaneRequest { thread_id, slots, carrier, direct: job.direct })
    }
}
