//! What does each command need of our own crates? Every call of them that Python can cause stands here.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use iostack::targets::{TargetFlags, TargetTable};
use iostack_model::answers::{Answer as _, Check, DevicePicture, Sweep, WhatIf, labelled};
use iostack_model::{Outcome, OutcomeFile};
use iostack_report::Told;
use iostack_sim::sheet::{Sheet, card};
use iostack_stats::AbReport;
use iostack_study::{ab, check, sweep, what_if};
use iostack_target::{Audience, EXAMPLE, Targets as _, Wanted, changes, read_json};
use iostack_workload::gather;
use serde::Deserialize;

use crate::asked::PythonQuestion;
use crate::attend::PythonAudience;

/// An answer, and the outcomes that it rests on.
pub(crate) trait Holds: Told + Send + Sync {
    /// Outcomes in the order of its JSON.
    fn rests_on(&self) -> Vec<&Outcome> {
        Vec::new()
    }
}

/// An answer that Python holds.
pub(crate) type KeptAnswer = Box<dyn Holds>;

/// Work for a thread of its own.
pub(crate) type ThreadWork = Box<dyn FnOnce(&PythonAudience) -> anyhow::Result<KeptAnswer> + Send>;

impl Holds for OutcomeFile {
    fn rests_on(&self) -> Vec<&Outcome> {
        self.outcomes.iter().collect()
    }
}

impl Holds for Check {
    fn rests_on(&self) -> Vec<&Outcome> {
        self.steps.iter().flat_map(|step| &step.points).map(|point| &point.outcome).collect()
    }
}

impl Holds for Sweep {
    fn rests_on(&self) -> Vec<&Outcome> {
        self.points.iter().flat_map(|point| &point.outcomes).collect()
    }
}

impl Holds for WhatIf {
    fn rests_on(&self) -> Vec<&Outcome> {
        self.steps.iter().filter_map(|step| step.outcome.as_ref()).collect()
    }
}

impl Holds for AbReport {}

type Does = fn(&PythonQuestion, &dyn Audience) -> anyhow::Result<KeptAnswer>;
type Reads = fn(&str) -> anyhow::Result<KeptAnswer>;

/// Commands by the kind of their answer: what does it, what reads it.
const COMMANDS: [(&str, Does, Reads); 5] = [
    (OutcomeFile::KIND, run, |text| Ok(Box::new(read_json::<OutcomeFile>(text)?))),
    (Check::KIND, check, |text| Ok(Box::new(read_json::<Check>(text)?))),
    (Sweep::KIND, sweep, |text| Ok(Box::new(read_json::<Sweep>(text)?))),
    (WhatIf::KIND, what_if, |text| Ok(Box::new(read_json::<WhatIf>(text)?))),
    (AbReport::KIND, ab, |text| Ok(Box::new(read_json::<AbReport>(text)?))),
];

/// Work of `command` on the JSON of a question.
pub(crate) fn work(command: &str, asked: &str) -> anyhow::Result<ThreadWork> {
    let Some((_, does, _)) = COMMANDS.iter().find(|(kind, ..)| *kind == command) else {
        bail!("`{command}` is no command of the package; there are {}", kinds())
    };
    let asked = read_json(asked)?;
    refuse_lab(&asked)?;
    Ok(Box::new(move |teller| does(&asked, teller)))
}

fn kinds() -> String {
    COMMANDS.iter().map(|(kind, ..)| *kind).collect::<Vec<_>>().join(", ")
}

/// The lab boots the program that asks, and that is Python here.
fn refuse_lab(asked: &PythonQuestion) -> anyhow::Result<()> {
    let own = asked.own.iter().flatten().filter_map(|change| change.strip_prefix("on="));
    let mut words = asked.on.iter().flat_map(|on| on.split(',')).chain(own);
    let Some(lab) = words.find(|word| TargetTable::default().kind(word).is_alone) else { return Ok(()) };
    bail!(
        "`{lab}` boots the program `iostack` itself, which Python is not; use iostack run --on {lab} --json --output FILE, then iostack.load(\"FILE\")"
    )
}

/// Answers like `iostack run`.
fn run(asked: &PythonQuestion, audience: &dyn Audience) -> anyhow::Result<KeptAnswer> {
    let table = table(asked);
    let cpus = table.machine().cpu.cores_online;
    let gathered = gather::gather(&asked.jobs, &asked.sections, &asked.options, asked.lenient, cpus)?;
    for line in &gathered.skipped {
        audience.warn(&format!("skipped {line}"));
    }
    let mut jobs = gathered.jobs;
    let target = table.target(asked.on.as_deref().map(OsStr::new))?;
    for job in jobs.iter_mut().filter(|_| asked.jobs.is_empty()) {
        if let Some(line) = table.give_end(job, target.describe())? {
            audience.say(&line);
        }
    }
    let wanted = Wanted { stages: asked.stages, layers: asked.layers, ..Wanted::default() };
    Ok(Box::new(target.run(&jobs, wanted, audience)?))
}

/// Every target, with the changes that are asked for.
fn table(asked: &PythonQuestion) -> TargetTable {
    let mut flags = TargetFlags::default();
    flags.sim.set.clone_from(&asked.set);
    TargetTable::new(flags, asked.destroy_data)
}

