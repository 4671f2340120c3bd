//! What is behind the device, and what is on it.

use std::fs::File;
use std::path::PathBuf;

use crate::devices::{Device, Store, attachment};
use crate::guest::{FILE_SYSTEM, MountPlan};
use crate::host::cache::Cache;
use crate::host::filesystem::{FileSystem, pieces};
use crate::host::mailbox::Drives;
use crate::host::packages::Say;
use crate::run_files::RunFiles;
use crate::{LabError, Request};

/// The device's bytes, for one boot.
pub(crate) struct Disk<'a> {
    pub(crate) device: &'a Device,
    /// The file system on it.
    pub(crate) made: Option<&'static FileSystem>,
    pub(crate) capacity_mib: u64,
    /// A file of the boot's own.
    pub(crate) file: PathBuf,
    /// True when data that are written must be read again.
    pub(crate) holds: bool,
    /// It is several disks that the guest makes one.
    pub(crate) is_raid: bool,
    /// True when its content stays from the boot before.
    pub(crate) keeps: bool,
}

impl<'a> Disk<'a> {
    pub(crate) fn for_boot(
        request: &Request,
        device: &'a Device,
        capacity_mib: u64,
        file: PathBuf,
        holds: bool,
    ) -> Result<Disk<'a>, LabError> {
        let made = request.file_system.as_deref().map(FileSystem::named).transpose()?;
        let (is_raid, keeps) = (request.raid.is_some(), request.keeps);
        Ok(Disk { device, made, capacity_mib, file, holds, is_raid, keeps })
    }

    /// Makes the file system, in the file behind the emulator's device or for the guest to write to its own.
    pub(crate) fn prepare(
        &self,
        cache: &Cache,
        files: &mut RunFiles,
        drives: Option<&mut dyn Drives>,
        say: Say<'_>,
    ) -> Result<Option<MountPlan>, LabError> {
        if self.made.is_some() && self.device.store == Store::Nowhere {
            return Err(LabError::Asked(format!(
                "{} forgets what is written, so that no file system can be on it; use brd",
                self.device.name
            )));
        }
        if let (true, Some(made)) = (self.keeps, self.made) {
            return Ok(Some(MountPlan { kind: made.name.clone(), image: false }));
        }
        if let Some(made) = self.made {
            made.make(cache, &self.file, self.capacity_mib, say)?;
        } else if self.is_file() {
            let file = File::create(&self.file).and_then(|file| file.set_len(self.capacity_mib << 20));
            file.map_err(LabError::file("make", &self.file))?;
        }
        let in_driver = matches!(self.device.store, Store::Driver(..) | Store::Unknown) || self.is_raid;
        if in_driver && self.made.is_some() {
            files.add(FILE_SYSTEM, pieces(&self.file)?);
        }
        if let (Some(drives), Some(_), false) = (drives, self.made, in_driver) {
            drives.hold(&self.file).map_err(LabError::file("read", &self.file))?;
        }
        Ok(self.made.map(|made| MountPlan { kind: made.name.clone(), image: in_driver }))
    }

    /// Words for the emulator.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.device.store == Store::Emulator {
            words.push("-blockdev".to_owned());
            words.push(if self.is_file() {
                format!("driver=file,node-name=disk,filename={}", self.file.display())
            } else {
                // Answers at once, without a file of the host between.
                let size = self.capacity_mib << 20;
                format!("driver=null-co,node-name=disk,size={size},read-zeroes=on")
            });
        }
        words.extend(attachment(self.device));
        words
    }

    fn is_file(&self) -> bool {
        self.device.store == Store::Emulator && (self.holds || self.made.is_some())
    }
}
