//! What is known already, in the form of a program that uses it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Error, bail};
use iostack_model::OutcomeFile;
use iostack_model::answers::{Answer, Check, DeviceCard};
use iostack_report::export::{self, Exported, FioLoad};
use iostack_study::prediction::measured_by_check;
use iostack_workload::gather;

use crate::exit::Ended;
use crate::stored;
use crate::talk::Talk;
use crate::written;

/// Forms of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportFormat {
    /// The kernel's io.cost.model and io.cost.qos; of a check.
    Iocost,
    /// Seastar's `io_properties.yaml`; of a check.
    Seastar,
    /// A job file of fio's; of a run or a check.
    Fio,
}

/// Forms of a sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SheetFormat {
    /// The drive, as `ssdconfig.xml` of `MQSim`.
    Mqsim,
    /// The load, as `workload.xml` of `MQSim`.
    MqsimWorkload,
}

/// A result of earlier in this form.
pub(crate) fn of_stored(path: &Path, format: ExportFormat) -> anyhow::Result<Exported> {
    let stored = stored::read(path)?;
    let path = path.display();
    match (stored.kind.as_str(), format) {
        (Check::KIND, ExportFormat::Iocost) => {
            let check: Check = stored.parse()?;
            Ok(export::iocost(&check, number(&check).as_deref()))
        }
        (Check::KIND, ExportFormat::Seastar) => export::seastar(&stored.parse()?).map_err(Error::msg),
        (Check::KIND, ExportFormat::Fio) => {
            let check: Check = stored.parse()?;
            let points = measured_by_check(&check);
            let loads = points.iter().map(|point| (point.name.clone(), point.outcome));
            of_loads(loads).with_context(|| format!("`{path}`"))
        }
        (OutcomeFile::KIND, ExportFormat::Fio) => {
            let file: OutcomeFile = stored.parse()?;
            let loads = file.outcomes.iter().map(|outcome| (outcome.job.name.clone(), outcome));
            of_loads(loads).with_context(|| format!("`{path}`"))
        }
        (kind, ExportFormat::Fio) => {
            bail!("`{path}` is of `iostack {kind}`, and a job file is made of a run or a check")
        }
        (kind, _) => bail!(
            "`{path}` is of `iostack {kind}`, and this form is made of a check: iostack check DIR --output DIR"
        ),
    }
}

fn of_loads<'a>(
    loads: impl Iterator<Item = (String, &'a iostack_model::Outcome)>,
) -> anyhow::Result<Exported> {
    let load = |(name, outcome): (String, &'a iostack_model::Outcome)| FioLoad {
        name,
        job: &outcome.job,
        target: &outcome.target,
    };
    let loads: Vec<FioLoad<'_>> = loads.map(load).collect();
    if loads.is_empty() {
        bail!("no job ran, so that there is none to write");
    }
    Ok(export::fio_job(&loads))
}

/// `MAJOR:MINOR` of the disk that was checked, where this machine has one of its name.
fn number(check: &Check) -> Option<String> {
    // The controller knows disks, not partitions.
    let disk = check.storage.devices.iter().find(|device| !device.is_partition())?;
    let numbers = std::fs::read_to_string(Path::new("/sys/class/block").join(&disk.name).join("dev"));
    numbers.ok().map(|numbers| numbers.trim().to_owned())
}

/// A sheet in this form; the load is that of flags.
pub(crate) fn of_sheet(
    card: &DeviceCard,
    format: SheetFormat,
    options: &[(String, String)],
) -> anyhow::Result<Exported> {
    // Of a platform its drive.
    let card = card.members.iter().find(|member| member.kind == "flash").unwrap_or(card);
    let drive = export::mqsim(card).map_err(Error::msg)?;
    if format == SheetFormat::Mqsim {
        return Ok(drive);
    }
    let mut jobs = gather::gather(&[], &[], options, false, 1)?.jobs;
    Ok(export::mqsim_workload(card, &jobs.pop().context("flags make a job")?))
}

/// Writes it, and says what the format could not.
pub(crate) fn told(exported: &Exported, output: Option<&PathBuf>, talk: &Talk) -> anyhow::Result<Ended> {
    written::answer(output, &exported.text)?;
    for line in &exported.unsaid {
        talk.say(&format!("not said: {line}"));
    }
    Ok(Ended::Done)
}
