//! What do the numbers of the sheet amount to? Checked once, here; everything else takes them as they are.

use crate::sheet::{Sheet, SheetError};

use super::heat::Heat;
use super::layout::{Layout, UnitCounts};
use super::mapping::MapSpec;
use super::sense::Senses;
use super::way::{Cores, Link, Transfer};
use super::zone_spec::{Ground, ZonesSpec};
use crate::devices::parameter::{Pace, count_within, time_or, variant, whole_bytes};
use crate::ftl::{Divisor, FtlSpec, Geometry, STREAMS_MAX, StartState, Victim};
use iostack_model::Bytes;
use serde::Deserialize;

/// Core time of a kind of command.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoreTimes {
    pub(super) command: u64,
    pub(super) page: u64,
    /// Keeps no core busy.
    pub(super) delay: u64,
}

impl CoreTimes {
    fn for_direction(sheet: &Sheet, direction: &str) -> Result<CoreTimes, SheetError> {
        let time = |suffix: &str| sheet.time(&format!("controller.{direction}{suffix}")).map(|time| time.0);
        Ok(CoreTimes { command: time("")?, page: time("_page")?, delay: time("_delay")? })
    }
}

/// A cache that gets smaller as the drive fills, in pages: evenly from all of it to the least.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shrinks {
    /// Pages that remain of each die's log when so many pages of the drive hold data.
    pub(super) least: u32,
    pub(super) full: u64,
}

impl Shrinks {
    pub(super) fn limit(self, most: u32, mapped: u64) -> u32 {
        let free = self.full.saturating_sub(mapped);
        self.least + (u64::from(most - self.least) * free / self.full) as u32
    }
}

/// Times of the cells, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    pub(super) read: u64,
    pub(super) program: u64,
    pub(super) erase: u64,
}

/// Pages that planes of a die sense together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReadsTogether {
    /// One plane at a time; `writes` are together then.
    #[serde(alias = "writes")]
    None,
    /// Pages with the same number in their blocks (ONFI's multi-plane read).
    Matching,
    /// Pages of any numbers.
    #[serde(rename = "independent")]
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct DieSpec {
    pub(super) cells: Cells,
    /// Planes program and erase together.
    pub(super) writes_together: bool,
    pub(super) reads_together: ReadsTogether,
    pub(super) cache_register: bool,
    pub(super) read_priority: bool,
    /// Reads that may overtake what waits, before it is let through.
    pub(super) overtake: u32,
    pub(super) suspend_erase: bool,
    pub(super) suspend_program: bool,
    pub(super) suspend_time: u64,
    /// A program or an erase is interrupted so often at most.
    pub(super) suspend_most: u32,
}

/// The blocks with one bit a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlcSpec {
    pub(super) cells: Cells,
    /// Mapped pages of each die.
    pub(super) pages_per_die: u32,
    /// They are fewer when the drive is not empty.
    pub(super) shrinks: Option<Shrinks>,
    /// Writes go past it when it is full.
    pub(super) direct: bool,
    /// Pages of each die that are erased together, and of its log's room those that writes only get as it is folded.
    pub(super) block: u32,
    pub(super) paced: u32,
}

/// Numbers of a device, checked; they never change.
#[derive(Clone, Debug)]
pub(super) struct Spec {
    pub(super) capacity: u64,
    pub(super) sector: u64,
    /// The unit of the mapping is 2^shift bytes.
    pub(super) page_shift: u32,
    /// Mapped pages of a flash page.
    pub(super) unit: u32,
    pub(super) by_unit: Divisor,
    /// Mapped pages of a block.
    pub(super) pages_per_block: u32,
    pub(super) layout: Layout,
    pub(super) die: DieSpec,
    pub(super) senses: Option<Senses>,
    pub(super) patrol: Option<Patrol>,
    pub(super) heat: Option<Heat>,
    pub(super) channel: Transfer,
    pub(super) link: Link,
    pub(super) cores: Cores,
    pub(super) memory: Option<Transfer>,
    pub(super) read: CoreTimes,
    pub(super) write: CoreTimes,
    pub(super) queue_depth: u32,
    /// The address of a page decides where it is written.
    pub(super) fixed: bool,
    /// Mapped pages of the write buffer; `None` without one.
    pub(super) buffer: Option<u32>,
    /// Writes are answered from the buffer.
    pub(super) early: bool,
    pub(super) slc: Option<SlcSpec>,
    pub(super) mapping: Option<MapSpec>,
    pub(super) zones: Option<ZonesSpec>,
    /// Writes get what collecting and folding win, page by page.
    pub(super) level: bool,
    pub(super) state: StartState,
    pub(super) ftl: FtlSpec,
}

