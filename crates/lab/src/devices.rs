//! The lab's devices: which drivers and which parts of the emulator make each.

use std::path::Path;

use crate::LabError;
use crate::guest::Find;
use crate::host::folder;
use crate::host::modules::normal;

/// Place of a device's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Memory of the driver; this parameter of it gives the size, in units of this many bytes.
    Driver(&'static str, u64),
    /// Behind a device of the emulator.
    Emulator,
    /// Nowhere: what is written is forgotten.
    Nowhere,
    /// Simulated drive outside of the machine, at the other end of a mailbox.
    Outside,
    /// Place that only the driver knows.
    Unknown,
}

/// A device of the lab.
#[derive(Debug)]
pub struct Device {
    /// Its name after `lab:`.
    pub name: &'static str,
    /// Description for people.
    pub about: &'static str,
    /// Modules of the kernel to load, before its own.
    pub modules: &'static [&'static str],
    /// The module that takes options: the last to load.
    pub driver: &'static str,
    /// True when the driver is one of ours, built for the kernel.
    pub own: bool,
    /// Options that it has unless others are given.
    pub options: &'static [(&'static str, &'static str)],
    /// Words for the emulator; the disk behind them is called `disk`.
    pub emulator: &'static [&'static str],
    /// True when it is a SCSI disk found by this model, else its name.
    model: bool,
    found: &'static str,
    /// True when it has a request queue, and so a scheduler.
    pub queue: bool,
    /// Place of its bytes.
    pub store: Store,
}

/// Disk behind an adapter. A SAS adapter sees it only with a name in the world.
const SCSI_DISK: &[&str] = &["-device", "scsi-hd,bus=adapter.0,drive=disk,wwn=0x5000c500105ac001"];

impl Device {
    /// The device of that name.
    pub fn named(name: &str) -> Result<&'static Device, LabError> {
        if name.starts_with(SIMULATED) {
            return Ok(&SIM_DISK);
        }
        DEVICES.iter().find(|device| device.name == name).ok_or_else(|| {
            let known = DEVICES.iter().map(|device| device.name).collect::<Vec<_>>().join(", ");
            LabError::Lacks(format!(
                "`{name}` is no device of the lab; choose from {known}; a folder with a driver's source has a slash: ./{name}"
            ))
        })
    }

    /// The device of that name, or else what the driver of that name in the folder makes.
    pub fn of(name: &str, source: Option<&Path>) -> Result<&'static Device, LabError> {
        let found = Device::named(name);
        let Some(folder) = source else { return found };
        let device = found.unwrap_or(&ANYONES);
        folder::require(folder, &device.module(name)).map(|()| device)
    }

    /// The module that drives it, where it was asked for by this name.
    pub fn module(&self, name: &str) -> String {
        normal(if self.driver.is_empty() { name } else { self.driver })
    }

    /// Rule by which the guest finds it.
    pub fn find(&self) -> Find {
        if self.store == Store::Unknown {
            Find::New(Vec::new())
        } else if self.model {
            Find::Model(self.found.to_owned())
        } else {
            Find::Name(self.found.to_owned())
        }
    }

    const fn memory(name: &'static str, about: &'static str, found: &'static str) -> Device {
        Device {
            name,
            about,
            modules: &[],
            driver: name,
            own: false,
            options: &[],
            emulator: &[],
            model: false,
            found,
            queue: true,
            store: Store::Nowhere,
        }
    }

    const fn adapter(
        name: &'static str,
        about: &'static str,
        driver: &'static str,
        emulator: &'static [&'static str],
    ) -> Device {
        Device {
            modules: &["sd_mod"],
            driver,
            emulator,
            model: true,
            store: Store::Emulator,
            ..Device::memory(name, about, "QEMU HARDDISK")
        }
    }
}

/// Beginning of the name of a simulated drive; the drive follows.
pub const SIMULATED: &str = "sim:";

/// Whatever drive is simulated, its driver is this.
static SIM_DISK: Device = Device {
    own: true,
    store: Store::Outside,
    ..Device::memory("sim_disk", "a simulated drive, in the machine's own time", "sim0")
};

/// Device of a driver that is none of the lab's: its name is that of the module.
const ANYONES: Device =
    Device { store: Store::Unknown, ..Device::memory("", "what a driver in a folder makes", "") };

