//! Who uses the storage of this host, what was slow, and why?

use iostack_model::Direction;
use iostack_model::answers::{
    OwnedHow, OwnedIo, ProcessWait, WaitCause, Watch, WatchSlice, WatchedHeat, Why, WhyFinding,
};

use super::watch_groups::{cgroup, group_table};
use crate::document::{Block, Column, Document, Marks, Section, Table};
use crate::heat::HeatMap;
use crate::html::numbers::date;
use crate::text::format::{count, cut, megabytes, percent, rate, time};
use crate::text::heat;

/// Rows of a table on a screen; a page folds the others.
const ROWS: usize = 12;
/// Devices whose latency is drawn: those with the most I/Os.
const DRAWN: usize = 3;
/// Columns of a name.
const NAME: usize = 15;

/// Document of `iostack watch` at its end.
pub fn watch(watch: &Watch) -> Document {
    let whole = &watch.whole;
    let mut all = Document::new("iostack watch");
    all.beside = vec![format!("{:.0} s", whole.elapsed.as_secs_f64())];
    all.origin = vec![format!("iostack {}", watch.iostack)];
    all.unjudged = true;
    all.measured_on(watch.started_unix_ms, &watch.machine, &[]);
    (all.answers, all.answer) = ("SEEN", seen(whole));
    all.head.fact("cost", cost(whole, watch.cpus));
    if whole.lost + whole.missed > 0 {
        all.head.fact(
            "lost",
            format!(
                "{} events or rows found no place, {} came while the program was at work: sums are too low",
                count(whole.lost),
                count(whole.missed)
            ),
        );
    }
    let mut owners = Section::new("owners", "Owners", "Whose I/O it is");
    owners.put(Block::Table(owner_table(whole)));
    if let Some(groups) = group_table(whole) {
        owners.put(Block::Table(groups));
    }
    let mut waits = Section::new("waiting", "Waiting", "Who waited");
    waits.put(Block::Table(wait_table(whole)));
    let mut devices = Section::new("devices", "Devices", "How long I/Os took");
    for each in busiest(watch) {
        devices.put(Block::Heading(format!("{}: how many I/Os took how long", drawn(each))));
        if let Some(map) = HeatMap::of_heat(&each.heat) {
            devices.put(Block::Heat(map, drawn(each), ios_of(whole, &each.device), Marks::default()));
        }
    }
    for section in [owners, waits, devices].into_iter().rev() {
        all.sections.insert(0, section);
    }
    all.next = Some(("iostack why".to_owned(), "what held the slow ones"));
    all.data(watch);
    all
}

fn seen(whole: &WatchSlice) -> String {
    let ios: u64 = whole.ios.iter().map(|row| row.ios).sum();
    let owned: u64 = whole.ios.iter().filter(|row| row.is_owned()).map(|row| row.ios).sum();
    if ios == 0 {
        return "no I/O in this time".to_owned();
    }
    let devices = whole.devices.len();
    format!(
        "{} I/Os of {devices} device{}, {} of them with an owner; {} slow, {} long sleeps",
        count(ios),
        if devices == 1 { "" } else { "s" },
        percent(owned as f64 / ios as f64) + " %",
        count(whole.slow.len() as u64),
        count(whole.sleeps.len() as u64)
    )
}

fn ios_of(whole: &WatchSlice, device: &str) -> String {
    let found = whole.devices.iter().find(|each| each.name == device);
    let seen = found.map_or(0, |device| device.cells.iter().map(|(_, ios)| ios).sum::<u64>());
    let kernel = found.map_or(0, |device| device.kernel_ios);
    format!("{} I/Os seen to end; the kernel's own statistics count {}", count(seen), count(kernel))
}

