//! Do the options of what is written, and of its proof, mean what fio takes them to mean?

use iostack_model::*;

use super::tests::{job, problem};

#[test]
fn a_backlog_is_read_back_whole_unless_said_otherwise() {
    let backlog =
        |more: &str| job(&format!("rw=write verify=crc32c {more}")).verify.expect("it was said").backlog;
    assert_eq!(backlog(""), None);
    assert_eq!(backlog("verify_backlog=0 verify_backlog_batch=4"), None);
    assert_eq!(backlog("verify_backlog=8"), Some(Backlog { writes: 8, reads: 8 }));
    assert_eq!(backlog("verify_backlog_batch=3 verify_backlog=8"), Some(Backlog { writes: 8, reads: 3 }));
    assert_eq!(backlog("verify_backlog=8 do_verify=0"), None, "as in fio");
    assert_eq!(job("rw=read verify=crc32c verify_backlog=8").verify.expect("said").backlog, None);
    assert!(problem("verify_state_load=1").contains("how far an earlier job came is not kept"));
}

#[test]
fn trims_need_a_percentage_and_a_backlog_as_in_fio() {
    let trims =
        |more: &str| job(&format!("rw=write verify=crc32c {more}")).verify.expect("it was said").trims;
    assert_eq!(trims("trim_percentage=50"), None);
    assert_eq!(trims("trim_backlog=8"), None);
    let all = Trims { percent: 50, writes: 8, blocks: 8, read_zeroes: true };
    assert_eq!(trims("trim_backlog=8 trim_percentage=50"), Some(all));
    let some = Trims { blocks: 3, read_zeroes: false, ..all };
    assert_eq!(
        trims("trim_backlog=8 trim_percentage=50 trim_backlog_batch=3 trim_verify_zero=0"),
        Some(some)
    );
}

#[test]
fn preferred_ios_are_of_the_real_time_class_unless_said_otherwise() {
    let preferred = |more: &str| job(&format!("rw=randrw ioengine=libaio {more}")).host.preferred;
    assert_eq!(preferred("cmdprio_percentage=0 cmdprio=3"), None);
    let all = Preferred { percent: [20, 20], io_class: 1, io_level: 0 };
    assert_eq!(preferred("cmdprio_percentage=20"), Some(all));
    let reads = Preferred { percent: [20, 0], io_class: 2, io_level: 3 };
    assert_eq!(preferred("cmdprio=3 cmdprio_class=2 cmdprio_percentage=20,0"), Some(reads));
}
