//! Which files does the emulator start quickest?
//!
//! ```text
//!   vmlinuz = setup + loader + packed vmlinux ──┬─► setup + start.S ── the image that the firmware enters
//!                                               └─► vmlinux as it lies in memory ── the emulator puts it there
//! ```
//!
//! An emulated processor takes 4 s to unpack a kernel; here it is done once for each, and kept in the cache. The kernel finds the same
//! as behind its own loader, so that counts are the same. A kernel that is packed in another way, or has another layout, boots as
//! it is.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use lzma_rust2::XzReader;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, elf::PT_LOAD};

use super::cache::Cache;
use super::command::output;
use super::kernel::Kernel;
use crate::LabError;

/// Files with which a kernel boots.
pub struct Bootable {
    /// Kernel image for the emulator's `-kernel`.
    pub image: PathBuf,
    /// File that lies in memory before that, and its address.
    pub memory: Option<(PathBuf, u64)>,
}

/// MiB of an unpacked kernel, with room for larger ones.
const UNPACKED_MIB: u64 = 200;

/// Assembly that takes the loader's place.
const START: &str = include_str!("start.S");

/// The quickest files for this kernel.
pub fn bootable(cache: &Cache, kernel: &Kernel) -> Result<Bootable, LabError> {
    let name = format!("unpacked/{}", kernel.identity()?);
    let as_it_is = || Bootable { image: kernel.image.clone(), memory: None };
    let folder = if let Some(folder) = cache.entry(&name) {
        folder
    } else {
        let image = fs::read(&kernel.image).map_err(LabError::file("read", &kernel.image))?;
        let made = parts(&image).map(|parts| cache.place(&name, UNPACKED_MIB, |folder| fill(folder, parts)));
        // No compiler, no room: it boots, only later.
        let Some(Ok(folder)) = made else { return Ok(as_it_is()) };
        folder
    };
    let address = fs::read_to_string(folder.join("address")).ok().and_then(|text| text.parse().ok());
    let memory = |address| (folder.join("memory"), address);
    Ok(address.map_or_else(as_it_is, |address| Bootable {
        image: folder.join("image"),
        memory: Some(memory(address)),
    }))
}

/// Writes the files of an entry of the cache: `image`, `memory`, `address`.
fn fill(folder: &Path, Parts { setup, memory, address }: Parts<'_>) -> Result<(), LabError> {
    let write = |name: &str, bytes: &[u8]| {
        let file = folder.join(name);
        fs::write(&file, bytes).map_err(LabError::file("write", &file))
    };
    write("start.S", START.as_bytes())?;
    let mut compiler = Command::new("cc");
    compiler.args([
        "-m32",
        "-nostdlib",
        "-static",
        "-no-pie",
        "-Wl,-Ttext=0x100000,--oformat=binary,--build-id=none",
        "-o",
        "start",
    ]);
    compiler.arg(format!("-DENTRY={address}")).arg("start.S").current_dir(folder);
    output(&mut compiler, "build what starts a kernel", "")?;
    let start = fs::read(folder.join("start")).map_err(LabError::file("read", folder))?;
    write("image", &[setup, &start].concat())?;
    write("memory", &memory)?;
    write("address", address.to_string().as_bytes())
}

/// A kernel taken apart.
struct Parts<'a> {
    /// Code and header that the firmware enters, in front of the loader.
    setup: &'a [u8],
    /// The kernel as it lies in memory.
    memory: Vec<u8>,
    /// Address of its first byte, where it is entered.
    address: u64,
}

/// Takes a bzImage apart (`Documentation/arch/x86/boot.rst`: `setup_sects`, `payload_offset`, `payload_length`); `None` where that is not
/// known to work.
fn parts(image: &[u8]) -> Option<Parts<'_>> {
    let number = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    (image.get(0x202..0x206)? == b"HdrS").then_some(())?;
    let sectors = match *image.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let (setup, rest) = image.split_at_checked((sectors + 1) * 512)?;
    let packed = rest.get(number(0x248)?..)?.get(..number(0x24c)?)?;
    packed.starts_with(b"\xfd7zXZ").then_some(())?;
    let mut kernel = Vec::new();
    XzReader::new(packed, false).read_to_end(&mut kernel).ok()?;
    let (memory, address) = laid_out(&kernel)?;
    Some(Parts { setup, memory, address })
}

/// The segments of an ELF kernel at their places, and the address of the first; `None` where that is not its entry.
fn laid_out(kernel: &[u8]) -> Option<(Vec<u8>, u64)> {
    let file = ElfFile64::<Endianness>::parse(kernel).ok()?;
    let endian = file.endian();
    let loaded = file.elf_program_headers().iter().filter(|segment| segment.p_type(endian) == PT_LOAD);
    let segments: Vec<(u64, &[u8])> = loaded
        .map(|segment| Some((segment.p_paddr(endian), segment.data(endian, kernel).ok()?)))
        .collect::<Option<_>>()?;
    let first = segments.iter().map(|(address, _)| *address).min()?;
    (first == file.elf_header().e_entry(endian)).then_some(())?;
    let mut memory = Vec::new();
    for (address, bytes) in segments {
        let start = usize::try_from(address - first).ok().filter(|start| *start < 1 << 30)?;
        memory.resize(memory.len().max(start + bytes.len()), 0);
        memory[start..start + bytes.len()].copy_from_slice(bytes);
    }
    Some((memory, first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_kernel_as_expected_boots_as_it_is() {
        let mut image = vec![0; 4 * 512];
        assert!(parts(&image).is_none(), "no header");
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248] = 16;
        image[0x24c] = 6;
        assert!(parts(&image).is_none(), "not packed by xz");
        image[1040..1046].copy_from_slice(b"\xfd7zXZ\0");
        assert!(parts(&image).is_none(), "damaged");
        image[0x24c..0x250].fill(0xff);
        assert!(parts(&image).is_none(), "longer than the file");
        assert!(parts(&image[..600]).is_none() && parts(&[]).is_none());
        assert!(laid_out(b"\x7fELF").is_none());
    }
}
