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

use crate::devices::parameter::{Pace, count_within, queue_depth};
use crate::numbers::numbers_of;
use crate::sheet::{Sheet, SheetError};

pub(crate) use part::Adapter;

/// Numbers of an adapter's driver by their keys in its sheet: clocks that the host spends.
#[derive(Clone, Debug, Default, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Copies {
    #[default]
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

    /// The program has a driver of its own, whose clocks are the system's.
    pub(crate) fn in_program(self) -> Driver {
        Driver { command: 0.0, end: 0.0, interrupt: 0.0, ..self }
    }

    pub(crate) fn is_scsi(&self) -> bool {
        self.protocol != "nvme"
    }

    /// Each core has a queue, and interrupts, of its own.
    pub(crate) fn per_core(&self) -> bool {
        self.queues == "per-core"
    }
}

/// Numbers of an adapter's hardware by their keys in its sheet; `port` is the bus to a drive.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Hardware {
    command: Nanos,
    delay: Nanos,
    flush: Option<Nanos>,
    tags: Option<u64>,
    /// Commands that a drive takes.
    drive_tags: Option<u64>,
    port_command: Nanos,
    port_setup: Nanos,
    port_rate: Option<Pace>,
    port_end: Nanos,
    #[serde(rename = "rate")]
    uplink: Option<Pace>,
    coalesce: usize,
    coalesce_time: Nanos,
    /// The host makes extended commands: several requests that follow each other at once.
    #[serde(skip)]
    extended: bool,
}

impl Hardware {
    pub(crate) fn read(sheet: &Sheet, extended: bool) -> Result<Hardware, SheetError> {
        queue_depth(sheet, "adapter.tags")?;
        queue_depth(sheet, "adapter.drive_tags")?;
        count_within(sheet, "adapter.coalesce", 1, 1 << 16)?;
        Ok(Hardware { extended, ..numbers_of(sheet)? })
    }

    /// Extended commands reach the drives as they are.
    fn is_transparent(&self) -> bool {
        let takes_time = self.command.0 + self.delay.0 + self.port_command.0 > 0 || self.flush.is_some();
        let bounds = self.tags.is_some() || self.drive_tags.is_some();
        self.extended && !takes_time && !bounds && self.port_rate.is_none() && self.uplink.is_none()
    }

    fn has_ports(&self) -> bool {
        self.port_command.0 + self.port_setup.0 + self.port_end.0 > 0 || self.port_rate.is_some()
    }

    /// Time of data on the bus, ns.
    fn on_port(&self, bytes: u32) -> u64 {
        self.port_rate.map_or(0, |pace| pace.time(u64::from(bytes)))
    }
}
