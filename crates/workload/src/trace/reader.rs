//! Lines become I/Os in the order of their times.
//!
//! Recorders write events of several processors one after the other, so that neighbours may stand in the wrong order. As
//! many I/Os as `WINDOW` says are held and sorted; what is still out of order then is an error, not a guess.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, Read};

use iostack_model::{Direction, Nanos};

use super::error::{TraceError, shown};
use super::parsed::{Action, BlockEvent, Parsed};
use super::parser::FormatParser;
use super::{Beyond, Disks, TraceFormat, TraceIo, TraceOptions};

/// I/Os that are held to be put in order.
const WINDOW: usize = 4096;
/// A longer line is no line of a trace.
const LINE_MAX: u64 = 16 << 10;
/// A trim that is longer than a length can say becomes several of this.
const TRIM_MAX: u64 = 1 << 30;
/// Nothing happens for longer only where a time stamp is wrong.
const LEAP_LEAST: Nanos = Nanos::secs(86_400);
/// No device trims so much at once.
const TRIM_LIMIT: u64 = 16 << 40;
/// I/Os that wrap around begin again at multiples of this, so that they stay aligned.
const WRAP_UNIT: u64 = 4096;

/// The I/Os of a trace, one after the other; the last may be an error.
pub struct Trace {
    name: String,
    lines: Lines,
    parser: FormatParser,
    places: DiskPlaces,
    /// I/Os in order of time, and those of the same time in order of line.
    window: VecDeque<HeldIo>,
    /// Events that count, once there was a choice.
    event: Option<BlockEvent>,
    /// Time of the first I/O, and of the last, as the trace says them.
    first: Option<u64>,
    last: u64,
    /// Error that ends the trace.
    end: Option<TraceError>,
    is_over: bool,
    empty: u64,
    /// The longest time without an I/O, when it is suspicious, and the line at its end.
    leap: Option<(u64, Nanos)>,
}

/// An I/O that waits for those before it.
#[derive(Clone, Copy, Debug)]
struct HeldIo {
    at: u64,
    line: u64,
    disk: u32,
    event: BlockEvent,
    io: TraceIo,
}

/// One I/O, and where it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located {
    pub(super) io: TraceIo,
    pub(super) disk: u32,
}

/// Reads a trace of one disk; `name` names it in errors.
pub fn open(reader: Box<dyn BufRead>, format: TraceFormat, name: &str) -> Trace {
    open_with(reader, format, name, TraceOptions::default())
}

/// Reads a trace.
pub fn open_with(reader: Box<dyn BufRead>, format: TraceFormat, name: &str, options: TraceOptions) -> Trace {
    Trace {
        name: name.to_owned(),
        lines: Lines { reader, number: 0, bytes: Vec::new() },
        parser: FormatParser::of_format(format),
        places: DiskPlaces { options, ..DiskPlaces::default() },
        window: VecDeque::with_capacity(WINDOW + 8),
        event: None,
        first: None,
        last: 0,
        end: None,
        is_over: false,
        empty: 0,
        leap: None,
    }
}

impl Trace {
    /// Reads and writes of no bytes at all, which were left out so far.
    pub fn empty(&self) -> u64 {
        self.empty
    }

    /// The line that comes a day or more after the one before it, as no recording does, and by how much; the worst one.
    pub fn leap(&self) -> Option<(u64, Nanos)> {
        self.leap
    }

    /// Lines read so far; somewhat more than have been returned.
    pub fn lines(&self) -> u64 {
        self.lines.number
    }

    /// The disks that were met so far, in that order.
    pub(super) fn disks(&self) -> &[String] {
        &self.places.names
    }

    pub(super) fn next_located(&mut self) -> Option<Result<Located, TraceError>> {
        while !self.is_over && self.window.len() < WINDOW {
            if let Err(error) = self.take_line() {
                self.is_over = true;
                self.end = error;
            }
        }
        if self.event.is_none() {
            let has_queued = self.window.iter().any(|held| held.event == BlockEvent::Queued);
            let event = if has_queued { BlockEvent::Queued } else { BlockEvent::Issued };
            self.event = Some(event);
            self.window.retain(|held| held.event == event);
            // There may be room again.
            return self.next_located();
        }
        let Some(held) = self.window.pop_front() else { return self.no_more().map(Err) };
        let first = *self.first.get_or_insert(held.at);
        if held.at < self.last.max(first) {
            return Some(Err(self.out_of_order(&held)));
        }
        let pause = Nanos(held.at - self.last.max(first));
        if pause >= self.leap.map_or(LEAP_LEAST, |(_, longest)| longest) {
            self.leap = Some((held.line, pause));
        }
        self.last = held.at;
        let io = TraceIo { at: Nanos(held.at - first), ..held.io };
        Some(Ok(Located { io, disk: held.disk }))
    }