/// Answers like `iostack check`.
fn check(asked: &PythonQuestion, audience: &dyn Audience) -> anyhow::Result<KeptAnswer> {
    let on = OsStr::new(asked.on.as_deref().unwrap_or("."));
    let table = table(asked);
    let sheet = asked.against.as_deref().map(|typed| check::DataSheet::read(typed, &table)).transpose()?;
    let target = table.target(Some(on))?;
    let size = asked.size.as_deref().map(|typed| typed.parse().with_context(|| format!("`--size {typed}`")));
    let words = check::CheckQuestion {
        effort: asked.effort,
        size: size.transpose()?,
        seed: asked.seed.unwrap_or(1),
        against: sheet.as_ref(),
    };
    Ok(Box::new(check::answer(&words, &*target, audience)?))
}

/// Answers like `iostack sim sweep`.
fn sweep(asked: &PythonQuestion, audience: &dyn Audience) -> anyhow::Result<KeptAnswer> {
    let table = TargetTable::default();
    let question = sweep::SweepQuestion {
        device: asked.on.clone().unwrap_or_default(),
        jobs: asked.jobs.clone(),
        vary: asked.vary.clone(),
        set: asked.set.clone(),
        section: asked.sections.clone(),
        options: asked.options.clone(),
    };
    let ready = sweep::PlannedSweep::new(&question, &table)?;
    Ok(Box::new(ready.run(asked.parallel.map(usize::from), audience)))
}

/// Answers like `iostack sim what-if`.
fn what_if(asked: &PythonQuestion, audience: &dyn Audience) -> anyhow::Result<KeptAnswer> {
    let question = what_if::WhatIfQuestion {
        platform: asked.on.clone(),
        jobs: asked.jobs.clone(),
        set: asked.set.clone(),
        step: asked.step.clone(),
        base: asked.base.clone(),
        named: asked.named.clone(),
        section: asked.sections.clone(),
        options: asked.options.clone(),
        all: false,
    };
    let one = what_if::answer(&question, &TargetTable::default(), audience)?.pop();
    Ok(Box::new(one.context("one chain gives one answer")?))
}

/// Answers like `iostack ab`.
fn ab(asked: &PythonQuestion, audience: &dyn Audience) -> anyhow::Result<KeptAnswer> {
    let time = asked.time.as_deref().map(|typed| typed.parse().with_context(|| format!("`--time {typed}`")));
    let table = TargetTable::new(TargetFlags::default(), asked.destroy_data);
    let [a, b] = asked.own.clone();
    let question = ab::AbQuestion {
        jobs: asked.jobs.clone(),
        on: asked.on.clone(),
        a,
        b,
        time: time.transpose()?,
        blocks: asked.blocks,
        difference: asked.difference.clone().unwrap_or_else(|| "2%".to_owned()),
        figure: None,
        section: asked.sections.clone(),
        set: asked.set.clone(),
        options: asked.options.clone(),
    };
    Ok(Box::new(ab::answer(&question, &table, audience)?.0))
}

/// First fields of the JSON of an answer.
#[derive(Deserialize)]
struct Label {
    #[serde(deserialize_with = "iostack_model::schema")]
    #[expect(dead_code, reason = "it is read to be refused where it is newer")]
    schema: u32,
    kind: String,
}

/// Reads the JSON of an answer; `path` names it in errors.
pub(crate) fn parse(text: &str, path: &str) -> anyhow::Result<KeptAnswer> {
    let Label { kind, .. } = read_json(text).with_context(|| {
        format!(
            "`{path}` is not an outcome of iostack; make one with `iostack run --json` or `iostack check`"
        )
    })?;
    let known = COMMANDS.iter().find(|(known, ..)| *known == kind);
    let (.., read) = known.with_context(|| {
        format!("`{path}` is of `iostack {kind}`, which is not read here; there are {}", kinds())
    })?;
    read(text).with_context(|| format!("`{path}` is not an outcome of `iostack {kind}`"))
}

/// Writes the JSON of an answer, or its page where the name ends in `.html`, to a new file.
pub(crate) fn save(kept: &KeptAnswer, path: &Path) -> anyhow::Result<()> {
    let page = path.extension().is_some_and(|end| end == "html");
    let content = if page { kept.document().html() } else { kept.json()? + "\n" };
    iostack_host::save::new_file(path, &content)
}

/// Every platform, device and part that is built in.
pub(crate) fn platforms() -> anyhow::Result<String> {
    Ok(serde_json::to_string(&card::summaries())?)
}

/// The card of one, with changes.
pub(crate) fn platform(name: &str, set: &[String]) -> anyhow::Result<String> {
    let table = TargetTable::default();
    let device = table.bare(name);
    ensure!(!device.is_empty(), "name a platform or a device; `iostack.platforms()` lists them");
    let sheet = Sheet::load(device, &changes(set, EXAMPLE)?)?;
    let picture = DevicePicture::of_card(card::card(&sheet), Vec::new());
    Ok(serde_json::to_string(&labelled(&picture))?)
}
