//! Which function is at an address? From `/proc/kallsyms`.
//!
//! Only text symbols are kept, in the order of their addresses, which inside the kernel image and inside a module is the
//! order in which the linker laid out the object files: [`super::neighbours`] lives on that. The `__pfx_` symbols
//! (padding in front of functions) are dropped: nothing runs there.
//!
//! Cost, by arithmetic: 122,000 lines make 64,000 symbols of 14 bytes each, and their names.

use std::io;
use std::sync::Arc;

/// File in which the kernel lists its symbols.
const KALLSYMS: &str = "/proc/kallsyms";

/// Labels of the linker script, which share their address with the first function behind them.
const LABELS: &[&str] = &["_text", "_stext", "_etext", "_sinittext", "_einittext"];

/// Reason why there are no symbols.
#[derive(Debug, thiserror::Error)]
pub enum SymbolsError {
    /// The list cannot be read.
    #[error("cannot read {KALLSYMS}; the kernel must be built with CONFIG_KALLSYMS, and /proc mounted")]
    Unreadable {
        /// The error the operating system gave.
        source: io::Error,
    },
    /// The kernel shows names without addresses.
    #[error(
        "{KALLSYMS} shows no addresses to this user; allow it with `sudo setcap cap_perfmon,cap_bpf,cap_syslog+ep \
         $(command -v iostack)` (kernel.kptr_restrict 0 or 1), or run as root after `sudo sysctl \
         kernel.kptr_restrict=1`"
    )]
    Hidden,
    /// There is nothing in it.
    #[error("{KALLSYMS} lists no functions; the kernel must be built with CONFIG_KALLSYMS")]
    Empty,
    /// A line is not what the kernel writes.
    #[error("line {line} is not `ADDRESS TYPE NAME [MODULE]`: `{text}`")]
    Malformed {
        /// The number of the line, from 1.
        line: usize,
        /// The text of that line.
        text: String,
    },
}

/// A function of the kernel, by its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SymbolId(pub(crate) u32);

/// A function of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Name as the kernel spells it.
    pub name: &'a str,
    /// The module it came with.
    pub module: Option<&'a str>,
}

#[derive(Debug, Default)]
struct Inner {
    addresses: Vec<u64>,
    /// End of each name in `text`; the next begins there.
    ends: Vec<u32>,
    /// Place of each symbol's module in `module_names`; 0 is the kernel itself.
    modules: Vec<u16>,
    module_names: Vec<String>,
    text: String,
}

/// The functions of a kernel. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Symbols(Arc<Inner>);

/// One line, while they are sorted.
struct Line<'a> {
    address: u64,
    name: &'a str,
    module: Option<&'a str>,
    /// Code, and not padding.
    is_function: bool,
}

impl Symbols {
    /// Those of the running kernel.
    pub fn live() -> Result<Symbols, SymbolsError> {
        let text = std::fs::read(KALLSYMS).map_err(|source| SymbolsError::Unreadable { source })?;
        Symbols::parse(&String::from_utf8_lossy(&text))
    }

    /// Symbols in the text of `/proc/kallsyms`.
    pub fn parse(text: &str) -> Result<Symbols, SymbolsError> {
        let mut lines = Vec::with_capacity(text.len() / 64);
        let mut addresses_seen = false;
        for (index, line) in text.lines().enumerate() {
            let parsed = parse_line(line)
                .ok_or_else(|| SymbolsError::Malformed { line: index + 1, text: line.to_owned() })?;
            if parsed.is_function {
                addresses_seen |= parsed.address != 0;
                lines.push(parsed);
            }
        }
        if lines.is_empty() {
            return Err(SymbolsError::Empty);
        }
        if !addresses_seen {
            return Err(SymbolsError::Hidden);
        }
        // Stable, so that of several names at one address the kernel's first comes first, as in the kernel itself.
        lines.sort_by_key(|line| line.address);
        Ok(Symbols(Arc::new(pack(&lines))))
    }

    /// The function that holds an address.
    pub fn name(&self, address: u64) -> Option<Symbol<'_>> {
        self.find(address).map(|id| self.symbol(id))
    }

    /// Address of the function of this name; of several, the first.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        self.all().find(|&id| self.symbol(id).name == name).map(|id| self.address(id))
    }

    /// Number of functions.
    pub fn count(&self) -> usize {
        self.0.addresses.len()
    }

    /// The place of the function that holds an address.
    pub fn find(&self, address: u64) -> Option<SymbolId> {
        let after = self.0.addresses.partition_point(|&first| first <= address);
        after.checked_sub(1).map(|index| SymbolId(index as u32))
    }

    /// The function at a place.
    pub fn symbol(&self, id: SymbolId) -> Symbol<'_> {
        let inner = &*self.0;
        let index = id.0 as usize;
        let begin = index.checked_sub(1).map_or(0, |before| inner.ends[before] as usize);
        let module = usize::from(inner.modules[index]).checked_sub(1);
        Symbol {
            name: &inner.text[begin..inner.ends[index] as usize],
            module: module.map(|module| inner.module_names[module].as_str()),
        }
    }

    /// The function of that number, in the order of addresses.
    pub fn at(&self, index: usize) -> Option<SymbolId> {
        (index < self.count()).then_some(SymbolId(index as u32))
    }

    /// Address of the function at a place.
    pub fn address(&self, id: SymbolId) -> u64 {
        self.0.addresses[id.0 as usize]
    }

    /// All places, in the order of addresses.
    pub(crate) fn all(&self) -> impl Iterator<Item = SymbolId> + use<> {
        (0..self.0.addresses.len() as u32).map(SymbolId)
    }
}

