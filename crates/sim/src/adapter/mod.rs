//! What stands between the host and its drives?
//!
//! ```text
//!   tags ──► firmware ──► port ──► drive 0, 1, ..   commands; each takes the firmware's time, whose inverse caps IOPS
//!            uplink ◄──── port ◄── drive            data of reads and writes, all drives together
//!            coalesce ──► interrupt                 completions wait for others, or for a timer
//! ```
//!
//! A port is the bus to one drive, one frame at a time, as a trace of it shows: the command until its status; then the drive
//! works; then the set-up of the transfer until data, and the data until the drive says that it is through.
//!
//! The clocks of its driver belong to its sheet too, since they follow the adapter: registers that the driver must read,
//! what an interrupt costs, whether commands are translated. The host spends them.

mod part;
#[cfg(test)]
mod tests;

use iostack_model::Nanos;

use crate::devices::DeviceKind;
use crate::devices::parameter::{Pace, count_within, with};
use crate::host::part_of_a_platform;
use crate::sheet::{Sheet, SheetError, Unit};

pub(crate) use part::Adapter;

pub(crate) const KIND: DeviceKind = DeviceKind {
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
    build: part_of_a_platform,
};

/// What the host spends because of it, clocks.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    pub(crate) is_scsi: bool,
    pub(crate) translation: f64,
    pub(crate) command: f64,
    pub(crate) lock: f64,
    pub(crate) interrupt: f64,
    pub(crate) end: f64,
    pub(crate) register_reads: f64,
    pub(crate) per_core: bool,
    /// Requests in an extended command.
    pub(crate) batch: usize,
    /// Bytes of neighbours that become one command.
    pub(crate) merge_bytes: u64,
    pub(crate) copies: Copies,
    /// Clocks for each byte: reads, writes.
    pub(crate) copy: [f64; 2],
}

/// Who moves the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    Device,
    /// The driver, in the caller's context.
    Caller,
    /// A thread of the driver's.
    Worker,
}

impl Driver {
    pub(crate) fn of(sheet: &Sheet) -> Result<Driver, SheetError> {
        let protocol = sheet.word("adapter.protocol")?;
        Ok(Driver {
            is_scsi: protocol != "nvme",
            translation: if protocol == "ata" { sheet.number("adapter.translation")? } else { 0.0 },
            command: sheet.number("adapter.driver")?,
            lock: sheet.number("adapter.driver_lock")?,
            interrupt: sheet.number("adapter.driver_interrupt")?,
            end: sheet.number("adapter.driver_end")?,
            register_reads: sheet.number("adapter.register_reads")?,
            per_core: sheet.word("adapter.queues")? == "per-core",
            batch: count_within(sheet, "adapter.batch", 1, 1 << 16)? as usize,
            merge_bytes: sheet.bytes("adapter.merge")?.0,
            copies: match sheet.word("adapter.copies")? {
                "caller" => Copies::Caller,
                "thread" => Copies::Worker,
                _ => Copies::Device,
            },
            copy: [sheet.number("adapter.copy_read")?, sheet.number("adapter.copy_write")?],
        })
    }
}

/// Phases of a command on the bus to its drive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub(crate) command: Nanos,
    pub(crate) setup: Nanos,
    pub(crate) rate: Option<Pace>,
    pub(crate) end: Nanos,
}

impl Port {
    fn of(sheet: &Sheet) -> Result<Port, SheetError> {
        Ok(Port {
            command: sheet.time("adapter.port_command")?,
            setup: sheet.time("adapter.port_setup")?,
            rate: Pace::of_limit(sheet, "adapter.port_rate")?,
            end: sheet.time("adapter.port_end")?,
        })
    }

    /// From the first byte of data until all is through, ns.
    fn data(&self, bytes: u64) -> u64 {
        self.rate.map_or(0, |pace| pace.time(bytes)) + self.end.0
    }
}

/// The numbers of its hardware.
#[derive(Clone, Debug)]
pub(crate) struct Hardware {
    pub(crate) command: Nanos,
    pub(crate) delay: Nanos,
    pub(crate) tags: u64,
    /// Of each drive.
    pub(crate) drive_tags: u64,
    pub(crate) port: Port,
    pub(crate) uplink: Option<Pace>,
    pub(crate) coalesce: usize,
    pub(crate) coalesce_time: Nanos,
    /// The host makes extended commands: several requests that follow each other at once.
    pub(crate) extended: bool,
}

impl Hardware {
    /// Extended commands reach the drives as they are.
    fn is_transparent(&self) -> bool {
        let takes_time = self.command.0 + self.delay.0 + self.port.command.0 > 0;
        let bounds = self.tags != u64::MAX || self.drive_tags != u64::MAX;
        self.extended && !takes_time && !bounds && self.port.rate.is_none() && self.uplink.is_none()
    }

    pub(crate) fn of(sheet: &Sheet) -> Result<Hardware, SheetError> {
        let tags = |key| if sheet.has(key) { count_within(sheet, key, 1, 1 << 20) } else { Ok(u64::MAX) };
        Ok(Hardware {
            command: sheet.time("adapter.command")?,
            delay: sheet.time("adapter.delay")?,
            tags: tags("adapter.tags")?,
            drive_tags: tags("adapter.drive_tags")?,
            port: Port::of(sheet)?,
            uplink: Pace::of_limit(sheet, "adapter.rate")?,
            coalesce: count_within(sheet, "adapter.coalesce", 1, 1 << 16)? as usize,
            coalesce_time: sheet.time("adapter.coalesce_time")?,
            extended: false,
        })
    }
}
