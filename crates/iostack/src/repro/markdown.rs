//! The pages of the manual: `docs/repro.md` of what is simulated, `docs/lab-results.md` of what the lab counts.

#![expect(
    clippy::format_push_string,
    reason = "a page is made once; `write!` would return an error that cannot happen"
)]

use std::collections::BTreeSet;

use iostack_model::{IoCost, Repro, ReproCurve, ReproVerdict, Reproduced};

/// Where the page finds its figures.
const IMAGES: &str = "images/repro";

/// The name of a figure's file.
pub(crate) fn file(id: &str, index: usize) -> String {
    if index == 0 { format!("{id}.svg") } else { format!("{id}-{}.svg", index + 1) }
}

/// The page.
pub(crate) fn page(repro: &Repro) -> String {
    let mut text = String::from(if repro.is_counted() { LAB_HEAD } else { HEAD });
    text += "| experiment | claim | claimed | ours | difference | verdict |\n| --- | --- | --- | --- | --- | --- |\n";
    for one in &repro.experiments {
        for verdict in &one.verdicts {
            text += &format!("| [{}](#{}) | {} |\n", one.id, one.id, cells(verdict));
        }
    }
    text + &repro.experiments.iter().map(section).collect::<Vec<_>>().concat()
}

const HEAD: &str = "\
# Published experiments, made again

What was measured on devices that nobody sells any more, asked again of simulated ones. This page is written by
`iostack repro --markdown --svg docs/images/repro`; a test compares. Run `iostack repro` to see it yourself, with
`--html FILE` for a page with plots. It ends in exit 1 when a claim does not hold.

A **value** must come out within the tolerance that stands beside it, a **shape** must pass the named test. The files of
[experiments/](../experiments) say what is run and what is asked; `experiments/published.toml` has what was published.
Where a number of the device was *fitted* to the claim, agreement proves only that the device can be so; the others are
predictions.

What the lab counts instead is on [lab-results.md](lab-results.md). It boots machines, so that `iostack repro` alone never
means it: ask for it by name (`iostack repro lab-layers`) or for all of it with `iostack repro --lab`.

";

const LAB_HEAD: &str = "\
# The lab's results

Instructions of one I/O, counted exactly, beside what was published and what this lab's prototypes counted. This page is
written by `iostack repro --lab --markdown`, which boots about 30 machines, half a minute each on two quiet cores; no test
compares, since a new package of the kernel gives new numbers. A part of it: `iostack repro lab-layers`, or any of the
commands under it. [lab.md](lab.md) says how it is counted. Every case: 4 KiB, one at a time, one processor, the mode of
1,000 I/Os (never a mean), mitigations off unless said otherwise. `iostack repro --lab` ends in exit 1 when a claim does
not hold, and some do not: a kernel of 2008 is no kernel of today, and an instruction is no clock.

";

fn cells(verdict: &ReproVerdict) -> String {
    let holds = match verdict.holds {
        Some(true) if verdict.fitted.is_empty() => "holds",
        Some(true) => "holds (fitted)",
        Some(false) => "**fails**",
        None => "**unknown**",
    };
    let difference = verdict.difference.map_or("-".to_owned(), |share| format!("{:+.1} %", share * 100.0));
    let cell = |text: &str| text.replace('|', "\\|");
    [cell(&verdict.says), verdict.claimed.clone(), cell(&verdict.ours), difference, holds.to_owned()]
        .join(" | ")
}

fn section(one: &Reproduced) -> String {
    let mut text = format!("\n## {}\n\n{}.\n\n*{}.*\n\n", one.id, one.title, one.source);
    let how = if one.is_counted() { "Counted" } else { "Simulated" };
    text += &format!("Measured: {}\n\n{how}: {}\n\n", one.measured, one.simulated);
    for (index, plot) in one.plots.iter().enumerate() {
        text += &format!("![{}]({IMAGES}/{})\n\n", plot.heading, file(&one.id, index));
    }
    text += "| claim | asked | claimed | ours | fitted to it |\n| --- | --- | --- | --- | --- |\n";
    for verdict in &one.verdicts {
        let fitted: Vec<String> = verdict.fitted.iter().map(|key| format!("`{key}`")).collect();
        let fitted = if fitted.is_empty() { "-".to_owned() } else { fitted.join(", ") };
        text += &format!(
            "| `{}` | {} | {} | {} | {fitted} |\n",
            verdict.claim,
            verdict.test,
            verdict.claimed,
            verdict.ours.replace('|', "\\|")
        );
    }
    if one.is_counted() {
        return text + &one.curves.iter().map(table).collect::<Vec<_>>().concat();
    }
    text += "\n```sh\n";
    for curve in &one.curves {
        let points = curve.points.len();
        if let Some(point) = curve.points.last() {
            let more = if points > 1 {
                format!("    # and {} more of this curve", points - 1)
            } else {
                String::new()
            };
            text += &format!("{}{more}\n", point.command);
        }
    }
    text + "```\n"
}

