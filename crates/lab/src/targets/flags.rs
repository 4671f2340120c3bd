//! Flags of everything that boots, and the request that they make.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::{Args, FromArgMatches};
use iostack_target::{EXAMPLE, changes};

use crate::devices::{self, Device, SIMULATED, Store};
use crate::host::filesystem::FileSystem;
use crate::outside::{BroughtBy, drives_of};
use crate::{CHUNK_KIB, MEMORY_LEAST_MIB, Raid, Request, SCHEDULERS, SYSFS};

const HEADING: &str = "Devices of the lab (lab:DEVICE)";

/// Speed of the processor before a simulated drive: one of 2008 that runs the kernel, when the drives of the documents
/// were sold (2.5 GHz, an instruction a clock).
const SIMULATED_GHZ: f64 = 2.5;

/// Largest memory that tests cover.
const MEMORY_MOST_MIB: u64 = 64 << 10;

/// Flags of everything that boots.
#[derive(clap::Args, Clone, Debug, Default, PartialEq)]
pub struct LabFlags {
    /// Kernel: a series of the distribution's packages (6.1, 6.12), or a
    /// folder [6.1].
    #[arg(long, value_name = "KERNEL", help_heading = HEADING)]
    pub kernel: Option<String>,
    /// Folder with the driver's source, of one of the lab's devices or of
    /// any other; a folder as DEVICE (./mydriver) says the same.
    #[arg(long, value_name = "FOLDER", help_heading = HEADING)]
    pub source: Option<PathBuf>,
    /// The disk, where the driver makes several.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub disk: Option<String>,
    /// File system between: ext2, ext3, ext4, xfs, btrfs or reiserfs.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub file_system: Option<String>,
    /// I/O scheduler: none, mq-deadline, kyber or bfq [none].
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub scheduler: Option<String>,
    /// Leave the processor's mitigations as the kernel chooses [off].
    #[arg(long, help_heading = HEADING)]
    pub mitigations: bool,
    /// Tracepoint to enable, such as `block:block_rq_issue`; may be
    /// repeated.
    #[arg(long, value_name = "GROUP:NAME", help_heading = HEADING)]
    pub tracepoint: Vec<String>,
    /// Size of the device in MiB.
    #[arg(long, value_name = "MIB", help_heading = HEADING)]
    pub capacity_mib: Option<u64>,
    /// How fast the emulated processor is taken to be: instructions a
    /// nanosecond, before a simulated drive [2.5].
    #[arg(long, value_name = "NUMBER", help_heading = HEADING)]
    pub ghz: Option<f64>,
    /// Memory of the machine in MiB, page cache and all [512].
    #[arg(long, value_name = "MIB", help_heading = HEADING)]
    pub memory_mib: Option<u64>,
    /// One disk of several simulated drives (sim:x25e,x25e), by the kernel's
    /// md: 0, 1, 5, 6 or 10.
    #[arg(long, value_name = "LEVEL", help_heading = HEADING)]
    pub raid: Option<u32>,
    /// KiB of a chunk of the RAID [512].
    #[arg(long, value_name = "KIB", requires = "raid", help_heading = HEADING)]
    pub chunk_kib: Option<u32>,
    /// What lies over each simulated drive, such as "delay(80us)"; see
    /// `iostack serve --help`. May be repeated, from the program down.
    #[arg(long, value_name = "LAYER", help_heading = HEADING)]
    pub layer: Vec<String>,
    /// Module of the kernel to load beside what the device needs, such as
    /// `dm_mod`; may be repeated.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = HEADING)]
    pub module: Vec<String>,
    /// Commands that each simulated drive takes at once, 1 to 1024 [256].
    #[arg(long, value_name = "COUNT", help_heading = HEADING, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub drive_depth: Option<u32>,
    /// Boot the machine, although there may be a snapshot to begin with.
    #[arg(long, help_heading = HEADING)]
    pub fresh_boot: bool,
    /// Seconds without a word after which the machine is given up; not those
    /// in which it waits for a processor [180].
    #[arg(long, value_name = "SECONDS", help_heading = HEADING)]
    pub time_limit: Option<u64>,
}

/// The flag of the lab that a key of an experiment means: `lab.file_system`.
pub fn flag(key: &str) -> Option<String> {
    key.strip_prefix("lab.").map(|name| format!("--{}", name.replace('_', "-")))
}

impl LabFlags {
    /// Parses keys of an experiment, `lab.file_system`, and their values.
    pub fn from_pairs(pairs: &[(String, String)]) -> anyhow::Result<LabFlags> {
        let words = pairs.iter().filter_map(|(key, value)| Some([flag(key)?, value.clone()])).flatten();
        let command = LabFlags::augment_args(clap::Command::new("lab").no_binary_name(true));
        Ok(LabFlags::from_arg_matches(&command.try_get_matches_from(words)?)?)
    }

    /// Its flags, and whether each was given.
    pub fn given(&self) -> Vec<(&'static str, bool)> {
        self.typed().into_iter().map(|(flag, values)| (flag, !values.is_empty())).collect()
    }

