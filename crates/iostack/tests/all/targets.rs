//! One job, any target, one outcome: what holds of every target.
//!
//! [`ASKED`] is run once on each target of [`TriedTarget`]; each of [`FIGURES`] is a function over what came of it. Each of [`DEEDS`]
//! is a command of its own. What a target cannot do it must refuse with its reason, and is counted as such.

use std::fs;
use std::process::Command;
use std::time::Duration;

use iostack_model::{Caveat, Outcome, OutcomeFile};

use crate::shared::{Room, Started, command, iostack_in, said};
use crate::turn::turn_or_skip;

/// Jobs for every target, each behind a stonewall.
const ASKED: &str = r#"
defaults = { pattern = "random", size = "8m", io_limit = "1g", stonewall = true, seed = 7 }
job = [
    { name = "counted", io_count = 97 },
    { name = "mixed", io_count = 2000, mix = "70/30" },
    { name = "sized", io_count = 2000, block_size = "4k/60:64k/40" },
    { name = "paced", io_count = 500, rate = 1000 },
    { name = "thinking", io_count = 97, think_time = "2ms" },
    { name = "deep", io_count = 4000, queue_depth = 8 },
    { name = "proven", io_count = 500, mix = "write", verify = "write_then_read" },
]
"#;

/// A target, and what it is known to be.
struct TriedTarget {
    /// Name of the target; a file's is below the room of the test.
    on: &'static str,
    /// Name in the outcome.
    named: &'static str,
    /// Its time is virtual, and the same seed gives the same bytes.
    repeats: bool,
    /// Deeds it cannot do, and words of the refusal.
    cannot: &'static [(&'static str, &'static str)],
    /// Deeds that need permission, and words of the refusal without it.
    permitted: &'static [(&'static str, &'static str)],
    /// Deeds that would cost a boot, and are tried in `lab`.
    elsewhere: &'static [&'static str],
}

const SIMULATED_ONLY: &str = "is for simulated targets; add --on sim:DEVICE";
const NO_CLOCKS: &str = "a simulated device has no CPU clocks to sample";

const FILE: TriedTarget = TriedTarget {
    on: "scratch",
    named: "file:",
    repeats: false,
    cannot: &[("timeline", SIMULATED_ONLY), ("draws", SIMULATED_ONLY)],
    permitted: &[("layers", "cannot sample the layers"), ("stages", "cannot trace the stages")],
    elsewhere: &[],
};

const DRIVE: TriedTarget = TriedTarget {
    on: "sim:tlc-1t",
    named: "sim:tlc-1t",
    repeats: true,
    cannot: &[("layers", NO_CLOCKS)],
    permitted: &[],
    elsewhere: &[],
};

const PLATFORM: TriedTarget = TriedTarget { on: "sim:x5570", named: "sim:x5570", ..DRIVE };

const LAB: TriedTarget = TriedTarget {
    on: "lab:brd",
    named: "lab:brd",
    repeats: false,
    cannot: &[
        ("timeline", SIMULATED_ONLY),
        ("draws", SIMULATED_ONLY),
        ("replay", "is not replayed in the lab"),
    ],
    permitted: &[],
    elsewhere: &["layers", "stages", "seeds", "interrupted"],
};

const LAB_DRIVE: TriedTarget = TriedTarget {
    on: "lab:sim:x25e",
    named: "lab:sim:x25e",
    repeats: true,
    elsewhere: &["layers", "stages", "interrupted"],
    ..LAB
};

/// Result of a property: why it does not hold, or a doubt that says so first.
type Holds = Result<Option<Caveat>, String>;

const HOLDS: Holds = Ok(None);

/// A property of the outcomes of [`ASKED`].
type FigureProperty = fn(&TriedTarget, &[Outcome]) -> Holds;

/// A property of a command.
type Deed = fn(&Try<'_>) -> Result<(), Refused>;

/// Properties of the outcomes.
const FIGURES: [(&str, FigureProperty); 10] = [
    ("97 asked are 97 counted", counted),
    ("a mix is kept", mixed),
    ("shares of sizes are kept", sized),
    ("a rate is kept", paced),
    ("thinking takes its time", thinking),
    ("a depth is kept, and is rate times latency", deep),
    ("what was written comes back", proven),
    ("stonewalls stand in order", in_order),
    ("the series holds every I/O", in_series),
    ("the outcome names its target", named),
];

/// Properties of single commands.
const DEEDS: [(&str, Deed); 7] = [
    ("layers", layers),
    ("stages", stages),
    ("timeline", timeline),
    ("draws", draws),
    ("replay", replay),
    ("seeds", seeds),
    ("interrupted", interrupted),
];

fn outcome_of<'a>(outcomes: &'a [Outcome], name: &str) -> &'a Outcome {
    outcomes.iter().find(|outcome| outcome.job.name == name).expect("each job was asked")
}

