//! The path through a simulated machine, from the application to its drives: what each part costs and how full it is.

use iostack_model::{DeviceCard, DeviceLevel, DevicePicture, HostUse, Outcome, ResourceUse};

use super::WIDTH;
use super::device::{head, numbers_of, tail};
use super::format::{both_ends, clean, count, cut, paragraph, percent, rate};
use super::glyphs::bar;
use super::outcome::asked;
use crate::platform::{Parts, parts};
use crate::what_if::{limiting, plural};

/// Letters inside a box.
const INSIDE: usize = WIDTH - 8;
/// Cells of the bar of a busy share, and of a layer's clocks.
const BUSY: usize = 20;
/// Most boxes side by side, and how far apart they are.
const COLUMNS: usize = 8;
const STEP: usize = 9;

/// The picture of `iostack sim show` for a platform; of a device alone the drawing, and what a run showed.
pub fn picture(picture: &DevicePicture) -> String {
    let card = &picture.card;
    if picture.roles.is_empty() {
        return super::device(card);
    }
    let mut out = head(card);
    out.push('\n');
    out += &path(picture);
    if let Some(outcome) = &picture.run {
        out += &full(outcome);
    }
    out += &numbers_of(card, &format!("platform {}", card.name));
    for (role, member) in picture.roles.iter().zip(&card.members) {
        out.push('\n');
        out += &both_ends(
            &format!("{}: {}", role.rsplit('.').next().unwrap_or(role), member.title),
            &tally(member),
        );
        out += &numbers_of(member, &format!("{role} = {}", member.name));
    }
    out += &tail(card);
    clean(&out)
}

fn tally(card: &DeviceCard) -> String {
    format!("{} sourced, {} fitted, {} assumed", card.sourced, card.fitted, card.assumed)
}

/// Application, host, adapters, drives, from top to bottom.
fn path(picture: &DevicePicture) -> String {
    let outcome = picture.run.as_ref();
    let inside = outcome.and_then(|outcome| outcome.inside.as_ref());
    let cut = inside.map(parts).unwrap_or_default();
    let limit = outcome.and_then(limiting);
    let host = inside.and_then(|inside| inside.host.as_ref());
    let mut out = application(outcome);
    let mut above = 1;
    for level in &picture.card.levels {
        let columns = usize::try_from(level.count).unwrap_or(COLUMNS).clamp(1, COLUMNS);
        out += &marks(if level.count >= above { columns.min(above_columns(above)) } else { columns });
        out += &match level.name.as_str() {
            "core" => host_box(level, host, &cut, limit),
            name => row(level, if name == "adapter" { &cut.adapter } else { &cut.drive }, limit, columns),
        };
        above = level.count;
    }
    out
}

fn above_columns(above: u64) -> usize {
    usize::try_from(above).unwrap_or(COLUMNS).clamp(1, COLUMNS)
}

fn marks(columns: usize) -> String {
    format!("  {}\n", format!("{:^STEP$}", "|").repeat(columns).trim_end())
}

fn application(outcome: Option<&Outcome>) -> String {
    let Some(outcome) = outcome else { return "  application\n".to_owned() };
    let mut text = paragraph("  application  ", &asked(outcome));
    let latency = outcome.latency();
    let told = format!(
        "{} IOPS, {} MB/s, mean latency {} ({} I/Os, simulated)",
        rate(outcome.rate()),
        super::format::megabytes(outcome.bandwidth()),
        super::format::time(latency.mean_ns()),
        count(latency.count)
    );
    text += &paragraph(&format!("      |{:8}", ""), &told);
    text
}

fn edge() -> String {
    format!("  +{}+\n", "-".repeat(INSIDE + 2))
}

fn boxed(text: &str) -> String {
    format!("  | {:<INSIDE$} |\n", cut(text, INSIDE))
}

