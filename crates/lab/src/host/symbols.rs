//! Names for the guest's addresses, in the form of `/proc/kallsyms`.
//!
//! The kernel's own are asked of the guest once for each image, since it boots without address randomisation and
//! packages carry no map. A module's stand in its file, at the addresses that the guest said its sections have.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind, SymbolSection};

use crate::LabError;

/// Lines of `address type name [module]`, ascending by address.
pub fn kallsyms(
    kernel: &str,
    modules: &[(String, Vec<u8>)],
    sections: &[(String, Vec<(String, u64)>)],
) -> Result<String, LabError> {
    let placed: BTreeMap<&str, &Vec<(String, u64)>> =
        sections.iter().map(|(name, list)| (name.as_str(), list)).collect();
    let mut own = Vec::new();
    for (name, bytes) in modules {
        if let Some(list) = placed.get(name.as_str()) {
            own.extend(symbols_of(name, bytes, list)?);
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

fn symbols_of(
    module: &str,
    bytes: &[u8],
    sections: &[(String, u64)],
) -> Result<Vec<(u64, String, String)>, LabError> {
    let damaged = |error| LabError::Asked(format!("the module {module} is no object file: {error}"));
    let file = object::File::parse(bytes).map_err(damaged)?;
    let mut found = Vec::new();
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let SymbolSection::Section(index) = symbol.section() else { continue };
        let Ok(section) = file.section_by_index(index) else { continue };
        let (Ok(section), Ok(name)) = (section.name(), symbol.name()) else { continue };
        let base = sections.iter().find(|(placed, _)| placed == section);
        if let Some((_, base)) = base {
            found.push((base + symbol.address(), name.to_owned(), module.to_owned()));
        }
    }
    Ok(found)
}
