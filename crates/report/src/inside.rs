//! Why is a simulated device as fast as it is?
//!
//!   limit   the resource that was busy, and why that limits
//!   fall    where the rate fell, and what had run out by then
//!   slowest what held the slowest request
//!   flash   what garbage collection cost
//!   members what one I/O of the host costs an array
//!
//! Sentences for a reader who knows nothing of the device, the same on the screen and on the page. They say what the
//! outcome holds: a cause is named only where its gauge ran out when the rate fell. Start reading at [`reasons`].

use std::cmp::Reverse;

use iostack_model::{
    Bins, FlashUse, Gauge, Inside, InsideFlow, IntervalFlow, Limiting, MapUse, Nanos, Outcome, RaidUse,
    StreamUse,
};

use crate::lists::Joined;
use crate::text::format::{capitalised, count, rate, significant};

/// The rate must fall by this share for a fall to be told.
const FALL: f64 = 0.2;
/// So many stages of the slowest request are named.
const CAUSES: usize = 3;
/// Share of a gauge's range that counts as its end.
const END: f64 = 0.05;
/// A gauge that moves by less than this share of its largest value is level.
const LEVEL: f64 = 0.2;

/// The labelled sentences, in the order in which they answer: `limit`, `cliff`, `slowest`, `flash`, `wear`.
pub(crate) fn reasons(outcome: &Outcome, inside: &Inside) -> Vec<(&'static str, String)> {
    let mut told = vec![("limit", limit(inside))];
    told.extend(over_time(outcome, inside).into_iter().map(|sentence| ("cliff", sentence)));
    if told.len() > 1 && !falls(outcome, inside).is_empty() {
        let both = "All other figures are means over the time before and after; measure later (ramp) to see one alone.";
        told.push(("", both.to_owned()));
    }
    told.extend(inside.flows.iter().filter_map(slowest).map(|sentence| ("slowest", sentence)));
    if let Some(flash) = &inside.flash {
        told.extend(amplification(flash).map(|sentence| ("flash", sentence)));
        // A load that writes nothing leaves the blocks as they were.
        if flash.pages_host > 0 || flash.erases > 0 {
            told.push(("blocks", room(flash)));
            told.push(("wear", wear(flash)));
        }
        told.extend(flash.map.as_ref().map(|used| ("mapping", format!("{}.", table_use(used)))));
    }
    if let Some(used) = &inside.raid {
        told.push(("members", members(used)));
        told.extend(rebuild(used).map(|sentence| ("rebuild", sentence)));
    }
    told.extend(inside.late.as_ref().and_then(late).map(|sentence| ("late", sentence)));
    told
}

/// Causes of the slowest request of a direction: the stages with most of its time.
fn slowest(flow: &InsideFlow) -> Option<String> {
    let mut causes = flow.slowest.clone();
    causes.sort_by_key(|(_, time)| Reverse(*time));
    let rest: u64 = causes.drain(causes.len().min(CAUSES)..).map(|(_, time)| time.0).sum();
    let told = causes.iter().map(|(stage, time)| format!("{time} {} ({})", stage.name(), stage.meaning()));
    let rest = (rest > 0).then(|| format!("{} in other stages", Nanos(rest)));
    let (way, whole) = (flow.direction.name(), Nanos(flow.whole.max_ns));
    (!causes.is_empty())
        .then(|| format!("The slowest {way} took {whole}: {}.", told.chain(rest).joined(", ")))
}

/// Words for how late answers left a served drive.
fn late(bins: &Bins) -> Option<String> {
    let [middle, tail] = [0.5, 0.999].map(|share| bins.quantile_ns(share).map(Nanos));
    Some(format!(
        "The driver heard of an I/O {} after the model had answered at the median, {} at p99.9: its interrupt's way.",
        middle?, tail?
    ))
}

/// State of the device when the job began, in words; `None` where a device has none.
pub(crate) fn state(inside: &Inside) -> Option<String> {
    inside.flash.as_ref()?;
    let words = match inside.state.as_str() {
        "" => return None,
        "fresh" => "as new, nothing was ever written",
        "filled" => "every page was written once, in order",
        "steady" => "written over at random until garbage collection had reached its lasting pace",
        other => return Some(other.to_owned()),
    };
    Some(format!("{}: {words}", inside.state))
}

/// The numbers that were changed: `flash.over_provisioning = 10%`.
pub(crate) fn changed(inside: &Inside) -> Option<String> {
    let each = inside.changed.iter().map(|(key, value)| format!("{key} = {value}"));
    (!inside.changed.is_empty()).then(|| each.joined(", "))
}

