//! What power cuts do to what is under way, and to the end of a disk.

use iostack_model::Bytes;
use iostack_serve::Store;

use crate::{MIB, memory, read, serve, zero};

#[test]
fn what_is_under_way_at_a_cut_fails_and_the_drive_goes_on() {
    let server = serve(&zero("200ms"), memory().volatile(), "delay(1ms, read) | zero");
    let disk = server.disk();
    let waits: Vec<_> = (0..32).map(|index| crate::reading(&disk, index * 4096, 4096)).collect();
    // Some are at the drive by then, whatever the machine does; the pieces of those come back later, to nobody.
    std::thread::sleep(std::time::Duration::from_millis(20));
    disk.cut(1).expect("the store is brought back");
    disk.power_on();
    for each in waits {
        assert!(each.recv().expect("it is answered").is_err());
    }
    for index in 0..4 {
        assert_eq!(read(&disk, index * 4096, 4096), Ok(vec![0; 4096]));
    }
    let seen = disk.look().expect("it serves");
    assert_eq!((seen.ios[0], seen.failed, seen.asked[0].min_ns), (4, 32, 201_000_000));
}

#[test]
fn the_last_block_of_a_store_may_be_a_part_of_one() {
    let store = Store::memory(Bytes(16 * MIB)).expect("there is memory").volatile();
    let end = 16 * MIB;
    store.write(end - 512, &[1; 512], false).expect("it is written");
    for seed in 0..8 {
        store.cut(seed).expect("the store is brought back");
        let mut last = [9; 512];
        store.read(end - 512, &mut last).expect("it is as long as it was");
    }
}
