//! Which runs do several experiments make?

use iostack_model::answers::Reproduced;
use iostack_study::sweep::pool::{self, Task};
use iostack_study::sweep::watch::watched;
use iostack_target::{Audience, Targets};

use super::experiment::Experiment;
use super::gather::{self, Planned};

/// Runs of an experiment, one list each.
pub(crate) type Plans = Vec<Vec<Planned>>;

/// All runs of all experiments together, so that no CPU waits for the end of one of them.
pub(crate) fn reproduce(
    experiments: &[&Experiment],
    planned: &Plans,
    (parallel, targets): (usize, &dyn Targets),
    talk: &dyn Audience,
) -> Vec<Reproduced> {
    // The same run may be of several experiments; it is made once.
    let mut runs: Vec<(&Task, String)> = Vec::new();
    for (one, points) in experiments.iter().zip(planned) {
        for point in points {
            if point.task.jobs.is_ok() && runs.iter().all(|(task, _)| **task != point.task) {
                runs.push((&point.task, format!("{}, {}", one.id, point.name())));
            }
        }
    }
    // The longest first, so that no CPU is left with one of them at the end.
    runs.sort_by(|(a, _), (b, _)| pool::weight(b).total_cmp(&pool::weight(a)));
    let (tasks, names): (Vec<Task>, Vec<String>) =
        runs.into_iter().map(|(task, name)| (task.clone(), name)).unzip();
    let given = watched(&tasks, &names, (parallel, targets), talk);
    let given_to = |point: &Planned| {
        if let Err(error) = &point.task.jobs {
            return Some(Err(error.clone()));
        }
        tasks.iter().zip(&given).find(|(task, _)| **task == point.task).and_then(|(_, given)| given.clone())
    };
    let reproduced = experiments.iter().zip(planned).map(|(one, points)| {
        gather::simulated(one, points, &points.iter().map(given_to).collect::<Vec<_>>())
    });
    reproduced.collect()
}
