//! What do screen and page both say of an exact cost?
//!
//! The words for a case, what tells several cases apart, the change between two counts, and what must be known to read
//! any of it. Start reading at [`tell_apart`].

use iostack_model::Bytes;
use iostack_model::answers::{ClockPrices, CostCase, CostFunction, IoCost};

use crate::lists::{Joined, distinct, grouped};
use crate::text::format::{count, percent, significant};

/// Limits of every count, whatever was counted.
pub(crate) const LIMITS: [&str; 3] = [
    "Instructions are not clocks: a division counts as one, and so does a load that misses every cache.",
    "Each iteration of a `rep` instruction counts as one.",
    "Counted with one virtual CPU, on which everything takes turns: another CPU's work would run at the same time, and \
     contended locks cost nothing here.",
];

/// The 2010 paper's price of the same way, with the names of its claims.
pub(crate) const PUBLISHED: &str = "35,000 clocks for a 4 KiB read through AHCI on one core, of which four uncacheable \
    register reads of 2,100 clocks each, on the mean, are 8,400 (SSD-ready platforms, 2010: two Xeon X5570 at 2.93 GHz, Linux 2.6.28; \
    intel10.clocks.ahci, .uc_read, .uc_reads_per_io)";

/// One word or two about a case.
struct CasePart {
    text: String,
    /// True where it is not worth a word if all cases have it.
    usual: bool,
}

/// All parts of a case, in the order in which they are told.
fn parts(case: &CostCase) -> Vec<CasePart> {
    let said = |text: String| CasePart { text, usual: false };
    let options: Vec<String> = case.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let list = |what: &str, none: &str, items: &[String]| match items {
        [] => CasePart { text: none.to_owned(), usual: true },
        _ => said(format!("{what}{}", items.join(" "))),
    };
    vec![
        said(case.device.clone()),
        said(case.direction.name().to_owned()),
        said(Bytes(case.block_bytes).to_string()),
        said(case.engine.clone()),
        said(case.file_system.clone().unwrap_or_else(|| "bare device".to_owned())),
        said(if case.buffered { "buffered" } else { "direct" }.to_owned()),
        said(format!("scheduler {}", case.scheduler)),
        said(format!("kernel {}", case.kernel)),
        said(format!("mitigations {}", if case.mitigations { "on" } else { "off" })),
        list("", "default options", &options),
        list("patched ", "not patched", &case.patched),
        list("tracing ", "no tracepoints", &case.tracepoints),
    ]
}

/// Request and device in words: `4 KiB read of scsi_ram`.
pub(crate) fn subject(case: &CostCase) -> String {
    format!("{} {} of {}", Bytes(case.block_bytes), case.direction.name(), case.device)
}

/// Circumstances of a case: everything but its request and device.
pub(crate) fn circumstances(case: &CostCase) -> String {
    let parts = parts(case).into_iter().skip(3).filter(|part| !part.usual);
    parts.map(|part| part.text).joined(", ")
}

/// Several cases: what all have, and the name of each by what differs.
pub(crate) struct Cases {
    /// Comma-separated; may be empty.
    pub(crate) common: String,
    /// Name of each case.
    pub(crate) names: Vec<String>,
}

/// Names each case by what differs from the others. The device is always named.
pub(crate) fn tell_apart(costs: &[IoCost]) -> Cases {
    let parts: Vec<Vec<CasePart>> = costs.iter().map(|cost| parts(&cost.case)).collect();
    let alike = |at: usize| parts.iter().all(|other| other[at].text == parts[0][at].text);
    let (common, told): (Vec<usize>, Vec<usize>) =
        (0..parts.first().map_or(0, Vec::len)).partition(|&at| at > 0 && alike(at));
    let name = |of: &Vec<CasePart>| told.iter().map(|&at| &of[at].text).joined(" ");
    let common = common.iter().map(|&at| &parts[0][at]).filter(|part| !part.usual);
    Cases { common: common.map(|part| &part.text).joined(", "), names: parts.iter().map(name).collect() }
}

/// A part of the whole as a bare percentage.
pub(crate) fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole.max(1) as f64)
}

/// The sum, the largest number at most.
pub(crate) fn sum(parts: impl Iterator<Item = u64>) -> u64 {
    parts.fold(0, u64::saturating_add)
}

/// `+1,234`, `-8`, `0`.
pub(crate) fn change(before: u64, after: u64) -> String {
    let size = count(after.abs_diff(before));
    match before.cmp(&after) {
        std::cmp::Ordering::Less => format!("+{size}"),
        std::cmp::Ordering::Equal => size,
        std::cmp::Ordering::Greater => format!("-{size}"),
    }
}

/// `+9.6 %`, or the word where there is nothing to divide by.
pub(crate) fn change_percent(before: u64, after: u64) -> String {
    match (before, after) {
        (0, 0) => "0.0 %".to_owned(),
        (0, _) => "new".to_owned(),
        (_, 0) => "gone".to_owned(),
        _ => {
            let percent = (after as f64 / before as f64 - 1.0) * 100.0;
            if percent.abs() >= 999.95 {
                format!("x{:.0}", percent / 100.0 + 1.0)
            } else {
                format!("{percent:+.1} %")
            }
        }
    }
}

/// Place of a function: its module, `kernel`, or `-` for the program.
pub(crate) fn place(function: &CostFunction) -> &str {
    match &function.module {
        Some(module) => module,
        None if function.layer == "user" => "-",
        None => "kernel",
    }
}

