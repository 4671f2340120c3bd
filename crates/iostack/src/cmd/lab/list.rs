//! `iostack lab list`: the devices of the lab.

use iostack_lab::devices::DEVICES;
use iostack_lab::host::filesystem::FILE_SYSTEMS;

use crate::exit::Ended;
use crate::talk::{data, paragraph};

/// Arguments of `iostack lab list`.
#[derive(clap::Args)]
pub(crate) struct ListArgs {}

pub(crate) fn run(_: &ListArgs) -> Ended {
    let mut out = String::new();
    for device in &DEVICES {
        let own = if device.own { " (our driver)" } else { "" };
        let text = format!("{}{own}", device.about);
        out += &paragraph(&format!("{:<12} ", device.name), &text, 13);
    }
    let names: Vec<&str> = FILE_SYSTEMS.iter().map(|one| one.name).collect();
    out.extend(["\nFile systems (--file-system): ", &names.join(", "), "\n"]);
    out += "Schedulers (--scheduler): none, mq-deadline, kyber, bfq\n";
    out += "A driver of your own: its folder, such as ./mydriver, in place of a device\n";
    out += "\nNext: iostack lab cost null_blk\n";
    data(&out);
    Ended::Done
}
