//! Are the figures of foreign programs right? Each does its own work on a device of the test's own.
//!
//! ```text
//!   clocks:   iostack layers -- bash -c WORK    against getrusage of the same tree
//!   I/Os:     a watch beside it                 against /proc/diskstats of the device
//!   latency:  iostack stages -- bash -c WORK    ends as the work does, and leaves its output alone
//! ```

mod idle;
mod rows;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use iostack_attribute::watch::{Summed, WatchOptions, Watcher};
use iostack_model::Nanos;
use iostack_model::answers::{OwnedHow, OwnedIo};
use iostack_testkit::{Loop, Mounted, folder, or_skip, tool};
use serde_json::Value;

use crate::follow::seconds;
use crate::shared::{command, printed, root, said};
use rows::{ProgramRow, ROWS};

macro_rules! programs {
    ($($test:ident $name:literal;)*) => {
        $(
            #[test]
            #[ignore = "slow: half a minute of a foreign program's work"]
            fn $test() {
                proven(stringify!($test), $name);
            }
        )*
    };
}

programs! {
    the_figures_of_mariadb_are_those_of_the_system "mariadb";
    the_figures_of_postgresql_and_its_children_are_those_of_the_system "postgresql";
    the_figures_of_redis_that_syncs_each_write_are_those_of_the_system "redis";
    the_figures_of_a_java_server_are_those_of_the_system "java";
    the_figures_of_a_go_server_are_those_of_the_system "go";
    the_figures_of_rsync_are_those_of_the_system "rsync";
    the_figures_of_tar_are_those_of_the_system "tar";
    the_figures_of_git_are_those_of_the_system "git";
    the_figures_of_a_container_are_those_of_the_system "container";
}

/// One at a time: they share the processors.
static ONE: Mutex<()> = Mutex::new(());

fn proven(test: &str, name: &str) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let row = ROWS.iter().find(|row| row.name == name).expect("each test has a row");
    for program in row.needs {
        let found = shell(&format!("command -v {program}"), Path::new("/")).output().expect("bash is there");
        if !found.status.success() {
            println!("SKIPPED {test}: no `{program}`");
            return;
        }
    }
    let Some(mut watcher) = or_skip(test, Watcher::attach(&WatchOptions::default())) else { return };
    let outside = folder!(&format!("foreign-{name}"));
    let disk = outside.join("disk");
    std::fs::File::create(&disk).and_then(|file| file.set_len(2 << 30)).expect("the folder is ours");
    let Some(device) = or_skip(test, Loop::over(&disk)) else { return };
    let place = folder!(&format!("f-{name}"));
    let Some(mounted) = or_skip(test, Mounted::new(row.file_system, device, place)) else { return };
    let prepared = shell(row.prepare, &mounted).output().expect("bash is there");
    assert!(prepared.status.success(), "{}", said(&prepared));
    let plain = shell(row.work, &mounted).output().expect("bash is there");
    assert!(plain.status.success(), "{}", said(&plain));

    let mut table = Table { name, faults: Vec::new() };
    clocks_and_ios(row, &mounted, &outside, &plain, &mut watcher, &mut table);
    let stages = looked_at("stages", row.work, &mounted, &outside.join("stages"));
    let (output, answer) = ended(stages, &outside.join("stages"));
    table.unharmed("stages", &output, &plain, &answer);
    assert!(table.faults.is_empty(), "{:#?}", table.faults);
}

/// Figures of a program, beside what the system says itself.
struct Table<'a> {
    name: &'a str,
    faults: Vec<String>,
}

impl Table<'_> {
    /// A row: at most `off` away from 1.
    fn row(&mut self, figure: &str, ours: f64, reference: f64, off: f64) {
        let ratio = ours / reference;
        let line = format!("{:<11}{figure:<30}{ours:>16.0}{reference:>16.0}{ratio:>9.4}", self.name);
        println!("{line}");
        if ratio.is_nan() || (ratio - 1.0).abs() > off {
            self.faults.push(line);
        }
    }

    /// It ended well, and printed what it prints when nobody looks.
    fn unharmed(&mut self, form: &str, output: &Output, plain: &Output, answer: &Value) {
        if printed(output) != printed(plain) {
            self.faults.push(format!("{form}: printed `{}`, not `{}`", printed(output), printed(plain)));
        }
        let noted = answer["notes"].to_string().contains("bash ended with exit code 0.");
        if output.status.code() != Some(0) || !noted {
            self.faults.push(format!("{form}: {:?}: {}: {}", output.status, answer["notes"], said(output)));
        }
    }
}

fn data() -> PathBuf {
    root().join("crates/iostack/tests/data/programs").canonicalize().expect("it is kept")
}

/// The words, which find what distributions keep beside the path.
fn beyond_path(words: &str) -> String {
    format!("PATH=$PATH:/usr/sbin:$(printf %s: /usr/lib/postgresql/*/bin)\n{words}")
}

/// The words in a folder, for a shell.
fn shell(words: &str, folder: &Path) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-ec", &beyond_path(words)]).current_dir(folder).env("DATA", data());
    shell
}

/// iostack with the words behind it, as it runs.
fn looked_at(form: &str, words: &str, folder: &Path, answer: &Path) -> std::process::Child {
    let answer = answer.to_str().expect("ours");
    let mut looking =
        command(&[form, "--quiet", "--json", "--output", answer, "--", "bash", "-ec", &beyond_path(words)]);
    looking.current_dir(folder).env("DATA", data()).stdout(Stdio::piped()).stderr(Stdio::piped());
    looking.spawn().expect("the binary was built")
}

