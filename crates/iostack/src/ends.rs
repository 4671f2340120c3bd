//! When does a run end whose flags name no end, and how large is a file that they do not size?
//!
//! The first thing that is typed: it takes ten seconds of the target's clock (one in the lab), and in a directory a file that
//! fits. Job files and fio's lines mean what they say. Start reading at [`give`].

use anyhow::ensure;
use iostack_engine::path;
use iostack_model::{Amount, Bytes, Job, Nanos, TargetKind, VerifyMode};
use iostack_target::Description;

/// All files of a job together.
const SIZE: Bytes = Bytes::gib(1);

/// The files take so much of the room that there is at most, in percent.
const OF_ROOM: u64 = 80;

/// No file is smaller.
const SMALLEST: Bytes = Bytes::mib(1);

/// Gives a job from flags an end after `time` and a size, where it has none. What was given is said in a line.
pub(crate) fn give(job: &mut Job, target: &Description, time: Nanos) -> anyhow::Result<Option<String>> {
    let time = (!names_end(job)).then_some(time);
    let size = size_in_directory(job, target)?;
    if let Some(time) = time {
        (job.runtime, job.time_based) = (Some(time), true);
        if job.options.iter().all(|(name, _)| name != "slice") {
            job.slice = Nanos(time.0 / 20);
        }
    }
    if let Some(size) = size {
        job.size = Some(Amount::Bytes(size));
    }
    let each = if job.threads > 1 { " for each thread" } else { "" };
    let file = size.map(|size| format!("a file of {size}{each} (--size)"));
    Ok(match (time, file) {
        (None, None) => None,
        (Some(time), None) => {
            Some(format!("no end was named: it runs for {time} (--runtime, --io-count or --size)"))
        }
        (Some(time), Some(file)) => {
            Some(format!("no end was named: it runs for {time} (--runtime or --io-count) on {file}"))
        }
        (None, Some(file)) => Some(format!("no size was named: it runs on {file}")),
    })
}

/// True if the job names an end, or ends by itself.
fn names_end(job: &Job) -> bool {
    let bounded = job.size.is_some() || job.io_count.is_some() || job.io_limit.is_some();
    bounded
        || job.runtime.is_some()
        || job.loops > 1
        || job.verify.is_some()
        || job.until_steady.is_some()
        || job.latency_goal.is_some()
        || !asks_by_itself(job)
}

/// No trace decides, and data is moved.
fn asks_by_itself(job: &Job) -> bool {
    job.recorded.is_none() && job.engine.moves_data()
}

/// Size of all files of one thread, if they are to be made.
fn size_in_directory(job: &Job, target: &Description) -> anyhow::Result<Option<Bytes>> {
    let reads_back = job.verify.is_some_and(|verify| verify.mode == VerifyMode::ReadOnly);
    if job.size.is_some() || !asks_by_itself(job) || reads_back {
        return Ok(None);
    }
    // A job that names no place is refused where that is said.
    let Ok(placement) = path::place(job, target.name.as_ref()) else { return Ok(None) };
    let is_there = |path: &std::path::PathBuf| path.metadata().is_ok_and(|data| data.len() > 0);
    if placement.target.kind != TargetKind::Directory || placement.files.iter().flatten().all(is_there) {
        return Ok(None);
    }
    let folder = &placement.target.path;
    let system = iostack_host::storage(folder)?.file_system;
    let free = system.map_or(SIZE, |system| system.free);
    let size = share_of(free, job.threads);
    ensure!(
        size >= SMALLEST,
        "`{}` has {free} free, too little for a file to run on; free some, or name --size",
        folder.display()
    );
    Ok(Some(size))
}

/// Share of the free space for one thread.
fn share_of(free: Bytes, threads: u32) -> Bytes {
    let all = SIZE.0.min((u128::from(free.0) * u128::from(OF_ROOM) / 100) as u64);
    Bytes(all / u64::from(threads.max(1)) / SMALLEST.0 * SMALLEST.0)
}

#[cfg(test)]
mod tests {
    use iostack_model::{Engine, TargetName, Verify};

    use super::*;
    use crate::targets::TargetTable;
    use iostack_target::{RunClock, Targets as _};

    fn on(kind: TargetKind, path: &str) -> Description {
        let name = Some(TargetName { kind, path: path.into() });
        Description { name, ..Description::of_clock(RunClock::Wall) }
    }

    fn ended(job: Job, target: &Description) -> (Job, Option<String>) {
        let mut job = job;
        let said = TargetTable::default().give_end(&mut job, target).expect("there is room");
        (job, said)
    }

    #[test]
    fn a_run_that_names_no_end_takes_ten_seconds_and_says_so() {
        let (job, said) = ended(Job::default(), &on(TargetKind::Sim, "tlc-1t"));
        assert_eq!((job.runtime, job.time_based, job.size), (Some(Nanos::secs(10)), true, None));
        assert_eq!(job.slice, Nanos::millis(500), "enough for an interval");
        assert!(said.is_some_and(|said| said.starts_with("no end was named: it runs for 10 s")));
        let (lab, _) = ended(Job::default(), &on(TargetKind::Lab, "brd"));
        assert_eq!(lab.runtime, Some(Nanos::secs(1)));
    }

    #[test]
    fn a_run_that_names_an_end_keeps_it() {
        for job in [
            Job { size: Some(Amount::Bytes(Bytes::mib(1))), ..Job::default() },
            Job { io_count: Some(5), ..Job::default() },
            Job { io_limit: Some(Bytes(4096)), ..Job::default() },
            Job { runtime: Some(Nanos::secs(3)), ..Job::default() },
            Job { loops: 2, ..Job::default() },
            Job { verify: Some(Verify::of_mode(VerifyMode::ReadOnly)), ..Job::default() },
            Job { engine: Engine::Null, ..Job::default() },
        ] {
            assert_eq!(ended(job.clone(), &on(TargetKind::Block, "/dev/vda")), (job, None));
        }
    }

    #[test]
    fn a_run_in_a_directory_that_names_no_size_runs_on_a_file_that_fits() {
        let folder = std::env::temp_dir().join(format!("iostack-ends-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("ours");
        let given = Job { runtime: Some(Nanos::millis(500)), ..Job::default() };
        let (job, said) = ended(given, &on(TargetKind::Directory, &folder.display().to_string()));
        std::fs::remove_dir_all(&folder).expect("ours");
        assert!(said.is_some_and(|said| said.starts_with("no size was named: it runs on a file of ")));
        assert!(job.size.is_some() && job.runtime == Some(Nanos::millis(500)));
    }

    #[test]
    fn files_leave_a_fifth_of_the_room_and_are_a_gibibyte_together() {
        assert_eq!(share_of(Bytes::gib(100), 1), Bytes::gib(1));
        assert_eq!(share_of(Bytes::gib(100), 4), Bytes::mib(256));
        assert_eq!(share_of(Bytes::mib(100), 1), Bytes::mib(80));
        assert_eq!(share_of(Bytes::mib(1), 1), Bytes(0), "refused");
        assert_eq!(share_of(Bytes(u64::MAX), 0), Bytes::gib(1));
    }
}
