//! What `blktrace` writes, as `blkparse` would print it.
//!
//! ```text
//!   magic+version  sequence  time ns  sector  bytes  action  pid  device  cpu  error  n     n bytes more
//!   u32            u32       u64      u64     u32    u32     u32  u32     u32  u16    u16
//! ```
//!
//! `struct blk_io_trace` and the bits of `action` are those of `include/uapi/linux/blktrace_api.h`, in the byte order of
//! the machine that traced. A recording has a file for each CPU: `blkparse -i NAME -d all.bin -O` makes one of them.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};

/// The upper three bytes; the last is the version.
const MAGIC: u32 = 0x6561_7400;
const RECORD: usize = 48;

/// Events in the lower half of `action`; its ninth bit says that the record names a control group.
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;

/// Bits of the upper half of `action`, with their letters behind the direction.
const FLUSH: u32 = 1 << 2;
const WRITE: u32 = 1 << 1;
const DISCARD: u32 = 1 << 13;
const NOTIFY: u32 = 1 << 10;
const BEHIND: [(u32, char); 4] = [(1 << 15, 'F'), (1 << 11, 'A'), (1 << 3, 'S'), (1 << 12, 'M')];

/// The reader, or what it means where it is binary.
pub fn as_text(mut reader: Box<dyn BufRead>) -> Result<Box<dyn BufRead>> {
    let begin = reader.fill_buf()?;
    let Some(bytes) = begin.first_chunk::<4>() else { return Ok(reader) };
    let is_magic = |word: u32| word & !0xff == MAGIC;
    let big = is_magic(u32::from_be_bytes(*bytes));
    if big || is_magic(u32::from_le_bytes(*bytes)) {
        let printed = Printed { reader, big, number: 0, text: String::new(), taken: 0 };
        return Ok(Box::new(BufReader::new(printed)));
    }
    Ok(reader)
}

/// Prints record by record.
struct Printed {
    reader: Box<dyn BufRead>,
    big: bool,
    /// Records so far.
    number: u64,
    text: String,
    /// Bytes of the text that were read.
    taken: usize,
}

impl Read for Printed {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        while self.taken == self.text.len() {
            if self.reader.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.print_next()?;
        }
        let read = (&self.text.as_bytes()[self.taken..]).read(into)?;
        self.taken += read;
        Ok(read)
    }
}

impl Printed {
    fn print_next(&mut self) -> Result<()> {
        self.number += 1;
        let mut record = [0; RECORD];
        self.exactly(&mut record)?;
        let word = |at: usize| -> u32 {
            let bytes = [record[at], record[at + 1], record[at + 2], record[at + 3]];
            if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let long = |at: usize| {
            let (first, second) = (u64::from(word(at)), u64::from(word(at + 4)));
            if self.big { first << 32 | second } else { second << 32 | first }
        };
        if word(0) & !0xff != MAGIC {
            return Err(self.wrong("does not begin as records do"));
        }
        let (sequence, time, sector, bytes) = (word(4), long(8), long(16), word(24));
        let (action, process, device, cpu) = (word(28), word(32), word(36), word(40));
        let more = if self.big { word(44) & 0xffff } else { word(44) >> 16 };
        let mut rest = vec![0; more as usize];
        self.exactly(&mut rest)?;
        (self.taken, self.text) = (0, String::new());
        let (kind, event) = (action >> 16, action & 0xff);
        let letter = match event {
            QUEUE => 'Q',
            ISSUE => 'D',
            _ => return Ok(()),
        };
        if kind & NOTIFY != 0 {
            return Ok(());
        }
        let flush = if kind & FLUSH != 0 { "F" } else { "" };
        let direction = match (kind & DISCARD != 0, kind & WRITE != 0) {
            (true, _) => 'D',
            (false, true) => 'W',
            (false, false) if bytes > 0 => 'R',
            (false, false) => 'N',
        };
        let behind: String =
            BEHIND.iter().filter(|(bit, _)| kind & bit != 0).map(|(_, letter)| letter).collect();
        // The kernel's own numbers of devices: 12 bits and 20.
        let (major, minor) = (device >> 20, device & 0xf_ffff);
        let (seconds, ns) = (time / 1_000_000_000, time % 1_000_000_000);
        let head = format!("{major},{minor} {cpu} {sequence} {seconds}.{ns:09} {process} {letter}");
        let range = format!("{sector} + {}", bytes / 512);
        writeln!(self.text, "{head} {flush}{direction}{behind} {range} [-]").map_err(Error::other)
    }

    fn exactly(&mut self, into: &mut [u8]) -> Result<()> {
        self.reader.read_exact(into).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => self.wrong("is cut off"),
            _ => error,
        })
    }

    fn wrong(&self, what: &str) -> Error {
        Error::new(ErrorKind::InvalidData, format!("record {} of this binary trace {what}", self.number))
    }
}