impl Spec {
    pub(super) fn from_sheet(sheet: &Sheet, seed: u64, stamps: bool) -> Result<Spec, SheetError> {
        let sector = whole_bytes(sheet, "flash.sector", 512)?;
        let page = whole_bytes(sheet, "flash.mapping", sector)?;
        if !page.is_power_of_two() {
            return Err(sheet.refuse("flash.mapping", "not a power of two", "write it like 4KiB"));
        }
        let unit = (whole_bytes(sheet, "flash.page", page)? / page) as u32;
        let layout = layout(sheet)?;
        let pages_per_block = unit * count_within(sheet, "flash.pages_per_block", 1, 1 << 15)? as u32;
        let buffer = sheet.has("buffer.size").then(|| whole_bytes(sheet, "buffer.size", page)).transpose()?;
        let rate = Pace::from_sheet(sheet, "channel.rate")?;
        let channel = Transfer::new(Some(rate), sheet.time("channel.command")?.0, page);
        let mut spec = Spec {
            capacity: whole_bytes(sheet, "flash.capacity", page)?,
            sector,
            page_shift: page.trailing_zeros(),
            unit,
            by_unit: Divisor::new(unit),
            pages_per_block,
            die: die(sheet)?,
            senses: Senses::from_sheet(sheet, seed)?,
            patrol: Patrol::from_sheet(sheet)?,
            heat: Heat::from_sheet(sheet)?,
            channel,
            link: link(sheet, page)?,
            cores: Cores::new(count_within(sheet, "controller.cores", 1, 64)? as usize),
            memory: Pace::limit_from_sheet(sheet, "controller.memory")?
                .map(|rate| Transfer::new(Some(rate), 0, 2 * page)),
            read: CoreTimes::for_direction(sheet, "read")?,
            write: CoreTimes::for_direction(sheet, "write")?,
            queue_depth: count_within(sheet, "flash.queue_depth", 1, 1 << 20)? as u32,
            fixed: sheet.word("flash.allocation")? == "static",
            buffer: buffer.map(|bytes| (bytes / page).min(u64::from(BUFFER_MAX)) as u32),
            early: buffer.is_some() && sheet.word("buffer.acknowledge")? == "early",
            slc: None,
            mapping: None,
            zones: None,
            level: sheet.word("gc.pacing")? == "level",
            state: variant(sheet, "flash.state")?,
            ftl: FtlSpec::greedy(Geometry::default()),
            layout,
        };
        spec.slc = slc(sheet, &spec, page)?;
        spec.mapping = {
            let (cells, program) = (spec.die.cells, u64::from(spec.group()) << spec.page_shift);
            MapSpec::from_sheet(sheet, [cells.read, cells.program], program)?
        };
        spec.zones = ZonesSpec::from_sheet(sheet, &spec.ground())?;
        spec.ftl = ftl(sheet, &spec, seed, stamps)?;
        Ok(spec)
    }

    fn ground(&self) -> Ground {
        let early = self.buffer.filter(|_| self.early).unwrap_or(0);
        Ground {
            capacity: self.capacity,
            row: u64::from(self.group()) << self.page_shift,
            buffer: u64::from(early) << self.page_shift,
            counts: self.layout.counts,
            page_shift: self.page_shift,
            pages_per_block: self.pages_per_block,
        }
    }

    /// Mapped pages that one program of a die takes.
    pub(super) fn group(&self) -> u32 {
        self.unit * if self.die.writes_together { self.layout.counts.planes } else { 1 }
    }
}

/// Pages of the largest buffer: their numbers must fit into tokens.
const BUFFER_MAX: u32 = 1 << 22;
/// Planes of the largest die.
pub(super) const PLANES_MAX: usize = 16;
/// Dies of the largest device.
const DIES_MAX: u64 = 1 << 14;

