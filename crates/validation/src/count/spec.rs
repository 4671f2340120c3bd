//! One case to count, in the words of flags and of `--diff`.

use anyhow::{Context, anyhow, bail};
use iostack_lab::Request;
use iostack_lab::guest::{Measure, Way};
use iostack_lab::targets::LabFlags;
use iostack_model::answers::{CostCase, IoCost};
use iostack_model::{Bytes, Direction};
use iostack_serve::lab::BROUGHT;

/// I/Os traced after those counted: enough to meet the modal one again.
const TRACED: u32 = 200;

/// A case: what boots, and what an I/O is.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Name of the device, as in `lab:DEVICE`.
    pub device: String,
    /// Options of its driver, each `NAME=VALUE`.
    pub set: Vec<String>,
    /// Machine that boots.
    pub lab: LabFlags,
    /// Reads or writes.
    pub direction: Direction,
    /// Way of the I/Os.
    pub way: Way,
    /// Through the page cache.
    pub buffered: bool,
    /// Size of an I/O.
    pub block_bytes: u64,
    /// I/Os that are counted.
    pub ios: u32,
}

const KEYS: &str = "device, kernel, source, disk, file-system, scheduler, mitigations, tracepoint, op, engine, block-size, \
                    buffered, or an option of the driver as set.NAME=VALUE";

impl Spec {
    /// A 4 KiB direct read by `psync` on `null_blk`, as the commands' own defaults are.
    pub fn plain() -> Spec {
        Spec {
            device: "null_blk".to_owned(),
            set: Vec::new(),
            lab: LabFlags::default(),
            direction: Direction::Read,
            way: Way::default(),
            buffered: false,
            block_bytes: 4096,
            ios: 1000,
        }
    }

    /// The command that counts this case alone.
    pub fn command(&self) -> String {
        let mut words = vec![format!("iostack lab cost {}", self.device)];
        words.extend((self.direction == Direction::Write).then(|| "--op write".to_owned()));
        words.extend((self.way != Way::default()).then(|| format!("--engine {}", self.way)));
        words.extend((self.block_bytes != 4096).then(|| format!("--block-size {}", self.block_bytes)));
        words.extend(self.buffered.then(|| "--buffered".to_owned()));
        words.extend(self.set.iter().map(|one| format!("--set {one}")));
        words.extend(self.lab.kernel.iter().map(|kernel| format!("--kernel {kernel}")));
        words.extend(self.lab.file_system.iter().map(|name| format!("--file-system {name}")));
        words.extend(self.lab.scheduler.iter().map(|name| format!("--scheduler {name}")));
        words.extend(self.lab.mitigations.then(|| "--mitigations".to_owned()));
        words.extend(self.lab.tracepoint.iter().map(|name| format!("--tracepoint {name}")));
        words.extend(self.lab.source.iter().map(|path| format!("--source {}", path.display())));
        words.extend(self.lab.disk.iter().map(|name| format!("--disk {name}")));
        words.join(" ")
    }

    /// True when `cost` is of this case, on whichever release of its kernel.
    pub fn is_of(&self, cost: &IoCost) -> bool {
        let Ok(request) = self.request() else { return false };
        let release = &cost.case.kernel;
        let same_series = release.strip_prefix(&request.kernel).is_some_and(|rest| rest.starts_with('.'));
        same_series && self.case(&request, release) == cost.case
    }

    /// The case with changes such as `kernel=6.12,set.copy=0`; `.` is none.
    pub fn changed(&self, changes: &str) -> anyhow::Result<Spec> {
        let mut spec = self.clone();
        for change in changes.split(',').filter(|change| *change != ".") {
            let (key, value) = change.split_once('=').unwrap_or((change, "yes"));
            spec.change(key.trim(), value.trim()).with_context(|| {
                format!("`{change}` is no change of a case; write it like kernel=6.12 (keys: {KEYS})")
            })?;
        }
        Ok(spec)
    }

