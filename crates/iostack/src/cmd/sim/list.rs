//! `iostack sim list`: which devices are built in?

use anyhow::Context;
use iostack_sim::catalogue::{Summary, catalogue};
use serde_json::json;

use crate::exit::Ended;
use crate::talk::data;

/// Arguments of `iostack sim list`.
#[derive(clap::Args)]
pub(crate) struct ListArgs {
    /// Show only devices whose name, kind or title contains this.
    word: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Prints one line for each device.
pub(crate) fn run(args: &ListArgs) -> anyhow::Result<Ended> {
    let mut devices = catalogue();
    if let Some(word) = &args.word {
        let wanted = word.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        devices.retain(|device| has(&device.name) || has(&device.title) || has(device.kind));
        anyhow::ensure!(!devices.is_empty(), "no device is called `{word}`; `iostack sim list` shows all");
    }
    if args.json {
        let rows: Vec<_> = devices.iter().map(row).collect();
        data(&(serde_json::to_string_pretty(&rows).context("names and titles are plain data")? + "\n"));
        return Ok(Ended::Done);
    }
    for device in &devices {
        let year = device.year.map_or("-".to_owned(), |year| year.to_string());
        data(&format!("{:<13} {:<6} {year:<5} {}\n", device.name, device.kind, device.title));
    }
    let first = devices.first().map_or("DEVICE", |device| &device.name);
    data(&format!("\nnext: iostack sim show {first}\n"));
    Ok(Ended::Done)
}

fn row(device: &Summary) -> serde_json::Value {
    json!({ "name": device.name, "kind": device.kind, "year": device.year, "title": device.title })
}
