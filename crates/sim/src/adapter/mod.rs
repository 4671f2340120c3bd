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
use serde::Deserialize;

use crate::devices::parameter::{Pace, count_within};
use crate::numbers::numbers_of;
use crate::sheet::{Sheet, SheetError};

pub(crate) use part::Adapter;

/// Numbers of an adapter's driver by their keys in its sheet: clocks that the host spends.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Driver {
    protocol: String,
    pub(crate) translation: f64,
    #[serde(rename = "driver")]
    pub(crate) command: f64,
    #[serde(rename = "driver_lock")]
    pub(crate) lock: f64,
    #[serde(rename = "driver_interrupt")]
    pub(crate) interrupt: f64,
    #[serde(rename = "driver_end")]
    pub(crate) end: f64,
    pub(crate) register_reads: f64,
    queues: String,
    /// Requests in an extended command.
    pub(crate) batch: usize,
    /// Bytes of neighbours that become one command.
    #[serde(rename = "merge")]
    pub(crate) merge_bytes: u64,
    pub(crate) copies: Copies,
    pub(crate) copy_read: f64,
    pub(crate) copy_write: f64,
}

/// Mover of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Copies {
    Device,
    /// The driver, in the caller's context.
    Caller,
    /// A thread of the driver's.
    Thread,
}

impl Driver {
    pub(crate) fn read(sheet: &Sheet) -> Result<Driver, SheetError> {
        count_within(sheet, "adapter.batch", 1, 1 << 16)?;
        let mut driver: Driver = numbers_of(sheet)?;
        if driver.protocol != "ata" {
            driver.translation = 0.0;
        }
        Ok(driver)
    }

    pub(crate) fn is_scsi(&self) -> bool {
        self.protocol != "nvme"
    }

    /// Each core has a queue, and interrupts, of its own.
    pub(crate) fn per_core(&self) -> bool {
        self.queues == "per-core"
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
    fn read(sheet: &Sheet) -> Result<Port, SheetError> {
        Ok(Port {
            command: sheet.time("adapter.port_command")?,
            setup: sheet.time("adapter.port_setup")?,
            rate: Pace::limit_from_sheet(sheet, "adapter.port_rate")?,
            end: sheet.time("adapter.port_end")?,
        })
    }

    /// Time from the first byte of data until all is through, ns.
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
    /// Commands that a drive takes.
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

    pub(crate) fn read(sheet: &Sheet) -> Result<Hardware, SheetError> {
        let tags = |key| if sheet.has(key) { count_within(sheet, key, 1, 1 << 20) } else { Ok(u64::MAX) };
        Ok(Hardware {
            command: sheet.time("adapter.command")?,
            delay: sheet.time("adapter.delay")?,
            tags: tags("adapter.tags")?,
            drive_tags: tags("adapter.drive_tags")?,
            port: Port::read(sheet)?,
            uplink: Pace::limit_from_sheet(sheet, "adapter.rate")?,
            coalesce: count_within(sheet, "adapter.coalesce", 1, 1 << 16)? as usize,
            coalesce_time: sheet.time("adapter.coalesce_time")?,
            extended: false,
        })
    }
}
