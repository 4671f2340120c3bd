//! Checks one point after the other, and makes the first that fails small.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use anyhow::{Context, anyhow, bail, ensure};
use iostack_model::Nanos;
use iostack_model::answers::{CrashFailure, CrashPoints, LostWrite};
use serde_json::Value;

use super::super::near::{ExecHeard, boot};
use super::super::{ExecOrder, Listener, Program, ProgramRun};
use super::image::Pages;
use super::laid::{LaidDrives, Next};
use super::points::{Lost, Walk, choose, epochs, name, named, smallest};
use super::record::{BYTES_MOST, Event, Record, Recorder};
use super::{CHECKED, CrashOrder, CrashPlan, ENDLESS, ToCheck, WHOSE, Which};
use crate::guest::{Message, Work};
use crate::outside::Wish;
use crate::{Lab, LabError, Request};

/// Points of one epoch, at most, where all are asked for.
const EPOCH_MOST: u64 = 1000;

/// Points of one epoch that are checked before others of it.
const EPOCH_FIRST: usize = 8;

/// Bytes of lines that go with one order.
const SAID_BYTES: usize = 16 << 10;

/// Lines of a check that are kept.
const LINES: usize = 10;

const SECTOR: u64 = 512;

/// Runs the program with its writes recorded, and then the check on disks that a power cut could have left.
pub fn prove(
    lab: &Lab<'_>,
    request: &Request,
    seed: u64,
    (program, plan): (&Program, &CrashPlan),
    listener: &mut dyn Listener,
) -> anyhow::Result<(ProgramRun, Option<CrashPoints>)> {
    let (run, record, said) = recorded(lab, request, seed, program, listener)?;
    if run.ended.code != 0 {
        return Ok((run, None));
    }
    let shapes = run.drive.as_ref().map(|drive| drive.shapes()).unwrap_or_default();
    let to_check = ToCheck {
        command: plan.check.clone(),
        limit_s: plan.limit_s,
        kind: request.file_system.clone().unwrap_or_default(),
        disks: shapes.len(),
    };
    let request = Request { keeps: true, ..request.clone() };
    let ((next, receiver), (tell, told), left) = (channel(), channel(), AtomicU64::new(0));
    let mut drives = LaidDrives::new(shapes, &record.base, receiver);
    let mut search = Explorer::new(&record, &said, (next, told), (seed, &left));
    let order = ExecOrder { crash: Some(to_check), ..ExecOrder::default() };
    let (booted, went) = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let ended = search.explore(&plan.which);
            search.next = None;
            ended
        });
        let booted = look(lab, &request, &order, &mut drives, (tell, &left), listener);
        (booted, thread.join().unwrap_or_else(|_| Err(anyhow!("the search died; this is a bug"))))
    });
    match (booted, went) {
        // What was checked until then is worth having.
        (Err(error), _) if matches!(error.downcast_ref(), Some(LabError::Interrupted)) => {}
        (Err(error), _) => return Err(error.context(format!("at crash point {}", search.at))),
        (Ok(()), went) => went?,
    }
    Ok((run, Some(search.crash)))
}

/// Lines of the program, with their moments.
type Said = Vec<(u64, String)>;

/// Runs the program. What it wrote is not empty where it ended well.
fn recorded(
    lab: &Lab<'_>,
    request: &Request,
    seed: u64,
    program: &Program,
    listener: &mut dyn Listener,
) -> anyhow::Result<(ProgramRun, Record, Said)> {
    let mut drive =
        request.bring(Wish { seed, ..Wish::default() })?.context("a simulated drive is to be named")?;
    let live = drive.live();
    let mut heard = ExecHeard::new(program.results.as_deref(), listener)?;
    let order = ExecOrder { record: true, ..heard.order(&program.command, None, 0) };
    let mut recorder = Recorder::new(&mut *drive);
    let went = boot(lab, request, &order, (Some(&mut recorder), Some(&live)), &mut heard);
    let record = recorder.record;
    if let Some(why) = drive.full() {
        heard.listener.says(why);
    }
    went?;
    let ended = heard.ended.take().context("the guest did not say how the program ended")?;
    let said = std::mem::take(&mut heard.stamped);
    let elapsed = Nanos(drive.over(ended.elapsed.0));
    let run = ProgramRun { ended, elapsed, drive: Some(drive), cuts: Vec::new(), failed: None };
    if run.ended.code != 0 {
        return Ok((run, record, said));
    }
    ensure!(
        !record.too_large,
        "more than {} MiB were on the drive or written to it, too much to copy; write less",
        BYTES_MOST >> 20
    );
    let wrote = record.events[record.begun..].iter().any(|(_, event)| matches!(event, Event::Asked(_)));
    ensure!(
        wrote,
        "`{}` wrote nothing to the drive, so that no power cut loses anything",
        program.command[0]
    );
    Ok((run, record, said))
}

