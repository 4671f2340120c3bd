//! The path through a simulated machine, from the application to its drives, as a drawing of letters.

use iostack_model::answers::{DeviceLevel, DevicePicture, LevelName};
use iostack_model::{Outcome, ResourceUse};

use super::part_letters::{COLUMNS, INSIDE, STEP, boxed, repeated};
use super::{columns, wrapped};
use crate::pages::job_words::asked;
use crate::platform::{Parts, parts};
use crate::text::WIDTH;
use crate::text::format::{count, cut, megabytes, paragraph, percent, rate, time};
use crate::text::glyphs::bar;
use crate::what_if::{limiting, plural};

/// Cells of the bar of a busy share.
const BUSY: usize = 20;

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
        let joined = if level.count >= above { columns.min(super::columns(above, COLUMNS)) } else { columns };
        out += &repeated("|", joined);
        out += &match level.name {
            LevelName::Core => host_box(level, &cut, limit),
            LevelName::Adapter => row(level, &cut.adapter, limit, columns),
            _ => row(level, &cut.drive, limit, columns),
        };
        above = level.count;
    }
    out
}

fn application(outcome: Option<&Outcome>) -> String {
    let Some(outcome) = outcome else { return "  application\n".to_owned() };
    let mut text = paragraph("  application  ", &asked(outcome));
    let latency = outcome.latency();
    let (rate, bandwidth) = (rate(outcome.rate()), megabytes(outcome.bandwidth()));
    let (mean, ios) = (time(latency.mean_ns()), count(latency.count));
    let told = format!("{rate} IOPS, {bandwidth} MB/s, mean latency {mean} ({ios} I/Os, simulated)");
    text += &paragraph(&format!("      |{:8}", ""), &told);
    text
}

/// Cores, and what else of the host is shared.
fn host_box(level: &DeviceLevel, cut: &Parts<'_>, limit: Option<&str>) -> String {
    let title = if level.count == 1 { "1 core".to_owned() } else { format!("{} cores", level.count) };
    let mut lines = wrapped(&format!("{title}: {}", level.facts.join(", ")), INSIDE, "  ");
    lines.extend(cut.host.iter().map(|used| usage(used, limit)));
    boxed(&lines)
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
    let line = format!("+{}+", "-".repeat(STEP - 2));
    let short = level.name.name().chars().take(STEP - 2).collect::<String>();
    let mut out = repeated(&line, columns) + &repeated(&format!("|{short:^7}|"), columns);
    let most = uses.iter().map(|used| used.busy).fold(f64::NAN, f64::max);
    if most.is_finite() {
        out += &repeated(&format!("|{:^7}|", format!("{:.0} %", most * 100.0)), columns);
    }
    out += &repeated(&line, columns);
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
