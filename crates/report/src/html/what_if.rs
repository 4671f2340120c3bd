//! What would a change give, and where does the limit move?
//!
//! The page of `iostack sim what-if`: the answer, the figures, and how busy every resource was before and after, drawn.
//! Start reading at [`page`].

use iostack_model::{Caveat, Nanos, WhatIf, WhatIfFigures, WhatIfStep};

use super::escape;
use super::numbers::{NOTHING, Quantity, grouped, significant};
use super::page::{Section, document};
use super::platform::{bar_color, clocks_bars};
use super::sheet::Sheet;
use super::stages::percent;
use super::table::{pairs, table};
use crate::what_if::{busy, limiting, ratio, told};

const WIDTH: f64 = 1130.0;
/// Where bars begin, and how long a full one is.
const LEFT: f64 = 190.0;
const FULL: f64 = 780.0;
/// Height of a bar with the gap below it.
const BAR: f64 = 20.0;

/// The page.
pub(super) fn page(what_if: &WhatIf) -> String {
    let mut sheet = Sheet::bare();
    let mut sections = vec![
        Section::new("busy", "Busy", "Which part is busy", drawing(what_if)),
        Section::new("figures", "Figures", "What it gives", figures(what_if)),
    ];
    let hosts: Vec<(String, &iostack_model::HostUse)> = what_if
        .steps
        .iter()
        .filter_map(|step| {
            Some((name(what_if, step), step.outcome.as_ref()?.inside.as_ref()?.host.as_ref()?))
        })
        .collect();
    if !hosts.is_empty() {
        sections.push(Section::new("clocks", "Clocks", "Clocks of an I/O by layer", clocks_bars(&hosts)));
    }
    sections.push(Section::new("changed", "Changed", "What was changed", changed(what_if)));
    for step in &what_if.steps {
        let caveats = step.outcome.iter().flat_map(|outcome| &outcome.caveats);
        // The page shows no percentile beyond the 99th.
        let shown =
            |caveat: &&Caveat| !matches!(caveat, Caveat::FewSamples { percentile, .. } if *percentile > 99.0);
        let caveats: Vec<Caveat> = caveats.filter(shown).cloned().collect();
        sheet.doubts.note(&caveats, &name(what_if, step));
    }
    sections.push(Section::new("doubts", "Doubts", "Why to doubt it, and what to do", sheet.doubts.list()));
    let title = format!("iostack sim what-if {}", what_if.device);
    document(&title, &header(what_if), &sections, &sheet, "null")
}

fn header(what_if: &WhatIf) -> String {
    let told: String = told(what_if)
        .into_iter()
        .map(|(effect, moved)| format!("<li>{} {}</li>", escape::text(&effect), escape::text(&moved)))
        .collect();
    let heading = if let Some(named) = &what_if.named {
        named.title.clone()
    } else {
        let steps: Vec<&str> = what_if.steps.iter().skip(1).map(|step| step.name.as_str()).collect();
        format!("What if {}?", steps.join(", then "))
    };
    let called = what_if.named.as_ref().map_or(String::new(), |named| {
        format!("<p>Called for by {}. {}</p>", escape::text(&named.source), escape::text(&named.note))
    });
    format!(
        "<p class=\"kicker\"><b>iostack sim what-if</b> · <b>SIMULATED</b> · sim:{} · {} · seed {} · iostack {}</p>\
         <h1>{}</h1>{called}<ul class=\"evidence\">{told}</ul>{}",
        escape::text(&what_if.device),
        escape::text(&what_if.title),
        what_if.seed,
        escape::text(&what_if.iostack),
        escape::text(&heading),
        if what_if.interrupted { "<p class=\"note\">Interrupted: the runs until then.</p>" } else { "" }
    )
}

/// `before`, `after`, or the number of the step and its changes.
fn name(what_if: &WhatIf, step: &WhatIfStep) -> String {
    let number = what_if.steps.iter().position(|other| std::ptr::eq(other, step)).unwrap_or(0);
    match (number, what_if.steps.len()) {
        (0, _) => "before".to_owned(),
        (_, 2) => "after".to_owned(),
        (number, _) => format!("+{number} {}", step.name),
    }
}

