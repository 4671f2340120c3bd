//! `iostack sim show PLATFORM`: what is a simulated platform or device made of, what is full in it, and why should its
//! numbers be believed?

use std::path::PathBuf;

use anyhow::ensure;
use iostack::targets::TargetTable;
use iostack_host::save::{self, Output};
use iostack_model::answers::{DevicePicture, labelled};
use iostack_sim::sheet::{Sheet, card};
use iostack_study::what_if::OneRun;

use super::{Chosen, file_text};
use crate::exit::Ended;
use crate::flags::JobFlags;
use crate::talk::{Talk, data};
use crate::written;

/// Arguments of `iostack sim show`.
#[derive(clap::Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    chosen: Chosen,
    /// Print its file instead: something to start from.
    #[arg(long, conflicts_with_all = ["json", "html", "set"])]
    file: bool,
    /// Print JSON.
    #[arg(long, conflicts_with = "html")]
    json: bool,
    /// Write a page with the drawing to a new file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// A platform: draw without a run.
    #[arg(long)]
    no_run: bool,
    /// A platform: run this job file instead of one that fills something.
    #[arg(long, value_name = "FILE", conflicts_with = "no_run")]
    job: Option<PathBuf>,
    #[command(flatten)]
    flags: JobFlags,
}

/// Prints. Exit 1 when the run failed.
pub(crate) fn run(args: &ShowArgs) -> anyhow::Result<Ended> {
    let sheet = args.chosen.sheet()?;
    if args.file {
        data(&file_text(&args.chosen.device)?);
        return Ok(Ended::Done);
    }
    save::refuse(Output::new("--html", args.html.as_ref()))?;
    let picture = picture(args, &sheet)?;
    if args.json {
        data(&written::json_pretty(&labelled(&picture))?);
    } else if let Some(path) = &args.html {
        save::new_file(path, &iostack_report::show(&picture).html())?;
        data(&format!("{}\n", path.display()));
    } else {
        data(&iostack_report::show(&picture).text());
        data(&format!("\nnext: {}\n", next(args, &sheet, &picture)));
    }
    Ok(Ended::Done)
}

fn next(args: &ShowArgs, sheet: &Sheet, picture: &DevicePicture) -> String {
    let device = &args.chosen.device;
    match picture.card.kind.as_str() {
        // A change that no platform has already.
        "platform" => {
            let drives = sheet.count("platform.drives").unwrap_or(1) * 2;
            format!("iostack sim what-if {device} --set platform.drives={drives}")
        }
        "os" | "adapter" | "fs" => "iostack sim list    # the platforms that it can be part of".to_owned(),
        _ => format!("iostack run --on sim:{device} --runtime 10s --queue-depth 32"),
    }
}

fn picture(args: &ShowArgs, sheet: &Sheet) -> anyhow::Result<DevicePicture> {
    let card = card::card(sheet);
    let is_platform = sheet.kind.name == "platform";
    let roles =
        if is_platform { sheet.members().map(|(role, _)| role.to_owned()).collect() } else { Vec::new() };
    let asked = args.job.is_some() || !args.flags.options.is_empty();
    ensure!(
        is_platform || !asked,
        "`{}` is no platform, and only platforms are run here; use iostack run --on sim:{0}",
        args.chosen.name()
    );
    let (mut run, mut command) = (None, String::new());
    if is_platform && !args.no_run {
        let table = TargetTable::default();
        let asked = OneRun {
            files: args.job.as_slice(),
            options: &args.flags.options,
            device: args.chosen.name(),
            changes: args.chosen.changes()?,
            targets: &table,
        };
        let (outcome, alone) = asked.run(&Talk::new(true))?;
        (run, command) = (Some(outcome), alone);
    }
    Ok(DevicePicture { card, roles, run, command })
}
