//! `iostack sim show DEVICE`: what is a simulated device made of, and why should its numbers be believed?

use std::path::PathBuf;

use anyhow::Context;
use iostack_sim::card;

use super::{Chosen, file_text};
use crate::exit::Ended;
use crate::save;
use crate::talk::data;

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
}

/// Prints.
pub(crate) fn run(args: &ShowArgs) -> anyhow::Result<Ended> {
    let sheet = args.chosen.sheet()?;
    if args.file {
        data(&file_text(&args.chosen.device)?);
        return Ok(Ended::Done);
    }
    let card = card::card(&sheet);
    if args.json {
        data(&(serde_json::to_string_pretty(&card).context("a card is plain data")? + "\n"));
    } else if let Some(path) = &args.html {
        save::new_file(path, &iostack_report::html::device(&card))?;
        data(&format!("{}\n", path.display()));
    } else {
        let device = &args.chosen.device;
        data(&iostack_report::text::device(&card));
        data(&format!("\nnext: iostack run --on sim:{device} --runtime 10s --queue-depth 32\n"));
    }
    Ok(Ended::Done)
}
