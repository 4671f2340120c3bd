//! `iostack options`: every option of jobs and job files, from the table that reads them.

use iostack_workload::Status;

use crate::exit::Ended;
use crate::talk::data;

/// Arguments of `iostack options`.
#[derive(clap::Args)]
pub(crate) struct OptionsArgs {
    /// Show only options whose name contains this.
    name: Option<String>,
    /// As a Markdown table.
    #[arg(long)]
    markdown: bool,
}

/// Prints the table.
pub(crate) fn run(args: &OptionsArgs) -> anyhow::Result<Ended> {
    let wanted = args.name.as_deref().unwrap_or("");
    let options: Vec<_> = iostack_workload::options_reference()
        .into_iter()
        .filter(|option| option.name.contains(wanted))
        .collect();
    anyhow::ensure!(!options.is_empty(), "no option has `{wanted}` in its name; `iostack options` lists all");
    if args.markdown {
        data("| option | meaning | example |\n| --- | --- | --- |\n");
    }
    for option in options {
        let meaning = match &option.status {
            Status::Supported => option.meaning.to_owned(),
            Status::Harmless(why) => format!("accepted without effect: {why}"),
            Status::Refused(why) => format!("refused: {why}"),
        };
        if args.markdown {
            data(&format!("| `{}` | {meaning} | `{}` |\n", option.name, option.example));
        } else {
            data(&format!("{:<26} {meaning}\n", option.name));
        }
    }
    Ok(Ended::Done)
}