fn hold(holds: bool, said: String) -> Holds {
    if holds { HOLDS } else { Err(said) }
}

/// Beyond `holds`, only a doubt that says so will do.
fn hold_or(holds: bool, outcome: &Outcome, doubt: fn(&Caveat) -> bool, said: String) -> Holds {
    match outcome.caveats.iter().find(|caveat| doubt(caveat)) {
        _ if holds => HOLDS,
        Some(caveat) => Ok(Some(caveat.clone())),
        None => Err(said),
    }
}

/// Four standard deviations of a binomial: one seed in 16,000 is beyond. These seeds are fixed.
fn is_share(part: u64, all: u64, share: f64) -> bool {
    let deviation = (all as f64 * share * (1.0 - share)).sqrt();
    (part as f64 - all as f64 * share).abs() <= 4.0 * deviation
}

fn counted(_: &TriedTarget, outcomes: &[Outcome]) -> Holds {
    let one = outcome_of(outcomes, "counted");
    let (reads, bytes) = (one.read.latency.count, one.bytes().0);
    hold((reads, one.ios(), bytes) == (97, 97, 97 * 4096), format!("{reads} reads, {bytes} bytes"))
}

fn mixed(_: &TriedTarget, outcomes: &[Outcome]) -> Holds {
    let one = outcome_of(outcomes, "mixed");
    let reads = one.read.latency.count;
    hold(one.ios() == 2000 && is_share(reads, 2000, 0.7), format!("{reads} reads of {}", one.ios()))
}

fn sized(_: &TriedTarget, outcomes: &[Outcome]) -> Holds {
    let one = outcome_of(outcomes, "sized");
    let beyond = one.bytes().0 - one.ios() * 4096;
    let (large, rest) = (beyond / (60 << 10), beyond % (60 << 10));
    let holds = one.ios() == 2000 && rest == 0 && is_share(large, 2000, 0.4);
    hold(holds, format!("{large} large blocks of {}, {rest} bytes beside them", one.ios()))
}

fn paced(_: &TriedTarget, outcomes: &[Outcome]) -> Holds {
    let one = outcome_of(outcomes, "paced");
    let rate = one.rate();
    let missed = |caveat: &Caveat| matches!(caveat, Caveat::RateMissed { .. });
    let held = hold_or(rate >= 950.0, one, missed, format!("{rate} I/Os a second of 1000"))?;
    hold(one.ios() == 500 && rate <= 1100.0, format!("{} I/Os, {rate} a second", one.ios())).map(|_| held)
}

fn thinking(_: &TriedTarget, outcomes: &[Outcome]) -> Holds {
    let one = outcome_of(outcomes, "thinking");
    hold(one.ios() == 97 && one.elapsed.0 >= 96 * 2_000_000, format!("97 I/Os took {}", one.elapsed))
}

fn deep(_: &TriedTarget, outcomes: &[Outcome]) -> Holds {
    let one = outcome_of(outcomes, "deep");
    let (asked, achieved) = (8.0, one.depth_achieved);
    let latency = one.latency();
    let little = one.rate() * latency.sum_ns as f64 / latency.count as f64 / 1e9;
    let off = (little / achieved - 1.0).abs();
    hold(one.ios() == 4000 && off <= 0.05, format!("depth {achieved}, rate times latency {little}"))?;
    let below = |caveat: &Caveat| matches!(caveat, Caveat::DepthBelowAsked { .. });
    let holds = achieved >= 0.9 * asked && achieved <= asked * 1.001;
    hold_or(holds, one, below, format!("depth {achieved} of {asked}"))
}

fn proven(_: &TriedTarget, outcomes: &[Outcome]) -> Holds {
    let one = outcome_of(outcomes, "proven");
    let found = (one.write.latency.count, one.verified, one.failures.len());
    hold(found == (500, 500, 0), format!("writes, verified, failures: {found:?}"))
}

