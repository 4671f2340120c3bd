//! Which numbers does an adapter have, with its driver?

use crate::sheet::parameter::{DeviceKind, Unit, with};

pub(super) const KIND: DeviceKind = DeviceKind {
    name: "adapter",
    about: "a host bus adapter or the interface of NVMe drives, with its driver: part of a platform",
    parameters: &[
        with(
            "adapter.protocol",
            Unit::Word(&["scsi", "ata", "nvme"]),
            "scsi",
            "which layers its commands pass: SCSI, SCSI and the translation to ATA, or neither",
        ),
        with(
            "adapter.translation",
            Unit::Number,
            "0",
            "clocks of the translation from SCSI to ATA, both ways",
        ),
        with("adapter.driver", Unit::Number, "0", "clocks of the driver for each command, doorbell included"),
        with(
            "adapter.driver_lock",
            Unit::Number,
            "0",
            "clocks for each command under one lock of the driver, for all cores and drives",
        ),
        with("adapter.driver_interrupt", Unit::Number, "0", "clocks of the driver for each interrupt"),
        with("adapter.driver_end", Unit::Number, "0", "clocks of the driver for each completion"),
        with(
            "adapter.register_reads",
            Unit::Number,
            "0",
            "uncacheable registers that the driver reads for each interrupt",
        ),
        with(
            "adapter.command",
            Unit::Time,
            "0",
            "time of the firmware for each command; its inverse caps IOPS",
        ),
        with("adapter.tags", Unit::Count, "none", "commands that it takes at once, all drives together"),
        with("adapter.drive_tags", Unit::Count, "none", "commands that it gives to a drive at once"),
        with("adapter.port_command", Unit::Time, "0", "time of a port from the command to its status"),
        with(
            "adapter.port_setup",
            Unit::Time,
            "0",
            "time of a port from the set-up of a transfer to its data",
        ),
        with(
            "adapter.port_rate",
            Unit::Rate,
            "none",
            "data on a port, for drives that have no link of their own",
        ),
        with(
            "adapter.port_end",
            Unit::Time,
            "0",
            "time of a port from the data's end to the word that all is through",
        ),
        with("adapter.rate", Unit::Rate, "none", "data between adapter and host, all drives together"),
        with(
            "adapter.delay",
            Unit::Time,
            "0",
            "more time of each command in the adapter, without keeping others waiting",
        ),
        with(
            "adapter.queues",
            Unit::Word(&["one", "per-core"]),
            "one",
            "queues, each with an interrupt: one for all cores, or one for each core",
        ),
        with(
            "adapter.batch",
            Unit::Count,
            "32",
            "requests that an extended command carries, on platforms that make such",
        ),
        with(
            "adapter.merge",
            Unit::Bytes,
            "512KiB",
            "neighbours that become one command, on platforms that gather them",
        ),
        with(
            "adapter.copies",
            Unit::Word(&["device", "caller", "thread"]),
            "device",
            "who moves the data: the hardware; of a disk in memory the caller, or a thread of the driver's",
        ),
        with("adapter.copy_read", Unit::Number, "0", "clocks for each byte that is copied from such a disk"),
        with("adapter.copy_write", Unit::Number, "0", "clocks for each byte that is copied to it"),
        with("adapter.coalesce", Unit::Count, "1", "completions that share an interrupt"),
        with("adapter.coalesce_time", Unit::Time, "50us", "a completion waits for others so long at most"),
    ],
};
