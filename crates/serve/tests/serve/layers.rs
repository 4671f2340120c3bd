//! One job each.

use iostack_serve::Errno;
use iostack_serve::layers::{LAYERS, parse};
use iostack_testkit::folder;

use crate::{asking, disk_of, done, flush, memory, read, reading, serve, write, zero};

const EIO: Errno = Errno(libc::EIO);
const EROFS: Result<(), Errno> = Err(Errno(libc::EROFS));

fn refused(typed: &str) -> String {
    parse(typed).err().unwrap_or_else(|| panic!("`{typed}` is taken"))
}

#[test]
fn every_layer_takes_its_own_examples() {
    for kind in LAYERS.iter().filter(|kind| kind.name != "log") {
        for example in kind.example.split(" or ") {
            let stack = parse(&format!("{example} | delay(0) | sim(x25e)"));
            let stack = stack.unwrap_or_else(|error| panic!("{example}: {error}"));
            assert_eq!((stack.layers.len(), stack.device.as_str()), (2, "x25e"));
        }
    }
    for drive in ["x25e", "sim:x25e", "sim(x25e)", " sim( x25e ) "] {
        assert_eq!(parse(drive).expect("a drive").device, "x25e", "{drive}");
    }
}

#[test]
fn what_is_wrong_is_said_with_what_to_write() {
    for (typed, says) in [
        ("", "`` is no drive"),
        ("delay(80us)", "`delay(80us)` is no drive"),
        ("delay(80us) |", "`` is no drive"),
        ("slow(1) | x25e", "`slow(1)` is no layer; there are delay, rate"),
        ("delay | x25e", "`delay` lacks time; write it like delay(80us)"),
        ("delay(80us | x25e", "`delay(80us` lacks its `)`"),
        ("delay(soon) | x25e", "`soon` of `delay(soon)` is no time"),
        ("delay(1us, 0%) | x25e", "`0%` of `delay(1us, 0%)` is no range, direction or share"),
        ("delay(1us, 101%) | x25e", "`101%`"),
        ("error(EIO, 2g..1g) | x25e", "`2g..1g`"),
        ("error(ENOENT) | x25e", "`ENOENT` is no error of a disk; there are EIO"),
        ("rate(0) | x25e", "`rate(0)` lets nothing through"),
        ("rate(1000, 2) | x25e", "`rate(1000, 2)` has no use for `2`"),
        ("stall(2s, 2s) | x25e", "`stall(2s, 2s)` never lets anything through"),
        ("cache(4095) | x25e", "`cache(4095)` has no room for a block of 4 KiB"),
        ("log(/nowhere/at/all) | x25e", "cannot make `/nowhere/at/all`"),
    ] {
        let said = refused(typed);
        assert!(said.contains(says), "`{typed}`: {said}");
    }
}

#[test]
fn a_delay_adds_to_the_drive_and_the_next_one_to_both() {
    let disk = disk_of("1ms", "delay(2ms) | delay(500us, write) | zero");
    read(&disk, 0, 512).expect("it is read");
    write(&disk, 0, &[1; 512]).expect("it is written");
    let seen = disk.look().expect("it serves");
    assert_eq!((seen.asked[0].max_ns, seen.asked[1].max_ns), (3_000_000, 3_500_000));
}

#[test]
fn errors_are_of_their_range_and_direction_alone() {
    let disk = disk_of("0us", "error(EIO, 1m..2m, read) | zero");
    let mib = 1 << 20;
    for (offset, fails) in [(mib - 512, false), (mib, true), (2 * mib - 512, true), (2 * mib, false)] {
        assert_eq!(read(&disk, offset, 512).err(), fails.then_some(EIO), "{offset}");
        assert_eq!(write(&disk, offset, &[1; 512]), Ok(()), "{offset}");
    }
    // One that reaches in.
    assert_eq!(read(&disk, mib - 512, 1024), Err(EIO));
    assert_eq!(flush(&disk), Ok(()));
    assert_eq!(disk.look().expect("it serves").failed, 3);
}

#[test]
fn a_share_is_met_within_its_sampling_error() {
    let disk = disk_of("0us", "error(EIO, 10%) | zero");
    let failed = (0..2000).filter(|_| read(&disk, 0, 512).is_err()).count();
    // Five standard deviations of a binomial; the seed is fixed.
    assert!(failed.abs_diff(200) < 5 * 14, "{failed}");
}

#[test]
fn a_rate_spaces_what_comes_at_once() {
    let disk = disk_of("0us", "rate(1000) | zero");
    let waits: Vec<_> = (0..10).map(|index| reading(&disk, index * 512, 512)).collect();
    for each in waits {
        each.recv().expect("it is answered").expect("it is read");
    }
    let asked = disk.look().expect("it serves").asked[0].clone();
    // The tenth waits for nine, less what passed between the first and it.
    assert!(asked.max_ns <= 9_000_000 && asked.max_ns > 4_000_000, "{}", asked.max_ns);
}