/// The sum with its prices: `11,574 instructions x 1.000 + 0 register reads x 2,100 + 0 writes x 250`.
pub(crate) fn clock_sum(cost: &IoCost) -> Option<String> {
    let (reads, writes) = cost.registers()?;
    let [own, reads, writes] = [cost.instructions, reads, writes].map(count);
    let ClockPrices { cpi, mmio_read, mmio_write } = cost.prices;
    let [cpi, read, write] = [cpi, mmio_read, mmio_write].map(price);
    Some(format!(
        "{own} instructions x {cpi} + {reads} register reads x {read} + {writes} register writes x {write}"
    ))
}

/// A price as it was set.
pub(crate) fn price(value: f64) -> String {
    if (100.0..1e15).contains(&value) && value.fract() == 0.0 {
        count(value as u64)
    } else {
        significant(value, 3)
    }
}

/// The prices of several cases, each set once.
pub(crate) fn prices<'a>(costs: impl Iterator<Item = &'a IoCost>) -> String {
    let told = costs.map(|cost| {
        let ClockPrices { cpi, mmio_read, mmio_write } = cost.prices;
        let [cpi, read, write] = [cpi, mmio_read, mmio_write].map(price);
        format!("{cpi} an instruction, {read} a register read, {write} a register write")
    });
    distinct(told).join("; or ")
}

/// Modelled clocks of an I/O, rounded.
pub(crate) fn clocks(cost: &IoCost) -> Option<u64> {
    cost.modelled_clocks()
        .filter(|clocks| clocks.is_finite() && *clocks >= 0.0)
        .map(|clocks| clocks.round() as u64)
}

/// Agreement of the boots: `11,574 in each of 5 boots`, `11,574 in 4 of 5 boots, 11,582 in 1`.
pub(crate) fn boots(cost: &IoCost) -> String {
    let kinds = grouped(cost.boots.iter().map(|&modal| (modal, ())));
    let mut kinds: Vec<(u64, usize)> = kinds.into_iter().map(|(modal, times)| (modal, times.len())).collect();
    kinds.sort_by_key(|&(modal, times)| (std::cmp::Reverse(times), modal));
    let all = cost.boots.len();
    match kinds[..] {
        [] => String::new(),
        [(modal, 1)] => format!("{} in the only boot: nobody knows whether another agrees", count(modal)),
        [(modal, _)] => format!("{} in each of {all} boots", count(modal)),
        [(modal, times), ref others @ ..] => {
            let others = others.iter().map(|(modal, times)| format!(", {} in {times}", count(*modal)));
            format!("{} in {times} of {all} boots{}", count(modal), others.joined(""))
        }
    }
}

/// Sentence on sums that are wrong; `None` when they are right.
pub(crate) fn broken_sum(cost: &IoCost) -> Option<String> {
    let layers = sum(cost.layers.iter().map(|row| row.instructions));
    let functions = sum(cost.functions.iter().map(|row| row.instructions));
    if layers == cost.instructions && functions == cost.instructions {
        return None;
    }
    let [layers, functions, all] = [layers, functions, cost.instructions].map(count);
    Some(format!(
        "The parts do not add up: layers {layers}, functions {functions}, the I/O {all}. Please report it."
    ))
}

/// Instructions between the marks that read the counter themselves, and so are not all between its two readings.
const READING: u64 = 8;

/// Difference to the guest's own counter, in words.
pub(crate) fn time_stamp(cost: &IoCost) -> String {
    let Some(excess) = cost.tsc_excess else {
        return "the guest's time-stamp counter does not compare: the processor idled meanwhile".to_owned();
    };
    let size = count(excess.unsigned_abs());
    let saw = match excess {
        0 => "saw the same number".to_owned(),
        1.. => format!("saw {size} more, the code between its readings and the marks"),
        _ if excess.unsigned_abs() <= READING => format!("agrees: {size} fewer, of the code that reads it"),
        _ => format!("saw {size} FEWER: one of the two is wrong; please report it"),
    };
    format!("the guest's own time-stamp counter {saw}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn cases_are_named_by_what_differs_and_by_nothing_else() {
        let mut costs = fixture::iocosts();
        let cases = tell_apart(&costs);
        assert_eq!(cases.names, ["brd", "null_blk", "scsi_ram", "ata_ram", "ahci"]);
        assert!(cases.common.starts_with("read, 4 KiB, psync, bare device, direct"), "{}", cases.common);
        costs.truncate(2);
        costs[1].case.options.push(("copy".to_owned(), "0".to_owned()));
        costs[1].case.file_system = Some("ext4".to_owned());
        assert_eq!(tell_apart(&costs).names, ["brd bare device default options", "null_blk ext4 copy=0"]);
        assert!(tell_apart(&[]).names.is_empty());
    }

    #[test]
    fn changes_have_their_sign_and_no_division_by_nothing() {
        assert_eq!([change(1, 1_235), change(9, 1), change(7, 7)], ["+1,234", "-8", "0"]);
        assert_eq!(change(0, u64::MAX), "+18,446,744,073,709,551,615");
        let percents = [(0, 0), (0, 5), (5, 0), (1000, 1096), (1000, 999), (1, 5000)];
        assert_eq!(
            percents.map(|(before, after)| change_percent(before, after)),
            ["0.0 %", "new", "gone", "+9.6 %", "-0.1 %", "x5000"]
        );
    }

    #[test]
    fn the_prices_are_told_as_they_were_set() {
        assert_eq!([price(0.75), price(2100.5), price(1e18)], ["0.750", "2100", "1000000000000000000"]);
    }
}
