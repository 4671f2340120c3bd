//! The end of a drive's life: after so much was written, it takes no more and can be read still.

use iostack_model::Bytes;
use iostack_sim::engine::{Kind, Time};

use super::parse::Arguments;
use super::{Layer, Verdict};
use crate::{DiskRequest, Errno};

struct ReadOnly {
    left: u64,
}

pub(super) fn make(arguments: &Arguments<'_>) -> Result<Box<dyn Layer>, String> {
    arguments.at_most(1)?;
    let left: Bytes = arguments.read(0, "size")?;
    Ok(Box::new(ReadOnly { left: left.0 }))
}

impl Layer for ReadOnly {
    fn pass(&mut self, asked: &DiskRequest, _now: Time) -> Verdict {
        match asked.kind {
            Kind::Write if asked.length > self.left => {
                self.left = 0;
                Verdict::Fails(Errno(libc::EROFS), 0)
            }
            Kind::Write => {
                self.left -= asked.length;
                Verdict::Down(0)
            }
            Kind::Trim if self.left == 0 => Verdict::Fails(Errno(libc::EROFS), 0),
            _ => Verdict::Down(0),
        }
    }
}
