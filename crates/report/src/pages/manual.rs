//! What does the manual say of what was published? `docs/repro.md` of what is simulated, `docs/lab-results.md` of what the
//! lab counts.
//!
//! A page of the manual has room for every verdict, so that it is a document of its own; tables and sentences of the whole are
//! those of a screen. Words here are Markdown.

use std::collections::BTreeSet;

use iostack_model::answers::{IoCost, Repro, ReproBasis, ReproCurve, ReproVerdict, Reproduced};

use super::repro::{predicted, table};
use crate::digest::{Digest, NO_REASON, digest, figure_name};
use crate::document::{Block, Cell, Column, Document, Section, Table};

/// Where the page finds its figures.
const IMAGES: &str = "images/repro";

/// The name of a figure's file.
pub fn figure_file(id: &str, index: usize) -> String {
    if index == 0 { format!("{id}.svg") } else { format!("{id}-{}.svg", index + 1) }
}

/// The page.
pub fn manual(repro: &Repro) -> Document {
    let [title, head] = match repro.how() {
        Some("ran") => RAN_HEAD,
        _ if repro.is_counted() => LAB_HEAD,
        _ => HEAD,
    };
    let mut all = Document::new(title);
    all.head.words(head);
    if repro.is_counted() {
        all.head.put(Block::Table(verdicts(repro)));
    } else {
        all.sections = overview(repro, digest(repro));
    }
    all.sections.extend(repro.experiments.iter().map(experiment));
    all
}

/// Every verdict of every experiment in a row.
fn verdicts(repro: &Repro) -> Table {
    let heads = ["experiment", "claim", "claimed", "ours", "difference", "verdict"];
    let mut table = Table::new(heads.map(Column::words).to_vec());
    for (id, verdict) in
        repro.experiments.iter().flat_map(|one| one.verdicts.iter().map(|verdict| (&one.id, verdict)))
    {
        table.row(std::iter::once(link(id)).chain(cells(verdict)));
    }
    table
}

fn link(id: &str) -> String {
    format!("[{id}](#{id})")
}

/// All experiments at one look.
fn overview(repro: &Repro, digest: Digest) -> Vec<Section> {
    let titled = |title: &str| Section::new("", "", title);
    let mut whole = titled("How much comes out");
    whole.put(table(&digest.documents)).words(RESTS).put(table(&digest.rests));
    whole.words(format!("**{}**", digest.sentence));
    let published = repro.documents.iter().filter(|document| document.published);
    whole.list(published.map(|one| format!("`{}`: {}", one.id, one.title)).collect());
    let mut off = titled("Where it is off");
    if digest.off.is_empty() {
        off.words("Nowhere.");
    } else {
        let heads = ["claim", "experiment", "claimed and ours", "why"];
        let mut table = Table::new(heads.map(Column::words).to_vec());
        for one in digest.off {
            table.row([format!("`{}`", one.claim), link(&one.experiment), one.figures, one.why]);
        }
        off.put(Block::Table(table));
    }
    let mut left_out = titled(&format!("What is left out: {} statements", repro.missing.len()));
    let claims = |claims: Vec<String>| claims.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>();
    let reason = |(reason, all): (String, Vec<String>)| format!("{reason}: {}", claims(all).join(", "));
    left_out.list(digest.missing.into_iter().map(reason).collect());
    let mut numbers = titled("What it rests on");
    let mut fitted = Table::new(["fitted", "to the claim"].map(Column::words).to_vec());
    for (number, claim) in digest.fitted {
        fitted.row([format!("`{number}`"), claim]);
    }
    numbers.words(PARAMETERS).put(table(&digest.platforms)).put(Block::Table(fitted));
    let mut experiments = titled("Experiments");
    experiments.put(Block::Table(list(repro)));
    let all = [whole, off, left_out, numbers, experiments];
    all.into_iter().filter(|section| !section.blocks.is_empty()).collect()
}

