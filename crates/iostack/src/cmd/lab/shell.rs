//! `iostack lab shell DEVICE`: look at the guest yourself.

use iostack_lab::guest::Work;
use iostack_lab::host::machine::Accelerator;
use iostack_lab::outside;
use iostack_lab::targets::LabFlags;
use iostack_lab::{Lab, Request};
use iostack_serve::lab::BROUGHT;

use crate::exit::Ended;
use crate::talk::Talk;

/// Arguments of `iostack lab shell`.
#[derive(clap::Args)]
pub(crate) struct ShellArgs {
    /// The device (`iostack lab list`), or the folder of a driver.
    device: String,
    /// Option of the device's driver, such as copy=0; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    lab: LabFlags,
}

/// Boots with the terminal as the guest's console.
pub(crate) fn run(args: &ShellArgs) -> anyhow::Result<Ended> {
    let talk = Talk::new(false);
    let say = |text: &str| talk.say(text);
    let request = args.lab.request(&args.device, &args.set, BROUGHT)?;
    let processors = if request.is_simulated() { 1 } else { 2 };
    let request = Request { accelerator: Accelerator::Emulated, processors, ..request };
    let lab = Lab::open(&say, iostack_host::signals::stop_flag())?;
    outside::boot(&lab, &request, Work::Shell, &mut |_| {})?;
    Ok(Ended::Done)
}
