//! What if the kernel, a container or whoever set it up keeps something back? Another way is taken, or the missing thing is named.

use std::process::{Command, Output};

use iostack_testkit::{or_skip, tool};

use crate::shared::{IOSTACK, Room, heard, refused};

/// Runs it where these system calls fail so, as below a container's filter.
fn without(calls: &[(&str, &str)], words: &[&str]) -> Output {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "/dev/null"]);
    for (call, error) in calls {
        strace.arg("-e").arg(format!("inject={call}:error={error}"));
    }
    strace.arg(IOSTACK).args(words).output().expect("it was tried")
}

/// Runs it where a folder of the kernel's is empty.
fn unmounted(folder: &str, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs none \"$0\" && exec \"$@\"";
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, folder, IOSTACK]).args(words);
    command
}

#[test]
fn without_io_uring_other_engines_go_on_and_it_is_refused_with_the_reason() {
    let test = "without_io_uring_other_engines_go_on_and_it_is_refused_with_the_reason";
    if or_skip(test, tool("strace", &["-qq", "-o", "/dev/null", "true"])).is_none() {
        return;
    }
    let room = Room::new(test);
    let on = room.0.display().to_string();
    let job = ["run", "--on", &on, "--size", "256k", "--io-count", "9", "--quiet"];
    for (error, reason) in
        [("ENOSYS", "this kernel has no io_uring"), ("EPERM", "seccomp profile forbids it")]
    {
        let calls = [("io_uring_setup", error)];
        let output = without(&calls, &job);
        assert!(output.status.success(), "{error}: {}", heard(&output));
        let output = without(&calls, &[&job[..], &["--engine", "io_uring"]].concat());
        refused(&output, &[reason]);
    }
}

#[test]
fn without_bpf_and_samples_the_ladder_names_what_forbids_them() {
    let test = "without_bpf_and_samples_the_ladder_names_what_forbids_them";
    if or_skip(test, tool("strace", &["-qq", "-o", "/dev/null", "true"])).is_none() {
        return;
    }
    for error in ["ENOSYS", "EPERM"] {
        let output = without(&[("bpf", error), ("perf_event_open", error)], &["doctor"]);
        let told = heard(&output);
        assert!(output.status.success() && told.contains("rung 0 of 4"), "{error}: {told}");
        assert_eq!(told.matches(" NO ").count(), 4, "{error}: {told}");
    }
}

#[test]
fn a_folder_of_the_kernels_that_is_not_mounted_is_named() {
    let test = "a_folder_of_the_kernels_that_is_not_mounted_is_named";
    let tried = unmounted("/sys", &["--version"]).output().map_err(|error| error.to_string());
    let tried = tried.and_then(|output| output.status.success().then_some(()).ok_or_else(|| heard(&output)));
    if or_skip(test, tried).is_none() {
        return;
    }
    let room = Room::new(test);
    let on = room.0.display().to_string();
    let job = ["run", "--on", &on, "--size", "256k", "--io-count", "9", "--quiet"];
    let output = unmounted("/sys", &job).output().expect("it was tried");
    let told = heard(&output);
    assert!(
        output.status.success() && told.contains("/sys names none") && told.contains("clock unknown"),
        "{told}"
    );
    let told = heard(&unmounted("/sys", &["doctor"]).output().expect("it was tried"));
    assert!(told.contains("/sys is not mounted"), "{told}");
    let output = unmounted("/proc", &job).output().expect("it was tried");
    refused(&output, &["`/proc` is not mounted"]);
}
