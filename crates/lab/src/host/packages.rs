//! Distribution packages, fetched by name as an ordinary user and unpacked without installing them.
//!
//! apt checks signature and sum of all it downloads. Where this machine's package lists are empty, as in a fresh
//! container, the lists are fetched into the cache and nothing of the machine changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::cache::Cache;
use super::command::{ended, last_lines, output};
use crate::LabError;

/// Told to people while it works.
pub type Say<'a> = &'a dyn Fn(&str);

/// A way to packages.
pub struct Packages {
    /// Options that each apt command takes: where the private lists are, when the machine has none.
    options: Vec<String>,
}

/// Option of apt: no package counts as installed.
const NOTHING_INSTALLED: &str = "Dir::State::status=/dev/null";

const NO_PACKAGE: &str = "check the name, the network and /etc/apt/sources.list.d (kernel 6.12 is in the security suite of \
                          Debian 12; a kernel of your own is named with --kernel PATH)";

pub(super) fn no_package(wanted: &str, remedy: &str) -> LabError {
    LabError::Lacks(format!(
        "no package `{wanted}` in this machine's package lists (or no network to fetch them); {remedy}"
    ))
}

impl Packages {
    /// A way to the packages whose names begin with `prefix`, and those names.
    pub fn find(cache: &Cache, prefix: &str, say: Say<'_>) -> Result<(Packages, Vec<String>), LabError> {
        let mut packages = Packages { options: Vec::new() };
        let mut names = packages.names(prefix)?;
        let ours = cache.root().join("apt/lists");
        let is_fresh = are_fresh(Path::new(LISTS)) || are_fresh(&ours);
        if names.is_empty() {
            packages = Packages { options: private_lists(cache)? };
            names = packages.names(prefix)?;
        }
        // What lists of today do not have is not there, and to fetch them again would take a minute to say so.
        if names.is_empty() && !is_fresh {
            say("fetching package lists");
            let act = "fetch package lists";
            output(packages.command("apt-get").args(["-qq", "update"]), act, "; check the network")?;
            names = packages.names(prefix)?;
        }
        if names.is_empty() {
            return Err(no_package(prefix, NO_PACKAGE));
        }
        Ok((packages, names))
    }

    /// A way to the packages of a suite that the machine's own lists do not have, in lists of our own, from where the machine
    /// gets its others.
    pub fn of_suite(cache: &Cache, suite: &str, say: Say<'_>) -> Result<Packages, LabError> {
        let act = format!("look for {suite}");
        let mut command = Command::new("apt-get");
        command.args(["indextargets", "--format", "$(REPO_URI) $(RELEASE)"]);
        let text = output(&mut command, &act, "")?;
        let codename = suite.split('-').next().unwrap_or(suite);
        let from = text.lines().find_map(|line| line.strip_suffix(codename)?.strip_suffix(' '));
        let from = from.ok_or_else(|| no_package(suite, "name a mirror in /etc/apt/sources.list.d"))?;
        let mut options = private_lists(cache)?;
        let path = cache.root().join("apt").join(format!("{suite}.list"));
        let others = fs::read_to_string("/etc/apt/sources.list").unwrap_or_default();
        fs::write(&path, format!("deb {from} {suite} main\n{others}"))
            .map_err(LabError::file("write", &path))?;
        options.push(format!("Dir::Etc::SourceList={}", path.display()));
        options.push(format!("APT::Default-Release={suite}"));
        let packages = Packages { options };
        say(&format!("fetching package lists of {suite}"));
        let act = format!("fetch package lists of {suite}");
        output(packages.command("apt-get").args(["-qq", "update"]), &act, "; check the network")?;
        Ok(packages)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(self.options.iter().flat_map(|option| ["-o", option]));
        command.env("LC_ALL", "C");
        command
    }

    fn names(&self, prefix: &str) -> Result<Vec<String>, LabError> {
        let act = format!("look for the package {prefix}");
        let mut command = self.command("apt-cache");
        // What is installed here and in no list cannot be fetched.
        command.args(["-o", NOTHING_INSTALLED, "pkgnames", prefix]);
        let text = output(&mut command, &act, "")?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Packages that would have to be installed so that `name` works, it included.
    pub fn missing_for(&self, name: &str) -> Result<Vec<String>, LabError> {
        self.to_install(&[], &[name.to_owned()])
    }

    /// All packages that a machine with nothing on it would need so that these work, they included. Without what every Debian
    /// machine has (`Essential`), unless it is needed by name.
    pub fn closure(&self, names: &[String]) -> Result<Vec<String>, LabError> {
        self.to_install(&["-o", NOTHING_INSTALLED], names)
    }

    fn to_install(&self, options: &[&str], names: &[String]) -> Result<Vec<String>, LabError> {
        let act = format!("find out what {} needs", names.join(", "));
        let mut command = self.command("apt-get");
        command.args(["-s", "--no-install-recommends"]).args(options).arg("install");
        let text = ended(command.args(names), &act)?.map_err(|said| match missing(&said) {
            Some(wanted) => no_package(wanted, NO_PACKAGE),
            None => LabError::Asked(format!("cannot {act}: {}", last_lines(&said, 3))),
        })?;
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

/// The package that apt says is not there.
fn missing(said: &str) -> Option<&str> {
    said.lines().find_map(|line| {
        let line = line.trim_start_matches("E: ");
        let named = line.strip_prefix("Unable to locate package ");
        named.or_else(|| line.strip_suffix("' has no installation candidate")?.strip_prefix("Package '"))
    })
}

/// Folder of the machine's own lists of packages.
const LISTS: &str = "/var/lib/apt/lists";

/// Time within which lists are of today.
const FRESH: Duration = Duration::from_hours(24);

/// True when there are lists of packages in the folder, fetched lately.
fn are_fresh(lists: &Path) -> bool {
    let entries = fs::read_dir(lists).into_iter().flatten().flatten();
    let is_there = entries.into_iter().any(|one| one.file_name().to_string_lossy().contains("_Packages"));
    let age = |path: &Path| fs::metadata(path).ok()?.modified().ok()?.elapsed().ok();
    is_there && [lists, &lists.join("partial")].iter().filter_map(|path| age(path)).any(|age| age < FRESH)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_that_is_not_there_is_named_as_apt_names_it() {
        assert_eq!(
            missing("Reading state...\nE: Unable to locate package mariadb-sever\n"),
            Some("mariadb-sever")
        );
        assert_eq!(missing("E: Package 'mysql' has no installation candidate\n"), Some("mysql"));
        assert_eq!(missing("E: Could not get lock\n"), None);
    }

    #[test]
    fn a_folder_without_lists_is_not_fresh_however_new_it_is() {
        let folder = std::env::temp_dir().join(format!("iostack-lists-{}", std::process::id()));
        fs::create_dir_all(folder.join("partial")).expect("a new folder");
        let before = are_fresh(&folder);
        fs::write(folder.join("deb_dists_main_Packages.lz4"), "").expect("a new file");
        let after = are_fresh(&folder);
        fs::remove_dir_all(&folder).expect("our own folder");
        assert_eq!((before, after), (false, true));
    }
}
