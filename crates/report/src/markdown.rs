//! The pages of the manual: `docs/repro.md` of what is simulated, `docs/lab-results.md` of what the lab counts.

#![expect(
    clippy::format_push_string,
    reason = "a page is made once; `write!` would return an error that cannot happen"
)]

use std::collections::BTreeSet;

use crate::digest::{Digest, NO_REASON, Rows, digest, figure_name};
use iostack_model::{IoCost, Repro, ReproBasis, ReproCurve, ReproVerdict, Reproduced};

/// Where the page finds its figures.
const IMAGES: &str = "images/repro";

/// The name of a figure's file.
pub fn file(id: &str, index: usize) -> String {
    if index == 0 { format!("{id}.svg") } else { format!("{id}-{}.svg", index + 1) }
}

/// The page.
pub fn page(repro: &Repro) -> String {
    let mut text = String::from(if repro.is_counted() { LAB_HEAD } else { HEAD });
    if repro.is_counted() {
        text += "| experiment | claim | claimed | ours | difference | verdict |\n| --- | --- | --- | --- | --- | --- |\n";
        for one in &repro.experiments {
            for verdict in &one.verdicts {
                text += &format!("| [{}](#{}) | {} |\n", one.id, one.id, cells(verdict).join(" | "));
            }
        }
    } else {
        text += &overview(repro, &digest(repro));
    }
    text + &repro.experiments.iter().map(section).collect::<Vec<_>>().concat()
}

/// All experiments at one look.
fn overview(repro: &Repro, digest: &Digest) -> String {
    let mut text = String::from("## How much comes out\n\n");
    text += &rows(&digest.documents);
    text += &format!("\n**{}**\n\n", digest.sentence);
    for document in repro.documents.iter().filter(|document| document.published) {
        text += &format!("- `{}`: {}\n", document.id, document.title);
    }
    text += "\n## Where it is off\n\n";
    if digest.off.is_empty() {
        text += "Nowhere.\n";
    } else {
        text += "| claim | experiment | claimed and ours | why |\n| --- | --- | --- | --- |\n";
    }
    for one in &digest.off {
        let id = &one.experiment;
        text +=
            &format!("| `{}` | [{id}](#{id}) | {} | {} |\n", one.claim, cell(&one.figures), cell(&one.why));
    }
    if !digest.missing.is_empty() {
        text += &format!("\n## What is left out: {} claims\n\n", repro.missing.len());
        for (reason, claims) in &digest.missing {
            let claims: Vec<String> = claims.iter().map(|claim| format!("`{claim}`")).collect();
            text += &format!("- {reason}: {}\n", claims.join(", "));
        }
    }
    text += PARAMETERS;
    text += &rows(&digest.platforms);
    text += "\n| fitted | to the claim |\n| --- | --- |\n";
    for (number, claim) in &digest.fitted {
        text += &format!("| `{number}` | {claim} |\n");
    }
    text + "\n## Experiments\n\n" + &list(repro)
}

fn list(repro: &Repro) -> String {
    let line = |one: &Reproduced| {
        let holds = one.verdicts.iter().filter(|verdict| verdict.holds == Some(true)).count();
        format!("| [{}](#{}) | {} | {holds} of {} |\n", one.id, one.id, cell(&one.title), one.verdicts.len())
    };
    let lines: String = repro.experiments.iter().map(line).collect();
    format!("| experiment | | holds |\n| --- | --- | ---: |\n{lines}")
}