fn in_order(subject: &TriedTarget, outcomes: &[Outcome]) -> Holds {
    let names: Vec<&str> = outcomes.iter().map(|outcome| outcome.job.name.as_str()).collect();
    let asked = ["counted", "mixed", "sized", "paced", "thinking", "deep", "proven"];
    // Milliseconds are cut off, on both sides. Virtual time has no date.
    let after = |pair: &[Outcome]| {
        let end_ms = pair[0].started_unix_ms + pair[0].elapsed.0 / 1_000_000;
        pair[1].started_unix_ms + 1 >= end_ms
    };
    let apart = subject.repeats || outcomes.windows(2).all(after);
    hold(names == asked && apart, format!("{names:?}, one after the other: {apart}"))
}

fn in_series(_: &TriedTarget, outcomes: &[Outcome]) -> Holds {
    let series = |one: &Outcome| one.series.iter().flat_map(|slice| slice.ios).sum::<u64>();
    let lost = outcomes.iter().find(|one| series(one) != one.ios() || one.interrupted);
    lost.map_or(HOLDS, |one| Err(format!("{}: {} of {} I/Os", one.job.name, series(one), one.ios())))
}

fn named(subject: &TriedTarget, outcomes: &[Outcome]) -> Holds {
    let name = outcomes[0].target.to_string();
    hold(outcomes.iter().all(|one| one.target.to_string().starts_with(subject.named)), name)
}

fn room(test: &str, subject: &TriedTarget) -> Room {
    Room::new(&format!("{test}-{}", subject.on.replace(':', "-")))
}

/// Target and folder in which a command is tried.
struct Try<'a> {
    subject: &'a TriedTarget,
    room: &'a Room,
}

/// Text on stderr of an exit with 2.
struct Refused(String);

impl Try<'_> {
    fn command(&self, arguments: &str) -> Command {
        let mut command = command(&["run", "--on", self.subject.on, "--json", "--quiet"]);
        command.current_dir(&self.room.0).args(arguments.split_whitespace());
        command
    }

    /// Text on stdout, or the refusal. Another exit code fails the test.
    fn printed(&self, arguments: &str) -> Result<Vec<u8>, Refused> {
        let output = self.command(arguments).output().expect("it was built");
        match output.status.code() {
            Some(0) => Ok(output.stdout),
            Some(2) => Err(Refused(said(&output))),
            code => panic!("{} {arguments}: exit {code:?}: {}", self.subject.on, said(&output)),
        }
    }

    fn outcomes(&self, arguments: &str) -> Result<Vec<Outcome>, Refused> {
        self.printed(arguments).map(|data| read(&data))
    }
}

fn read(data: &[u8]) -> Vec<Outcome> {
    serde_json::from_slice::<OutcomeFile>(data).expect("--json gives an outcome").outcomes
}

fn layers(to: &Try<'_>) -> Result<(), Refused> {
    let outcomes = to.outcomes("--size 8m --io-count 97 --layers")?;
    assert!(outcomes[0].layers.is_some(), "{}: no layers", to.subject.on);
    Ok(())
}

/// A simulated device always says so, of every part inside.
fn stages(to: &Try<'_>) -> Result<(), Refused> {
    let outcomes = to.outcomes("--size 8m --io-count 97 --stages")?;
    assert!(outcomes[0].stages.is_some() || outcomes[0].inside.is_some(), "{}: no stages", to.subject.on);
    Ok(())
}

fn timeline(to: &Try<'_>) -> Result<(), Refused> {
    to.printed("--size 8m --io-count 97 --timeline ways.json")?;
    let ways = fs::read(to.room.0.join("ways.json")).expect("it was written");
    serde_json::from_slice::<serde_json::Value>(&ways).expect("a timeline is JSON");
    Ok(())
}

/// A figure with its band is inside it, and the same seed draws the same.
fn draws(to: &Try<'_>) -> Result<(), Refused> {
    let asked = "--size 8m --io-count 1000 --draws 5";
    let [one, same] = [to.outcomes(asked)?, to.outcomes(asked)?];
    let band = one[0].band.clone().expect("draws were asked for");
    assert_eq!((band.draws, band.iops.samples), (5, 5), "{}: {band:?}", to.subject.on);
    assert!(band.iops.low < band.iops.high && band.latency_p99.is_some(), "{}: {band:?}", to.subject.on);
    assert_eq!(Some(band), same[0].band, "{}", to.subject.on);
    Ok(())
}