/// Name, title, capacity and where the numbers come from.
pub(crate) fn device(inside: &Inside) -> String {
    let title = if inside.title.is_empty() { String::new() } else { format!(": {}", inside.title) };
    let numbers = match inside.origin.as_str() {
        "" => String::new(),
        "built in" => "; its numbers are built in".to_owned(),
        path => format!("; its numbers are those of {path}"),
    };
    format!("{}{title}; {}{numbers}", inside.device, inside.capacity)
}

/// `98 %`, `7.3 %`, `0.038 %`.
fn share(value: f64) -> String {
    let percent = value * 100.0;
    if percent >= 9.95 { format!("{percent:.0} %") } else { format!("{} %", significant(percent, 2)) }
}

/// Busy share from which on a resource limits; below it, it is only the busiest.
pub(crate) const USED_UP: f64 = 0.9;

/// The resource that limits, and whether it is used up or only the busiest of all.
pub(crate) fn busiest(inside: &Inside) -> Option<(&Limiting, bool)> {
    let limit = inside.limit.as_ref()?;
    let hottest =
        inside.resources.iter().find(|each| each.name == limit.name).map_or(0.0, |each| each.busiest);
    Some((limit, limit.busy.max(hottest) >= USED_UP))
}

fn limit(inside: &Inside) -> String {
    match &inside.limit {
        Some(limit) if limit.why.is_empty() => format!("{}: {} busy.", limit.name, share(limit.busy)),
        Some(limit) => sentence(&limit.why, &limit.name),
        None => "No resource of the device was busy: the load asked for less than it can do.".to_owned(),
    }
}

/// `die: all 64 dies are busy` as a sentence of its own.
fn sentence(why: &str, name: &str) -> String {
    capitalised(why.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(why))
}

/// A gauge that ran out, or filled up, while the rate fell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fall {
    /// Element of the series that begins with it.
    element: usize,
    /// Time of the fall.
    pub(crate) at: Nanos,
    /// Name of the gauge.
    pub(crate) gauge: String,
    /// Value of the gauge at first.
    pub(crate) first: f64,
    /// Value of the gauge at the fall.
    pub(crate) last: f64,
    /// I/Os per second before.
    pub(crate) before: f64,
    pub(crate) after: f64,
}

/// Each moment at which a gauge came to its end and the rate fell, in order of time.
pub(crate) fn falls(outcome: &Outcome, inside: &Inside) -> Vec<Fall> {
    let series = whole(&outcome.series);
    let end_of = |gauge: &Gauge| steepest(series, end(gauge.values.get(..series.len())?)?);
    let ends = inside.gauges.iter().filter_map(|gauge| Some((end_of(gauge)?, gauge)));
    let mut ends: Vec<(usize, &Gauge)> = ends.collect();
    // Of gauges that end with the same fall the one that caused it is told.
    ends.sort_by_key(|(element, _)| *element);
    ends.dedup_by(|later, earlier| {
        let same = later.0 - earlier.0 < 2;
        // A write buffer fills because something behind it has become slow.
        if same && earlier.1.name == Gauge::BUFFERED_PAGES {
            *earlier = *later;
        }
        same
    });
    let mut told: Vec<Fall> = Vec::new();
    for (place, &(element, gauge)) in ends.iter().enumerate() {
        let from = told.last().map_or(0, |fall| fall.element);
        let until = ends.get(place + 1).map_or(series.len(), |next| next.0);
        let (before, after) = (mean_rate(&series[from..element]), mean_rate(&series[element..until]));
        if after < before * (1.0 - FALL) {
            told.push(Fall {
                element,
                at: series[element].start,
                gauge: gauge.name.clone(),
                first: gauge.values[0],
                last: gauge.values[element],
                before,
                after,
            });
        }
    }
    told
}

/// The element that begins with the largest fall of the rate near `index`.
fn steepest(series: &[IntervalFlow], index: usize) -> Option<usize> {
    let near = (series.len() / 10).max(2);
    let fall = |at: usize| mean_rate(&series[at - 1..at]) - mean_rate(&series[at..=at]);
    let candidates = index.saturating_sub(near).max(1)..(index + near + 1).min(series.len());
    candidates.max_by(|&a, &b| fall(a).total_cmp(&fall(b)))
}

impl Fall {
    /// Words for the gauge that came to its end.
    pub(crate) fn what(&self) -> String {
        match self.gauge.as_str() {
            Gauge::FREE_BLOCKS => "free blocks used up".to_owned(),
            Gauge::SLC_PAGES => "SLC cache full".to_owned(),
            Gauge::BUFFERED_PAGES => "write buffer full".to_owned(),
            other => format!("{other} at its end"),
        }
    }
}

