//! Binary recordings mean what `blkparse` prints of them.

use std::fs;
use std::io::{BufReader, Cursor, Read};
use std::process::Command;

use iostack_workload::TraceFormat;
use iostack_workload::trace::{Trace, TraceOptions, as_text, open_with};

use super::{READ, TRIM, WRITE, flush, io};

const READS: u32 = 1 << 16;
const WRITES: u32 = 1 << 17;
const FLUSHES: u32 = 1 << 18;
const DISCARDS: u32 = 1 << 29;
const FUA: u32 = 1 << 31;

/// Nanoseconds, sector, bytes and action of each record; the last has eight bytes more, the number of a control group.
const RECORDS: &[(u64, u64, u32, u32)] = &[
    (1_000_000_007, 8, 4096, READS | 1),
    (1_000_500_000, 1 << 33, 8192, WRITES | 1 << 19 | 1),
    (1_000_600_000, 8, 4096, READS | 8),
    (1_000_700_000, 0, 0, WRITES | FLUSHES | 1),
    (1_000_800_000, 64, 1 << 20, DISCARDS | 1 << 17 | 1),
    (2_000_000_000, 16, 512, WRITES | FUA | 1),
    (2_000_000_001, 24, 512, READS | 0x100 | 1),
];

fn recording(big: bool) -> Vec<u8> {
    let mut all = Vec::new();
    for (number, &(time, sector, length, action)) in (1u32..).zip(RECORDS) {
        let more: u16 = if number as usize == RECORDS.len() { 8 } else { 0 };
        let device = (8 << 20) + 17;
        let mut fields =
            [&0x6561_7407u32.to_le_bytes()[..], &number.to_le_bytes()].map(<[u8]>::to_vec).to_vec();
        fields.extend([time, sector].map(|long| long.to_le_bytes().to_vec()));
        fields.extend([length, action, 4711, device, 0].map(|word| word.to_le_bytes().to_vec()));
        fields.extend([0, more].map(|half| half.to_le_bytes().to_vec()));
        if big {
            for field in &mut fields {
                field.reverse();
            }
        }
        all.extend(fields.concat());
        all.extend(vec![0xAA; usize::from(more)]);
    }
    all
}

/// Read in pieces of a few bytes.
fn read(bytes: Vec<u8>) -> Trace {
    let text = as_text(Box::new(BufReader::with_capacity(5, Cursor::new(bytes)))).expect("it can be read");
    open_with(text, TraceFormat::Blkparse, "some.trace", TraceOptions::default())
}

#[test]
fn a_binary_recording_of_either_byte_order_is_read() {
    let wanted = [
        io(0, READ, 4096, 4096),
        io(499_993, WRITE, 1 << 42, 8192),
        flush(699_993),
        io(799_993, TRIM, 32 << 10, 1 << 20),
        io(999_999_993, WRITE, 8192, 512),
        flush(999_999_993),
        io(999_999_994, READ, 12 << 10, 512),
    ];
    for big in [false, true] {
        let read: Vec<_> = read(recording(big)).map(|io| io.expect("it is sound")).collect();
        assert_eq!(read, wanted, "big endian: {big}");
    }
}

#[test]
fn what_is_cut_off_or_strange_is_named_by_its_record() {
    let whole = recording(false);
    for (bytes, said) in [
        (whole[..whole.len() - 1].to_vec(), "record 7 of this binary trace is cut off"),
        (whole[..60].to_vec(), "record 2 of this binary trace is cut off"),
        ([&whole[..48], &[7; 48]].concat(), "record 2 of this binary trace does not begin as records do"),
    ] {
        let error = read(bytes).find_map(Result::err).expect("it is refused").to_string();
        assert!(error.contains(said), "{error}");
    }
    let mut text = String::new();
    let plain = as_text(Box::new(Cursor::new(b"et".to_vec())))
        .and_then(|mut text_in| text_in.read_to_string(&mut text));
    assert_eq!((plain.expect("two bytes"), text.as_str()), (2, "et"));
}

#[test]
fn blkparse_prints_the_same() {
    let folder = std::env::temp_dir().join(format!("iostack-binary-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("ours");
    // blkparse 1.2.0 knows no records that name a control group.
    let mut bytes = recording(false);
    bytes.truncate(48 * (RECORDS.len() - 1));
    fs::write(folder.join("x.blktrace.0"), &bytes).expect("ours");
    let printed = Command::new("blkparse").args(["-i", "x", "-q"]).current_dir(&folder).output();
    let _ = fs::remove_dir_all(&folder);
    let Ok(printed) = printed else {
        return println!("SKIPPED blkparse_prints_the_same: there is no blkparse");
    };
    let text = String::from_utf8(printed.stdout).expect("text");
    let theirs: Vec<_> = super::parsed(&text, TraceFormat::Blkparse).expect("we read what it prints");
    let ours: Vec<_> = read(bytes).map(|io| io.expect("it is sound")).collect();
    assert_eq!(ours, theirs, "{text}");
}
