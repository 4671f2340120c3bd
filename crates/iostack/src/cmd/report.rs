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
    /// Print Markdown instead of text, for an issue or a page.
    #[arg(long, conflicts_with = "html")]
    markdown: bool,
}

/// Renders.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Ended> {
    save::refuse(&args.html)?;
    let told = match stored::read(&args.file)? {
        Stored::Check(check) => iostack_report::check(&check),
        Stored::Run(file) => iostack_report::run(&file),
        Stored::Ab(ab) => iostack_report::ab(&ab),
    };
    match &args.html {
        Some(path) => {
            save::new_file(path, &told.html())?;
            data(&format!("{}\n", path.display()));
        }
        None if args.markdown => data(&told.markdown()),
        None => data(&told.text()),
    }
    Ok(Ended::Done)
}
