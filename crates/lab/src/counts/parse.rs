//! Is this what the plugin wrote, all of it, and does it add up?
//!
//! ```text
//!   iostack-plugin 1
//!   round 0
//!   io 0 4366 0xbc34..          one line for each counted pair
//!   vector 0xbc34.. 934         the commonest vectors, each with its lines
//!   pc 0xffffffff81000000 2
//!   trace 0 4366 0xbc34..       the first traced pair of each distinct vector
//!   tb 0x401020 7
//!   mmio w 0xffffffff81400000 0x1008 4 nvme
//!   end 0
//! ```
//!
//! What the lines say twice is compared: a vector must have the sum of its pairs, their number and their hash; a trace
//! must have as many instructions as its blocks. Start reading at [`parse`].

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};

use super::{Event, Io, Round, Trace, Vector};

/// Line of the plugin's output that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct CountsError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Clause that says what is wrong.
    pub problem: String,
}

/// Reads what the plugin wrote; refuses a text that is not the plugin's, is cut off, or contradicts itself.
pub fn parse(text: &str) -> Result<Vec<Round>, CountsError> {
    let mut parser = CountsParser { line: 0, rounds: Vec::new(), open: None };
    for line in text.lines() {
        parser.line += 1;
        let taken = parser.take(line);
        taken.map_err(|error| CountsError { line: parser.line, problem: error.to_string() })?;
    }
    let missing = match (parser.line, &parser.open) {
        (0, _) => "even the first line is missing".to_owned(),
        (_, Some(_)) => format!("it is the last one, and `end {}` is missing", parser.rounds.len()),
        (_, None) => return Ok(parser.rounds),
    };
    let problem = format!("{missing}; did the guest stop before its DUMP, or is the disk full?");
    Err(CountsError { line: parser.line, problem })
}

struct CountsParser {
    line: usize,
    rounds: Vec<Round>,
    open: Option<Round>,
}

impl CountsParser {
    fn take(&mut self, line: &str) -> anyhow::Result<()> {
        if self.line == 1 {
            ensure!(line == "iostack-plugin 1", "`{}` is not `iostack-plugin 1`", shortened(line));
            return Ok(());
        }
        let mut words = Words { line, rest: line };
        let (record, expected) = (words.next("a record")?, self.rounds.len());
        if record == "round" {
            ensure!(self.open.is_none(), "a round starts before `end {expected}`");
            words.numbered("round", expected)?;
            self.open = Some(Round::default());
            return words.finished();
        }
        let outside = || format!("`{}` is outside of a round", shortened(line));
        let round = self.open.as_mut().with_context(outside)?;
        match record {
            "io" => round.ios.push(io(round.ios.len(), &mut words)?),
            "vector" => round.vectors.push(vector(&mut words)?),
            "pc" => count(round, &mut words)?,
            "trace" => round.traces.push(trace(&mut words)?),
            "tb" => {
                let (pc, instructions) =
                    (words.number("an address")?, words.number("a number of instructions")?);
                event(round, Event::Block { pc, instructions })?;
            }
            "mmio" => event(round, mmio(&mut words)?)?,
            "differs" => bail!(
                "the plugin's trace and its counters disagree at {} by {}; this is a bug of the plugin",
                words.next("an address")?,
                words.next("a difference")?
            ),
            "end" => {
                words.numbered("round", expected)?;
                words.finished()?;
                check(round)?;
                self.rounds.extend(self.open.take());
            }
            other => bail!("`{}` is no record of the plugin", shortened(other)),
        }
        words.finished()
    }
}

/// The words of one line.
struct Words<'a> {
    line: &'a str,
    rest: &'a str,
}

impl<'a> Words<'a> {
    fn next(&mut self, what: &str) -> anyhow::Result<&'a str> {
        let (word, rest) = self.rest.split_once(' ').unwrap_or((self.rest, ""));
        ensure!(!word.is_empty(), "`{}` lacks {what}", shortened(self.line));
        self.rest = rest;
        Ok(word)
    }

    fn number(&mut self, what: &str) -> anyhow::Result<u64> {
        let word = self.next(what)?;
        let number = match word.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        number.with_context(|| format!("`{}` is not {what}", shortened(word)))
    }

    /// The number of a round or of a pair, which must be the next one.
    fn numbered(&mut self, what: &str, expected: usize) -> anyhow::Result<()> {
        let number = self.number(&format!("the number of the {what}"))?;
        ensure!(number == expected as u64, "{what} {number} where {what} {expected} was expected");
        Ok(())
    }

    fn finished(&self) -> anyhow::Result<()> {
        ensure!(self.rest.is_empty(), "`{}` is too much", shortened(self.rest));
        Ok(())
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}