fn list(repro: &Repro) -> Table {
    let columns = vec![Column::words("experiment"), Column::words(""), Column::number("holds")];
    let mut table = Table::new(columns);
    for one in &repro.experiments {
        let holds = one.verdicts.iter().filter(|verdict| verdict.holds == Some(true)).count();
        table.row([link(&one.id), one.title.clone(), format!("{holds} of {}", one.verdicts.len())]);
    }
    table
}

/// Above what the judged statements rest on.
const RESTS: &str = "\
What those rest on that were judged: how many hold, of how many. `12/14` predicted: 14 were, and 12 hold.";

const PARAMETERS: &str = "\
Numbers of each platform and of the sheets inside it: *cited* from a document, *fitted* so that a claim comes out, or
*assumed*. Then the statements judged on it: those that a number *is*, those that one was *fitted* to, others that prove
little (derived, assumed, cannot fail, own aim), and predictions. A number of a sheet that several platforms share counts once in the sentence above.";

/// Title, and what stands below it.
const HEAD: [&str; 2] = [
    "Published experiments, made again",
    "\
Every statement of five documents that can be checked, laid beside what iostack simulates: what was measured on machines that nobody sells any
more, asked again of simulated ones. This page is written by `iostack repro --markdown --svg docs/images/repro`; a test
compares. Run `iostack repro` to see it yourself, with `--html FILE` for a page with plots. It ends in exit 1 when a claim
does not hold.

A **value** must come out within the tolerance that stands beside it, a **shape** must pass the named test. The files of
[experiments/](../experiments) say what is run and what is asked; `experiments/published.toml` has what was published. A
claim with several figures is as many statements, and each holds when all verdicts on it do; where a document can be
read in several ways, one that holds is enough. A statement that nothing here judges is *left out*, with its reason.

What agreement proves depends on what a verdict rests on:

| word | what it means |
| --- | --- |
| input | a number of the platform *is* the claim: that it comes out says only that the simulator adds up |
| fitted | a number was chosen so that it comes out: the platform can be so |
| cannot fail | the simulator, as it is built, can give nothing else |
| own aim | nobody published it: iostack set itself to reach it |
| derived | reckoned from inputs and from what was fitted to other claims |
| assumed | assumed numbers decide it: others as plausible would give another answer |
| predicted | none of these |

`iostack sim show NAME` shows every number with its source.

What the lab counts instead is on [lab-results.md](lab-results.md). It boots machines, so that `iostack repro` alone never
means it: ask for it by name (`iostack repro lab-layers`) or for all of it with `iostack repro --lab`.",
];

/// The same of the lab.
const LAB_HEAD: [&str; 2] = [
    "The lab's results",
    "\
Instructions of one I/O, counted exactly, beside what was published and what this lab's prototypes counted. This page is
written by `iostack repro --lab --markdown`, which boots about 30 machines, half a minute each on two quiet cores; no test
compares, since a new package of the kernel gives new numbers. A part of it: `iostack repro lab-layers`, or any of the
commands under it. [lab.md](lab.md) says how it is counted. Every case: 4 KiB, one at a time, one processor, the mode of
1,000 I/Os (never a mean), mitigations off unless said otherwise. `iostack repro --lab` ends in exit 1 when a claim does
not hold, and some do not: a kernel of 2008 is no kernel of today, and an instruction is no clock. `lab-merge` counts
nothing: its jobs run in the emulated machine's own time, in which an instruction takes a nanosecond.",
];

