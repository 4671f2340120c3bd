//! The one screen of `iostack check`.

use iostack_model::{Advice, BlockDevice, Caveat, Check, Machine, Storage};

use super::format::{both_ends, change, clean, paragraph, quoted};
use super::notes::Notes;
use super::{attribution, path_costs, steps, tables};

/// The screen of a check, also of one that was cut short: what was not measured is said, not shown as zero. It is made
/// twice, because which doubts there are is known at its end, and the heaviest gets the first number.
pub fn check(check: &Check) -> String {
    let mut notes = Notes::of_verdict();
    let _unsorted = screen(check, &mut notes);
    screen(check, &mut notes.by_weight())
}

fn screen(check: &Check, notes: &mut Notes) -> String {
    let whole = check.caveats.iter().filter(|caveat| !has_its_own_place(caveat));
    let mark = notes.mark(whole);
    let parts = [
        title(check) + &conditions(&check.storage, &check.machine, check) + &whole_mark(&mark),
        tables::cells(check, notes),
        tables::depth_one(check, notes),
        tables::depth(check, notes),
        tables::costs(check, notes),
        attribution::lines(check),
        path_costs::lines(&check.path_costs),
        steps::lines(check, notes),
        verdict(check),
        notes_text(notes),
        next(check),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    clean(&parts.join("\n"))
}

/// Caveats of the whole check that are marked beside one figure rather than above all of them.
pub(super) fn has_its_own_place(caveat: &Caveat) -> bool {
    caveat_of_latency(caveat) || caveat_of_rate(caveat)
}

/// A doubt of a percentile.
pub(super) fn caveat_of_latency(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::FewSamples { .. })
}

/// A doubt of the shape of a rate over time.
pub(super) fn caveat_of_rate(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::RateStep { .. } | Caveat::Cliff { .. } | Caveat::Slope { .. })
}

fn title(check: &Check) -> String {
    let cut_short = if check.interrupted { ", INTERRUPTED" } else { "" };
    both_ends(
        &format!("iostack check {}", check.target),
        &format!("{} effort, {}, seed {}{cut_short}", check.effort, check.elapsed, check.seed),
    )
}

/// Device, file system and host.
fn conditions(storage: &Storage, machine: &Machine, check: &Check) -> String {
    let mut text = paragraph("device     ", &devices(storage));
    if let Some(system) = &storage.file_system {
        let (kind, place) = (&system.kind, system.mount_point.display());
        let scratch = check.scratch.as_ref();
        let scratch = scratch.map_or_else(String::new, |scratch| format!("; scratch file {}", scratch.size));
        let system = format!("{kind} on {place}, {} of {} free{scratch}", system.free, system.total);
        text += &paragraph("system     ", &system);
    }
    text + &paragraph("host       ", &host(machine))
}

/// The chain in words, then what matters of the device that carries the figures.
pub(super) fn devices(storage: &Storage) -> String {
    let (Some(top), Some(bottom)) = (storage.top(), storage.bottom()) else {
        return "none behind this path: memory or network answers".to_owned();
    };
    let names: Vec<&str> = storage.devices.iter().map(|device| device.name.as_str()).collect();
    let model = bottom.model.as_ref().map_or_else(String::new, |model| format!(", {}", model.trim()));
    let kind = if bottom.rotational { ", says it rotates" } else { "" };
    format!(
        "{}{model}, {}, {}{kind}; {}; {}; cache {}",
        names.join(" on "),
        bottom.driver,
        top.size,
        scheduler(top, bottom),
        queues(bottom),
        if bottom.write_cache.is_empty() { "unknown" } else { &bottom.write_cache },
    )
}

fn scheduler(top: &BlockDevice, bottom: &BlockDevice) -> String {
    let named = [top, bottom].into_iter().map(|device| &device.queue.scheduler).find(|name| !name.is_empty());
    named.map_or_else(|| "no scheduler".to_owned(), |name| format!("scheduler {name}"))
}

fn queues(device: &BlockDevice) -> String {
    let queues = device.queue.hardware_queues;
    let plural = if queues == 1 { "queue" } else { "queues" };
    let tags = device.queue.tags.unwrap_or(device.queue.requests);
    format!("{queues} {plural} of {tags}")
}

/// Processor, memory, hypervisor, kernel and clock.
pub(super) fn host(machine: &Machine) -> String {
    let (cpu, kernel) = (&machine.cpu, &machine.kernel);
    let around = [&machine.virtualisation.hypervisor, &machine.virtualisation.container];
    let around: Vec<&str> = around.into_iter().flatten().map(String::as_str).collect();
    let around = if around.is_empty() { "bare metal".to_owned() } else { around.join(" and ") };
    let rate = if cpu.tsc_hz == 0 { String::new() } else { format!(" {:.2} GHz", cpu.tsc_hz as f64 / 1e9) };
    let steady = if cpu.tsc_invariant { "" } else { " (may vary)" };
    let plural = if cpu.cores_usable == 1 { "CPU" } else { "CPUs" };
    format!(
        "{}, {} {plural}, {}, {around}, Linux {}, clock {}{rate}{steady}",
        processor(&cpu.model),
        cpu.cores_usable,
        machine.memory.total,
        kernel.release,
        kernel.clock_source
    )
}

/// The model's name without what every model's name has.
fn processor(model: &str) -> String {
    let named = model.split('@').next().unwrap_or(model).replace("(R)", "").replace("(TM)", "");
    let words = named.split_whitespace().filter(|word| !["CPU", "Processor"].contains(word));
    words.collect::<Vec<_>>().join(" ")
}

fn whole_mark(mark: &str) -> String {
    if mark.is_empty() { String::new() } else { format!("doubts     {mark} concern every figure below\n") }
}

/// The answer, what it rests on, and what to do.
fn verdict(check: &Check) -> String {
    let verdict = &check.verdict;
    let mut text = paragraph("VERDICT    ", &verdict.answer);
    for evidence in &verdict.evidence {
        text += &paragraph("  - ", evidence);
    }
    for (index, advice) in verdict.advice.iter().enumerate() {
        text += &advice_text(index + 1, advice);
    }
    text
}

fn advice_text(number: usize, advice: &Advice) -> String {
    let gain = advice.gain_percent.map_or_else(String::new, |percent| format!(": {}", change(percent)));
    let basis = if advice.basis.is_empty() { String::new() } else { format!(" ({})", advice.basis) };
    let act = advice.act.trim_end_matches('.');
    let text = paragraph(&format!("  {number}. "), &format!("{act}{gain}{basis}"));
    match &advice.command {
        Some(command) => format!("{text}     $ {command}\n"),
        None => text,
    }
}

fn notes_text(notes: &Notes) -> String {
    if notes.is_empty() { String::new() } else { format!("NOTES\n{}", notes.text()) }
}

/// The next command, which depends on how much this check has asked.
fn next(check: &Check) -> String {
    let path = quoted(&check.target.path.display().to_string());
    if check.interrupted || check.effort == "quick" {
        return format!("next: iostack check {path}    # every step\n");
    }
    if check.effort == "full" {
        let advised = check.verdict.advice.iter().filter_map(|advice| advice.command.as_deref());
        let mut runs = advised.filter(|command| command.starts_with("iostack run"));
        return runs.next().map_or_else(String::new, |command| format!("next: {command}\n"));
    }
    format!("next: iostack check --full {path}    # narrower intervals\n")
}
