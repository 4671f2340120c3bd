//! What `iostack stages` and `iostack layers` share: a look at something that runs already.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use iostack_model::{Ladder, Nanos};
use iostack_report::Document;
use iostack_target::Audience as _;

use crate::cmd::run::RunArgs;
use crate::talk::Talk;
use crate::written::{self, Format};

/// The live view is redrawn this often.
const REDRAW_EVERY: Duration = Duration::from_millis(500);

/// Time to look at a running program without `--runtime`.
const RUNTIME: Nanos = Nanos::secs(10);

/// Forms of a picture of stages or of layers.
pub(crate) struct Pictures<T> {
    /// Document of the whole picture.
    pub(crate) told: fn(&T) -> Document,
    /// A block that is redrawn in place.
    pub(crate) live: fn(&T) -> String,
    pub(crate) json: fn(&T) -> anyhow::Result<String>,
}

/// Time to look at a running program: `--runtime`. Other options of a job are refused.
pub(crate) fn runtime(args: &RunArgs, what: &str) -> anyhow::Result<Nanos> {
    anyhow::ensure!(
        args.jobs.is_empty() && args.on.is_none(),
        "a job and {what} were given; {what} looks at what runs already: leave the job out"
    );
    let forms = &args.answer.forms;
    if !matches!(forms.chosen(), Format::Text | Format::Json | Format::Markdown)
        || forms.files().next().is_some()
    {
        bail!(
            "tables and fio's forms need a job of our own; use --format text, json or markdown with {what}"
        );
    }
    let mut runtime = RUNTIME;
    for (name, value) in &args.flags.options {
        if name != "runtime" {
            bail!("`--{}` describes a job, but {what} looks at what runs already", name.replace('_', "-"));
        }
        runtime = value.parse().with_context(|| format!("--runtime `{value}`"))?;
    }
    Ok(runtime)
}

/// Looks for as long as asked, or until Ctrl-C, or until `ended` says so; draws what was seen so far meanwhile.
pub(crate) fn watch<T>(
    talk: &Talk,
    runtime: Nanos,
    pictures: &Pictures<T>,
    mut so_far: impl FnMut() -> T,
    ended: impl Fn() -> bool,
) {
    let stop = iostack_host::signals::stop_flag();
    let started = Instant::now();
    let end = started + Duration::from_nanos(runtime.0);
    let mut redraw = started + REDRAW_EVERY;
    while Instant::now() < end && !stop.load(Ordering::Relaxed) && !ended() {
        std::thread::sleep(Duration::from_millis(20));
        if talk.is_live() && Instant::now() >= redraw {
            let left = end.saturating_duration_since(Instant::now()).as_secs_f64();
            let block = (pictures.live)(&so_far());
            talk.block(&format!("{block}{left:.0} s left; Ctrl-C ends it with what was seen\n"));
            redraw = Instant::now() + REDRAW_EVERY;
        }
    }
    talk.clear();
}

/// Prints what was seen, and what to look at next.
pub(crate) fn print<T>(
    args: &RunArgs,
    talk: &Talk,
    seen: &T,
    pictures: &Pictures<T>,
    next: &str,
) -> anyhow::Result<()> {
    let text = match args.answer.forms.chosen() {
        Format::Json => (pictures.json)(seen)?,
        Format::Markdown => (pictures.told)(seen).markdown(),
        _ => format!("{}\nnext: {next}\n", (pictures.told)(seen).text()),
    };
    let answer = written::answer(args.answer.output.as_ref(), &text);
    let page = written::page(args.answer.html.as_ref(), || (pictures.told)(seen).html(), talk);
    answer.and(page)
}

pub(crate) fn ladder() -> Ladder {
    iostack_attribute::ladder::probe()
}
