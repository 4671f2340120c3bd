//! `iostack report FILE`: a stored outcome, check or comparison in turns again, as text or HTML.

use std::path::PathBuf;

use iostack_host::save;

use crate::exit::Ended;
use crate::stored::{self, Stored};
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
    let (page, screen) = match stored::read(&args.file)? {
        Stored::Check(check) => (iostack_report::html::check(&check), iostack_report::text::check(&check)),
        Stored::Run(file) => (iostack_report::html::outcomes(&file), iostack_report::text::outcome(&file)),
        Stored::Ab(ab) => (iostack_report::html::ab(&ab), iostack_report::text::ab(&ab)),
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
