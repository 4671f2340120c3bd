//! Which numbers does a device have that answers at once?

use crate::sheet::parameter::{DeviceKind, Unit, with};

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "zero",
    about: "answers at once, or after a fixed time",
    parameters: &[
        with("zero.capacity", Unit::Bytes, "1TiB", "what the host sees"),
        with("zero.latency", Unit::Time, "0", "of every request"),
    ],
};
