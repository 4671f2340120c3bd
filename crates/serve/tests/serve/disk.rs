//! Times and data.

use std::time::Instant;

use iostack_model::{BlockSizes, Bytes, Job, Nanos};
use iostack_serve::{Errno, Server, Store};
use iostack_sim::run::{RunOptions, run};
use iostack_sim::sheet::Sheet;

use crate::{asking, disk_of, done, flush, memory, read, reading, serve, write, zero};

fn drive(name: &str) -> (Sheet, Server) {
    let sheet = Sheet::load(name, &[]).expect("built in");
    let world = iostack_serve::Drive::open(&sheet, 1).expect("a drive");
    let store = Store::memory(world.shape().capacity).expect("there is memory");
    let server = serve(&sheet, store, name);
    (sheet, server)
}

#[test]
fn an_answer_comes_when_the_model_says_and_never_before() {
    let server = serve(&zero("2ms"), memory(), "zero");
    let disk = server.disk();
    for _ in 0..10 {
        let start = Instant::now();
        read(&disk, 4096, 4096).expect("it is read");
        assert!(start.elapsed().as_micros() >= 2000);
    }
    let seen = disk.look().expect("it serves");
    assert_eq!((seen.ios, seen.bytes), ([10, 0, 0, 0], [40960, 0, 0, 0]));
    assert_eq!((seen.asked[0].min_ns, seen.asked[0].max_ns), (2_000_000, 2_000_000));
    assert_eq!((seen.late.count, seen.failed, seen.lost), (10, 0, 0));
    server.end().expect("no layer lost anything");
}

#[test]
fn what_a_served_drive_asks_is_what_a_run_of_it_finds() {
    // Reads one at a time; the offsets do not matter to it, but what the drive does between them does: nothing here.
    let (sheet, server) = drive("x25e");
    let disk = server.disk();
    for index in 0..100 {
        read(&disk, index * 1_048_576, 4096).expect("it is read");
    }
    let seen = disk.look().expect("it serves");
    let job = Job { block_sizes: BlockSizes::all(Bytes::kib(4)), io_count: Some(100), ..Job::default() };
    let outcomes = run(&sheet, &[job], &RunOptions::seeded(1)).expect("it runs").outcomes;
    let latency = &outcomes[0].read.latency;
    assert!(latency.min_ns > 50_000, "it is a drive of flash");
    assert_eq!((seen.asked[0].min_ns, seen.asked[0].count), (latency.min_ns, latency.count));
}

#[test]
fn requests_in_flight_together_take_the_time_of_one() {
    let disk = disk_of("5ms", "zero");
    let all: Vec<_> = (0..64).map(|index| reading(&disk, index * 4096, 4096)).collect();
    for each in all {
        each.recv().expect("it is answered").expect("it is read");
    }
    let seen = disk.look().expect("it serves");
    assert_eq!(seen.asked[0].max_ns, 5_000_000);
}

#[test]
fn what_leaves_earlier_for_its_route_is_the_same_to_the_model() {
    let disk = disk_of("1ms", "zero");
    disk.set_lead(300_000);
    let start = Instant::now();
    read(&disk, 0, 4096).expect("it is read");
    assert!(start.elapsed().as_micros() >= 700);
    for _ in 0..5 {
        read(&disk, 0, 4096).expect("it is read");
    }
    let asked = disk.look().expect("it serves").asked[0].clone();
    assert_eq!((asked.min_ns, asked.max_ns), (1_000_000, 1_000_000));
}

#[test]
fn what_was_written_is_read_and_what_was_trimmed_is_zeros() {
    let disk = disk_of("0us", "zero");
    let data: Vec<u8> = (0..8192_u32).map(|index| index as u8 | 1).collect();
    write(&disk, 4096, &data).expect("it is written");
    flush(&disk).expect("it is flushed");
    assert_eq!(read(&disk, 4096, 8192).as_ref(), Ok(&data));
    done(|reply| disk.trim(4096, 4096, false, reply)).expect("it is trimmed");
    assert_eq!(read(&disk, 4096, 4096), Ok(vec![0; 4096]));
    assert_eq!(read(&disk, 8192, 4096).as_deref(), Ok(&data[4096..]));
    done(|reply| disk.write_zeros(8192, 4096, true, reply)).expect("it is written");
    assert_eq!(read(&disk, 8192, 4096), Ok(vec![0; 4096]));
    let seen = disk.look().expect("it serves");
    assert_eq!(seen.ios, [4, 2, 1, 1]);
}

#[test]
fn a_request_beyond_the_end_fails_and_one_to_the_end_does_not() {
    let disk = disk_of("0us", "zero");
    let end = disk.capacity();
    assert_eq!(read(&disk, end - 512, 512), Ok(vec![0; 512]));
    for (offset, length) in [(end - 512, 1024), (end, 512), (u64::MAX, 512), (u64::MAX - 511, 512)] {
        assert_eq!(read(&disk, offset, length), Err(Errno(libc::EINVAL)), "{offset}");
        assert_eq!(write(&disk, offset, &vec![1; length]), Err(Errno(libc::EINVAL)), "{offset}");
    }
    // A trim of all of a drive is more than one piece of the simulation.
    let (_, server) = drive("cmu-b");
    let disk = server.disk();
    done(|reply| disk.trim(0, disk.capacity(), false, reply)).expect("it is trimmed");
    assert_eq!(disk.look().expect("it serves").ios, [0, 0, 1, 0]);
}

#[test]
fn who_asks_a_server_that_has_ended_is_told() {
    let server = serve(&zero("10s"), memory(), "zero");
    let disk = server.disk();
    let waits = reading(&disk, 0, 4096);
    server.end().expect("no layer lost anything");
    assert_eq!(waits.recv().expect("it is answered"), Err(Errno(libc::EIO)));
    assert_eq!(read(&disk, 0, 4096), Err(Errno(libc::ESHUTDOWN)));
    assert!(disk.look().is_none());
}

#[test]
fn flash_management_goes_on_as_in_a_run() {
    let (_, server) = drive("cmu-b");
    let disk = server.disk();
    let write = |index| asking(|reply| disk.write(index * 131_072, &[1; 4096], false, reply));
    let waits: Vec<_> = (0..256_u64).map(write).collect();
    for each in waits {
        each.recv().expect("it is answered").expect("it is written");
    }
    let seen = disk.look().expect("it serves");
    assert_eq!(seen.flash[0].bytes_host, Bytes(256 * 4096));
    assert!(seen.resources.iter().any(|each| each.name == "die" && each.visits > 0));
    assert!(seen.asked[1].max_ns > Nanos::micros(1).0);
}
