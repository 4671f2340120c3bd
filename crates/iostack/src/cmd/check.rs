//! `iostack check [TARGET]`: the main job.

use std::path::{Path, PathBuf};

use anyhow::Context;
use iostack_host::save;
use iostack_model::Bytes;
use iostack_model::answers::Check;
use iostack_report::Told;
use iostack_study::check::{self, CheckQuestion, DataSheet};
use iostack_target::Audience as _;

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
    let target = table.target(Some(&args.on.target))?;
    let asked = CheckQuestion {
        effort: effort(args.quick, args.full),
        size: args.size,
        seed: args.seed,
        against: sheet.as_ref(),
    };
    let check = check::answer(&asked, &*target, &talk)?;
    talk.clear();
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
    let failed = check.steps.iter().flat_map(|step| &step.points).any(|p| !p.outcome.failures.is_empty());
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
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
