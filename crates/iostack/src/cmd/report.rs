//! `iostack report FILE...`: what was found earlier again, in any form.

use std::path::PathBuf;

use anyhow::{bail, ensure};
use iostack_host::save::{self, Output};
use iostack_report::Told;

use crate::cmd::export::{self, ExportFormat};
use crate::exit::Ended;
use crate::stored;
use crate::talk::{Talk, data};
use crate::written::{self, FormArgs, Format};

/// Arguments of `iostack report`.
#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    /// JSON that run, check, ab, sim sweep or most others printed. Tables of several
    /// files are one, with a column `file`.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    forms: FormArgs,
    /// Write stdout's content to a new file instead.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write what a program reads instead: limits for the kernel's controller,
    /// a disk for Seastar, a job for fio.
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Output",
        conflicts_with_all = ["html", "format", "json", "markdown", "csv", "parquet"])]
    export: Option<ExportFormat>,
    /// Write an HTML page there instead of text.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    /// Short for --format markdown.
    #[arg(long, conflicts_with_all = ["html", "format", "json"], help_heading = "Output")]
    markdown: bool,
}

impl ReportArgs {
    fn format(&self) -> Format {
        if self.markdown { Format::Markdown } else { self.forms.chosen() }
    }

    /// A page and nothing else was asked for: then its name is the answer.
    fn is_page_alone(&self) -> bool {
        self.html.is_some() && self.format() == Format::Text && self.output.is_none()
    }
}

/// Shows stored answers again.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Ended> {
    let html = Output::new("--html", args.html.as_ref());
    let output = Output::new("--output", args.output.as_ref());
    save::refuse(output.into_iter().chain(html).chain(args.forms.files()))?;
    if let Some(format) = args.export {
        let [file] = &args.files[..] else { bail!("--export is of one result; name one file") };
        return export::told(&export::of_stored(file, format)?, args.output.as_ref(), &Talk::new(false));
    }
    ensure!(
        args.html.is_none() || args.files.len() == 1,
        "a page is of one result; name one file with --html"
    );
    let told: Vec<Box<dyn Told>> =
        args.files.iter().map(|path| stored::read(path)?.told()).collect::<anyhow::Result<_>>()?;
    let names = args.files.iter().map(|path| path.display().to_string());
    let answers: Vec<(String, &dyn Told)> = names.zip(told.iter().map(AsRef::as_ref)).collect();
    let talk = Talk::new(false);
    let told = if args.is_page_alone() {
        Ok(())
    } else {
        written::answer(args.output.as_ref(), &args.format().write(&answers)?)
    };
    let tables = args.forms.tables(&answers, &talk);
    let page = args.html.as_ref().map_or(Ok(()), |path| {
        save::new_file(path, &answers[0].1.document().html())?;
        if args.is_page_alone() {
            data(&format!("{}\n", path.display()));
        }
        Ok(())
    });
    told.and(tables).and(page)?;
    Ok(Ended::Done)
}
