//! Where the latency goes, while it is traced.

use iostack_model::{Bins, DeviceStages, Part, Stages, Way, WayStages};

use super::format::{brief, clean, cut, percent, supported, time};
use super::glyphs::bar;
use crate::pages::stages::{counted, mean, ratio};

/// Columns; the last one stays free so that no terminal wraps.
const WIDTH: usize = 79;
/// Cells of the bar of a stage.
const BAR: usize = 23;

/// The live block of at most 17 lines of 79 columns: totals, then the stages of the way that took most of the time.
pub fn live_stages(stages: &Stages) -> String {
    let seconds = stages.elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { stages.ios as f64 / seconds } else { 0.0 };
    let lost =
        if stages.lost > 0 { format!(", {} EVENTS LOST", brief(stages.lost as f64)) } else { String::new() };
    let counted =
        format!("{} {}, {} per second{lost}", brief(stages.ios as f64), counted(stages), brief(rate));
    let room = WIDTH.saturating_sub(counted.chars().count() + 11);
    let mut text =
        format!("{}  {:>7}  {counted}\n", cut(&stages.subject, room.min(30)), time(stages.elapsed.0 as f64));
    let ways = Way::ALL.into_iter().filter_map(|way| stages.way(way));
    let ways: Vec<String> =
        ways.map(|way| format!("{} {}", way.way.name(), brief(way.whole.count as f64))).collect();
    if !ways.is_empty() {
        text += &(cut(&ways.join("; "), WIDTH) + "\n");
    }
    let most = stages.ways.iter().max_by_key(|way| way.whole.sum_ns).filter(|way| way.whole.count > 0);
    match most {
        Some(way) => text += &live_table(way),
        None if stages.devices.is_empty() => text += "waiting for the first I/O\n",
        None => {
            text += &live_head("DEVICE, ITS BIOS");
            text += &stages.devices.iter().take(11).map(live_device).collect::<String>();
        }
    }
    clean(&text)
}

fn live_device(device: &DeviceStages) -> String {
    live_row(&cut(&device.name, 10), 1.0, &device.whole, &device.whole)
}

/// The platform with its stages; transport and device are a stage each.
fn live_table(way: &WayStages) -> String {
    let mut text = live_head(&way.way.name().to_uppercase());
    for part in Part::ALL {
        let own: Vec<_> = way.stages.iter().filter(|(stage, _)| stage.part() == part).collect();
        let share = way.part_share(part);
        if let (Part::Transport | Part::Device | Part::Journal, [(_, bins)]) = (part, &own[..]) {
            text += &live_row(&part.name().to_uppercase(), share, bins, &way.whole);
            continue;
        }
        if own.is_empty() {
            continue;
        }
        let sums = format!("{:>8}{:>9}", percent(share), time(way.part_mean_ns(part)));
        text += &format!("{:<11}{}{sums}\n", part.name().to_uppercase(), bar(share, 1.0, BAR));
        for (stage, bins) in own {
            let share = ratio(bins.sum_ns as f64, way.whole.sum_ns as f64);
            text += &live_row(&format!("  {}", stage.name()), share, bins, &way.whole);
        }
    }
    text
}

fn live_head(what: &str) -> String {
    format!("{:<34}{:>8}{:>9}{:>9}{:>9}{:>9}\n", cut(what, 34), "%", "mean", "p50", "p99", "p99.9")
}

fn live_row(name: &str, share: f64, bins: &Bins, whole: &Bins) -> String {
    let drawn = if whole.sum_ns > 0 && bins.sum_ns > 0 { bar(share, 1.0, BAR) } else { " ".repeat(BAR) };
    format!(
        "{name:<11}{drawn}{:>8}{:>9}{:>9}{:>9}{:>9}\n",
        percent(share),
        mean(bins),
        supported(bins, 0.5),
        supported(bins, 0.99),
        supported(bins, 0.999)
    )
}

#[cfg(test)]
mod tests {
    use iostack_model::Stage;

    use super::*;
    use crate::fixture;

    #[test]
    fn the_live_block_has_at_most_seventeen_lines_and_leaves_the_last_column_free() {
        let mut open_loop: Stages = fixture::answer("stages");
        let late = open_loop.ways[0].stages[0].1.clone();
        let stages = &mut open_loop.ways[0].stages;
        stages.insert(0, (Stage::Late, late.clone()));
        stages.extend([
            (Stage::Preempted, late.clone()),
            (Stage::Journal, late.clone()),
            (Stage::Wait, late),
        ]);
        let mut device = fixture::stages_of_process();
        device.ways.clear();
        device.devices = vec![device.devices[0].clone(); 40];
        "x\u{1b}".repeat(150).clone_into(&mut device.subject);
        let nothing = Stages { ways: Vec::new(), devices: Vec::new(), ios: 0, ..open_loop.clone() };
        for made in [open_loop, device, nothing, fixture::stages_of_process()] {
            let block = live_stages(&made);
            assert!(block.lines().count() <= 17 && !block.contains('\u{1b}'), "{block}");
            assert!(block.lines().all(|line| line.chars().count() <= WIDTH), "{block}");
        }
    }
}
