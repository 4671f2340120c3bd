//! `iostack lab test DEVICE`: does the driver keep what it is given, also when things go wrong?
//!
//!   devices x kernels x processors ──► cases (matrix.rs) ──► a boot each ──► findings ──► table, TAP, `JUnit` (ci.rs)

use std::path::PathBuf;

use anyhow::{bail, ensure};
use iostack_host::save::{self, Output};
use iostack_lab::host::machine::Accelerator;
use iostack_lab::{Lab, Request};
use iostack_model::answers::labelled_each;

use super::ci;
use super::matrix::{self, Given};
use super::trial::{TestArgs, Tried, Verdict, summary};
use crate::exit::Ended;
use crate::talk::{self, Talk, paragraph};
use crate::written;

/// Boots for each case and does its trials one after the other. Exit 1 when something is wrong.
pub(crate) fn run(args: &TestArgs) -> anyhow::Result<Ended> {
    check(args)?;
    let tap = Output::new("--tap", args.tap.as_ref());
    save::refuse(tap.into_iter().chain(Output::new("--junit", args.junit.as_ref())))?;
    let mut cases = matrix::cases(args)?;
    let talk = Talk::new(args.quiet);
    let say = |text: &str| talk.say(text);
    let lab = Lab::open(&say, iostack_host::signals::stop_flag())?;
    let tried = if let [only] = &mut cases[..] {
        only.alone()?;
        let mut given = Given::default();
        only.run(args, &lab, &talk, &mut given)?;
        let tried = only.tried(args, given, None);
        write(args, &only.request, &tried)?;
        tried
    } else {
        let tried = matrix::each(args, &mut cases, &lab, &talk);
        if args.json {
            talk::data(&written::json(&labelled_each(&tried))?);
        } else {
            talk::data(&matrix::table(&tried));
        }
        tried
    };
    let file = |path: &Option<PathBuf>, text: String, what: &str| {
        path.as_ref().map_or(Ok(()), |path| written::beside(what, path, text.as_bytes(), &talk))
    };
    file(&args.tap, ci::tap(&tried), "TAP").and(file(&args.junit, ci::junit(&tried), "JUnit"))?;
    if let Some(first) = tried.first().filter(|_| tried.iter().all(|one| one.verdict() == Verdict::Skipped)) {
        let why = first.findings.not_tried.as_deref().unwrap_or_default();
        bail!("nothing could be tried on {}: {why}", args.device.join(", "));
    }
    let failed = tried.iter().any(|one| one.verdict() == Verdict::Failed);
    Ok(if failed { Ended::FoundProblem } else { Ended::Done })
}

/// Refuses numbers that cannot be had.
fn check(args: &TestArgs) -> anyhow::Result<()> {
    ensure!((1..=64).contains(&args.threads), "`--threads {}` cannot be had; choose 1 to 64", args.threads);
    for processors in &args.processors {
        ensure!((1..=64).contains(processors), "`--processors {processors}`: choose 1 to 64");
    }
    ensure!(args.cycles > 0, "`--cycles 0` tries nothing; choose 1 or more");
    ensure!(args.bytes.0 >= 1 << 20, "`--bytes {}` is little; choose 1m or more", args.bytes);
    if args.lab.file_system.is_some() {
        bail!("lab test writes to the device itself; leave out --file-system");
    }
    Ok(())
}

fn write(args: &TestArgs, request: &Request, tried: &[Tried]) -> anyhow::Result<()> {
    if args.json {
        talk::data(&written::json(&labelled_each(tried))?);
        return Ok(());
    }
    let how = if request.accelerator == Accelerator::Kvm { "" } else { "emulated " };
    let release = tried.first().map_or("", |one| &one.kernel);
    let mut out = paragraph(
        &format!("{} ", request.device),
        &format!("on Linux {release}, {} {how}processors, seed {}", request.processors, args.seed),
        0,
    );
    for one in tried {
        let verdict = match one.verdict() {
            Verdict::Skipped => "-    ",
            Verdict::Passed => "ok   ",
            Verdict::Failed => "WRONG",
        };
        let first = format!("{verdict} {:<11}", one.trial.word());
        out += &paragraph(&first, &summary(one), 17);
        for text in &one.findings.wrong {
            out += &paragraph("        wrong: ", text, 10);
        }
        for text in &one.findings.complaints {
            out += &paragraph("        the kernel's log: ", text, 10);
        }
    }
    let mut typed = args.device.clone();
    typed.extend(args.lab.source.iter().map(|folder| format!("--source {}", folder.display())));
    typed.extend(args.lab.disk.iter().map(|name| format!("--disk {name}")));
    let typed = typed.join(" ");
    let next = match tried.iter().find(|one| one.verdict() == Verdict::Failed) {
        Some(one) => {
            format!("\nNext: iostack lab test {typed} --trial {} --seed {}\n", one.trial.word(), args.seed)
        }
        None => format!("\nNext: iostack lab cost {typed}\n"),
    };
    out.push_str(&next);
    talk::data(&out);
    Ok(())
}