    /// Takes the next line into the window; the error is the end, `None` when there is nothing wrong with it.
    fn take_line(&mut self) -> Result<(), Option<TraceError>> {
        let Trace { name, lines, parser, places, window, event, empty, .. } = self;
        let number = lines.number + 1;
        let put = |wrong: TraceError| Some(wrong.at(name, number));
        let Some(line) = lines.next().map_err(put)? else { return Err(None) };
        for parsed in parser.line(line, number).map_err(put)?.into_iter().flatten() {
            if event.is_some_and(|event| event != parsed.event) {
                continue;
            }
            let Some((disk, base)) = places.place(&parsed.disk).map_err(put)? else { continue };
            if parsed.length == 0 && parsed.action != Action::Flush {
                *empty += 1;
                continue;
            }
            let mut rest = parsed;
            loop {
                let io = part(&rest, base, places.options.beyond).map_err(put)?;
                insert(window, HeldIo { at: parsed.at, line: number, disk, event: parsed.event, io });
                if io.flush || u64::from(io.length) == rest.length {
                    break;
                }
                rest.offset += u64::from(io.length);
                rest.length -= u64::from(io.length);
            }
        }
        Ok(())
    }

    /// The error at the end, once; then nothing.
    fn no_more(&mut self) -> Option<TraceError> {
        let has_none = self.first.is_none();
        // Whatever is said now is said once.
        self.first = Some(0);
        self.end.take().or_else(|| has_none.then(|| self.nothing()))
    }

    fn nothing(&self) -> TraceError {
        let met = match self.disks() {
            [] => "it has none at all".to_owned(),
            names => format!("it has {}", listed(names)),
        };
        let what = match &self.places.options.disks {
            Disks::Only(wanted) => format!("no I/O of the disk `{}`", shown(wanted)),
            _ => "no I/O in it".to_owned(),
        };
        TraceError::new(format!("{what}; {met}"), "look at the file").at(&self.name, 0)
    }

    fn out_of_order(&mut self, held: &HeldIo) -> TraceError {
        self.window.clear();
        self.is_over = true;
        self.end = None;
        let back = Nanos(self.last - held.at);
        let what = format!("its time is {back} before that of an I/O more than {WINDOW} I/Os above");
        TraceError::new(what, "sort the lines by time").at(&self.name, held.line)
    }
}

impl Iterator for Trace {
    type Item = Result<TraceIo, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_located().map(|located| located.map(|located| located.io))
    }
}

/// Puts it behind all that are not later. Traces are nearly in order, so that it is at most a few steps from the end.
fn insert(window: &mut VecDeque<HeldIo>, held: HeldIo) {
    let later = window.iter().rev().take_while(|other| other.at > held.at).count();
    if later == 0 {
        window.push_back(held);
    } else {
        window.insert(window.len() - later, held);
    }
}

/// The beginning of an I/O, or all of it, as it is replayed: at its place on the device.
fn part(parsed: &Parsed<'_>, base: u64, beyond: Beyond) -> Result<TraceIo, TraceError> {
    let direction = match parsed.action {
        Action::Of(direction) => direction,
        Action::Flush => {
            let (at, direction) = (Nanos(0), Direction::Write);
            return Ok(TraceIo { at, direction, offset: 0, length: 0, flush: true });
        }
    };
    let is_long_trim = direction == Direction::Trim && parsed.length > u64::from(u32::MAX);
    let length = if is_long_trim && parsed.length <= TRIM_LIMIT { TRIM_MAX } else { parsed.length };
    let too_long = || {
        let most = if is_long_trim { "16 TiB" } else { "4 GiB" };
        let what = format!("a {} of {} bytes is longer than {most}", direction.name(), parsed.length);
        TraceError::new(what, "see whether the format is the right one")
    };
    let length = u32::try_from(length).map_err(|_| too_long())?;
    let offset = base.checked_add(parsed.offset);
    let end = offset.and_then(|offset| offset.checked_add(parsed.length)).ok_or_else(|| {
        TraceError::new("it ends beyond 2^64 bytes", "see whether the format is the right one")
    })?;
    let offset = placed(end - parsed.length, length, end, beyond)?;
    Ok(TraceIo { at: Nanos(0), direction, offset, length, flush: false })
}