/// Cores, the clocks of each layer, and what else of the host is shared.
fn host_box(level: &DeviceLevel, host: Option<&HostUse>, cut: &Parts<'_>, limit: Option<&str>) -> String {
    let mut out = edge();
    let title = if level.count == 1 { "1 core".to_owned() } else { format!("{} cores", level.count) };
    for line in wrapped(&format!("{title}: {}", level.facts.join(", ")), INSIDE) {
        out += &boxed(&line);
    }
    for used in &cut.host {
        out += &boxed(&usage(used, limit));
    }
    if let Some(host) = host {
        out += &boxed(&format!("clocks of an I/O: {}", count(host.clocks_per_io.round() as u64)));
        let most = host.layers.iter().map(|layer| layer.clocks).fold(0.0, f64::max);
        for layer in &host.layers {
            let share = if host.clocks_per_io > 0.0 { layer.clocks / host.clocks_per_io } else { 0.0 };
            let (name, clocks) = (cut_name(&layer.name), count(layer.clocks.round() as u64));
            out += &boxed(&format!(
                "  {name:<14}{clocks:>8} {:<BUSY$}{:>6} %",
                bar(layer.clocks, most, BUSY),
                percent(share)
            ));
        }
    }
    out + &edge()
}

fn cut_name(name: &str) -> String {
    cut(name, 13)
}

/// `  die x20       ██████▌                   43.1 %  FULL`
fn usage(used: &ResourceUse, limit: Option<&str>) -> String {
    let name = if used.count > 1 { format!("{} x{}", used.name, used.count) } else { used.name.clone() };
    let drawn = if used.busy > 0.0 { bar(used.busy.min(1.0), 1.0, BUSY) } else { String::new() };
    let one = used.count > 1 && used.busy < crate::inside::USED_UP;
    let told = match (limit == Some(&used.name), used.busiest > used.busy + 0.05) {
        (true, true) if one => format!("  <== ONE FULL, {} %", percent(used.busiest)),
        (true, _) => "  <== FULL".to_owned(),
        (false, true) => format!("  (busiest {} %)", percent(used.busiest)),
        (false, false) => String::new(),
    };
    format!("  {:<21}  {drawn:<BUSY$}{:>6} %{told}", cut(&name, 21), percent(used.busy))
}

/// Boxes side by side, below them what each is and how busy its parts were.
fn row(level: &DeviceLevel, uses: &[&ResourceUse], limit: Option<&str>, columns: usize) -> String {
    let inside = STEP - 4;
    let repeat = |text: &str| format!("  {}\n", format!("{text:^STEP$}").repeat(columns).trim_end());
    let line = format!("+{}+", "-".repeat(inside + 2));
    let short = level.name.chars().take(inside + 2).collect::<String>();
    let mut out = repeat(&line) + &repeat(&format!("|{short:^7}|"));
    let most = uses.iter().map(|used| used.busy).fold(f64::NAN, f64::max);
    if most.is_finite() {
        out += &repeat(&format!("|{:^7}|", format!("{:.0} %", most * 100.0)));
    }
    out += &repeat(&line);
    let drawn = if level.count > COLUMNS as u64 { format!(" ({COLUMNS} drawn)") } else { String::new() };
    let title = if level.count == 1 {
        level.name.clone()
    } else {
        format!("{} {}{drawn}", level.count, plural(&level.name))
    };
    out += &paragraph("  ", &format!("{title}: {}", level.facts.join(", ")));
    for used in uses {
        out += &format!("{}\n", cut(&format!("  {}", usage(used, limit)), WIDTH));
    }
    out
}

/// Lines of at most `width`.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("it begins with one");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(format!("  {word}"));
        }
    }
    lines
}

/// What is full, in a sentence.
fn full(outcome: &Outcome) -> String {
    let Some(inside) = &outcome.inside else { return String::new() };
    let mut text = "\n".to_owned();
    for (label, sentence) in crate::inside::reasons(outcome, inside) {
        if label == "limit" {
            let label = if limiting(outcome).is_some() { "FULL       " } else { "busiest    " };
            text += &paragraph(label, &sentence);
        }
    }
    text
}

