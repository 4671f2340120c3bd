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
