//! Samples whose meaning is known from elsewhere. Units are what is most easily wrong: see `docs/traces.md`.

use iostack_workload::TraceFormat;
use iostack_workload::trace::{Disks, TraceOptions, survey};

use super::{READ, TRIM, WRITE, flush, io, parsed, trace};

/// The first ten lines of `WebSearch2` of the `UMass` trace repository.
const WEB_SEARCH: &str = include_str!("../../data/traces/websearch2.spc");
/// A binary recording with one of each kind of I/O, printed by blkparse 1.2.0.
pub(super) const BLKPARSE: &str = include_str!("../../data/traces/blkparse-1.2.0.txt");
/// Written by fio 3.33: `--filename=one:two --size=1m --rw=randrw --bs=4k,8k --io_limit=96k --fsync=4 --rate_iops=2000`.
pub(super) const FIO: &str = include_str!("../../data/traces/fio-3.33.log");

fn only(disk: &str) -> TraceOptions {
    TraceOptions { disks: Disks::Only(disk.to_owned()), ..TraceOptions::default() }
}

#[test]
fn spc_counts_blocks_of_512_bytes_and_seconds() {
    let second: Result<Vec<_>, _> = trace(WEB_SEARCH, TraceFormat::Spc, &only("2")).collect();
    let expected = [io(0, READ, 21_841_504 * 512, 24_576), io(136_000, READ, 21_841_568 * 512, 8_192)];
    assert_eq!(second.expect("published"), expected);
    // The specification allows blanks behind commas, lower case and any further fields.
    let loose = "0,\t8, 512,w, 0.5,0x123, 5.99,test\n0,16,512,R,1.25\n";
    assert_eq!(
        parsed(loose, TraceFormat::Spc).expect("legal"),
        [io(0, WRITE, 4096, 512), io(750_000_000, READ, 8192, 512)]
    );
}

#[test]
fn msr_counts_bytes_and_tenths_of_microseconds() {
    let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                128166372003061629,usr,0,Read,7014609920,24576,41286\r\n\
                128166372016382155,usr,0,Write,2517319680,4096,703\r\n";
    let expected = [io(0, READ, 7_014_609_920, 24_576), io(1_332_052_600, WRITE, 2_517_319_680, 4096)];
    assert_eq!(parsed(text, TraceFormat::MsrCsv).expect("as published"), expected);
}

#[test]
fn disksim_counts_sectors_and_milliseconds_and_its_first_flag_is_read() {
    let text = "0.000000 0 8 16 1\n9.034025 0 1048576 8 0\n1.25e+03 0 1 1 0x101\n2e3 0 2 1 100\n";
    assert_eq!(
        parsed(text, TraceFormat::Disksim).expect("as in the manual"),
        [
            io(0, READ, 4096, 8192),
            io(9_034_025, WRITE, 536_870_912, 4096),
            io(1_250_000_000, READ, 512, 512),
            io(2_000_000_000, WRITE, 1024, 512),
        ]
    );
}

#[test]
fn blkparse_counts_sectors_and_nanoseconds_and_only_queued_events() {
    let expected = [
        io(0, WRITE, 223_490 * 512, 4096),
        io(92_242, READ, 0, 512),
        io(292_365, READ, 4096, 131_072),
        io(492_242, WRITE, 2_097_152, 4096),
        io(1_492_242, TRIM, 33_554_432, 1 << 20),
        flush(2_492_242),
        // A write between two barriers: FWFS.
        flush(3_492_242),
        io(3_492_242, WRITE, 1 << 20, 8192),
        flush(3_492_242),
        // The data must be on the medium: WFS.
        io(4_492_242, WRITE, 123_456_789_012 * 512, 4096),
        flush(4_492_242),
        io(5_492_242, READ, 2_097_152, 4096),
        io(5_493_242, READ, 2_101_248, 4096),
        io(6_492_242, WRITE, 8192, 262_144),
        io(1_234_558_382_365, READ, 12_288, 4096),
    ];
    assert_eq!(parsed(BLKPARSE, TraceFormat::Blkparse).expect("printed by blkparse"), expected);
}

#[test]
fn a_recording_without_queued_events_has_those_that_were_issued() {
    let issued: Vec<&str> = BLKPARSE.lines().filter(|line| !line.contains("  Q ")).collect();
    let ios = parsed(&issued.join("\n"), TraceFormat::Blkparse).expect("printed by blkparse");
    // The two reads of 4 KiB had been merged.
    assert_eq!(ios[0], io(0, WRITE, 223_490 * 512, 4096));
    assert_eq!(ios.last(), Some(&io(5_491_242, READ, 2_097_152, 8192)));
    assert_eq!(ios.len(), 12);
}

