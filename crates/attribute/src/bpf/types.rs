//! What does the running kernel say of its own types?
//!
//! BPF type format (Documentation/bpf/btf.rst): a header, a list of types of different lengths numbered from 1, and a
//! table of strings. We only ask it how many arguments a tracepoint has.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, OnceLock, PoisonError};

/// File in which the kernel shows its types.
const PLACE: &str = "/sys/kernel/btf/vmlinux";

/// The file's content, between the two that want it: the kernel hands out some thousand pages of it, one a call.
static BYTES: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// The file's content, read anew unless it is kept from the last time.
pub(super) fn bytes() -> io::Result<Vec<u8>> {
    match BYTES.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(kept) => Ok(kept),
        None => std::fs::read(PLACE),
    }
}

/// Reason why there are no types.
#[derive(Debug, thiserror::Error)]
pub enum TypesError {
    /// Not there, or not for us.
    #[error("cannot read `{PLACE}`")]
    Unreadable(#[from] io::Error),
    /// There, and not as documented.
    #[error("`{PLACE}` is not in BPF type format: {0}")]
    Malformed(&'static str),
}

/// The kernel's types, as far as we ask.
#[derive(Clone, Debug)]
pub struct KernelTypes {
    /// Each tracepoint by name: which of its arguments are pointers, and the number of its type.
    tracepoints: HashMap<String, (Vec<bool>, u32)>,
}

impl KernelTypes {
    /// Those of the running kernel, read once.
    pub fn running() -> Result<&'static KernelTypes, TypesError> {
        static TYPES: OnceLock<KernelTypes> = OnceLock::new();
        if let Some(known) = TYPES.get() {
            return Ok(known);
        }
        let bytes = bytes()?;
        let read = KernelTypes::parse(&bytes)?;
        // They are wanted a second time, by the loader, if programs are loaded.
        *BYTES.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
        Ok(TYPES.get_or_init(|| read))
    }

    /// Those in a file.
    pub fn parse(bytes: &[u8]) -> Result<KernelTypes, TypesError> {
        let table = TypeTable::parse(bytes)?;
        let typedefs = table.types.iter().zip(1..).filter(|(entry, _)| entry.kind == TYPEDEF);
        let tracepoints = typedefs.filter_map(|(entry, number)| {
            let name = table.string(entry.name)?.strip_prefix("btf_trace_")?;
            // `typedef void (*btf_trace_NAME)(void *, ARGUMENTS)`: the first is the attached program's own.
            let pointer = table.get(entry.target).filter(|target| target.kind == POINTER)?;
            let function = table.get(pointer.target).filter(|target| target.kind == FUNCTION_TYPE)?;
            let is_pointer = |&number: &usize| table.get(number).is_some_and(|entry| entry.kind == POINTER);
            let arguments = function.arguments.get(1..)?.iter().map(is_pointer).collect();
            Some((name.to_owned(), (arguments, number)))
        });
        Ok(KernelTypes { tracepoints: tracepoints.collect() })
    }

    /// Number of arguments that a program attached to this tracepoint is handed; `None` when there is no such
    /// tracepoint.
    pub fn tracepoint_arguments(&self, name: &str) -> Option<usize> {
        self.tracepoints.get(name).map(|(arguments, _)| arguments.len())
    }

    /// True when an argument, counted from 0, is a pointer; `None` without such a tracepoint or argument.
    pub fn tracepoint_argument_is_pointer(&self, name: &str, argument: usize) -> Option<bool> {
        self.tracepoints.get(name)?.0.get(argument).copied()
    }

    /// The number of the type of this tracepoint, by which a program is attached to it.
    pub fn tracepoint_number(&self, name: &str) -> Option<u32> {
        self.tracepoints.get(name).map(|&(_, number)| number)
    }
}

const MAGIC: u16 = 0xeb9f;
const POINTER: u8 = 2;
const TYPEDEF: u8 = 8;
const FUNCTION_TYPE: u8 = 13;

/// Bytes behind a type's head: some for itself, some for each of its members.
const fn extra(kind: u8) -> Option<(usize, usize)> {
    match kind {
        POINTER | 7 | TYPEDEF | 9 | 10 | 11 | 12 | 16 | 18 => Some((0, 0)), // forward, qualifiers, function, float, tag
        1 | 14 | 17 => Some((4, 0)),       // integer, variable, declaration tag
        3 => Some((12, 0)),                // array
        4 | 5 | 15 | 19 => Some((0, 12)),  // structure, union, section, 64-bit enumeration
        6 | FUNCTION_TYPE => Some((0, 8)), // enumeration
        _ => None,
    }
}

struct TypeEntry {
    name: usize,
    kind: u8,
    target: usize,
    /// Types of a function's arguments; empty for other kinds.
    arguments: Vec<usize>,
}

struct TypeTable<'a> {
    types: Vec<TypeEntry>,
    strings: &'a [u8],
}