/// The series without a last element that was cut short.
fn whole(series: &[IntervalFlow]) -> &[IntervalFlow] {
    match series {
        [rest @ .., first, last] if last.length.0 * 2 < first.length.0 => &series[..=rest.len()],
        _ => series,
    }
}

/// The first element at which a gauge is at its end: what is free or left ends low, what fills ends high.
fn end(values: &[f64]) -> Option<usize> {
    let (first, last) = (*values.first()?, *values.last()?);
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let moves = high - low > high.abs() * LEVEL;
    if !moves {
        return None;
    }
    let margin = (high - low) * END;
    values.iter().position(|&value| if last < first { value <= low + margin } else { value >= high - margin })
}

fn mean_rate(series: &[IntervalFlow]) -> f64 {
    let seconds: f64 = series.iter().map(|element| element.length.as_secs_f64()).sum();
    let ios: u64 = series.iter().flat_map(|element| element.ios).sum();
    if seconds > 0.0 { ios as f64 / seconds } else { 0.0 }
}

/// Sentences on where the cliff comes from, or why there is none.
fn over_time(outcome: &Outcome, inside: &Inside) -> Vec<String> {
    let falls = falls(outcome, inside);
    if !falls.is_empty() {
        return falls.iter().map(fall).collect();
    }
    let free = inside.gauges.iter().find(|gauge| gauge.name == Gauge::FREE_BLOCKS);
    let ends = free.and_then(|gauge| Some((*gauge.values.first()?, *gauge.values.last()?)));
    let Some((first, last)) = ends.filter(|_| outcome.write.latency.count > 0) else { return Vec::new() };
    let sentence = if last < first * (1.0 - LEVEL) && last > 0.0 {
        let after = Nanos((outcome.elapsed.0 as f64 * (first / (first - last))) as u64);
        let [first, last] = [first, last].map(|blocks| count(blocks as u64));
        format!(
            "The free blocks fell from {first} to {last} in this time. The rate will fall when they are used up, after about \
             {after} of such writes."
        )
    } else if inside.state == "steady" {
        "The device began in its steady state: what had to fall has fallen, and the rate lasts.".to_owned()
    } else {
        return Vec::new();
    };
    vec![sentence]
}

fn fall(fall: &Fall) -> String {
    let (what, then) = match fall.gauge.as_str() {
        Gauge::FREE_BLOCKS => (
            "the free blocks were used up",
            "Since then a write waits until garbage collection has emptied a block, by moving what is still valid \
             in it.",
        ),
        Gauge::SLC_PAGES => (
            "the fast SLC cache was full",
            "Since then writes go to the slow cells, or wait until the cache has been moved there.",
        ),
        Gauge::BUFFERED_PAGES => {
            ("the write buffer was full", "Since then a write waits for the flash itself.")
        }
        _ => return other_fall(fall),
    };
    let [first, last] = [fall.first, fall.last].map(|gauge| count(gauge as u64));
    format!("At {} {what} ({first} at first, {last} then), and {}. {then}", fall.at, rate_fell(fall))
}

fn rate_fell(fall: &Fall) -> String {
    format!("the rate fell from {} to {} IOPS", rate(fall.before), rate(fall.after))
}

fn other_fall(fall: &Fall) -> String {
    let verb = if fall.last < fall.first { "fallen" } else { "risen" };
    let [first, last] = [fall.first, fall.last].map(|gauge| significant(gauge, 4));
    format!("At {} `{}` had {verb} from {first} to {last}, and {}.", fall.at, fall.gauge, rate_fell(fall))
}

fn amplification(flash: &FlashUse) -> Option<String> {
    if flash.pages_host == 0 {
        return None;
    }
    let (factor, page) = (flash.write_amplification, flash.page);
    let moved = flash.pages_moved as f64 / flash.pages_host as f64;
    let went = if flash.pages_moved > 0 {
        format!(
            "for each page of {page} that was written for the host, {moved:.2} more were moved out of blocks to be \
             erased, so {} of what the flash can write was left for the host.",
            share(1.0 / flash.collector_factor())
        )
    } else {
        format!(
            "what was written for the host, in pages of {page}, was written once; nothing had to be moved."
        )
    };
    let met = flash.spared().map_or_else(String::new, |spared| {
        let spared = share(spared);
        format!(" {spared} of what the host wrote was written again in the write buffer, or is still there.")
    });
    let merged = match flash.pages_merged {
        0 => String::new(),
        pages => format!(" {} pages were read first, since a write was smaller than a page.", count(pages)),
    };
    let apart = by_handle(flash).map_or_else(String::new, |each| format!(" By placement handle: {each}."));
    Some(format!("Write amplification {factor:.2}: {went}{met}{merged}{apart}"))
}

