//! How does a folder become a Debian package? `xtask/debian/` describes each as Debian's tools read it: `dpkg-gencontrol`, `dpkg-deb`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{PackageSource, place, write};
use crate::process::{self, must};

/// Files that Debian's tools want in `DEBIAN/`, by their endings in `xtask/debian/`.
const CONTROL: [&str; 4] = ["postinst", "prerm", "shlibs", "triggers"];

/// A package that is being made.
pub(super) struct Deb<'a> {
    source: &'a PackageSource,
    name: &'a str,
    /// Words that stand in the files of `xtask/debian/` in place of others, such as `@VERSION@`.
    words: Vec<(&'a str, &'a str)>,
    /// Folder in which Debian's tools are run: what they look for is in `debian/` there.
    pub(super) work: PathBuf,
}

impl<'a> Deb<'a> {
    /// Writes what Debian's tools look for; `further` are words of this package alone.
    pub(super) fn new(
        source: &'a PackageSource,
        name: &'a str,
        further: &[(&'a str, &'a str)],
    ) -> Result<Deb<'a>> {
        let work = source.out.join("work").join(name);
        let words = [&[("@VERSION@", source.version)], further].concat();
        let deb = Deb { source, name, words, work };
        let head = format!("Source: iostack\nMaintainer: {}\n\n", source.maintainer);
        write(&deb.work.join("debian/control"), (head + &deb.text("control")?).as_bytes())?;
        let entry = format!(
            "iostack ({}-1) unstable; urgency=medium\n\n  * Built from commit {}. What is new: changelog.gz.\n\n -- {}  {}\n",
            source.version, source.commit, source.maintainer, source.date
        );
        write(&deb.work.join("debian/changelog"), entry.as_bytes())?;
        Ok(deb)
    }

    /// A file of `xtask/debian/` with the words of this package.
    pub(super) fn text(&self, file: &str) -> Result<String> {
        let path = self.source.root.join("xtask/debian").join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(self.words.iter().fold(text, |text, (word, meant)| text.replace(word, meant)))
    }

    /// Makes the package of what lies in `root`.
    pub(super) fn build(&self, architecture: &str, root: &Path) -> Result<PathBuf> {
        let (source, name, meta) = (self.source, self.name, root.join("DEBIAN"));
        let documents = root.join("usr/share/doc").join(name);
        write(&documents.join("copyright"), self.text("copyright")?.as_bytes())?;
        let changes = [documents.join("changelog"), documents.join("changelog.Debian")];
        place(&source.root.join("CHANGELOG.md"), &changes[0])?;
        place(&self.work.join("debian/changelog"), &changes[1])?;
        compress(&changes)?;
        let overrides = self.text(&format!("{name}.lintian-overrides"))?;
        write(&root.join("usr/share/lintian/overrides").join(name), overrides.as_bytes())?;
        let sums = process::text(Command::new("md5sum").args(files(root)?).current_dir(root))?;
        write(&meta.join("md5sums"), sums.as_bytes())?;
        let mut programs = vec![root.join("usr/bin").join(name)];
        for end in CONTROL {
            let file = format!("{name}.{end}");
            if source.root.join("xtask/debian").join(&file).exists() {
                write(&meta.join(end), self.text(&file)?.as_bytes())?;
                programs.extend(end.starts_with('p').then(|| meta.join(end)));
            }
        }
        for program in programs.iter().filter(|program| program.exists()) {
            fs::set_permissions(program, Permissions::from_mode(0o755))?;
        }
        let mut control = Command::new("dpkg-gencontrol");
        control.arg(format!("-p{name}")).arg(format!("-P{}", root.display())).arg("-fdebian/files");
        if architecture != "all" {
            control.env("DEB_HOST_ARCH", architecture);
        }
        process::text(control.current_dir(&self.work))?;
        // Whatever the umask is.
        must(Command::new("chmod").args(["--recursive", "a=rX,u+w"]).arg(root))?;
        let deb = source.out.join(format!("{name}_{}-1_{architecture}.deb", source.version));
        let mut dpkg = Command::new("dpkg-deb");
        dpkg.args(["--root-owner-group", "-Zxz", "--build"]).arg(root).arg(&deb);
        process::text(dpkg.env("SOURCE_DATE_EPOCH", &source.epoch))?;
        Ok(deb)
    }
}

/// Compresses as `dh_compress` does: the best, without name and time.
pub(super) fn compress(files: &[PathBuf]) -> Result<()> {
    must(Command::new("gzip").args(["-9n", "--force"]).args(files))
}

/// The files below `root`, in order; no links, and not `DEBIAN/`.
fn files(root: &Path) -> Result<Vec<String>> {
    let found = process::text(Command::new("find").args(["usr", "-type", "f"]).current_dir(root))?;
    let mut found: Vec<String> = found.lines().map(str::to_owned).collect();
    found.sort();
    Ok(found)
}
