//! Whose code is at an address?
//!
//! `/proc/PID/maps` says which file; the file's ELF symbol table says which function. Layouts are those of the
//! System V ABI, "Object Files" (`Elf64_Ehdr`, `Elf64_Phdr`, `Elf64_Shdr`, `Elf64_Sym`).

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// One line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    begin: u64,
    end: u64,
    offset: u64,
    writable: bool,
    path: String,
}

impl Mapping {
    /// True when `address` lies within.
    pub(super) fn contains(&self, address: u64) -> bool {
        (self.begin..self.end).contains(&address)
    }

    /// True when the bytes cannot change while they are mapped.
    pub(super) fn is_fixed_code(&self) -> bool {
        !self.writable && (self.path.starts_with('/') || self.is_vdso())
    }

    /// True for the kernel's own code in every process.
    pub(super) fn is_vdso(&self) -> bool {
        self.path == "[vdso]"
    }

    /// What to call it: the file's name, `[vdso]`, or what it is.
    fn name(&self) -> String {
        if self.path.is_empty() {
            return "generated code".to_owned();
        }
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.trim_end_matches(" (deleted)").to_owned()
    }
}

/// The mappings of a process.
pub(super) fn mappings(pid: i32) -> Vec<Mapping> {
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

/// Where an address is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Place {
    /// File name.
    pub(super) object: String,
    /// Function, where the file tells.
    pub(super) symbol: Option<String>,
    /// Address as `objdump -d` shows it.
    pub(super) address: u64,
}

/// Finds places, reading each file once.
pub(super) struct Finder {
    pid: i32,
    map: Vec<Mapping>,
    tables: HashMap<String, Option<Table>>,
}

impl Finder {
    /// For a process as it is mapped now.
    pub(super) fn new(pid: i32) -> Self {
        Finder { pid, map: mappings(pid), tables: HashMap::new() }
    }

    /// Whose code is at `address`.
    pub(super) fn place(&mut self, address: u64) -> Place {
        let Some(mapping) = self.map.iter().find(|mapping| mapping.contains(address)) else {
            return Place { object: "unknown".to_owned(), symbol: None, address };
        };
        let (root, pid) = (&mapping.path, self.pid);
        let read = || Table::read(Path::new(&format!("/proc/{pid}/root{root}")));
        let table = self.tables.entry(mapping.path.clone()).or_insert_with(read);
        let in_file = address - mapping.begin + mapping.offset;
        let address = table.as_ref().and_then(|table| table.address_of(in_file)).unwrap_or(in_file);
        let symbol = table.as_ref().and_then(|table| table.symbol(address));
        Place { object: mapping.name(), symbol, address }
    }
}

/// Loaded segments and functions of an ELF file.
struct Table {
    /// Offset in the file, its length, address.
    segments: Vec<(u64, u64, u64)>,
    /// Address, size, name; sorted.
    functions: Vec<(u64, u64, String)>,
}

const LOAD: u64 = 1;
const SYMBOLS: u64 = 2;
const SYMBOLS_DYNAMIC: u64 = 11;
const FUNCTION: u64 = 2;
const FUNCTION_INDIRECT: u64 = 10;

/// Little-endian number of `size` bytes at `offset`.
fn number(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let part = bytes.get(offset..offset.checked_add(size)?)?;
    Some(part.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// `count` records of `size` bytes from `offset`, as far as the file goes.
fn records(bytes: &[u8], offset: u64, size: u64, count: u64) -> impl Iterator<Item = &[u8]> {
    let all = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
    all.chunks_exact(usize::try_from(size).unwrap_or(0).max(1)).take(usize::try_from(count).unwrap_or(0))
}

impl Table {
    fn read(path: &Path) -> Option<Table> {
        Table::parse(&fs::read(path).ok()?)
    }

    fn parse(bytes: &[u8]) -> Option<Table> {
        // Magic, 64-bit, little-endian.
        if bytes.get(..6)? != b"\x7fELF\x02\x01" {
            return None;
        }
        let at = |offset, size| number(bytes, offset, size);
        let programs = records(bytes, at(0x20, 8)?, at(0x36, 2)?, at(0x38, 2)?);
        let loaded = programs.filter(|header| number(header, 0, 4) == Some(LOAD));
        let segments = loaded.filter_map(|header| {
            Some((number(header, 8, 8)?, number(header, 32, 8)?, number(header, 16, 8)?))
        });
        let segments = segments.collect();
        let sections: Vec<&[u8]> = records(bytes, at(0x28, 8)?, at(0x3a, 2)?, at(0x3c, 2)?).collect();
        let find = |kind| sections.iter().find(|header| number(header, 4, 4) == Some(kind));
        let functions = match find(SYMBOLS).or_else(|| find(SYMBOLS_DYNAMIC)) {
            Some(header) => functions(bytes, &sections, header).unwrap_or_default(),
            None => Vec::new(),
        };
        Some(Table { segments, functions })
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

fn functions(bytes: &[u8], sections: &[&[u8]], table: &[u8]) -> Option<Vec<(u64, u64, String)>> {
    let names_header = sections.get(usize::try_from(number(table, 40, 4)?).ok()?)?;
    let names = usize::try_from(number(names_header, 24, 8)?).ok()?;
    let (offset, length, size) = (number(table, 24, 8)?, number(table, 32, 8)?, number(table, 56, 8)?);
    let symbol = |record: &[u8]| {
        let kind = number(record, 4, 1)? & 0xf;
        let address = number(record, 8, 8)?;
        if address == 0 || (kind != FUNCTION && kind != FUNCTION_INDIRECT) {
            return None;
        }
        let name = bytes.get(names + usize::try_from(number(record, 0, 4)?).ok()?..)?;
        let name = name.split(|&byte| byte == 0).next()?;
        Some((address, number(record, 16, 8)?, String::from_utf8_lossy(name).into_owned()))
    };
    let mut found: Vec<_> = records(bytes, offset, size, length / size.max(1)).filter_map(symbol).collect();
    found.sort();
    Some(found)
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
        assert!(Table::parse(b"#!/bin/sh\necho hello\n").is_none());
        let own = fs::read("/proc/self/exe").unwrap();
        for length in [0, 5, 6, 63, 64, 100, own.len() / 2] {
            if let Some(table) = Table::parse(&own[..length]) {
                assert_eq!(table.symbol(u64::MAX), None);
            }
        }
    }
}
