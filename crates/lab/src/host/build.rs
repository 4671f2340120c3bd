//! Our own drivers and the emulator's plugin, built once for each kernel and each state of their sources.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache::Cache;
use super::command::output;
use super::kernel::Kernel;
use super::packages::Say;
use crate::LabError;

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Files of a source folder: path below it, text.
type Sources = Vec<(String, String)>;

/// The names of our own drivers, each a folder of `kernel/`.
pub const OWN_DRIVERS: [&str; 4] = ["scsi_ram", "ata_ram", "tmerge", "sim_disk"];

/// The module `name` for this kernel, from our own sources or, when it is `patched`, from that folder.
pub fn driver(
    cache: &Cache,
    kernel: &Kernel,
    name: &str,
    patched: Option<&Path>,
    say: Say<'_>,
) -> Result<PathBuf, LabError> {
    let headers = kernel.headers.as_deref().ok_or_else(|| {
        LabError::Asked(format!(
            "kernel {} came without headers, so that {name} cannot be built",
            kernel.release
        ))
    })?;
    let mut sources = own(DRIVERS);
    if let Some(folder) = patched {
        let own = format!("{name}/");
        sources.retain(|(path, _)| !path.starts_with(&own));
        sources.extend(read_folder(folder)?.into_iter().map(|(path, text)| (own.clone() + &path, text)));
    }
    let compiler = output(Command::new("cc").arg("--version"), "build a driver", "")?;
    let key = hashed(&(&sources, compiler.lines().next(), headers));
    let place = cache.place(&format!("driver/{}/{name}-{key}", kernel.release), 50, |folder| {
        say(&format!("building {name} for {}", kernel.release));
        write_sources(folder, &sources)?;
        let tree = build_tree(folder, headers)?;
        let mut make = Command::new("make");
        make.arg("-C").arg(folder.join(name)).arg(format!("KDIR={}", tree.display())).env("LC_ALL", "C");
        if let Some(root) = headers.ancestors().nth(3).filter(|root| root.join("usr/src").is_dir()) {
            make.env("LD_LIBRARY_PATH", root.join("usr/lib/x86_64-linux-gnu"));
        }
        output(&mut make, &format!("build the module {name}"), "").map(|_| ())
    })?;
    Ok(place.join(name).join(format!("{name}.ko")))
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
    let tree = folder.join("headers");
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
    table.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn read_folder(folder: &Path) -> Result<Sources, LabError> {
    let entries = fs::read_dir(folder).map_err(LabError::file("read", folder))?;
    let mut sources = Sources::new();
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| is_source(path)) {
        let text = fs::read_to_string(&path).map_err(LabError::file("read", &path))?;
        sources.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text));
    }
    if !sources.iter().any(|(name, _)| name == "Kbuild" || name == "Makefile") {
        return Err(LabError::Asked(format!(
            "`{}` is no folder of a driver: it has neither Kbuild nor Makefile",
            folder.display()
        )));
    }
    sources.sort();
    Ok(sources)
}

/// The driver whose source the folder holds: the module that it builds.
pub fn whose(folder: &Path) -> Result<String, LabError> {
    let sources = read_folder(folder)?;
    let modules = sources.iter().filter(|(name, _)| name == "Kbuild" || name == "Makefile");
    let mut built = modules.flat_map(|(_, text)| text.lines()).filter_map(built_module);
    built.next().ok_or_else(|| {
        LabError::Asked(format!(
            "`{}` is no folder of a driver: neither Kbuild nor Makefile has a line like obj-m := scsi_ram.o",
            folder.display()
        ))
    })
}

/// The module of a line like `obj-m := scsi_ram.o`.
fn built_module(line: &str) -> Option<String> {
    let (_, objects) = line.trim().strip_prefix("obj-m")?.split_once('=')?;
    objects.split_whitespace().find_map(|object| object.strip_suffix(".o")).map(str::to_owned)
}

fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = path.extension().is_some_and(|ending| ["c", "h", "mk"].iter().any(|known| ending == *known));
    path.is_file() && ((ending && !name.ends_with(".mod.c")) || name == "Kbuild" || name == "Makefile")
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

pub(super) fn hashed(value: &(impl Hash + ?Sized)) -> String {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_tells_whose_source_it_is_by_what_it_builds() {
        assert_eq!(built_module("obj-m := scsi_ram.o").as_deref(), Some("scsi_ram"));
        assert_eq!(built_module("obj-m += ata_ram.o # ours").as_deref(), Some("ata_ram"));
        assert_eq!(built_module("obj-m := scsi_ram/ ata_ram/"), None);
        assert_eq!(built_module("scsi_ram-y := main.o"), None);
        let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
        for name in OWN_DRIVERS {
            assert_eq!(whose(&kernel.join(name)).expect("our own source"), name);
        }
        let error = whose(&kernel).expect_err("a folder of folders");
        assert!(error.to_string().contains("no folder of a driver"), "{error}");
    }
}
