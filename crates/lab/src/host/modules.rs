//! Which modules must be loaded, in which order?
//!
//! A package leaves `modules.dep` to the machine where it is installed, so each module is asked itself what it needs.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use lzma_rust2::XzReader;
use object::{Object, ObjectSection};

use super::kernel::Kernel;
use crate::LabError;

/// The modules of a kernel.
pub struct Modules {
    release: String,
    /// File by name, with underscores.
    files: BTreeMap<String, PathBuf>,
    builtin: Vec<String>,
}

/// A module to load.
pub struct Module {
    /// Its name, with underscores.
    pub name: String,
    /// Its file, decompressed.
    pub bytes: Vec<u8>,
}

impl Modules {
    /// Looks which there are.
    pub fn of_kernel(kernel: &Kernel) -> Modules {
        let files = files_below(&kernel.modules).into_iter();
        let files = files.filter(|path| path.to_string_lossy().contains(".ko"));
        let files = files.map(|path| (name_of(&path), path)).collect();
        let builtin = fs::read_to_string(kernel.modules.join("modules.builtin")).unwrap_or_default();
        let builtin = builtin.lines().map(|line| name_of(Path::new(line))).collect();
        Modules { release: kernel.release.clone(), files, builtin }
    }

    /// True when the kernel has it, as a module or built in.
    pub fn has(&self, name: &str) -> bool {
        let name = normal(name);
        self.files.contains_key(&name) || self.builtin.contains(&name)
    }

    /// Puts these, name and file, in the place of the kernel's own.
    pub fn with(mut self, built: &[(String, PathBuf)]) -> Result<Modules, LabError> {
        if let Some((name, _)) = built.iter().find(|(name, _)| self.builtin.contains(name)) {
            return Err(LabError::Asked(format!(
                "kernel {} has {name} built in, so that no module can take its place; choose another --kernel",
                self.release
            )));
        }
        self.files.extend(built.iter().cloned());
        Ok(self)
    }

    /// The modules to load so that `wanted` are there, each after what it needs; those built in are left out.
    pub fn order(&self, wanted: &[&str]) -> Result<Vec<Module>, LabError> {
        let mut order = Vec::new();
        for name in wanted {
            self.add(&normal(name), &mut order)?;
        }
        Ok(order)
    }

    /// Modules need each other in no circle: the kernel's build refuses that.
    fn add(&self, name: &str, order: &mut Vec<Module>) -> Result<(), LabError> {
        if self.builtin.iter().any(|builtin| builtin == name) || order.iter().any(|one| one.name == name) {
            return Ok(());
        }
        let bytes = self.read(name)?;
        for needed in needs(&bytes) {
            self.add(&needed, order)?;
        }
        order.push(Module { name: name.to_owned(), bytes });
        Ok(())
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, LabError> {
        let Some(path) = self.files.get(name) else {
            return Err(LabError::Lacks(format!(
                "kernel {} has no module `{name}`; choose another --kernel or another device",
                self.release
            )));
        };
        let bytes = fs::read(path).map_err(LabError::file("read", path))?;
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("ko") => Ok(bytes),
            Some("xz") => {
                let mut plain = Vec::new();
                let mut reader = XzReader::new(bytes.as_slice(), true);
                reader.read_to_end(&mut plain).map_err(LabError::file("decompress", path))?;
                Ok(plain)
            }
            _ => Err(LabError::Asked(format!(
                "`{}` is compressed in a way that the lab does not read; it reads .ko and .ko.xz",
                path.display()
            ))),
        }
    }
}

/// Names of the modules that a module needs: `depends=a,b`.
fn needs(module: &[u8]) -> Vec<String> {
    let names = told(module, "depends=").pop().unwrap_or_default();
    names.split(',').filter(|name| !name.is_empty()).map(normal).collect()
}

/// The names of a module's parameters: `parmtype=NAME:TYPE`, or, where code of the module's own reads it, `parm=NAME:MEANING`
/// alone. The kernel passes over in silence what is mistyped.
pub fn parameters(module: &[u8]) -> Vec<String> {
    let lines = ["parmtype=", "parm="].into_iter().flat_map(|key| told(module, key));
    let mut names: Vec<String> = lines.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect();
    names.sort();
    names.dedup();
    names
}

/// The values of a key in a module's section of information.
fn told(module: &[u8], key: &str) -> Vec<String> {
    let Ok(file) = object::File::parse(module) else { return Vec::new() };
    let data = file.section_by_name(".modinfo").and_then(|section| section.data().ok()).unwrap_or_default();
    let lines = data.split(|&byte| byte == 0).filter_map(|line| line.strip_prefix(key.as_bytes()));
    lines.map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

/// The kernel takes a dash in a module's file name for an underscore.
pub(crate) fn normal(name: &str) -> String {
    name.replace('-', "_")
}

pub(super) fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    normal(name.split(".ko").next().unwrap_or_default())
}

/// All files below a folder. A link to a folder is one: it may lead to the tree it was built from, or in a circle.
pub(super) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut left) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(here) = left.pop() {
        for entry in fs::read_dir(&here).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder { &mut left } else { &mut files }.push(entry.path());
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_the_kernel_lacks_is_named() {
        let builtin = vec!["brd".to_owned()];
        let modules = Modules { release: "6.1".to_owned(), files: BTreeMap::new(), builtin };
        assert!(modules.has("brd") && modules.order(&["brd"]).is_ok_and(|order| order.is_empty()));
        let error = modules.order(&["nvme-core"]).err().map(|error| error.to_string());
        let expected = "kernel 6.1 has no module `nvme_core`; choose another --kernel or another device";
        assert_eq!(error.as_deref(), Some(expected));
        let own = [("brd".to_owned(), PathBuf::from("/cache/brd.ko"))];
        let error = modules.with(&own).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with("kernel 6.1 has brd built in"), "{error}");
    }

    #[test]
    fn a_name_has_underscores_and_no_ending() {
        assert_eq!(name_of(Path::new("kernel/lib/crc-t10dif.ko.xz")), "crc_t10dif");
    }
}
