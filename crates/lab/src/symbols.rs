//! Names for the guest's addresses, in the form of `/proc/kallsyms`.
//!
//! The kernel's own are asked of the guest once for each image, since it boots without address randomisation and
//! packages carry no map. A module's stand in its file, at the addresses that the guest said its sections have. What a
//! module needs only while it is loaded is freed then, and its addresses are others': the kernel goes on naming them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind, SymbolSection};

use crate::LabError;

/// Beginning of the names of sections that the kernel frees when a module is loaded (`module_init_section` of its
/// kernel/module/main.c).
const FREED: &str = ".init";

/// A function of a module: its address, and its name.
type Placed = (u64, String);

/// Lines of `address type name [module]`, ascending by address.
pub(crate) fn kallsyms(
    kernel: &str,
    modules: &[(String, Vec<u8>)],
    sections: &[(String, Vec<(String, u64)>)],
) -> Result<String, LabError> {
    let placed: BTreeMap<&str, &Vec<(String, u64)>> =
        sections.iter().map(|(name, list)| (name.as_str(), list)).collect();
    let mut own = Vec::new();
    for (name, bytes) in modules {
        if let Some(list) = placed.get(name.as_str()) {
            let live = functions(name, bytes, list, |section| !section.starts_with(FREED))?;
            own.extend(live.into_iter().map(|(address, function)| (address, function, name)));
        }
    }
    own.sort();
    let mut text = kernel.trim_end().to_owned();
    text.push('\n');
    for (address, name, module) in own {
        writeln!(text, "{address:016x} t {name}\t[{module}]").expect("a string takes all");
    }
    Ok(text)
}

/// The functions of a module in those of its sections that are `wanted`, by the addresses of its sections.
pub(crate) fn functions(
    module: &str,
    bytes: &[u8],
    sections: &[(String, u64)],
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Placed>, LabError> {
    let damaged = |error| LabError::Asked(format!("the module {module} is no object file: {error}"));
    let file = object::File::parse(bytes).map_err(damaged)?;
    let mut found = Vec::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let SymbolSection::Section(index) = symbol.section() else { continue };
        let Ok(section) = file.section_by_index(index) else { continue };
        let (Ok(section), Ok(name)) = (section.name(), symbol.name()) else { continue };
        let base = sections.iter().find(|(placed, _)| placed == section && wanted(placed));
        if let Some((_, base)) = base {
            found.push((base + symbol.address(), name.to_owned()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Two functions, one of which is gone when the module is loaded, as a compiler leaves them.
    const SOURCE: &str = "int transfer(void) { return 1; }\n\
        __attribute__((section(\".init.text\"))) int module_init(void) { return 2; }\n\
        __attribute__((section(\".exit.text\"))) int module_exit(void) { return 3; }\n";

    fn module() -> Vec<u8> {
        let folder = std::env::temp_dir().join(format!("iostack-symbols-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a new folder");
        let (source, built) = (folder.join("a.c"), folder.join("a.o"));
        std::fs::write(&source, SOURCE).expect("a new file");
        let built_it = Command::new("cc").arg("-c").arg(&source).arg("-o").arg(&built).status();
        assert!(built_it.is_ok_and(|status| status.success()), "what links this test compiles it");
        let bytes = std::fs::read(&built).expect("it was built");
        std::fs::remove_dir_all(&folder).expect("our own folder");
        bytes
    }

    #[test]
    fn what_is_freed_once_a_module_is_loaded_names_no_address() {
        // Where the first was initialised, the second was loaded: the kernel tells both.
        let sections = |text: u64| {
            let at = |name: &str, address| (name.to_owned(), address);
            vec![at(".text", text), at(".init.text", 0xffff_ffff_c000_2000), at(".exit.text", text + 0x100)]
        };
        let modules = ["crc32c_intel", "four_k"].map(|name| (name.to_owned(), module()));
        let placed = [
            ("crc32c_intel".to_owned(), sections(0xffff_ffff_c000_0000)),
            ("four_k".to_owned(), sections(0xffff_ffff_c000_2000)),
        ];
        let text = kallsyms("ffffffff81000000 T _text\n", &modules, &placed).expect("object files");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "ffffffff81000000 T _text",
                "ffffffffc0000000 t transfer\t[crc32c_intel]",
                "ffffffffc0000100 t module_exit\t[crc32c_intel]",
                "ffffffffc0002000 t transfer\t[four_k]",
                "ffffffffc0002100 t module_exit\t[four_k]",
            ]
        );
    }
}