#[test]
fn fio_version_3_has_bytes_and_microseconds() {
    let one: Result<Vec<_>, _> = trace(FIO, TraceFormat::FioIolog, &only("one")).collect();
    let one = one.expect("written by fio");
    assert_eq!(one[..2], [io(0, READ, 28_672, 4096), io(478_000, READ, 438_272, 4096)]);
    let two: Result<Vec<_>, _> = trace(FIO, TraceFormat::FioIolog, &only("two")).collect();
    assert_eq!(two.expect("written by fio").iter().filter(|io| io.flush).count(), 2);
}

#[test]
fn fio_version_2_waits_until_so_many_milliseconds_have_passed() {
    let text = "fio version 2 iolog\n/f add\n/f open\n/f read 0 4096\n/f wait 800 0\n/f write 4096 512\n\
                /f wait 400 0\n/f trim 8192 4096\n/f wait 1200 0\n/f datasync 0 0\n/f close\n";
    assert_eq!(
        parsed(text, TraceFormat::FioIolog).expect("as documented"),
        [
            io(0, READ, 0, 4096),
            io(800_000_000, WRITE, 4096, 512),
            io(800_000_000, TRIM, 8192, 4096),
            flush(1_200_000_000),
        ]
    );
}

#[test]
fn every_format_is_told_by_its_first_lines() {
    let samples = [
        (FIO, TraceFormat::FioIolog),
        (BLKPARSE, TraceFormat::Blkparse),
        (WEB_SEARCH, TraceFormat::Spc),
        ("0,20941264,8192,W,0.551706,Alpha/NT\n", TraceFormat::Spc),
        ("0,20941264,8192,W,3,17,5\n", TraceFormat::Spc),
        ("Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n", TraceFormat::MsrCsv),
        ("0.000000 0 8 16 1\n", TraceFormat::Disksim),
        ("4851300 1 524288 16 0\n", TraceFormat::Disksim),
    ];
    for (text, format) in samples {
        assert_eq!(TraceFormat::detect(text), Some(format), "{text}");
    }
    for format in TraceFormat::ALL {
        let first = if format == TraceFormat::FioIolog { "fio version 3 iolog\n" } else { "" };
        let example = format!("{first}{}\n", format.example());
        assert_eq!(TraceFormat::detect(&example), Some(format));
        assert_eq!(TraceFormat::named(format.name()), Some(format));
        parsed(&example, format).expect("an example can be read");
    }
    for text in ["", "\n\n", "hello\n", "1 2 3\n", "a,b,c,d,e\n", "[global]\nrw=read\n"] {
        assert_eq!(TraceFormat::detect(text), None, "{text}");
    }
}

#[test]
fn a_survey_counts_each_disk_and_lays_them_one_after_the_other() {
    let found = survey(Box::new(WEB_SEARCH.as_bytes()), TraceFormat::Spc, "web").expect("published");
    let facts: Vec<_> = found.disks.iter().map(|disk| (disk.name.as_str(), disk.ios[0], disk.end)).collect();
    let ends = [30_860_080 * 512 + 8192, 32_558_944 * 512 + 8192, 21_841_568 * 512 + 8192];
    assert_eq!(facts, [("0", 4, ends[0]), ("1", 4, ends[1]), ("2", 2, ends[2])]);
    assert_eq!((found.ios(), found.span.0, found.empty), (10, 24_936_000, 0));
    let up = |byte: u64| byte.div_ceil(1 << 20) << 20;
    let list =
        vec![("0".to_owned(), 0), ("1".to_owned(), up(ends[0])), ("2".to_owned(), up(up(ends[0]) + ends[1]))];
    assert_eq!(found.laid(), Disks::Laid(list));
    assert_eq!(found.size().0, up(up(ends[0]) + ends[1]) + ends[2]);
    let options = TraceOptions { disks: found.laid(), ..TraceOptions::default() };
    let ios: Result<Vec<_>, _> = trace(WEB_SEARCH, TraceFormat::Spc, &options).collect();
    assert_eq!(ios.expect("published")[1], io(164_000, READ, up(ends[0]) + 18_960_512 * 512, 24_576));
}
