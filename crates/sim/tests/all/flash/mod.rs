//! Does an SSD answer as its parts say it must, and does it lose nothing?

use iostack_sim::devices;
use iostack_sim::engine::{Kind, World};
use iostack_sim::sheet::Sheet;

use crate::load::{Ask, by_chance, world_of};

mod closed_forms;
mod heat;
mod mapping;
mod slc;
mod tails;
mod writing;
mod zones;

const CAPACITY: u64 = 64 << 20;

/// A small drive without link, firmware and buffer: 2 channels of 2 dies.
const PLAIN: &[(&str, &str)] = &[
    ("flash.capacity", "64MiB"),
    ("flash.over_provisioning", "30%"),
    ("flash.channels", "2"),
    ("flash.chips", "2"),
    ("flash.pages_per_block", "32"),
    ("flash.read", "25us"),
    ("flash.program", "200us"),
    ("flash.erase", "1500us"),
    ("channel.rate", "409.6MB/s"),
];

/// `PLAIN` with changes, without stamps.
fn world(changes: &[(&str, &str)]) -> World {
    world_of(&Sheet::from_values("flash", &[PLAIN, changes].concat()).expect("a kind"), World::new())
}

/// Random pages of 4 KiB.
fn random(kind: Kind, capacity: u64) -> impl FnMut(u64) -> Ask {
    by_chance(7, move |rng| (kind, rng.below(capacity / 4096) * 4096, 4096))
}

/// Reason for which a drive with these changes cannot be.
fn refusal(changes: &[(&str, &str)]) -> String {
    let sheet = Sheet::from_values("flash", &[PLAIN, changes].concat()).expect("a kind");
    let refused = devices::build(&sheet, &mut World::new(), 1).err();
    refused.expect("it cannot be").to_string()
}