fn replay(to: &Try<'_>) -> Result<(), Refused> {
    let head = ["fio version 2 iolog", "/dev/d add", "/dev/d open"].map(str::to_owned);
    let reads = (0..97).map(|at| format!("/dev/d read {} 4096", at * 4096));
    let trace: Vec<String> = head.into_iter().chain(reads).collect();
    fs::write(to.room.0.join("trace.log"), trace.join("\n") + "\n").expect("the room is ours");
    let outcomes = to.outcomes("--replay trace.log")?;
    assert_eq!(outcomes[0].ios(), 97, "{}", to.subject.on);
    // What one run writes down, another one does.
    let first = to.outcomes("--size 8m --io-count 97 --mix 70/30 --fsync-every 10 --log-trace made.trace")?;
    let again = to.outcomes("--replay made.trace --replay-speed max")?;
    let seen =
        |outcome: &Outcome| (outcome.read.latency.count, outcome.write.latency.count, outcome.sync.count);
    assert_eq!(seen(&again[0]), seen(&first[0]), "{}", to.subject.on);
    assert!(again[0].sync.count > 0 && again[0].job.replay.is_some(), "{}", to.subject.on);
    Ok(())
}

/// The same seed asks the same, another one does not; where time is virtual, the same bytes come of it.
fn seeds(to: &Try<'_>) -> Result<(), Refused> {
    let job = "--size 8m --io-count 1000 --mix 70/30 --unlink true --seed";
    let [one, same, other] = ["1", "1", "2"].map(|seed| to.printed(&format!("{job} {seed}")));
    let (one, same, other) = (one?, same?, other?);
    let reads = |data: &[u8]| read(data)[0].read.latency.count;
    assert_eq!(reads(&one), reads(&same), "{}", to.subject.on);
    assert_ne!(reads(&one), reads(&other), "{}", to.subject.on);
    assert!(!to.subject.repeats || one == same, "{}: one seed gave two outcomes", to.subject.on);
    Ok(())
}

/// The outcome so far, and exit 2.
fn interrupted(to: &Try<'_>) -> Result<(), Refused> {
    let forever = "--size 8m --io-count 100000000000 --io-limit 1000t --time-based true --runtime 9000h";
    let run = Started::heard(&mut to.command(forever));
    run.until_it_listens();
    std::thread::sleep(Duration::from_millis(300));
    run.signal("-INT");
    let (code, stdout, said) = run.end();
    assert_eq!(code, Some(2), "{}: {said}", to.subject.on);
    if stdout.is_empty() {
        return Err(Refused(said));
    }
    assert!(said.contains("interrupted; what is printed is of the part that was done"), "{said}");
    let outcomes = read(stdout.as_bytes());
    assert!(outcomes.len() == 1 && outcomes[0].interrupted, "{}: {said}", to.subject.on);
    assert!(outcomes[0].ios() > 0, "{}: nothing was done", to.subject.on);
    Ok(())
}

