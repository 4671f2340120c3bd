//! What do cores take from each other? Siblings share a core, all share caches and memory, sockets are far apart, and who was
//! idle wakes up slowly.
//!
//! Core `n` and the one half of all further are siblings, as Linux numbers them; sockets have cores one after the other. What a
//! step takes is decided when it begins: steps are short beside what changes who is busy.

use super::layer::Layer;
use crate::devices::parameter::count_within;
use crate::engine::Time;
use crate::sheet::{Sheet, SheetError};

/// Numbers of a platform whose cores are not each by itself, and the time that it cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Together {
    /// Cores that are each other's sibling are so far apart; 0: none are.
    siblings: u32,
    cores: u32,
    /// Cores of a socket, without second siblings.
    each_socket: u32,
    /// Time more of each ns while the sibling is busy, and while all cores are.
    by_sibling: f64,
    by_all: f64,
    /// A core that was idle so long takes so long to wake, ns: the deeper state last.
    states: [Option<(Time, Time)>; 2],
    exits_ns: u64,
    slowed_ns: u64,
    /// Lines of cache from another socket take so many times as long.
    pub(crate) remote: f64,
}

impl Together {
    /// Those of a sheet; nothing where each core is by itself.
    pub(crate) fn read(sheet: &Sheet) -> Result<Option<Together>, SheetError> {
        let cores = count_within(sheet, "platform.cores", 1, 1024)? as u32;
        let number = |key: &str, most: u64| -> Result<u32, SheetError> {
            Ok(if sheet.has(key) { count_within(sheet, key, 1, most)? as u32 } else { 1 })
        };
        let (smt, sockets) = (number("platform.smt", 2)?, number("platform.sockets", 16)?);
        if !cores.is_multiple_of(smt * sockets) {
            let remedy = "write a multiple of platform.smt x platform.sockets";
            return Err(sheet.refuse("platform.cores", "siblings or sockets would not be alike", remedy));
        }
        let share = sheet.share("platform.smt_speed")?;
        if !(0.1..=1.0).contains(&share) {
            return Err(sheet.refuse("platform.smt_speed", "no sibling is that slow", "write it like 60%"));
        }
        let state = |after: &str, exit: &str| -> Result<Option<(Time, Time)>, SheetError> {
            Ok(if sheet.has(after) { Some((sheet.time(after)?.0, sheet.time(exit)?.0)) } else { None })
        };
        let states = [
            state("platform.idle_after", "platform.idle_exit")?,
            state("platform.deep_after", "platform.deep_exit")?,
        ];
        let together = Together {
            siblings: if smt == 2 { cores / 2 } else { 0 },
            cores,
            each_socket: if sockets > 1 { cores / smt / sockets } else { 0 },
            by_sibling: 1.0 / share - 1.0,
            by_all: if sheet.has("platform.slow_down") { sheet.share("platform.slow_down")? } else { 0.0 },
            states,
            remote: sheet.number("platform.remote")?.max(1.0),
            ..Together::default()
        };
        let plain = smt == 1 && sockets == 1 && together.by_all == 0.0 && states == [None; 2];
        Ok((!plain).then_some(together))
    }

    pub(super) fn sibling(&self, core: u32) -> Option<u32> {
        (self.siblings > 0).then(|| (core + self.siblings) % self.cores)
    }

    /// The socket of a core; all are of the first where there is one.
    pub(crate) fn socket(&self, core: u32) -> u32 {
        let whole = if self.siblings > 0 { core % self.siblings } else { core };
        whole.checked_div(self.each_socket).unwrap_or(0)
    }

    /// So many of these cores are on another socket than the first.
    #[cold]
    pub(super) fn far(&self, own: u32, cores: impl Iterator<Item = u32>) -> u64 {
        let own = self.socket(own);
        cores.filter(|&core| self.socket(core) != own).count() as u64
    }

    /// A core that was idle for `idle` is awake after so long.
    pub(super) fn exit(&mut self, idle: Time) -> Time {
        let entered = self.states.iter().rev().flatten().find(|&&(after, _)| idle >= after);
        let exit = entered.map_or(0, |&(_, exit)| exit);
        self.exits_ns += exit;
        exit
    }

    /// Time that work of `ns` takes beside a busy sibling, or none, with so many cores in use.
    pub(super) fn slowed(&mut self, ns: u64, sibling: bool, active: usize) -> u64 {
        let others = active.saturating_sub(1) as f64 / f64::from(self.cores - 1).max(1.0);
        let more = self.by_all * others + if sibling { self.by_sibling } else { 0.0 };
        let more = (ns as f64 * more).round() as u64;
        self.slowed_ns += more;
        ns + more
    }

    /// Time that it cost, by layer.
    pub(crate) fn spent(&self) -> [(Layer, u64); 2] {
        [(Layer::IdleExit, self.exits_ns), (Layer::SlowDown, self.slowed_ns)]
    }

    /// Counts begin anew.
    pub(crate) fn begin(&mut self) {
        (self.exits_ns, self.slowed_ns) = (0, 0);
    }
}