fn layout(sheet: &Sheet) -> Result<Layout, SheetError> {
    let count = |key: &str| count_within(sheet, key, 1, 1024).map(|count| count as u32);
    let counts = UnitCounts {
        channels: count("flash.channels")?,
        chips: count("flash.chips")?,
        dies: count("flash.dies")?,
        planes: count_within(sheet, "flash.planes", 1, PLANES_MAX as u64)? as u32,
    };
    let dies = u64::from(counts.channels) * u64::from(counts.chips) * u64::from(counts.dies);
    if dies > DIES_MAX {
        return Err(sheet.refuse(
            "flash.dies",
            &format!("{dies} dies in all are more than {DIES_MAX}"),
            "give fewer channels, chips or dies",
        ));
    }
    Ok(Layout::new(counts, sheet.word("flash.order")?))
}

fn die(sheet: &Sheet) -> Result<DieSpec, SheetError> {
    let time = |key: &str| match sheet.time(key)?.0 {
        0 => Err(sheet.refuse(key, "cells take time", "write it like 25us")),
        time => Ok(time),
    };
    let together = sheet.word("flash.multi_plane")?;
    let suspend = sheet.word("flash.suspend")?;
    Ok(DieSpec {
        cells: Cells {
            read: time("flash.read")?,
            program: time("flash.program")?,
            erase: time("flash.erase")?,
        },
        writes_together: together != "none",
        reads_together: variant(sheet, "flash.multi_plane")?,
        cache_register: sheet.word("flash.cache_register")? == "yes",
        read_priority: sheet.word("flash.read_priority")? == "yes",
        overtake: count_within(sheet, "flash.overtake", 1, 1 << 20)? as u32,
        suspend_erase: matches!(suspend, "erase" | "both"),
        suspend_program: matches!(suspend, "program" | "both"),
        suspend_time: sheet.time("flash.suspend_time")?.0,
        suspend_most: if sheet.has("flash.suspend_most") {
            count_within(sheet, "flash.suspend_most", 1, 1 << 20)? as u32
        } else {
            u32::MAX
        },
    })
}

fn link(sheet: &Sheet, page: u64) -> Result<Link, SheetError> {
    let rate = Pace::limit_from_sheet(sheet, "link.rate")?;
    let transfer = Transfer::new(rate, sheet.time("link.command")?.0, page);
    Ok(Link::new(transfer, sheet.time("link.latency")?.0, sheet.word("link.duplex")? == "full"))
}

fn slc(sheet: &Sheet, spec: &Spec, page: u64) -> Result<Option<SlcSpec>, SheetError> {
    if !sheet.has("slc.size") {
        return Ok(None);
    }
    if spec.buffer.is_none() {
        return Err(sheet.refuse("slc.size", "there is no write buffer before it", "give buffer.size"));
    }
    let row = u64::from(spec.group());
    let of_die = |key: &str| -> Result<u32, SheetError> {
        let pages = whole_bytes(sheet, key, page)? / page;
        let each = pages / u64::from(spec.layout.counts.dies_in_all()) / row * row;
        if each < 2 * row {
            return Err(sheet.refuse(key, "less than two pages of each die", "give more"));
        }
        Ok(each.min(u64::from(u32::MAX >> 4)) as u32)
    };
    let pages_per_die = of_die("slc.size")?;
    let least = if sheet.has("slc.least") { of_die("slc.least")? } else { pages_per_die };
    if least > pages_per_die {
        return Err(sheet.refuse("slc.least", "more than an empty drive has", "give slc.size or less"));
    }
    let gone = sheet.share("slc.gone")?;
    if !(0.01..=1.0).contains(&gone) {
        return Err(sheet.refuse("slc.gone", "not a share of the drive", "give 1 % to 100 %"));
    }
    let full = (spec.capacity as f64 * gone) as u64 / page;
    let time = |key: &str| sheet.time(key).map(|time| time.0);
    let direct = sheet.word("slc.full")? == "direct";
    let planes = if spec.die.writes_together { spec.layout.counts.planes } else { 1 };
    let block = least.min(spec.pages_per_block * planes);
    Ok(Some(SlcSpec {
        cells: Cells { read: time("slc.read")?, program: time("slc.program")?, erase: time("slc.erase")? },
        pages_per_die,
        shrinks: (least < pages_per_die).then_some(Shrinks { least, full: full.max(1) }),
        direct,
        block,
        paced: if spec.level && !direct && least >= 2 * block { block } else { 0 },
    }))
}

