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

#[cfg(test)]
mod tests {
    use iostack_model::{Nanos, ProcessClocks, ProcessStages};

    use super::*;
    use crate::fixture;

    #[test]
    fn each_process_of_a_tree_has_a_row_and_one_alone_has_none() {
        let (mut traced, mut sampled) = (fixture::stages_of_process(), fixture::layers());
        let line = |document: Document, begin: &str| {
            let lines: Vec<String> = document.text().lines().map(str::to_owned).collect();
            lines.into_iter().find(|line| line.starts_with(begin))
        };
        assert_eq!(line(attribution(Some(&traced), None), "PROCESS"), None);
        let row = |pid, name: &str, ios| ProcessStages { pid, name: name.to_owned(), ios, mean_ns: 1500.0 };
        traced.processes = vec![row(4242, "dd", 75), row(0, "", 25)];
        let told = |begin| line(attribution(Some(&traced), None), begin).expect("a row");
        let words = |line: String| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(told("dd ")), ["dd", "4242", "75", "75.0", "1.5", "us"]);
        assert_eq!(words(told("others ")), ["others", "-", "25", "25.0", "1.5", "us"]);
        let row = |pid, name: &str, ms| ProcessClocks { pid, name: name.to_owned(), time: Nanos::millis(ms) };
        sampled.processes = vec![row(8, "dd", 5), row(7, "sh", 3)];
        let told = line(attribution(None, Some(&sampled)), "sh ").expect("a row");
        assert_eq!(words(told)[..2], ["sh", "7"]);
    }
}