fn cost(whole: &WatchSlice, cpus: u32) -> String {
    let ios: u64 = whole.ios.iter().map(|row| row.ios).sum();
    let host_ns = whole.elapsed.0.max(1) as f64 * f64::from(cpus.max(1));
    let own = percent(whole.own_cost_ns as f64 / host_ns);
    if whole.kernel_cost_ns == 0 && whole.runs > 0 {
        return format!(
            "{} runs of programs in the kernel, not timed (that needs root); {own} % in this program",
            count(whole.runs)
        );
    }
    let per_io = if ios == 0 {
        String::new()
    } else {
        format!(", {} an I/O", time(whole.kernel_cost_ns as f64 / ios as f64))
    };
    format!(
        "{} % of the host's CPU time in the kernel{per_io}, and {own} % in this program",
        percent(whole.kernel_cost_ns as f64 / host_ns)
    )
}

fn named(name: &str, process: u32) -> String {
    match (name, process) {
        ("", 0) => "-".to_owned(),
        ("", process) => process.to_string(),
        (name, _) => cut(name, NAME),
    }
}

/// Rows of owners, the one with most device time first; those of one process, device, kind and way are one.
fn owner_table(whole: &WatchSlice) -> Table {
    let mut table = Table::new(vec![
        Column::words("owner"),
        Column::words("cgroup").light(3),
        Column::words("device"),
        Column::words("kind"),
        Column::number("IOPS"),
        Column::number("MB/s"),
        Column::number("queued"),
        Column::number("device"),
        Column::words("how").light(2),
    ]);
    table.shown = ROWS;
    let seconds = whole.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut rows: Vec<&OwnedIo> = whole.ios.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse((row.device_ns + row.queue_ns, row.bytes)));
    for row in rows {
        let mean = |sum: u64| if row.ios == 0 { "-".to_owned() } else { time(sum as f64 / row.ios as f64) };
        let owner =
            if row.is_owned() { named(&row.owner.name, row.owner.process) } else { "unowned".to_owned() };
        let how = match (row.how, row.owner.name.as_str()) {
            (OwnedHow::Kernel, name) if !name.is_empty() => cut(name, NAME),
            (how, _) => how.words().to_owned(),
        };
        table.row([
            owner,
            cgroup(&row.owner.cgroup),
            row.device.clone(),
            row.kind.name().to_owned(),
            rate(row.ios as f64 / seconds),
            megabytes(row.bytes as f64 / seconds),
            mean(row.queue_ns),
            mean(row.device_ns),
            how,
        ]);
    }
    "queued: mean time from the first bio to the issue; device: from there to the end"
        .clone_into(&mut table.page_caption);
    table
}

fn wait_table(whole: &WatchSlice) -> Table {
    let mut table = Table::of(&["process", "cgroup", "sleeps/s", "asleep %", "ready %", "CPU %", "kernel %"]);
    table.columns[1] = Column::words("cgroup").light(1);
    table.shown = ROWS;
    let seconds = whole.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut rows: Vec<&ProcessWait> = whole.waits.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.slept_ns + row.runnable_ns));
    for row in rows {
        let share = |ns: u64| percent(ns as f64 / 1e9 / seconds);
        table.row([
            named(&row.owner.name, row.owner.process),
            cgroup(&row.owner.cgroup),
            rate(row.sleeps as f64 / seconds),
            share(row.slept_ns),
            share(row.runnable_ns),
            share(row.cpu_ns),
            share(row.kernel_ns),
        ]);
    }
    let interrupts: u64 = whole.interrupts_ns.iter().sum();
    if interrupts > 0 {
        let share = percent(interrupts as f64 / 1e9 / seconds);
        table.row(["unowned", "interrupts", "-", "-", "-", "-", &share]);
    }
    "asleep: for an I/O, or where only the awaited event wakes; ready: woken, without a CPU; kernel: CPU time of \
     the kernel's own threads for it, or in interrupts for nobody; threads add up, so that more than 100 % can be"
        .clone_into(&mut table.page_caption);
    table
}

