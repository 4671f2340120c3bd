//! Drivers and the emulator's plugin, built once for each kernel and each state of their sources.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::Cache;
use super::command::{ended, output};
use super::folder::{self, Sources};
use super::kernel::Kernel;
use super::packages::Say;
use crate::LabError;

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The names of our own drivers, each a folder of `kernel/`.
pub const OWN_DRIVERS: [&str; 4] = ["scsi_ram", "ata_ram", "tmerge", "sim_disk"];

/// The modules that the source of the driver `name` builds for this kernel, by their names: our own source or, when it is
/// given, that of a folder.
pub fn driver(
    cache: &Cache,
    kernel: &Kernel,
    name: &str,
    source: Option<&Path>,
    say: Say<'_>,
) -> Result<Vec<(String, PathBuf)>, LabError> {
    let headers = kernel.headers.as_deref().ok_or_else(|| {
        LabError::Asked(format!(
            "kernel {} came without headers, so that {name} cannot be built",
            kernel.release
        ))
    })?;
    let mut sources = if OWN_DRIVERS.contains(&name) { own(DRIVERS) } else { Sources::new() };
    if let Some(folder) = source {
        let below = format!("{name}/");
        sources.retain(|(path, _)| !path.starts_with(&below));
        sources.extend(folder::read(folder)?.into_iter().map(|(path, text)| (below.clone() + &path, text)));
    }
    let whose = source.map_or("ours".to_owned(), |folder| format!("`{}`", folder.display()));
    let compiler = output(Command::new("cc").arg("--version"), "build a driver", "")?;
    let key = hashed(&(&sources, compiler.lines().next(), headers));
    let place = cache.place(&format!("driver/{}/{name}-{key}", kernel.release), 50, |folder| {
        say(&format!("building {name} for {}", kernel.release));
        write_sources(folder, &sources)?;
        let tree = build_tree(folder, headers)?;
        let made = ended(&mut make(&folder.join(name), &tree, headers), "build a driver")?;
        made.map(|_| ()).map_err(|said| {
            LabError::Asked(format!(
                "cannot build the module {name} of {whose} for Linux {}; the first errors:\n{}",
                kernel.release,
                folder::first_errors(&said, &folder.join(name))
            ))
        })
    })?;
    let built = folder::built(&place.join(name));
    if built.iter().any(|(module, _)| module == name) {
        return Ok(built);
    }
    let all: Vec<&str> = built.iter().map(|(module, _)| module.as_str()).collect();
    Err(LabError::Asked(format!(
        "{whose} was built for Linux {}, and what came of it is {}, not {name}; its Kbuild or Makefile must put {name}.o \
         into obj-m",
        kernel.release,
        if all.is_empty() { "no module".to_owned() } else { all.join(", ") }
    )))
}

/// The kernel's build of the modules in `folder`, as anyone's driver is built.
fn make(folder: &Path, tree: &Path, headers: &Path) -> Command {
    let mut make = Command::new("make");
    make.arg("-C").arg(tree).arg(format!("M={}", folder.display())).arg("modules");
    // Where a driver looks for its own headers, and the language of the compiler's errors.
    make.env("PWD", folder).env("LC_ALL", "C");
    if let Some(root) = headers.ancestors().nth(3).filter(|root| root.join("usr/src").is_dir()) {
        make.env("LD_LIBRARY_PATH", root.join("usr/lib/x86_64-linux-gnu"));
    }
    make
}

/// The plugin for the emulator.
pub fn plugin(cache: &Cache, say: Say<'_>) -> Result<PathBuf, LabError> {
    let sources = own(PLUGIN);
    let compiler = output(Command::new("cc").arg("--version"), "build the emulator's plugin", "")?;
    let key = hashed(&(&sources, compiler.lines().next()));
    let place = cache.place(&format!("plugin/{key}"), 10, |folder| {
        say("building the emulator's plugin");
        write_sources(folder, &sources)?;
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-o", "iostack-plugin.so"]);
        let files = sources
            .iter()
            .map(|(path, _)| path)
            .filter(|path| Path::new(path).extension() == Some("c".as_ref()));
        command.args(files).current_dir(folder);
        output(&mut command, "build the emulator's plugin", "").map(|_| ())
    })?;
    Ok(place.join("iostack-plugin.so"))
}

/// Packaged headers name their place after installation, and newer ones hold types that only a tool most machines lack
/// can read. So the flavour's folder is copied, small as it is, and both put right; a tree of the user's serves as it is.
fn build_tree(folder: &Path, headers: &Path) -> Result<PathBuf, LabError> {
    let makefile = headers.join("Makefile");
    let text = fs::read_to_string(&makefile).map_err(LabError::file("read", &makefile))?;
    let Some(common) = text.lines().find_map(|line| line.strip_prefix("include /usr/src/")) else {
        return Ok(headers.to_owned());
    };
    let sources = headers.parent().expect("a folder below usr/src");
    // Hidden, so that no driver's folder is called like it.
    let tree = folder.join(".headers");
    fs::create_dir(&tree).map_err(LabError::file("make", &tree))?;
    for entry in fs::read_dir(headers).map_err(LabError::file("read", headers))?.flatten() {
        let (name, to) = (entry.file_name(), tree.join(entry.file_name()));
        if name == "Makefile" || name == "vmlinux" {
            continue;
        }
        let from = entry.path().canonicalize().map_err(LabError::file("find", &entry.path()))?;
        std::os::unix::fs::symlink(from, &to).map_err(LabError::file("link", &to))?;
    }
    let path = tree.join("Makefile");
    let text = format!("include {}/{common}\n", sources.display());
    fs::write(&path, text).map_err(LabError::file("write", &path))?;
    Ok(tree)
}

fn own(table: &[(&str, &str)]) -> Sources {
    table.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

fn write_sources(folder: &Path, sources: &Sources) -> Result<(), LabError> {
    for (path, text) in sources {
        let path = folder.join(path);
        let parent = path.parent().expect("a file below the folder");
        fs::create_dir_all(parent).map_err(LabError::file("make", parent))?;
        fs::write(&path, text).map_err(LabError::file("write", &path))?;
    }
    Ok(())
}

pub(crate) fn hashed(value: &(impl Hash + ?Sized)) -> String {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
