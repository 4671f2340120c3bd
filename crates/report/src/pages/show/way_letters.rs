//! The path through a simulated machine, from the application to its drives, as a drawing of letters.

use iostack_model::answers::{DeviceLevel, DevicePicture, LevelName};
use iostack_model::{Outcome, ResourceUse};

use super::{columns, wrapped};
use crate::pages::job_words::asked;
use crate::platform::{Parts, parts};
use crate::text::WIDTH;
use crate::text::format::{count, cut, megabytes, paragraph, percent, rate, time};
use crate::text::glyphs::bar;
use crate::what_if::{limiting, plural};

/// Letters inside a box.
const INSIDE: usize = WIDTH - 8;
/// Cells of the bar of a busy share.
const BUSY: usize = 20;
/// Most boxes side by side, and how far apart they are.
const COLUMNS: usize = 8;
const STEP: usize = 9;

/// Application, host, adapters, drives, from top to bottom.
pub(super) fn path(picture: &DevicePicture) -> String {
    let outcome = picture.run.as_ref();
    let inside = outcome.and_then(|outcome| outcome.inside.as_ref());
    let cut = inside.map(parts).unwrap_or_default();
    let limit = outcome.and_then(limiting);
    let mut out = application(outcome);
    let mut above = 1;
    for level in &picture.card.levels {
        let columns = columns(level.count, COLUMNS);
        out +=
            &marks(if level.count >= above { columns.min(super::columns(above, COLUMNS)) } else { columns });
        out += &match level.name {
            LevelName::Core => host_box(level, &cut, limit),
            LevelName::Adapter => row(level, &cut.adapter, limit, columns),
            _ => row(level, &cut.drive, limit, columns),
        };
        above = level.count;
    }
    out
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
        megabytes(outcome.bandwidth()),
        time(latency.mean_ns()),
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

/// Cores, and what else of the host is shared.
fn host_box(level: &DeviceLevel, cut: &Parts<'_>, limit: Option<&str>) -> String {
    let mut out = edge();
    let title = if level.count == 1 { "1 core".to_owned() } else { format!("{} cores", level.count) };
    for line in wrapped(&format!("{title}: {}", level.facts.join(", ")), INSIDE, "  ") {
        out += &boxed(&line);
    }
    for used in &cut.host {
        out += &boxed(&usage(used, limit));
    }
    out + &edge()
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
    let short = level.name.name().chars().take(inside + 2).collect::<String>();
    let mut out = repeat(&line) + &repeat(&format!("|{short:^7}|"));
    let most = uses.iter().map(|used| used.busy).fold(f64::NAN, f64::max);
    if most.is_finite() {
        out += &repeat(&format!("|{:^7}|", format!("{:.0} %", most * 100.0)));
    }
    out += &repeat(&line);
    let drawn = if level.count > COLUMNS as u64 { format!(" ({COLUMNS} drawn)") } else { String::new() };
    let title = if level.count == 1 {
        level.name.to_string()
    } else {
        format!("{} {}{drawn}", level.count, plural(level.name.name()))
    };
    out += &paragraph("  ", &format!("{title}: {}", level.facts.join(", ")));
    for used in uses {
        out += &format!("{}\n", cut(&format!("  {}", usage(used, limit)), WIDTH));
    }
    out
}
