//! NBD's numbers, as its specification names them: <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>.
//!
//! All numbers on the wire are big-endian.

use std::io::{self, Read};

pub(super) const MAGIC: u64 = 0x4e42_444d_4147_4943;
pub(super) const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
pub(super) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub(super) const REQUEST_MAGIC: u32 = 0x2560_9513;
pub(super) const SIMPLE_MAGIC: u32 = 0x6744_6698;
pub(super) const STRUCTURED_MAGIC: u32 = 0x668e_33ef;

/// `NBD_FLAG_FIXED_NEWSTYLE`, `NBD_FLAG_NO_ZEROES`; the client's of the same name have the same numbers.
pub(super) const FIXED_NEWSTYLE: u16 = 1;
pub(super) const NO_ZEROES: u16 = 2;

/// Options of the negotiation, `NBD_OPT_*`.
pub(super) mod option {
    pub(in super::super) const EXPORT_NAME: u32 = 1;
    pub(in super::super) const ABORT: u32 = 2;
    pub(in super::super) const LIST: u32 = 3;
    pub(in super::super) const INFO: u32 = 6;
    pub(in super::super) const GO: u32 = 7;
    pub(in super::super) const STRUCTURED_REPLY: u32 = 8;
}

/// Replies to options, `NBD_REP_*`.
pub(super) mod reply {
    pub(in super::super) const ACK: u32 = 1;
    pub(in super::super) const SERVER: u32 = 2;
    pub(in super::super) const INFO: u32 = 3;
    pub(in super::super) const ERR_UNSUP: u32 = 1 << 31 | 1;
    pub(in super::super) const ERR_INVALID: u32 = 1 << 31 | 3;
    pub(in super::super) const ERR_UNKNOWN: u32 = 1 << 31 | 6;
    pub(in super::super) const ERR_TOO_BIG: u32 = 1 << 31 | 9;
}

/// Kinds of information, `NBD_INFO_*`.
pub(super) const INFO_EXPORT: u16 = 0;
pub(super) const INFO_BLOCK_SIZE: u16 = 3;

/// `NBD_FLAG_*` of an export: has flags, flush, FUA, trim, write-zeroes, and several connections see one disk: a flush is
/// for all that was answered on any.
pub(super) const EXPORT_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;

/// Commands of requests, `NBD_CMD_*`.
pub(super) mod command {
    pub(in super::super) const READ: u16 = 0;
    pub(in super::super) const WRITE: u16 = 1;
    pub(in super::super) const DISCONNECT: u16 = 2;
    pub(in super::super) const FLUSH: u16 = 3;
    pub(in super::super) const TRIM: u16 = 4;
    pub(in super::super) const WRITE_ZEROES: u16 = 6;
}

/// Flags of commands, `NBD_CMD_FLAG_FUA` and `NBD_CMD_FLAG_NO_HOLE`.
pub(super) const FUA: u16 = 1;
pub(super) const NO_HOLE: u16 = 2;

/// Flag and types of chunks, `NBD_REPLY_FLAG_DONE` and `NBD_REPLY_TYPE_*`.
pub(super) const DONE: u16 = 1;
pub(super) const TYPE_OFFSET_DATA: u16 = 1;
pub(super) const TYPE_ERROR: u16 = 1 << 15 | 1;

/// Errors that a client may be told; the others are EIO.
pub(super) const ERRORS: [i32; 7] =
    [libc::EPERM, libc::EIO, libc::ENOMEM, libc::EINVAL, libc::ENOSPC, libc::EOPNOTSUPP, libc::ESHUTDOWN];

pub(super) fn read_array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

pub(super) fn read_u16(from: &mut impl Read) -> io::Result<u16> {
    read_array(from).map(u16::from_be_bytes)
}

pub(super) fn read_u32(from: &mut impl Read) -> io::Result<u32> {
    read_array(from).map(u32::from_be_bytes)
}

pub(super) fn read_u64(from: &mut impl Read) -> io::Result<u64> {
    read_array(from).map(u64::from_be_bytes)
}
