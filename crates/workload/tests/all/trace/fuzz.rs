//! Whatever stands in a file: no panic, no nonsense, and an error that names a line there is. The seed is in each message.

use std::fmt::Write;

use iostack_model::{Bytes, Direction, Nanos};
use iostack_workload::trace::{Beyond, Disks, TraceOptions, survey};
use iostack_workload::{Rng, TraceFormat, TraceIo};

use super::samples::{BLKPARSE, FIO};
use super::{io, parsed, trace};

/// Texts that parsers may stumble over.
const PIECES: &str = "0 -1 18446744073709551615 18446744073709551616 36028797018963967 1e308 1e-5 nan . , \t + \n \r\n \0 é ８ 0x \
     0xffffffff fffffffff R W FWFS FF N 8,0 Q D fio version 3 iolog\n wait sync Read CPU0 (a): [a + b] 4294967296 0.000000000";

fn options(rng: &mut Rng) -> TraceOptions {
    let names = ["0", "one", "8,0", "usr.0"];
    let name = || names[0].to_owned();
    let laid = names.iter().zip([0, 1 << 40, 1 << 62, u64::MAX - 5]);
    let disks = match rng.below(3) {
        0 => Disks::One,
        1 => Disks::Only(name()),
        _ => Disks::Laid(laid.map(|(name, base)| ((*name).to_owned(), base)).collect()),
    };
    let size = Bytes([0, 1, 4096, 1 << 20, u64::MAX][rng.below(5) as usize]);
    let beyond = [Beyond::Unknown, Beyond::Refuse(size), Beyond::Wrap(size)][rng.below(3) as usize];
    TraceOptions { disks, beyond }
}

#[test]
fn mutated_traces_end_in_a_named_line_or_in_sound_ios() {
    let msr =
        "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,usr,0,Write,0,4096,7\n";
    let samples = [
        (FIO, TraceFormat::FioIolog),
        (BLKPARSE, TraceFormat::Blkparse),
        ("fio version 2 iolog\n/f add\n/f read 0 4096\n/f wait 800 0\n/f sync 0 0\n", TraceFormat::FioIolog),
        (msr, TraceFormat::MsrCsv),
        ("0,20941264,8192,W,0.551706,Alpha\n1,3436288,15872,r,1.250720\n", TraceFormat::Spc),
        ("0.000000 0 8 16 1\n9.034025 0 1048576 8 0\n", TraceFormat::Disksim),
    ];
    for seed in 0..12_000 {
        let mut rng = Rng::from_seed(seed);
        let (text, mut format) = samples[seed as usize % samples.len()];
        if rng.below(20) == 0 {
            format = TraceFormat::ALL[rng.below(5) as usize];
        }
        let bytes = crate::mutated(text.as_bytes(), PIECES, &mut rng);
        let options = options(&mut rng);
        let lines = bytes.split(|&byte| byte == b'\n').count() as u64;
        let mut last = 0;
        for item in trace(&bytes, format, &options) {
            match item {
                Ok(io) => {
                    assert!(io.at.0 >= last, "seed {seed}: {io:?}");
                    last = io.at.0;
                    assert_eq!(io.length == 0, io.flush, "seed {seed}: {io:?}");
                    let end = io.offset.checked_add(u64::from(io.length)).expect("within 2^64");
                    if let Beyond::Refuse(size) | Beyond::Wrap(size) = options.beyond {
                        assert!(end <= size.0, "seed {seed}: {io:?}");
                    }
                }
                Err(error) => {
                    assert!(error.line <= lines, "seed {seed}: {error}");
                    let said = error.to_string();
                    assert!(
                        said.len() < 600 && !said.contains(|c: char| c.is_control()),
                        "seed {seed}: {said:?}"
                    );
                    assert!(!error.remedy.is_empty(), "seed {seed}");
                }
            }
        }
        let _ = TraceFormat::detect(&String::from_utf8_lossy(&bytes));
        let found = survey(Box::new(std::io::Cursor::new(bytes)), format, "fuzzed");
        let _ = found.map(|found| (found.laid(), found.size(), found.ios()));
    }
}

/// The line that a format has for an I/O.
fn write_line(text: &mut String, format: TraceFormat, io: &TraceIo) {
    let (at, offset, length) = (io.at.0, io.offset, io.length);
    let letter = if io.direction == Direction::Read { "R" } else { "W" };
    let word = if io.direction == Direction::Read { "Read" } else { "Write" };
    let (seconds, sector, sectors) = (at / 1_000_000_000, offset / 512, length / 512);
    let nanos = at % 1_000_000_000;
    match format {
        TraceFormat::FioIolog => {
            writeln!(text, "{} /f {} {offset} {length}", at / 1000, word.to_lowercase())
        }
        TraceFormat::MsrCsv => writeln!(text, "{},h,0,{word},{offset},{length},1", 128_166_372 + at / 100),
        TraceFormat::Blkparse => {
            writeln!(text, "  8,0    1  12 {seconds:>5}.{nanos:09}  1  Q  {letter} {sector} + {sectors} [x]")
        }
        TraceFormat::Spc => writeln!(text, "0,{sector},{length},{letter},{seconds}.{nanos:09}"),
        TraceFormat::Disksim => {
            let read = u32::from(letter == "R");
            writeln!(text, "{}.{:06} 0 {sector} {sectors} {read}", at / 1_000_000, at % 1_000_000)
        }
    }
    .expect("a string takes all");
}

#[test]
fn what_was_written_in_a_format_is_read_back_from_it() {
    for seed in 0..200 {
        let mut rng = Rng::from_seed(seed);
        let mut at = 0;
        let ios: Vec<TraceIo> = (0..100)
            .map(|number| {
                // Whole microseconds, which all formats can say.
                at += if number == 0 { 0 } else { rng.below(3_000_000) * 1000 };
                let direction = [Direction::Read, Direction::Write][rng.below(2) as usize];
                io(at, direction, rng.below(1 << 40) * 512, (1 + rng.below(1 << 20) as u32) * 512)
            })
            .collect();
        for format in TraceFormat::ALL {
            let mut text = String::new();
            if format == TraceFormat::FioIolog {
                text.push_str("fio version 3 iolog\n");
            }
            for io in &ios {
                write_line(&mut text, format, io);
            }
            assert_eq!(parsed(&text, format).expect("well written"), ios, "seed {seed}, {}", format.name());
            assert_eq!(TraceFormat::detect(&text), Some(format), "seed {seed}");
        }
        assert_eq!(ios[0].at, Nanos(0));
    }
}