#[test]
fn a_cache_answers_what_went_by_and_forgets_the_oldest() {
    let disk = disk_of("3ms", "cache(8k, 1ms) | zero");
    let took = |offset: u64| {
        let before = disk.look().expect("it serves").asked[0].sum_ns;
        read(&disk, offset, 4096).expect("it is read");
        (disk.look().expect("it serves").asked[0].sum_ns - before) / 1_000_000
    };
    write(&disk, 0, &[1; 4096]).expect("it is written");
    assert_eq!([took(0), took(4096), took(4096), took(8192)], [1, 3, 1, 3]);
    // Two have room: 4096 and 8192.
    assert_eq!([took(0), took(4096)], [3, 3]);
    // Each write is the drive's, of what is there, too.
    write(&disk, 0, &[2; 4096]).expect("it is written");
    assert_eq!(read(&disk, 0, 4096), Ok(vec![2; 4096]));
    let writes = &disk.look().expect("it serves").asked[1];
    assert_eq!((writes.count, writes.min_ns, writes.max_ns), (2, 3_000_000, 3_000_000));
}

#[test]
fn what_is_lost_is_never_answered_until_the_end() {
    let server = serve(&zero("0us"), memory(), "lose(write) | zero");
    let disk = server.disk();
    let told = asking(|reply| disk.write(0, &[1; 512], false, reply));
    read(&disk, 0, 512).expect("it is read");
    assert!(told.try_recv().is_err());
    assert_eq!(disk.look().expect("it serves").lost, 1);
    server.end().expect("no layer lost anything");
    assert_eq!(told.recv(), Ok(Err(EIO)));
}

#[test]
fn a_worn_drive_is_read_and_no_longer_written() {
    let disk = disk_of("0us", "read_only(1k) | zero");
    assert_eq!([write(&disk, 0, &[1; 512]), write(&disk, 0, &[2; 512])], [Ok(()), Ok(())]);
    assert_eq!(write(&disk, 0, &[3; 512]), EROFS);
    assert_eq!(read(&disk, 0, 512), Ok(vec![2; 512]));
    // One that is too long is its end for short ones, and for whatever else changes data.
    let disk = disk_of("0us", "read_only(1k) | zero");
    assert_eq!([write(&disk, 0, &[1; 512]), write(&disk, 0, &[2; 1024])], [Ok(()), EROFS]);
    assert_eq!([write(&disk, 0, &[3; 512]), write(&disk, 0, &[4; 1])], [EROFS, EROFS]);
    assert_eq!(done(|reply| disk.trim(0, 512, false, reply)), EROFS);
    assert_eq!(done(|reply| disk.write_zeros(0, 512, true, reply)), EROFS);
    assert_eq!((read(&disk, 0, 512), flush(&disk)), (Ok(vec![1; 512]), Ok(())));
}

#[test]
fn a_stall_holds_what_comes_until_its_end() {
    // Of each tenth of a second, a thousandth is let through.
    let disk = disk_of("0us", "stall(99ms, 100ms) | zero");
    let start = std::time::Instant::now();
    let mut ios = 0;
    while start.elapsed().as_millis() < 350 {
        read(&disk, 0, 512).expect("it is read");
        std::thread::sleep(std::time::Duration::from_millis(2));
        ios += 1;
    }
    // Three were held to the end of their tenth at least, and no more than one or two went by at each.
    let asked = disk.look().expect("it serves").asked[0].clone();
    assert!(
        asked.max_ns <= 99_000_000 && asked.max_ns > 0 && (1..10).contains(&ios),
        "{} {ios}",
        asked.max_ns
    );
}

#[test]
fn a_log_is_a_trace_of_what_was_asked() {
    let folder = folder!("served-log");
    let path = folder.join("disk.log");
    let typed = format!("log({}) | zero", path.display());
    let server = serve(&zero("0us"), memory(), &typed);
    let disk = server.disk();
    write(&disk, 4096, &[1; 8192]).expect("it is written");
    flush(&disk).expect("it is flushed");
    read(&disk, 0, 512).expect("it is read");
    server.end().expect("it is written to its end");
    let file = Box::new(std::io::BufReader::new(std::fs::File::open(&path).expect("it is there")));
    let trace = iostack_workload::trace::open(file, iostack_workload::TraceFormat::FioIolog, "disk.log");
    let ios: Vec<_> =
        trace.map(|io| io.expect("it is a trace")).map(|io| (io.offset, io.length, io.flush)).collect();
    assert_eq!(ios, [(4096, 8192, false), (0, 0, true), (0, 512, false)]);
    // It is somebody's now.
    assert!(refused(&typed).contains("File exists"));
}
