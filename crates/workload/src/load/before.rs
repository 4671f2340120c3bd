//! Which jobs wait for others of their stage?

use iostack_model::Job;

/// Jobs that are still to begin, by their numbers in the stage.
#[derive(Clone, Debug, Default)]
pub struct Before {
    /// Each with those that it waits for.
    waiting: Vec<(usize, Vec<usize>)>,
    /// Threads of each job.
    threads: Vec<usize>,
}

impl Before {
    /// Those of a stage; one waits for all before it that have the name.
    pub fn of_jobs<'a>(jobs: impl Iterator<Item = &'a Job>) -> Before {
        let jobs: Vec<&Job> = jobs.collect();
        let waits_for = |number: usize| {
            let is_named = |other: &usize| jobs[number].wait_for.as_deref() == Some(&*jobs[*other].name);
            (number, (0..number).filter(is_named).collect())
        };
        Before {
            waiting: (0..jobs.len()).map(waits_for).collect(),
            threads: jobs.iter().map(|job| job.threads as usize).collect(),
        }
    }

    /// Those that may begin, with so many threads of each job finished; all, when the stage is over.
    pub fn due(&mut self, finished: &[usize], over: bool) -> Vec<usize> {
        let threads = &self.threads;
        let has_ended = |job: &usize| finished[*job] == threads[*job];
        let due = self.waiting.extract_if(.., |(_, waits_for)| over || waits_for.iter().all(has_ended));
        due.map(|(number, _)| number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_begins_when_all_threads_of_those_it_waits_for_have_finished() {
        let job = |name: &str, wait_for: &str| Job {
            name: name.to_owned(),
            wait_for: Some(wait_for.to_owned()).filter(|name| !name.is_empty()),
            threads: 2,
            ..Job::default()
        };
        let jobs = [job("a", ""), job("b", "a"), job("c", "b"), job("a", "")];
        let mut before = Before::of_jobs(jobs.iter());
        assert_eq!(before.due(&[0; 4], false), [0, 3]);
        assert_eq!(before.due(&[1, 0, 0, 2], false), [0; 0]);
        assert_eq!(before.due(&[2, 0, 0, 2], false), [1], "only those before it are meant");
        assert_eq!(before.clone().due(&[2, 0, 0, 2], true), [2]);
        assert_eq!(before.due(&[2; 4], false), [2]);
    }
}
