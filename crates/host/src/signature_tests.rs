//! Every mark in the table is seen, and bytes that only look like one are not.

use std::fs::OpenOptions;

use super::*;
use crate::testing::Tree;

const SIZE: u64 = 1 << 20;

/// Words for what an image with these bytes at these places is taken for.
fn seen(parts: &[(u64, &[u8])], size: u64) -> Option<FoundSignature> {
    let tree = Tree::new(&[("image", "")]);
    let image = OpenOptions::new().read(true).write(true).open(tree.at("image")).expect("just made");
    image.set_len(size).expect("sparse");
    for (offset, bytes) in parts {
        image.write_all_at(bytes, *offset).expect("inside");
    }
    recognise(&image, size).expect("it is readable")
}

#[test]
fn every_mark_of_the_table_is_seen() {
    for mark in MARKS {
        let found = seen(&[(mark.offset, mark.bytes)], SIZE);
        assert_eq!(found, Some(FoundSignature::Content(mark.name)), "{} at {:#x}", mark.name, mark.offset);
    }
}

#[test]
fn nothing_is_seen_where_nothing_is() {
    assert_eq!(seen(&[], SIZE), None);
    assert_eq!(seen(&[], 4096), None);
    assert_eq!(seen(&[], 0), None);
    let noise: Vec<u8> = (0..SIZE).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    assert_eq!(seen(&[(0, &noise)], SIZE), None);
}

#[test]
fn partition_tables_are_told_from_boot_sectors() {
    let gpt = Some(FoundSignature::Table("a GPT partition table"));
    assert_eq!(seen(&[(512, b"EFI PART")], SIZE), gpt);
    assert_eq!(seen(&[(4096, b"EFI PART")], SIZE), gpt);
    let spare = Some(FoundSignature::Table("the spare copy of a GPT partition table"));
    assert_eq!(seen(&[(SIZE - 512, b"EFI PART")], SIZE), spare);
    let boot: (u64, &[u8]) = (510, b"\x55\xaa");
    assert_eq!(seen(&[boot], SIZE), None);
    let entry = [0x80, 1, 1, 0, 0x83, 1, 1, 1, 0, 8, 0, 0, 0, 16, 0, 0];
    assert_eq!(seen(&[boot, (446, &entry)], SIZE), Some(FoundSignature::Table("an MBR partition table")));
    assert_eq!(
        seen(&[boot, (446 + 48, &entry)], SIZE),
        Some(FoundSignature::Table("an MBR partition table"))
    );
}

#[test]
fn arrays_that_keep_their_mark_at_the_end_are_seen() {
    let member = Some(FoundSignature::Content("an md array member"));
    assert_eq!(seen(&[(SIZE - (64 << 10), MD)], SIZE), member);
    assert_eq!(seen(&[(SIZE - (8 << 10), MD)], SIZE), member);
    let odd = SIZE + 5 * 512;
    assert_eq!(seen(&[((odd - (8 << 10)) & !0xfff, MD)], odd), member);
}

#[test]
fn one_uberblock_by_chance_is_not_a_pool() {
    let magic = 0x00ba_b10c_u64.to_le_bytes();
    let slot = |index: u64| (HEAD / 2 + index * 1024, &magic[..]);
    assert_eq!(seen(&[slot(3)], SIZE), None);
    let pool = [slot(0), slot(1), slot(2), slot(127)];
    assert_eq!(seen(&pool, SIZE), Some(FoundSignature::Content("a ZFS pool member")));
}