/// Tries all of both tables, and says what was found.
fn conforms(subject: &TriedTarget) {
    let room = room("conforms", subject);
    let to = Try { subject, room: &room };
    let (mut held, mut doubted, mut cannot) = (0, Vec::new(), Vec::new());
    fs::write(room.0.join("asked.toml"), ASKED).expect("the room is ours");
    let outcomes = to.outcomes("asked.toml").unwrap_or_else(|refused| panic!("{}", refused.0));
    for (name, holds) in FIGURES {
        match holds(subject, &outcomes) {
            Ok(None) => held += 1,
            Ok(Some(caveat)) => doubted.push(format!("{name} ({caveat:?})")),
            Err(why) => panic!("{}: {name}: {why}", subject.on),
        }
    }
    for (name, deed) in DEEDS.iter().filter(|(name, _)| !subject.elsewhere.contains(name)) {
        let words = |list: &[(&str, &'static str)]| list.iter().find(|(of, _)| of == name).map(|one| one.1);
        match (deed(&to), words(subject.cannot), words(subject.permitted)) {
            (Ok(()), None, _) => held += 1,
            (Ok(()), Some(_), _) => panic!("{} can do {name}: say so in its row", subject.on),
            (Err(Refused(said)), Some(words), _) if said.contains(words) => cannot.push(*name),
            (Err(Refused(said)), _, Some(words)) if said.contains(words) => {
                println!("SKIPPED {name} of {}: {}", subject.on, said.trim());
            }
            (Err(Refused(said)), ..) => panic!("{}: {name} is refused: {said}", subject.on),
        }
    }
    println!("{}: {held} hold; doubted: {doubted:?}; cannot: {cannot:?}", subject.on);
}

#[test]
fn a_file_does_what_every_target_does() {
    conforms(&FILE);
}

#[test]
fn a_simulated_drive_does_what_every_target_does() {
    conforms(&DRIVE);
}

#[test]
fn a_simulated_platform_does_what_every_target_does() {
    conforms(&PLATFORM);
}

#[test]
#[ignore = "slow: a boot"]
fn a_device_of_the_lab_does_what_every_target_does() {
    let _turn = turn_or_skip!("a_device_of_the_lab_does_what_every_target_does", "6.1");
    conforms(&LAB);
}

#[test]
#[ignore = "slow: some boots"]
fn a_simulated_drive_of_the_lab_does_what_every_target_does() {
    let _turn = turn_or_skip!("a_simulated_drive_of_the_lab_does_what_every_target_does", "6.1");
    conforms(&LAB_DRIVE);
}

/// Questions that one asks of a target: name and command, where `ON` stands for the target.
const QUESTIONS: [(&str, &str); 8] = [
    ("run", "run --on ON --size 8m --io-count 97 --unlink true"),
    ("check", "check ON --quick --size 16m --no-files"),
    ("iolat", "iolat ON --runtime 50ms --size 16m"),
    ("probe", "probe ON --quick --size 16m"),
    (
        "ab",
        "ab --on ON --size 16m --pattern random --runtime 20ms --blocks 6 --a queue_depth=1 --b queue_depth=4 \
         --engine io_uring",
    ),
    ("sweep", "sim sweep ON --vary queue_depth=1,4 --io-count 97"),
    ("stages", "run --on ON --size 8m --io-count 97 --stages --unlink true"),
    ("merge", "merge ON --quick"),
];

/// Targets, and what each is asked elsewhere: where it takes minutes, `lab` does.
const ASKED_OF: [&str; 5] = ["FOLDER", "sim:x25e", "sim:nvme-server", "lab:brd", "lab:sim:x25e"];

/// Refusals: target, question, and words of the reason. Everything else is answered.
const REFUSED: [(&str, &str, &str); 1] = [("FOLDER", "sweep", "give the path of a device's file")];

/// Each target answers each question, or refuses it in one sentence.
fn asks(on: &str) {
    let room = Room::new(&format!("asks-{}", on.replace([':', '/'], "-")));
    let answer = |question: &str, command: &str| {
        let place = if on == "FOLDER" { room.0.display().to_string() } else { on.to_owned() };
        let output = iostack_in(&room.0, &format!("{} --json --quiet", command.replace("ON", &place)));
        let said = said(&output).trim().to_owned();
        match output.status.code() {
            Some(0 | 1) => {
                serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("an answer is JSON");
                "answers".to_owned()
            }
            Some(2) if said.lines().count() == 1 && output.stdout.is_empty() => format!("refuses: {said}"),
            code => panic!("{on} {question}: exit {code:?}: {said}"),
        }
    };
    for (question, command) in QUESTIONS {
        let came = answer(question, command);
        println!("{on:<16} {question:<7} {came}");
        let known = REFUSED.iter().find(|(target, name, _)| (*target, *name) == (on, question));
        let expected = known.map_or("answers", |(.., words)| words);
        assert!(came.contains(expected), "{on} {question}: {came}");
    }
}

#[test]
fn a_folder_and_what_is_simulated_answer_each_question_or_say_why_not() {
    ASKED_OF.iter().filter(|on| !on.starts_with("lab:")).for_each(|on| asks(on));
}

#[test]
#[ignore = "slow: a boot for each question"]
fn the_lab_answers_each_question_or_says_why_not() {
    let _turn = turn_or_skip!("the_lab_answers_each_question_or_says_why_not", "6.1");
    ASKED_OF.iter().filter(|on| on.starts_with("lab:")).for_each(|on| asks(on));
}

#[test]
fn every_target_is_asked_the_same() {
    let asked = |subject: &TriedTarget| {
        let room = room("asked", subject);
        fs::write(room.0.join("asked.toml"), ASKED).expect("the room is ours");
        let outcomes = Try { subject, room: &room }.outcomes("asked.toml");
        let outcomes = outcomes.unwrap_or_else(|refused| panic!("{}", refused.0));
        let sums = |one: &Outcome| (one.job.name.clone(), one.read.bytes, one.write.bytes, one.ios());
        outcomes.iter().map(sums).collect::<Vec<_>>()
    };
    let file = asked(&FILE);
    assert_eq!((&file, &file), (&asked(&DRIVE), &asked(&PLATFORM)));
}
