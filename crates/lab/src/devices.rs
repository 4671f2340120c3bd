//! The lab's devices: which drivers and which parts of the emulator make each.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use crate::LabError;
use crate::guest::Find;
use crate::host::folder;
use crate::host::modules::normal;

/// Place of a device's bytes.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub enum Store {
    /// Memory of the driver; this parameter of it gives the size, in units of this many bytes.
    Driver(String, u64),
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its name after `lab:`.
    pub name: String,
    /// Description for people.
    pub about: String,
    /// Modules of the kernel to load, before its own.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Module that takes options, the last to load; empty where it is called like the device.
    #[serde(default)]
    driver: String,
    /// True when the driver is one of ours, built for the kernel.
    #[serde(default)]
    pub own: bool,
    /// Options that it has unless others are given.
    #[serde(default)]
    pub options: Vec<(String, String)>,
    /// Words for the emulator; the disk behind them is called `disk`.
    #[serde(default)]
    emulator: Vec<String>,
    /// True when the emulator cannot bring its state to a machine that begins with a snapshot.
    #[serde(default)]
    pub plugged: bool,
    /// Rule by which the guest finds it.
    pub find: Find,
    /// True when it has a request queue, and so a scheduler.
    #[serde(default = "yes")]
    pub queue: bool,
    /// Place of its bytes.
    pub store: Store,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct Catalogue {
    device: Vec<Device>,
    simulated: Device,
    anyones: Device,
}

static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| toml::from_str(include_str!("devices.toml")).expect("a test has read it"));

/// All devices, but for simulated drives, of which there is no end.
pub fn all() -> &'static [Device] {
    &CATALOGUE.device
}

/// Disk behind an adapter. A SAS adapter sees it only with a name in the world.
const SCSI_DISK: [&str; 2] = ["-device", "scsi-hd,bus=adapter.0,drive=disk,wwn=0x5000c500105ac001"];

impl Device {
    /// The device of that name.
    pub fn named(name: &str) -> Result<&'static Device, LabError> {
        if name.starts_with(SIMULATED) {
            return Ok(&CATALOGUE.simulated);
        }
        all().iter().find(|device| device.name == name).ok_or_else(|| {
            let known = all().iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(", ");
            LabError::Lacks(format!(
                "`{name}` is no device of the lab; choose from {known}; a folder with a driver's source has a slash: ./{name}"
            ))
        })
    }

    /// The device of that name, or else what the driver of that name in the folder makes.
    pub fn with_source(name: &str, source: Option<&Path>) -> Result<&'static Device, LabError> {
        let found = Device::named(name);
        let Some(folder) = source else { return found };
        let device = found.unwrap_or(&CATALOGUE.anyones);
        folder::require(folder, &device.module(name)).map(|()| device)
    }

    /// The module that drives it, where it was asked for by this name.
    pub fn module(&self, name: &str) -> String {
        normal(if self.driver.is_empty() { name } else { &self.driver })
    }
}

/// Beginning of the name of a simulated drive; the drive follows.
pub const SIMULATED: &str = "sim:";

/// The device and the source that a word means: a name, or a folder, which has a slash, with the source of one driver.
pub fn meant(word: &str, source: Option<&Path>) -> Result<(String, Option<PathBuf>), LabError> {
    // The sheet of a simulated drive may be a file.
    let named = word.starts_with(SIMULATED) || !word.contains('/') && !matches!(word, "." | "..");
    if named {
        return Ok((word.to_owned(), source.map(Path::to_owned)));
    }
    if let Some(source) = source {
        return Err(LabError::Asked(format!(
            "`{word}` is the folder of a driver, and --source names another, `{}`; leave out one",
            source.display()
        )));
    }
    let source = Path::new(word);
    let mut devices = folder::modules(source)?.into_iter().map(|module| device_of(&module));
    match (devices.next(), devices.next()) {
        (Some(only), None) => Ok((only, Some(source.to_owned()))),
        (None, _) => Err(LabError::Asked(format!(
            "only make can tell which modules `{word}` builds; name the driver: MODULE --source {word}"
        ))),
        (Some(first), Some(second)) => {
            let all: Vec<String> = [first.clone(), second].into_iter().chain(devices).collect();
            Err(LabError::Asked(format!(
                "`{word}` builds several modules, {}; name the driver: {first} --source {word}",
                all.join(", ")
            )))
        }
    }
}

/// The device of the lab that this module drives, or else its own name.
fn device_of(module: &str) -> String {
    let known = all().iter().find(|device| device.module(&device.name) == module);
    known.map_or(module, |device| &device.name).to_owned()
}

/// Words for the emulator that attach the disk of `device`: behind an adapter, a SCSI disk of its own.
pub(crate) fn attachment(device: &Device) -> Vec<String> {
    let mut words = device.emulator.clone();
    if words.iter().any(|word| word.ends_with("id=adapter")) {
        words.extend(SCSI_DISK.map(str::to_owned));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_has_its_own_name_and_a_disk_if_the_emulator_holds_it() {
        for (number, device) in all().iter().enumerate() {
            assert!(all()[..number].iter().all(|other| other.name != device.name), "{}", device.name);
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

    #[test]
    fn our_own_folders_mean_our_own_devices() {
        let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
        let word = |below: &str| kernel.join(below).display().to_string();
        let (device, source) = meant(&word("ata_ram"), None).expect("our own source");
        assert_eq!((device.as_str(), source), ("ata_ram", Some(kernel.join("ata_ram"))));
        let several = meant(&word("."), None).expect_err("a folder of folders").to_string();
        assert!(several.contains("builds several modules") && several.contains("scsi_ram"), "{several}");
        assert_eq!(meant("brd", None).expect("a name"), ("brd".to_owned(), None));
        let twice = meant("./x", Some(Path::new("y"))).expect_err("two folders").to_string();
        assert!(twice.contains("leave out one"), "{twice}");
        assert_eq!(device_of("megaraid_sas"), "megasas");
        let other = folder::require(&kernel.join("tmerge"), "brd").expect_err("another").to_string();
        assert!(other.ends_with("is the source of tmerge, and not of brd"), "{other}");
    }
}
