//! What do these bytes say they are? A table of the marks that file systems, volume managers and partition tables
//! leave, so that nothing that exists is overwritten unawares.
//!
//! The offsets are those of libblkid's probers and of the formats' own headers in the kernel. Start at [`recognise`].

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// One mark: where, what bytes, and what they mean.
struct SignatureMark {
    offset: u64,
    bytes: &'static [u8],
    name: &'static str,
}

const fn mark(offset: u64, bytes: &'static [u8], name: &'static str) -> SignatureMark {
    SignatureMark { offset, bytes, name }
}

/// md's `MD_SB_MAGIC` 0xa92b4efc, little-endian (`include/uapi/linux/raid/md_p.h`).
const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
/// bcache and bcachefs share this identifier in their superblock at 4 KiB.
const BCACHE: &[u8] = &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca];

/// Marks at a fixed distance from the start.
const MARKS: &[SignatureMark] = &[
    mark(0, b"LUKS\xba\xbe", "a LUKS volume"),
    mark(0x4000, b"SKUL\xba\xbe", "a LUKS volume"),
    mark(0, b"XFSB", "an xfs file system"),
    mark(0x438, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
    mark(0x1_0040, b"_BHRfS_M", "a btrfs file system"),
    mark(0x400, b"\x10\x20\xf5\xf2", "an f2fs file system"),
    mark(0x1018, BCACHE, "a bcache device or bcachefs file system"),
    mark(3, b"NTFS    ", "an NTFS file system"),
    mark(3, b"EXFAT   ", "an exFAT file system"),
    mark(3, b"-FVE-FS-", "a BitLocker volume"),
    mark(0x36, b"FAT1", "a FAT file system"),
    mark(0x52, b"FAT32   ", "a FAT file system"),
    mark(0xff6, b"SWAPSPACE2", "swap space"),
    mark(0xff6, b"SWAP-SPACE", "swap space"),
    mark(0x3ff6, b"SWAPSPACE2", "swap space"),
    mark(0xfff6, b"SWAPSPACE2", "swap space"),
    mark(0xff6, b"S1SUSPEND", "a hibernation image"),
    mark(0, MD, "an md array member"),
    mark(0x1000, MD, "an md array member"),
    mark(0, b"hsqs", "a squashfs file system"),
    mark(0x400, b"\xe2\xe1\xf5\xe0", "an erofs file system"),
    mark(0x8001, b"CD001", "an ISO 9660 file system"),
    mark(0x8000, b"JFS1", "a jfs file system"),
    mark(0x1_0034, b"ReIsEr", "a reiserfs file system"),
    mark(0, b"bluestore block device", "a Ceph BlueStore device"),
    mark(0x18, b"LVM2 001", "an LVM physical volume"),
    mark(0x218, b"LVM2 001", "an LVM physical volume"),
    mark(0x418, b"LVM2 001", "an LVM physical volume"),
    mark(0x618, b"LVM2 001", "an LVM physical volume"),
];

/// Content that was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundSignature {
    /// A file system, or a member of something larger; with its article.
    Content(&'static str),
    /// A partition table.
    Table(&'static str),
}

/// ZFS writes its uberblocks from 128 KiB to 256 KiB of each label, one a KiB at most.
const HEAD: u64 = 256 << 10;

/// Content by the first and last bytes of `device`, `size` bytes long; `None` when they say nothing we know.
pub(crate) fn recognise(device: &File, size: u64) -> io::Result<Option<FoundSignature>> {
    let head = read(device, 0, HEAD.min(size))?;
    let content = MARKS.iter().find(|mark| has(&head, mark.offset, mark.bytes)).map(|mark| mark.name);
    if let Some(name) = content.or_else(|| is_zfs(&head).then_some("a ZFS pool member")) {
        return Ok(Some(FoundSignature::Content(name)));
    }
    if let Some(table) = table(&head) {
        return Ok(Some(FoundSignature::Table(table)));
    }
    at_the_end(device, size)
}

fn read(device: &File, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length as usize];
    device.read_exact_at(&mut bytes, offset)?;
    Ok(bytes)
}

fn has(bytes: &[u8], offset: u64, wanted: &[u8]) -> bool {
    let at = offset as usize;
    bytes.get(at..at + wanted.len()) == Some(wanted)
}

/// `UBERBLOCK_MAGIC` 0x00bab10c in either byte order; one hit by chance in 128 places is not believed, four are.
fn is_zfs(head: &[u8]) -> bool {
    let magic = 0x00ba_b10c_u64;
    let slots = (HEAD / 2..HEAD).step_by(1024);
    let hits = slots.filter(|&at| has(head, at, &magic.to_le_bytes()) || has(head, at, &magic.to_be_bytes()));
    hits.count() >= 4
}

/// GPT in the second logical block (512 or 4096 bytes), or an MBR with at least one sound entry.
fn table(head: &[u8]) -> Option<&'static str> {
    if has(head, 512, b"EFI PART") || has(head, 4096, b"EFI PART") {
        return Some("a GPT partition table");
    }
    if !has(head, 510, b"\x55\xaa") {
        return None;
    }
    // Boot sectors of file systems end alike; a table has entries: status 0 or 80h, a type, a length.
    let mut entries = head.get(446..510)?.chunks_exact(16);
    let sound = |entry: &[u8]| matches!(entry[0], 0 | 0x80) && entry[4] != 0 && entry[12..16] != [0; 4];
    entries.any(sound).then_some("an MBR partition table")
}

/// Marks that stand at the end: the spare GPT, and the two md formats that leave the start to the data.
fn at_the_end(device: &File, size: u64) -> io::Result<Option<FoundSignature>> {
    const TAIL: u64 = 128 << 10;
    if size < HEAD {
        return Ok(None);
    }
    let first = size - TAIL;
    let tail = read(device, first, TAIL)?;
    let has_at = |offset: u64, bytes: &[u8]| offset >= first && has(&tail, offset - first, bytes);
    if has_at(size - 512, b"EFI PART") || has_at(size - 4096, b"EFI PART") {
        return Ok(Some(FoundSignature::Table("the spare copy of a GPT partition table")));
    }
    // Version 0.90: 64 KiB before the last multiple of 64 KiB; 1.0: 8 KiB before the end, at a multiple of 4 KiB
    // (md_p.h `MD_NEW_SIZE_SECTORS`; drivers/md/md.c `super_1_load`).
    let old = (size & !0xffff) - (64 << 10);
    let new = (size - (8 << 10)) & !0xfff;
    let md = has_at(old, MD) || has_at(new, MD);
    Ok(md.then_some(FoundSignature::Content("an md array member")))
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
