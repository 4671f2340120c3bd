//! `iostack report FILE`: a stored outcome, check or comparison in turns again, as text or HTML.

use std::path::PathBuf;

use anyhow::{Context, bail};
use iostack_model::{Check, OutcomeFile};
use iostack_stats::AbReport;

use crate::exit::Ended;
use crate::save;
use crate::talk::data;

/// Arguments of `iostack report`.
#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    /// JSON of `iostack run --json`, `iostack check` or `iostack ab --json`.
    file: PathBuf,
    /// Write an HTML page there instead of text.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Renders.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Ended> {
    save::refuse(&args.html)?;
    let text = std::fs::read_to_string(&args.file)
        .with_context(|| format!("cannot read the outcome `{}`", args.file.display()))?;
    let (page, screen) = if let Ok(check) = serde_json::from_str::<Check>(&text) {
        (iostack_report::html::check(&check), iostack_report::text::check(&check))
    } else if let Ok(ab) = serde_json::from_str::<AbReport>(&text) {
        (iostack_report::html::ab(&ab), iostack_report::text::ab(&ab))
    } else {
        match serde_json::from_str::<OutcomeFile>(&text) {
            Ok(file) => (iostack_report::html::outcomes(&file), iostack_report::text::outcome(&file)),
            Err(error) => bail!(
                "`{}` is not an outcome of iostack ({error}); make one with `iostack run --json` or `iostack check`",
                args.file.display()
            ),
        }
    };
    match &args.html {
        Some(path) => {
            save::new_file(path, &page)?;
            data(&format!("{}\n", path.display()));
        }
        None => data(&screen),
    }
    Ok(Ended::Done)
}
