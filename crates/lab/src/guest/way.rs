//! In which way does the guest ask for a counted I/O? A word such as `io_uring+files/8`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Most I/Os of a batch.
pub const BATCH_MOST: u32 = 32;

/// Call by which the I/Os go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Door {
    /// `pread` and `pwrite`.
    #[default]
    Psync,
    /// `io_submit` and `io_getevents`.
    Libaio,
    /// Calls of `io_uring_enter`.
    IoUring,
}

/// Way of an I/O, and the part of it that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Call by which the I/Os go.
    pub door: Door,
    /// `+files`: the file is registered with the ring.
    pub files: bool,
    /// `+buffers`: so is the memory.
    pub buffers: bool,
    /// `+poll`: the caller looks for completions instead of an interrupt.
    pub poll: bool,
    /// `+sqpoll`: a thread of the kernel takes submissions; counted is putting them into the ring.
    pub submit_poll: bool,
    /// `+reap`: only picking up counts.
    pub reap: bool,
    /// `+cached`: what is read is in the page cache.
    pub cached: bool,
    /// `+flush`: only writing back counts, of what was just written to the page cache.
    pub flush: bool,
    /// `/8`: so many I/Os go together, and count together.
    pub batch: u32,
}

impl Default for Way {
    fn default() -> Way {
        Way {
            door: Door::Psync,
            files: false,
            buffers: false,
            poll: false,
            submit_poll: false,
            reap: false,
            cached: false,
            flush: false,
            batch: 1,
        }
    }
}

const DOORS: [(&str, Door); 3] =
    [("psync", Door::Psync), ("libaio", Door::Libaio), ("io_uring", Door::IoUring)];

/// A property and the doors that have it.
type Property = (&'static str, Door, fn(&mut Way) -> &mut bool);

const PROPERTIES: [Property; 7] = [
    ("files", Door::IoUring, |way| &mut way.files),
    ("buffers", Door::IoUring, |way| &mut way.buffers),
    ("poll", Door::IoUring, |way| &mut way.poll),
    ("sqpoll", Door::IoUring, |way| &mut way.submit_poll),
    ("reap", Door::Libaio, |way| &mut way.reap),
    ("cached", Door::Psync, |way| &mut way.cached),
    ("flush", Door::Psync, |way| &mut way.flush),
];

fn name_of(door: Door) -> &'static str {
    DOORS.iter().find(|(_, known)| *known == door).expect("each has a name").0
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(self.door))?;
        let mut copy = *self;
        for (name, _, property) in PROPERTIES {
            if *property(&mut copy) {
                write!(f, "+{name}")?;
            }
        }
        if self.batch == 1 { Ok(()) } else { write!(f, "/{}", self.batch) }
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(typed: &str) -> Result<Way, String> {
        let (words, batch) = typed.split_once('/').unwrap_or((typed, "1"));
        let mut words = words.split('+');
        let door = words.next().unwrap_or_default();
        let Some(&(_, door)) = DOORS.iter().find(|(name, _)| *name == door) else {
            return Err(format!("`{typed}` is no engine that is counted; choose psync, libaio or io_uring"));
        };
        let mut way = Way { door, ..Way::default() };
        for word in words {
            let of_door = PROPERTIES.iter().filter(|(_, whose, _)| *whose == door);
            let Some((_, _, property)) = of_door.clone().find(|(name, ..)| *name == word) else {
                let known: Vec<&str> = of_door.map(|(name, ..)| *name).collect();
                let door = name_of(door);
                return Err(format!(
                    "`{typed}`: {door} knows no `+{word}`; choose from {}",
                    known.join(", ")
                ));
            };
            *property(&mut way) = true;
        }
        way.batch = batch.parse().ok().filter(|count| (1..=BATCH_MOST).contains(count)).ok_or_else(|| {
            format!("`{typed}`: a batch is of 1 to {BATCH_MOST} I/Os; write it like libaio/8")
        })?;
        if door == Door::Psync && way.batch > 1 {
            return Err(format!("`{typed}`: a call of psync carries one I/O; leave out /{batch}"));
        }
        if way.poll && way.submit_poll || way.cached && way.flush {
            return Err(format!("`{typed}`: two words that exclude each other; leave out one"));
        }
        Ok(way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_read_as_it_is_written() {
        for word in [
            "psync",
            "psync+cached",
            "psync+flush",
            "libaio+reap/8",
            "io_uring+files+buffers/32",
            "io_uring+files+poll",
            "io_uring+sqpoll",
        ] {
            assert_eq!(word.parse::<Way>().expect(word).to_string(), word);
        }
    }

    #[test]
    fn what_no_door_has_is_refused_with_what_it_has() {
        let refused = |word: &str| word.parse::<Way>().expect_err(word);
        assert_eq!(refused("mmap"), "`mmap` is no engine that is counted; choose psync, libaio or io_uring");
        assert_eq!(refused("libaio+files"), "`libaio+files`: libaio knows no `+files`; choose from reap");
        for word in ["libaio/0", "libaio/33", "libaio/x"] {
            assert_eq!(
                refused(word),
                format!("`{word}`: a batch is of 1 to 32 I/Os; write it like libaio/8")
            );
        }
        assert_eq!(refused("psync/2"), "`psync/2`: a call of psync carries one I/O; leave out /2");
        assert!(refused("io_uring+poll+sqpoll").ends_with("exclude each other; leave out one"));
    }
}