    fn change(&mut self, key: &str, value: &str) -> anyhow::Result<()> {
        let text = || Some(value.to_owned());
        let no = value == "none" || value == "no";
        match key {
            "device" => value.clone_into(&mut self.device),
            "kernel" => self.lab.kernel = text(),
            "source" => self.lab.source = (!no).then(|| value.into()),
            "disk" => self.lab.disk = text(),
            "file-system" => self.lab.file_system = (!no).then(|| value.to_owned()),
            "scheduler" => self.lab.scheduler = text(),
            "mitigations" => self.lab.mitigations = yes(value)?,
            "tracepoint" if no => self.lab.tracepoint.clear(),
            "tracepoint" => self.lab.tracepoint.push(value.to_owned()),
            "op" => self.direction = direction(value)?,
            "engine" => self.way = way(value)?,
            "block-size" => self.block_bytes = value.parse::<Bytes>()?.0,
            "buffered" => self.buffered = yes(value)?,
            _ => match key.strip_prefix("set.") {
                Some(name) => {
                    self.set.retain(|one| one.split('=').next() != Some(name));
                    self.set.push(format!("{name}={value}"));
                }
                None => bail!("there is no key `{key}`"),
            },
        }
        Ok(())
    }

    /// Machine that boots.
    pub fn request(&self) -> anyhow::Result<Request> {
        if !self.block_bytes.is_power_of_two() || !(512..=64 << 10).contains(&self.block_bytes) {
            let typed = self.block_bytes;
            bail!("a block of {typed} bytes cannot be counted; choose a power of two from 512 to 64k");
        }
        let Way { cached, flush, .. } = self.way;
        let write = self.direction == Direction::Write;
        if (cached || flush) && !(self.buffered && flush == write) {
            let (way, op) = (self.way, if flush { "write" } else { "read" });
            bail!("`{way}` is of the page cache; give --op {op} and --buffered, too");
        }
        self.lab.request(&self.device, &self.set, BROUGHT)
    }

    /// Work of the guest.
    pub fn measure(&self) -> Measure {
        Measure {
            direction: self.direction,
            way: self.way,
            buffered: self.buffered,
            block_bytes: self.block_bytes,
            ios: self.ios,
            traced: TRACED,
        }
    }

    /// The words for the result.
    pub fn case(&self, request: &Request, release: &str) -> CostCase {
        let patched = request.source.as_ref().map(|_| request.device.clone());
        CostCase {
            device: request.device.clone(),
            options: request.options.clone(),
            direction: self.direction,
            engine: self.way.to_string(),
            block_bytes: self.block_bytes,
            file_system: request.file_system.clone(),
            buffered: self.buffered,
            scheduler: request.scheduler.clone(),
            kernel: release.to_owned(),
            patched: patched.into_iter().collect(),
            mitigations: request.mitigations,
            tracepoints: request.tracepoints.clone(),
        }
    }
}

fn yes(value: &str) -> anyhow::Result<bool> {
    match value {
        "yes" | "on" | "1" => Ok(true),
        "no" | "off" | "0" => Ok(false),
        _ => bail!("`{value}` is neither yes nor no"),
    }
}

/// `read` or `write`.
pub fn direction(value: &str) -> anyhow::Result<Direction> {
    match value {
        "read" => Ok(Direction::Read),
        "write" => Ok(Direction::Write),
        _ => bail!("`{value}` is neither read nor write"),
    }
}

/// A way such as `psync` or `io_uring+files/8`.
pub fn way(value: &str) -> anyhow::Result<Way> {
    value.parse().map_err(|wrong: String| anyhow!(wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec { device: "scsi_ram".to_owned(), set: vec!["copy=1".to_owned()], ..Spec::plain() }
    }

    #[test]
    fn changes_replace_what_they_name_and_nothing_else() {
        let changed = spec().changed("kernel=6.12,set.copy=0,op=write,buffered").expect("all known");
        assert_eq!(changed.lab.kernel.as_deref(), Some("6.12"));
        assert_eq!(changed.set, ["copy=0"]);
        assert_eq!(changed.direction, Direction::Write);
        assert!(changed.buffered && changed.way == Way::default());
        assert_eq!(format!("{:?}", spec().changed(".").expect("no change")), format!("{:?}", spec()));
    }

    #[test]
    fn an_unknown_change_is_answered_with_the_known_ones() {
        let error = format!("{:#}", spec().changed("krnl=6.12").expect_err("unknown"));
        assert!(
            error.starts_with("`krnl=6.12` is no change of a case; write it like kernel=6.12"),
            "{error}"
        );
        assert!(error.ends_with("there is no key `krnl`"), "{error}");
    }
}