/// Boots the guest that looks at the disks.
fn look(
    lab: &Lab<'_>,
    request: &Request,
    order: &ExecOrder,
    drives: &mut LaidDrives,
    (tell, left): (Sender<Verdict>, &AtomicU64),
    listener: &mut dyn Listener,
) -> anyhow::Result<()> {
    let work = Work::Job(serde_json::to_value(order)?);
    let (mut lines, mut begun, mut count) = (Vec::new(), None, 0_u64);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    lab.boot(request, work, Some(drives), &mut |message| {
        let Message::Value { name, value } = message else { return };
        let verdict = match name.as_str() {
            "out" | "error" => return lines.extend(text(value)),
            CHECKED => Verdict::Ended {
                code: value["code"].as_i64().unwrap_or(-1) as i32,
                lines: text(&value["why"]).into_iter().chain(lines.drain(..)).collect(),
            },
            ENDLESS => Verdict::Endless,
            WHOSE => Verdict::Whose(serde_json::from_value(value.clone()).unwrap_or_default()),
            _ => return,
        };
        count += 1;
        let elapsed = begun.get_or_insert_with(Instant::now).elapsed();
        let left = u32::try_from(left.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        listener.points(count, elapsed / (count as u32).max(1) * left);
        // Who does not wait any more does not hear.
        drop(tell.send(verdict));
    })?;
    Ok(())
}

/// Answer of the far side to an order.
enum Verdict {
    Ended { code: i32, lines: Vec<String> },
    Endless,
    Whose(Vec<String>),
}

/// Exit code of a check that failed, and its last words.
type Refusal = (i32, Vec<String>);

struct Explorer<'a> {
    record: &'a Record,
    /// Lines of the program, with their moments.
    said: &'a [(u64, String)],
    /// None when it is over.
    next: Option<Sender<Next>>,
    told: Receiver<Verdict>,
    seed: u64,
    /// Points that are still to be checked, for who shows it.
    left: &'a AtomicU64,
    /// Lines that the guest knows.
    known: usize,
    /// Name of the point under way.
    at: String,
    crash: CrashPoints,
    begun: Instant,
}

impl<'a> Explorer<'a> {
    fn new(
        record: &'a Record,
        said: &'a [(u64, String)],
        (next, told): (Sender<Next>, Receiver<Verdict>),
        (seed, left): (u64, &'a AtomicU64),
    ) -> Explorer<'a> {
        let (writes, flushes) = (record.writes.len() as u64, record.flushes);
        let crash = CrashPoints { writes, flushes, ..CrashPoints::default() };
        let (next, at, begun) = (Some(next), String::new(), Instant::now());
        Explorer { record, said, next, told, seed, left, known: 0, at, crash, begun }
    }

    /// Lines that the program had written when so many events had happened.
    fn said_at(&self, at: usize) -> usize {
        let moment = self.record.events.get(at).map_or(u64::MAX, |(now, _)| *now);
        self.said.iter().take_while(|(then, _)| *then <= moment).count()
    }

    fn explore(&mut self, which: &Which) -> anyhow::Result<()> {
        let moments = epochs(self.record, &|at| self.said_at(at));
        self.crash.epochs = moments.len() as u64;
        let mut walk = Walk::new(self.record);
        if let Which::Named(typed) = which {
            let lost = named(&mut walk, typed)
                .with_context(|| format!("`--crash-point {typed}` is no point of this run"))?;
            let over = walk.disk(&lost).0;
            self.crash.chosen = 1;
            if let Some(refusal) = self.check(&walk, &lost, over)? {
                self.failed(&walk, &moments, &lost, refusal)?;
            }
            return Ok(());
        }
        let legal: Vec<u64> = moments
            .iter()
            .map(|&at| {
                walk.go_to(at);
                walk.legal()
            })
            .collect();
        let quotas = match which {
            Which::Some(count) => shares(&legal, *count),
            _ => legal.iter().map(|&legal| legal.min(EPOCH_MOST)).collect(),
        };
        self.crash.exhaustive = legal == quotas;
        self.left.store(quotas.iter().sum(), Ordering::Relaxed);
        // A few of each epoch, and then the others: what is wrong is mostly wrong in many.
        let mut seen = HashSet::new();
        for turn in [0..EPOCH_FIRST, EPOCH_FIRST..usize::MAX] {
            if self.turn(&moments, &quotas, turn, &mut seen)? {
                break;
            }
        }
        Ok(())
    }