/// Latencies over time of the devices with most I/Os.
fn busiest(watch: &Watch) -> Vec<&WatchedHeat> {
    let ios = |name: &str| {
        let found = watch.whole.devices.iter().find(|device| device.name == name);
        found.map_or(0, |device| device.cells.iter().map(|(_, ios)| ios).sum::<u64>())
    };
    let mut names: Vec<&str> = watch.heat.iter().map(|each| each.device.as_str()).collect();
    names.dedup();
    names.sort_by_key(|name| std::cmp::Reverse(ios(name)));
    names.truncate(DRAWN);
    names.iter().flat_map(|name| watch.heat.iter().filter(move |each| each.device == *name)).collect()
}

/// Title of a map: `vda, reads`.
fn drawn(each: &WatchedHeat) -> String {
    format!("{}, {}", each.device, if each.direction == Direction::Read { "reads" } else { "writes" })
}

/// Columns of a live block; the last one of a terminal stays free.
const WIDTH: usize = 79;
/// Owners and waiting processes in a live block.
const LIVE: (usize, usize) = (6, 4);

/// The block that `iostack watch` redraws: the busiest device over time, then who uses and who waits in the `last` interval.
pub fn live_watch(watch: &Watch, last: &WatchSlice) -> String {
    let mut text = String::new();
    let most = |each: &&WatchedHeat| each.heat.columns.iter().flatten().map(|(_, ios)| ios).sum::<u64>();
    if let Some(each) = busiest(watch).into_iter().max_by_key(most)
        && let Some(map) = HeatMap::of_heat(&each.heat)
    {
        text.extend([&drawn(each), "\n", &heat::low(&map)]);
    }
    let rows = |table: &Table, most: usize| {
        let mut section = Section::default();
        let rows = table.rows.len().min(most);
        let mut small = Table::new(table.columns.clone());
        for row in &table.rows[..rows] {
            small.row(row.cells.iter().map(|cell| cell.text.clone()));
        }
        section.put(Block::Table(small));
        section
    };
    let mut all = Document::new("");
    all.unjudged = true;
    all.sections = vec![rows(&owner_table(last), LIVE.0), rows(&wait_table(last), LIVE.1)];
    let tables = all.text();
    let lines = tables.lines().filter(|line| !line.trim().is_empty()).map(|line| cut(line, WIDTH));
    text += &lines.map(|line| line + "\n").collect::<Vec<_>>().concat();
    text + &cut(&format!("cost: {}", cost(last, watch.cpus)), WIDTH) + "\n"
}

/// Words for a cause.
pub(crate) fn cause_of_wait(cause: WaitCause) -> &'static str {
    match cause {
        WaitCause::CgroupLimit => "a cgroup's limit",
        WaitCause::Scheduler => "scheduler or queue",
        WaitCause::Flush => "a flush beside it",
        WaitCause::Discard => "a discard beside it",
        WaitCause::Neighbour => "a neighbour",
        WaitCause::OwnQueue => "its own queue",
        WaitCause::Device => "the device",
        WaitCause::Journal => "the journal",
        WaitCause::Lock => "a lock",
        WaitCause::WriteBack => "write-back",
        WaitCause::Memory => "memory",
        WaitCause::RunQueue => "no CPU free",
        WaitCause::Tag => "no request free",
        WaitCause::Dip => "the device stood still",
        WaitCause::Frozen => "a frozen file system",
        WaitCause::Preempted => "another thread took its CPU",
        WaitCause::Worker => "the device's thread had no CPU",
        WaitCause::Interrupts => "a CPU busy with interrupts",
        WaitCause::Unknown => "not known",
    }
}

/// Document of `iostack why`.
pub fn why(why: &Why) -> Document {
    let mut all = Document::new("iostack why");
    all.beside = vec![format!("the last {:.0} s", why.elapsed.as_secs_f64())];
    all.origin = vec![date(why.started_unix_ms), format!("iostack {}", why.iostack)];
    all.unjudged = true;
    (all.answers, all.answer) = ("BECAUSE OF", answer(why));
    let mut causes = Section::new("causes", "Causes", "What held them");
    causes.put(Block::Table(cause_table(why)));
    let mut slowest = Section::new("slowest", "Slowest", "The slowest, and why");
    for finding in &why.findings {
        let (what, words) = told(finding);
        slowest.fact(what, words);
    }
    all.sections = vec![causes, slowest];
    if !why.notes.is_empty() {
        let mut notes = Section::new("notes", "Notes", "What to know");
        notes.list(why.notes.clone());
        all.sections.push(notes);
    }
    all.next = Some(("iostack watch".to_owned(), "who uses the devices now"));
    all.data(why);
    all
}