/// First byte of an I/O on a device that may be too small for it.
fn placed(offset: u64, length: u32, end: u64, beyond: Beyond) -> Result<u64, TraceError> {
    match beyond {
        Beyond::Refuse(size) if end > size.0 => {
            let what = format!("the I/O ends at byte {end}, but the device has {}", size.0);
            Err(TraceError::new(
                what,
                "replay on a larger device, choose one disk of the trace, or let it wrap around",
            ))
        }
        Beyond::Wrap(size) if end > size.0 => {
            let size = size.0 / WRAP_UNIT * WRAP_UNIT;
            if u64::from(length) > size {
                let what = format!("the I/O has {length} bytes, but the device only {size}");
                return Err(TraceError::new(what, "replay on a larger device"));
            }
            let offset = offset % size;
            // What would go across the end begins at the start instead.
            Ok(if offset > size - u64::from(length) { 0 } else { offset })
        }
        _ => Ok(offset),
    }
}

/// Place of each disk of the trace on the device.
#[derive(Default)]
struct DiskPlaces {
    options: TraceOptions,
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
    /// First byte on the device; `None` for disks that are passed over.
    bases: Vec<Option<u64>>,
    last: usize,
}

impl DiskPlaces {
    /// Number of a disk, and its first byte on the device; `None` when it is passed over.
    fn place(&mut self, parts: &[&str; 2]) -> Result<Option<(u32, u64)>, TraceError> {
        if !self.names.get(self.last).is_some_and(|name| is_joined(name, parts)) {
            let name = joined(parts);
            self.last = match self.numbers.get(&name) {
                Some(&number) => number as usize,
                None => self.add(name)?,
            };
        }
        Ok(self.bases[self.last].map(|base| (self.last as u32, base)))
    }

    /// A disk that has not been met yet.
    fn add(&mut self, name: String) -> Result<usize, TraceError> {
        let base = match &self.options.disks {
            Disks::One => match self.names.first() {
                None => Some(0),
                Some(first) => {
                    let (first, now) = (shown(first), shown(&name));
                    let what = format!("the trace is of several disks: `{first}` and now `{now}`");
                    let remedy = "choose one of them, or have them laid one after the other";
                    return Err(TraceError::new(what, remedy));
                }
            },
            Disks::Each => Some(0),
            Disks::Only(wanted) => (*wanted == name).then_some(0),
            Disks::Laid(list) => {
                let found = list.iter().find(|(known, _)| *known == name);
                let what = || format!("the disk `{}` has been given no place", shown(&name));
                let remedy = "give it one, or choose one disk";
                Some(found.ok_or_else(|| TraceError::new(what(), remedy))?.1)
            }
        };
        let number = self.names.len();
        self.numbers.insert(name.clone(), number as u32);
        self.names.push(name);
        self.bases.push(base);
        Ok(number)
    }
}

fn joined(parts: &[&str; 2]) -> String {
    match parts {
        [name, ""] => (*name).to_owned(),
        [host, disk] => format!("{host}.{disk}"),
    }
}

/// The same without making it.
fn is_joined(name: &str, parts: &[&str; 2]) -> bool {
    match name.strip_prefix(parts[0]) {
        Some("") => parts[1].is_empty(),
        Some(rest) => !parts[1].is_empty() && rest.strip_prefix('.') == Some(parts[1]),
        None => false,
    }
}

/// Some names, for an error.
fn listed(names: &[String]) -> String {
    const MOST: usize = 8;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{}`", shown(name))).collect();
    let more = if names.len() > MOST { format!(" and {} more", names.len() - MOST) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// The lines of a reader, in memory that is used again.
struct Lines {
    reader: Box<dyn BufRead>,
    /// Number of the line that was read last, from 1.
    number: u64,
    bytes: Vec<u8>,
}

impl Lines {
    /// The next line without its end.
    fn next(&mut self) -> Result<Option<&str>, TraceError> {
        self.bytes.clear();
        let mut limited = self.reader.by_ref().take(LINE_MAX);
        let count = limited.read_until(b'\n', &mut self.bytes).map_err(|error| {
            TraceError::new(format!("cannot be read: {error}"), "see whether it is whole")
        })?;
        if count == 0 {
            return Ok(None);
        }
        self.number += 1;
        let line = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if count as u64 == LINE_MAX && self.bytes.last() != Some(&b'\n') {
            let what = format!("the line is longer than {LINE_MAX} bytes");
            return Err(TraceError::new(what, "see whether the file is a trace, and unpacked"));
        }
        match std::str::from_utf8(line) {
            Ok(line) => Ok(Some(line)),
            Err(_) => Err(TraceError::new(
                format!("`{}` is not text", shown(&String::from_utf8_lossy(line))),
                "see whether the file is a trace, and unpacked",
            )),
        }
    }
}
