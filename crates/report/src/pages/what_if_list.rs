//! Which changes would pay most, and how sure is that?

use iostack_model::Interval;
use iostack_model::answers::{WhatIfGain, WhatIfList};

use super::job_words::asked;
use crate::document::{Bar, Block, Cell, Column, Document, Section, Table};
use crate::html::numbers::Quantity;
use crate::lists::Joined;
use crate::text::format::{or_dash, plus_minus, significant};

/// Document of `iostack sim what-if PLATFORM`.
pub fn what_if_list(list: &WhatIfList) -> Document {
    let mut all = Document::new(format!("iostack sim what-if {}", list.device));
    let (draws, seed) = (list.draws, list.seed);
    all.beside = vec!["SIMULATED".to_owned(), format!("{draws} draws"), format!("seed {seed}")];
    all.origin = vec![format!("sim:{}", list.device), format!("iostack {}", list.iostack)];
    all.interrupted = list.interrupted.then_some("the runs");
    all.answer = answer(list);
    all.head.fact("target", &list.title);
    if let Some(outcome) = &list.outcome {
        all.head.fact("this job", asked(outcome));
    }
    all.head.fact("as it is", figures(list.iops, list.latency_p99));
    all.head.fact("band", band(list)).fact("answer", answer(list));
    all.simulated(list.outcome.iter(), "every figure");
    all.sections.push(gains(list));
    if !list.drawn.is_empty() {
        all.sections.push(drawn(list));
    }
    all.next = Some((list.command.clone(), "the job as it is, alone"));
    all
}

fn answer(list: &WhatIfList) -> String {
    let sure = |gain: &&WhatIfGain| gain.gain.is_some_and(|gain| gain.low > 1.0);
    match list.gains.first().filter(sure) {
        Some(best) => format!("Most gain: {}, {} of the IOPS", best.title, or_dash(best.gain, times)),
        None => "No change is sure to gain".to_owned(),
    }
}

fn figures(iops: Interval, p99: Option<Interval>) -> String {
    let with = |quantity: Quantity, value: Interval| {
        let ends = format!(" ({} to {})", quantity.say(value.low), quantity.say(value.high));
        quantity.say(value.mean) + if value.samples > 0 { &ends } else { "" }
    };
    let rate = format!("{} IOPS", with(Quantity::Count, iops));
    p99.map_or_else(|| rate.clone(), |p99| format!("{rate}, p99 {}", with(Quantity::Nanos, p99)))
}

fn band(list: &WhatIfList) -> String {
    match (list.draws, list.drawn.len()) {
        (_, 0) => "none: the sheet gives no interval, and assumes nothing that is drawn".to_owned(),
        (0, _) => "none: no draws were asked for".to_owned(),
        (draws, numbers) => {
            format!("95 % of {draws} draws of {numbers} numbers, the same before and after a change")
        }
    }
}

/// A ratio such as `1.24x`.
fn times(ratio: Interval) -> String {
    format!("{}x", significant(ratio.mean, 3))
}

fn ratio(value: Interval) -> Cell {
    let ends = format!("{} to {}", significant(value.low, 3), significant(value.high, 3));
    Cell::from(times(value)).small(if value.samples > 0 { ends } else { String::new() })
}

fn gains(list: &WhatIfList) -> Section {
    let mut section = Section::new("gains", "Gains", "What each change gives, most gain first");
    let most = list.gains.iter().filter_map(|each| each.gain).map(|gain| gain.mean).fold(1.0, f64::max);
    let mut table = Table::over(&list.gains)
        .words("change", |gain| gain.title.clone())
        .column(Column::bars("").light(8), |each| {
            Bar::whole(each.gain.map_or(0.0, |gain| gain.mean), most, 0)
        })
        .number("gain", |each| or_dash(each.gain, ratio))
        .number("IOPS", |each| {
            or_dash(each.gain, |_| {
                let around = if each.iops.samples >= 3 { plus_minus(each.iops) } else { String::new() };
                Cell::from(Quantity::Count.say(each.iops.mean)).small(around)
            })
        })
        .number("p99", |each| or_dash(each.latency_ratio, times))
        .column(Column::words("limit").light(3), |each| Cell::from(or_dash(each.limit.clone(), |name| name)))
        .below(|each| each.error.iter().map(|error| format!("FAILED: {error}")).collect())
        .done();
    "Gain is IOPS after over before, p99 the same of the latency; ends of the band beside it."
        .clone_into(&mut table.caption);
    section.table(table);
    let mut alone = Section::default();
    for gain in &list.gains {
        alone.fact(&gain.title, &gain.command);
    }
    section.page(Block::Fold("Each run alone".to_owned(), alone));
    if !list.notes.is_empty() {
        section.screen(Block::Heading("not tried".to_owned())).list(list.notes.clone());
    }
    section
}

fn drawn(list: &WhatIfList) -> Section {
    let mut section = Section::new("drawn", "Drawn", "Which numbers are not known exactly");
    let table = Table::over(&list.drawn)
        .words("number", |number| number.key.clone())
        .number("value", |number| number.text.clone())
        .number("drawn from", |number| {
            number.range.iter().map(|&end| format!("{}x", significant(end, 3))).joined(" to ")
        });
    section.page(Block::Table(table.done()));
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::tests::sound::{assert_fits, assert_sound};

    fn gain(title: &str, mean: f64, half: f64) -> WhatIfGain {
        let around = |mean: f64| Interval { mean, low: mean - half, high: mean + half, samples: 20 };
        WhatIfGain {
            title: title.to_owned(),
            gain: Some(around(mean)),
            iops: around(mean * 1e5),
            latency_ratio: Some(around(1.0 / mean)),
            limit: Some("core".to_owned()),
            ..WhatIfGain::default()
        }
    }

    fn list(gains: Vec<WhatIfGain>) -> WhatIfList {
        WhatIfList {
            schema: iostack_model::SCHEMA,
            iostack: "0.1.0".to_owned(),
            device: "my.toml".to_owned(),
            title: "Fixture".to_owned(),
            seed: 1,
            draws: 20,
            drawn: Vec::new(),
            command: "iostack run --on sim:my.toml".to_owned(),
            outcome: None,
            iops: Interval { mean: 1e5, low: 9e4, high: 1.1e5, samples: 20 },
            latency_p99: Some(Interval::exact(1e5)),
            gains,
            notes: vec!["I/O scheduler bfq: not on this system".to_owned()],
            interrupted: false,
        }
    }

    #[test]
    fn the_best_change_is_the_answer_where_its_band_is_above_one() {
        let failed = WhatIfGain { error: Some("no such drive ".repeat(20)), ..WhatIfGain::default() };
        let told = what_if_list(&list(vec![gain("polling for completions", 1.4, 0.1), failed]));
        let text = told.text();
        assert_fits(&text);
        assert_sound(&told.html());
        assert!(text.contains("Most gain: polling for completions, 1.40x of the IOPS"), "{text}");
        assert!(text.contains("1.30 to 1.50") && text.contains("FAILED: no such drive"), "{text}");
        assert!(text.contains("I/O scheduler bfq: not on this system"), "{text}");
        let text = what_if_list(&list(vec![gain("polling", 1.05, 0.05)])).text();
        assert!(text.contains("No change is sure to gain"), "{text}");
    }

    #[test]
    fn a_sheet_without_intervals_says_that_it_has_no_band() {
        let exact = WhatIfList { draws: 0, iops: Interval::exact(1e5), ..list(Vec::new()) };
        assert!(what_if_list(&exact).text().contains("none: the sheet gives no interval"), "{exact:?}");
    }
}
