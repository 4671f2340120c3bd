//! `iostack manual`: man pages, completions and a page of all commands, from the table of flags that `--help` is made of.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::shells::{Bash, Fish, Zsh};
use clap_mangen::Man;
use iostack_host::save::{self, Output};
use iostack_workload::Dialect;

use crate::Arguments;
use crate::cmd::{fio, options};
use crate::exit::Ended;
use crate::talk::data;

const LONG_HELP: &str = "\
Packages bring these files; after `cargo install`, or with the static binary:

  iostack manual ~/.local/share

bash and fish look there by themselves, man does where ~/.local/bin is on the path;
zsh needs fpath+=~/.local/share/zsh/site-functions before compinit in its .zshrc.";

/// Arguments of `iostack manual`.
#[derive(clap::Args)]
#[command(after_help = LONG_HELP)]
pub(crate) struct ManualArgs {
    /// A `share` folder, such as ~/.local/share or /usr/local/share; made where
    /// it is missing.
    #[arg(value_name = "FOLDER", required_unless_present = "markdown")]
    folder: Option<PathBuf>,
    /// Write over the files of another version.
    #[arg(long)]
    replace: bool,
    /// Print the help of every command as a page in Markdown instead.
    #[arg(long, conflicts_with_all = ["folder", "replace"])]
    markdown: bool,
}

/// Writes them, and prints their names.
pub(crate) fn run(args: &ManualArgs) -> anyhow::Result<Ended> {
    let Some(folder) = args.folder.as_ref().filter(|_| !args.markdown) else {
        data(&(helps(&Arguments::command(), &[]).trim_end().to_owned() + "\n"));
        return Ok(Ended::Done);
    };
    let mut files = completions();
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    pages(&command, &mut files)?;
    let files: Vec<_> = files.into_iter().map(|(name, text)| (folder.join(name), text)).collect();
    for folder in files.iter().filter_map(|(path, _)| path.parent()) {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    }
    if !args.replace {
        save::refuse(files.iter().filter_map(|(path, _)| Output::new("FOLDER", Some(path))))
            .context("--replace writes over older files")?;
    }
    let write = if args.replace { save::replace } else { save::new_file };
    for (path, text) in &files {
        write(path, text)?;
        data(&format!("{}\n", path.display()));
    }
    Ok(Ended::Done)
}

/// Heading above the options of a job.
const JOB_OPTIONS: &str = "\nWhat is asked:\n";

/// Help of a command, then of those below it, in Markdown. The options of a job are told once.
fn helps(command: &clap::Command, above: &[&str]) -> String {
    let words = [above, &[command.get_name()]].concat();
    let name = words.join(" ");
    let asked = [&words[..], &["--help"]].concat();
    let help = match crate::in_groups(Arguments::command()).try_get_matches_from(asked) {
        Err(help) => help.to_string(),
        Ok(_) => fio::help(),
    };
    let told = match help.split_once(JOB_OPTIONS) {
        Some((before, _)) if name != "iostack run" => {
            format!("{before}{JOB_OPTIONS}  The options of `iostack run`, above.")
        }
        _ => help,
    };
    let lines: Vec<&str> = told.trim_end().lines().map(str::trim_end).collect();
    let below: String = command.get_subcommands().map(|one| helps(one, &words)).collect();
    format!("## {name}\n\n```text\n{}\n```\n\n{below}", lines.join("\n"))
}

/// Path below `share`, and content.
type SharedFile = (PathBuf, Vec<u8>);

/// Completions at the paths where each shell looks.
fn completions() -> Vec<SharedFile> {
    vec![
        completion("bash-completion/completions/iostack", Bash),
        completion("zsh/site-functions/_iostack", Zsh),
        completion("fish/vendor_completions.d/iostack.fish", Fish),
    ]
}

fn completion(path: &str, shell: impl clap_complete::Generator) -> SharedFile {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "iostack", &mut text);
    (path.into(), text)
}

/// The page of a command, and those of the commands below it: `iostack-sim-list.1`.
fn pages(command: &clap::Command, files: &mut Vec<SharedFile>) -> anyhow::Result<()> {
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).context("cannot make a man page")?;
    if command.get_display_name().is_some_and(|name| name == "iostack-fio") {
        text.extend(fio_options().into_bytes());
    }
    files.push((Path::new("man/man1").join(page.get_filename()), text));
    command.get_subcommands().try_for_each(|below| pages(below, files))
}

/// Switches and job options of `iostack fio`, which are in tables of their own.
fn fio_options() -> String {
    let mut text = ".SH SWITCHES\n".to_owned();
    for (name, takes_value, meaning) in iostack_workload::fio_command_options() {
        text += &entry(&format!("--{name}{}", if takes_value { "=.." } else { "" }), meaning);
    }
    for (name, why) in iostack_workload::fio_refused_switches() {
        text += &entry(&format!("--{name}"), &format!("Refused: {why}"));
    }
    text += ".SH JOB OPTIONS\nOn the command line with two dashes, in a job file without.\n";
    for option in iostack_workload::options_reference().iter().filter(|one| one.dialect == Dialect::Fio) {
        let names: Vec<&str> = std::iter::once(option.name).chain(option.aliases.iter().copied()).collect();
        text += &entry(&names.join(", "), &options::meaning(option));
    }
    text
}

/// A name and what is said of it.
fn entry(name: &str, meaning: &str) -> String {
    format!(".TP\n\\fB{}\\fR\n{}\n", roff(name), roff(meaning))
}

/// Text as troff takes it: `man 7 man`.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
