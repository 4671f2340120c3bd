//! `iostack lab exec --with PACKAGES --on sim:DEVICE -- COMMAND`: real programs on a simulated drive.

use std::path::PathBuf;

use anyhow::ensure;
use iostack_lab::host::programs;
use iostack_lab::{Lab, Request};
use iostack_model::Nanos;
use iostack_targets::exec::{self, Listener};
use iostack_targets::lab::LabFlags;
use iostack_targets::{Audience, outside};

use crate::exit::Ended;
use crate::talk::{Talk, data};
use crate::written::{AnswerArgs, Format};

/// Arguments of `iostack lab exec`.
#[derive(clap::Args)]
pub(crate) struct ExecArgs {
    /// The device: a simulated drive (sim:x25e) or one of `iostack lab list`.
    #[arg(long, value_name = "DEVICE")]
    on: String,
    /// Packages whose programs the machine has, with all they need, such as
    /// sqlite3,fio: fetched as the kernel is, and installed nowhere.
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    with: Vec<String>,
    /// A file of yours for the machine, where the command starts; may be
    /// repeated.
    #[arg(long, value_name = "FILE")]
    copy: Vec<PathBuf>,
    /// Change a number of the simulated drive, or an option of the driver; may
    /// be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Reproduces whatever chance does in the drive.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    lab: LabFlags,
    #[command(flatten)]
    answer: AnswerArgs,
    /// The program and its arguments, with the disk's path (with --file-system:
    /// the folder where it is mounted) in place of {} and in `IOSTACK_DISK`.
    /// What it leaves running ends with it.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Boots, runs the command, tells what it asked of the drive. Exit 1 when it failed.
pub(crate) fn run(args: &ExecArgs) -> anyhow::Result<Ended> {
    args.answer.refuse("lab exec")?;
    ensure!(
        !args.command.is_empty(),
        "nothing is to run; write the command behind `--`, such as -- sh -c 'ls -l {{}}'"
    );
    let talk = args.answer.talk();
    let request = Request {
        // It runs programs even when none is fetched: those of busybox.
        programs: if args.with.is_empty() { vec![SHELL.to_owned()] } else { args.with.clone() },
        files: args.copy.clone(),
        ..args.lab.request(&args.on, &args.set)?
    };
    programs::check(&request.programs)?;
    ensure!(
        outside::sheet(&request)?.is_some() || !args.answer.is_wanted(),
        "what a program asks is told of simulated drives alone; leave out --json and the like, or name one: --on sim:x25e"
    );
    for file in &args.copy {
        ensure!(file.is_file(), "`--copy {}` is no file", file.display());
    }
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, talk.stop())?;
    let apart = args.answer.forms.chosen() != Format::Text && args.answer.output.is_none();
    let mut heard = Heard { talk: &talk, apart };
    let (ended, drive) = exec::execute(&lab, &request, args.seed, &args.command, &mut heard)?;
    talk.clear();
    if let Some(drive) = drive {
        let mut served =
            iostack_serve::untouched(&request.device, drive.capacity(), args.seed, iostack_host::machine());
        (served.elapsed, served.route, served.place) =
            (ended.elapsed, "lab".to_owned(), "/dev/sim0".to_owned());
        drive.seen().put_into(&mut served);
        args.answer.tell(&served, &talk)?;
    } else {
        talk.say(&format!("it ran for {:.3} s by the machine's clock", ended.elapsed.0 as f64 / 1e9));
    }
    match ended.code {
        0 => Ok(Ended::Done),
        code => {
            talk.warn(&format!("`{}` ended with {code}", args.command[0]));
            Ok(Ended::FoundProblem)
        }
    }
}

/// Small programs in one package.
const SHELL: &str = "busybox-static";

/// What the program writes goes where ours does.
struct Heard<'a> {
    talk: &'a Talk,
    /// Stdout is for the answer alone, which no person reads.
    apart: bool,
}

impl Listener for Heard<'_> {
    fn line(&mut self, text: &str, error: bool) {
        self.talk.clear();
        if error || self.apart {
            eprintln!("{text}");
        } else {
            data(&format!("{text}\n"));
        }
    }

    fn runs(&mut self, elapsed: Nanos) {
        self.talk.live(&format!("it runs since {:.0} s of the machine's own time", elapsed.0 as f64 / 1e9));
    }

    fn says(&mut self, text: &str) {
        self.talk.say(text);
    }
}