fn ended(child: std::process::Child, answer: &Path) -> (Output, Value) {
    let output = child.wait_with_output().expect("it was started");
    let text = std::fs::read_to_string(answer).unwrap_or_else(|error| panic!("{error}: {}", said(&output)));
    (output, serde_json::from_str(&text).expect("JSON"))
}

/// I/Os and bytes of reads, writes and discards, by the kernel's own statistics.
fn statistics(device: &str) -> [f64; 2] {
    let text = std::fs::read_to_string(format!("/sys/class/block/{device}/stat")).expect("it is there");
    let fields: Vec<f64> = text.split_whitespace().map(|field| field.parse().expect("a number")).collect();
    [fields[0] + fields[4] + fields[11], 512.0 * (fields[2] + fields[6] + fields[13])]
}

fn clocks_and_ios(
    row: &ProgramRow,
    mounted: &Mounted<Loop>,
    outside: &Path,
    plain: &Output,
    watcher: &mut Watcher,
    table: &mut Table<'_>,
) {
    let device = mounted.device().file_name().and_then(|name| name.to_str()).expect("a device has a name");
    let sync = || tool("sync", &["-f".as_ref(), mounted.as_os_str()]).expect("coreutils");
    sync();
    let _before = watcher.slice();
    let (before, mut summed) = (statistics(device), Summed::default());
    // Whatever is written is on the device when the work ends.
    let work = format!("{}\nsync -f .; times >&2", row.work);
    let mut child = looked_at("layers", &work, mounted, &outside.join("layers"));
    let mut looked = Instant::now();
    while child.try_wait().expect("it was started").is_none() {
        std::thread::sleep(Duration::from_millis(20));
        watcher.look();
        if looked.elapsed() > Duration::from_secs(1) {
            summed.add(watcher.slice());
            looked = Instant::now();
        }
    }
    let (output, layers) = ended(child, &outside.join("layers"));
    sync();
    summed.add(watcher.slice());
    let after = statistics(device);
    table.unharmed("layers", &output, plain, &layers);

    clocks(&layers, used(&output), table);
    let pids = layers["processes"].as_array().expect("a tree has processes").iter();
    let own: BTreeSet<u64> = pids.map(|one| one["pid"].as_u64().expect("a number")).collect();
    ios(&summed, device, &own, [after[0] - before[0], after[1] - before[1]], table);
}

/// Clocks of the tree. Where the total is off because the kernel counts a thread from its wake-up on, its own account must be told with it.
fn clocks(layers: &Value, used: f64, table: &mut Table<'_>) {
    let time = |name: &str| layers["clocks"][name].as_f64().expect("ns") / 1e3;
    let mut own = time("tasks") + time("kernel_threads");
    println!("{:<11}{:<30}{own:>16.0}{used:>16.0}{:>9.4}", table.name, "CPU time on its own, us", own / used);
    if (own / used - 1.0).abs() > 0.02 {
        let notes = layers["notes"].as_array().expect("a list").iter().filter_map(Value::as_str);
        let told = |note: &str| note.split_once("tell it, has ")?.1.split_once(" for these")?.0.parse().ok();
        own = notes.filter_map(told).map(|account: Nanos| account.0 as f64 / 1e3).sum();
    }
    table.row("CPU time as told, us", own, used, 0.02);
}

/// Time on CPUs of bash and all that it ran, us: four figures at the end, by its `times`.
fn used(output: &Output) -> f64 {
    let figures: Vec<f64> = said(output).split_whitespace().filter_map(seconds).collect();
    assert!(figures.len() >= 4, "{}", said(output));
    1e6 * figures[figures.len() - 4..].iter().sum::<f64>()
}

fn ios(summed: &Summed, device: &str, own: &BTreeSet<u64>, known: [f64; 2], table: &mut Table<'_>) {
    let moved = |row: &&OwnedIo| row.device == device;
    let rows: Vec<&OwnedIo> = summed.whole.ios.iter().filter(moved).collect();
    let sums = |wanted: &dyn Fn(&OwnedIo) -> bool| {
        let found = rows.iter().filter(|row| wanted(row));
        found.fold([0.0, 0.0], |sum, row| [sum[0] + row.ios as f64, sum[1] + row.bytes as f64])
    };
    let all = sums(&|_| true);
    let its = sums(&|row| own.contains(&u64::from(row.owner.process)));
    let seen = sums(&|row| row.how != OwnedHow::Unseen);
    let unowned = sums(&|row| !row.is_owned());
    table.row("I/Os of all", all[0], known[0], 0.001);
    table.row("bytes of all", all[1], known[1], 0.001);
    table.row("I/Os with owner or reason", seen[0], known[0], 0.001);
    table.row("I/Os of its processes", its[0], known[0] - unowned[0], 0.02);
    table.row("bytes of its processes", its[1], known[1] - unowned[1], 0.02);
    table.row("bytes with an owner", known[1] - unowned[1], known[1], 0.05);
    for row in rows.iter().filter(|row| !own.contains(&u64::from(row.owner.process))) {
        let (who, how, kind) = (&row.owner.name, row.how.words(), row.kind.name());
        println!(
            "{:<11}not its own: {who}, {how}, {kind}: {} I/Os, {} bytes",
            table.name, row.ios, row.bytes
        );
    }
}
