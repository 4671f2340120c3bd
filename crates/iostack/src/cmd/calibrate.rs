//! `iostack calibrate OUTCOME...`: a simulated platform that answers as this machine did.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use iostack::targets::TargetTable;
use iostack_host::save::Output;
use iostack_model::OutcomeFile;
use iostack_model::answers::{Answer, Check, Iolat, Probe, Sweep};
use iostack_study::calibrate::{self, PointSource};
use iostack_target::Audience as _;

use crate::exit::Ended;
use crate::stored;
use crate::written::{self, AnswerArgs};

/// Arguments of `iostack calibrate`.
#[derive(clap::Args)]
pub(crate) struct CalibrateArgs {
    /// JSON that check, run, probe, iolat or sim sweep printed, or fio's own.
    #[arg(required = true, value_name = "OUTCOME")]
    files: Vec<PathBuf>,
    /// Write the platform to a new file, for `sim:FILE`.
    #[arg(short = 'o', long, value_name = "FILE")]
    sheet: Option<PathBuf>,
    /// Name of the platform [default: that of the new file].
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Fits, tries, prints, and writes the sheet.
pub(crate) fn run(args: &CalibrateArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("calibrate", Output::new("--sheet", args.sheet.as_ref()))?;
    let talk = args.answer.talk();
    let files = sources(&args.files)?;
    let found = calibrate::answer(&files, &name(args), &TargetTable::default(), &talk)?;
    talk.clear();
    let told = args.answer.tell(&found, &talk);
    let sheet =
        args.sheet.as_ref().map_or(Ok(()), |path| written::beside("sheet", path, &found.sheet, &talk));
    told.and(sheet)?;
    Ok(Ended::Done)
}

/// The name of a platform: small letters, digits and dashes.
fn name(args: &CalibrateArgs) -> String {
    let stem = args.sheet.as_ref().and_then(|path| path.file_stem()).map(|stem| stem.to_string_lossy());
    let typed = args.name.clone().or(stem.map(std::borrow::Cow::into_owned)).unwrap_or_default();
    let plain = |each: char| if each.is_ascii_alphanumeric() { each.to_ascii_lowercase() } else { '-' };
    let name: String = typed.chars().map(plain).collect();
    if name.is_empty() { "measured".to_owned() } else { name }
}

/// Files that measured something, by their names as typed.
pub(crate) fn sources(paths: &[PathBuf]) -> anyhow::Result<Vec<(String, PointSource)>> {
    paths.iter().map(|path| Ok((path.display().to_string(), source(path)?))).collect()
}

/// Content of a file: an answer of ours, or fio's.
fn source(path: &Path) -> anyhow::Result<PointSource> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the outcome `{}`", path.display()))?;
    if text.contains("\"fio version\"") && text.contains("\"jobs\"") {
        // fio writes its warnings before the document.
        let begins = text.find('{').unwrap_or(0);
        return Ok(PointSource::Fio(text[begins..].to_owned()));
    }
    if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv")) {
        return Ok(PointSource::Curve(text));
    }
    let stored = stored::of_text(text, path.display().to_string())?;
    Ok(match stored.kind.as_str() {
        Check::KIND => PointSource::Check(Box::new(stored.parse()?)),
        OutcomeFile::KIND => PointSource::Run(Box::new(stored.parse()?)),
        Iolat::KIND => PointSource::Iolat(Box::new(stored.parse()?)),
        Probe::KIND => PointSource::Probe(Box::new(stored.parse()?)),
        Sweep::KIND => PointSource::Sweep(Box::new(stored.parse()?)),
        other => bail!(
            "`{}` is of `iostack {other}`, which measures no curve; name outcomes of check, run, probe, iolat, sim sweep, fio's JSON, \
             or a table (.csv)",
            path.display()
        ),
    })
}
