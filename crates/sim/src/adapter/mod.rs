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

use crate::sheet::{Sheet, SheetError};
use iostack_model::Nanos;

use crate::devices::parameter::{Pace, count_within};

pub(crate) use part::Adapter;

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
            rate: Pace::limit_from_sheet(sheet, "adapter.port_rate")?,
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
            uplink: Pace::limit_from_sheet(sheet, "adapter.rate")?,
            coalesce: count_within(sheet, "adapter.coalesce", 1, 1 << 16)? as usize,
            coalesce_time: sheet.time("adapter.coalesce_time")?,
            extended: false,
        })
    }
}
