//! What was claimed, what came of it, and what does it look like?

use iostack_model::Outcome;
use iostack_model::answers::{
    Repro, ReproBasis, ReproCurve, ReproPlot, ReproPoint, ReproVerdict, Reproduced,
};

use super::simulated::own;
use crate::digest::{self, Digest, NO_REASON, digest, figure_name};
use crate::document::{Block, Cell, Document, Doubts, Drawn, Section, Table, To};
use crate::html::plot::{Axis, Look, Plot, Quantity, Scale, Series, Spot, slots};
use crate::lists::{Joined, grouped};

/// Document of `iostack repro`, also of a run that was cut short.
pub fn repro(report: &Repro) -> Document {
    if report.experiments.is_empty() && !report.validated.is_empty() {
        return super::validated::validated(report);
    }
    let mut all = Document::new("iostack repro");
    let count = counted(report.experiments.len(), "experiment");
    let how = match report.how() {
        Some("ran") => "RAN IN THE LAB",
        _ if report.is_counted() => "COUNTED",
        _ => "SIMULATED",
    };
    all.beside = vec![how.to_owned(), count];
    all.origin = vec![format!("iostack {}", report.iostack)];
    all.interrupted = report.interrupted.then_some("the runs");
    let tally = report.tally(None);
    let (hold, claims, missing) = (tally.hold, tally.claims, tally.missing);
    all.answer = format!("{hold} of {claims} published statements hold, {missing} are left out");
    all.because.words(summary(report));
    all.simulated(outcomes(report), "every figure");
    // Of one experiment a screen has no use for an overview.
    let to = if report.experiments.len() > 1 { To::All } else { To::Page };
    overview(report, to, &mut all.sections);
    for one in &report.experiments {
        let section = experiment(one, &mut all);
        all.sections.push(section);
    }
    let first = report.experiments.iter().find(|one| !one.holds()).or(report.experiments.first());
    let point = first.and_then(|one| one.curves.first()).and_then(|curve| curve.points.last());
    all.next = point.map(|point| (point.command.clone(), "one of its runs alone"));
    all
}

fn outcomes(report: &Repro) -> impl Iterator<Item = &Outcome> {
    let curves = report.experiments.iter().flat_map(|one| &one.curves);
    curves.flat_map(|curve| &curve.points).filter_map(|point| point.outcome.as_ref())
}

/// All experiments at one look.
fn overview(report: &Repro, to: To, sections: &mut Vec<Section>) {
    let Digest { documents, rests, sentence, off, platforms, fitted, missing } = digest(report);
    let mut whole = Section::new("whole", "Whole", "How much comes out");
    whole.to(to, Block::Table(documents));
    if to == To::All {
        whole.screen(Block::Heading("RESTS ON: how many hold of how many".to_owned()));
    }
    whole.to(to, Block::Table(rests)).to(to, Block::Words(sentence));
    for one in report.documents.iter().filter(|one| report.tally(Some(&one.id)).claims > 0) {
        whole.page(Block::Fact(one.id.clone(), one.title.clone()));
    }
    let heading = |words: &str| Block::Heading(words.to_owned());
    let part = |id, short, title, screen, items: Vec<String>| {
        let mut section = Section::new(id, short, title);
        if !items.is_empty() {
            if to == To::All {
                section.screen(heading(screen));
            }
            section.to(to, Block::List(items));
        }
        section
    };
    let items = off
        .iter()
        .map(|one| format!("{} ({}): {}; why: {}", one.claim, one.experiment, one.figures, one.why));
    let off = part("off", "Off", "Where it is off", "OFF", items.collect());
    let items = missing.iter().map(|(reason, claims)| format!("{reason}: {}", claims.join(", ")));
    let missing = part("left-out", "Left out", "What nothing judges", "LEFT OUT", items.collect());
    let mut numbers = Section::new("numbers", "Numbers", "What it rests on");
    if !platforms.rows.is_empty() {
        if to == To::All {
            numbers.screen(heading("NUMBERS of each platform, and the claims judged on it"));
        }
        numbers.page(Block::Words(
            "Numbers of each platform and of the sheets inside it: cited from a document, fitted so that a claim comes \
             out, or assumed. Then the statements judged on it: input, fitted, others that prove little, predicted."
                .to_owned(),
        ));
        numbers.to(to, Block::Table(platforms));
        let items = fitted.iter().map(|(number, claim)| format!("{number} was fitted to {claim}"));
        numbers.to(to, Block::List(items.collect()));
    }
    let mut verdicts = Section::new("verdicts", "Verdicts", "All verdicts");
    verdicts.page(Block::Table(judged(report)));
    sections.extend([whole, off, missing, numbers, verdicts]);
}

