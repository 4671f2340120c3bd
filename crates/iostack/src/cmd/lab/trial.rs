//! What `iostack lab test` is asked, which trials there are, and what one found.

use std::path::PathBuf;

use clap::ValueEnum;
use iostack_lab::devices::{Device, Store};
use iostack_lab::guest::{Findings, TrialKind};
use iostack_lab::targets::LabFlags;
use iostack_model::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

/// Arguments of `iostack lab test`.
#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Devices (`iostack lab list`), or folders of drivers; of several, each
    /// with each kernel and number of processors.
    #[arg(required = true)]
    pub(super) device: Vec<String>,
    /// Kernels, with a comma: each device on each of them.
    #[arg(long, value_name = "KERNELS", value_delimiter = ',', conflicts_with = "kernel")]
    pub(super) kernels: Vec<String>,
    /// What to try; may be repeated [all that the device can].
    #[arg(long, value_name = "TRIAL")]
    pub(super) trial: Vec<TrialName>,
    /// Bytes of random I/O in each trial; faults get a sixteenth of it, since
    /// each of them costs seconds.
    #[arg(long, value_name = "SIZE", default_value = "64m")]
    pub(super) bytes: Bytes,
    /// How often reload unloads and loads the driver.
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    pub(super) cycles: u32,
    /// Threads that do I/O at the same time.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    pub(super) threads: u32,
    /// The guest's processors; several numbers with a comma [2, before a
    /// simulated drive 1].
    #[arg(long, visible_alias = "cpus", value_name = "COUNTS", value_delimiter = ',')]
    pub(super) processors: Vec<u32>,
    /// Makes the same requests again.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(super) seed: u64,
    /// Option of the device's driver, such as copy=0; may be
    /// repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) set: Vec<String>,
    /// Emulate the processors, also where this machine could run the guest.
    #[arg(long)]
    pub(super) emulate: bool,
    /// Every finding, as JSON.
    #[arg(long)]
    pub(super) json: bool,
    /// Write a line a trial to a new file, as TAP.
    #[arg(long, value_name = "FILE")]
    pub(super) tap: Option<PathBuf>,
    /// Write a new `JUnit` file: a suite a machine, a case a trial.
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(long)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) lab: LabFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrialName {
    /// Random mixed I/O, every sector checked.
    Integrity,
    /// Unload and load the driver again and again.
    Reload,
    /// A range of bad sectors.
    Refusals,
    /// Commands that time out, and lost completions.
    Faults,
    /// Random mixed I/O while the I/O subsystems of tmerge take turns.
    Subsystems,
    /// Groups of the merge library, one command each; callers alone and
    /// together under hybrid temporal merge. A boot of its own.
    Merging,
}

impl TrialName {
    pub(super) const ALL: [TrialName; 6] = [
        TrialName::Integrity,
        TrialName::Subsystems,
        TrialName::Reload,
        TrialName::Refusals,
        TrialName::Faults,
        TrialName::Merging,
    ];

    /// `None` for what is no trial of any disk.
    pub(super) fn kind(self) -> Option<TrialKind> {
        match self {
            TrialName::Integrity => Some(TrialKind::Integrity),
            TrialName::Reload => Some(TrialKind::Reload),
            TrialName::Refusals => Some(TrialKind::Refusals),
            TrialName::Faults => Some(TrialKind::Faults),
            TrialName::Subsystems => Some(TrialKind::Subsystems),
            TrialName::Merging => None,
        }
    }

    pub(super) fn word(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Reason that the device has no such trial.
    pub(super) fn refused_by(self, device: &Device, name: &str) -> Option<String> {
        match self {
            _ if device.store == Store::Nowhere => {
                Some(format!("{name} forgets what is written, so that there is nothing to check; use brd"))
            }
            TrialName::Refusals if !device.own || device.store == Store::Outside => {
                Some(format!("{name} injects no medium errors; scsi_ram, ata_ram and tmerge do"))
            }
            TrialName::Subsystems | TrialName::Merging if name != "tmerge" => {
                Some(format!("{name} has no subsystems and no command for several requests; tmerge has"))
            }
            TrialName::Faults if !matches!(name, "scsi_ram" | "ata_ram") => {
                Some(format!("{name} loses no commands; scsi_ram and ata_ram do"))
            }
            _ => None,
        }
    }
}

/// A trial and its findings.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Tried {
    pub(super) device: String,
    pub(super) kernel: String,
    pub(super) processors: u32,
    pub(super) seed: u64,
    pub(super) trial: TrialName,
    pub(super) clean: bool,
    pub(super) findings: Findings,
}

/// Verdict of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    Skipped,
}

impl Tried {
    /// Its machine in words, as far as it is known.
    pub(super) fn machine(&self) -> String {
        let Tried { device, kernel, processors, .. } = self;
        format!(
            "{device} on Linux {kernel}, {processors} processor{}",
            if *processors == 1 { "" } else { "s" }
        )
    }

    pub(super) fn verdict(&self) -> Verdict {
        match (&self.findings.not_tried, self.clean) {
            (Some(_), _) => Verdict::Skipped,
            (None, true) => Verdict::Passed,
            (None, false) => Verdict::Failed,
        }
    }

    /// Its faults, a line each.
    pub(super) fn faults(&self) -> Vec<String> {
        let logged = self.findings.complaints.iter().map(|line| format!("the kernel's log: {line}"));
        self.findings.wrong.iter().cloned().chain(logged).collect()
    }
}

iostack_model::kinds! {
    Tried: "lab test", unlabelled;
}

/// Findings of a trial in words.
pub(super) fn summary(tried: &Tried) -> String {
    let found = &tried.findings;
    if let Some(why) = &found.not_tried {
        return format!("not tried: {why}");
    }
    let moved = format!(
        "{} reads, {} writes, {} discards, {} moved",
        found.reads,
        found.writes,
        found.discards,
        Bytes(found.bytes)
    );
    let own = match tried.trial {
        TrialName::Integrity => String::new(),
        TrialName::Refusals => format!("; {} refused for bad sectors", found.refused),
        TrialName::Faults => format!("; {} ended as errors", found.errors),
        TrialName::Subsystems => format!("; the subsystem changed {} times", found.cycles),
        TrialName::Merging => {
            format!("; {} groups, {} refused for a bad sector", found.cycles, found.refused)
        }
        TrialName::Reload => {
            let left = match found.left_bytes {
                Some(0) => "all memory given back".to_owned(),
                Some(bytes) => format!("{bytes} bytes of memory kept"),
                None => "memory not judged (9 cycles are the least)".to_owned(),
            };
            format!("; loaded {} times, {left}", found.cycles)
        }
    };
    let verdict = match found.wrong_sectors {
        0 if found.writes == 0 => "; no data checked".to_owned(),
        0 => "; every sector right".to_owned(),
        count => format!("; {count} SECTORS WRONG"),
    };
    moved + &own + &verdict
}
