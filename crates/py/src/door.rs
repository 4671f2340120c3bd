//! What does each command need of our own crates? Every call of them that Python can cause stands here.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use iostack::targets::{Table, TargetFlags};
use iostack_model::answers::{Answer as _, Check, DevicePicture, Sweep, WhatIf, labelled};
use iostack_model::{Outcome, OutcomeFile};
use iostack_report::Told;
use iostack_sim::sheet::{Sheet, card};
use iostack_stats::AbReport;
use iostack_study::{ab, check, sweep, what_if};
use iostack_target::{Audience, EXAMPLE, Targets as _, Wanted, changes, read_json};
use iostack_workload::gather;
use serde::Deserialize;

use crate::asked::Asked;
use crate::attend::Teller;

/// An answer, and the outcomes that it rests on.
pub(crate) trait Holds: Told + Send + Sync {
    /// In the order of its JSON.
    fn rests_on(&self) -> Vec<&Outcome> {
        Vec::new()
    }
}

/// An answer that Python holds.
pub(crate) type Kept = Box<dyn Holds>;

/// What a thread of its own does.
pub(crate) type Work = Box<dyn FnOnce(&Teller) -> anyhow::Result<Kept> + Send>;

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

type Does = fn(&Asked, &dyn Audience) -> anyhow::Result<Kept>;
type Reads = fn(&str) -> anyhow::Result<Kept>;

/// Commands by the kind of their answer: what does it, what reads it.
const COMMANDS: [(&str, Does, Reads); 5] = [
    (OutcomeFile::KIND, run, |text| Ok(Box::new(read_json::<OutcomeFile>(text)?))),
    (Check::KIND, check, |text| Ok(Box::new(read_json::<Check>(text)?))),
    (Sweep::KIND, sweep, |text| Ok(Box::new(read_json::<Sweep>(text)?))),
    (WhatIf::KIND, what_if, |text| Ok(Box::new(read_json::<WhatIf>(text)?))),
    (AbReport::KIND, ab, |text| Ok(Box::new(read_json::<AbReport>(text)?))),
];

/// What `command` does with the JSON of what is asked.
pub(crate) fn work(command: &str, asked: &str) -> anyhow::Result<Work> {
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
fn refuse_lab(asked: &Asked) -> anyhow::Result<()> {
    let own = asked.own.iter().flatten().filter_map(|change| change.strip_prefix("on="));
    let mut words = asked.on.iter().flat_map(|on| on.split(',')).chain(own);
    let Some(lab) = words.find(|word| Table::default().kind(word).is_alone) else { return Ok(()) };
    bail!(
        "`{lab}` boots the program `iostack` itself, which Python is not; use iostack run --on {lab} --json --output FILE, then iostack.load(\"FILE\")"
    )
}

/// As `iostack run`.
fn run(asked: &Asked, audience: &dyn Audience) -> anyhow::Result<Kept> {
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
fn table(asked: &Asked) -> Table {
    let mut flags = TargetFlags::default();
    flags.sim.set.clone_from(&asked.set);
    Table::new(flags, asked.destroy_data)
}

/// As `iostack check`.
fn check(asked: &Asked, audience: &dyn Audience) -> anyhow::Result<Kept> {
    let on = OsStr::new(asked.on.as_deref().unwrap_or("."));
    let table = table(asked);
    let sheet = asked.against.as_deref().map(|typed| check::DataSheet::read(typed, &table)).transpose()?;
    let target = table.target(Some(on))?;
    let size = asked.size.as_deref().map(|typed| typed.parse().with_context(|| format!("`--size {typed}`")));
    let words = check::Asked {
        effort: asked.effort,
        size: size.transpose()?,
        seed: asked.seed.unwrap_or(1),
        against: sheet.as_ref(),
    };
    Ok(Box::new(check::answer(&words, &*target, audience)?))
}

/// As `iostack sim sweep`.
fn sweep(asked: &Asked, audience: &dyn Audience) -> anyhow::Result<Kept> {
    let table = Table::default();
    let ready = sweep::Ready::of(&sweep::Asked {
        device: asked.on.as_deref().unwrap_or_default(),
        jobs: &asked.jobs,
        sections: &asked.sections,
        options: &asked.options,
        set: &asked.set,
        vary: &asked.vary,
        targets: &table,
    })?;
    Ok(Box::new(ready.run(asked.parallel.map(usize::from), audience)))
}

/// As `iostack sim what-if`.
fn what_if(asked: &Asked, audience: &dyn Audience) -> anyhow::Result<Kept> {
    let table = Table::default();
    let words = what_if::Asked {
        platform: asked.on.as_deref(),
        jobs: &asked.jobs,
        sections: &asked.sections,
        options: &asked.options,
        set: &asked.set,
        step: &asked.step,
        base: &asked.base,
        named: asked.named.as_deref(),
        all: false,
        targets: &table,
    };
    let one = what_if::answer(&words, audience)?.pop();
    Ok(Box::new(one.context("one chain gives one answer")?))
}

/// As `iostack ab`.
fn ab(asked: &Asked, audience: &dyn Audience) -> anyhow::Result<Kept> {
    let time = asked.time.as_deref().map(|typed| typed.parse().with_context(|| format!("`--time {typed}`")));
    let table = Table::new(TargetFlags::default(), asked.destroy_data);
    let words = ab::Asked {
        jobs: &asked.jobs,
        sections: &asked.sections,
        on: asked.on.clone(),
        options: &asked.options,
        set: &asked.set,
        own: [&asked.own[0], &asked.own[1]],
        time: time.transpose()?,
        blocks: asked.blocks,
        difference: asked.difference.as_deref().unwrap_or("2%"),
        figure: None,
        targets: &table,
    };
    Ok(Box::new(ab::answer(&words, audience)?.0))
}

/// What the JSON of an answer begins with.
#[derive(Deserialize)]
struct Label {
    #[serde(deserialize_with = "iostack_model::schema")]
    #[expect(dead_code, reason = "it is read to be refused where it is newer")]
    schema: u32,
    kind: String,
}

/// Reads the JSON of an answer; `path` names it in errors.
pub(crate) fn parse(text: &str, path: &str) -> anyhow::Result<Kept> {
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
pub(crate) fn save(kept: &Kept, path: &Path) -> anyhow::Result<()> {
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
    let table = Table::default();
    let device = table.bare(name);
    ensure!(!device.is_empty(), "name a platform or a device; `iostack.platforms()` lists them");
    let sheet = Sheet::load(device, &changes(set, EXAMPLE)?)?;
    let (card, roles) = (card::card(&sheet), Vec::new());
    let picture = DevicePicture { card, roles, run: None, command: String::new() };
    Ok(serde_json::to_string(&labelled(&picture))?)
}
