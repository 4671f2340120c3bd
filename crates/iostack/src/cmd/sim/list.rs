//! `iostack sim list`: which platforms and devices are built in?

use iostack_model::answers::labelled;
use iostack_sim::sheet::card::{Summary, summaries};
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::Ended;
use crate::talk::data;
use crate::written;

/// Kinds that are only parts of a platform, with their heading.
const PARTS: [(&str, &str); 4] = [
    ("os", "operating systems: --set platform.os=NAME"),
    ("adapter", "adapters: --set platform.adapter=NAME"),
    ("scheduler", "I/O schedulers: --set platform.scheduler=NAME"),
    ("fs", "file systems: --set platform.fs=NAME"),
];

/// Arguments of `iostack sim list`.
#[derive(clap::Args)]
pub(crate) struct ListArgs {
    /// Show only those whose name, kind or title contains this, parts of
    /// platforms too.
    word: Option<String>,
    /// Parts of platforms as well: systems, adapters, schedulers, file
    /// systems.
    #[arg(long)]
    parts: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Answer that `--json` prints.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Listed {
    /// One for each line.
    sheets: Vec<Summary>,
}

iostack_model::kinds! {
    Listed: "sim list", unlabelled;
}

/// Prints one line for each, under headings: platforms, devices, parts.
pub(crate) fn run(args: &ListArgs) -> anyhow::Result<Ended> {
    let mut all = summaries();
    if let Some(word) = &args.word {
        let wanted = word.to_lowercase();
        let has = |text: &str| text.to_lowercase().contains(&wanted);
        all.retain(|each| has(&each.name) || has(&each.title) || has(each.kind));
        anyhow::ensure!(
            !all.is_empty(),
            "no platform or device is called `{word}`; `iostack sim list` shows all"
        );
    } else if !args.parts {
        all.retain(|each| !is_part(each));
    }
    all.sort_by_key(group);
    if args.json {
        data(&written::json_pretty(&labelled(&Listed { sheets: all }))?);
        return Ok(Ended::Done);
    }
    let widest = all.iter().map(|each| each.name.chars().count()).max().unwrap_or(0);
    let mut shown = None;
    for each in &all {
        let group = group(each);
        if shown != Some(group) && args.word.is_none() {
            let gap = if shown.is_some() { "\n" } else { "" };
            data(&format!("{gap}{}\n", heading(group)));
        }
        shown = Some(group);
        data(&line(each, widest));
    }
    let first = all.first().map_or("DEVICE", |each| &each.name);
    data(&format!("\nnext: iostack sim show {first}\n"));
    Ok(Ended::Done)
}

fn is_part(each: &Summary) -> bool {
    PARTS.iter().any(|(kind, _)| *kind == each.kind)
}

/// Platforms first, then devices, then parts by kind.
fn group(each: &Summary) -> usize {
    match PARTS.iter().position(|(kind, _)| *kind == each.kind) {
        Some(place) => 2 + place,
        None => usize::from(each.kind != "platform"),
    }
}

fn heading(group: usize) -> &'static str {
    match group {
        0 => "platforms: a machine with its cores, system, adapter and drives",
        1 => "devices: a drive alone, whose host costs nothing",
        part => PARTS[part - 2].1,
    }
}

fn line(each: &Summary, widest: usize) -> String {
    let year = each.year.map_or("-".to_owned(), |year| year.to_string());
    let text = format!("{:<widest$} {:<9} {year:<5} {}", each.name, each.kind, each.title);
    if text.chars().count() <= 80 {
        return text + "\n";
    }
    let fits: String = text.chars().take(79).collect();
    format!("{}…\n", fits.trim_end())
}
