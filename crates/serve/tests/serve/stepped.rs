//! Under a clock that is told, nothing happens before its time and everything at it.

use std::io::Write as _;
use std::sync::mpsc::channel;

use iostack_serve::{Drive, Stepped};

use iostack_testkit::folder;

use crate::{asking, memory, reading, zero};

fn stepped(typed: &str) -> Stepped {
    let stack = iostack_serve::layers::parse(typed).expect("layers");
    Stepped::new(Drive::open(&zero("80us"), 1).expect("a sheet"), memory(), stack.layers)
}

#[test]
fn it_answers_when_the_clock_is_told_to_be_there_and_not_before() {
    let mut drive = stepped("x");
    drive.set(1_000);
    let told = asking(|reply| drive.disk().write(4096, &[7; 512], false, reply));
    assert_eq!(drive.pass(), Some(81_000));
    drive.set(80_999);
    assert_eq!((drive.pass(), told.try_recv().is_err()), (Some(81_000), true));
    drive.set(81_000);
    assert_eq!((drive.pass(), told.try_recv()), (None, Ok(Ok(()))));
    let seen = drive.seen();
    assert_eq!((seen.ios, seen.asked[1].max_ns, seen.late.count), ([0, 1, 0, 0], 80_000, 0));
    drive.begin();
    assert_eq!(drive.seen().ios, [0; 4]);
}

#[test]
fn layers_go_by_its_clock_too() {
    let mut drive = stepped("delay(1ms) | x");
    let ((tell, told), at) = (channel(), drive.answered());
    drive.set(5);
    drive.disk().flush(Box::new(move |answer| tell.send((answer, at())).expect("it waits")));
    assert_eq!(drive.pass(), Some(1_000_005));
    drive.set(2_000_000);
    drive.pass();
    // However late it is told, the model answered then; how late it was heard of says who told it.
    assert_eq!(told.try_recv(), Ok((Ok(()), 1_080_005)));
    drive.heard(2_000_000 - 1_080_005);
    assert_eq!((drive.seen().late.max_ns, drive.seen().late.count), (919_995, 1));
}

#[test]
fn what_a_file_holds_is_there_before_its_clock_begins() {
    let folder = folder!("stepped-hold");
    let mut file = std::fs::File::create_new(folder.join("image")).expect("a new file");
    file.write_all(&[9; 5000]).expect("it is written");
    file.set_len(16 << 20).expect("it grows");
    let file = std::fs::File::open(folder.join("image")).expect("it is there");
    let mut drive = stepped("x");
    drive.hold(&file).expect("it is taken");
    drive.set(0);
    let told = reading(drive.disk(), 4096, 1024);
    assert_eq!(drive.pass(), Some(80_000));
    drive.set(80_000);
    drive.pass();
    let read = told.try_recv().expect("it is through").expect("it is read");
    assert_eq!((&read[..904], &read[904..]), (&[9; 904][..], &[0; 120][..]));
    assert_eq!(drive.seen().ios, [1, 0, 0, 0]);
}

#[test]
fn what_is_busy_is_so_for_a_share_of_the_time_since_it_began() {
    let sheet = iostack_sim::sheet::Sheet::load("x25e", &[]).expect("a drive");
    let drive = Drive::open(&sheet, 1).expect("a sheet");
    let store = iostack_serve::Store::memory(drive.shape().capacity).expect("memory");
    let mut drive = Stepped::new(drive, store, Vec::new());
    drive.set(2_000_000_000);
    drive.pass();
    drive.begin();
    drive.disk().read(0, vec![0; 4096], |answer| assert!(answer.is_ok()));
    drive.pass();
    drive.until(2_001_000_000);
    let busy = drive.seen().resources.into_iter().find(|each| each.name == "link").expect("it has a link");
    assert_eq!(busy.visits, 1);
    let share = busy.service_ns / 1_000_000.0;
    assert!((busy.busy / share - 1.0).abs() < 1e-6, "{} of a millisecond, {share} used", busy.busy);
}
