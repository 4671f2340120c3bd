//! What becomes of each field of a job in simulation? Nothing that is asked may be left out without a word.

/// What a simulation does with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treated {
    /// It decides what is asked, when, and for how long, as on a real target.
    Done,
    /// It is a matter of reports, or of files that a simulation has not; it cannot change a figure.
    Beside,
    /// Some of its values are left out: `doubts.rs` says so when they are asked for.
    Doubted,
}

/// Every field of [`iostack_model::Job`]. A test refuses a field that is not here.
pub(super) const FIELDS: &[(&str, Treated)] = &[
    ("name", Treated::Beside),
    ("mix", Treated::Done),
    ("access", Treated::Done),
    ("block_sizes", Treated::Done),
    ("offset", Treated::Done),
    ("offset_increment", Treated::Done),
    ("size", Treated::Done),
    ("io_limit", Treated::Done),
    ("io_count", Treated::Done),
    // Registered buffers and files, a kernel thread that submits, mappings.
    ("engine", Treated::Doubted),
    ("queue_depth", Treated::Done),
    ("batch", Treated::Done),
    ("threads", Treated::Done),
    ("thread_first", Treated::Done),
    // The page cache, where the platform has none.
    ("direct", Treated::Doubted),
    ("runtime", Treated::Done),
    ("time_based", Treated::Done),
    ("ramp", Treated::Done),
    ("start_delay", Treated::Done),
    ("loops", Treated::Done),
    ("rate", Treated::Done),
    // Burning CPU.
    ("think", Treated::Doubted),
    // O_SYNC and O_DSYNC.
    ("sync", Treated::Doubted),
    ("verify", Treated::Done),
    ("data", Treated::Doubted),
    ("cpus", Treated::Done),
    ("cpus_split", Treated::Done),
    // A page cache that is warm.
    ("invalidate", Treated::Doubted),
    ("seed", Treated::Done),
    ("slice", Treated::Done),
    ("stonewall", Treated::Done),
    ("report_group", Treated::Beside),
    ("percentiles", Treated::Beside),
    ("logs", Treated::Beside),
    // Several are one region.
    ("files", Treated::Doubted),
    ("directory", Treated::Beside),
    ("file_count", Treated::Doubted),
    ("unlink", Treated::Beside),
    ("replay", Treated::Beside),
    ("options", Treated::Beside),
];

#[cfg(test)]
mod tests {
    use super::*;
    use iostack_model::{Caveat, Data, Engine, Job, Mix, Nanos, Sync, Think};

    #[test]
    fn every_field_of_a_job_is_classified_and_no_other() {
        let json = serde_json::to_value(Job::default()).expect("a job is plain data");
        let mut fields: Vec<&str> = json.as_object().expect("a struct").keys().map(String::as_str).collect();
        let mut known: Vec<&str> = FIELDS.iter().map(|&(field, _)| field).collect();
        fields.sort_unstable();
        known.sort_unstable();
        assert_eq!(fields, known);
    }

    /// What the outcome of the job says is left out, on a device alone.
    fn left_out(job: Job) -> String {
        let sheet = crate::sheet::Sheet::of("zero", &[("zero.latency", "10us")]).expect("a kind");
        let job = Job { io_count: Some(10), ..job };
        let ran = crate::run::run(&sheet, &[job], &crate::run::RunOptions::seeded(1)).expect("runs");
        let said = ran.outcomes[0].caveats.iter().filter_map(|caveat| match caveat {
            Caveat::NotSimulated { what } => Some(what.clone()),
            _ => None,
        });
        said.collect::<Vec<String>>().join("; ")
    }

    #[test]
    fn buffered_io_that_is_asked_for_by_name_needs_memory() {
        let run = |platform: bool, memory: bool, name: &str| {
            let set: &[(&str, &str)] = if memory { &[("platform.memory", "64MiB")] } else { &[] };
            let set: Vec<_> = set.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
            let sheet = crate::sheet::Sheet::load(if platform { "nvme-server" } else { "tlc-1t" }, &set);
            let options = vec![(name.to_owned(), "x".to_owned())];
            let job = Job { io_count: Some(10), direct: false, options, ..Job::default() };
            let ran = crate::run::run(&sheet.expect("built in"), &[job], &crate::run::RunOptions::seeded(1));
            ran.err().map(|error| error.to_string())
        };
        let refused = run(true, false, "direct").expect("there is no page cache");
        assert!(refused.contains("simulated nvme-server has no memory"), "{refused}");
        assert!(refused.contains("--set platform.memory=1GiB"), "{refused}");
        assert!(run(false, false, "buffered").is_some_and(|said| said.contains("sim:pentium-d")));
        assert_eq!(run(true, true, "direct"), None);
        assert_eq!(run(true, false, "bs"), None, "fio's files say nothing of it");
    }

    fn ring(fixed_buffers: bool, registered_files: bool, submit_poll: bool) -> Engine {
        Engine::IoUring { fixed_buffers, registered_files, poll: false, submit_poll }
    }

    #[test]
    fn each_value_that_is_left_out_is_said_and_the_plain_one_is_not() {
        let plain = left_out(Job::default());
        let spin = Some(Think { time: Nanos(9), every: 1, spin: Nanos(5) });
        let write = Job { mix: Mix::WRITE, ..Job::default() };
        for (field, job, said) in vec![
            ("engine", Job { engine: ring(true, false, false), ..Job::default() }, "fixed_buffers"),
            ("engine", Job { engine: ring(false, true, false), ..Job::default() }, "registered_files"),
            ("engine", Job { engine: ring(false, false, true), ..Job::default() }, "submit_poll"),
            ("engine", Job { engine: Engine::Mmap, direct: false, ..Job::default() }, "the page cache"),
            ("direct", Job { direct: false, ..Job::default() }, "the page cache"),
            ("think", Job { think: spin, ..Job::default() }, "burns CPU"),
            ("sync", Job { sync: Sync { o_sync: true, ..Sync::default() }, ..Job::default() }, "O_SYNC"),
            ("sync", Job { sync: Sync { o_dsync: true, ..Sync::default() }, ..Job::default() }, "O_DSYNC"),
            ("data", Job { data: Data::Zeroes, ..write }, "what the data holds"),
            ("invalidate", Job { invalidate: false, ..Job::default() }, "invalidate"),
            ("files", Job { files: vec!["a".into(), "b".into()], ..Job::default() }, "several files"),
            ("file_count", Job { file_count: 2, ..Job::default() }, "several files"),
        ] {
            assert!(FIELDS.contains(&(field, Treated::Doubted)), "{field}");
            assert!(!plain.contains(said), "{field}: {plain}");
            let told = left_out(job);
            assert!(told.contains(said), "{field}: {told}");
        }
        assert_eq!(left_out(Job { engine: Engine::IO_URING, ..Job::default() }), plain);
        let doubted = FIELDS.iter().filter(|(_, treated)| *treated == Treated::Doubted).count();
        assert_eq!(doubted, 8, "a field that is doubted is tried above");
    }
}
