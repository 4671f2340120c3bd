//! `iostack lab bisect GOOD BAD`: which commit of a driver made its I/O dearer?
//!
//! Git says what to count next (`git rev-list --bisect-all`). Each commit is copied out beside the repository; the user's
//! own work tree is not touched.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use iostack_lab::host::command::ended;
use iostack_lab::host::machine::Scratch;
use iostack_lab::targets::LabFlags;
use iostack_lab::{Lab, LabError};
use iostack_model::answers::{BudgetVerdict, ClockPrices};
use iostack_validation::count::Counter;

use super::held::Budgets;
use crate::exit::Ended;
use crate::talk::{self, Talk, paragraph};

/// I/Os that are counted of each commit: the modal one shows in fewer.
const IOS: u32 = 1000;

/// Arguments of `iostack lab bisect`.
#[derive(clap::Args)]
pub(crate) struct BisectArgs {
    /// A commit whose costs hold.
    good: String,
    /// A later one, whose costs do not.
    bad: String,
    /// The costs (`iostack lab cost --write` makes such a file).
    #[arg(long, value_name = "FILE")]
    assert: PathBuf,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    lab: LabFlags,
}

/// The driver's folder in its repository.
struct DriverHistory {
    root: PathBuf,
    /// The folder below it, with a slash behind; empty for the root itself.
    below: String,
}

/// Verdict on a commit.
enum CommitVerdict {
    Holds,
    Grew(String),
    Skipped(String),
}

/// Counts, and prints each step. Exit 1 when a commit was found, 0 when the bad one is none.
pub(crate) fn run(args: &BisectArgs) -> anyhow::Result<Ended> {
    let source =
        args.lab.source.as_deref().context("name the driver's folder in its repository: --source")?;
    let history = DriverHistory::of_folder(source)?;
    let (first, mut bad) = (history.commit(&args.good)?, history.commit(&args.bad)?);
    let is_older = history.git(&["merge-base", "--is-ancestor", &first, &bad])?.is_ok();
    ensure!(
        is_older && first != bad,
        "`{}` is no ancestor of `{}`; name the older one first",
        args.good,
        args.bad
    );
    let budgets = Budgets::read(&args.assert)?.only(source)?;
    let talk = Talk::new(args.quiet);
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, iostack_host::signals::stop_flag())?;
    let counter = Counter { lab, talk: &talk, boots: 1, prices: ClockPrices::default() };
    let judge = |commit: &str| -> anyhow::Result<CommitVerdict> {
        let judged = judge(&history, commit, &budgets, &args.lab, &counter)?;
        print(&history.title(commit)?, &judged);
        Ok(judged)
    };
    match judge(&bad)? {
        CommitVerdict::Grew(_) => {}
        CommitVerdict::Holds => return Ok(Ended::Done),
        CommitVerdict::Skipped(_) => bail!("`{}` cannot be counted; name another commit as BAD", args.bad),
    }
    ensure!(
        matches!(judge(&first)?, CommitVerdict::Holds),
        "the costs do not hold at `{}`; name an older commit",
        args.good
    );
    let (mut good, mut skipped) = (vec![first], Vec::new());
    let left = loop {
        let mut left = history.between(&good, &bad)?;
        left.retain(|commit| *commit != bad);
        let Some(next) = left.iter().find(|commit| !skipped.contains(*commit)) else { break left };
        match judge(next)? {
            CommitVerdict::Holds => good.push(next.clone()),
            CommitVerdict::Grew(_) => bad = next.clone(),
            CommitVerdict::Skipped(_) => skipped.push(next.clone()),
        }
    };
    let mut out = paragraph("\nFIRST BAD  ", &history.title(&bad)?, 11);
    for commit in left {
        out += &paragraph("or skipped ", &history.title(&commit)?, 11);
    }
    talk::data(&format!("{out}\nNext: git -C {} show {}\n", source.display(), &bad[..12]));
    Ok(Ended::FoundProblem)
}