/// Use of the mapping table: how often it was at hand, and what it cost the flash.
pub(crate) fn table_use(used: &MapUse) -> String {
    let MapUse { page, lookups, host_hits, misses, pages_read, pages_programmed } = used;
    let per = |part: u64| share(part as f64 / (*lookups).max(1) as f64);
    let in_host = match host_hits {
        0 => String::new(),
        &hits => format!(", {} in the host's memory", per(hits)),
    };
    format!(
        "{} of {} look-ups of reads found their entry on flash only{in_host}; pages of {page} read: {}, written: {}",
        per(*misses),
        count(*lookups),
        count(*pages_read),
        count(*pages_programmed)
    )
}

/// Pages written to flash per page that each placement handle wrote, and what was moved of all together.
pub(crate) fn by_handle(flash: &FlashUse) -> Option<String> {
    let (mixed, handles) = flash.streams.split_last()?;
    let one = |(number, stream): (u32, &StreamUse)| Some(format!("{number} {:.2}", stream.amplification()?));
    let each: Vec<String> = (1..).zip(handles).filter_map(one).collect();
    let mixed = match mixed.pages_moved {
        0 => String::new(),
        pages => format!("; {} pages were moved out of blocks in which handles meet", count(pages)),
    };
    Some(format!("{}{mixed}", each.joined(", ")))
}

/// I/Os of an array's members for one of the host, and what they were.
fn members(used: &RaidUse) -> String {
    let [read, write] = used.per_host_io();
    let each = [(read, "read"), (write, "write")].into_iter();
    let each: Vec<String> =
        each.filter_map(|(ios, kind)| Some(format!("{:.2} for each {kind} of the host", ios?))).collect();
    let without = match used.failed {
        0 => String::new(),
        failed => format!(", {failed} of which failed"),
    };
    let ios = if each.is_empty() { "none for the host".to_owned() } else { each.joined(", ") };
    let [reads, writes, parity_reads, parity_writes] =
        [used.reads_data, used.writes_data, used.reads_parity, used.writes_parity].map(count);
    let parity = if used.reads_parity + used.writes_parity > 0 {
        format!(", {parity_reads} and {parity_writes} of parity")
    } else {
        String::new()
    };
    let full = match used.stripes_written {
        0 => String::new(),
        all => {
            format!("; {} of the stripes written were whole", share(used.stripes_full as f64 / all as f64))
        }
    };
    format!(
        "RAID-{} of {}{without}: I/Os of members, {ios}; {reads} reads and {writes} writes of data{parity}{full}.",
        used.level, used.members
    )
}

fn rebuild(used: &RaidUse) -> Option<String> {
    let [reads, writes] = [used.reads_rebuild, used.writes_rebuild].map(count);
    let done = used.rebuilt;
    (used.reads_rebuild > 0)
        .then(|| format!("{done} of each failed member rebuilt since the start; {reads} reads, {writes} writes in this time."))
}

/// Over-provisioning, and what of it is free.
fn room(flash: &FlashUse) -> String {
    let part = share(flash.blocks_free as f64 / flash.blocks.max(1) as f64);
    let ([free, all], larger) =
        ([flash.blocks_free, flash.blocks].map(count), share(flash.over_provisioning));
    format!(
        "{free} of {all} are free at the end ({part}); the flash is {larger} larger than what the host sees."
    )
}

fn wear(flash: &FlashUse) -> String {
    let (least, most, mean) = (flash.wear_min, flash.wear_max, significant(flash.wear_mean, 3));
    if most == 0 {
        return "No block was erased since it was new.".to_owned();
    }
    format!(
        "{} erases in this time; each block was erased {least} to {most} times since it was new, {mean} on average.",
        count(flash.erases)
    )
}

#[cfg(test)]
mod tests {
    use iostack_model::Stage;

    use super::*;
    use crate::fixture;

    fn sustained() -> Outcome {
        fixture::simulated_file().outcomes.swap_remove(0)
    }

    fn inside(outcome: &Outcome) -> &Inside {
        outcome.inside.as_ref().expect("the fixture is simulated")
    }