/// All of them, but for simulated drives, of which there is no end.
pub const DEVICES: [Device; 13] = [
    Device {
        queue: false,
        options: &[("rd_nr", "1")],
        store: Store::Driver("rd_size", 1 << 10),
        ..Device::memory("brd", "RAM disk: the block layer and a copy", "ram0")
    },
    Device {
        options: &[("nr_devices", "1"), ("gb", "1")],
        ..Device::memory("null_blk", "the request layer alone: reports success, moves nothing", "nullb0")
    },
    Device {
        modules: &["sd_mod"],
        options: &[("delay", "0")],
        model: true,
        store: Store::Driver("dev_size_mb", 1 << 20),
        ..Device::memory("scsi_debug", "the kernel's own SCSI disk for tests, in RAM", "scsi_debug")
    },
    Device {
        modules: &["sd_mod"],
        own: true,
        model: true,
        store: Store::Driver("capacity_mib", 1 << 20),
        ..Device::memory("scsi_ram", "SCSI disk in RAM, served by a thread as hardware would", "scsi_ram")
    },
    Device {
        modules: &["sd_mod", "libata"],
        own: true,
        model: true,
        store: Store::Driver("capacity_mib", 1 << 20),
        ..Device::memory("ata_ram", "SATA disk in RAM, served by a thread as hardware would", "ata_ram")
    },
    Device {
        own: true,
        // Its disk takes bios; newer kernels have no file for a scheduler there.
        queue: false,
        store: Store::Driver("capacity_mib", 1 << 20),
        ..Device::memory(
            "tmerge",
            "DRAM-SSD whose commands may hold several discontiguous requests",
            "tmerge0",
        )
    },
    Device {
        modules: &[],
        model: false,
        found: "nvme0n1",
        ..Device::adapter(
            "nvme",
            "NVMe: queue pairs, doorbells",
            "nvme",
            &["-device", "nvme,serial=iostack,drive=disk"],
        )
    },
    Device::adapter(
        "ahci",
        "SATA by AHCI, native command queueing",
        "ahci",
        &["-device", "ide-hd,bus=ide.0,drive=disk"],
    ),
    Device::adapter(
        "mptsas1068",
        "message-based SAS adapter",
        "mptsas",
        &["-device", "mptsas1068,id=adapter"],
    ),
    Device::adapter("megasas", "RAID adapter", "megaraid_sas", &["-device", "megasas-gen2,id=adapter"]),
    Device::adapter(
        "lsi53c895a",
        "parallel SCSI adapter with its own script processor",
        "sym53c8xx",
        &["-device", "lsi53c895a,id=adapter"],
    ),
    Device {
        modules: &["virtio_pci"],
        model: false,
        found: "vda",
        ..Device::adapter(
            "virtio-blk",
            "the hypervisor's disk",
            "virtio_blk",
            &["-device", "virtio-blk-pci,drive=disk"],
        )
    },
    Device {
        modules: &["virtio_pci", "sd_mod"],
        ..Device::adapter(
            "virtio-scsi",
            "the hypervisor's SCSI adapter",
            "virtio_scsi",
            &["-device", "virtio-scsi-pci,id=adapter"],
        )
    },
];

/// Words for the emulator that attach the disk of `device`: behind an adapter, a SCSI disk of its own.
pub fn attachment(device: &Device) -> Vec<String> {
    let adapter = device.emulator.iter().any(|word| word.ends_with("id=adapter"));
    let words = device.emulator.iter().chain(if adapter { SCSI_DISK } else { &[] });
    words.map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_its_own_name_and_a_disk_if_the_emulator_holds_it() {
        for (number, device) in DEVICES.iter().enumerate() {
            assert!(DEVICES[..number].iter().all(|other| other.name != device.name), "{}", device.name);
            let attached = attachment(device).join(" ").contains("drive=disk");
            assert_eq!(attached, device.store == Store::Emulator, "{}", device.name);
        }
    }

    #[test]
    fn an_unknown_device_is_answered_with_the_known_ones() {
        let error = Device::named("sata_ram").expect_err("there is none").to_string();
        assert!(
            error.starts_with("`sata_ram` is no device of the lab; choose from brd, null_blk"),
            "{error}"
        );
    }
}
