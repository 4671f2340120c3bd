//! What programs of a distribution expect of a machine, and a fresh one lacks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::near_side::failed;
use crate::sys::guest as sys;

const SHELL: &str = "/bin/busybox";

/// Whom programs become.
const USERS: &str = "root:x:0:0:root:/root:/bin/sh\nmysql:x:100:100::/nonexistent:/bin/sh\n\
                     postgres:x:101:101::/nonexistent:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/sh\n";
const GROUPS: &str = "root:x:0:\nmysql:x:100:\npostgres:x:101:\nnogroup:x:65534:\n";

/// Mounts, a loopback, users, and the small programs that every machine has where the packages bring none.
pub(crate) fn furnish() -> Result<(), String> {
    for (kind, at) in [("devpts", "/dev/pts"), ("tmpfs", "/dev/shm"), ("tmpfs", "/run")] {
        fs::create_dir_all(at).map_err(failed("make", at))?;
        sys::mount(kind, Path::new(at), kind, "").map_err(failed("mount", at))?;
    }
    for folder in ["/root", "/var/tmp", "/var/lib", "/var/log", "/run/lock", "/etc"] {
        fs::create_dir_all(folder).map_err(failed("make", folder))?;
    }
    for (name, of) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
        let link = Path::new("/dev").join(name);
        if !link.exists() {
            symlink(format!("/proc/self/fd{of}"), &link).map_err(failed("link", &link))?;
        }
    }
    for (path, text) in [
        ("/etc/passwd", USERS),
        ("/etc/group", GROUPS),
        ("/etc/hosts", "127.0.0.1 localhost lab\n"),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ] {
        if !Path::new(path).exists() {
            fs::write(path, text).map_err(failed("write", path))?;
        }
    }
    // It leaves what is there.
    shell(&["--install", "-s", "/bin"])?;
    shell(&["ifconfig", "lo", "127.0.0.1", "up"])
}

fn shell(arguments: &[&str]) -> Result<(), String> {
    let ended = Command::new(SHELL).args(arguments).stdout(std::process::Stdio::null()).status();
    ended.map(|_| ()).map_err(failed("run", SHELL))
}
