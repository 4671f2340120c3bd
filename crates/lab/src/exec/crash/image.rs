//! What is on the disks? Pages, of which states of the disks share those that are equal.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::Hasher;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::host::mailbox::{DriveRequest, Operation};

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;

/// Content of a page, and its hash with its place: of zeros 0.
#[derive(Debug)]
pub(super) struct DiskPage {
    bytes: Vec<u8>,
    hash: u64,
}

/// Number of the disk, number of the page.
pub(super) type PagePlace = (u32, u64);

/// Content of pages; what is not there is zeros, or what lies below.
pub(super) type Pages = BTreeMap<PagePlace, Arc<DiskPage>>;

/// Content of a range: bytes, or zeros.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'a> {
    Bytes(&'a [u8]),
    Zeros,
}

fn made(place: PagePlace, bytes: Vec<u8>) -> Arc<DiskPage> {
    let hash = if bytes.iter().all(|&byte| byte == 0) {
        0
    } else {
        let mut hasher = DefaultHasher::new();
        hasher.write_u32(place.0);
        hasher.write_u64(place.1);
        hasher.write(&bytes);
        hasher.finish()
    };
    Arc::new(DiskPage { bytes, hash })
}

/// Writes the content from `offset` on over what the layers below show.
pub(super) fn write(
    to: &mut Pages,
    below: &[&Pages],
    disk: u32,
    (offset, length): (u64, u64),
    content: Content<'_>,
) {
    for page in offset / PAGE..(offset + length).div_ceil(PAGE) {
        let from = offset.max(page * PAGE);
        let until = (offset + length).min((page + 1) * PAGE);
        let here = (from - page * PAGE) as usize..(until - page * PAGE) as usize;
        let place = (disk, page);
        let before = to.get(&place).or_else(|| below.iter().find_map(|layer| layer.get(&place)));
        if before.is_none() && matches!(content, Content::Zeros) {
            continue;
        }
        let mut bytes = before.map_or_else(|| vec![0; PAGE as usize], |page| page.bytes.clone());
        match content {
            Content::Bytes(all) => {
                bytes[here].copy_from_slice(&all[(from - offset) as usize..(until - offset) as usize]);
            }
            Content::Zeros => bytes[here].fill(0),
        }
        to.insert(place, made(place, bytes));
    }
}

/// Fills `into` from `offset` on with what the layers show, the topmost first.
pub(super) fn read(layers: &[&Pages], disk: u32, offset: u64, into: &mut [u8]) {
    let end = offset + into.len() as u64;
    for page in offset / PAGE..end.div_ceil(PAGE) {
        let (from, until) = (offset.max(page * PAGE), end.min((page + 1) * PAGE));
        let here = &mut into[(from - offset) as usize..(until - offset) as usize];
        match layers.iter().find_map(|layer| layer.get(&(disk, page))) {
            Some(there) => {
                here.copy_from_slice(
                    &there.bytes[(from - page * PAGE) as usize..(until - page * PAGE) as usize],
                );
            }
            None => here.fill(0),
        }
    }
}

/// Pages of the disk that hold something in the range, in one of the layers.
pub(super) fn held(layers: &[&Pages], disk: u32, (offset, length): (u64, u64)) -> Vec<u64> {
    let range = (disk, offset / PAGE)..(disk, (offset + length).div_ceil(PAGE));
    let mut pages: Vec<u64> =
        layers.iter().flat_map(|layer| layer.range(range.clone()).map(|((_, page), _)| *page)).collect();
    pages.sort_unstable();
    pages.dedup();
    pages
}

/// Hash of the disks when these pages lie over others, whose hash is `below_hash`. The order of writes is of no account.
pub(super) fn hash_over(over: &Pages, below: &Pages, below_hash: u64) -> u64 {
    let of = |page: Option<&Arc<DiskPage>>| page.map_or(0, |page| page.hash);
    over.iter()
        .fold(below_hash, |sum, (place, page)| sum.wrapping_add(page.hash).wrapping_sub(of(below.get(place))))
}

/// Pages of the first disk that the file has.
pub(super) fn pages_of(file: &File, most: u64) -> io::Result<Option<Pages>> {
    let mut pages = Pages::new();
    for (offset, length) in iostack_host::stretches(file)? {
        let mut bytes = vec![0; PAGE as usize];
        for at in (offset..offset + length).step_by(PAGE as usize) {
            let here = &mut bytes[..PAGE.min(offset + length - at) as usize];
            file.read_exact_at(here, at)?;
            if here.iter().any(|&byte| byte != 0) {
                write(&mut pages, &[], 0, (at, here.len() as u64), Content::Bytes(here));
            }
            if pages.len() as u64 * PAGE > most {
                return Ok(None);
            }
        }
    }
    Ok(Some(pages))
}

/// Answers a request from these layers; writes go into the first.
pub(super) fn answer(scratch: &mut Pages, below: &[&Pages], request: &DriveRequest) -> Vec<u8> {
    let DriveRequest { disk, offset, length, .. } = *request;
    match request.operation {
        Operation::Read => {
            let mut data = vec![0; length as usize];
            let layers: Vec<&Pages> = std::iter::once(&*scratch).chain(below.iter().copied()).collect();
            read(&layers, disk, offset, &mut data);
            return data;
        }
        Operation::Write => write(scratch, below, disk, (offset, length), Content::Bytes(&request.data)),
        Operation::Trim | Operation::Zero => {
            let layers: Vec<&Pages> = std::iter::once(&*scratch).chain(below.iter().copied()).collect();
            for page in held(&layers, disk, (offset, length)) {
                let (from, until) = (offset.max(page * PAGE), (offset + length).min((page + 1) * PAGE));
                write(scratch, below, disk, (from, until - from), Content::Zeros);
            }
        }
        Operation::Flush => {}
    }
    Vec::new()
}
