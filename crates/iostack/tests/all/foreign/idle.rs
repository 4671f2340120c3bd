//! Is a program that does almost nothing charged with what a busy neighbour costs?

use std::path::Path;

use iostack_testkit::{Loop, Mounted, folder, or_skip};

use super::{ended, looked_at, shell, used};
use crate::shared::Started;

fn mounted(test: &str, name: &str, file_system: &str, folder: &Path) -> Option<Mounted<Loop>> {
    let disk = folder.join(name);
    std::fs::File::create(&disk).and_then(|file| file.set_len(1 << 30)).expect("the folder is ours");
    let device = or_skip(test, Loop::over(&disk))?;
    or_skip(test, Mounted::new(file_system, device, folder!(&format!("idle-{name}"))))
}

/// Writes and reads past the page cache, written back, and with commits of the journal.
const HAMMER: &str = "while true; do
    dd if=/dev/zero of=direct bs=4k count=3000 oflag=direct status=none
    dd if=direct of=/dev/null bs=4k iflag=direct status=none
    dd if=/dev/zero of=back bs=64k count=1000 conv=fsync status=none
    dd if=/dev/zero of=commits bs=4k count=50 oflag=dsync status=none
done";

const IDLE: &str = "for i in 1 2 3 4 5 6; do sleep 1
    dd if=/dev/zero of=mine bs=4k count=1 conv=fsync status=none; done; times >&2";

#[test]
#[ignore = "slow: two programs for six seconds, twice"]
fn an_idle_program_is_not_charged_with_what_a_busy_neighbour_costs() {
    let test = "an_idle_program_is_not_charged_with_what_a_busy_neighbour_costs";
    let _one = super::ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let folder = folder!("idle");
    let Some(one) = mounted(test, "one", "ext4", &folder) else { return };
    let Some(other) = mounted(test, "other", "xfs", &folder) else { return };
    for (name, neighbour) in [("same", &one), ("other", &other)] {
        let hammer = Started::by(&mut shell(HAMMER, neighbour));
        let answer = folder.join(format!("{name}.json"));
        let (output, layers) = ended(looked_at("layers", IDLE, &one, &answer), &answer);
        drop(hammer);
        let clocks = &layers["clocks"];
        let us = |of: &serde_json::Value| of.as_f64().expect("ns") / 1e3;
        let charged = us(&clocks["tasks"]) + us(&clocks["interrupts"]) + us(&clocks["kernel_threads"]);
        let beside = us(&clocks["beside"]["interrupts"]) + us(&clocks["beside"]["kernel_threads"]);
        let (used, others) = (used(&output), beside);
        let share = (charged - used) / others;
        println!(
            "{name} file system: charged {charged:.0} us, its own {used:.0}, others' {others:.0}: {share:.4}"
        );
        assert!(others > 10.0 * used, "the neighbour is busy: {clocks}");
        assert!(share < 0.02, "{clocks}");
    }
}
