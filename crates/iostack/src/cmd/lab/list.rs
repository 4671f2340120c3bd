//! `iostack lab list`: the devices of the lab.

use iostack_lab::devices;
use iostack_lab::host::filesystem;

use crate::exit::Ended;
use crate::talk::{data, paragraph};

/// Arguments of `iostack lab list`.
#[derive(clap::Args)]
pub(crate) struct ListArgs {}

pub(crate) fn run(_: &ListArgs) -> Ended {
    let mut out = String::new();
    for device in devices::all() {
        let own = if device.own { " (our driver)" } else { "" };
        let text = format!("{}{own}", device.about);
        out += &paragraph(&format!("{:<12} ", device.name), &text, 13);
    }
    let names: Vec<&str> = filesystem::all().iter().map(|one| one.name.as_str()).collect();
    out.extend(["\nFile systems (--file-system): ", &names.join(", "), "\n"]);
    out += "Schedulers (--scheduler): none, mq-deadline, kyber, bfq\n";
    out += "A driver of your own: its folder, such as ./mydriver, in place of a device\n";
    out += "\nNext: iostack lab cost null_blk\n";
    data(&out);
    Ended::Done
}