fn io(expected: usize, words: &mut Words<'_>) -> anyhow::Result<Io> {
    words.numbered("pair", expected)?;
    Ok(Io { instructions: words.number("a number of instructions")?, hash: words.number("a hash")? })
}

fn vector(words: &mut Words<'_>) -> anyhow::Result<Vector> {
    Ok(Vector { hash: words.number("a hash")?, ios: words.number("a number of pairs")?, counts: Vec::new() })
}

fn count(round: &mut Round, words: &mut Words<'_>) -> anyhow::Result<()> {
    let (pc, times) = (words.number("an address")?, words.number("a count")?);
    let counts = &mut round.vectors.last_mut().context("a `pc` without a `vector` before it")?.counts;
    let is_above = counts.last().is_none_or(|(before, _)| *before < pc);
    ensure!(is_above, "{pc:#x} is not above the address before it");
    counts.push((pc, times));
    Ok(())
}

fn trace(words: &mut Words<'_>) -> anyhow::Result<Trace> {
    words.number("the number of the pair")?;
    let instructions = words.number("a number of instructions")?;
    Ok(Trace { hash: words.number("a hash")?, instructions, events: Vec::new() })
}

fn mmio(words: &mut Words<'_>) -> anyhow::Result<Event> {
    let write = match words.next("`r` or `w`")? {
        "r" => false,
        "w" => true,
        other => bail!("`{}` is neither `r` nor `w`", shortened(other)),
    };
    let pc = words.number("an address")?;
    let address = words.number("the address of a register")?;
    let size = words.number("a number of bytes")?;
    let size = u32::try_from(size).with_context(|| format!("an access of {size} bytes"))?;
    // The names of regions come from the emulator and may hold spaces.
    let region = std::mem::take(&mut words.rest).trim();
    let region = if region.is_empty() { "-" } else { region };
    Ok(Event::Mmio { write, pc, address, size, region: region.to_owned() })
}

fn event(round: &mut Round, event: Event) -> anyhow::Result<()> {
    let trace = round.traces.last_mut().context("a step without a `trace` before it")?;
    trace.events.push(event);
    Ok(())
}

/// Refuses a round whose lines contradict each other.
fn check(round: &Round) -> anyhow::Result<()> {
    let mut pairs: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for Io { hash, instructions } in &round.ios {
        let (ios, first) = pairs.entry(*hash).or_insert((0, *instructions));
        *ios += 1;
        ensure!(first == instructions, "pairs with hash {hash:#018x} differ in their instructions");
    }
    for Vector { hash, ios, counts } in &round.vectors {
        let (seen, instructions) = pairs.get(hash).copied().unwrap_or_default();
        ensure!(seen == *ios, "vector {hash:#018x} claims {ios} pairs and has {seen}");
        let (sum, found) = sum(counts);
        let agree = sum == instructions;
        ensure!(agree, "vector {hash:#018x} adds up to {sum} instructions, its pairs to {instructions}");
        ensure!(found == *hash, "vector {hash:#018x} has the hash {found:#018x}");
    }
    for Trace { hash, instructions, events } in &round.traces {
        let sum = events.iter().fold(0, |sum: u64, event| match event {
            Event::Block { instructions, .. } => sum.wrapping_add(*instructions),
            Event::Mmio { .. } => sum,
        });
        let agree = sum == *instructions;
        ensure!(agree, "trace {hash:#018x} adds up to {sum} instructions instead of {instructions}");
    }
    Ok(())
}

/// The instructions and the hash of a vector.
pub(super) fn sum(counts: &[(u64, u64)]) -> (u64, u64) {
    counts.iter().fold((0, 0), |(sum, hash): (u64, u64), (pc, times)| {
        (sum.wrapping_add(*times), hash.wrapping_add(times.wrapping_mul(scatter(*pc))))
    })
}

/// The plugin's `scatter()`.
fn scatter(pc: u64) -> u64 {
    let mut value = pc.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
