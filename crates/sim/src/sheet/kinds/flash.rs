//! Which numbers does an SSD have?
//!
//! Tables of the file follow the drawing: `flash` is the cells and how they are arranged and addressed, `channel`, `controller`
//! and `link` are the way of the data, `buffer`, `gc` and `slc` are the firmware's.

use crate::sheet::parameter::{DeviceKind, Unit, needs, with};

const YES_NO: Unit = Unit::Word(&["no", "yes"]);

/// Orders in which consecutive pages go round channels (c), chips of a channel (w, for ways), dies of a chip (d) and planes
/// of a die (p): the first letter changes with every page.
pub const PAGE_ORDERS: &[&str] = &[
    "cwdp", "cwpd", "cdwp", "cdpw", "cpwd", "cpdw", "wcdp", "wcpd", "wdcp", "wdpc", "wpcd", "wpdc", "dcwp",
    "dcpw", "dwcp", "dwpc", "dpcw", "dpwc", "pcwd", "pcdw", "pwcd", "pwdc", "pdcw", "pdwc",
];

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "flash",
    about: "an SSD: link, controller, channels and dies under a page-mapped translation layer",
    parameters: &[
        needs("flash.capacity", Unit::Bytes, "what the host sees"),
        needs("flash.over_provisioning", Unit::Share, "physical over visible capacity, less 1"),
        needs("flash.channels", Unit::Count, "channels between controller and chips"),
        with("flash.chips", Unit::Count, "1", "chips of a channel"),
        with("flash.dies", Unit::Count, "1", "dies of a chip; each works alone"),
        with("flash.planes", Unit::Count, "1", "planes of a die, which may work together"),
        with("flash.page", Unit::Bytes, "4KiB", "what one plane senses or programs at once"),
        needs("flash.pages_per_block", Unit::Count, "flash pages erased together, in one plane"),
        with(
            "flash.mapping",
            Unit::Bytes,
            "4KiB",
            "unit of the mapping; smaller writes read, merge and write",
        ),
        with("flash.sector", Unit::Bytes, "512B", "smallest I/O of the host"),
        needs("flash.read", Unit::Time, "sensing a flash page"),
        needs("flash.program", Unit::Time, "programming a flash page"),
        needs("flash.erase", Unit::Time, "erasing a block"),
        with(
            "flash.multi_plane",
            Unit::Word(&["none", "writes", "matching", "independent"]),
            "writes",
            "what planes of a die do together: nothing; program, erase; sense pages of one number, too; sense any",
        ),
        with("flash.cache_register", YES_NO, "no", "a die senses the next page while the last one leaves it"),
        with(
            "flash.read_priority",
            YES_NO,
            "yes",
            "reads overtake programs and erases that wait for the die",
        ),
        with("flash.overtake", Unit::Count, "16", "reads that may do so before what waits is let through"),
        with(
            "flash.suspend",
            Unit::Word(&["none", "erase", "program", "both"]),
            "none",
            "what a die interrupts for a read",
        ),
        with("flash.suspend_time", Unit::Time, "0", "die time that interrupting and resuming costs"),
        with("flash.queue_depth", Unit::Count, "1024", "commands the device holds: NCQ has 32"),
        with(
            "flash.allocation",
            Unit::Word(&["dynamic", "static"]),
            "dynamic",
            "where a page is written: on any die that is free, or where its address says",
        ),
        with(
            "flash.order",
            Unit::Word(PAGE_ORDERS),
            "cwdp",
            "how pages go round channels, ways, dies, planes",
        ),
        with("flash.stripe", Unit::Bytes, "none", "consecutive bytes on one plane; none: a flash page"),
        with(
            "flash.state",
            Unit::Word(&["fresh", "filled", "steady"]),
            "filled",
            "at the start: empty, once written in order, or after random writes without end",
        ),
        needs("channel.rate", Unit::Rate, "bytes per second of a channel"),
        with("channel.command", Unit::Time, "0", "channel time per transfer, besides the data"),
        with("controller.cores", Unit::Count, "1", "cores of the firmware, one queue for all"),
        with("controller.read", Unit::Time, "0", "core time of a read command"),
        with("controller.read_page", Unit::Time, "0", "core time per mapped page of it"),
        with("controller.write", Unit::Time, "0", "core time of a write, trim or flush command"),
        with("controller.write_page", Unit::Time, "0", "core time per mapped page of a write"),
        with("controller.read_delay", Unit::Time, "0", "delay of a read that keeps no core busy"),
        with("controller.write_delay", Unit::Time, "0", "delay of a write that keeps no core busy"),
        with("link.rate", Unit::Rate, "none", "bytes per second of the link; none: takes no time"),
        with("link.command", Unit::Time, "0", "link time per command, besides the data"),
        with("link.latency", Unit::Time, "0", "delay of a command that keeps the link free for others"),
        with("link.duplex", Unit::Word(&["full", "half"]), "full", "both ways at once, or one at a time"),
        with("buffer.size", Unit::Bytes, "none", "write buffer; none: writes wait for the program"),
        with(
            "buffer.acknowledge",
            Unit::Word(&["early", "programmed"]),
            "early",
            "a write is answered when it is in the buffer, or when it is programmed",
        ),
        with(
            "gc.policy",
            Unit::Word(&["greedy", "choices", "fifo", "random", "cost-benefit"]),
            "greedy",
            "which block is collected",
        ),
        with("gc.choices", Unit::Count, "8", "of how many random blocks `choices` takes the emptiest"),
        with("gc.hot_cold", YES_NO, "no", "pages written again soon get blocks of their own"),
        with(
            "gc.free_low",
            Unit::Count,
            "3",
            "free blocks of a plane from which on writes get what collection wins",
        ),
        with("gc.free_high", Unit::Count, "4", "free blocks of a plane until which idle dies collect"),
        with("slc.size", Unit::Bytes, "none", "blocks used with one bit a cell, besides the capacity"),
        with("slc.read", Unit::Time, "none", "sensing a page of them"),
        with("slc.program", Unit::Time, "none", "programming a page of them"),
        with("slc.erase", Unit::Time, "none", "erasing a block of them"),
        with(
            "slc.full",
            Unit::Word(&["direct", "fold"]),
            "direct",
            "when it is full, writes go past it, or wait until it is folded",
        ),
    ],
};
