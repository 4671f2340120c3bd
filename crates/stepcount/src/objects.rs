//! Whose code is at an address?
//!
//! `/proc/PID/maps` says which file; the file's symbols say which function.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// One line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    begin: u64,
    end: u64,
    offset: u64,
    writable: bool,
    path: String,
}

impl Mapping {
    /// True when `address` lies within.
    pub(crate) fn contains(&self, address: u64) -> bool {
        (self.begin..self.end).contains(&address)
    }

    /// True when the bytes cannot change while they are mapped.
    pub(crate) fn is_fixed_code(&self) -> bool {
        !self.writable && (self.path.starts_with('/') || self.is_vdso())
    }

    /// True for the kernel's own code in every process.
    pub(crate) fn is_vdso(&self) -> bool {
        self.path == "[vdso]"
    }

    /// Name for reports: the file's, `[vdso]`, or what it is.
    fn name(&self) -> String {
        if self.path.is_empty() {
            return "generated code".to_owned();
        }
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.trim_end_matches(" (deleted)").to_owned()
    }
}

/// The mappings of a process.
pub(crate) fn mappings(pid: i32) -> Vec<Mapping> {
    let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    text.lines().filter_map(mapping).collect()
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (begin, end) = fields.next()?.split_once('-')?;
    let rights = fields.next()?;
    let offset = fields.next()?;
    let path = fields.nth(2).unwrap_or_default().trim_start();
    let number = |digits| u64::from_str_radix(digits, 16).ok();
    Some(Mapping {
        begin: number(begin)?,
        end: number(end)?,
        offset: number(offset)?,
        writable: rights.contains('w'),
        path: path.to_owned(),
    })
}

/// Place of an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct CodePlace {
    pub(crate) object: String,
    /// Function, where the file tells.
    pub(crate) symbol: Option<String>,
    /// Address as `objdump -d` shows it.
    pub(crate) address: u64,
}

/// Finds places, reading each file once.
pub(crate) struct Finder {
    pid: i32,
    map: Vec<Mapping>,
    tables: HashMap<String, FunctionTable>,
}

impl Finder {
    /// Objects of a process as it is mapped now.
    pub(crate) fn new(pid: i32) -> Self {
        Finder { pid, map: mappings(pid), tables: HashMap::new() }
    }

    /// Place of the code at `address`.
    pub(crate) fn place(&mut self, address: u64) -> CodePlace {
        let Some(mapping) = self.map.iter().find(|mapping| mapping.contains(address)) else {
            return CodePlace { object: "unknown".to_owned(), symbol: None, address };
        };
        let (root, pid) = (&mapping.path, self.pid);
        let read = || {
            let bytes = fs::read(Path::new(&format!("/proc/{pid}/root{root}"))).unwrap_or_default();
            FunctionTable::parse(&bytes).unwrap_or_default()
        };
        let table = self.tables.entry(mapping.path.clone()).or_insert_with(read);
        let in_file = address - mapping.begin + mapping.offset;
        let address = table.address_of(in_file).unwrap_or(in_file);
        let symbol = table.symbol(address);
        CodePlace { object: mapping.name(), symbol, address }
    }
}

/// Loaded segments and functions of an ELF file.
#[derive(Default)]
struct FunctionTable {
    /// Offset in the file, its length, address.
    segments: Vec<(u64, u64, u64)>,
    /// Address, size, name; sorted.
    functions: Vec<(u64, u64, String)>,
}

impl FunctionTable {
    fn parse(bytes: &[u8]) -> object::Result<FunctionTable> {
        let file = object::File::parse(bytes)?;
        let segments = file.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            (offset, length, segment.address())
        });
        let function = |symbol: object::Symbol<'_, '_>| {
            let is_function = symbol.kind() == SymbolKind::Text && symbol.address() != 0;
            let name = symbol.name_bytes().ok().filter(|_| is_function)?;
            Some((symbol.address(), symbol.size(), String::from_utf8_lossy(name).into_owned()))
        };
        let mut functions: Vec<_> = file.symbols().filter_map(function).collect();
        if functions.is_empty() {
            functions = file.dynamic_symbols().filter_map(function).collect();
        }
        functions.sort();
        Ok(FunctionTable { segments: segments.collect(), functions })
    }

    /// The address at which an offset of the file is linked.
    fn address_of(&self, offset: u64) -> Option<u64> {
        let holds = |&&(begin, length, _): &&(u64, u64, u64)| offset >= begin && offset - begin < length;
        self.segments.iter().find(holds).map(|&(begin, _, address)| offset - begin + address)
    }

    /// The function at an address; one without size reaches to the next.
    fn symbol(&self, address: u64) -> Option<String> {
        let after = self.functions.partition_point(|&(begin, ..)| begin <= address);
        let (begin, size, name) = self.functions.get(after.checked_sub(1)?)?;
        (*size == 0 || address - begin < *size).then(|| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_is_understood_with_and_without_a_path() {
        let line = "55d0c000-55d0d000 r-xp 00002000 fd:00 1234                       /usr/bin/my prog";
        let found = mapping(line).unwrap();
        assert_eq!((found.begin, found.end, found.offset), (0x55d0_c000, 0x55d0_d000, 0x2000));
        assert_eq!((found.name().as_str(), found.is_fixed_code()), ("my prog", true));
        let found = mapping("7f00-7f10 rwxp 00000000 00:00 0 ").unwrap();
        assert_eq!((found.name().as_str(), found.is_fixed_code()), ("generated code", false));
    }

    #[test]
    fn a_function_of_this_program_is_found_by_its_address() {
        let address = mappings as fn(i32) -> Vec<Mapping> as usize as u64;
        let place = Finder::new(i32::try_from(std::process::id()).unwrap()).place(address);
        let symbol = place.symbol.unwrap();
        assert!(symbol.contains("mappings"), "{symbol}");
    }

    #[test]
    fn a_file_that_is_no_elf_or_cut_short_has_no_symbols() {
        assert!(FunctionTable::parse(b"#!/bin/sh\necho hello\n").is_err());
        let own = fs::read("/proc/self/exe").unwrap();
        for length in [0, 5, 6, 63, 64, 100, own.len() / 2] {
            if let Ok(table) = FunctionTable::parse(&own[..length]) {
                assert_eq!(table.symbol(u64::MAX), None);
            }
        }
    }
}