/// Bars below each other: a group for each resource, a bar for each run.
fn drawing(what_if: &WhatIf) -> String {
    let rows = busy(what_if);
    if rows.is_empty() {
        return "<p class=\"note\">Nothing ran.</p>".to_owned();
    }
    let mut top = 8.0;
    let mut drawn = String::new();
    for row in &rows {
        let count = row.uses.iter().flatten().map(|used| used.count).collect::<Vec<_>>();
        let counts: Vec<String> = count.iter().map(u32::to_string).collect();
        let same = count.windows(2).all(|pair| pair[0] == pair[1]);
        let many = if same { counts.first().cloned().unwrap_or_default() } else { counts.join(" → ") };
        drawn += &format!(
            "<text class=\"name\" x=\"0\" y=\"{:.1}\">{}{}</text>",
            top + 13.0,
            escape::text(row.name),
            if many == "1" { String::new() } else { format!(" × {many}") }
        );
        for (used, step) in row.uses.iter().zip(&what_if.steps) {
            let limits = step.outcome.as_ref().and_then(limiting) == Some(row.name);
            let share = used.map_or(0.0, |used| used.busy.clamp(0.0, 1.0));
            let told = used.map_or_else(|| "not there".to_owned(), |used| percent(used.busy));
            drawn += &format!(
                "<rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{FULL}\" height=\"15\" rx=\"3\" fill=\"var(--soft)\"/>\
                 <rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"15\" rx=\"3\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{told}{} · {}</text>",
                FULL * share,
                bar_color(share, limits),
                LEFT + FULL + 8.0,
                top + 12.0,
                if limits { " limits" } else { "" },
                escape::text(&short(&name(what_if, step))),
            );
            top += BAR;
        }
        top += 9.0;
    }
    format!(
        "<figure class=\"wide\"><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top:.1}\" role=\"img\" \
         aria-label=\"busy share of every resource in every run\">{drawn}</svg><figcaption>Simulated: busy share of the \
         measured time, mean over those alike; seed {}.</figcaption></figure>",
        what_if.seed
    )
}

fn short(name: &str) -> String {
    let letters: String = name.chars().take(16).collect();
    if letters.len() < name.len() { format!("{letters}…") } else { letters }
}

fn figures(what_if: &WhatIf) -> String {
    let first = what_if.steps.first().and_then(|step| step.figures.as_ref()).map_or(0.0, |each| each.iops);
    let rows: Vec<Vec<String>> = what_if
        .steps
        .iter()
        .map(|step| {
            let name = name(what_if, step);
            let failed =
                || vec![escape::text(&name), escape::text(step.error.as_deref().unwrap_or("not run"))];
            step.figures.as_ref().map_or_else(failed, |figures| row(&name, figures, step, first))
        })
        .collect();
    let heads = [
        "run",
        "I/Os",
        "IOPS",
        "ratio",
        "bandwidth",
        "mean",
        "p99",
        "clocks per I/O",
        "cores busy",
        "interrupts per I/O",
        "write amplification",
        "limit",
    ];
    table(&heads, &rows)
}

fn row(name: &str, figures: &WhatIfFigures, step: &WhatIfStep, first: f64) -> Vec<String> {
    let some = |value: Option<f64>, show: fn(f64) -> String| value.map_or(NOTHING.to_owned(), show);
    let limit = step.outcome.as_ref().and_then(|outcome| outcome.inside.as_ref()?.limit.as_ref());
    vec![
        escape::text(name),
        grouped(figures.ios),
        Quantity::Count.show(figures.iops),
        some(ratio(first, figures.iops), significant),
        Quantity::Bandwidth.show(figures.bandwidth),
        Quantity::Nanos.show(figures.latency_mean_ns),
        figures.latency_p99_ns.map_or(NOTHING.to_owned(), |ns| Quantity::Nanos.show(Nanos(ns).0 as f64)),
        some(figures.clocks_per_io, |clocks| grouped(clocks.round() as u64)),
        some(figures.core_busy, percent),
        some(figures.interrupts_per_io, significant),
        some(figures.write_amplification, significant),
        limit.map_or(NOTHING.to_owned(), |limit| {
            format!("{} {}", escape::text(&limit.name), percent(limit.busy))
        }),
    ]
}

fn changed(what_if: &WhatIf) -> String {
    let mut out = String::new();
    for step in &what_if.steps {
        let mut rows: Vec<(String, String)> = step
            .changes
            .iter()
            .map(|change| {
                let old = if change.old.is_empty() { "not said" } else { &change.old };
                let told = format!(
                    "{} → {} <small>{}</small>",
                    escape::text(old),
                    escape::text(&change.new),
                    escape::text(&change.meaning)
                );
                (escape::text(&change.key), told)
            })
            .collect();
        rows.push(("alone".to_owned(), format!("<code>{}</code>", escape::text(&step.command))));
        let rows: Vec<(&str, String)> = rows.iter().map(|(key, told)| (key.as_str(), told.clone())).collect();
        out += &format!("<h3>{}</h3>{}", escape::text(&name(what_if, step)), pairs(&rows));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::what_if::tests::example;

    #[test]
    fn what_is_typed_cannot_become_part_of_the_page() {
        let mut evil = example(3);
        evil.steps[1].name = "</script><script>alert(1)</script>".to_owned();
        evil.steps[1].changes[0].key = "<script>alert(2)".to_owned();
        let page = page(&evil);
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(page.contains("The limit moves from"));
    }

    #[test]
    fn every_resource_has_a_bar_for_every_run() {
        let page = page(&example(2));
        assert_eq!(page.matches("height=\"15\" rx=\"3\" fill=\"var(--soft)\"").count(), 8);
        assert!(page.contains("not there"));
    }
}
