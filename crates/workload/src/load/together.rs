//! Which jobs run together, and which are reported as one?

use iostack_model::Job;

/// Those between stonewalls, which run together.
pub fn stages<T>(all: impl IntoIterator<Item = T>, job_of: impl Fn(&T) -> &Job) -> Vec<Vec<T>> {
    let mut stages: Vec<Vec<T>> = Vec::new();
    for one in all {
        match stages.last_mut() {
            Some(stage) if !job_of(&one).stonewall => stage.push(one),
            _ => stages.push(vec![one]),
        }
    }
    stages
}

/// The place of each job's report group among those of the stage, in the order of their first.
pub fn group_numbers<'a>(jobs: impl Iterator<Item = &'a Job>) -> Vec<usize> {
    let mut known: Vec<u32> = Vec::new();
    let number = |job: &Job| {
        known.iter().position(|&group| group == job.report_group).unwrap_or_else(|| {
            known.push(job.report_group);
            known.len() - 1
        })
    };
    jobs.map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stonewall_begins_a_stage() {
        let job = |stonewall| Job { stonewall, ..Job::default() };
        let jobs = [true, false, true, true, false].map(job);
        let counts = |jobs: &[Job]| stages(jobs, |job| job).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(counts(&jobs), [2, 1, 2]);
        assert_eq!(counts(&jobs[1..]), [1, 1, 2]);
        assert_eq!(counts(&[]), [0; 0]);
    }

    #[test]
    fn groups_are_numbered_in_the_order_of_their_first() {
        let jobs = [7, 3, 7, 9, 3].map(|report_group| Job { report_group, ..Job::default() });
        assert_eq!(group_numbers(jobs.iter()), [0, 1, 0, 2, 1]);
    }
}