impl<'a> TypeTable<'a> {
    fn parse(bytes: &'a [u8]) -> Result<TypeTable<'a>, TypesError> {
        let cut = TypesError::Malformed("it ends early");
        if bytes.get(..2) != Some(&MAGIC.to_ne_bytes()) {
            return Err(TypesError::Malformed("the magic number is another"));
        }
        let head: Vec<usize> = (4..24).step_by(4).map_while(|at| word(bytes, at)).collect();
        let &[length, types_at, types_length, strings_at, strings_length] = head.as_slice() else {
            return Err(cut);
        };
        let part = |at: usize, size: usize| {
            let first = length.checked_add(at)?;
            bytes.get(first..first.checked_add(size)?)
        };
        let (Some(types), Some(strings)) = (part(types_at, types_length), part(strings_at, strings_length))
        else {
            return Err(cut);
        };
        Ok(TypeTable { types: entries(types)?, strings })
    }

    /// Types are numbered from 1; 0 is `void`.
    fn get(&self, number: usize) -> Option<&TypeEntry> {
        self.types.get(number.checked_sub(1)?)
    }

    fn string(&self, at: usize) -> Option<&'a str> {
        let rest = self.strings.get(at..)?;
        std::str::from_utf8(&rest[..rest.iter().position(|&byte| byte == 0)?]).ok()
    }
}

fn entries(types: &[u8]) -> Result<Vec<TypeEntry>, TypesError> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < types.len() {
        let (Some(name), Some(info), Some(target)) =
            (word(types, at), word(types, at + 4), word(types, at + 8))
        else {
            return Err(TypesError::Malformed("a type is cut"));
        };
        let (kind, count) = ((info >> 24) as u8 & 0x1f, info & 0xffff);
        let (own, each) = extra(kind).ok_or(TypesError::Malformed("a kind of type is not known"))?;
        let next = at + 12 + own + count * each;
        let mut arguments = Vec::new();
        if kind == FUNCTION_TYPE {
            let members = (at + 12..next).step_by(each);
            arguments.extend(members.map_while(|member| word(types, member + 4)));
        }
        found.push(TypeEntry { name, kind, target, arguments });
        at = next;
    }
    Ok(found)
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().expect("four bytes")) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one tracepoint `issue` of `arguments` arguments, behind an enumeration and a structure.
    fn made_up(arguments: u32) -> Vec<u8> {
        let strings = b"\0btf_trace_issue\0other\0";
        let mut types: Vec<u32> = Vec::new();
        types.extend([17, 6 << 24 | 1, 4, 0, 0]); // 1: enumeration of one
        types.extend([17, 4 << 24 | 2, 8, 0, 0, 0, 0, 0, 0]); // 2: structure of two
        types.extend([1, 8 << 24, 4]); // 3: typedef of 4
        types.extend([0, 2 << 24, 5]); // 4: pointer to 5
        types.extend([0, 13 << 24 | (arguments + 1), 0]); // 5: function
        types.extend((0..=arguments).flat_map(|index| [0, if index == 2 { 4 } else { 1 }]));
        let body: Vec<u8> = types.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut file = MAGIC.to_ne_bytes().to_vec();
        file.extend([1, 0]);
        for word in [24, 0, body.len() as u32, body.len() as u32, strings.len() as u32] {
            file.extend(word.to_ne_bytes());
        }
        file.extend(body);
        file.extend(strings);
        file
    }

    #[test]
    fn the_arguments_of_a_tracepoint_are_counted_without_the_programs_own() {
        for arguments in 0..5 {
            let types = KernelTypes::parse(&made_up(arguments)).expect("as documented");
            assert_eq!(types.tracepoint_arguments("issue"), Some(arguments as usize));
            assert_eq!(types.tracepoint_arguments("other"), None);
            assert_eq!(types.tracepoint_argument_is_pointer("issue", 0), (arguments > 0).then_some(false));
            assert_eq!(types.tracepoint_argument_is_pointer("issue", 1), (arguments > 1).then_some(true));
        }
    }

    #[test]
    fn a_file_cut_anywhere_is_refused_and_never_a_panic() {
        let whole = made_up(2);
        for length in 0..whole.len() {
            assert!(KernelTypes::parse(&whole[..length]).is_err(), "{length} bytes");
        }
        let mut other = whole;
        other[0] ^= 1;
        assert!(matches!(KernelTypes::parse(&other), Err(TypesError::Malformed(_))));
    }

    #[test]
    fn the_running_kernels_block_tracepoints_are_found() {
        let Ok(types) = KernelTypes::running() else {
            println!("SKIPPED the_running_kernels_block_tracepoints_are_found: no {PLACE}");
            return;
        };
        assert!(matches!(types.tracepoint_arguments("block_rq_issue"), Some(1 | 2)));
        assert!(types.tracepoint_arguments("no_such_tracepoint").is_none());
    }
}
