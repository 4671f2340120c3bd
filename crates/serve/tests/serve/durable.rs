//! What was flushed survives a power cut, block by block.

use iostack_model::Bytes;
use iostack_serve::{BLOCK, Server, Store};
use iostack_workload::Rng;

use crate::{MIB, done, flush, memory, read, serve, write, zero};

const BLOCKS: u64 = 64;
const CUTS: u64 = 200;

fn server() -> Server {
    serve(&zero("0us"), memory().volatile(), "zero")
}

/// A block's number in all of its words, so that a torn one shows.
fn content(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(BLOCK as usize / 8)
}

fn number_of(block: &[u8]) -> u64 {
    let words: Vec<u64> = block.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    assert!(words.iter().all(|word| *word == words[0]), "a block is torn: {words:?}");
    words[0]
}

#[test]
fn after_each_of_200_power_cuts_all_that_was_flushed_is_there_and_no_block_is_torn() {
    let server = server();
    let disk = server.disk();
    let mut random = Rng::from_seed(7);
    // Of each block: what it must be at least, and all that it may be.
    let mut may = vec![vec![0_u64]; BLOCKS as usize];
    let (mut number, mut kept, mut lost) = (0, 0, 0);
    for cut in 0..CUTS {
        for _ in 0..random.below(60) {
            let block = random.below(BLOCKS);
            number += 1;
            match random.below(10) {
                0 => {
                    flush(&disk).expect("it is flushed");
                    for may in &mut may {
                        may.drain(..may.len() - 1);
                    }
                }
                1 => {
                    let through = |reply| disk.write(block * BLOCK, &content(number), true, reply);
                    done(through).expect("it is written");
                    may[block as usize] = vec![number];
                }
                2 => {
                    done(|reply| disk.trim(block * BLOCK, BLOCK, false, reply)).expect("it is trimmed");
                    may[block as usize].push(0);
                }
                3 if block + 1 < BLOCKS => {
                    let both = [content(number), content(number)].concat();
                    write(&disk, block * BLOCK, &both).expect("it is written");
                    may[block as usize].push(number);
                    may[block as usize + 1].push(number);
                }
                _ => {
                    write(&disk, block * BLOCK, &content(number)).expect("it is written");
                    may[block as usize].push(number);
                }
            }
        }
        let told = disk.cut(cut).expect("the store is brought back");
        assert!(read(&disk, 0, 512).is_err() && flush(&disk).is_err(), "there is no power");
        disk.power_on();
        (kept, lost) = (kept + told.kept, lost + told.lost);
        for (block, may) in may.iter_mut().enumerate() {
            let there = number_of(&read(&disk, block as u64 * BLOCK, BLOCK as usize).expect("it is read"));
            assert!(may.contains(&there), "cut {cut}, block {block}: {there} is none of {may:?}");
            *may = vec![there];
        }
    }
    assert_eq!(disk.look().expect("it serves").failed, 0, "what fails without power is not the drive's");
    assert!(kept > CUTS && lost > CUTS, "cuts that lose nothing try nothing: {kept} kept, {lost} lost");
}

#[test]
fn a_part_of_a_block_is_safe_when_all_of_it_is() {
    let server = server();
    let disk = server.disk();
    write(&disk, 0, &[1; 512]).expect("it is written");
    // Through to the medium, but only the second half of a block whose first half is not.
    done(|reply| disk.write(2048, &[2; 2048], true, reply)).expect("it is written");
    flush(&disk).expect("it is flushed");
    write(&disk, 512, &[3; 512]).expect("it is written");
    let cut = disk.cut(1).expect("the store is brought back");
    disk.power_on();
    assert_eq!(cut.kept + cut.lost, 1);
    let block = read(&disk, 0, 4096).expect("it is read");
    assert_eq!((&block[..512], &block[2048..]), (&[1; 512][..], &[2; 2048][..]));
    assert!(block[512..1024] == [0; 512] || block[512..1024] == [3; 512]);
}

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