/// The symbol of a line; `None` for a line that is none.
fn parse_line(line: &str) -> Option<Line<'_>> {
    let (address, rest) = line.split_once(' ')?;
    let (kind, rest) = rest.split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let (name, module) = match rest.split_once(['\t', ' ']) {
        Some((name, module)) => (name, Some(module.trim().strip_prefix('[')?.strip_suffix(']')?)),
        None => (rest, None),
    };
    let is_text = matches!(kind, "t" | "T" | "w" | "W");
    let is_function = is_text && !name.is_empty() && !name.starts_with("__pfx_");
    Some(Line { address, name, module, is_function })
}

/// One symbol per address.
fn pack(lines: &[Line<'_>]) -> Inner {
    let mut inner = Inner::default();
    for same in lines.chunk_by(|one, next| one.address == next.address) {
        let is_function = |line: &&Line<'_>| {
            !LABELS.contains(&line.name)
                && !line.name.starts_with("__pi_")
                && !line.name.ends_with("_start")
                && !line.name.ends_with("_end")
        };
        let line = same.iter().find(is_function).unwrap_or(&same[0]);
        inner.addresses.push(line.address);
        inner.text.push_str(line.name);
        inner.ends.push(u32::try_from(inner.text.len()).expect("names of a kernel are a few MB"));
        inner.modules.push(line.module.map_or(0, |module| module_number(&mut inner.module_names, module)));
    }
    inner.addresses.shrink_to_fit();
    inner.text.shrink_to_fit();
    inner
}

/// The place of a module in the list, from 1. Symbols of a module stand together, so the last is tried first.
fn module_number(names: &mut Vec<String>, module: &str) -> u16 {
    let known = names.iter().rposition(|name| name == module);
    let index = known.unwrap_or_else(|| {
        names.push(module.to_owned());
        names.len() - 1
    });
    u16::try_from(index + 1).expect("a kernel has fewer than 65,535 modules loaded")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
ffffffff81000000 T _stext
ffffffff81000000 T first_function
ffffffff81000010 t __pfx_second
ffffffff81000020 t second
ffffffff81000030 D some_data
ffffffffc0000100 t nvme_queue_rq\t[nvme]
ffffffffc0000200 t virtio_queue_rq\t[virtio_blk]
";

    fn found(address: u64) -> Option<(String, Option<String>)> {
        let symbols = Symbols::parse(TEXT).expect("it is as the kernel writes it");
        symbols.name(address).map(|symbol| (symbol.name.to_owned(), symbol.module.map(str::to_owned)))
    }

    #[test]
    fn an_address_belongs_to_the_function_that_begins_at_or_before_it() {
        let plain = |name: &str| Some((name.to_owned(), None));
        assert_eq!(found(0xffff_ffff_8100_0000), plain("first_function"));
        assert_eq!(found(0xffff_ffff_8100_001f), plain("first_function"));
        assert_eq!(found(0xffff_ffff_8100_0020), plain("second"));
        assert_eq!(found(0xffff_ffff_8100_0031), plain("second"));
        assert_eq!(found(0xffff_ffff_80ff_ffff), None);
    }

    #[test]
    fn a_module_is_told_with_its_functions() {
        let of = |name: &str, module: &str| Some((name.to_owned(), Some(module.to_owned())));
        assert_eq!(found(0xffff_ffff_c000_0150), of("nvme_queue_rq", "nvme"));
        assert_eq!(found(0xffff_ffff_c000_0200), of("virtio_queue_rq", "virtio_blk"));
    }

    #[test]
    fn hidden_addresses_are_refused_with_the_remedy() {
        let hidden = "0000000000000000 T _stext\n0000000000000000 t second\n";
        let said = Symbols::parse(hidden).expect_err("no addresses").to_string();
        assert!(said.contains("setcap") && said.contains("kptr_restrict"), "{said}");
    }

    #[test]
    fn an_empty_list_and_a_broken_line_are_refused() {
        assert!(matches!(Symbols::parse(""), Err(SymbolsError::Empty)));
        assert!(matches!(Symbols::parse("ff D data\n"), Err(SymbolsError::Empty)));
        let broken = Symbols::parse("ffffffff81000000 T fine\nnonsense\n");
        assert!(matches!(broken, Err(SymbolsError::Malformed { line: 2, .. })));
    }
}