/// Every verdict of every experiment in a row.
fn judged(report: &Repro) -> Table {
    let basis = |verdict: &ReproVerdict| match (verdict.basis, verdict.fitted.join(", ")) {
        (ReproBasis::Predicted, fitted) if fitted.is_empty() => ReproBasis::Predicted.word().to_owned(),
        // Outcomes of before the word existed have the list only.
        (ReproBasis::Predicted, fitted) => format!("fitted: {fitted}"),
        (basis, fitted) => format!("{}: {fitted}", basis.word()),
    };
    let verdicts = report.experiments.iter().flat_map(|one| one.verdicts.iter().map(move |each| (one, each)));
    let mut table = Table::over(verdicts)
        .words("claim", |(_, verdict)| says(verdict))
        .words("claimed", |(_, verdict)| &verdict.claimed)
        .words("ours", |(_, verdict)| &verdict.ours)
        .number("difference", |(_, verdict)| digest::difference(verdict))
        .words("verdict", |(_, verdict)| word(verdict).to_lowercase())
        .words("rests on", |(_, verdict)| basis(verdict));
    if report.draws.is_some() {
        table = table.number("in draws", |(_, verdict)| digest::drawn(verdict));
    }
    table
        .below(|(one, verdict)| {
            vec![format!("{}; {}: {}", figure_name(&verdict.claim, &verdict.field), one.id, verdict.test)]
        })
        .done()
}

/// The verdict in a word.
fn word(verdict: &ReproVerdict) -> &'static str {
    match verdict.holds {
        Some(true) => "HOLDS",
        Some(false) => "FAILS",
        None => "UNKNOWN",
    }
}

fn says(verdict: &ReproVerdict) -> String {
    match verdict.reading.as_str() {
        "" => verdict.says.clone(),
        reading => format!("{} Reading: {reading}.", verdict.says),
    }
}

fn experiment(one: &Reproduced, all: &mut Document) -> Section {
    let mut section = Section::new(&one.id, &one.id, &one.title);
    section.screen(Block::Heading(format!("{}: {}", one.id.to_uppercase(), one.title)));
    section.fact("source", &one.source).fact("measured", &one.measured);
    section.fact(one.how(), &one.simulated);
    let drawn = |plot| Drawn { letters: true, ..Drawn::new(figure(plot), one.how()) };
    if !one.plots.is_empty() {
        section.put(Block::Plots(one.plots.iter().map(drawn).collect()));
    }
    for verdict in &one.verdicts {
        judge(verdict, &mut section);
    }
    if !one.predicted.is_empty() {
        let caption = "What a simulation had said of it";
        section.put(Block::Heading(caption.to_owned())).table(predicted(one));
    }
    failures(one, &mut section);
    let runs = runs(one, &mut all.doubts);
    section.folded(format!("All runs ({})", runs.rows.len()), runs);
    section
}

fn judge(verdict: &ReproVerdict, section: &mut Section) {
    section.fact(word(verdict), says(verdict));
    section.fact("", format!("{}; asked: {}", digest::figures(verdict), verdict.test));
    // Why agreement proves nothing; outcomes of before the word existed have the list only.
    let fitted = verdict.fitted.join(", ");
    match verdict.basis {
        ReproBasis::Input => _ = section.fact("", format!("no prediction: it is an input, {fitted}")),
        ReproBasis::Fitted | ReproBasis::Predicted if fitted.is_empty() => {}
        ReproBasis::Fitted | ReproBasis::Predicted => {
            _ = section.fact("", format!("no prediction: {fitted} was fitted to it"));
        }
        basis => _ = section.fact("", format!("no prediction: {}: {fitted}", basis.word())),
    }
    if let Some(drawn) = verdict.drawn {
        let (hold, judged) = (drawn.hold, drawn.judged);
        section.fact("", format!("holds in {hold} of {judged} draws of what the sheets do not know exactly"));
    }
    if !verdict.why.is_empty() {
        section.fact("", format!("why: {}", verdict.why));
    } else if verdict.holds == Some(false) {
        section.fact("", NO_REASON);
    }
}

