//! `iostack lab up`: fetch and build everything beforehand.

use iostack_lab::{Lab, Request};

use crate::exit::Ended;
use crate::talk::{self, Talk};

/// Arguments of `iostack lab up`.
#[derive(clap::Args)]
pub(crate) struct UpArgs {
    /// Kernels: a series of the distribution's packages, or a folder.
    #[arg(long, value_name = "KERNEL", default_values = ["6.1"])]
    kernel: Vec<String>,
    /// No progress on stderr.
    #[arg(long)]
    quiet: bool,
}

/// Fetches and builds.
pub(crate) fn run(args: &UpArgs) -> anyhow::Result<Ended> {
    let talk = Talk::new(args.quiet);
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, iostack_host::signals::stop_flag())?;
    let mut lines = vec![format!("QEMU {} ready", lab.qemu.version)];
    for kernel in &args.kernel {
        let ready = lab.up(&Request { kernel: kernel.clone(), ..Request::default() })?;
        let drivers = if ready.headers.is_some() {
            "with our drivers"
        } else {
            "without headers, so without our drivers"
        };
        lines.push(format!("Linux {} ready, {drivers}", ready.release));
    }
    lines.push(format!("\nAll of it is in {}.", lab.cache.root().display()));
    lines.push("Next: iostack lab cost scsi_ram\n".to_owned());
    talk::data(&lines.join("\n"));
    Ok(Ended::Done)
}
