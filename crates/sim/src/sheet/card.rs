//! How does a device look to people? Its parts from the host down, its numbers with their reasons, its claims.
//!
//! ```text
//!   link ─► controller ─► channels ─► dies      flash, whose parallel parts are worth drawing
//!   controller ─► members                       raid0, raid
//!   one part for each table of numbers          every other kind, also one that is new
//! ```

use iostack_model::answers::{Basis, DeviceCard, DeviceClaim, DeviceLevel, DeviceNumber, LevelName};
use iostack_model::{Bytes, Nanos};

use crate::sheet::{Claim, Expected, Figure, Sheet, SheetError, Source, Unit, catalogue};

/// A device in a list.
#[derive(Clone, Debug, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
pub struct Summary {
    /// Name of the device, as in `sim:NAME`.
    pub name: String,
    /// Kind of the device.
    pub kind: &'static str,
    /// Year of its sale, or that it is typical of.
    pub year: Option<u32>,
    /// Title in a few words.
    pub title: String,
}

/// All devices that are built in.
pub fn summaries() -> Vec<Summary> {
    let sheets = catalogue::names()
        .map(|name| Sheet::load(name, &[]).expect("a test reads every file that is built in"));
    sheets
        .map(|sheet| Summary {
            name: sheet.name,
            title: sheet.title,
            kind: sheet.kind.name,
            year: sheet.year,
        })
        .collect()
}

/// The card of a sheet; its claims are not tried.
pub fn card(sheet: &Sheet) -> DeviceCard {
    let tally = sheet.tally();
    DeviceCard {
        name: sheet.name.clone(),
        title: sheet.title.clone(),
        kind: sheet.kind.name.to_owned(),
        about: sheet.about.trim().replace('\n', " "),
        year: sheet.year,
        origin: sheet.origin.clone(),
        changed: sheet.changed.clone(),
        levels: levels(sheet),
        numbers: numbers(sheet),
        claims: sheet.claims.iter().map(claim).collect(),
        sources: sheet.sources.clone(),
        sourced: tally.sourced,
        fitted: tally.fitted,
        assumed: tally.assumed,
        members: sheet.members().map(|(_, member)| card(member)).collect(),
    }
}

fn numbers(sheet: &Sheet) -> Vec<DeviceNumber> {
    let entries = sheet.entries().into_iter();
    entries
        .map(|entry| {
            let (basis, source) = match entry.source {
                Source::Cited(place) => (Basis::Cited, place),
                Source::Fitted(claim) => (Basis::Fitted, claim),
                Source::Assumed(why) => (Basis::Assumed, why),
                Source::Changed => (Basis::Changed, String::new()),
                Source::Default => (Basis::Usual, String::new()),
            };
            let (key, meaning) = (entry.key.to_owned(), entry.meaning.to_owned());
            DeviceNumber { key, value: entry.text, meaning, basis, source }
        })
        .collect()
}

/// A claim in words, not tried yet.
pub fn claim(claim: &Claim) -> DeviceClaim {
    let show = |value: f64| show(claim, value);
    let expected = match claim.expected {
        Expected::About { value, tolerance } => format!("{} within {}", show(value), percent(tolerance)),
        Expected::AtLeast(least) => format!("at least {}", show(least)),
        Expected::AtMost(most) => format!("at most {}", show(most)),
    };
    DeviceClaim {
        name: claim.name.clone(),
        what: claim.what.clone(),
        figure: claim.figure.name().to_owned(),
        expected,
        source: claim.source.clone(),
        found: None,
        difference: None,
        holds: None,
    }
}

/// The claim with the figure that was found.
pub fn tried(tried: &Claim, found: f64) -> DeviceClaim {
    let expected = tried.expected.figure();
    let difference = if expected == 0.0 { 0.0 } else { (found - expected) / expected * 100.0 };
    DeviceClaim {
        found: Some(show(tried, found)),
        difference: Some(format!("{difference:+.1} %")),
        holds: Some(tried.expected.holds(found)),
        ..claim(tried)
    }
}

/// A figure with its unit.
fn show(claim: &Claim, value: f64) -> String {
    if claim.over.is_some() {
        return format!("{:.1} %", value * 100.0);
    }
    match claim.figure {
        Figure::Iops => format!("{value:.0}/s"),
        Figure::Bandwidth => format!("{} MB/s", significant(value / 1e6)),
        Figure::LatencyMean | Figure::LatencyMedian | Figure::LatencyP99 => {
            Nanos(value.round() as u64).to_string()
        }
        Figure::WriteAmplification => format!("{value:.3}"),
    }
}

