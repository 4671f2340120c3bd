//! What do client and server agree on? The fixed newstyle negotiation.

use std::io::{self, Read, Write};

use super::wire::{
    EXPORT_FLAGS, FIXED_NEWSTYLE, INFO_BLOCK_SIZE, INFO_EXPORT, MAGIC, NO_ZEROES, OPTION_MAGIC,
    OPTION_REPLY_MAGIC, option, read_u16, read_u32, read_u64, reply,
};

/// Longest option that is read: a name of 4096 bytes and some requests of information. Longer ones are skipped and refused.
const OPTION_MOST: usize = 8192;

/// Longest option that is skipped; a client that sends more is cut off.
const SKIP_MOST: u32 = 1 << 20;

/// Disk that is offered.
#[derive(Clone, Debug)]
pub(super) struct Export {
    pub(super) name: String,
    pub(super) size: u64,
    /// Smallest unit, bytes.
    pub(super) block: u32,
    /// Longest request, bytes.
    pub(super) most: u32,
}

/// Result of the negotiation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreed {
    /// Reads are answered in chunks.
    pub(super) structured: bool,
}

/// Talks until the client uses the export; `None` when it leaves.
pub(super) fn agree(stream: &mut (impl Read + Write), export: &Export) -> io::Result<Option<Agreed>> {
    let zeroes = greet(stream)?;
    let mut agreed = Agreed::default();
    loop {
        let (kind, data) = read_option(stream)?;
        let mut answer = |what: u32, content: &[u8]| stream.write_all(&option_reply(kind, what, content));
        match kind {
            _ if data.len() > OPTION_MOST => answer(reply::ERR_TOO_BIG, b"")?,
            option::EXPORT_NAME if is_ours(&data, export) => {
                stream.write_all(&old_answer(export, zeroes))?;
                return Ok(Some(agreed));
            }
            // It knows no way to say no.
            option::EXPORT_NAME => return Err(io::Error::other("the client asks for another export")),
            option::ABORT => {
                let _it_leaves_anyway = answer(reply::ACK, b"");
                return Ok(None);
            }
            option::LIST if data.is_empty() => {
                let name = export.name.as_bytes();
                answer(reply::SERVER, &[&(name.len() as u32).to_be_bytes(), name].concat())?;
                answer(reply::ACK, b"")?;
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                agreed.structured = true;
                answer(reply::ACK, b"")?;
            }
            option::LIST | option::STRUCTURED_REPLY => answer(reply::ERR_INVALID, b"")?,
            option::INFO | option::GO => match asked_name(&data) {
                None => answer(reply::ERR_INVALID, b"")?,
                Some(name) if !is_ours(name, export) => answer(reply::ERR_UNKNOWN, b"")?,
                Some(_) => {
                    for info in infos(export) {
                        answer(reply::INFO, &info)?;
                    }
                    answer(reply::ACK, b"")?;
                    if kind == option::GO {
                        return Ok(Some(agreed));
                    }
                }
            },
            _ => answer(reply::ERR_UNSUP, b"")?,
        }
    }
}

/// Greets the client; true when the old form of an answer ends in zeros.
fn greet(stream: &mut (impl Read + Write)) -> io::Result<bool> {
    let flags = (FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes();
    stream.write_all(&[&MAGIC.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &flags].concat())?;
    let client = read_u32(stream)?;
    if client & !u32::from(FIXED_NEWSTYLE | NO_ZEROES) != 0 || client & u32::from(FIXED_NEWSTYLE) == 0 {
        return Err(io::Error::other("the client knows another handshake"));
    }
    Ok(client & u32::from(NO_ZEROES) == 0)
}

fn read_option(stream: &mut impl Read) -> io::Result<(u32, Vec<u8>)> {
    if read_u64(stream)? != OPTION_MAGIC {
        return Err(io::Error::other("the client's option has no magic number"));
    }
    let (kind, length) = (read_u32(stream)?, read_u32(stream)?);
    if length > SKIP_MOST {
        return Err(io::Error::other(format!("an option of {length} bytes")));
    }
    let mut data = vec![0; length as usize];
    stream.read_exact(&mut data)?;
    Ok((kind, data))
}

/// The default export has no name.
fn is_ours(name: &[u8], export: &Export) -> bool {
    name.is_empty() || name == export.name.as_bytes()
}

/// The name in INFO or GO: its length, itself, how many requests of information, two bytes each.
fn asked_name(data: &[u8]) -> Option<&[u8]> {
    let mut rest = data;
    let length = read_u32(&mut rest).ok()? as usize;
    let (name, mut rest) = rest.split_at_checked(length)?;
    let wanted = usize::from(read_u16(&mut rest).ok()?);
    (rest.len() == wanted * 2).then_some(name)
}

fn infos(export: &Export) -> [Vec<u8>; 2] {
    let size = [&INFO_EXPORT.to_be_bytes()[..], &export.size.to_be_bytes(), &EXPORT_FLAGS.to_be_bytes()];
    let blocks = [export.block, export.block.max(4096), export.most].map(u32::to_be_bytes).concat();
    [size.concat(), [&INFO_BLOCK_SIZE.to_be_bytes()[..], &blocks].concat()]
}

fn option_reply(option: u32, what: u32, content: &[u8]) -> Vec<u8> {
    let numbers = [option, what, content.len() as u32].map(u32::to_be_bytes).concat();
    [&OPTION_REPLY_MAGIC.to_be_bytes()[..], &numbers, content].concat()
}

/// Answer to `NBD_OPT_EXPORT_NAME`, which has no reply of its own.
fn old_answer(export: &Export, zeroes: bool) -> Vec<u8> {
    let padding = [0; 124];
    let padding = if zeroes { &padding[..] } else { &[] };
    [&export.size.to_be_bytes()[..], &EXPORT_FLAGS.to_be_bytes(), padding].concat()
}
