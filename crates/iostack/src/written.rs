//! Where the answer of a command goes: stdout or a new file, and a page beside it.
//!
//! What cannot be written does not keep the rest from being so: each writes and returns its error, and the command joins them with
//! [`Result::and`].

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use iostack_host::save::{self, Output};
use iostack_report::table::{self, Table};
use iostack_report::{Told, fio};
use serde::Serialize;

use crate::talk::{self, Talk};

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people, 80 columns.
    #[default]
    Text,
    /// Every figure; `iostack schema` describes it.
    Json,
    /// For a pull request or a page.
    Markdown,
    /// One line a point.
    Csv,
    /// For monitoring.
    Openmetrics,
    /// As fio's --output-format=json; of `run` alone.
    FioJson,
    /// As fio's json+: with histogram bins; of `run` alone.
    #[value(name = "fio-json+")]
    FioJsonPlus,
    /// As fio's --minimal, version 3; of `run` alone.
    Terse,
}

/// Flags for the form of an answer.
#[derive(clap::Args)]
pub(crate) struct FormArgs {
    /// What goes to stdout.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Format,
    /// Short for --format json.
    #[arg(long, conflicts_with = "format", help_heading = "Output")]
    json: bool,
    /// Write one line a point to a new CSV file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    csv: Option<PathBuf>,
    /// The same as Parquet.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    parquet: Option<PathBuf>,
}

/// Flag for a file of stdout's content, of commands with forms of their own.
#[derive(clap::Args)]
pub(crate) struct OutputArg {
    /// Write stdout's content to a new file instead.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl OutputArg {
    /// Refuses a file that exists, before anything runs.
    pub(crate) fn refuse(&self) -> anyhow::Result<()> {
        save::refuse(self.wanted())
    }

    /// The file that will be written, and must not exist.
    pub(crate) fn wanted(&self) -> Option<Output<'_>> {
        Output::new("--output", self.output.as_ref())
    }

    /// The answer: into the file, or to stdout.
    pub(crate) fn answer(&self, text: &str) -> anyhow::Result<()> {
        answer(self.output.as_ref(), text)
    }
}

/// Flags for the output of a command with one answer.
#[derive(clap::Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) forms: FormArgs,
    /// Write stdout's content to a new file instead.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Write an HTML report to a new file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// No progress on stderr.
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

impl Format {
    /// fio has forms of what it runs itself, and of nothing else.
    const fn is_fio(self) -> bool {
        matches!(self, Format::FioJson | Format::FioJsonPlus | Format::Terse)
    }

    /// One answer, or several one behind the other; tables of several are one.
    pub(crate) fn write(self, answers: &[(String, &dyn Told)]) -> anyhow::Result<String> {
        let each = |form: &dyn Fn(&dyn Told) -> String| {
            answers.iter().map(|(_, answer)| form(*answer)).collect::<Vec<_>>().join("\n")
        };
        Ok(match self {
            Format::Text => each(&|answer| answer.document().text()),
            Format::Markdown => each(&|answer| answer.document().markdown()),
            Format::Csv => table::csv(&joined(answers)?),
            Format::Openmetrics => table::openmetrics(&joined(answers)?),
            Format::Json => {
                let lines = answers.iter().map(|(_, answer)| Ok(answer.json()? + "\n"));
                lines.collect::<serde_json::Result<String>>().context("an answer is plain data")?
            }
            Format::FioJson | Format::FioJsonPlus | Format::Terse => {
                let [(name, answer)] = answers else { bail!("fio's forms are of one run; name one file") };
                let Some(file) = answer.outcomes() else {
                    bail!("`{name}` is of `iostack {}`, and fio has forms of runs alone", answer.command())
                };
                match self {
                    Format::Terse => fio::terse(file, fio::TERSE_VERSION),
                    form => fio::json(file, form == Format::FioJsonPlus),
                }
            }
        })
    }
}

/// The table of one answer, or one of several that says of each row where it comes from.
fn joined(answers: &[(String, &dyn Told)]) -> anyhow::Result<Table> {
    let named = answers.iter().map(|(name, answer)| {
        let table = answer.table().with_context(|| {
            let kind = answer.command();
            format!(
                "`{name}` is of `iostack {kind}`, which has no table; use --format text, json or markdown"
            )
        });
        Ok((name.clone(), table?))
    });
    let mut tables = named.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(if tables.len() == 1 { tables.remove(0).1 } else { Table::joined(tables) })
}

