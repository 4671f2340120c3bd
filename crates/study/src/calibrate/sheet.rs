//! How is a fit written as a platform? Each sum stands in one number, and the others of that sum are 0.

use iostack_model::Interval;
use iostack_model::answers::{CalibratedNumber, Probe};

use super::drive::{COUNT, DIES_MOST, Drive, Number, Numbers, PAGE, TOKEN};
use super::probed;

/// Facts that a sheet needs beside the fit.
#[derive(Clone, Debug, Default)]
pub(crate) struct FittedFacts {
    pub(crate) name: String,
    /// The files, in words.
    pub(crate) files: String,
    /// Cores and clocks in a nanosecond, each with the file that says so.
    pub(crate) cores: Option<(u32, String)>,
    pub(crate) ghz: Option<(f64, String)>,
    pub(crate) capacity: Option<(u64, String)>,
    /// Shortest, median, 99th percentile and longest of a read and of a write with the fewest in flight, over their mean.
    pub(crate) shapes: [Option<[f64; 4]>; 2],
    pub(crate) block_most: u64,
    pub(crate) depth_most: u32,
    /// The probe of the drive, and its file.
    pub(crate) probe: Option<(String, Probe)>,
}

/// Capacity of which nothing is known: room for any job.
const CAPACITY: u64 = 64 << 30;
/// Capacity of a flash drive, and of each of its dies, at least: the rest costs time and answers the same.
const FLASH: u64 = 4 << 30;
const DIE: u64 = 64 << 20;
/// Pages of a block that are usual, and blocks of spare room that a plane has at least.
const BLOCK: f64 = 64.0;
const SPARE_BLOCKS: f64 = 16.0;
/// The finding of a probe on spare room.
const SPARE: &str = "over_provisioning";
/// Time of a program that no point is bound by.
const UNBOUND: (&str, &str) = ("1us", "no point is bound by it");

impl FittedFacts {
    /// Bytes that the simulated drive holds.
    pub(crate) fn capacity(&self, drive: Drive, numbers: &Numbers) -> u64 {
        if matches!(drive, Drive::Flash(_)) && !self.knows_spare() {
            return FLASH.max(numbers[Number::Dies as usize].round() as u64 * DIE);
        }
        self.capacity.as_ref().map_or(CAPACITY, |(bytes, _)| (bytes >> 20 << 20).max(16 << 20))
    }

    /// Spare room is known, of the whole drive: it is as large as it is.
    fn knows_spare(&self) -> bool {
        self.probed(SPARE, None).is_some() && self.capacity.is_some()
    }

    pub(crate) fn probed(&self, key: &str, part: Option<&str>) -> Option<(Interval, &str)> {
        probed::value(self.probe.as_ref(), key, part)
    }

    fn ghz(&self) -> f64 {
        self.ghz.as_ref().map_or(1.0, |(ghz, _)| *ghz)
    }
}

/// All numbers of a sheet in the making.
struct Entries<'a> {
    facts: &'a FittedFacts,
    numbers: &'a Numbers,
    ends: &'a [(f64, f64); COUNT],
    list: Vec<CalibratedNumber>,
}

/// Numbers of the sheet, in the order of its tables.
pub(crate) fn entries(
    drive: Drive,
    numbers: &Numbers,
    ends: &[(f64, f64); COUNT],
    facts: &FittedFacts,
) -> Vec<CalibratedNumber> {
    let mut all = Entries { facts, numbers, ends, list: Vec::new() };
    all.platform(drive);
    match drive {
        Drive::Memory => all.memory(),
        Drive::Flash(page) => all.flash(page),
        Drive::Cloud { merges } => all.cloud(merges),
        Drive::Copied => {
            all.capacity("zero.capacity", drive);
            all.assume("zero.latency", "0", "the caller's clocks are all there is");
        }
    }
    all.list
}

