//! What the studies of one target share: its name, its numbers, the effort.

use std::ffi::OsString;

use iostack::targets::{TargetFlags, TargetTable};
use iostack_lab::targets::LabFlags;
use iostack_model::Effort;

/// Target of a study.
#[derive(clap::Args)]
pub(crate) struct StudyTarget {
    /// A directory (a scratch file is made in it), a file or a block device
    /// (both only read), sim:PLATFORM, or lab:DEVICE.
    #[arg(default_value = ".")]
    pub(crate) target: OsString,
    /// Change a number of the simulated platform, such as
    /// `platform.cores=4`, or an option of the lab's driver; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) lab: LabFlags,
}

impl StudyTarget {
    /// Makes the table of targets; `destroy_data` allows writing over what exists.
    pub(crate) fn table(&self, destroy_data: bool) -> TargetTable {
        TargetTable::new(TargetFlags::of_study(&self.set, &self.lab), destroy_data)
    }
}

pub(crate) fn effort(quick: bool, full: bool) -> Effort {
    match (quick, full) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Full,
        _ => Effort::Default,
    }
}
