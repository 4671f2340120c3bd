//! `iostack lab exec --with PACKAGES --on sim:DEVICE -- COMMAND`: real programs on a simulated drive.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::ensure;
use iostack_lab::exec::{self, CrashPlan, Cuts, Listener, Program, ProgramEnd, ProgramRun, Which};
use iostack_lab::host::cache::Cache;
use iostack_lab::host::programs;
use iostack_lab::targets::LabFlags;
use iostack_lab::{Lab, Raid, Request};
use iostack_model::answers::{CrashPoints, Seen, Served};
use iostack_model::{Bytes, Nanos};
use iostack_serve::lab::BROUGHT;
use iostack_target::Audience;

use super::with_processors;
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
    /// Bring the files of `IOSTACK_RESULTS` back into this folder, which is new
    /// or empty.
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
    /// Cut the power so long after the program began, 500ms, or by chance
    /// between two such times, 500ms..2s. The machine boots anew; of what was
    /// not flushed, chance decides what is there.
    #[arg(long, value_name = "TIME")]
    power_cut: Option<CutSpan>,
    /// So many power cuts, the program started anew after each.
    #[arg(long, value_name = "COUNT", default_value_t = 1, requires = "power_cut", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cuts: u32,
    /// For a shell, after each power cut: exit 0 when all is there that must be.
    /// What the program had written to its output is in the file
    /// `IOSTACK_SAID`, the number of cuts in `IOSTACK_CUTS`.
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,
    /// Record what the program writes, and then check so many of the disks that
    /// a power cut could have left, or all: at each moment at which something
    /// becomes safe, any of the writes that are not safe may be lost. The first
    /// that fails is shown with the fewest lost writes.
    #[arg(long, value_name = "COUNT", conflicts_with = "power_cut")]
    crash_points: Option<CrashCount>,
    /// Check this one again, which an earlier run of the same command named.
    #[arg(long, value_name = "POINT", conflicts_with_all = ["power_cut", "crash_points"])]
    crash_point: Option<String>,
    /// Seconds of the machine's own time that the check of a crash point takes
    /// at most.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    check_limit: u64,
    /// The machine's processors. Several take turns, an instruction of any is
    /// a nanosecond, and a run mostly says the same again; QEMU 10 is fetched
    /// for it where there is an older one.
    #[arg(long, visible_alias = "cpus", value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    processors: u32,
    /// Change a number of the simulated drive, or an option of the driver; may
    /// be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Reproduces whatever chance does in the drive, and when power is cut.
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
    args.answer.refuse("lab exec", None)?;
    ensure!(
        !args.command.is_empty(),
        "nothing is to run; write the command behind `--`, such as -- sh -c 'ls -l {{}}'"
    );
    let talk = args.answer.talk();
    let request = Request {
        // It runs programs even when none is fetched: those of busybox.
        programs: if args.with.is_empty() { vec![SHELL.to_owned()] } else { args.with.clone() },
        files: args.copy.clone(),
        ..args.lab.request(&args.on, &args.set, BROUGHT)?
    };
    let request = with_processors(request, args.processors, &args.lab)?;
    programs::check(&request.programs)?;
    ensure!(
        request.is_simulated() || !args.answer.is_wanted(),
        "what a program asks is told of simulated drives alone; leave out --json and the like, or name one: --on sim:x25e"
    );
    for file in &args.copy {
        ensure!(file.is_file(), "`--copy {}` is no file", file.display());
    }
    ensure!(
        args.power_cut.is_none() || request.is_simulated(),
        "`--power-cut` is of simulated drives; name one: --on sim:x25e"
    );
    ensure!(
        args.power_cut.is_none() || request.raid.is_none_or(|raid| raid.level == 0),
        "after a power cut the copies of a RAID may differ, and without a superblock nobody brings them in step; leave out \
         --raid or --power-cut"
    );
    args.check_points(&request)?;
    let say = |text: &str| talk.say(text);
    programs::find(&Cache::open()?, &request.programs, &say)?;
    let lab = Lab::open(&say, talk.stop())?;
    let apart = args.answer.forms.chosen() != Format::Text && args.answer.output.is_none();
    let nothing = blank(&request, args.seed, Bytes(0));
    let mut heard = ProgramOutput { talk: &talk, apart, nothing: nothing.clone(), before: nothing };
    let (ran, crash) = args.ran(&lab, &request, &mut heard)?;
    talk.clear();
    let failed = crash.as_ref().and_then(|crash| crash.failed.as_ref());
    let failed_point = failed.map(|failed| (failed.point.clone(), failed.code));
    if let Some(drive) = ran.drive {
        let mut served = blank(&request, args.seed, drive.capacity());
        (served.elapsed, served.cuts) = (ran.elapsed, ran.cuts);
        served.crash = crash;
        drive.seen().put_into(&mut served);
        served.notes.extend(drive.full().map(str::to_owned));
        args.answer.tell(&served, &talk)?;
        drive.end()?;
    } else {
        talk.say(&format!("it ran for {:.3} s by the machine's clock", ran.elapsed.as_secs_f64()));
    }
    Ok(args.ended(ran.ended, ran.failed, failed_point, &talk))
}

impl ExecArgs {
    /// Says what failed: the program, or a check after a power cut or of a crash point.
    fn ended(&self, ended: ProgramEnd, cut: Option<u32>, point: Option<(String, i32)>, talk: &Talk) -> Ended {
        let why = ended.why.map(|why| format!(": {why}")).unwrap_or_default();
        match (cut, point, ended.code) {
            (None, None, 0) => return Ended::Done,
            (Some(cut), _, code) => {
                talk.warn(&format!("after power cut {cut} the check ended with {code}{why}"));
            }
            (_, Some((point, code)), _) => {
                talk.warn(&format!("at crash point {point} the check ended with {code}"));
            }
            (_, _, code) => talk.warn(&format!("`{}` ended with {code}{why}", self.command[0])),
        }
        Ended::FoundProblem
    }

