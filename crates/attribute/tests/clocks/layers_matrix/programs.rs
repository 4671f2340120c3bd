//! Programs that are not ours.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use iostack_attribute::classify::Rules;
use iostack_attribute::layers::{LayerTrace, Subject};
use iostack_model::{Ladder, Layers, Rung};
use iostack_testkit::folder;

use super::work::{RATE_HZ, gather};
use crate::common::ladder_with;

/// Runs a command of the shell's and watches it from its first instruction: the shell waits until we are attached, and
/// then becomes the program. `None` when the program fails.
fn watch(ladder: &Ladder, directory: &Path, command: &str, user: Option<u32>) -> Option<Layers> {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("read go; exec {command}")]).current_dir(directory);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(user) = user {
        shell.uid(user).gid(user);
    }
    let mut child = shell.spawn().ok()?;
    let storage = iostack_host::storage(directory).expect("the directory exists");
    let subject = Subject::Process { pid: child.id() };
    let trace = LayerTrace::start(Rules::built_in(), subject, &storage, ladder, 1_000_000_000, RATE_HZ)
        .expect("the shell waits for us");
    // A program that ends at once has closed its input.
    let _told = child.stdin.take().expect("piped").write_all(b"go\n");
    let status = child.wait().expect("a child can be waited for");
    let layers = trace.finish(None, "");
    status.success().then_some(layers)
}

fn installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|path| path.join(program).exists())
}

/// Watches a command again and again until there are enough samples, each time after `prepare`.
fn check(test: &str, program: &str, user: Option<u32>, command: &str, prepare: impl Fn(&Path)) {
    if !installed(program) {
        println!("SKIPPED {test}: {program} is not installed");
        return;
    }
    let Some(ladder) = ladder_with(test, Rung::AllSamples) else { return };
    let pool = gather(|| {
        let directory = folder!(&format!("layers-{program}"));
        prepare(&directory);
        watch(&ladder, &directory, command, user)
    });
    let pool = pool.expect("the program succeeds");
    assert!(pool.tell(program), "not classified well enough, or too few samples");
}

/// Files to work on: `count` of `size` bytes.
fn files(directory: &Path, count: usize, size: usize) {
    let folder = directory.join("files");
    fs::create_dir_all(&folder).expect("our own directory");
    for number in 0..count {
        let content: Vec<u8> = (0..size).map(|at| (at * (number + 7) % 251) as u8).collect();
        fs::write(folder.join(number.to_string()), content).expect("there is room");
    }
}

#[test]
fn kernel_samples_of_sqlite_are_classified() {
    let name = "kernel_samples_of_sqlite_are_classified";
    check(name, "sqlite3", None, "sqlite3 base '.read script'", |directory| {
        let row = |row| format!("insert into t values({row}, hex(randomblob(200)));");
        let rows = (0..100).map(row).collect::<Vec<_>>().join("\n");
        let script =
            format!("drop table if exists t;\ncreate table t(a, b);\n{rows}\nselect count(*) from t;\n");
        fs::write(directory.join("script"), script).expect("our own directory");
    });
}

#[test]
fn kernel_samples_of_cp_are_classified() {
    check("kernel_samples_of_cp_are_classified", "cp", None, "cp -r files copy", |directory| {
        files(directory, 400, 200_000);
    });
}

#[test]
fn kernel_samples_of_find_are_classified() {
    let command = "find /usr/share /usr/include -xdev -size +1000000000c";
    check("kernel_samples_of_find_are_classified", "find", None, command, |_| {});
}

#[test]
fn kernel_samples_of_git_are_classified() {
    let command = "git -c core.fsync=all --git-dir=repository --work-tree=files add --all";
    check("kernel_samples_of_git_are_classified", "git", None, command, |directory| {
        files(directory, 3000, 3000);
        let made = Command::new("git").args(["init", "--bare", "repository"]).current_dir(directory).output();
        made.expect("git is installed");
    });
}

#[test]
fn kernel_samples_of_postgresql_are_classified() {
    let name = "kernel_samples_of_postgresql_are_classified";
    let user = 65534;
    if !installed("postgres") || !installed("initdb") {
        println!("SKIPPED {name}: PostgreSQL is not installed");
        return;
    }
    // It refuses to run as root; its own user must reach the directory.
    let row = |row| format!("insert into t values({row}, repeat('x', 500));");
    let rows = (0..300).map(row).collect::<Vec<_>>().join("\n");
    let script = format!("drop table if exists t;\ncreate table t(a int, b text);\n{rows}\n");
    let probe = folder!("layers-postgres-reach");
    let reached = Command::new("sh").args(["-c", "cd \"$0\""]).arg(&*probe).uid(user).gid(user).status();
    if !reached.is_ok_and(|status| status.success()) {
        println!("SKIPPED {name}: an ordinary user cannot be had, or not reach the build directory");
        return;
    }
    let command = "sh -c 'exec postgres --single -D base postgres < script'";
    check(name, "postgres", Some(user), command, |directory| {
        fs::write(directory.join("script"), &script).expect("our own directory");
        std::os::unix::fs::chown(directory, Some(user), Some(user)).expect("we are root");
        let made = Command::new("initdb")
            .args(["--no-locale", "-E", "UTF8", "-D", "base"])
            .current_dir(directory)
            .uid(user)
            .gid(user)
            .output()
            .expect("it is installed");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    });
}
