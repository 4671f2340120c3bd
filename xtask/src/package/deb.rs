//! How does a folder become a Debian package? Control, documents, sums and modes, as Debian's policy asks for them; then `dpkg-deb`.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Source, must, place, write};
use crate::process;

/// Description of a package, beside its files.
pub(super) struct Deb<'a> {
    pub(super) name: &'a str,
    /// Architecture as Debian calls it: `amd64`, `arm64`, `all`.
    pub(super) architecture: &'a str,
    pub(super) section: &'a str,
    /// Further fields, such as `Depends`.
    pub(super) fields: &'a [(&'a str, &'a str)],
    /// One line, then whole lines of more.
    pub(super) summary: &'a str,
    pub(super) description: &'a [&'a str],
    /// The paragraphs of `copyright` behind that of everything else.
    pub(super) licences: &'a str,
    /// Words of lintian's that we mean.
    pub(super) overrides: &'a [&'a str],
    /// Files for `DEBIAN/`: scripts, triggers.
    pub(super) control: &'a [(&'a str, String)],
}

impl Deb<'_> {
    /// Makes the package of what lies in `root`.
    pub(super) fn build(&self, source: &Source, root: &Path) -> Result<PathBuf> {
        self.documents(source, root)?;
        let files = files(root)?;
        let mut sums = Command::new("md5sum");
        sums.args(files.iter().filter(|file| !root.join(file).is_symlink())).current_dir(root);
        let sums = process::text(&mut sums)?;
        let meta = root.join("DEBIAN");
        write(&meta.join("md5sums"), sums.as_bytes())?;
        write(&meta.join("control"), self.control_file(source, root, &files)?.as_bytes())?;
        for (name, text) in self.control {
            write(&meta.join(name), text.as_bytes())?;
        }
        modes(root)?;
        for (name, _) in self.control.iter().filter(|(_, text)| text.starts_with("#!")) {
            fs::set_permissions(meta.join(name), Permissions::from_mode(0o755))?;
        }
        let file = format!("{}_{}-1_{}.deb", self.name, source.version, self.architecture);
        let deb = source.out.join(file);
        let mut dpkg = Command::new("dpkg-deb");
        dpkg.args(["--root-owner-group", "-Zxz", "--build"]).arg(root).arg(&deb);
        process::text(dpkg.env("SOURCE_DATE_EPOCH", &source.epoch))?;
        Ok(deb)
    }

    fn control_file(&self, source: &Source, root: &Path, files: &[PathBuf]) -> Result<String> {
        let mut kib = 0;
        for file in files {
            kib += fs::symlink_metadata(root.join(file)).context("it was just listed")?.len().div_ceil(1024);
        }
        let mut text = format!(
            "Package: {}\nVersion: {}-1\nArchitecture: {}\nMaintainer: {}\nInstalled-Size: {kib}\nSection: {}\nPriority: optional\n",
            self.name, source.version, self.architecture, source.maintainer, self.section,
        );
        for (field, value) in self.fields {
            writeln!(text, "{field}: {value}").expect("a string takes all");
        }
        writeln!(text, "Description: {}", self.summary).expect("a string takes all");
        for line in self.description {
            writeln!(text, " {line}").expect("a string takes all");
        }
        Ok(text)
    }

    /// `usr/share/doc/NAME/`, and what lintian may be silent about.
    fn documents(&self, source: &Source, root: &Path) -> Result<()> {
        let folder = root.join("usr/share/doc").join(self.name);
        let mit = fs::read_to_string(source.root.join("LICENSE-MIT")).context("cannot read LICENSE-MIT")?;
        let copyright = copyright(&mit, self.licences);
        write(&folder.join("copyright"), copyright.as_bytes())?;
        place(&source.root.join("CHANGELOG.md"), &folder.join("changelog"))?;
        let entry = format!(
            "{} ({}-1) unstable; urgency=medium\n\n  * Built from commit {}. What is new: changelog.gz.\n\n -- {}  {}\n",
            self.name, source.version, source.commit, source.maintainer, source.date
        );
        write(&folder.join("changelog.Debian"), entry.as_bytes())?;
        compress(&[folder.join("changelog"), folder.join("changelog.Debian")])?;
        // Nobody asked Debian for it.
        let mut lines = format!("{}: initial-upload-closes-no-bugs\n", self.name);
        for line in self.overrides {
            writeln!(lines, "{}: {line}", self.name).expect("a string takes all");
        }
        write(&root.join("usr/share/lintian/overrides").join(self.name), lines.as_bytes())
    }
}

/// Debian's machine-readable form, version 1.0. The text of Apache 2.0 is on every Debian.
fn copyright(mit: &str, further: &str) -> String {
    let body = mit.split_once("\n\n").map_or(mit, |(_, body)| body);
    let owner =
        mit.lines().find_map(|line| line.strip_prefix("Copyright (c) ")).unwrap_or("The iostack authors");
    let indented: String = body
        .split_once("\n\n")
        .map_or(body, |(_, body)| body)
        .lines()
        .map(|line| if line.trim().is_empty() { " .\n".to_owned() } else { format!(" {line}\n") })
        .collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: iostack\n\n\
         Files: *\nCopyright: {owner}\nLicense: MIT or Apache-2.0\n\n{further}\
         License: MIT\n{indented}\n\
         License: Apache-2.0\n On Debian systems, the text of the Apache License, version 2.0, is in\n \
         /usr/share/common-licenses/Apache-2.0.\n"
    )
}

/// Compresses as `dh_compress` does: the best, without name and time.
pub(super) fn compress(files: &[PathBuf]) -> Result<()> {
    must(Command::new("gzip").args(["-9n", "--force"]).args(files))
}

/// Everything that is no folder, from the root, in order; not `DEBIAN/`.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut ahead = vec![root.to_owned()];
    while let Some(folder) = ahead.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                ahead.push(entry.path());
            } else {
                found.push(entry.path().strip_prefix(root).context("it was found below")?.to_owned());
            }
        }
    }
    found.retain(|path| !path.starts_with("DEBIAN"));
    found.sort();
    Ok(found)
}

/// Whatever the umask is: folders and programs 755, other files 644.
fn modes(root: &Path) -> Result<()> {
    for entry in fs::read_dir(root).with_context(|| format!("cannot list {}", root.display()))? {
        let (path, kind) = {
            let entry = entry?;
            (entry.path(), entry.file_type()?)
        };
        if kind.is_dir() {
            modes(&path)?;
        } else if kind.is_file() {
            let mode = if root.ends_with("usr/bin") { 0o755 } else { 0o644 };
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
        }
    }
    Ok(fs::set_permissions(root, Permissions::from_mode(0o755))?)
}