    /// The crash points that are asked for.
    fn which(&self) -> Option<Which> {
        let named = self.crash_point.clone().map(Which::Named);
        named.or(self.crash_points.map(|CrashCount(count)| count.map_or(Which::All, Which::Some)))
    }

    /// Refuses what crash points and checks cannot be had with.
    fn check_points(&self, request: &Request) -> anyhow::Result<()> {
        if self.which().is_none() {
            ensure!(
                self.check.is_none() || self.power_cut.is_some(),
                "`--check` is for a disk that lost its power; add --crash-points 1000, or --power-cut 1s"
            );
            return Ok(());
        }
        ensure!(
            self.check.is_some(),
            "only a check of yours can tell whether a disk holds what it must; add --check 'sh check.sh'"
        );
        ensure!(
            request.is_simulated(),
            "crash points are of simulated drives, which are recorded; name one: --on sim:x25e"
        );
        ensure!(
            request.raid.is_none(),
            "crash points are of drives without the kernel's RAID between; leave out --raid, or cut the power: --power-cut"
        );
        Ok(())
    }

    fn ran(
        &self,
        lab: &Lab<'_>,
        request: &Request,
        heard: &mut ProgramOutput<'_>,
    ) -> anyhow::Result<(ProgramRun, Option<CrashPoints>)> {
        let program = self.program();
        match (self.which(), self.check.clone()) {
            (Some(which), Some(check)) => {
                let plan = CrashPlan { check, which, limit_s: self.check_limit };
                exec::prove(lab, request, self.seed, (&program, &plan), heard)
            }
            _ => Ok((exec::execute(lab, request, self.seed, &program, heard)?, None)),
        }
    }

    fn program(&self) -> Program {
        Program {
            command: self.command.clone(),
            results: self.results.clone(),
            cuts: self.power_cut.map(|CutSpan(from, until)| Cuts {
                count: self.cuts,
                between: (from, until),
                check: self.check.clone(),
            }),
        }
    }
}

/// Answer of simulated drives that were asked nothing yet.
fn blank(request: &Request, seed: u64, capacity: Bytes) -> Served {
    let mut served = iostack_serve::untouched(&request.device, capacity, seed, iostack_host::machine());
    (served.route, served.place) = ("lab".to_owned(), "/dev/sim0".to_owned());
    if request.drives() > 1 {
        "/dev/sim0 and so on".clone_into(&mut served.place);
    }
    if let Some(Raid { level, .. }) = request.raid {
        served.place = format!("/dev/md0, RAID-{level} of {}", served.place);
    }
    let between = request.between().into_iter().map(|(flag, value)| format!("{flag} {value}"));
    served.notes.extend(between);
    served
}

/// A time, or from one to another.
#[derive(Clone, Copy, Debug)]
struct CutSpan(Nanos, Nanos);

impl FromStr for CutSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<CutSpan, String> {
        let (from, until) = text.split_once("..").unwrap_or((text, text));
        let read = |text: &str| text.parse::<Nanos>().map_err(|error| error.to_string());
        let span = CutSpan(read(from)?, read(until)?);
        if span.1 < span.0 { Err(format!("`{from}` is later than `{until}`")) } else { Ok(span) }
    }
}

/// A number of crash points; `None` of all.
#[derive(Clone, Copy, Debug)]
struct CrashCount(Option<u64>);

impl FromStr for CrashCount {
    type Err = String;

    fn from_str(text: &str) -> Result<CrashCount, String> {
        let count = text.parse().ok().filter(|count| *count > 0);
        match (text, count) {
            ("all", _) => Ok(CrashCount(None)),
            (_, Some(count)) => Ok(CrashCount(Some(count))),
            _ => Err(format!("`{text}` is no number of points; give one from 1 on, or all")),
        }
    }
}

/// Crash points between two words on how far it is, where no terminal shows it all the time.
const TELL_POINTS: u64 = 500;

/// Small programs in one package.
const SHELL: &str = "busybox-static";

/// Passes the program's output to ours.
struct ProgramOutput<'a> {
    talk: &'a Talk,
    /// Stdout is for the answer alone, which no person reads.
    apart: bool,
    /// Answers before anything was asked, and at the last look.
    nothing: Served,
    before: Served,
}

impl Listener for ProgramOutput<'_> {
    fn line(&mut self, text: &str, error: bool) {
        self.talk.clear();
        if error || self.apart {
            eprintln!("{text}");
        } else {
            data(&format!("{text}\n"));
        }
    }

    fn runs(&mut self, elapsed: Nanos, seen: Option<Seen>) {
        let Some(seen) = seen else {
            let seconds = elapsed.as_secs_f64();
            return self.talk.live(&format!("it runs since {seconds:.0} s of the machine's own time"));
        };
        let mut now = Served { elapsed, ..self.nothing.clone() };
        seen.put_into(&mut now);
        // It started anew.
        if now.elapsed < self.before.elapsed {
            self.before.clone_from(&self.nothing);
        }
        self.talk.block(&iostack_report::live_served(&self.before, &now));
        self.before = now;
    }

    fn points(&mut self, checked: u64, rest: Duration) {
        let text = format!("{checked} crash points checked; the others take {:.0} s", rest.as_secs_f64());
        if self.talk.is_live() {
            self.talk.live(&text);
        } else if checked.is_multiple_of(TELL_POINTS) {
            self.talk.say(&text);
        }
    }

    fn says(&mut self, text: &str) {
        self.talk.say(text);
    }
}
