//! A line that is wrong is named, with what to do.

use iostack_model::Bytes;
use iostack_workload::TraceFormat;
use iostack_workload::trace::{Beyond, Disks, TraceOptions};

use super::{READ, TRIM, flush, io, parsed, refused, trace};

#[test]
fn a_malformed_line_is_named_with_its_remedy() {
    let cases = include_str!("../../data/traces/errors.txt").lines().filter(|line| !line.starts_with('#'));
    for case in cases {
        let [format, text, line, wanted] = case.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("{case}")
        };
        let format = TraceFormat::named(format).expect(case);
        let said = refused(&text.replace("\\n", "\n"), format, &TraceOptions::default());
        assert!(said.starts_with(&format!("some.trace:{line}: ")), "{said}");
        assert!(said.contains(wanted), "`{said}` does not say `{wanted}`");
    }
}

#[test]
fn what_stands_before_a_wrong_line_comes_before_its_error() {
    let text = "0,8,512,R,0.1\n0,16,512,R,0.2\nnonsense\n0,24,512,R,0.3\n";
    let mut trace = trace(text, TraceFormat::Spc, &TraceOptions::default());
    assert_eq!(trace.by_ref().take(2).filter_map(Result::ok).count(), 2);
    assert_eq!(trace.next().and_then(Result::err).expect("line 3").line, 3);
    assert!(trace.next().is_none());
}

#[test]
fn a_file_that_is_no_trace_is_refused_without_reading_all_of_it() {
    let options = TraceOptions::default();
    let long = "x".repeat(1 << 20);
    let said = refused(&long, TraceFormat::Spc, &options);
    assert!(said.contains("some.trace:1: the line is longer than 16384 bytes"), "{said}");
    let binary: &[u8] = b"0,8,512,R,0.1\n\xff\xfe\x00\x1b[2J\n";
    let said = refused(binary, TraceFormat::Spc, &options);
    assert!(said.starts_with("some.trace:2: ") && said.contains("is not text"), "{said}");
    assert!(!said.contains('\u{1b}'), "the terminal would obey: {said:?}");
    let mut packed: &[u8] = b"\x1f\x8b\x08\x00";
    let said = TraceFormat::detect_in(&mut packed, "usr_0.csv.gz").expect_err("packed").to_string();
    assert!(said.contains("it is compressed; unpack it first (gunzip"), "{said}");
    let mut empty: &[u8] = b"";
    let said = TraceFormat::detect_in(&mut empty, "e").expect_err("empty").to_string();
    assert_eq!(said, "e:1: it is empty; name the format: fio, msr, blkparse, spc, disksim");
    for nothing in ["", "\n", "fio version 3 iolog\n1 /f add\n"] {
        let format = if nothing.starts_with("fio") { TraceFormat::FioIolog } else { TraceFormat::Spc };
        assert!(refused(nothing, format, &options).contains("no I/O in it"), "{nothing}");
    }
}

#[test]
fn a_second_disk_is_refused_unless_somebody_says_where_it_lies() {
    let text = "0,8,512,R,0.1\n1,8,512,R,0.2\n0,16,512,R,0.3\n";
    let with = |disks: Disks| TraceOptions { disks, ..TraceOptions::default() };
    let said = refused(text, TraceFormat::Spc, &with(Disks::One));
    assert!(said.contains("some.trace:2: the trace is of several disks: `0` and now `1`; choose"), "{said}");
    let laid = Disks::Laid(vec![("0".to_owned(), 0)]);
    assert!(refused(text, TraceFormat::Spc, &with(laid)).contains("the disk `1` has been given no place"));
    let said = refused(text, TraceFormat::Spc, &with(Disks::Only("7".to_owned())));
    assert!(said.contains("no I/O of the disk `7`; it has `0`, `1`"), "{said}");
    let only: Result<Vec<_>, _> = trace(text, TraceFormat::Spc, &with(Disks::Only("1".to_owned()))).collect();
    assert_eq!(only.expect("there"), [io(0, READ, 4096, 512)]);
    // Names that begin alike are different disks.
    let text = "1,a,1,Read,0,512,1\n2,a,11,Read,512,512,1\n3,a1,1,Read,0,512,1\n4,a,1,Read,1024,512,1\n";
    let only: Result<Vec<_>, _> =
        trace(text, TraceFormat::MsrCsv, &with(Disks::Only("a.1".to_owned()))).collect();
    assert_eq!(only.expect("there"), [io(0, READ, 0, 512), io(300, READ, 1024, 512)]);
}

#[test]
fn a_device_that_is_too_small_is_named_or_wrapped_around() {
    let text = "0,8,4096,R,0.1\n0,2047,4096,R,0.2\n0,4096,4096,R,0.3\n";
    let with = |beyond: Beyond| TraceOptions { beyond, ..TraceOptions::default() };
    let said = refused(text, TraceFormat::Spc, &with(Beyond::Refuse(Bytes(1 << 20))));
    assert!(
        said.contains("some.trace:2: the I/O ends at byte 1052160, but the device has 1048576"),
        "{said}"
    );
    let wrapped: Result<Vec<_>, _> =
        trace(text, TraceFormat::Spc, &with(Beyond::Wrap(Bytes(1_000_000)))).collect();
    let offsets: Vec<u64> = wrapped.expect("wraps").iter().map(|io| io.offset).collect();
    // 1000000 bytes are 244 whole units of 4 KiB: 999424.
    assert_eq!(offsets, [4096, 2047 * 512 - 999_424, 4096 * 512 - 2 * 999_424]);
    let crossing = "0,1951,4096,R,0.1\n";
    let ios: Result<Vec<_>, _> =
        trace(crossing, TraceFormat::Spc, &with(Beyond::Wrap(Bytes(1_000_000)))).collect();
    assert_eq!(ios.expect("wraps")[0].offset, 0);
    assert!(
        refused(text, TraceFormat::Spc, &with(Beyond::Wrap(Bytes(4095)))).contains("but the device only 0")
    );
}

#[test]
fn ios_of_no_bytes_are_counted_and_a_long_trim_becomes_several() {
    let text = "0,8,0,R,0.1\n0,8,512,R,0.2\n";
    let mut trace = trace(text, TraceFormat::Spc, &TraceOptions::default());
    assert_eq!(trace.by_ref().count(), 1);
    assert_eq!(trace.empty(), 1);
    let text = "8,0 3 11 0.1 697 Q D 0 + 10485760 [blkdiscard]\n";
    let trims = parsed(text, TraceFormat::Blkparse).expect("5 GiB");
    assert_eq!(
        trims,
        [io(0, TRIM, 0, 1 << 30), io(0, TRIM, 1 << 30, 1 << 30), io(0, TRIM, 2 << 30, 3 << 30)]
    );
    // The name of a program may look like a range.
    let text = "8,0 3 11 0.1 697 Q FWS [1 + 2]\n8,0 3 12 0.2 697 Q R 8 + 8 [a b]\n";
    assert_eq!(parsed(text, TraceFormat::Blkparse).expect("legal").len(), 2);
}

#[test]
fn a_sync_with_numbers_has_no_range() {
    // fio writes the last offset beside it; a length once kept the reader busy for ever.
    let text = "fio version 3 iolog\n1 /f sync 4096 4096\n2 /f datasync 0 0\n";
    assert_eq!(parsed(text, TraceFormat::FioIolog).expect("legal"), [flush(0), flush(1000)]);
}
