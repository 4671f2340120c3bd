//! Programs of the distribution: the machine's own, or fetched and run from the cache.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::Cache;
use super::command::missing;
use super::packages::{Packages, Say};
use crate::LabError;

/// MiB that the largest of them, the emulator, takes while it is unpacked.
const TOOL_MIB: u64 = 250;

/// Files that no program needs to run.
const WITHOUT: [&str; 5] =
    ["*/share/doc", "*/share/man", "*/share/locale", "*/share/qemu/openbios-*", "*/share/qemu/skiboot*"];

/// Program of the machine's own or of the cache.
#[derive(Clone, Debug)]
pub struct Tool {
    program: PathBuf,
    /// Folder that it was unpacked in; `None` for an installed one.
    root: Option<PathBuf>,
}

impl Tool {
    /// The program `program`, of the package `package` where it is not installed.
    pub fn find(cache: &Cache, program: &str, package: &str, say: Say<'_>) -> Result<Tool, LabError> {
        if let Some(program) = installed(program) {
            return Ok(Tool { program, root: None });
        }
        let root = cache.place(&format!("tool/{package}"), TOOL_MIB, |folder| {
            Packages::find(cache, package, say)?.0.put(package, folder, say)
        })?;
        Tool::unpacked(root, program)
    }

    /// Fetches it from the distribution's backports; `None` when it has none.
    pub fn of_backports(
        cache: &Cache,
        program: &str,
        package: &str,
        say: Say<'_>,
    ) -> Result<Option<Tool>, LabError> {
        let Some(suite) = backports() else { return Ok(None) };
        let root = cache.place(&format!("tool/{package}-{suite}"), TOOL_MIB, |folder| {
            Packages::of_suite(cache, &suite, say)?.put(package, folder, say)
        })?;
        Tool::unpacked(root, program).map(Some)
    }

    fn unpacked(root: PathBuf, program: &str) -> Result<Tool, LabError> {
        let places = ["usr/bin", "bin", "usr/sbin", "sbin"].map(|folder| root.join(folder).join(program));
        let program = places.into_iter().find(|path| path.exists()).ok_or_else(|| {
            missing("use the lab", program, "remove the cache's folder `tool` and try again")
        })?;
        Ok(Tool { program, root: Some(root) })
    }

    /// A command line that begins with it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(root) = &self.root {
            let libraries =
                ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(|folder| root.join(folder));
            let paths = std::env::join_paths(&libraries).expect("the cache's path has no colon");
            command.env("LD_LIBRARY_PATH", paths);
        }
        command
    }

    /// File of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Folder that it was unpacked in; `None` for an installed one.
    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }
}

impl Packages {
    /// Unpacks the package and all it needs into the folder.
    fn put(&self, package: &str, folder: &Path, say: Say<'_>) -> Result<(), LabError> {
        self.unpack(&self.missing_for(package)?, folder, &WITHOUT, say)
    }
}

/// Suite of a Debian's backports, of Debian 12 and newer.
fn backports() -> Option<String> {
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let word = |key: &str| text.lines().find_map(|line| Some(line.strip_prefix(key)?.trim_matches('"')));
    (word("ID=")? == "debian").then(|| Some(format!("{}-backports", word("VERSION_CODENAME=")?)))?
}

/// The path of an installed program, also of those that only root has on its path.
fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}