fn ftl(sheet: &Sheet, spec: &Spec, seed: u64, stamps: bool) -> Result<FtlSpec, SheetError> {
    let page = 1u64 << spec.page_shift;
    let share = sheet.share("flash.over_provisioning")?;
    if share <= 0.0 || share > 1000.0 {
        let remedy = "give more than 0 %: a page cannot be overwritten in place";
        return Err(sheet.refuse("flash.over_provisioning", "nothing could ever be collected", remedy));
    }
    let planes = spec.layout.counts.planes_in_all();
    let mut logical_pages = spec.capacity / page;
    let row = planes * u64::from(spec.pages_per_block) * page;
    let mut blocks_per_plane = (spec.capacity as f64 * (1.0 + share) / row as f64).ceil();
    if let Some(zones) = &spec.zones {
        // The translation layer maps nothing; it only knows where blocks are.
        let blocks = zones.blocks_per_plane(spec.layout.counts.dies_in_all());
        (logical_pages, blocks_per_plane) = (1, (f64::from(blocks) * (1.0 + share)).ceil().max(8.0));
    }
    let stripe = if sheet.has("flash.stripe") { whole_bytes(sheet, "flash.stripe", page)? / page } else { 0 };
    let unit = if stripe == 0 { spec.unit } else { stripe as u32 };
    Ok(FtlSpec {
        geometry: Geometry {
            planes: planes as u32,
            blocks_per_plane: blocks_per_plane.min(f64::from(u32::MAX)) as u32,
            pages_per_block: spec.pages_per_block,
            page: Bytes(page),
            logical_pages,
        },
        victim: match sheet.word("gc.policy")? {
            "greedy" => Victim::Greedy,
            "choices" => Victim::Choices(count_within(sheet, "gc.choices", 1, 1 << 20)? as u32),
            "fifo" => Victim::Fifo,
            "random" => Victim::Random,
            _ => Victim::CostBenefit,
        },
        hot_cold: sheet.word("gc.hot_cold")? == "yes",
        streams: streams(sheet)?,
        isolated: sheet.word("placement.isolation")? == "persistent",
        stripe_unit: unit,
        fixed: spec.fixed,
        free_low: count_within(sheet, "gc.free_low", 1, 1 << 20)? as u32,
        free_high: count_within(sheet, "gc.free_high", 2, 1 << 20)? as u32,
        wear_spread: if sheet.has("gc.wear_spread") {
            Some(count_within(sheet, "gc.wear_spread", 4, 1 << 30)? as u32)
        } else {
            None
        },
        seed,
        stamps,
    })
}

/// Placement handles. A page that has been folded, or is hot, is of no handle any more.
fn streams(sheet: &Sheet) -> Result<u8, SheetError> {
    let handles = count_within(sheet, "placement.handles", 1, u64::from(STREAMS_MAX))? as u8;
    let other = if sheet.has("slc.size") { "slc.size" } else { "gc.hot_cold" };
    if handles > 1 && (sheet.has("slc.size") || sheet.word("gc.hot_cold")? == "yes") {
        let what = format!("{other} gives data other blocks than its handle");
        return Err(sheet.refuse("placement.handles", &what, &format!("give one of both, without {other}")));
    }
    Ok(handles)
}

/// Senses that a die makes for itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patrol {
    pub(super) period: u64,
    pub(super) time: u64,
}

impl Patrol {
    fn from_sheet(sheet: &Sheet) -> Result<Option<Patrol>, SheetError> {
        if !sheet.has("patrol.period") {
            return Ok(None);
        }
        let period = sheet.time("patrol.period")?.0;
        let time = time_or(sheet, "patrol.time", sheet.time("flash.read")?.0)?;
        if time >= period {
            return Err(sheet.refuse(
                "patrol.period",
                "dies would do nothing else",
                "give more than patrol.time",
            ));
        }
        Ok(Some(Patrol { period, time }))
    }
}
