//! Is every field of a job done in simulation, or is it said that it is not?

use std::collections::BTreeMap;

use iostack_model::{Caveat, Data, Engine, Job, Mix, Nanos, Sync, Think};

/// Fields of a job by what a simulation does with them. `done`: they decide what is asked, when, and for how long, as on a real
/// target. `beside`: they are a matter of reports, or of files that a simulation has not. `doubted`: some of their values are
/// left out, and `doubts.rs` says so when they are asked for.
fn fields() -> BTreeMap<String, Vec<String>> {
    serde_json::from_str(include_str!("data/job_fields.json")).expect("lists of names")
}

#[test]
fn every_field_of_a_job_is_classified_and_no_other() {
    let json = serde_json::to_value(Job::default()).expect("a job is plain data");
    let mut known: Vec<String> = fields().into_values().flatten().collect();
    known.sort_unstable();
    let mut fields: Vec<&String> = json.as_object().expect("a struct").keys().collect();
    fields.sort_unstable();
    assert_eq!(fields, known.iter().collect::<Vec<_>>());
}

/// Words of the outcome about what is left out, on a device alone.
fn left_out(job: Job) -> String {
    let sheet = super::Sheet::from_values("zero", &[("zero.latency", "10us")]).expect("a kind");
    let job = Job { io_count: Some(10), ..job };
    let ran = super::run(&sheet, &[job], &super::RunOptions::seeded(1)).expect("runs");
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
        let sheet = super::Sheet::changed(if platform { "nvme-server" } else { "tlc-1t" }, set);
        let options = vec![(name.to_owned(), "x".to_owned())];
        let job = Job { io_count: Some(10), direct: false, options, ..Job::default() };
        let ran = super::run(&sheet, &[job], &super::RunOptions::seeded(1));
        ran.err().map(|error| error.to_string())
    };
    let refused = run(true, false, "direct").expect("there is no page cache");
    assert!(refused.contains("simulated nvme-server has no memory"), "{refused}");
    assert!(refused.contains("--set platform.memory=1GiB"), "{refused}");
    assert!(run(false, false, "buffered").is_some_and(|said| said.contains("sim:pentium-d")));
    assert_eq!(run(true, true, "direct"), None);
    assert_eq!(run(true, false, "bs"), None, "fio's files say nothing of it");
}

#[test]
fn who_polls_past_the_interrupts_that_tell_of_room_is_refused() {
    let polled =
        Engine::IoUring { fixed_buffers: false, registered_files: false, poll: true, submit_poll: false };
    let run = |set: &[(&str, &str)], engine: Engine| {
        let job = Job { io_count: Some(10), engine, ..Job::default() };
        let sheet = super::Sheet::changed("e5630", set);
        super::run(&sheet, &[job], &super::RunOptions::seeded(1)).err().map(|error| error.to_string())
    };
    let said = run(&[], polled).expect("its room is never told");
    assert!(said.contains("platform.outstanding = 1") && said.contains("platform.subsystem=sync"), "{said}");
    for how in ["poll", "hybrid"] {
        assert!(run(&[("platform.completion", how)], Engine::Psync).is_some(), "{how}");
    }
    assert_eq!(run(&[], Engine::Psync), None);
    assert_eq!(run(&[("platform.subsystem", "sync")], polled), None);
}

fn ring(fixed_buffers: bool, registered_files: bool, submit_poll: bool) -> Engine {
    Engine::IoUring { fixed_buffers, registered_files, poll: false, submit_poll }
}

#[test]
fn each_value_that_is_left_out_is_said_and_the_plain_one_is_not() {
    let plain = left_out(Job::default());
    let doubted = fields().remove("doubted").expect("some are");
    let mut tried: Vec<&str> = Vec::new();
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
        tried.push(field);
        assert!(!plain.contains(said), "{field}: {plain}");
        let told = left_out(job);
        assert!(told.contains(said), "{field}: {told}");
    }
    assert_eq!(left_out(Job { engine: Engine::IO_URING, ..Job::default() }), plain);
    tried.dedup();
    tried.sort_unstable();
    assert_eq!(tried, doubted, "each field that is doubted is tried above");
}