    /// Checks these of each epoch's points. True when one failed.
    fn turn(
        &mut self,
        moments: &[usize],
        quotas: &[u64],
        turn: Range<usize>,
        seen: &mut HashSet<(u64, usize)>,
    ) -> anyhow::Result<bool> {
        let mut walk = Walk::new(self.record);
        for (number, (&at, quota)) in (0..).zip(moments.iter().zip(quotas)) {
            walk.go_to(at);
            let chosen = choose(&walk, *quota, self.seed.wrapping_add(number));
            for lost in chosen.into_iter().take(turn.end).skip(turn.start) {
                self.crash.chosen += 1;
                self.left.fetch_sub(1, Ordering::Relaxed);
                let (over, hash) = walk.disk(&lost);
                if !seen.insert((hash, self.said_at(at))) {
                    self.crash.equal += 1;
                    continue;
                }
                if let Some(refusal) = self.check(&walk, &lost, over)? {
                    let (lost, refusal) = self.shrink(&walk, lost, refusal)?;
                    self.failed(&walk, moments, &lost, refusal)?;
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Sends a disk, with what the program had said by then.
    fn send(&mut self, walk: &Walk<'_>, over: Pages, order: CrashOrder) -> anyhow::Result<Verdict> {
        let gone = || anyhow!("the guest ended before all was checked");
        let next = self.next.as_ref().with_context(gone)?;
        let (mut order, until) = (order, self.said_at(walk.at));
        if until < self.known {
            (self.known, order.anew) = (0, true);
        }
        let said = &self.said[self.known..until];
        self.known = until;
        let put = |over: Pages, order: &CrashOrder| {
            let (safe, order) = (Arc::clone(&walk.safe), serde_json::to_vec(order)?);
            next.send(Next { safe, over, order }).map_err(|_| gone())
        };
        for (_, line) in said {
            order.said.push(line.clone());
            if order.said.iter().map(String::len).sum::<usize>() > SAID_BYTES {
                let (said, anew) = (std::mem::take(&mut order.said), std::mem::take(&mut order.anew));
                put(Pages::new(), &CrashOrder { said, anew, ..CrashOrder::default() })?;
            }
        }
        put(over, &order)?;
        self.told.recv().map_err(|_| gone())
    }

    /// Runs the check on the disk; gives its failure.
    fn check(&mut self, walk: &Walk<'_>, lost: &Lost, over: Pages) -> anyhow::Result<Option<Refusal>> {
        self.at = name(walk, lost);
        let order = CrashOrder { look: true, ..CrashOrder::default() };
        let verdict = self.send(walk, over, order)?;
        if self.crash.checked == 0 {
            // The guest was booted meanwhile.
            self.begun = Instant::now();
        }
        self.crash.checked += 1;
        self.crash.took = Nanos(self.begun.elapsed().as_nanos() as u64);
        match verdict {
            Verdict::Ended { code: 0, .. } => Ok(None),
            Verdict::Ended { code, mut lines } => {
                lines.drain(..lines.len().saturating_sub(LINES));
                Ok(Some((code, lines)))
            }
            Verdict::Endless => bail!(
                "at crash point {} the check did not end in the time of the machine's own that --check-limit gives it",
                self.at
            ),
            Verdict::Whose(_) => bail!("the guest answered what was not asked; this is a bug"),
        }
    }

    /// The smallest set of lost writes that still fails, and how.
    fn shrink(&mut self, walk: &Walk<'_>, lost: Lost, refusal: Refusal) -> anyhow::Result<(Lost, Refusal)> {
        let before = self.crash.checked;
        let writes: HashSet<usize> = lost.iter().map(|&place| walk.flight[place].write).collect();
        let mut known: HashMap<u64, bool> = HashMap::new();
        let mut latest = refusal;
        let lost = smallest(walk, lost, &mut |lost| {
            let (over, hash) = walk.disk(lost);
            if let Some(&fails) = known.get(&hash) {
                return Ok::<_, anyhow::Error>(fails);
            }
            let refusal = self.check(walk, lost, over)?;
            known.insert(hash, refusal.is_some());
            let fails = refusal.is_some();
            if let Some(refusal) = refusal {
                latest = refusal;
            }
            Ok(fails)
        })?;
        self.crash.failed = Some(CrashFailure {
            lost_first: writes.len() as u64,
            tried: self.crash.checked - before,
            ..CrashFailure::default()
        });
        Ok((lost, latest))
    }

    /// Says of the point which writes are lost, and what they are.
    fn failed(
        &mut self,
        walk: &Walk<'_>,
        moments: &[usize],
        lost: &Lost,
        (code, said): Refusal,
    ) -> anyhow::Result<()> {
        // Of each write where what is lost of it begins and ends.
        let mut ranges: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for unit in lost.iter().map(|&place| &walk.flight[place]) {
            for &(offset, length) in &unit.parts {
                let range = ranges.entry(unit.write).or_insert((offset, offset + length));
                *range = (range.0.min(offset), range.1.max(offset + length));
            }
        }
        let whose: Vec<_> = ranges.values().map(|(from, until)| (*from, until - from)).collect();
        // An order without anything in it is not answered.
        let is_asked = !whose.is_empty();
        let order = CrashOrder { whose, ..CrashOrder::default() };
        let verdict = is_asked.then(|| self.send(walk, walk.disk(&Lost::new()).0, order)).transpose()?;
        let files = if let Some(Verdict::Whose(files)) = verdict { files } else { Vec::new() };
        let files = files.into_iter().chain(std::iter::repeat_with(String::new));
        let epoch = |at: usize| moments.iter().filter(|moment| **moment <= at).count() as u64 + 1;
        let asked = |number: usize| {
            let is_it = |(_, event): &(u64, Event)| matches!(event, Event::Asked(one) if *one == number);
            self.record.events.iter().position(is_it).unwrap_or_default()
        };
        let writes = ranges.into_iter().zip(files).map(|((number, (from, until)), file)| {
            let write = &self.record.writes[number];
            LostWrite {
                number: number as u64 + 1,
                epoch: epoch(asked(number)),
                disk: write.disk,
                sector_first: from / SECTOR,
                sectors: (until - from).div_ceil(SECTOR),
                sectors_written: write.length.div_ceil(SECTOR),
                what: what(&file, write.data.as_deref()),
            }
        });
        let lost_writes: Vec<LostWrite> = writes.collect();
        let first = CrashFailure { lost_first: lost_writes.len() as u64, ..CrashFailure::default() };
        let point = name(walk, lost);
        let epoch = moments.iter().filter(|moment| **moment < walk.at).count() as u64 + 1;
        let failure = self.crash.failed.take().unwrap_or(first);
        self.crash.failed = Some(CrashFailure { point, epoch, code, said, lost: lost_writes, ..failure });
        Ok(())
    }
}

/// Types of blocks of a journal (`JBD2_DESCRIPTOR_BLOCK` and so on of `linux/jbd2.h`).
const JOURNAL: [u8; 4] = [0xC0, 0x3B, 0x39, 0x98];
const JOURNAL_BLOCKS: [&str; 6] =
    ["block", "descriptor block", "commit block", "superblock", "superblock", "revoke block"];

/// Words on what a write is of.
fn what(file: &str, data: Option<&[u8]>) -> String {
    match data {
        _ if !file.is_empty() => file.to_owned(),
        None => "a trim, or zeros".to_owned(),
        Some(data) if data.starts_with(&JOURNAL) => {
            let kind = data.get(7).and_then(|kind| JOURNAL_BLOCKS.get(usize::from(*kind)));
            format!("the file system's journal, {}", kind.unwrap_or(&JOURNAL_BLOCKS[0]))
        }
        Some(_) => "of no file that is there".to_owned(),
    }
}

/// Shares `count` among epochs that have so many points: alike, and what one has no use for goes to the others.
pub(super) fn shares(legal: &[u64], count: u64) -> Vec<u64> {
    let mut shares = vec![0; legal.len()];
    let mut left = count;
    loop {
        let open: Vec<usize> = (0..legal.len()).filter(|&place| shares[place] < legal[place]).collect();
        let each = left / (open.len() as u64).max(1);
        if open.is_empty() || left == 0 {
            return shares;
        }
        for place in open {
            let more = each.max(1).min(legal[place] - shares[place]).min(left);
            (shares[place], left) = (shares[place] + more, left - more);
        }
    }
}
