//! The near side: boots as often as it takes, and hears.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use iostack_model::Nanos;
use iostack_model::answers::ServedCut;
use iostack_workload::Rng;
use serde_json::Value;

use super::{Cuts, ExecOrder, Listener, Piece, Program, ProgramEnd, ProgramRun};
use crate::guest::{Message, Work};
use crate::host::mailbox::Drives;
use crate::outside::{Live, Outside, Wish, machine_takes};
use crate::{Lab, Request};
use iostack_target::read_json;

/// Boots and runs the program on the request's device.
pub fn execute(
    lab: &Lab<'_>,
    request: &Request,
    seed: u64,
    program: &Program,
    listener: &mut dyn Listener,
) -> anyhow::Result<ProgramRun> {
    let mut drive = request.bring(Wish { seed, volatile: program.cuts.is_some(), asked: None })?;
    let mut heard = ExecHeard::new(program.results.as_deref(), listener)?;
    let went = if let (Some(plan), Some(drive)) = (&program.cuts, &mut drive) {
        through_cuts(lab, request, seed, (program, plan), drive, &mut heard)
    } else {
        let order = heard.order(&program.command, None, 0);
        let live = drive.as_ref().map(|drive| drive.live());
        let drives = (machine_takes(drive.as_mut()), live.as_ref());
        boot(lab, request, &order, drives, &mut heard).map(|()| (Vec::new(), None))
    };
    if let Some(why) = drive.as_ref().and_then(|drive| drive.full()) {
        heard.listener.says(why);
    }
    let (cuts, failed) = went?;
    let ended = heard.ended.ok_or_else(|| anyhow!("the guest did not say how the program ended"))?;
    let counted = drive.as_mut().map(|drive| Nanos(drive.over(ended.elapsed.0)));
    let elapsed = counted.unwrap_or(ended.elapsed);
    Ok(ProgramRun { ended, elapsed, drive, cuts, failed })
}

/// The cuts that were, and after which the check failed.
type Cut = (Vec<ServedCut>, Option<u32>);

fn through_cuts(
    lab: &Lab<'_>,
    request: &Request,
    seed: u64,
    (program, plan): (&Program, &Cuts),
    drive: &mut Box<dyn Outside>,
    heard: &mut ExecHeard<'_>,
) -> anyhow::Result<Cut> {
    let mut random = Rng::from_seed(seed);
    let (mut request, mut cuts) = (request.clone(), Vec::new());
    for number in 0..=plan.count {
        let last = number == plan.count;
        let (Nanos(from), Nanos(until)) = plan.between;
        let after = from + random.below((until - from).saturating_add(1));
        drive.cut_after((!last).then_some((after, random.next_u64())));
        let command = if last { &[][..] } else { &program.command };
        let order = heard.order(command, plan.check.as_deref().filter(|_| number > 0), number);
        let live = drive.live();
        boot(lab, &request, &order, (machine_takes(Some(&mut *drive)), Some(&live)), heard)?;
        if heard.checked.take().is_some_and(|code| code != 0) {
            return Ok((cuts, Some(number)));
        }
        if last {
            break;
        }
        let Some(cut) = drive.was_cut() else {
            let took = heard.ended.as_ref().map_or(0.0, |ended| ended.elapsed.as_secs_f64());
            bail!(
                "the program ended after {took:.3} s, before the power was to be cut at {:.3} s; cut it earlier",
                Nanos(after).as_secs_f64()
            );
        };
        heard.listener.says(&format!(
            "the power was cut {:.6} s after the program began; {} atoms that were not flushed are there, {} are what they were",
            Nanos(after).as_secs_f64(),
            cut.kept,
            cut.lost
        ));
        cuts.push(cut);
        request.keeps = true;
    }
    Ok((cuts, None))
}

/// Lines of the kernel's complaints that are shown: what it says of its memory when that is out has a hundred.
const COMPLAINTS_MOST: usize = 10;