fn rows(rows: &Rows) -> String {
    let mut text =
        format!("| {} |\n| --- |{}\n", rows.heads.join(" | "), " ---: |".repeat(rows.heads.len() - 1));
    for row in &rows.rows {
        text += &format!("| {} |\n", row.join(" | "));
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

const PARAMETERS: &str = "
## What it rests on

Numbers of each platform and of the sheets inside it: *cited* from a document, *fitted* so that a claim comes out, or
*assumed*. Then the claims judged on it: those that a number *is*, those that one was *fitted* to, and predictions. A
number of a sheet that several platforms share counts once in the sentence above.

";

const HEAD: &str = "\
# Published experiments, made again

Every figure of five documents, laid beside what iostack simulates: what was measured on machines that nobody sells any
more, asked again of simulated ones. This page is written by `iostack repro --markdown --svg docs/images/repro`; a test
compares. Run `iostack repro` to see it yourself, with `--html FILE` for a page with plots. It ends in exit 1 when a claim
does not hold.

A **value** must come out within the tolerance that stands beside it, a **shape** must pass the named test. The files of
[experiments/](../experiments) say what is run and what is asked; `experiments/published.toml` has what was published. A
claim with several figures counts once for each of them, and holds when all verdicts on it do; where a document can be
read in several ways, one that holds is enough.

What agreement proves depends on the numbers. An **input** is a number of the platform itself: that it comes out says
only that the simulator adds up. A number that was **fitted** to a claim says that the platform can be so. All else is
**predicted**. `iostack sim show NAME` shows every number with its source.

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
not hold, and some do not: a kernel of 2008 is no kernel of today, and an instruction is no clock. `lab-merge` counts
nothing: its jobs run in the emulated machine's own time, in which an instruction takes a nanosecond.

";

/// Claim, claimed, ours, difference, verdict.
fn cells(verdict: &ReproVerdict) -> Vec<String> {
    let holds = match (verdict.holds, verdict.basis) {
        (Some(true), ReproBasis::Predicted) => "holds".to_owned(),
        (Some(true), basis) => format!("holds ({})", basis.word()),
        (Some(false), _) => "**off**".to_owned(),
        (None, _) => "**unknown**".to_owned(),
    };
    let difference = verdict.difference.map_or("-".to_owned(), |share| format!("{:+.1} %", share * 100.0));
    let reading =
        if verdict.reading.is_empty() { String::new() } else { format!(" *Reading: {}.*", verdict.reading) };
    let says = format!("{}{}", cell(&verdict.says), cell(&reading));
    vec![says, verdict.claimed.clone(), cell(&verdict.ours), difference, holds]
}

fn section(one: &Reproduced) -> String {
    let mut text = format!("\n## {}\n\n{}.\n\n*{}.*\n\n", one.id, one.title, one.source);
    let how = if one.is_counted() { "Counted" } else { "Simulated" };
    text += &format!("Measured: {}\n\n{how}: {}\n\n", one.measured, one.simulated);
    for (index, plot) in one.plots.iter().enumerate() {
        text += &format!("![{}]({IMAGES}/{})\n\n", plot.heading, file(&one.id, index));
    }
    text += "| | claim | claimed | ours | difference | verdict | asked |\n| --- | --- | ---: | ---: | ---: | --- | --- |\n";
    for verdict in &one.verdicts {
        let name = figure_name(&verdict.claim, &verdict.field);
        text += &format!("| {} | `{name}` |", cells(verdict)[0]);
        text += &format!(" {} | {} |\n", cells(verdict)[1..].join(" | "), verdict.test);
    }
    text += &reasons(one);
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

/// Why verdicts do not hold, and why agreement of others proves nothing.
fn reasons(one: &Reproduced) -> String {
    let mut text = String::new();
    for verdict in &one.verdicts {
        let name = figure_name(&verdict.claim, &verdict.field);
        if !verdict.fitted.is_empty() {
            let keys: Vec<String> = verdict.fitted.iter().map(|key| format!("`{key}`")).collect();
            let what = if verdict.basis == ReproBasis::Input { "an input of" } else { "fitted by" };
            text += &format!("- `{name}`: {what} {}.\n", keys.join(", "));
        }
        if !verdict.why.is_empty() {
            text += &format!("- `{name}`: {}\n", verdict.why);
        } else if verdict.holds == Some(false) {
            text += &format!("- `{name}`: {NO_REASON}.\n");
        }
    }
    let mut seen: Vec<&str> = Vec::new();
    let lines = text.lines().filter(|line| {
        let new = !seen.contains(line);
        seen.push(line);
        new
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    if lines.is_empty() { lines } else { format!("\n{lines}\n") }
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
    text += &ran(curve);
    let last = curve.points.last().map_or("", |point| &point.command);
    text + &format!("\n```sh\n{last}\n```\n")
}

/// The points of a curve whose jobs ran.
fn ran(curve: &ReproCurve) -> String {
    let outcomes = curve.points.iter().filter_map(|point| Some((&point.at, point.outcome.as_ref()?)));
    let mut text = String::new();
    for (at, outcome) in outcomes {
        if text.is_empty() {
            text += &format!("| {} | MB/s | I/Os a second | median, us | p99, us |\n", curve.varied);
            text += "| --- | ---: | ---: | ---: | ---: |\n";
        }
        let latency = outcome.latency();
        let us = |share| latency.quantile_ns(share).map_or("-".to_owned(), |ns| format!("{}", ns / 1000));
        let (rate, mega) = (outcome.rate(), outcome.bandwidth() / 1e6);
        text += &format!("| {at} | {mega:.1} | {rate:.0} | {} | {} |\n", us(0.5), us(0.99));
    }
    text
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
