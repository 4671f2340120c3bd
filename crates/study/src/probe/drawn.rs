//! Drives by chance, as sheets say them, with what is true of each.

/// Numbers by chance: splitmix64.
pub(super) struct Draw(pub(super) u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low` to `high`, all alike likely.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.next() % of.len() as u64) as usize]
    }
}

/// An answer that a probe should give of a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Truth {
    /// Exactly this value.
    Is(f64),
    /// This value, or that it cannot be told: a limit before the drive may hide it.
    May(f64),
    /// It cannot be told.
    Nothing,
}

use Truth::{Is, May, Nothing};

/// A drive that was drawn: its platform, changes of its sheet, and what is true of it.
pub(super) struct Drawn {
    pub(super) sheet: &'static str,
    pub(super) set: Vec<(String, String)>,
    pub(super) truth: Vec<(&'static str, Truth)>,
    /// Dips: their period and length, s.
    pub(super) dips: Option<(f64, f64)>,
}

/// A drive with flash; every fifth a volume in a cloud, every tenth flash behind a controller with a cache.
pub(super) fn drawn(seed: u64) -> Drawn {
    let draw = Draw(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x70_726f_6265);
    match seed % 10 {
        3 | 8 => volume(draw),
        5 => flash(draw, true),
        _ => flash(draw, false),
    }
}

/// A volume behind buckets of tokens.
fn volume(mut draw: Draw) -> Drawn {
    let lasting = draw.between(300.0, 6_000.0).round();
    let (burst, unit) = ((lasting * draw.between(2.5, 6.0)).round(), draw.one(&[16u64, 64, 256]));
    let (few, many) = (draw.between(5e3, 4e4).round(), draw.between(1e6, 9e6).round());
    let credits = draw.one(&[0.0, few, few, many]);
    let bytes = (draw.between(60.0, 400.0) * 1e6).round();
    let runs_dry = (1.0..1e6).contains(&credits);
    let limit = if credits < 1e6 { lasting } else { burst };
    let mut pairs = vec![
        ("capacity", "16GiB".to_owned()),
        ("iops", format!("{lasting}/s")),
        ("credits", credits.to_string()),
        ("unit", format!("{unit}KiB")),
        ("rate", format!("{}MB/s", bytes / 1e6)),
    ];
    pairs.extend((credits > 0.0).then(|| ("iops_burst", format!("{burst}/s"))));
    pairs.extend((credits <= 0.0).then(|| ("iops_burst", "none".to_owned())));
    let set = pairs.into_iter().map(|(key, value)| (format!("platform.drive.cloud.{key}"), value)).collect();
    let nothing =
        ["parallelism.4096", "mapping_unit", "buffer", "stripe", "slc", "over_provisioning", "collector"];
    let truth = [
        ("cap.iops", Is(limit)),
        ("cap.bandwidth", May(bytes.min(limit * unit as f64 * 1024.0))),
        ("cap.burst", if runs_dry { Is(credits) } else { Nothing }),
        ("read_cache", Nothing),
    ];
    let truth = nothing.map(|key| (key, Nothing)).into_iter().chain(truth).collect();
    Drawn { sheet: "cloud-vm", set, truth, dips: None }
}

/// A limit before the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    Nothing,
    Commands,
    Link,
}

/// Numbers of a drive with flash; times in µs.
struct Flash {
    channels: u64,
    chips: u64,
    planes: u64,
    page: u64,
    unit: u64,
    buffer: u64,
    read: f64,
    program: f64,
    over_provisioning: f64,
    capacity: u64,
    /// Size of the quick cells, MiB.
    slc: Option<u64>,
    before: Before,
    /// Share of what the medium gives that a limit leaves.
    share: f64,
}

/// Small blocks, as many of a plane as large drives have, so that those kept free do not count.
const PAGES_PER_BLOCK: u64 = 8;

impl Flash {
    fn drawn(draw: &mut Draw) -> Flash {
        let (channels, chips, planes) =
            (draw.one(&[2u64, 4, 8]), draw.one(&[1u64, 2, 4]), draw.one(&[1u64, 2]));
        let (page, unit) = (draw.one(&[16384u64, 32768]), draw.one(&[4096u64, 4096, 8192, 16384]));
        let group = page * planes * channels * chips;
        let buffer = (group as f64 * draw.between(2.0, 6.0)) as u64 / 65536 * 65536;
        let (read, program) = (draw.between(40.0, 100.0), draw.between(300.0, 900.0));
        let over_provisioning = draw.one(&[7.0, 10.0, 14.0, 20.0, 28.0]) + draw.between(0.0, 3.0);
        let has_slc = draw.next() % 5 < 2;
        let blocks = draw.between(1000.0, 1400.0) as u64;
        let capacity = (group * PAGES_PER_BLOCK * blocks) >> 20 << 20;
        let slc = (draw.between(0.05, 0.2) * capacity as f64) as u64 >> 20;
        let slc = has_slc.then_some(slc);
        let before =
            draw.one(&[Before::Nothing, Before::Nothing, Before::Nothing, Before::Commands, Before::Link]);
        let share = draw.between(0.35, 0.7);
        Flash {
            channels,
            chips,
            planes,
            page,
            unit,
            buffer,
            read,
            program,
            over_provisioning,
            capacity,
            slc,
            before,
            share,
        }
    }

    fn dies(&self) -> f64 {
        (self.channels * self.chips) as f64
    }

    /// Reads of 4 KiB that the medium gives, less what a limit takes.
    fn iops(&self) -> f64 {
        self.dies() * 1e6 / (self.read + 5.0) * self.share
    }

    /// Bytes per second that the medium reads, through channels of 800 MB/s.
    fn medium(&self) -> f64 {
        let page = self.page as f64;
        (self.dies() * 1e6 * page / (self.read + page / 800.0)).min(self.channels as f64 * 8e8)
    }

    /// MB/s of the link.
    fn link(&self) -> f64 {
        match self.before {
            Before::Link => (self.medium() * self.share / 1e6).clamp(100.0, 3360.0).round(),
            _ => 3360.0,
        }
    }

    /// Time of a read command, µs.
    fn command(&self) -> f64 {
        if self.before == Before::Commands { 1e6 / self.iops() } else { 1.0 }
    }

    fn pairs(&self, command: f64) -> Vec<(&'static str, String)> {
        let erase = format!("{:.0}us", self.program / 6.0);
        let mut pairs = vec![
            ("flash.capacity", format!("{}B", self.capacity)),
            ("flash.channels", self.channels.to_string()),
            ("flash.chips", self.chips.to_string()),
            ("flash.dies", "1".to_owned()),
            ("flash.planes", self.planes.to_string()),
            ("flash.page", format!("{}B", self.page)),
            ("flash.mapping", format!("{}B", self.unit)),
            ("flash.pages_per_block", PAGES_PER_BLOCK.to_string()),
            ("flash.read", format!("{:.1}us", self.read)),
            ("flash.program", format!("{:.0}us", self.program)),
            ("flash.erase", erase.clone()),
            ("flash.over_provisioning", format!("{:.2}%", self.over_provisioning)),
            ("buffer.size", format!("{}B", self.buffer)),
            ("link.rate", format!("{}MB/s", self.link())),
            ("controller.cores", "1".to_owned()),
            ("controller.read_page", "0s".to_owned()),
            ("controller.read", format!("{command:.3}us")),
            ("slc.size", self.slc.map_or("none".to_owned(), |slc| format!("{slc}MiB"))),
        ];
        if self.slc.is_some() {
            pairs.extend([("slc.program", format!("{:.0}us", self.program / 3.5)), ("slc.erase", erase)]);
        }
        pairs
    }

    fn truth(&self, is_behind: bool) -> Vec<(&'static str, Truth)> {
        let is_free = self.before == Before::Nothing && !is_behind;
        let be = |value: f64, is_seen: bool| if is_free && is_seen { Is(value) } else { May(value) };
        // Writes outrun the medium where the link brings clearly more than it takes.
        let group = (self.page * self.planes) as f64;
        let outruns = |program: f64| group * self.dies() / program < 0.75 * self.link();
        let cells = if self.slc.is_some() { self.program / 3.5 } else { self.program };
        let of_slc = self.slc.map(|slc| (slc << 20) as f64);
        let link = self.link() * 1e6;
        let mut truth = vec![
            ("parallelism.4096", be(self.dies(), true)),
            ("mapping_unit", be(self.unit as f64, true)),
            ("programming_unit", May(group)),
            ("buffer", be(self.buffer as f64, outruns(cells))),
            ("stripe", be(self.page as f64, true)),
            ("slc", of_slc.map_or(Nothing, |slc| be(slc, outruns(self.program)))),
            ("over_provisioning", of_slc.map_or(be(self.over_provisioning / 100.0, true), |_| Nothing)),
            ("cap.iops", if self.before == Before::Commands { Is(self.iops()) } else { Nothing }),
            ("cap.burst", Nothing),
        ];
        match self.before {
            Before::Link => truth.extend([("link", Is(link)), ("cap.bandwidth", Is(link))]),
            Before::Nothing if self.medium() < 2.4e9 => truth.push(("cap.bandwidth", Nothing)),
            _ => {}
        }
        // What a die folds at once, and how long it takes: to sense, to program, and both ways over the channel.
        let fold = group * self.dies() / (30.0 + self.program + group / 400.0) * 1e6;
        truth.extend(of_slc.map(|slc| ("slc.recovery", May((5.0 * fold / slc).min(1.0)))));
        truth
    }
}

fn flash(mut draw: Draw, is_behind: bool) -> Drawn {
    let flash = Flash::drawn(&mut draw);
    let dips =
        draw.next().is_multiple_of(4).then(|| draw.between(0.02, 0.05)).map(|period| (period, period * 0.12));
    let mut truth = flash.truth(is_behind);
    truth.extend(dips.map(|dips| ("background", May(dips.0))));
    let (prefix, mut set) = if is_behind {
        let cache = draw.one(&[0u64, 16, 40, 100]).min(flash.capacity >> 22);
        truth.push(("read_cache", if cache == 0 { Nothing } else { May((cache << 20) as f64) }));
        let raid = [
            ("", "raid0-perc6i".to_owned()),
            (".raid0.member", "tlc-1t".to_owned()),
            (".raid0.members", "1".to_owned()),
            (".raid0.controller", format!("{:.3}us", flash.command())),
            (".raid0.cache", format!("{cache}MiB")),
        ];
        let set = raid.map(|(key, value)| (format!("platform.drive{key}"), value)).to_vec();
        ("platform.drive.raid0.member", set)
    } else {
        truth.push(("read_cache", Nothing));
        ("platform.drive", vec![("platform.drive".to_owned(), "tlc-1t".to_owned())])
    };
    let command = if is_behind { 1.0 } else { flash.command() };
    set.extend(flash.pairs(command).into_iter().map(|(key, value)| (format!("{prefix}.{key}"), value)));
    Drawn { sheet: "nvme-server", set, truth, dips }
}