pub(super) fn boot(
    lab: &Lab<'_>,
    request: &Request,
    order: &ExecOrder,
    (drives, live): (Option<&mut dyn Drives>, Option<&Live>),
    heard: &mut ExecHeard<'_>,
) -> anyhow::Result<()> {
    (heard.ended, heard.checked) = (None, None);
    let mut broken = None;
    let order = serde_json::to_value(order)?;
    let booted = lab.boot(request, Work::Job(order), drives, &mut |message| {
        if let Err(error) = heard.message(message, || live.and_then(Live::look)) {
            broken.get_or_insert(error);
        }
    })?;
    for line in booted.complaints.iter().take(COMPLAINTS_MOST) {
        heard.listener.says(&format!("the guest's kernel complained: {line}"));
    }
    if let more @ 1.. = booted.complaints.len().saturating_sub(COMPLAINTS_MOST) {
        heard.listener.says(&format!("and of {more} more"));
    }
    broken.map_or(Ok(()), Err)
}

/// Messages of the far side so far.
pub(super) struct ExecHeard<'a> {
    pub(super) listener: &'a mut dyn Listener,
    results: Option<&'a Path>,
    pub(super) ended: Option<ProgramEnd>,
    checked: Option<i32>,
    said: Vec<String>,
    /// Lines with their moments, where they were asked for.
    pub(super) stamped: Vec<(u64, String)>,
}

impl<'a> ExecHeard<'a> {
    pub(super) fn new(
        results: Option<&'a Path>,
        listener: &'a mut dyn Listener,
    ) -> anyhow::Result<ExecHeard<'a>> {
        if let Some(folder) = results {
            let named = || format!("`--results {}`", folder.display());
            fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", named()))?;
            let mut entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", named()))?;
            ensure!(entries.next().is_none(), "{} is not empty; name a new folder", named());
        }
        Ok(ExecHeard { listener, results, ended: None, checked: None, said: Vec::new(), stamped: Vec::new() })
    }

    pub(super) fn order(&mut self, command: &[String], check: Option<&str>, cuts: u32) -> ExecOrder {
        ExecOrder {
            exec: command.to_vec(),
            check: check.map(str::to_owned),
            said: std::mem::take(&mut self.said),
            cuts,
            results: self.results.is_some(),
            ..ExecOrder::default()
        }
    }

    fn message(
        &mut self,
        message: &Message,
        seen: impl FnOnce() -> Option<iostack_model::answers::Seen>,
    ) -> anyhow::Result<()> {
        let Message::Value { name, value } = message else {
            if let Message::Hello(release) = message {
                self.listener.says(&format!("Linux {release} is up"));
            }
            return Ok(());
        };
        match (name.as_str(), value) {
            ("out", Value::String(line)) => {
                self.listener.line(line, false);
                self.said.push(line.clone());
            }
            ("out", Value::Array(stamped)) => {
                let [Value::String(line), Value::Number(now)] = &stamped[..] else { return Ok(()) };
                self.listener.line(line, false);
                self.stamped.push((now.as_u64().unwrap_or_default(), line.clone()));
            }
            ("error", Value::String(line)) => self.listener.line(line, true),
            ("runs", Value::Number(ns)) => {
                self.listener.runs(Nanos(ns.as_u64().unwrap_or_default()), seen());
            }
            ("checked", Value::Number(code)) => {
                self.checked = code.as_i64().map(|code| code as i32);
                self.said.clear();
            }
            ("ended", value) => self.ended = read_json::<ProgramEnd>(&value.to_string()).ok(),
            ("file", value) => self.keep(value)?,
            _ => {}
        }
        Ok(())
    }

    /// A piece of a file: to the end of what came before.
    fn keep(&self, value: &Value) -> anyhow::Result<()> {
        let Some(folder) = self.results else { return Ok(()) };
        let piece: Piece = read_json(&value.to_string()).context("a file of the guest cannot be read")?;
        let inside = Path::new(&piece.path).components().all(|part| matches!(part, Component::Normal(_)));
        let (path, Some(bytes), true): (PathBuf, _, _) = (folder.join(&piece.path), piece.bytes(), inside)
        else {
            bail!("the guest sent a file `{}`, which is none", piece.path);
        };
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(folder))?;
            OpenOptions::new().create(true).append(true).open(&path)?.write_all(&bytes)
        };
        write().with_context(|| format!("`{}` cannot be written", path.display()))
    }
}
