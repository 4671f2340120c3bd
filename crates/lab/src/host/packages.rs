//! Distribution packages, fetched by name as an ordinary user and unpacked without installing them.
//!
//! apt checks signature and sum of all it downloads. Where this machine's package lists are empty, as in a fresh
//! container, the lists are fetched into the cache and nothing of the machine changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::Cache;
use super::command::output;
use crate::LabError;

/// Told to people while it works.
pub type Say<'a> = &'a dyn Fn(&str);

/// A way to packages.
pub struct Packages {
    /// Options that each apt command takes: where the private lists are, when the machine has none.
    options: Vec<String>,
}

const NO_PACKAGE: &str = "check the name, the network and /etc/apt/sources.list.d (kernel 6.12 is in the security suite of \
                          Debian 12; a kernel of your own is named with --kernel PATH)";

impl Packages {
    /// A way to the packages whose names begin with `prefix`, and those names.
    pub fn find(cache: &Cache, prefix: &str, say: Say<'_>) -> Result<(Packages, Vec<String>), LabError> {
        let mut packages = Packages { options: Vec::new() };
        let mut names = packages.names(prefix)?;
        if names.is_empty() {
            packages = Packages { options: private_lists(cache)? };
            names = packages.names(prefix)?;
        }
        if names.is_empty() {
            say("fetching package lists");
            let act = "fetch package lists";
            output(packages.command("apt-get").args(["-qq", "update"]), act, "; check the network")?;
            names = packages.names(prefix)?;
        }
        if names.is_empty() {
            return Err(LabError::Package { wanted: prefix.to_owned(), remedy: NO_PACKAGE });
        }
        Ok((packages, names))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.options.iter().flat_map(|option| ["-o", option]));
        command.env("LC_ALL", "C");
        command
    }

    fn names(&self, prefix: &str) -> Result<Vec<String>, LabError> {
        let act = format!("look for the package {prefix}");
        let text = output(self.command("apt-cache").args(["pkgnames", prefix]), &act, "")?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Packages that would have to be installed so that `name` works, it included.
    pub fn missing_for(&self, name: &str) -> Result<Vec<String>, LabError> {
        let act = format!("find out what {name} needs");
        let mut command = self.command("apt-get");
        command.args(["-s", "--no-install-recommends", "install", name]);
        let text = output(&mut command, &act, "")?;
        let names = text.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
        Ok(names.map(str::to_owned).collect())
    }

    /// All packages that a machine with nothing on it would need so that these work, they included. Without what every Debian
    /// machine has (`Essential`), unless it is needed by name.
    pub fn closure(&self, names: &[String]) -> Result<Vec<String>, LabError> {
        let act = format!("find out what {} needs", names.join(", "));
        let mut command = self.command("apt-get");
        command.args(["-s", "--no-install-recommends", "-o", "Dir::State::status=/dev/null", "install"]);
        let text = output(command.args(names), &act, "; look for the name with apt-cache search")?;
        let needed = text.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next());
        Ok(needed.map(str::to_owned).collect())
    }

    /// The packages that `name` depends on directly.
    pub fn depends(&self, name: &str) -> Result<Vec<String>, LabError> {
        let act = format!("find out what {name} needs");
        let text = output(self.command("apt-cache").args(["depends", name]), &act, "")?;
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(names.filter(|name| !name.starts_with('<')).map(str::to_owned).collect())
    }

    /// Downloads the packages and unpacks them into `folder`, leaving out what `without` matches (tar's patterns).
    pub fn unpack(
        &self,
        names: &[String],
        folder: &Path,
        without: &[&str],
        say: Say<'_>,
    ) -> Result<(), LabError> {
        let downloads = folder.join("packages");
        fs::create_dir_all(&downloads).map_err(LabError::file("make", &downloads))?;
        say(&format!("fetching {}", listed(names)));
        let mut command = self.command("apt-get");
        command.args(["-q", "download"]).args(names).current_dir(&downloads);
        output(&mut command, "fetch packages", "; check the network")?;
        let mut manifest = String::new();
        for package in files_of(&downloads)? {
            say(&format!("unpacking {}", package.file_name().unwrap_or_default().to_string_lossy()));
            let file = package.to_string_lossy();
            let sum = output(Command::new("sha256sum").arg(&package), "sum a package", "")?;
            manifest += &sum.replace(&*file, &package.file_name().unwrap_or_default().to_string_lossy());
            extract(&package, folder, without)?;
        }
        fs::remove_dir_all(&downloads).map_err(LabError::file("remove", &downloads))?;
        let path = folder.join("packages.sha256");
        fs::write(&path, manifest).map_err(LabError::file("write", &path))
    }
}

/// `dpkg-deb` writes the archive, `tar` takes what is wanted of it.
fn extract(package: &Path, folder: &Path, without: &[&str]) -> Result<(), LabError> {
    let mut script = "set -o pipefail; dpkg-deb --fsys-tarfile \"$1\" | tar -x -C \"$2\"".to_owned();
    script.extend(without.iter().map(|pattern| format!(" --exclude='{pattern}'")));
    let mut command = Command::new("bash");
    command.args(["-c", &script, "bash"]).arg(package).arg(folder);
    output(&mut command, "unpack a package", "").map(|_| ())
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let entries = fs::read_dir(folder).map_err(LabError::file("read", folder))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "deb"));
    paths.sort();
    Ok(paths)
}

fn listed(names: &[String]) -> String {
    match names {
        [one, two, three, rest @ ..] if !rest.is_empty() => {
            format!("{one}, {two}, {three} and {} more", rest.len())
        }
        _ => names.join(", "),
    }
}

fn private_lists(cache: &Cache) -> Result<Vec<String>, LabError> {
    let apt = cache.root().join("apt");
    for folder in ["lists/partial", "archives/partial"] {
        let path = apt.join(folder);
        fs::create_dir_all(&path).map_err(LabError::file("make", &path))?;
    }
    let apt = apt.display();
    Ok(vec![
        format!("Dir::State::Lists={apt}/lists"),
        format!("Dir::Cache={apt}"),
        "APT::Sandbox::User=".to_owned(),
    ])
}