impl Entries<'_> {
    fn assume(&mut self, key: &str, text: impl Into<String>, why: &str) {
        let (key, text, source) = (key.to_owned(), text.into(), why.to_owned());
        self.list.push(CalibratedNumber { key, text, interval: None, unit: String::new(), source });
    }

    fn told(&mut self, key: &str, (text, file): (String, &str)) {
        let (key, source) = (key.to_owned(), format!("measured, {file}"));
        self.list.push(CalibratedNumber { key, text, interval: None, unit: String::new(), source });
    }

    /// A finding of a probe, as it is written.
    fn probed(&mut self, key: &str, (value, file): (Interval, &str), unit: &str) {
        let text = written(value.mean, unit);
        let (key, unit, source) = (key.to_owned(), unit.to_owned(), format!("measured, {file}"));
        self.list.push(CalibratedNumber { key, text, interval: Some(value), unit, source });
    }

    /// A number that was fitted, `scale` times its value of the formula; what the points do not show is `else_`.
    fn fitted(&mut self, key: &str, number: Number, (unit, scale): (&str, f64), else_: (&str, &str)) {
        let (value, (low, high)) = (self.numbers[number as usize], self.ends[number as usize]);
        if value <= 0.0 {
            return self.assume(key, else_.0, else_.1);
        }
        let scaled = |value: f64| match unit {
            // Of a time of a byte, or of a token.
            "B/s" | "/s" => scale / value,
            _ => value * scale,
        };
        let (mean, mut ends) = (scaled(value), [scaled(low), scaled(high)]);
        ends.sort_by(f64::total_cmp);
        let text = written(mean, unit);
        let source = format!("measured, {}", self.facts.files);
        let interval = Some(Interval { mean, low: ends[0].min(mean), high: ends[1].max(mean), samples: 0 });
        self.list.push(CalibratedNumber {
            key: key.to_owned(),
            text,
            interval,
            unit: unit.to_owned(),
            source,
        });
    }

    fn platform(&mut self, drive: Drive) {
        let facts = self.facts;
        match &facts.cores {
            Some((cores, file)) => self.told("platform.cores", (cores.to_string(), file)),
            None => self.assume("platform.cores", "8", "no file says it"),
        }
        match &facts.ghz {
            Some((ghz, file)) => self.told("platform.ghz", (format!("{ghz:.4}"), file)),
            None => self.assume("platform.ghz", "1", "no file says it: clocks are nanoseconds here"),
        }
        self.assume("platform.cpi", "1", "the system's numbers are clocks");
        for (key, kind) in [("os", "os"), ("adapter", "adapter"), ("drive", drive.kind())] {
            self.assume(&format!("platform.{key}"), kind, "its numbers stand below");
        }
        let clocks = ("clocks", facts.ghz());
        let silent = ("0", "no point tells CPU time");
        self.fitted("os.vfs", Number::Host, clocks, silent);
        self.fitted("os.switch_in", Number::Switch, clocks, ("0", "the points do not show it apart"));
        for (key, own, other) in
            [("uring_submit", Number::Uring, Number::Aio), ("aio_submit", Number::Aio, Number::Uring)]
        {
            let number = if self.numbers[own as usize] > 0.0 { own } else { other };
            self.fitted(&format!("os.{key}"), number, clocks, ("0", "the points do not show it apart"));
        }
        for key in ["syscall", "block", "block_end", "interrupt"] {
            self.assume(&format!("os.{key}"), "0", "part of os.vfs, a sum that points cannot split");
        }
        for key in ["switch_out", "wake"] {
            self.assume(&format!("os.{key}"), "0", "part of os.switch_in, a sum that points cannot split");
        }
        self.assume("adapter.protocol", "nvme", "no layers of its own: their clocks are in os.vfs");
        self.assume("adapter.queues", "per-core", "usual today");
        self.fitted(
            "adapter.flush",
            Number::Flush,
            ("ns", 1.0),
            ("none", "no load that was measured flushes"),
        );
        if drive == Drive::Copied {
            self.assume("adapter.copies", "caller", "the kind of disk that fits best: one in memory");
            let none = ("0", "the points do not show it");
            self.fitted("adapter.copy_read", Number::CopyRead, clocks, none);
            let writes = self.numbers[Number::CopyWrite as usize] > 0.0;
            let number = if writes { Number::CopyWrite } else { Number::CopyRead };
            self.fitted("adapter.copy_write", number, clocks, none);
        } else if !matches!(drive, Drive::Cloud { .. }) {
            let none = ("0", "the points do not show it: it is in the drive's times");
            self.fitted("adapter.delay", Number::Delay, ("ns", 1.0), none);
        }
    }

    fn capacity(&mut self, key: &str, drive: Drive) {
        let text = format!("{}B", self.facts.capacity(drive, self.numbers));
        match &self.facts.capacity {
            _ if matches!(drive, Drive::Flash(_)) && !self.facts.knows_spare() => {
                self.assume(key, text, "room for runs; more takes time and answers the same");
            }
            Some((_, file)) => self.told(key, (text, file)),
            None => self.assume(key, text, "no file says it"),
        }
    }

    fn memory(&mut self) {
        self.capacity("dram.capacity", Drive::Memory);
        self.fitted("dram.command", Number::Command, ("ns", 1.0), ("0", "the points do not show it"));
        let fast = ("1000GB/s", "the points do not show a limit");
        self.fitted("dram.rate", Number::Byte, ("B/s", 1e9), fast);
        self.assume("dram.page", format!("{PAGE}B"), "usual");
        let depth = self.facts.depth_most.clamp(32, 65_536).to_string();
        self.assume("dram.queue_depth", depth, "all that was asked fits");
        self.fitted("dram.banks", Number::Dies, ("", 1.0), ("1", "the points do not show it"));
        self.fitted("dram.access", Number::Read, ("ns", 1.0), ("0", "the points do not show it"));
        if self.numbers[Number::Write as usize] > 0.0 {
            self.fitted("dram.write_access", Number::Write, ("ns", 1.0), ("0", ""));
        }
    }

    fn flash(&mut self, page: u64) {
        let (facts, drive) = (self.facts, Drive::Flash(page));
        let dies = self.numbers[Number::Dies as usize].max(1.0);
        let row = dies * page as f64;
        self.capacity("flash.capacity", drive);
        let mut block = BLOCK;
        match facts.probed(SPARE, None).filter(|_| facts.knows_spare()) {
            Some((share, file)) => {
                let room = share.mean * facts.capacity(drive, self.numbers) as f64;
                block = (room / row / SPARE_BLOCKS).floor().clamp(4.0, BLOCK);
                self.probed("flash.over_provisioning", (times(share, 100.0), file), "%");
            }
            None => self.assume(
                "flash.over_provisioning",
                "100%",
                "collection is not fitted: short runs must not meet it",
            ),
        }
        self.fitted("flash.channels", Number::Dies, ("", 1.0), ("1", "the points do not show it"));
        self.assume("flash.page", format!("{page}B"), "of the pages that were tried the one that fits best");
        self.assume("flash.pages_per_block", format!("{block}"), "usual; collection is not fitted");
        self.fitted("flash.read", Number::Read, ("ns", 1.0), ("0", "the points do not show it"));
        self.program(row);
        self.assume("flash.erase", "3ms", "usual; collection is not fitted");
        self.assume("flash.suspend", "both", "usual since about 2017");
        self.assume(
            "channel.rate",
            "1000GB/s",
            "each die is a channel of its own, whose data are the link's",
        );
        self.fitted("controller.read", Number::Command, ("ns", 1.0), ("0", "the points do not show it"));
        let as_read = if self.numbers[Number::WriteCommand as usize] > 0.0 {
            Number::WriteCommand
        } else {
            Number::Command
        };
        self.fitted("controller.write", as_read, ("ns", 1.0), ("0", "the points do not show it"));
        self.fitted("link.rate", Number::Byte, ("B/s", 1e9), ("1000GB/s", "the points do not show a limit"));
        match facts.probed("buffer", None) {
            Some((size, file)) => {
                let least = (size.mean / page as f64).round().max(2.0) * page as f64;
                self.probed("buffer.size", (Interval { mean: least, ..size }, file), "B");
            }
            None => self.assume("buffer.size", "16MiB", "usual of the class"),
        }
        if let [Some((size, file)), Some(_)] = quick_cells(facts) {
            let least = (size.mean / row).floor().max(4.0) * row;
            self.probed("slc.size", (Interval { mean: least, ..size }, file), "B");
            self.fitted("slc.read", Number::Read, ("ns", 1.0), ("0", "the points do not show it"));
            self.fitted("slc.program", Number::Write, ("ns", 1.0), UNBOUND);
            self.assume("slc.erase", "3ms", "usual");
        }
    }

    /// Time of a page; once a probe's quick cells are full, from the rate that lasts. `row` is a page of each die.
    fn program(&mut self, row: f64) {
        let [_, Some((after, file))] = quick_cells(self.facts) else {
            return self.fitted("flash.program", Number::Write, ("ns", 1.0), UNBOUND);
        };
        // Rates become times: the ends change places.
        let time = |rate: f64| 1e9 * row / rate.max(1.0);
        let slow = Interval { mean: time(after.mean), low: time(after.high), high: time(after.low), ..after };
        self.probed("flash.program", (slow, file), "ns");
    }

    fn cloud(&mut self, merges: bool) {
        self.capacity("cloud.capacity", Drive::Cloud { merges });
        let merge = if merges { "on" } else { "off" };
        self.assume("cloud.merge", merge, "of both the one that fits better");
        let none = ("1000000000/s", "the points do not show a limit");
        let (facts, burst) = (self.facts, "cap.burst");
        match (facts.probed(burst, None), facts.probed(burst, Some("after"))) {
            (Some(credits), Some(after)) => {
                self.probed("cloud.iops", after, "/s");
                self.probed("cloud.credits", credits, "I/Os");
                self.fitted("cloud.iops_burst", Number::Cap, ("/s", 1e9), none);
            }
            _ => self.fitted("cloud.iops", Number::Cap, ("/s", 1e9), none),
        }
        self.fitted("cloud.rate", Number::Byte, ("B/s", 1e9), ("1000GB/s", "the points do not show a limit"));
        let unit = self.facts.block_most.next_power_of_two().max(TOKEN as u64);
        self.assume("cloud.unit", format!("{unit}B"), "the largest I/O that was asked takes one token");
        let (shapes, of_write) = (self.facts.shapes, self.numbers[Number::Write as usize] > 0.0);
        let write = if of_write { Number::Write } else { Number::Delay };
        for (side, number, shape) in
            [("read", Number::Delay, shapes[0]), ("write", write, shapes[1].or(shapes[0]))]
        {
            let flat = ("0", "the points do not show it");
            for (index, name) in ["min", "p50", "p99", "max"].into_iter().enumerate() {
                let share = shape.map_or(1.0, |shape| shape[index]);
                self.fitted(&format!("cloud.{side}_{name}"), number, ("ns", share), flat);
            }
        }
    }
}

