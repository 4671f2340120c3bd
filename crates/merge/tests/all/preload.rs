//! Do programs that know nothing of the library get their own data through the preload shim?

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use iostack_testkit::{Folder, folder, or_skip};

use crate::c;

const POLICIES: [&str; 7] = ["auto", "pread", "ring", "stm", "atm", "leader-follower", "hybrid"];

/// A folder with the shim in it, or `None` where it cannot be built.
fn shim(test: &str) -> Option<(Folder, PathBuf)> {
    let folder = folder!(test);
    let shim = folder.join("libiostack_preload.so");
    let built = c::compile(&c::own("preload/iostack_preload.c"), &["-std=gnu11", "-shared", "-fPIC"], &shim);
    or_skip(test, built).map(|()| (folder, shim))
}

/// Puts the shim under a program, whose words are those of `command`; ends it after two minutes.
fn under(command: &Command, shim: &Path, policy: &str) -> Result<Output, String> {
    c::run(Command::new(command.get_program()).arg("--version"))?;
    let mut timed = Command::new("timeout");
    timed.args(["120", "env", "IOSTACK_MERGE_STATS=1", &format!("IOSTACK_MERGE_POLICY={policy}")]);
    timed.arg(format!("LD_PRELOAD={}", shim.display())).arg(command.get_program()).args(command.get_args());
    let output = c::run(timed.current_dir(command.get_current_dir().expect("each is told a folder")))?;
    assert!(output.status.success(), "policy {policy}: {}\n{}", output.status, c::said(&output));
    Ok(output)
}

/// The count before a word of the line that the shim prints at its end.
fn count(output: &Output, word: &str) -> u64 {
    let said = c::said(output);
    let line = said.lines().rfind(|line| line.starts_with("iostack_preload: policy"));
    let line = line.unwrap_or_else(|| panic!("no line of the shim in\n{said}"));
    let before = &line[..line.find(word).unwrap_or_else(|| panic!("no {word} in {line}"))];
    before.split(' ').rev().find_map(|text| text.parse().ok()).unwrap_or_else(|| panic!("no count in {line}"))
}

#[test]
fn descriptors_signals_forks_and_appends_are_as_without_the_shim() {
    let test = "descriptors_signals_forks_and_appends_are_as_without_the_shim";
    let Some((folder, shim)) = shim(test) else { return };
    let program = folder.join("preloaded");
    c::compile(&c::own("tests/c/preloaded.c"), &[], &program).expect("the shim was built the same way");
    let plain = Command::new(&program).current_dir(&*folder).output().expect("it was just built");
    assert!(plain.status.success(), "without the shim: {}", c::said(&plain));
    for policy in POLICIES {
        let output = under(Command::new(&program).current_dir(&*folder), &shim, policy);
        let output = output.expect("it was just built");
        assert!(count(&output, "reads") > 2_000, "{}", c::said(&output));
        assert_eq!(count(&output, "stale"), 1, "{}", c::said(&output));
    }
}

#[test]
fn fio_finds_what_it_wrote() {
    let Some((folder, shim)) = shim("fio_finds_what_it_wrote") else { return };
    for policy in POLICIES {
        let mut fio = Command::new("fio");
        fio.args(["--name=verify", "--ioengine=psync", "--thread", "--numjobs=3", "--size=512k", "--bs=4k"]);
        fio.args(["--rw=randwrite", "--verify=crc32c", "--do_verify=1", "--verify_fatal=1", "--direct=1"]);
        let ran = under(fio.current_dir(&*folder), &shim, policy);
        let Some(output) = or_skip("fio_finds_what_it_wrote", ran) else { return };
        // 128 blocks of each job, written, then read.
        assert_eq!(count(&output, "writes"), 384, "{}", c::said(&output));
        assert_eq!(count(&output, "reads"), 384, "{}", c::said(&output));
    }
}

#[test]
fn a_database_made_through_the_shim_is_whole_without_it() {
    const TEST: &str = "a_database_made_through_the_shim_is_whole_without_it";
    let Some((folder, shim)) = shim(TEST) else { return };
    let fill = "pragma journal_mode = wal; create table t (number integer primary key, text text); \
                with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) \
                insert into t select i, printf('%s of %d', hex(zeroblob(100)), i) from n; \
                pragma wal_checkpoint(truncate); delete from t where number % 3 = 0; pragma integrity_check;";
    let ask = "pragma integrity_check; select count(*), sum(number), sum(length(text)) from t;";
    for policy in POLICIES {
        let name = format!("{policy}.db");
        let made = under(Command::new("sqlite3").current_dir(&*folder).args([&name, fill]), &shim, policy);
        let Some(made) = or_skip(TEST, made) else { return };
        assert!(count(&made, "writes") > 100, "{}", c::said(&made));
        let asked = Command::new("sqlite3").current_dir(&*folder).args([&name, ask]).output();
        let said = c::said(&asked.expect("it was there a moment ago"));
        // 5000 without every third: 3334 rows.
        assert!(said.starts_with("ok\n3334|8336667|"), "{policy}: {said}");
    }
}

#[test]
fn an_unknown_policy_leaves_all_calls_plain_and_says_so() {
    let Some((folder, shim)) = shim("an_unknown_policy_leaves_all_calls_plain_and_says_so") else { return };
    let output = under(Command::new("true").current_dir(&*folder), &shim, "fastest").expect("of coreutils");
    assert!(c::said(&output).contains("no policy `fastest`"), "{}", c::said(&output));
    assert_eq!(count(&output, "reads"), 0);
}
