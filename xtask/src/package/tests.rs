//! Does what is packaged work where it is unpacked, without anything of this machine?

mod newcomer;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use iostack_testkit::{Folder, or_skip, tool};

use super::{PackageSource, drivers, library, program};
use crate::{process, tree};

/// A folder beside the build: a package is laid out and unpacked in it.
fn folder(name: &str) -> Folder {
    Folder::below(&tree::root().join("target/tmp").display().to_string(), name)
}

fn source(folder: &Path) -> PackageSource {
    PackageSource::of(&tree::root(), folder).expect("git knows this tree")
}

/// Output of a command, which must succeed.
fn said(command: &mut Command) -> String {
    process::text(command).unwrap_or_else(|error| panic!("{error:#}"))
}

fn field(deb: &Path, name: &str) -> String {
    said(Command::new("dpkg-deb").arg("-f").arg(deb).arg(name)).trim().to_owned()
}

/// The package in a root of its own, after a look at what every package must have.
fn unpacked(source: &PackageSource, deb: &Path, folder: &Path) -> PathBuf {
    let (name, architecture) = (field(deb, "Package"), field(deb, "Architecture"));
    let root = folder.join(format!("{name}-{architecture}"));
    said(Command::new("dpkg-deb").arg("-R").arg(deb).arg(&root));
    let meta = root.join("DEBIAN");
    said(Command::new("md5sum").args(["--quiet", "--check", "DEBIAN/md5sums"]).current_dir(&root));
    assert_eq!(field(deb, "Version"), format!("{}-1", source.version));
    assert_eq!(field(deb, "Maintainer"), source.maintainer);
    let usr = said(Command::new("du").args(["-k", "--apparent-size", "-s", "usr"]).current_dir(&root));
    let real: u64 = usr.split_whitespace().next().expect("a size").parse().expect("KiB");
    let told: u64 = field(deb, "Installed-Size").parse().expect("KiB");
    // Folders are not of its size, and each file is rounded up.
    assert!(told.abs_diff(real) < 64 + real / 10, "{name}: {told} KiB told, {real} there");
    let documents = root.join("usr/share/doc").join(&name);
    let copyright = fs::read_to_string(documents.join("copyright")).expect("each package has it");
    for words in [
        "Copyright: 2026 The iostack authors",
        "Permission is hereby granted",
        "AS IS",
        "common-licenses/Apache-2.0",
    ] {
        assert!(copyright.contains(words), "{name}: `{words}` is missing in {copyright}");
    }
    let changes = said(Command::new("zcat").arg(documents.join("changelog.Debian.gz")));
    assert!(changes.contains(&format!("commit {}.", source.commit)), "{changes}");
    for script in ["postinst", "prerm"].map(|name| meta.join(name)).iter().filter(|path| path.exists()) {
        said(Command::new("sh").arg("-n").arg(script));
        assert_eq!(script.metadata().expect("there").permissions().mode() & 0o777, 0o755);
    }
    if process::find("lintian").is_some() {
        let mut lintian = Command::new("lintian");
        lintian.args(["--allow-root", "--fail-on", "error,warning"]).arg(deb);
        let judged = process::output(&mut lintian).expect("it was found");
        assert!(judged.status.success(), "{name}: {}", process::said(&judged));
    } else {
        println!("lintian is not installed: what it would say of {name} is not known");
    }
    root
}

/// False, said aloud, where packages cannot be made.
fn can_package(test: &str) -> bool {
    let words = ["dpkg-deb", "dpkg-shlibdeps"]
        .map(|name| process::find(name).ok_or(format!("{name} is not installed")));
    words.into_iter().all(|word| or_skip(test, word).is_some())
}

#[test]
fn the_drivers_are_built_of_what_their_package_unpacks() {
    let test = "the_drivers_are_built_of_what_their_package_unpacks";
    if !can_package(test) {
        return;
    }
    let folder = folder("package-drivers");
    let source = source(&folder);
    let made = drivers::package(&source).expect("packaged");
    let root = unpacked(&source, &made[0], &folder);
    assert!(field(&made[0], "Depends").starts_with("dkms"));
    let sources = root.join(format!("usr/src/iostack-drivers-{}", source.version));
    // DKMS reads its file as bash does.
    let script = ". ./dkms.conf; echo \"$PACKAGE_VERSION\"; for i in 0 1 2; do echo \"${BUILT_MODULE_LOCATION[i]}/${BUILT_MODULE_NAME[i]}.ko\"; done";
    let told = said(Command::new("bash").args(["-c", script]).current_dir(&sources));
    let mut told = told.lines();
    assert_eq!(told.next(), Some(source.version), "kernel/dkms.conf");
    let kernels = fs::read_dir("/lib/modules").into_iter().flatten().flatten();
    let headers =
        kernels.map(|kernel| kernel.path().join("build")).find(|path| path.join("Makefile").is_file());
    let headers = headers.ok_or_else(|| "no kernel's headers are installed".to_owned());
    let Some(headers) = or_skip(test, headers) else { return };
    let build =
        format!(". ./dkms.conf; kernel_source_dir={}; . ./dkms.conf; ${{MAKE[0]}}", headers.display());
    said(Command::new("bash").args(["-c", &build]).current_dir(&sources));
    for module in told {
        assert!(sources.join(module).is_file(), "{module} was not built");
    }
}