/// Bytes that a probe found to be written quickly, and the rate afterwards.
fn quick_cells(facts: &FittedFacts) -> [Option<(Interval, &str)>; 2] {
    [facts.probed("slc", None), facts.probed("slc", Some("after"))]
}

fn times(of: Interval, by: f64) -> Interval {
    Interval { mean: by * of.mean, low: by * of.low, high: by * of.high, ..of }
}

/// A value as sheets write it.
fn written(value: f64, unit: &str) -> String {
    match unit {
        "ns" => format!("{:.0}ns", value.max(1.0)),
        "B/s" => format!("{:.0}B/s", value.max(1.0)),
        "/s" => format!("{value:.3}/s"),
        "clocks" if value < 100.0 => format!("{value:.4}"),
        "clocks" => format!("{value:.1}"),
        "B" | "I/Os" => format!("{:.0}{}", value.max(1.0), unit.trim_end_matches("I/Os")),
        "%" => format!("{value:.2}%"),
        _ => format!("{:.0}", value.clamp(1.0, DIES_MOST)),
    }
}

/// The same as changes of a platform, for a simulation of it without a file.
pub(crate) fn changes(entries: &[CalibratedNumber]) -> Vec<(String, String)> {
    let place = |key: &str| match key.split('.').next().unwrap_or_default() {
        "platform" => key.to_owned(),
        "os" => format!("platform.os.{key}"),
        "adapter" => format!("platform.adapter.{key}"),
        _ => format!("platform.drive.{key}"),
    };
    entries.iter().map(|entry| (place(&entry.key), entry.text.clone())).collect()
}