    /// Its flags, each with its values; one that takes none has an empty one where it was given.
    pub(super) fn typed(&self) -> Vec<(&'static str, Vec<String>)> {
        fn one<T: ToString>(value: Option<&T>) -> Vec<String> {
            value.map(T::to_string).into_iter().collect()
        }
        let source = self.source.as_ref().map(|path| path.display().to_string());
        vec![
            ("--kernel", one(self.kernel.as_ref())),
            ("--source", one(source.as_ref())),
            ("--disk", one(self.disk.as_ref())),
            ("--file-system", one(self.file_system.as_ref())),
            ("--scheduler", one(self.scheduler.as_ref())),
            ("--mitigations", one(self.mitigations.then(String::new).as_ref())),
            ("--tracepoint", self.tracepoint.clone()),
            ("--capacity-mib", one(self.capacity_mib.as_ref())),
            ("--ghz", one(self.ghz.as_ref())),
            ("--memory-mib", one(self.memory_mib.as_ref())),
            ("--raid", one(self.raid.as_ref())),
            ("--chunk-kib", one(self.chunk_kib.as_ref())),
            ("--layer", self.layer.clone()),
            ("--module", self.module.clone()),
            ("--drive-depth", one(self.drive_depth.as_ref())),
            ("--fresh-boot", one(self.fresh_boot.then(String::new).as_ref())),
            ("--time-limit", one(self.time_limit.as_ref())),
        ]
    }

    /// The request for this device with these driver options, checked as far as can be without booting.
    /// `brought_by`: who has the simulated drives.
    pub fn request(&self, device: &str, set: &[String], brought_by: BroughtBy) -> anyhow::Result<Request> {
        let (device, source) =
            devices::meant(super::device(device).unwrap_or(device), self.source.as_deref())?;
        let known = Device::with_source(&device, source.as_deref())?;
        let simulated = device.starts_with(SIMULATED);
        self.check(&device, known, simulated)?;
        let example = if simulated { EXAMPLE } else { "copy=0" };
        // What is no file of the disk's is the drive's.
        let of_drive = |(name, _): &(String, String)| simulated && !name.starts_with(SYSFS);
        let (drive, mut options): (Vec<_>, Vec<_>) = changes(set, example)?.into_iter().partition(of_drive);
        options.sort();
        let default = Request::default();
        let request = Request {
            brought_by,
            raid: self.raid(simulated, &device)?,
            flags: self.clone(),
            device,
            options,
            drive,
            kernel: self.kernel.clone().unwrap_or_else(|| default.kernel.clone()),
            file_system: self.file_system.clone(),
            scheduler: self.scheduler_name().to_owned(),
            source,
            mitigations: self.mitigations,
            tracepoints: self.tracepoint.clone(),
            limit: self.time_limit.map_or(default.limit, Duration::from_secs),
            khz: self.khz(simulated)?,
            ..default
        };
        request.check_drives()?;
        Ok(request)
    }

    fn scheduler_name(&self) -> &str {
        self.scheduler.as_deref().unwrap_or("none")
    }

    /// Refuses what this device cannot have.
    fn check(&self, device: &str, known: &Device, simulated: bool) -> anyhow::Result<()> {
        let is_sized = self.capacity_mib.is_some();
        ensure!(
            !is_sized || known.store != Store::Unknown,
            "{device} alone knows how large its disk is; leave out --capacity-mib (see `modinfo` for --set)"
        );
        self.file_system.as_deref().map(FileSystem::named).transpose()?;
        let scheduler = self.scheduler_name();
        let is_known = SCHEDULERS.contains(&scheduler);
        ensure!(is_known, "`{scheduler}` is no scheduler; choose from {}", SCHEDULERS.join(", "));
        let has_it = scheduler == "none" || known.queue;
        ensure!(has_it, "{device} has no request queue, and so no scheduler; leave out --scheduler");
        for name in &self.tracepoint {
            let is_one = name.split(':').count() == 2;
            ensure!(is_one, "`{name}` is no tracepoint; write it like block:block_rq_issue");
        }
        let sizes_itself = !simulated || !is_sized;
        ensure!(sizes_itself, "a simulated drive has its own capacity; leave out --capacity-mib");
        let memory_mib = self.memory_mib.unwrap_or(MEMORY_LEAST_MIB);
        ensure!(
            (MEMORY_LEAST_MIB..=MEMORY_MOST_MIB).contains(&memory_mib),
            "a machine with {memory_mib} MiB of memory does not boot; give --memory-mib {MEMORY_LEAST_MIB} to \
             {MEMORY_MOST_MIB}"
        );
        for (flag, is_given) in
            [("--layer", !self.layer.is_empty()), ("--drive-depth", self.drive_depth.is_some())]
        {
            ensure!(
                simulated || !is_given,
                "`{flag}` is for simulated drives; leave it out, or name one: --on sim:x25e"
            );
        }
        Ok(())
    }

    fn raid(&self, simulated: bool, device: &str) -> anyhow::Result<Option<Raid>> {
        let Some(level) = self.raid else { return Ok(None) };
        ensure!(simulated, "`--raid` is of simulated drives; name them with commas: --on sim:x25e,x25e");
        let chunk_kib = self.chunk_kib.unwrap_or(CHUNK_KIB);
        Raid::checked(level, chunk_kib, drives_of(device)).map(Some)
    }

    fn khz(&self, simulated: bool) -> anyhow::Result<Option<u32>> {
        ensure!(
            simulated || self.ghz.is_none(),
            "`--ghz` is for simulated drives, whose clock it goes by; elsewhere an instruction is a nanosecond"
        );
        let ghz = self.ghz.or(simulated.then_some(SIMULATED_GHZ));
        // Beyond it the kernel's own timers and calibrations are too coarse.
        ensure!(
            ghz.is_none_or(|ghz| (0.1..=64.0).contains(&ghz)),
            "`--ghz {}` is no speed of a processor; give 0.1 to 64",
            ghz.unwrap_or_default()
        );
        Ok(ghz.map(|ghz| (ghz * 1e6).round() as u32))
    }
}