#[test]
#[ignore = "slow: a build as it is shipped"]
fn a_c_program_links_with_what_the_librarys_package_unpacks() {
    let test = "a_c_program_links_with_what_the_librarys_package_unpacks";
    let cc = process::find("cc").ok_or("cc is not installed".to_owned());
    if !can_package(test)
        || or_skip(test, cc).is_none()
        || or_skip(test, tool("pkg-config", &["--version"])).is_none()
    {
        return;
    }
    let folder = folder("package-library");
    let source = source(&folder);
    let made = library::package(&source).expect("packaged");
    let root = unpacked(&source, &made[0], &folder);
    assert!(field(&made[0], "Depends").contains("libc6"));
    let place = said(Command::new("dpkg-architecture").arg("-qDEB_HOST_MULTIARCH"));
    let libraries = root.join("usr/lib").join(place.trim());
    let flags = |words: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.args(words).arg("iostack-merge");
        command.env("PKG_CONFIG_SYSROOT_DIR", &root).env("PKG_CONFIG_LIBDIR", libraries.join("pkgconfig"));
        said(&mut command).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let program = tree::root().join("crates/merge/tests/c/library.c");
    for (kind, words) in
        [("shared", &["--cflags", "--libs"][..]), ("static", &["--cflags", "--libs", "--static"])]
    {
        let linked = folder.join(kind);
        let mut flags = flags(words);
        if kind == "static" {
            flags
                .iter_mut()
                .filter(|flag| *flag == "-liostack_merge")
                .for_each(|flag| *flag = "-l:libiostack_merge.a".to_owned());
        }
        said(
            Command::new("cc")
                .args(["-std=c11", "-pthread"])
                .arg(&program)
                .args(flags)
                .arg("-o")
                .arg(&linked),
        );
        let work = folder.join(format!("{kind}-work"));
        fs::create_dir_all(&work).expect("ours");
        let mut run = Command::new(&linked);
        if kind == "shared" {
            run.env("LD_LIBRARY_PATH", &libraries);
        }
        said(run.arg(&work));
    }
}

/// Runs a program where nothing is but its package and the kernel's /proc: no library, no network, none of our rights.
fn alone(root: &Path, words: &[&str]) -> Command {
    let script = "mkdir -p \"$0/proc\" && mount --rbind /proc \"$0/proc\" && exec chroot \"$0\" \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "--mount", "sh", "-c", script]).arg(root).args(words);
    command
}

#[test]
#[ignore = "slow: two release builds, ten minutes on two cores"]
fn the_program_runs_where_only_its_package_is() {
    let test = "the_program_runs_where_only_its_package_is";
    if !can_package(test) {
        return;
    }
    let folder = folder("package-program");
    let source = source(&folder);
    let made = program::packages(&source).expect("packaged");
    let debs: Vec<&PathBuf> =
        made.iter().filter(|file| file.extension().is_some_and(|end| end == "deb")).collect();
    for deb in debs {
        let root = unpacked(&source, deb, &folder);
        let mut words = vec!["/usr/bin/iostack"];
        if field(deb, "Architecture") == "arm64" && std::env::consts::ARCH != "aarch64" {
            let found =
                process::find("qemu-aarch64-static").ok_or("qemu-aarch64-static is not installed".to_owned());
            let Some(emulator) = or_skip(test, found) else { return };
            super::place(&emulator, &root.join("qemu")).expect("copied");
            fs::set_permissions(root.join("qemu"), fs::Permissions::from_mode(0o755)).expect("ours");
            words.insert(0, "/qemu");
        }
        if or_skip(
            test,
            process::text(&mut alone(&root, &[&words[..], &["--version"]].concat()))
                .map_err(|error| format!("{error:#}")),
        )
        .is_none()
        {
            return;
        }
        runs(&root, &words, &source.commit);
        if words.len() == 1 {
            newcomer::at_work(test, deb, &folder);
        }
    }
}