    #[test]
    fn an_array_says_what_one_io_of_the_host_costs_it() {
        let used = RaidUse {
            level: "5".to_owned(),
            members: 4,
            writes_host: 100,
            reads_data: 100,
            writes_data: 100,
            reads_parity: 100,
            writes_parity: 100,
            for_writes: 400,
            stripes_written: 100,
            ..RaidUse::default()
        };
        let text = "RAID-5 of 4: I/Os of members, 4.00 for each write of the host; 100 reads and 100 writes of data, \
                    100 and 100 of parity; 0 % of the stripes written were whole.";
        assert_eq!((members(&used).as_str(), rebuild(&used)), (text, None));
        let rebuilding = RaidUse { failed: 1, reads_rebuild: 30, writes_rebuild: 10, ..RaidUse::default() };
        assert!(members(&rebuilding).contains(", 1 of which failed: I/Os of members, none for the host"));
        assert!(rebuild(&rebuilding).is_some_and(|text| text.contains("30 reads, 10 writes")));
    }

    #[test]
    fn a_fall_is_explained_by_the_gauge_that_ended_there() {
        let made = sustained();
        let falls = falls(&made, inside(&made));
        let [fall] = &falls[..] else { panic!("{falls:?}") };
        assert_eq!(fall.gauge, "free blocks");
        assert!(fall.after < fall.before / 2.0 && fall.last < fall.first / 10.0, "{fall:?}");
        let told = over_time(&made, inside(&made)).concat();
        assert!(
            told.contains("the free blocks were used up") && told.contains("garbage collection"),
            "{told}"
        );
    }

    #[test]
    fn what_held_the_slowest_request_is_told_with_its_longest_stages_first() {
        let made = sustained();
        let mut flow = inside(&made).flows[0].clone();
        assert_eq!(slowest(&flow), None, "the fixture is older");
        let stages = [(Stage::Link, 5_000), (Stage::Controller, 7_000), (Stage::Buffer, 300_000)];
        flow.slowest = stages.map(|(stage, time)| (stage, Nanos(time))).to_vec();
        flow.slowest.push((Stage::Collect, Nanos(9_000_000)));
        flow.whole.max_ns = 9_312_000;
        let (way, told) = (flow.direction.name(), slowest(&flow).expect("it is known"));
        let begins =
            format!("The slowest {way} took 9.31 ms: 9 ms collect (waiting for garbage collection), ");
        assert!(told.starts_with(&begins) && told.ends_with("5 us in other stages."), "{told}");
    }

    #[test]
    fn a_gauge_that_ends_while_the_rate_holds_explains_nothing() {
        let mut made = sustained();
        for element in &mut made.series {
            element.ios = [0, 1000, 0];
        }
        assert_eq!(falls(&made, inside(&made)), []);
        let mut level = sustained();
        let gauges = &mut level.inside.as_mut().expect("the fixture is simulated").gauges;
        for gauge in gauges {
            gauge.values.fill(100.0);
        }
        assert_eq!(falls(&level, inside(&level)), []);
    }

    #[test]
    fn two_falls_are_told_in_their_order() {
        let mut made = sustained();
        let elements = made.series.len();
        let device = made.inside.as_mut().expect("the fixture is simulated");
        let full = |index: usize| if index < 5 { index as f64 * 200.0 } else { 1000.0 };
        device.gauges.push(Gauge { name: "slc pages".to_owned(), values: (0..elements).map(full).collect() });
        for element in &mut made.series[..5] {
            element.ios[1] *= 3;
        }
        let told = falls(&made, inside(&made));
        let names: Vec<&str> = told.iter().map(|fall| fall.gauge.as_str()).collect();
        assert_eq!(names, ["slc pages", "free blocks"]);
        assert!(told[0].after > told[1].after && told[0].before > told[1].before, "{told:?}");
    }

    #[test]
    fn a_run_that_ends_before_the_cliff_says_when_it_will_come() {
        let mut made = sustained();
        for element in &mut made.series {
            element.ios = [0, 1000, 0];
        }
        let elements = made.series.len() as f64;
        let device = made.inside.as_mut().expect("the fixture is simulated");
        for (index, value) in device.gauges[0].values.iter_mut().enumerate() {
            *value = 9000.0 - 4500.0 * index as f64 / (elements - 1.0);
        }
        let told = over_time(&made, inside(&made)).concat();
        let twice = Nanos(made.elapsed.0 * 2).to_string();
        assert!(told.contains("from 9,000 to 4,500") && told.contains(&twice), "{told}");
    }

    #[test]
    fn gauges_of_any_length_and_value_are_survived() {
        for values in [vec![], vec![f64::NAN; 200], vec![0.0; 200], vec![1.0, 2.0], vec![f64::INFINITY; 400]]
        {
            let mut made = sustained();
            let device = made.inside.as_mut().expect("the fixture is simulated");
            device.gauges[0].values = values;
            assert_eq!(falls(&made, inside(&made)), []);
            over_time(&made, inside(&made));
        }
    }
}
