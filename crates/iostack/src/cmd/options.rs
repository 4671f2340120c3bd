//! `iostack options`: every option of jobs and job files, from the tables that read them.

use iostack_workload::{Dialect, OptionDoc, Status};

use crate::exit::Ended;
use crate::talk::{data, paragraph};

/// Arguments of `iostack options`.
#[derive(clap::Args)]
pub(crate) struct OptionsArgs {
    /// Show only options whose name contains this.
    name: Option<String>,
    /// As Markdown tables.
    #[arg(long)]
    markdown: bool,
}

/// Prints the tables, ours first.
pub(crate) fn run(args: &OptionsArgs) -> anyhow::Result<Ended> {
    let wanted = args.name.as_deref().unwrap_or("");
    let mut options = iostack_workload::options_reference();
    options.retain(|option| {
        option.name.contains(wanted) || option.aliases.iter().any(|alias| alias.contains(wanted))
    });
    anyhow::ensure!(!options.is_empty(), "no option has `{wanted}` in its name; `iostack options` lists all");
    let tables = [
        (Dialect::Native, "Flags of `iostack run`, keys of TOML jobs"),
        (Dialect::Fio, "Options of fio job files"),
    ];
    for (number, (dialect, title)) in tables.into_iter().enumerate() {
        let mut rows = options.iter().filter(|option| option.dialect == dialect).peekable();
        if rows.peek().is_none() {
            continue;
        }
        let head = "| option | meaning | example |\n| --- | --- | --- |";
        if number > 0 {
            data("\n");
        }
        data(&if args.markdown { format!("## {title}\n\n{head}\n") } else { format!("{title}\n") });
        rows.for_each(|option| data(&row(option, args.markdown)));
    }
    Ok(Ended::Done)
}

/// One option of job files by its name, or all: fio's `--cmdhelp`.
pub(crate) fn of_fio(name: &str) -> anyhow::Result<Ended> {
    let all = matches!(name, "" | "all");
    let mut rows = iostack_workload::options_reference();
    rows.retain(|option| option.dialect == Dialect::Fio && (all || option.is_called(name)));
    anyhow::ensure!(!rows.is_empty(), "no option `{name}`; `--cmdhelp` lists all");
    for option in &rows {
        data(&row(option, false));
    }
    Ok(Ended::Done)
}

/// Meaning of an option, or why it has no effect or is refused.
pub(crate) fn meaning(option: &OptionDoc) -> String {
    match option.status {
        Status::Supported => option.meaning.to_owned(),
        Status::Harmless(why) => format!("accepted without effect: {why}"),
        Status::Refused(why) => format!("refused: {why}"),
    }
}

fn row(option: &OptionDoc, markdown: bool) -> String {
    let meaning = meaning(option);
    let names: Vec<String> = std::iter::once(option.name)
        .chain(option.aliases.iter().copied())
        .map(|name| format!("`{name}`"))
        .collect();
    if markdown {
        let example = if option.example.is_empty() { String::new() } else { format!("`{}`", option.example) };
        format!("| {} | {meaning} | {example} |\n", names.join(", "))
    } else {
        let example =
            if option.example.is_empty() { String::new() } else { format!(" [{}]", option.example) };
        wrapped(&names.join(", ").replace('`', ""), &format!("{meaning}{example}"))
    }
}

/// A name, then its text from column 22 on in lines of at most 80 columns.
fn wrapped(name: &str, text: &str) -> String {
    const INDENT: usize = 22;
    let head = format!("  {name:<width$}", width = INDENT - 2);
    if head.chars().count() > INDENT {
        return format!("{head}\n{}", paragraph(&" ".repeat(INDENT), text, INDENT));
    }
    paragraph(&head, text, INDENT)
}
