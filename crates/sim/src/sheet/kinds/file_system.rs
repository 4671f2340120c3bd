//! Which numbers does a file system have? Clocks, and I/O of its own.

use crate::sheet::parameter::{DeviceKind, Unit, with};

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "fs",
    about: "a file system: clocks and I/O of its own, part of a platform",
    parameters: &[
        with("fs.clocks", Unit::Number, "0", "clocks of a read or write, to find where its data are"),
        with("fs.write", Unit::Number, "0", "clocks more of a write: its transaction"),
        with("fs.page", Unit::Number, "0", "clocks of each page that is written back"),
        with(
            "fs.allocate",
            Unit::Number,
            "0",
            "clocks of each page that is given a place for the first time",
        ),
        with(
            "fs.delayed",
            Unit::Word(&["no", "yes"]),
            "no",
            "pages are given places when they are written back, not in the call",
        ),
        with("fs.request", Unit::Bytes, "512KiB", "largest request of write-back"),
        with(
            "fs.order",
            Unit::Word(&["sorted", "dirtied"]),
            "sorted",
            "write-back goes through the file, or writes pages in the order in which they became dirty",
        ),
        with("fs.metadata", Unit::Bytes, "none", "new data for which one page of metadata is written"),
        with("fs.map", Unit::Bytes, "none", "data whose places one block tells, which is read first"),
        with("fs.journal", Unit::Bytes, "0B", "written to the journal with each commit"),
        with("fs.logged", Unit::Bytes, "0B", "written to the journal for each page of metadata"),
        with("fs.commit", Unit::Time, "5s", "metadata are written so often"),
        with(
            "fs.ordered",
            Unit::Word(&["no", "yes"]),
            "no",
            "dirty data are written before the metadata that tell of them",
        ),
        with("fs.barrier", Unit::Word(&["no", "yes"]), "no", "a commit flushes the drive's buffer"),
    ],
};
