//! `iostack sim keys KIND`: which numbers does a kind of device have?

use iostack_sim::sheet::{DeviceKind, KINDS, Parameter, Unit};

use crate::exit::Ended;
use crate::talk::{data, paragraph};

/// Arguments of `iostack sim keys`.
#[derive(clap::Args)]
pub(crate) struct KeysArgs {
    /// Its kind: flash, hdd, .. [all]
    kind: Option<String>,
    /// Only kinds of platforms and their parts.
    #[arg(long, conflicts_with = "drives")]
    platforms: bool,
    /// Only kinds of drives.
    #[arg(long)]
    drives: bool,
    /// As Markdown tables.
    #[arg(long)]
    markdown: bool,
}

/// Kinds of platforms and of their parts.
const HOST: [&str; 5] = ["platform", "os", "adapter", "scheduler", "fs"];

/// Prints a table for each kind.
pub(crate) fn run(args: &KeysArgs) -> anyhow::Result<Ended> {
    let wanted = |kind: &&DeviceKind| {
        let host = HOST.contains(&kind.name);
        let fits = if host { !args.drives } else { !args.platforms };
        fits && args.kind.as_ref().is_none_or(|name| name == kind.name)
    };
    let kinds: Vec<&DeviceKind> = KINDS.iter().filter(wanted).collect();
    if let (true, Some(name)) = (kinds.is_empty(), &args.kind) {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        anyhow::bail!("no kind of device is called `{name}`; the kinds are {}", names.join(", "));
    }
    for (number, kind) in kinds.into_iter().enumerate() {
        if number > 0 {
            data("\n");
        }
        data(&if args.markdown { markdown(kind) } else { plain(kind) });
    }
    Ok(Ended::Done)
}

fn plain(kind: &DeviceKind) -> String {
    let mut out = paragraph(&format!("{}: ", kind.name), kind.about, 2);
    for parameter in kind.parameters {
        let usual = parameter.default.map_or("needed".to_owned(), |default| format!("[{default}]"));
        let text = format!("{}; {} {usual}", parameter.meaning, written(parameter));
        out += &paragraph(&format!("  {:<24} ", parameter.key), &text, 27);
    }
    out
}

fn markdown(kind: &DeviceKind) -> String {
    let row = |parameter: &Parameter| {
        let usual = parameter.default.map_or("refused".to_owned(), |default| format!("`{default}`"));
        format!("| `{}` | {} | {} | {usual} |\n", parameter.key, parameter.meaning, written(parameter))
    };
    let rows: Vec<String> = kind.parameters.iter().map(row).collect();
    format!(
        "### {}\n\n{}\n\n| key | meaning | written | when absent |\n| --- | --- | --- | --- |\n{}",
        kind.name,
        kind.about,
        rows.concat()
    )
}

fn written(parameter: &Parameter) -> String {
    match parameter.unit {
        Unit::Time => "like 25us".to_owned(),
        Unit::Bytes => "like 16KiB".to_owned(),
        Unit::Rate => "like 800MB/s".to_owned(),
        Unit::Share => "like 7%".to_owned(),
        Unit::Count => "like 8".to_owned(),
        Unit::PerSecond => "like 3000/s".to_owned(),
        Unit::Number => "like 1.5".to_owned(),
        Unit::Points => "like \"1:2ms 100:3.5ms\"".to_owned(),
        Unit::Word(words) if words.len() > 8 => format!("a word such as {}", words[0]),
        Unit::Word(words) => words.join(" or "),
        Unit::Device(_) => "a name of `iostack sim list --parts`, or a file".to_owned(),
    }
}
