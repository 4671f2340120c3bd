//! Where did the time and the clocks of a trace go?

use iostack_model::{Layers, Stages, Way};

use super::{ladder, layers, stages};
use crate::document::Document;
use crate::text::format::percent;

/// Document of `iostack stages` and `iostack layers`, of whatever there is.
pub fn attribution(traced: Option<&Stages>, sampled: Option<&Layers>) -> Document {
    let mut all = Document::new(if sampled.is_some() { "iostack layers" } else { "iostack stages" });
    all.unjudged = true;
    let subject = traced.map(|traced| &traced.subject).or(sampled.map(|sampled| &sampled.subject));
    all.beside.extend(subject.cloned());
    all.answer = answer(traced, sampled);
    all.sections.extend(traced.map(stages::section));
    all.sections.extend(sampled.map(layers::section));
    let rungs = traced.map(|traced| &traced.ladder).or(sampled.map(|sampled| &sampled.ladder));
    all.sections.extend(rungs.map(|rungs| ladder::section(rungs).on_page()));
    match (traced, sampled) {
        (Some(traced), None) => all.data(traced),
        // But for the stacks, of which there may be thousands.
        (_, Some(sampled)) => all.data(&Layers { stacks: Vec::new(), ..sampled.clone() }),
        (None, None) => {}
    }
    all
}

/// Answer: a sentence on the stages, one on the layers.
fn answer(traced: Option<&Stages>, sampled: Option<&Layers>) -> String {
    let mut told = Vec::new();
    let way = traced.and_then(|traced| traced.way(Way::Device)).filter(|way| way.whole.sum_ns > 0);
    told.extend(way.map(stages::shares));
    if let Some((sampled, first)) = sampled.and_then(|sampled| Some((sampled, sampled.rows.first()?))) {
        let all: f64 = sampled.rows.iter().map(|row| row.time.0 as f64).sum();
        let share = stages::ratio(first.time.0 as f64, all);
        told.push(format!("Most clocks went into {}: {} %.", first.layer, percent(share)));
    }
    if told.is_empty() { "Nothing was seen".to_owned() } else { told.join(" ") }
}