fn answer(why: &Why) -> String {
    let Some(&(most, number, total)) = why.causes.first() else {
        return format!("nothing: none of {} I/Os was slow, and nobody slept long", count(why.ios));
    };
    let all: u64 = why.causes.iter().map(|(_, _, total)| total.0).sum();
    let share = percent(total.0 as f64 / all.max(1) as f64);
    format!("{}: {number} of {} slow ones, {share} % of their time", cause_of_wait(most), count(why.slow))
}

fn cause_table(why: &Why) -> Table {
    let mut table = Table::of(&["cause", "slow ones", "time", "mean"]);
    for &(each, number, total) in &why.causes {
        let mean = time(total.0 as f64 / number.max(1) as f64);
        table.row([cause_of_wait(each).to_owned(), count(number), time(total.0 as f64), mean]);
    }
    table
}

/// Time and owner; what it was, its cause, and the evidence.
fn told(finding: &WhyFinding) -> (String, String) {
    let WhyFinding { owner, device, what, sure, evidence, took, .. } = finding;
    let whose = match (owner.name.as_str(), owner.process) {
        ("", 0) => format!("cgroup {}", owner.cgroup),
        (name, process) => format!("{name} [{process}]"),
    };
    let place = if device.is_empty() { String::new() } else { format!(" on {device}") };
    let sure = if *sure { "" } else { ", perhaps" };
    let words = format!(
        "{whose}: {what}{place}. {}{sure}. {}",
        capital(cause_of_wait(finding.cause)),
        evidence.join(" ")
    );
    (time(took.0 as f64), words)
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::pages::tests::sound::assert_fits;

    #[test]
    fn the_live_block_leaves_the_last_column_free_and_has_few_lines() {
        let watched: Watch = fixture::answer("watch");
        let block = live_watch(&watched, &watched.whole);
        assert!(block.lines().all(|line| line.chars().count() <= WIDTH), "{block}");
        assert!(block.lines().count() <= 24, "{block}");
        assert_fits(&block);
    }

    #[test]
    fn the_share_with_an_owner_is_of_all_ios() {
        let watched: Watch = fixture::answer("watch");
        let mut whole = watched.whole;
        whole.ios.truncate(2);
        (whole.ios[0].ios, whole.ios[0].how) = (999, OwnedHow::Itself);
        (whole.ios[1].ios, whole.ios[1].how) = (1, OwnedHow::Unseen);
        assert!(
            seen(&whole).starts_with("1,000 I/Os") && seen(&whole).contains("99.9 %"),
            "{}",
            seen(&whole)
        );
        whole.ios.clear();
        assert_eq!(seen(&whole), "no I/O in this time");
    }

    #[test]
    fn a_cost_that_nobody_timed_is_no_cost_of_nothing() {
        let mut whole =
            WatchSlice { elapsed: iostack_model::Nanos::secs(1), runs: 1234, ..WatchSlice::default() };
        assert!(cost(&whole, 2).starts_with("1,234 runs of programs in the kernel, not timed"));
        whole.kernel_cost_ns = 20_000_000;
        assert!(cost(&whole, 2).starts_with("1.0 % of the host's CPU time"), "{}", cost(&whole, 2));
    }

    #[test]
    fn nothing_slow_is_an_answer_too() {
        let told: Why = fixture::answer("why");
        let nothing = Why { causes: Vec::new(), findings: Vec::new(), slow: 0, ..told };
        assert!(why(&nothing).text().contains("none of"), "{}", why(&nothing).text());
    }
}