/// `7.4 %`, `28 %`.
fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn significant(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn levels(sheet: &Sheet) -> Vec<DeviceLevel> {
    // Missing numbers were refused when the sheet was made, and a drawing of less is better than none.
    match sheet.kind.name {
        "flash" => flash(sheet).unwrap_or_default(),
        "raid0" | "raid" => raid(sheet).unwrap_or_default(),
        "platform" => platform(sheet).unwrap_or_default(),
        _ => tables(sheet),
    }
}

fn level(name: &str, count: u64, facts: Vec<String>) -> DeviceLevel {
    DeviceLevel { name: LevelName::from(name.to_owned()), count, is_way: false, facts }
}

fn way(name: &str, count: u64, facts: Vec<String>) -> DeviceLevel {
    DeviceLevel { is_way: true, ..level(name, count, facts) }
}

/// One part for each table of numbers, with all that it has.
fn tables(sheet: &Sheet) -> Vec<DeviceLevel> {
    let mut levels: Vec<DeviceLevel> = Vec::new();
    for entry in sheet.entries().iter().filter(|entry| !matches!(entry.text.as_str(), "" | "none")) {
        let (table, key) = entry.key.split_once('.').unwrap_or(("", entry.key));
        let fact = format!("{} {}", key.replace('_', " "), shown(entry.unit, &entry.text));
        match levels.iter_mut().find(|level| level.name.name() == table) {
            Some(level) => level.facts.push(fact),
            None => levels.push(level(table, 1, vec![fact])),
        }
    }
    levels
}

/// A value as a report writes it: `16 KiB`, not `16KiB`.
fn shown(unit: Unit, text: &str) -> String {
    match unit {
        Unit::Time => text.parse::<Nanos>().map_or_else(|_| text.to_owned(), |time| time.to_string()),
        Unit::Share => text.replace('%', " %"),
        _ => text.to_owned(),
    }
}

fn flash(sheet: &Sheet) -> Result<Vec<DeviceLevel>, SheetError> {
    let channels = sheet.count("flash.channels")?;
    // What is absurd is shown, and refused when it is built.
    let dies =
        channels.saturating_mul(sheet.count("flash.chips")?).saturating_mul(sheet.count("flash.dies")?);
    let mut link = Vec::new();
    if sheet.has("link.rate") {
        let both = if sheet.word("link.duplex")? == "full" { "each way" } else { "one way at a time" };
        link.push(format!("{} {both}", rate(sheet.rate("link.rate")?)));
    }
    link.extend(timed(sheet, "link.command", "a command")?);
    link.extend(timed(sheet, "link.latency", "delay")?);
    let mut channel = vec![rate(sheet.rate("channel.rate")?)];
    channel.extend(timed(sheet, "channel.command", "a transfer")?);
    Ok(vec![
        way("link", 1, link),
        level("controller", 1, controller(sheet)?),
        way("channel", channels, channel),
        level("die", dies, die(sheet)?),
    ])
}

fn controller(sheet: &Sheet) -> Result<Vec<String>, SheetError> {
    let cores = sheet.count("controller.cores")?;
    let mut facts = vec![
        format!("{} commands at once", sheet.count("flash.queue_depth")?),
        format!("{cores} core{} for the firmware", plural(cores)),
    ];
    for (word, command, page, delay) in [
        ("read", "controller.read", "controller.read_page", "controller.read_delay"),
        ("write", "controller.write", "controller.write_page", "controller.write_delay"),
    ] {
        let times =
            [timed(sheet, command, "")?, timed(sheet, page, "a page")?, timed(sheet, delay, "of delay")?];
        let times: Vec<String> = times.into_iter().flatten().collect();
        if !times.is_empty() {
            facts.push(format!("a {word} takes it {}", times.join(" + ")));
        }
    }
    facts.push(match sheet.has("buffer.size") {
        true if sheet.word("buffer.acknowledge")? == "early" => {
            format!("write buffer of {}, answers at once", sheet.bytes("buffer.size")?)
        }
        true => format!("write buffer of {}, answers when programmed", sheet.bytes("buffer.size")?),
        false => "no write buffer".to_owned(),
    });
    let spare = percent(sheet.share("flash.over_provisioning")?);
    facts.push(format!("{} for the host, {spare} more to move data in", sheet.bytes("flash.capacity")?));
    let low = sheet.count("gc.free_low")?;
    facts.push(format!(
        "maps pages of {}; collects {} at {low} free block{} of a plane",
        sheet.bytes("flash.mapping")?,
        sheet.word("gc.policy")?,
        plural(low)
    ));
    Ok(facts)
}

fn die(sheet: &Sheet) -> Result<Vec<String>, SheetError> {
    let planes = sheet.count("flash.planes")?;
    let page = sheet.bytes("flash.page")?;
    let block = Bytes(page.0.saturating_mul(sheet.count("flash.pages_per_block")?));
    let mut facts = vec![
        format!("{planes} plane{} with pages of {page}", plural(planes)),
        format!("read {}", sheet.time("flash.read")?),
        format!("program {}", sheet.time("flash.program")?),
        format!("erase {} for a block of {block}", sheet.time("flash.erase")?),
    ];
    match sheet.word("flash.suspend")? {
        "none" => {}
        "both" => facts.push("interrupts programs and erases for reads".to_owned()),
        what => facts.push(format!("interrupts {what}s for reads")),
    }
    if sheet.has("slc.size") {
        let program = if sheet.has("slc.program") { sheet.time("slc.program")? } else { Nanos(0) };
        let least = if sheet.has("slc.least") {
            format!(", {} when it is full,", sheet.bytes("slc.least")?)
        } else {
            String::new()
        };
        let size = sheet.bytes("slc.size")?;
        facts.push(format!("{size} of the drive{least} written with one bit a cell in {program}"));
    }
    Ok(facts)
}

fn raid(sheet: &Sheet) -> Result<Vec<DeviceLevel>, SheetError> {
    let mut levels = tables(sheet);
    let member = sheet.device(&format!("{}.member", sheet.kind.name))?;
    for level in &mut levels {
        level.name = LevelName::Other("controller".to_owned());
        level.facts.retain(|fact| !fact.starts_with("member"));
    }
    let mut facts = vec![format!("{}, {}", member.name, member.title)];
    facts.extend(card(&member).levels.iter().filter_map(|level| level.facts.first().cloned()));
    levels.push(level("drive", sheet.count(&format!("{}.members", sheet.kind.name))?, facts));
    Ok(levels)
}

/// Parts from the cores down to the drives.
fn platform(sheet: &Sheet) -> Result<Vec<DeviceLevel>, SheetError> {
    let mut core = vec![format!("{} GHz", sheet.number("platform.ghz")?)];
    core.extend(sheet.device("platform.os").ok().map(|system| format!("{}, {}", system.name, system.title)));
    let members = sheet
        .members()
        .filter(|(role, _)| !["platform.os", "platform.adapter", "platform.drive"].contains(role));
    core.extend(members.map(|(role, member)| {
        format!("{} {}, {}", role.rsplit('.').next().unwrap_or(role), member.name, member.title)
    }));
    let adapter = sheet.device("platform.adapter")?;
    let mut facts = vec![format!("{}, {}", adapter.name, adapter.title)];
    facts.extend(timed(&adapter, "adapter.command", "a command")?);
    if adapter.has("adapter.tags") {
        facts.push(format!("{} commands at once", adapter.count("adapter.tags")?));
    }
    if adapter.has("adapter.rate") {
        facts.push(rate(adapter.rate("adapter.rate")?));
    }
    let coalesce = adapter.count("adapter.coalesce")?;
    facts.push(match coalesce {
        0 | 1 => "an interrupt for each completion".to_owned(),
        many => format!(
            "up to {many} completions an interrupt, {} at most",
            adapter.time("adapter.coalesce_time")?
        ),
    });
    let drive = sheet.device("platform.drive")?;
    let mut drives = vec![format!("{}, {}", drive.name, drive.title)];
    drives.extend(card(&drive).levels.iter().filter_map(|level| level.facts.first().cloned()));
    Ok(vec![
        level("core", sheet.count("platform.cores")?, core),
        level("adapter", sheet.count("platform.adapters")?, facts),
        level("drive", sheet.count("platform.drives")?, drives),
    ])
}

fn rate(bytes_per_second: f64) -> String {
    if bytes_per_second >= 1e9 {
        format!("{:.2} GB/s", bytes_per_second / 1e9)
    } else {
        format!("{:.0} MB/s", bytes_per_second / 1e6)
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A time with a word, nothing when it takes none.
fn timed(sheet: &Sheet, key: &str, word: &str) -> Result<Option<String>, SheetError> {
    let time = sheet.time(key)?;
    Ok((time.0 > 0).then(|| format!("{time} {word}").trim_end().to_owned()))
}
