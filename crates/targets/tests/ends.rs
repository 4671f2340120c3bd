//! Does a run from flags get a file in a directory that has none, and only there?

use iostack_model::{Job, Nanos, TargetKind, TargetName};
use iostack_target::{Description, RunClock};
use iostack_targets::ends;

#[test]
fn a_directory_without_files_gets_one_that_fits() {
    let folder = iostack_testkit::folder!("ends");
    let name = Some(TargetName { kind: TargetKind::Directory, path: folder.to_path_buf() });
    let target = Description { name, clock: RunClock::Wall, repeats: false, cannot: Vec::new() };
    let ended = |mut job: Job| {
        let said = ends::give(&mut job, &target).expect("there is room").expect("something lacks");
        (job, said)
    };
    let (job, said) = ended(Job { io_count: Some(5), ..Job::default() });
    assert_eq!((job.size.is_some(), job.runtime), (true, None));
    assert!(said.starts_with("no size was named: it runs on a file of "), "{said}");
    let (job, said) = ended(Job::default());
    assert_eq!((job.size.is_some(), job.runtime), (true, Some(Nanos::secs(10))));
    assert!(said.contains("runs for 10 s") && said.contains("on a file of "), "{said}");
    std::fs::write(folder.join("job.0.0"), [0; 512]).expect("a file of our own");
    let (job, said) = ended(Job::default());
    assert_eq!((job.size, job.runtime), (None, Some(Nanos::secs(10))), "what is there is used as it is");
    assert!(!said.contains("file"), "{said}");
}