/// The same of jobs that ran there.
const RAN_HEAD: [&str; 2] = [
    "Published experiments on real kernels",
    "\
Jobs under a real kernel, its file systems and schedulers, in an emulated machine on simulated drives, whose clock it goes by
([how](lab.md#a-simulated-drive-in-the-machines-own-time)); beside what was published, and beside what the simulated host had said
of the same before. Nothing here was fitted to these runs. The same command gives the same figures. This page is written by
`iostack repro lab-modes lab-random-modes lab-file-systems lab-schedulers lab-ten-percent --markdown`, an hour on two quiet cores; no
test compares, since a new package of the kernel may give new figures.",
];

/// Claim, claimed, ours, difference, verdict.
fn cells(verdict: &ReproVerdict) -> [String; 5] {
    let holds = match (verdict.holds, verdict.basis) {
        (Some(true), ReproBasis::Predicted) => "holds".to_owned(),
        (Some(true), basis) => format!("holds ({})", basis.word()),
        (Some(false), ReproBasis::OwnAim) => "**off** (own aim)".to_owned(),
        (Some(false), _) => "**off**".to_owned(),
        (None, _) => "**unknown**".to_owned(),
    };
    let difference = verdict.difference.map_or("-".to_owned(), |share| format!("{:+.1} %", share * 100.0));
    let reading =
        if verdict.reading.is_empty() { String::new() } else { format!(" *Reading: {}.*", verdict.reading) };
    let says = verdict.says.clone() + &reading;
    [says, verdict.claimed.clone(), verdict.ours.clone(), difference, holds]
}

fn experiment(one: &Reproduced) -> Section {
    let mut section = Section::new("", "", &one.id);
    let end = if one.title.ends_with('?') { "" } else { "." };
    let how = match one.how() {
        "ran" => "Ran",
        "counted" => "Counted",
        _ => "Simulated",
    };
    section.words(format!("{}{end}", one.title)).words(format!("*{}.*", one.source));
    section.words(format!("Measured: {}", one.measured)).words(format!("{how}: {}", one.simulated));
    let drawn = if one.is_counted() { &[][..] } else { &one.plots };
    for (index, plot) in drawn.iter().enumerate() {
        section.words(format!("![{}]({IMAGES}/{})", plot.heading, figure_file(&one.id, index)));
    }
    let number = Column::number;
    let [claimed, ours, difference] = ["claimed", "ours", "difference"].map(number);
    let [says, claim, verdict, asked] = ["", "claim", "verdict", "asked"].map(Column::words);
    let mut table = Table::new(vec![says, claim, claimed, ours, difference, verdict, asked]);
    for verdict in &one.verdicts {
        let [says, claimed, ours, difference, holds] = cells(verdict);
        let name = format!("`{}`", figure_name(&verdict.claim, &verdict.field));
        table.row([says, name, claimed, ours, difference, holds, verdict.test.clone()]);
    }
    section.put(Block::Table(table)).list(reasons(one));
    if !one.predicted.is_empty() {
        section.words("What the simulated host, or the drive alone, had said of it:");
        section.put(Block::Table(predicted(one)));
    }
    if one.how() == "ran" {
        section.put(Block::Table(all_ran(one)));
        section.put(Block::Command(one.curves.iter().filter_map(command).collect::<Vec<_>>().join("\n")));
    } else if one.is_counted() {
        one.curves.iter().for_each(|curve| counted(curve, &mut section));
    } else {
        section.put(Block::Command(one.curves.iter().filter_map(command).collect::<Vec<_>>().join("\n")));
    }
    section
}

/// Makes the last point of a curve.
fn command(curve: &ReproCurve) -> Option<String> {
    let more = match curve.points.len() {
        0 | 1 => String::new(),
        points => format!("    # and {} more of this curve", points - 1),
    };
    Some(format!("{}{more}", curve.points.last()?.command))
}

/// Why verdicts do not hold, and why agreement of others proves nothing; each once.
fn reasons(one: &Reproduced) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for verdict in &one.verdicts {
        let name = figure_name(&verdict.claim, &verdict.field);
        if !verdict.fitted.is_empty() {
            let keys: Vec<String> = verdict.fitted.iter().map(|key| format!("`{key}`")).collect();
            match verdict.basis {
                ReproBasis::Input => all.push(format!("`{name}`: an input of {}.", keys.join(", "))),
                ReproBasis::Fitted => all.push(format!("`{name}`: fitted by {}.", keys.join(", "))),
                ReproBasis::OwnAim => {}
                basis => all.push(format!("`{name}`: {}: {}.", basis.word(), verdict.fitted.join(", "))),
            }
        }
        if !verdict.why.is_empty() {
            all.push(format!("`{name}`: {}", verdict.why));
        } else if verdict.holds == Some(false) {
            all.push(format!("`{name}`: {NO_REASON}."));
        }
    }
    let mut seen = BTreeSet::new();
    all.retain(|line| seen.insert(line.clone()));
    all
}

/// The cases of a curve side by side, layer by layer, and the command of the last.
fn counted(curve: &ReproCurve, section: &mut Section) {
    let costs: Vec<(&str, &IoCost)> =
        curve.points.iter().filter_map(|point| Some((point.at.as_str(), point.cost.as_ref()?))).collect();
    section.put(Block::Heading(curve.name.clone()));
    for point in &curve.points {
        if let Some(error) = &point.error {
            let why = error.lines().next().unwrap_or_default();
            section.words(format!("{} {}: not counted: {why}", curve.varied, point.at));
        }
    }
    if let [(_, first), ..] = costs[..] {
        let kernels: BTreeSet<&str> = costs.iter().map(|(_, cost)| cost.case.kernel.as_str()).collect();
        let kernels = Vec::from_iter(kernels).join(" and ");
        section.words(format!("Linux {kernels}; {}.", first.how));
        section.put(Block::Table(side_by_side(curve, &costs)));
    }
    let ran = ran(curve);
    if !ran.rows.is_empty() {
        section.put(Block::Table(ran));
    }
    section.put(Block::Command(curve.points.last().map_or(String::new(), |point| point.command.clone())));
}

/// What ran in the lab, all curves in one table.
fn all_ran(one: &Reproduced) -> Table {
    let mut table = Table::of(&["", "at", "MB/s", "I/Os a second", "median, us", "p99, us"]);
    for curve in one.curves.iter().filter(|curve| curve.device.starts_with("lab:")) {
        for row in ran(curve).rows {
            let cells = row.cells.into_iter();
            table.row(std::iter::once(Cell::from(&curve.name)).chain(cells));
        }
    }
    table
}

/// The points of a curve whose jobs ran.
fn ran(curve: &ReproCurve) -> Table {
    let mut table = Table::of(&[&curve.varied, "MB/s", "I/Os a second", "median, us", "p99, us"]);
    for (at, outcome) in curve.points.iter().filter_map(|point| Some((&point.at, point.outcome.as_ref()?))) {
        let latency = outcome.latency();
        let us = |share| latency.quantile_ns(share).map_or("-".to_owned(), |ns| format!("{}", ns / 1000));
        let (rate, mega) = (outcome.rate(), outcome.bandwidth() / 1e6);
        table.row([at.clone(), format!("{mega:.1}"), format!("{rate:.0}"), us(0.5), us(0.99)]);
    }
    table
}

/// A column a case: its instructions, and those of each layer.
fn side_by_side(curve: &ReproCurve, costs: &[(&str, &IoCost)]) -> Table {
    let mut heads = vec![if curve.varied.is_empty() { "-" } else { &curve.varied }];
    heads.extend(costs.iter().map(|(at, _)| if at.is_empty() { "instructions" } else { at }));
    let mut table = Table::of(&heads);
    let mut row = |name: &str, cell: &dyn Fn(&IoCost) -> String| {
        let cells = costs.iter().map(|(_, cost)| cell(cost));
        table.row(std::iter::once(name.to_owned()).chain(cells).map(Cell::from));
    };
    row("**instructions**", &|cost| format!("**{}**", cost.instructions));
    row("I/Os that took exactly these", &|cost| format!("{:.1} %", cost.modal_share() * 100.0));
    if costs.iter().any(|(_, cost)| cost.registers().is_some_and(|used| used != (0, 0))) {
        let registers = |cost: &IoCost| cost.registers().map(|(reads, writes)| format!("{reads} / {writes}"));
        row("register reads / writes", &|cost| registers(cost).unwrap_or_else(|| "-".to_owned()));
        let clocks = |cost: &IoCost| cost.modelled_clocks().map(|clocks| format!("{clocks:.0}"));
        row("modelled clocks", &|cost| clocks(cost).unwrap_or_else(|| "-".to_owned()));
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
        row(&format!("{name}{mark}"), &|cost| of(cost).to_string());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use iostack_model::answers::ReproPoint;

    #[test]
    fn each_figure_has_a_file_of_its_own() {
        assert_eq!([figure_file("a", 0), figure_file("a", 1)], ["a.svg", "a-2.svg"]);
    }

    fn verdict(holds: Option<bool>) -> ReproVerdict {
        ReproVerdict {
            claim: "p.c".into(),
            field: "f".into(),
            reading: "r".into(),
            says: "A | b.".into(),
            test: "within 5 %".into(),
            claimed: "1".into(),
            ours: "2".into(),
            difference: Some(0.5),
            holds,
            fitted: vec!["a: k".into()],
            basis: ReproBasis::Fitted,
            why: String::new(),
        }
    }

    /// Counted by the lab: three cases side by side, one that failed, one that ran.
    fn of_lab() -> Repro {
        let point = |at: &str, cost: Option<IoCost>| ReproPoint {
            at: at.to_owned(),
            command: format!("iostack lab cost {at}"),
            outcome: None,
            error: cost.is_none().then(|| "no kernel\nat all".to_owned()),
            cost,
        };
        let curve = |name: &str, points: Vec<ReproPoint>| ReproCurve {
            name: name.to_owned(),
            device: "lab:x".to_owned(),
            varied: "device".to_owned(),
            points,
        };
        let mut costs = fixture::iocosts().into_iter().take(3);
        let counted = ["a", "b", "c"].map(|at| point(at, costs.next()));
        let outcome = fixture::outcome_file().outcomes.pop();
        let ran = ReproPoint { outcome, error: None, ..point("4", None) };
        let one = Reproduced {
            predicted: Vec::new(),
            id: "lab-x".into(),
            title: "Why?".into(),
            source: "S".into(),
            measured: "M".into(),
            simulated: "I".into(),
            curves: vec![
                curve("counted", counted.to_vec()),
                curve("failed", vec![point("1", None)]),
                curve("ran", vec![ran]),
            ],
            plots: Vec::new(),
            verdicts: vec![verdict(Some(true)), verdict(Some(false)), verdict(None)],
        };
        Repro {
            schema: 1,
            iostack: "0".into(),
            experiments: vec![one],
            documents: Vec::new(),
            platforms: Vec::new(),
            missing: Vec::new(),
            interrupted: false,
        }
    }

    #[test]
    fn a_page_of_the_lab_has_every_verdict_layer_and_failure() {
        let page = manual(&of_lab()).markdown();
        let costs = fixture::iocosts();
        let [a, b, c] = [0, 1, 2].map(|at| costs[at].instructions);
        let wanted = [
            "# The lab's results\n\nInstructions".to_owned(),
            "| [lab-x](#lab-x) | A \\| b. *Reading: r.* | 1 | 2 | +50.0 % | holds (fitted) |\n".to_owned(),
            "\n\n## lab-x\n\nWhy?\n\n*S.*\n\nMeasured: M\n\nCounted: I\n\n| | claim | claimed |".to_owned(),
            "| A \\| b. *Reading: r.* | `p.c: f` | 1 | 2 | +50.0 % | **off** | within 5 % |\n".to_owned(),
            "\n\n- `p.c: f`: fitted by `a: k`.\n- `p.c: f`: no reason known.\n\n### counted\n".to_owned(),
            format!(
                "| device | a | b | c |\n| --- | ---: | ---: | ---: |\n| **instructions** | **{a}** | **{b}** | **{c}** |"
            ),
            "### failed\n\ndevice 1: not counted: no kernel\n\n```sh\niostack lab cost 1\n```\n".to_owned(),
            "| device | MB/s | I/Os a second | median, us | p99, us |".to_owned(),
        ];
        for words in wanted {
            assert!(page.contains(&words), "{words} is not in\n{page}");
        }
        for layer in costs[..3].iter().flat_map(|cost| &cost.layers) {
            assert!(page.contains(&format!("\n| {}", layer.layer)), "{} is not in\n{page}", layer.layer);
        }
        assert!(!page.contains("\n\n\n") && page.ends_with("```\n"), "{page}");
    }
}
