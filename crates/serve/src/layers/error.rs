//! It fails, or is never heard of again.

use iostack_sim::engine::Time;

use super::parse::Arguments;
use super::rule::LayerRule;
use super::{Layer, Verdict};
use crate::{DiskRequest, Errno};

/// Errors of block devices that programs are told of.
const ERRORS: [(&str, i32); 5] = [
    ("EIO", libc::EIO),
    ("ENOSPC", libc::ENOSPC),
    ("EROFS", libc::EROFS),
    ("ETIMEDOUT", libc::ETIMEDOUT),
    ("EREMOTEIO", libc::EREMOTEIO),
];

struct Fault {
    verdict: Verdict,
    rule: LayerRule,
}

pub(super) fn make(arguments: &Arguments<'_>) -> Result<Box<dyn Layer>, String> {
    let typed: String = arguments.read(0, "error")?;
    let Some(&(_, errno)) = ERRORS.iter().find(|(name, _)| *name == typed) else {
        let names = ERRORS.map(|(name, _)| name).join(", ");
        return Err(format!("`{typed}` is no error of a disk; there are {names}"));
    };
    let verdict = Verdict::Fails(Errno(errno), 0);
    Ok(Box::new(Fault { verdict, rule: LayerRule::read(arguments, 1)? }))
}

pub(super) fn make_lost(arguments: &Arguments<'_>) -> Result<Box<dyn Layer>, String> {
    Ok(Box::new(Fault { verdict: Verdict::Lost, rule: LayerRule::read(arguments, 0)? }))
}

impl Layer for Fault {
    fn pass(&mut self, asked: &DiskRequest, _now: Time) -> Verdict {
        if self.rule.holds(asked) { self.verdict } else { Verdict::Down(0) }
    }
}