/// Builds, boots and counts a commit. One that cannot be built, loaded or counted is skipped, as git's own bisect does.
fn judge(
    history: &DriverHistory,
    commit: &str,
    budgets: &Budgets,
    lab: &LabFlags,
    counter: &Counter<'_>,
) -> anyhow::Result<CommitVerdict> {
    let scratch = Scratch::new()?;
    let folder = scratch.path("source");
    if let Err(said) = history.copy(commit, &scratch.path("tar"), &folder)? {
        return Ok(CommitVerdict::Skipped(said));
    }
    // What was copied is called by the place that it is of.
    let (copy, place) = (folder.display().to_string(), history.root.join(&history.below));
    let lab = LabFlags { source: Some(folder), ..lab.clone() };
    match budgets.specs(&lab, IOS).and_then(|specs| counter.count(&specs)) {
        Ok(costs) => Ok(match budgets.verdicts(&costs).iter().find(|verdict| !verdict.holds) {
            Some(verdict) => CommitVerdict::Grew(growth(verdict)),
            None => CommitVerdict::Holds,
        }),
        Err(error) => match error.downcast_ref::<LabError>() {
            Some(LabError::Asked(_) | LabError::Guest { .. }) => {
                Ok(CommitVerdict::Skipped(error.to_string().replace(&copy, &place.display().to_string())))
            }
            _ => Err(error),
        },
    }
}

fn growth(verdict: &BudgetVerdict) -> String {
    let most = verdict.grown.iter().map(|one| format!(", {} +{}", one.name, one.after - one.before));
    let most: String = most.take(4).collect();
    if verdict.counted == 0 {
        return format!("{}: no function of the module ran", verdict.name);
    }
    format!("{}: {} instructions, {} allowed{most}", verdict.name, verdict.counted, verdict.allowed)
}

fn print(title: &str, judged: &CommitVerdict) {
    let (word, why) = match judged {
        CommitVerdict::Holds => ("holds   ", ""),
        CommitVerdict::Grew(why) => ("GREW    ", why.as_str()),
        // The first lines say it: the act, and the first error.
        CommitVerdict::Skipped(why) => ("skipped ", why.as_str()),
    };
    let mut out = paragraph(word, title, 8);
    for line in why.lines().filter(|line| !line.trim().is_empty()).take(2) {
        out += &paragraph("          ", line, 10);
    }
    talk::data(&out);
}

impl DriverHistory {
    fn of_folder(source: &Path) -> anyhow::Result<DriverHistory> {
        let told = ended(
            Command::new("git").arg("-C").arg(source).args(["rev-parse", "--show-toplevel", "--show-prefix"]),
            "look at the driver's commits",
        )?;
        let Ok(told) = told else { bail!("`{}` is in no git repository", source.display()) };
        let mut lines = told.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        Ok(DriverHistory { root: next().into(), below: next() })
    }

    /// Runs git: text on stdout, or why it failed.
    fn git(&self, arguments: &[&str]) -> Result<Result<String, String>, LabError> {
        ended(Command::new("git").arg("-C").arg(&self.root).args(arguments), "look at the driver's commits")
    }

    fn told(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.git(arguments)?.map_err(|said| anyhow::anyhow!("git {} failed: {}", arguments[0], said.trim()))
    }

    fn commit(&self, typed: &str) -> anyhow::Result<String> {
        let asked = format!("{typed}^{{commit}}");
        let found = self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &asked])?;
        let Ok(found) = found else { bail!("`{typed}` is no commit of `{}`", self.root.display()) };
        Ok(found.trim().to_owned())
    }

    /// Commits of the folder that may be the first bad one, the best to count first.
    fn between(&self, good: &[String], bad: &str) -> anyhow::Result<Vec<String>> {
        let path = if self.below.is_empty() { "." } else { &self.below };
        let mut words = vec!["rev-list", "--bisect-all", bad, "--not"];
        words.extend(good.iter().map(String::as_str));
        words.extend(["--", path]);
        let told = self.told(&words)?;
        Ok(told.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
    }

    fn title(&self, commit: &str) -> anyhow::Result<String> {
        Ok(self.told(&["show", "--no-patch", "--format=%h %s", commit])?.trim().to_owned())
    }

    /// Copies the folder as it was; what git says when it was not there.
    fn copy(&self, commit: &str, archive: &Path, to: &Path) -> anyhow::Result<Result<(), String>> {
        let tree = format!("{commit}:{}", self.below.trim_end_matches('/'));
        let output = format!("--output={}", archive.display());
        if let Err(said) = self.git(&["archive", "--format=tar", &output, &tree])? {
            return Ok(Err(said));
        }
        std::fs::create_dir(to).with_context(|| format!("cannot make `{}`", to.display()))?;
        let unpacked = ended(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(to), "copy a commit")?;
        Ok(unpacked.map(|_| ()))
    }
}
