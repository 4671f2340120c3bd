//! Does each command that a check prints run as it is printed, on every kind of target?

use std::path::Path;
use std::process::{Command, Output};

use iostack_model::answers::Check;
use iostack_testkit::{Folder, Loop, Mounted, folder};

use crate::shared::{IOSTACK, said};

fn shell(line: &str) -> Output {
    let program = Path::new(IOSTACK);
    let places =
        format!("{}:{}", program.with_file_name("").display(), std::env::var("PATH").unwrap_or_default());
    Command::new("sh").args(["-c", line]).env("PATH", places).output().expect("a POSIX system has sh")
}

/// A loop device over a file of this folder.
fn disk(folder: &Folder) -> Result<Loop, String> {
    let image = folder.join("disk.img");
    std::fs::File::create(&image)
        .and_then(|file| file.set_len(512 << 20))
        .map_err(|error| error.to_string())?;
    Loop::over(&image)
}

/// Checks the target; then each `iostack run` of its advice, shortened, must do I/O.
fn every_command_runs(target: &Path) {
    let place = target.display();
    let asked = format!("iostack check '{place}' --quick --size 64m --json --quiet --no-files");
    let output = shell(&asked);
    let told = said(&output);
    let check: Check =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {told}"));
    let commands = check.verdict.advice.iter().filter_map(|advice| advice.command.as_deref());
    let mut runs = 0;
    for command in commands.filter(|command| command.starts_with("iostack run")) {
        let short = command.replace("--runtime 10s", "--runtime 200ms");
        assert_ne!(short, command, "it names its runtime");
        let output = shell(&format!("{short} --json --quiet"));
        assert!(
            output.status.success() && !output.stdout.is_empty(),
            "{place}: `{command}`: {}",
            said(&output)
        );
        runs += 1;
    }
    println!("{place}: {runs} commands, {:?}", check.verdict.limit);
}

#[test]
#[ignore = "slow: two minutes"]
fn each_advised_command_runs_on_each_kind_of_target() {
    let folder = folder!("advice");
    let file = folder.join("a file");
    std::fs::write(&file, vec![7; 64 << 20]).expect("a file of our own");
    every_command_runs(&file);
    match disk(&folder) {
        Ok(disk) => every_command_runs(&disk),
        Err(why) => println!("SKIPPED each_advised_command_runs_on_each_kind_of_target: {why}"),
    }
    for kind in ["ext4", "xfs"] {
        let (below, point) = (folder!(&format!("advice-{kind}")), folder!(&format!("advice-on-{kind}")));
        match disk(&below).and_then(|disk| Mounted::new(kind, disk, point)) {
            Ok(mounted) => every_command_runs(&mounted),
            Err(why) => println!("SKIPPED each_advised_command_runs_on_each_kind_of_target, {kind}: {why}"),
        }
    }
}