fn runs(root: &Path, program: &[&str], commit: &str) {
    let run = |words: &str| {
        let words: Vec<&str> = program.iter().copied().chain(words.split(' ')).collect();
        process::output(&mut alone(root, &words)).expect("unshare was tried")
    };
    let fine = |words: &str| {
        let output = run(words);
        assert!(output.status.success(), "{words}: {}", process::said(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert_eq!(fine("--version").trim(), format!("iostack {} (commit {commit})", env!("CARGO_PKG_VERSION")));
    let told = fine("run --on sim:zero --set zero.latency=10us --io-count 1000");
    assert!(told.contains("10 us"), "{told}");
    fs::create_dir(root.join("data")).expect("ours");
    fine("run --on /data --size 1m --engine psync --io-count 97 --json --output /outcome.json");
    let told = fine("report /outcome.json");
    assert!(told.contains("with psync") && told.contains(" 97\n"), "{told}");
    if program.len() > 1 {
        for words in ["cost -- true", "lab cost brd"] {
            let refused = run(words);
            let said = process::said(&refused);
            assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{words}: {said}");
            assert!(said.contains("x86-64") && said.contains("aarch64"), "{words}: {said}");
        }
    }
}

#[test]
#[ignore = "slow: the whole tree is checked for another processor, three minutes"]
fn every_crate_can_be_checked_for_arm() {
    let test = "every_crate_can_be_checked_for_arm";
    let triple = "aarch64-unknown-linux-musl";
    let installed = tool("rustc", &["--print", "target-libdir", "--target", triple]).and_then(|path| {
        Path::new(path.trim())
            .is_dir()
            .then_some(())
            .ok_or(format!("{triple}: no such target of Rust's is installed"))
    });
    if or_skip(test, installed).is_none() {
        return;
    }
    // In a folder of its own: the build of others is not waited for.
    let mut check = process::cargo();
    check.args(["check", "--quiet", "--locked", "--package", "iostack", "--target", triple]);
    let output = process::output(check.args(["--target-dir", "target/portable"]).current_dir(tree::root()))
        .expect("cargo is here");
    let said = process::said(&output);
    // Musl has no shared libraries of ours; that is no finding.
    let heard: Vec<&str> =
        said.lines().filter(|line| !line.is_empty() && !line.contains("crate type `cdylib`")).collect();
    assert!(output.status.success() && heard.is_empty(), "{said}");
}

#[test]
#[ignore = "slow: installs every crate as it is packaged"]
fn packaged_crates_hold_all_that_they_are_built_of() {
    let folder = folder("packaged-crates");
    let cargo = |words: &[&str]| {
        let mut command = process::cargo();
        command.args(words).arg("--target-dir").arg(tree::root().join("target/packaged"));
        command
    };
    let words = ["package", "--workspace", "--exclude", "xtask", "--no-verify", "--allow-dirty", "--quiet"];
    said(cargo(&words).current_dir(tree::root()));
    let (mut members, mut patches) = (String::new(), String::new());
    for entry in fs::read_dir(tree::root().join("target/packaged/package")).expect("cargo made it").flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(&format!("-{}.crate", env!("CARGO_PKG_VERSION"))) else {
            continue;
        };
        said(Command::new("tar").arg("-xzf").arg(entry.path()).arg("-C").arg(&*folder));
        let path = format!("{name}-{}", env!("CARGO_PKG_VERSION"));
        write!(members, "{path:?}, ").expect("a string takes all");
        writeln!(patches, "{name} = {{ path = {path:?} }}").expect("a string takes all");
    }
    assert!(members.contains("iostack-sim"), "{members}");
    let manifest =
        format!("[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}");
    fs::write(folder.join("Cargo.toml"), manifest).expect("ours");
    fs::copy(tree::root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("ours");
    let crate_ = folder.join(format!("iostack-{}", env!("CARGO_PKG_VERSION")));
    let root = folder.join("installed");
    let words = ["install", "--debug", "--locked", "--quiet"];
    said(cargo(&words).arg("--path").arg(crate_).arg("--root").arg(&root).current_dir(&*folder));
    let told = said(Command::new(root.join("bin/iostack")).arg("--version"));
    let commit = source(&folder).commit;
    assert!(told.contains(&format!("(commit {}", commit.trim_end_matches("+changes"))), "{told}");
}