/// The cases of a curve side by side, layer by layer, and the command of the last.
fn table(curve: &ReproCurve) -> String {
    let costs: Vec<(&str, &IoCost)> =
        curve.points.iter().filter_map(|point| Some((point.at.as_str(), point.cost.as_ref()?))).collect();
    let mut text = format!("\n### {}\n\n", curve.name);
    for point in &curve.points {
        if let Some(error) = &point.error {
            let why = error.lines().next().unwrap_or_default();
            text += &format!("{} {}: not counted: {why}\n\n", curve.varied, point.at);
        }
    }
    if let [(_, first), ..] = costs[..] {
        let kernels: BTreeSet<&str> = costs.iter().map(|(_, cost)| cost.case.kernel.as_str()).collect();
        let kernels = Vec::from_iter(kernels).join(" and ");
        text += &format!("Linux {kernels}; {}.\n\n", first.how);
        text += &format!("| {} |", if curve.varied.is_empty() { "-" } else { &curve.varied });
        text += &row(&costs, |at, _| if at.is_empty() { "instructions".to_owned() } else { at.to_owned() });
        text += &format!("| --- |{}\n", " ---: |".repeat(costs.len()));
        text += &figures(&costs);
    }
    let last = curve.points.last().map_or("", |point| &point.command);
    text + &format!("\n```sh\n{last}\n```\n")
}

fn row(costs: &[(&str, &IoCost)], cell: impl Fn(&str, &IoCost) -> String) -> String {
    let cells: Vec<String> = costs.iter().map(|(at, cost)| format!(" {} |", cell(at, cost))).collect();
    cells.concat() + "\n"
}

fn figures(costs: &[(&str, &IoCost)]) -> String {
    let mut text =
        format!("| **instructions** |{}", row(costs, |_, cost| format!("**{}**", cost.instructions)));
    let share = |cost: &IoCost| format!("{:.1} %", cost.modal_share() * 100.0);
    text += &format!("| I/Os that took exactly these |{}", row(costs, |_, cost| share(cost)));
    if costs.iter().any(|(_, cost)| cost.registers().is_some_and(|used| used != (0, 0))) {
        let registers = |cost: &IoCost| cost.registers().map(|(reads, writes)| format!("{reads} / {writes}"));
        let dash = || "-".to_owned();
        text += &format!(
            "| register reads / writes |{}",
            row(costs, |_, cost| registers(cost).unwrap_or_else(dash))
        );
        let clocks = |cost: &IoCost| cost.modelled_clocks().map(|clocks| format!("{clocks:.0}"));
        text += &format!("| modelled clocks |{}", row(costs, |_, cost| clocks(cost).unwrap_or_else(dash)));
    }
    let mut layers: Vec<&str> = Vec::new();
    for layer in costs.iter().flat_map(|(_, cost)| &cost.layers) {
        if !layers.contains(&layer.layer.as_str()) {
            layers.push(&layer.layer);
        }
    }
    for name in layers {
        let of = |cost: &IoCost| {
            cost.layers.iter().find(|one| one.layer == name).map_or(0, |one| one.instructions)
        };
        let same = costs.len() > 2 && costs.iter().all(|(_, cost)| of(cost) == of(costs[0].1));
        let mark = if same { " (the same for all)" } else { "" };
        text += &format!("| {name}{mark} |{}", row(costs, |_, cost| of(cost).to_string()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_a_file_of_its_own() {
        assert_eq!([file("a", 0), file("a", 1)], ["a.svg", "a-2.svg"]);
    }
}