impl FormArgs {
    /// The form of stdout.
    pub(crate) fn chosen(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Files that will be written, and must not exist.
    pub(crate) fn files(&self) -> impl Iterator<Item = Output<'_>> {
        let parquet = Output::new("--parquet", self.parquet.as_ref());
        Output::new("--csv", self.csv.as_ref()).into_iter().chain(parquet)
    }

    /// Refuses fio's forms of what fio has no word for, before anything is measured.
    pub(crate) fn refuse_fio(&self, command: &str) -> anyhow::Result<()> {
        ensure!(
            !self.format.is_fio(),
            "fio has no form of what `iostack {command}` finds; use --format text, json, markdown, csv or openmetrics"
        );
        Ok(())
    }

    /// Writes the tables that go to files.
    pub(crate) fn tables(&self, answers: &[(String, &dyn Told)], talk: &Talk) -> anyhow::Result<()> {
        if self.files().next().is_none() {
            return Ok(());
        }
        let table = joined(answers)?;
        let beside = |path: &Option<PathBuf>, content: &dyn Fn(&Table) -> Vec<u8>| {
            path.as_ref().map_or(Ok(()), |path| beside("table", path, &content(&table), talk))
        };
        let csv = beside(&self.csv, &|table| table::csv(table).into_bytes());
        csv.and(beside(&self.parquet, &table::parquet))
    }
}

impl AnswerArgs {
    /// The answer is told as fio would.
    pub(crate) fn is_fio(&self) -> bool {
        self.forms.format.is_fio()
    }

    /// Files that will be written, and must not exist.
    pub(crate) fn files(&self) -> impl Iterator<Item = Output<'_>> {
        let html = Output::new("--html", self.html.as_ref());
        Output::new("--output", self.output.as_ref()).into_iter().chain(html).chain(self.forms.files())
    }

    /// Refuses what cannot be told, before anything is measured; `more` is what the command writes beside it.
    pub(crate) fn refuse<'a>(
        &'a self,
        command: &str,
        more: impl IntoIterator<Item = Output<'a>>,
    ) -> anyhow::Result<()> {
        self.forms.refuse_fio(command)?;
        save::refuse(self.files().chain(more))
    }

    /// True if another form than the screen was asked for.
    pub(crate) fn is_wanted(&self) -> bool {
        self.forms.chosen() != Format::Text || self.files().next().is_some()
    }

    pub(crate) fn talk(&self) -> Talk {
        Talk::new(self.quiet)
    }

    /// Tells it: the form that was chosen, the tables, and the page.
    pub(crate) fn tell(&self, told: &dyn Told, talk: &Talk) -> anyhow::Result<()> {
        let answer = self.tell_but_page(told, talk);
        answer.and(page(self.html.as_ref(), || told.document().html(), talk))
    }

    /// The same without the page.
    pub(crate) fn tell_but_page(&self, told: &dyn Told, talk: &Talk) -> anyhow::Result<()> {
        let one = [(told.command().to_owned(), told)];
        let text = self.forms.chosen().write(&one)?;
        answer(self.output.as_ref(), &text).and(self.forms.tables(&one, talk))
    }
}

/// JSON of an answer, which bears its label, on a line.
pub(crate) fn json(answer: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string(answer).context("an answer is plain data")? + "\n")
}

/// The same on many lines.
pub(crate) fn json_pretty(answer: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(answer).context("an answer is plain data")? + "\n")
}

/// The answer: into the file, or to stdout.
pub(crate) fn answer(file: Option<&PathBuf>, text: &str) -> anyhow::Result<()> {
    if let Some(path) = file {
        return save::new_file(path, text);
    }
    talk::data(text);
    Ok(())
}

/// The page of `--html`, where one is wanted.
pub(crate) fn page(file: Option<&PathBuf>, html: impl FnOnce() -> String, talk: &Talk) -> anyhow::Result<()> {
    file.map_or(Ok(()), |path| beside("report", path, &html(), talk))
}

/// A file beside the answer, called `what`.
pub(crate) fn beside(
    what: &str,
    path: &Path,
    content: &(impl AsRef<[u8]> + ?Sized),
    talk: &Talk,
) -> anyhow::Result<()> {
    save::new_file(path, content)?;
    talk.say(&format!("{what}: {}", path.display()));
    Ok(())
}
