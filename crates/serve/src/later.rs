//! What is done at a later moment?

use std::collections::BTreeMap;

use iostack_sim::engine::Time;

use crate::Errno;

/// Acts of layers to come, by their moment and in order.
#[derive(Default)]
pub(crate) struct Later {
    pub(crate) acts: BTreeMap<(Time, u64), (u32, Result<LateAct, Errno>)>,
    count: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LateAct {
    Submit,
    Answer,
    /// The same, and not counted.
    Probe,
}

impl Later {
    pub(crate) fn add(&mut self, at: Time, tag: u32, act: Result<LateAct, Errno>) {
        self.count += 1;
        self.acts.insert((at, self.count), (tag, act));
    }

    pub(crate) fn due(&self) -> Option<Time> {
        self.acts.first_key_value().map(|(&(at, _), _)| at)
    }
}
