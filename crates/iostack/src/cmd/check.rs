//! `iostack check [TARGET]`: the main job.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use iostack::targets::TargetTable;
use iostack_host::save;
use iostack_model::Bytes;
use iostack_model::answers::{Check, Prediction};
use iostack_report::Told;
use iostack_study::check::{self, CheckQuestion, DataSheet};
use iostack_study::prediction::{DRAWS, Draws, Predictions, SheetPredictor, measured_by_check, score};
use iostack_target::Audience as _;

use crate::cmd::predicted;
use crate::cmd::studied::{StudyTarget, effort};
use crate::exit::Ended;
use crate::talk::{self, Talk};
use crate::written::{FormArgs, Format};

/// Arguments of `iostack check`.
#[derive(clap::Args)]
pub(crate) struct CheckArgs {
    /// At most 20 s.
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// As long as the answers need; the time is said first.
    #[arg(long)]
    full: bool,
    /// Size of the scratch file, or of the region to read.
    #[arg(long)]
    size: Option<Bytes>,
    /// Reproduces offsets and content.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    on: StudyTarget,
    /// Compare with a data sheet: a device of `iostack sim list`, or
    /// `read_iops=500k,write_bandwidth=3GB/s,read_latency=80us`.
    #[arg(long, value_name = "SHEET|FIGURES")]
    against: Option<String>,
    /// Predict each measurement by this sheet, and show it beside: a file of
    /// `iostack calibrate`, or a name of `iostack sim list`.
    #[arg(long, value_name = "SHEET", conflicts_with = "prediction")]
    predict: Option<String>,
    /// Show what was predicted beside what is measured: JSON of `iostack check
    /// sim:SHEET`, or of a run.
    #[arg(long, value_name = "FILE")]
    prediction: Option<PathBuf>,
    /// Allow writing over a file or device that exists: ITS DATA IS LOST.
    #[arg(long)]
    destroy_data: bool,
    #[command(flatten)]
    forms: FormArgs,
    /// Directory for the HTML report and the JSON outcome.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write no report and no outcome.
    #[arg(long, conflicts_with = "output", help_heading = "Output")]
    no_files: bool,
    /// No progress on stderr.
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

/// Checks and prints. Exit 1 when I/Os failed, 0 otherwise.
pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<Ended> {
    let talk = Talk::new(args.quiet);
    args.forms.refuse_fio("check")?;
    save::refuse(args.forms.files())?;
    let directory = if args.no_files { None } else { Some(directory(args)?) };
    let table = args.on.table(args.destroy_data);
    let sheet = args.against.as_deref().map(|typed| DataSheet::read(typed, &table)).transpose()?;
    // Changes of the target are none of the sheet that predicts.
    let sheets = TargetTable::default();
    let foresight = Foresight::of_args(args, &sheets)?;
    let target = table.target(Some(&args.on.target))?;
    let asked = CheckQuestion {
        effort: effort(args.quick, args.full),
        size: args.size,
        seed: args.seed,
        against: sheet.as_ref(),
    };
    let mut check = check::answer(&asked, &*target, &talk)?;
    talk.clear();
    check.prediction = foresight.beside(&check, args.seed, &talk);
    let json = check.json().context("an outcome is plain data")?;
    let one: [(String, &dyn Told); 1] = [("check".to_owned(), &check)];
    talk::data(&args.forms.chosen().write(&one)?);
    let tables = args.forms.tables(&one, &talk);
    if let Some(directory) = directory {
        let (html, data) = write_files(&directory, &check, &json)?;
        let files = format!("Report: {}\nData:   {}", html.display(), data.display());
        if args.forms.chosen() == Format::Text {
            talk::data(&format!("\n{files}\n"));
        } else {
            talk.say(&files);
        }
    }
    tables?;
    if let Some(told) = check.prediction.as_ref().filter(|told| told.points.is_empty()) {
        bail!("`{}` predicts none of what was measured; nothing is beside it", told.origin);
    }
    let failed = check.steps.iter().flat_map(|step| &step.points).any(|p| !p.outcome.failures.is_empty());
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
}

/// Predictions of a check: from a file, or from a sheet.
enum Foresight<'a> {
    Nothing,
    Stored(Predictions),
    Sheet(SheetPredictor<'a>),
}

impl<'a> Foresight<'a> {
    /// Reads file or sheet, before anything is measured.
    fn of_args(args: &CheckArgs, table: &'a TargetTable) -> anyhow::Result<Foresight<'a>> {
        Ok(match (&args.prediction, &args.predict) {
            (Some(path), _) => Foresight::Stored(predicted::read(path)?),
            (_, Some(sheet)) => Foresight::Sheet(SheetPredictor::open(sheet, table)?),
            _ => Foresight::Nothing,
        })
    }

    /// Predicted beside measured; nothing of a check that was cut short, whose user waits.
    fn beside(&self, check: &Check, seed: u64, talk: &Talk) -> Option<Prediction> {
        let measured = measured_by_check(check);
        match self {
            Foresight::Stored(predictions) => Some(score(predictions, &measured)),
            Foresight::Sheet(sheet) if !check.interrupted => {
                Some(sheet.beside(&measured, Draws { count: DRAWS, seed }, talk))
            }
            _ => None,
        }
    }
}

/// The directory of the report, where files can be made.
fn directory(args: &CheckArgs) -> anyhow::Result<PathBuf> {
    let Some(directory) = args.output.clone() else { return Ok(save::output_directory()) };
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make the directory `{}`", directory.display()))?;
    save::refuse_unwritable(&directory.join("iostack-check.html"))?;
    Ok(directory)
}

fn write_files(directory: &Path, check: &Check, json: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
    let html = save::free_name(directory, "iostack-check", "html");
    let data = html.with_extension("json");
    let data = if data.exists() { save::free_name(directory, "iostack-check", "json") } else { data };
    // What cannot be written does not keep the other from being so.
    let page = save::new_file(&html, &iostack_report::check(check).html());
    save::new_file(&data, json).and(page)?;
    Ok((html, data))
}
