//! Does a verdict hold where the numbers that nobody knows are others?
//!
//! Every number with a range (an assumed one from 0.8 to 1.2 of its value) is drawn, all that a verdict looks at runs again, and
//! the verdict is judged again; so often as there are draws. What proves nothing is not drawn: an input, or what cannot fail.

use std::sync::atomic::Ordering;

use iostack_model::answers::{ReproBasis, ReproDrawn, Reproduced};
use iostack_study::prediction::{Draws, drawn_tasks};
use iostack_study::sweep::pool::Task;
use iostack_target::{Audience, Targets};

use super::experiment::Experiment;
use super::together::{Plans, reproduce};

/// Verdicts that others than the chosen numbers could change.
fn is_drawn(basis: ReproBasis) -> bool {
    matches!(basis, ReproBasis::Predicted | ReproBasis::Assumed | ReproBasis::Derived)
}

/// Judges these verdicts again in each draw, and counts.
pub(crate) fn judge_again(
    (experiments, planned): (&[&Experiment], &Plans),
    reproduced: &mut [Reproduced],
    draws: Draws,
    how: (usize, &dyn Targets),
    talk: &dyn Audience,
) {
    let of_draws = drawn_plans((experiments, planned), reproduced, draws, how.1);
    for (place, own) in of_draws.iter().enumerate() {
        talk.say(&format!("draw {} of {}", place + 1, draws.count));
        let again = reproduce(experiments, own, how, talk);
        if talk.stop().load(Ordering::Relaxed) {
            return;
        }
        let pairs = reproduced.iter_mut().zip(&again);
        for (told, now) in pairs.flat_map(|(one, again)| one.verdicts.iter_mut().zip(&again.verdicts)) {
            if let (true, Some(holds)) = (is_drawn(told.basis), now.holds) {
                let count = told.drawn.get_or_insert_with(ReproDrawn::default);
                count.judged += 1;
                count.hold += u32::from(holds);
            }
        }
    }
}

/// The runs of each draw. What no such verdict looks at has no jobs.
fn drawn_plans(
    (experiments, planned): (&[&Experiment], &Plans),
    reproduced: &[Reproduced],
    draws: Draws,
    targets: &dyn Targets,
) -> Vec<Plans> {
    let mut all = vec![planned.clone(); draws.count as usize];
    for (at, (one, points)) in experiments.iter().zip(planned).enumerate() {
        let verdicts = one.verdicts.iter().zip(&reproduced[at].verdicts);
        let subjects = verdicts
            .filter(|(_, told)| is_drawn(told.basis))
            .flat_map(|(verdict, _)| std::iter::once(&verdict.first).chain(&verdict.second));
        let needed: Vec<&str> = subjects.map(|subject| one.curves[subject.curve].name.as_str()).collect();
        for (index, point) in points.iter().enumerate() {
            let is_needed = needed.contains(&point.curve.as_str());
            let (_, several) =
                if is_needed { drawn_tasks(&point.task, draws, targets) } else { (0, Vec::new()) };
            for (place, plans) in all.iter_mut().enumerate() {
                plans[at][index].task = match several.get(place) {
                    Some(own) => own.clone(),
                    None if is_needed => point.task.clone(),
                    None => Task { jobs: Err("no verdict needs it".to_owned()), ..point.task.clone() },
                };
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use iostack_model::answers::Reproduced;
    use iostack_sim::targets::Simulations;

    use super::*;
    use crate::gather;

    /// An experiment of one's own, with its own claims: a read of a drive takes what was assumed, and a queue is no slower.
    const OWN: &str = r#"
title = "T"
source = "S"
measured = "M"
simulated = "I"
[[claim]]
id = "mine.read_us"
value = 84
[[claim]]
id = "mine.deeper_is_faster"
kind = "shape"
[[curve]]
name = "reads"
device = "tlc-1t"
vary = "queue_depth=1,8"
job = { engine = "libaio", pattern = "random", io_count = 400 }
[[curve]]
name = "left alone"
device = "tlc-1t"
job = { io_count = 50 }
[[verdict]]
claim = "mine.read_us"
says = "A read takes what we think."
test = "value"
within = "3%"
curve = "reads"
figure = "latency_mean"
at = "1"
[[verdict]]
claim = "mine.deeper_is_faster"
says = "Eight at a time are faster than one."
test = "rises"
by = 1.5
curve = "reads"
[[verdict]]
claim = "mine.deeper_is_faster"
says = "And that could not be otherwise."
test = "rises"
by = 1.5
curve = "reads"
cannot_fail = "it is built so"
"#;

    fn judged(text: &str, count: u32, seed: u64) -> Vec<Reproduced> {
        let one = Experiment::parse("own", text, "own.toml", &[]).expect("sound");
        let (targets, talk) = (&Simulations, AtomicBool::new(false));
        let planned = vec![one.curves.iter().flat_map(|curve| gather::plan(curve, targets)).collect()];
        let mut told = reproduce(&[&one], &planned, (2, targets), &talk);
        judge_again((&[&one], &planned), &mut told, Draws { count, seed }, (2, targets), &talk);
        told
    }

    #[test]
    fn a_value_that_rests_on_assumptions_holds_in_some_draws_and_a_shape_in_all() {
        // The claim is what comes out with the sheet as it is.
        let ours = judged(OWN, 0, 1)[0].verdicts[0].ours.clone();
        let text = OWN.replace("value = 84", &format!("value = {ours}"));
        let told = judged(&text, 8, 1);
        let verdicts = &told[0].verdicts;
        assert!(verdicts.iter().all(|verdict| verdict.holds == Some(true)), "{verdicts:?}");
        let [value, shape] = [0, 1].map(|at: usize| verdicts[at].drawn.expect("it is a prediction"));
        assert!(value.judged == 8 && value.hold < 8, "{value:?}");
        assert_eq!((shape.hold, shape.judged), (8, 8));
        assert_eq!(verdicts[2].drawn, None, "what cannot fail is not drawn");
        assert_eq!(judged(&text, 8, 1), told);
    }
}