/// Clocks of an I/O by layer, with bars, below the tables of a run.
pub(super) fn clocks(host: &HostUse) -> String {
    let head = format!("CLOCKS OF AN I/O BY LAYER ({} cores at {:.2} GHz)", host.cores, host.clock_hz / 1e9);
    let mut text = format!("{head:<58}{:>9}{:>7}\n", "clocks", "%");
    let most = host.layers.iter().map(|layer| layer.clocks).fold(0.0, f64::max);
    for layer in &host.layers {
        let share = if host.clocks_per_io > 0.0 { layer.clocks / host.clocks_per_io } else { 0.0 };
        let clocks = count(layer.clocks.round() as u64);
        text += &format!(
            "{:<18}{:<40}{clocks:>9}{:>7}\n",
            cut(&layer.name, 17),
            bar(layer.clocks, most, 40),
            percent(share)
        );
    }
    text += &format!("{:<58}{:>9}{:>7}\n", "sum", count(host.clocks_per_io.round() as u64), "100.0");
    if host.interrupts > 0 {
        text += &paragraph(
            "interrupts ",
            &format!(
                "{}, {} completions each; {} switches",
                count(host.interrupts),
                super::format::significant(host.completions_per_interrupt, 3),
                count(host.switches)
            ),
        );
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixture;
    use iostack_model::HostLayer;

    fn host() -> HostUse {
        let layer = |name: &str, clocks| HostLayer { name: name.to_owned(), clocks };
        HostUse {
            clock_hz: 2.93e9,
            cores: 8,
            clocks_per_io: 4324.0,
            layers: vec![layer("system call", 924.0), layer("block", 3400.0)],
            interrupts: 1000,
            completions_per_interrupt: 2.5,
            switches: 3,
        }
    }

    pub(crate) fn example() -> DevicePicture {
        let level = |name: &str, count| DeviceLevel {
            name: name.to_owned(),
            count,
            is_way: false,
            facts: vec![
                "2.93 GHz".to_owned(),
                "what there is to know of it, in a few words more than one line has".to_owned(),
            ],
        };
        let mut run = fixture::simulated_file().outcomes.swap_remove(1);
        let inside = run.inside.as_mut().expect("simulated");
        let model = inside.resources[0].clone();
        let used = |name: &str, count, busy| ResourceUse {
            name: name.to_owned(),
            count,
            busy,
            busiest: busy,
            ..model.clone()
        };
        inside.resources =
            vec![used("core", 8, 0.5), used("adapter", 4, 1.0), used("link", 12, 0.2), used("die", 240, 0.3)];
        inside.host = Some(host());
        inside.limit = Some(iostack_model::Limiting {
            name: "adapter".into(),
            busy: 1.0,
            why: "adapter: all are busy.".into(),
        });
        let card = DeviceCard {
            name: "x".into(),
            title: "A machine".into(),
            kind: "platform".into(),
            about: "A machine of a desk.".into(),
            year: None,
            origin: "built in".into(),
            changed: Vec::new(),
            levels: vec![level("core", 8), level("adapter", 4), level("drive", 12)],
            numbers: Vec::new(),
            claims: Vec::new(),
            sources: Vec::new(),
            sourced: 3,
            fitted: 1,
            assumed: 2,
            members: Vec::new(),
        };
        let member = DeviceCard { name: "os".into(), title: "A system".into(), ..card.clone() };
        DevicePicture {
            card: DeviceCard { members: vec![member], ..card },
            roles: vec!["platform.os".into()],
            run: Some(run),
            command: "iostack run --on sim:x".into(),
        }
    }

    #[test]
    fn one_look_says_what_is_full() {
        let text = picture(&example());
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let full: Vec<&str> = text.lines().filter(|line| line.contains("<== FULL")).collect();
        assert!(full.len() == 1 && full[0].contains("adapter x4") && full[0].contains("100.0 %"), "{text}");
        assert!(text.contains("8 cores: 2.93 GHz") && text.contains("system call        924"), "{text}");
        assert!(text.contains("12 drives (8 drawn)"), "{text}");
    }

    #[test]
    fn without_a_run_the_path_is_drawn_alone() {
        let mut bare = example();
        bare.run = None;
        let text = picture(&bare);
        assert!(!text.contains('%') && text.contains("4 adapters"), "{text}");
    }

    #[test]
    fn clocks_of_layers_fit_and_add_up() {
        let text = clocks(&host());
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.contains("4,324") && text.contains("78.6"), "{text}");
    }
}