/// The sheet as a file.
pub(crate) fn toml(facts: &FittedFacts, entries: &[CalibratedNumber], about: &str) -> String {
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let title = format!("Fitted to {}", facts.files);
    let mut lines = vec![
        format!("name = {}", quoted(&facts.name)),
        format!("title = {}", quoted(&title)),
        "kind = \"platform\"".to_owned(),
        format!("about = {}\n", quoted(about)),
        "[sources]".to_owned(),
        format!("measured = {}", quoted(&format!("iostack calibrate {}", facts.files))),
    ];
    let mut table = "";
    for CalibratedNumber { key, text: value, interval, unit, source } in entries {
        let (of, name) = key.split_once('.').unwrap_or(("", key));
        if of != table {
            lines.push(format!("\n[{of}]"));
            table = of;
        }
        let origin = match (source.strip_prefix("measured, "), interval) {
            (Some(file), Some(Interval { low, high, .. })) => {
                let ends = format!("{} to {}", written(*low, unit), written(*high, unit));
                format!("source = {}", quoted(&format!("measured: {file}; 95 % from {ends}")))
            }
            (Some(file), None) => format!("source = {}", quoted(&format!("measured: {file}"))),
            (None, _) => format!("assumed = {}", quoted(source)),
        };
        lines.push(format!("{name} = {{ value = {}, {origin} }}", quoted(value)));
    }
    lines.join("\n") + "\n"
}
