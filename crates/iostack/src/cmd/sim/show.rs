//! `iostack sim show PLATFORM`: what is a simulated platform or device made of, what is full in it, and why should its
//! numbers be believed?

use std::path::PathBuf;

use anyhow::ensure;
use iostack::targets::TargetTable;
use iostack_host::save::{self, Output};
use iostack_model::answers::{DevicePicture, labelled};
use iostack_sim::sheet::{Sheet, card};
use iostack_study::what_if::{self, OneRun};

use super::{Chosen, file_text};
use crate::cmd::export::{self, SheetFormat};
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
    /// Print it as `MQSim` reads it: its drive, or the load of the flags below.
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["file", "json", "html", "job"])]
    export: Option<SheetFormat>,
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
    /// A platform: rank its numbers by how much its rate depends on them, and
    /// tell how unsure the rate is.
    #[arg(long, conflicts_with_all = ["no_run", "reach"])]
    rank: bool,
    /// A platform: fewest drives, adapters and cores that reach so many I/Os per
    /// second, like 3M.
    #[arg(long, value_name = "IOPS", conflicts_with = "no_run", value_parser = iops)]
    reach: Option<f64>,
    /// A drive: what it does as the load grows, which part limits, and after how
    /// much is written it slows down.
    #[arg(long, conflicts_with_all = ["file", "no_run", "job", "rank", "reach"])]
    curve: bool,
    #[command(flatten)]
    flags: JobFlags,
}

/// `3M`, `250k`, `1200`.
fn iops(text: &str) -> Result<f64, String> {
    let digits = text.strip_suffix(['k', 'K', 'm', 'M']).unwrap_or(text);
    let factor = match text.bytes().last() {
        Some(b'k' | b'K') => 1e3,
        Some(b'm' | b'M') => 1e6,
        _ => 1.0,
    };
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value = digits.parse().ok().map(|value: f64| value * factor);
    let value = value.filter(|value| plain && (1.0..1e15).contains(value));
    value.ok_or_else(|| "write I/Os per second like 250k or 3M".to_owned())
}

/// Prints. Exit 1 when the run failed, or the rate cannot be reached.
pub(crate) fn run(args: &ShowArgs) -> anyhow::Result<Ended> {
    let sheet = args.chosen.sheet()?;
    if args.file {
        data(&file_text(&args.chosen.device)?);
        return Ok(Ended::Done);
    }
    if let Some(format) = args.export {
        let exported = export::of_sheet(&card::card(&sheet), format, &args.flags.options)?;
        return export::told(&exported, None, &Talk::new(false));
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
    let reached = picture.sizing.is_none_or(|sizing| sizing.reached);
    Ok(if reached { Ended::Done } else { Ended::FoundProblem })
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
    let asked = args.job.is_some() || args.rank || args.reach.is_some() || !args.flags.options.is_empty();
    ensure!(
        is_platform || !asked,
        "`{}` is no platform, and only platforms are run here; use iostack run --on sim:{0}",
        args.chosen.name()
    );
    let mut picture = DevicePicture::of_card(card, roles);
    let table = TargetTable::default();
    if args.curve {
        let name = args.chosen.name();
        ensure!(
            !is_platform,
            "`{name}` is a platform, and --curve is of a drive; name one of `iostack sim list`"
        );
        ensure!(
            !args.chosen.sheet()?.has("zones.size"),
            "`--curve` writes a drive over, and `{name}` takes writes only in its zones' order; leave --curve out"
        );
        picture.curve = what_if::curve(name, &args.chosen.changes()?, &table, &Talk::new(false))?;
    }
    if is_platform && !args.no_run {
        let asked = OneRun {
            files: args.job.as_slice(),
            options: &args.flags.options,
            device: args.chosen.name(),
            changes: args.chosen.changes()?,
            targets: &table,
        };
        let talk = Talk::new(!args.rank && args.reach.is_none());
        let ran = match args.reach {
            Some(wanted) => {
                let (ran, sizing) = what_if::size(&asked, wanted, &talk)?;
                picture.sizing = Some(sizing);
                ran
            }
            None => asked.run(&talk)?,
        };
        if args.rank {
            picture.ranking = Some(what_if::rank(&ran, &table, &talk)?);
        }
        (picture.run, picture.command) = (Some(ran.outcome), ran.command);
    }
    Ok(picture)
}
