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

use super::{Event, Io, Round, Trace, Vector};
use std::collections::BTreeMap;
use std::num::ParseIntError;

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
        parser.take(line).map_err(|problem| CountsError { line: parser.line, problem })?;
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
    fn take(&mut self, line: &str) -> Result<(), String> {
        if self.line == 1 {
            return match line {
                "iostack-plugin 1" => Ok(()),
                _ => Err(format!("`{}` is not `iostack-plugin 1`", shortened(line))),
            };
        }
        let mut words = Words { line, rest: line };
        let record = words.next("a record")?;
        if record == "round" {
            return self.start(&mut words);
        }
        let Some(round) = self.open.as_mut() else {
            return Err(format!("`{}` is outside of a round", shortened(line)));
        };
        match record {
            "io" => round.ios.push(io(round.ios.len(), &mut words)?),
            "vector" => round.vectors.push(vector(&mut words)?),
            "pc" => count(round, &mut words)?,
            "trace" => round.traces.push(trace(&mut words)?),
            "tb" => event(round, block(&mut words)?)?,
            "mmio" => event(round, mmio(&mut words)?)?,
            "differs" => {
                return Err(format!(
                    "the plugin's trace and its counters disagree at {} by {}; this is a bug of the plugin",
                    words.next("an address")?,
                    words.next("a difference")?
                ));
            }
            "end" => return self.finish(&mut words),
            other => return Err(format!("`{}` is no record of the plugin", shortened(other))),
        }
        words.finished()
    }

    fn start(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        if self.open.is_some() {
            return Err(format!("a round starts before `end {}`", self.rounds.len()));
        }
        self.numbered(words)?;
        self.open = Some(Round::default());
        Ok(())
    }

    fn finish(&mut self, words: &mut Words<'_>) -> Result<(), String> {
        self.numbered(words)?;
        if let Some(round) = self.open.take() {
            check(&round)?;
            self.rounds.push(round);
        }
        Ok(())
    }

    /// The number of the round, which must be the next one.
    fn numbered(&self, words: &mut Words<'_>) -> Result<(), String> {
        let expected = self.rounds.len() as u64;
        let number = words.number("the number of the round")?;
        if number != expected {
            return Err(format!("round {number} where round {expected} was expected"));
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
    fn next(&mut self, what: &str) -> Result<&'a str, String> {
        let (word, rest) = self.rest.split_once(' ').unwrap_or((self.rest, ""));
        if word.is_empty() {
            return Err(format!("`{}` lacks {what}", shortened(self.line)));
        }
        self.rest = rest;
        Ok(word)
    }

    fn number(&mut self, what: &str) -> Result<u64, String> {
        let word = self.next(what)?;
        number(word).map_err(|_| format!("`{}` is not {what}", shortened(word)))
    }

    fn finished(&self) -> Result<(), String> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(format!("`{}` is too much", shortened(self.rest)))
    }
}

fn number(word: &str) -> Result<u64, ParseIntError> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}

fn io(expected: usize, words: &mut Words<'_>) -> Result<Io, String> {
    let number = words.number("the number of the pair")?;
    if number != expected as u64 {
        return Err(format!("pair {number} where pair {expected} was expected"));
    }
    Ok(Io { instructions: words.number("a number of instructions")?, hash: words.number("a hash")? })
}

fn vector(words: &mut Words<'_>) -> Result<Vector, String> {
    Ok(Vector { hash: words.number("a hash")?, ios: words.number("a number of pairs")?, counts: Vec::new() })
}

fn count(round: &mut Round, words: &mut Words<'_>) -> Result<(), String> {
    let (pc, times) = (words.number("an address")?, words.number("a count")?);
    let Some(vector) = round.vectors.last_mut() else {
        return Err("a `pc` without a `vector` before it".to_owned());
    };
    if vector.counts.last().is_some_and(|(before, _)| *before >= pc) {
        return Err(format!("{pc:#x} is not above the address before it"));
    }
    vector.counts.push((pc, times));
    Ok(())
}

fn trace(words: &mut Words<'_>) -> Result<Trace, String> {
    words.number("the number of the pair")?;
    let instructions = words.number("a number of instructions")?;
    Ok(Trace { hash: words.number("a hash")?, instructions, events: Vec::new() })
}

fn block(words: &mut Words<'_>) -> Result<Event, String> {
    Ok(Event::Block {
        pc: words.number("an address")?,
        instructions: words.number("a number of instructions")?,
    })
}

fn mmio(words: &mut Words<'_>) -> Result<Event, String> {
    let write = match words.next("`r` or `w`")? {
        "r" => false,
        "w" => true,
        other => return Err(format!("`{}` is neither `r` nor `w`", shortened(other))),
    };
    let pc = words.number("an address")?;
    let address = words.number("the address of a register")?;
    let size = words.number("a number of bytes")?;
    let size = u32::try_from(size).map_err(|_| format!("an access of {size} bytes"))?;
    // The names of regions come from the emulator and may hold spaces.
    let region = std::mem::take(&mut words.rest).trim();
    let region = if region.is_empty() { "-" } else { region };
    Ok(Event::Mmio { write, pc, address, size, region: region.to_owned() })
}

fn event(round: &mut Round, event: Event) -> Result<(), String> {
    let Some(trace) = round.traces.last_mut() else {
        return Err("a step without a `trace` before it".to_owned());
    };
    trace.events.push(event);
    Ok(())
}

/// Refuses a round whose lines contradict each other.
fn check(round: &Round) -> Result<(), String> {
    let mut pairs: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for io in &round.ios {
        let (ios, instructions) = pairs.entry(io.hash).or_insert((0, io.instructions));
        *ios += 1;
        if *instructions != io.instructions {
            return Err(format!("pairs with hash {:#018x} differ in their instructions", io.hash));
        }
    }
    for vector in &round.vectors {
        let (ios, instructions) = pairs.get(&vector.hash).copied().unwrap_or_default();
        if ios != vector.ios {
            return Err(format!("vector {:#018x} claims {} pairs and has {ios}", vector.hash, vector.ios));
        }
        let (sum, hash) = sum(&vector.counts);
        if sum != instructions {
            return Err(format!(
                "vector {:#018x} adds up to {sum} instructions, its pairs to {instructions}",
                vector.hash
            ));
        }
        if hash != vector.hash {
            return Err(format!("vector {:#018x} has the hash {hash:#018x}", vector.hash));
        }
    }
    for trace in &round.traces {
        let sum = trace.events.iter().fold(0, |sum: u64, event| match event {
            Event::Block { instructions, .. } => sum.wrapping_add(*instructions),
            Event::Mmio { .. } => sum,
        });
        if sum != trace.instructions {
            return Err(format!(
                "trace {:#018x} adds up to {sum} instructions instead of {}",
                trace.hash, trace.instructions
            ));
        }
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
