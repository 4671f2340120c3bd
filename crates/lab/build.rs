//! Puts the sources of the kernel drivers and of the emulator's plugin into the library, so that the lab can build them
//! on a machine that has only the program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut table = String::new();
    for (name, folder) in [("DRIVERS", here.join("kernel")), ("PLUGIN", here.join("plugin"))] {
        let mut files = Vec::new();
        gather(&folder, &folder, &mut files);
        files.sort();
        println!("cargo::rerun-if-changed={}", folder.display());
        writeln!(table, "pub(super) const {name}: &[(&str, &str)] = &[").expect("a string takes all");
        for (file, path) in files {
            println!("cargo::rerun-if-changed={}", path.display());
            writeln!(table, "    ({file:?}, include_str!({:?})),", path.display())
                .expect("a string takes all");
        }
        table += "];\n";
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("sources.rs"), table).expect("cargo made the folder");
}

/// Sources only: a build in the tree leaves other files beside them.
fn gather(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            gather(root, &path, files);
        } else if is_source(&name) {
            let file = path.strip_prefix(root).expect("it was found below").display().to_string();
            files.push((file, path.canonicalize().expect("it exists")));
        }
    }
}

fn is_source(name: &str) -> bool {
    let ending = Path::new(name)
        .extension()
        .is_some_and(|ending| ["c", "h", "mk"].iter().any(|known| ending == *known));
    (ending && !name.ends_with(".mod.c")) || name == "Kbuild" || name == "Makefile"
}