/// Table of what ran in the lab, beside what had been predicted.
pub(super) fn predicted(one: &Reproduced) -> Table {
    Table::over(&one.predicted)
        .words("what", |each| &each.curve)
        .words("at", |each| &each.at)
        .words("figure", |each| &each.figure)
        .number("in the lab", |each| Quantity::Count.say(each.ran))
        .number("predicted", |each| Quantity::Count.say(each.predicted))
        .number("off %", |each| format!("{:+.1}", (each.predicted / each.ran - 1.0) * 100.0))
        .done()
}

/// Adds the runs that failed, alike failures of a curve together.
fn failures(one: &Reproduced, section: &mut Section) {
    for curve in &one.curves {
        let failed =
            curve.points.iter().filter_map(|point| Some((point.error.as_deref()?, point.at.as_str())));
        for (error, at) in grouped(failed) {
            let at = at.into_iter().filter(|at| !at.is_empty()).joined(" ");
            let at = if at.is_empty() { at } else { format!(", {} {at}", curve.varied) };
            section.fact("FAILED", format!("{}{at}: {error}", curve.name));
        }
    }
}

fn runs(one: &Reproduced, doubts: &mut Doubts) -> Table {
    let heads = if one.how() == "counted" {
        ["case", "instructions", "modelled clocks"]
    } else {
        ["run", "IOPS", "mean latency"]
    };
    let name = |(curve, point): (&ReproCurve, &ReproPoint)| {
        let at = if point.at.is_empty() { String::new() } else { format!(", {} {}", curve.varied, point.at) };
        let name = format!("{}{at}", curve.name);
        let own = point.outcome.iter().flat_map(own);
        let marks = doubts.note(own, &format!("{}: {name}", one.id));
        Cell::from(name).marked(marks)
    };
    let points = one.curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)));
    Table::over(points)
        .words(heads[0], name)
        .number(heads[1], |(_, point)| figures_of(point)[0].clone())
        .number(heads[2], |(_, point)| figures_of(point)[1].clone())
        .words("alone", |(_, point)| &point.command)
        .below(|(_, point)| point.error.iter().cloned().collect())
        .done()
}

/// Both figures of a run or of a count.
fn figures_of(point: &ReproPoint) -> [String; 2] {
    match (&point.cost, &point.outcome) {
        (Some(cost), _) => {
            let clocks = cost.modelled_clocks().unwrap_or(f64::NAN);
            [cost.instructions.to_string(), Quantity::Count.say(clocks)]
        }
        (None, Some(outcome)) => {
            let mean = Quantity::Nanos.say(outcome.latency().mean_ns());
            [Quantity::Count.say(outcome.rate()), mean]
        }
        (None, None) => ["-", "-"].map(str::to_owned),
    }
}

/// A figure of a reproduction.
pub(crate) fn figure(plot: &ReproPlot) -> Plot {
    let xs: Vec<f64> = plot.lines.iter().flat_map(|line| &line.points).map(|&(x, _)| x).collect();
    let x = if plot.over == "time" {
        Axis::linear("time (s)", Quantity::Seconds)
    } else {
        let quantity = if plot.over.ends_with("block_size") { Quantity::Bytes } else { Quantity::Count };
        Axis::new(&plot.over, quantity, Scale::of(&xs))
    };
    let bandwidth = plot.figure.starts_with("bytes per second");
    let quantity = if bandwidth { Quantity::Bandwidth } else { Quantity::Count };
    let names: Vec<&str> = plot.lines.iter().map(|line| line.name.as_str()).collect();
    let series = plot.lines.iter().zip(slots(&names)).map(|(line, slot)| {
        Series::new(&line.name, slot, Look::Line, line.points.iter().map(|&(x, y)| Spot::at(x, y)))
    });
    Plot::new(&plot.heading, x, Axis::linear(&plot.figure, quantity), series)
}

fn summary(report: &Repro) -> String {
    let all = || report.experiments.iter().flat_map(|one| &one.verdicts);
    let of = |holds| all().filter(|verdict| verdict.holds == holds).count();
    let [hold, fail, unknown] = [Some(true), Some(false), None].map(of);
    let verdicts = counted(all().count(), "verdict");
    let claims = counted(report.tally(None).claims, "claim");
    format!("{verdicts} on {claims}: {hold} hold, {fail} fail, {unknown} could not be judged")
}

fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawing_stands_alone() {
        let answer: Repro = crate::fixture::answer("repro");
        let text = crate::html::drawing(&answer.experiments[0].plots[0]);
        assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"));
        assert_eq!((text.matches("<svg").count(), text.matches("<style>").count()), (1, 1));
    }
}
