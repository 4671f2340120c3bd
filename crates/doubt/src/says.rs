//! What does each doubt say? One sentence with its evidence.

use iostack_model::Caveat;

/// `12 %`, `0.4 %`.
fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() >= 10.0 { format!("{value:.0} %") } else { format!("{value:.1} %") }
}

/// The doubt as one sentence with its evidence.
pub fn says(caveat: &Caveat) -> String {
    says_of_storage(caveat).or_else(|| says_of_load(caveat)).unwrap_or_else(|| says_of_figures(caveat))
}

/// The sentence of a doubt of what answered.
fn says_of_storage(caveat: &Caveat) -> Option<String> {
    use Caveat as C;
    Some(match caveat {
        C::UnwrittenExtents { unwritten, region } => {
            format!("{unwritten} of {region} were never written: the medium is not read there.")
        }
        C::CachedReads { asked, device } => {
            format!("The page cache answered: {asked} were read, the device delivered {device}.")
        }
        C::BufferedWrites { asked, device } => {
            format!("The page cache took the writes: {asked} were written, {device} reached the device.")
        }
        C::CompressibleData { storage } => format!("The data compresses and so does {storage}."),
        C::NoData { engine } => {
            format!("{engine} moves no data: a byte here is a part of a call's block size.")
        }
        C::DeviceCountDiffers { device, ours, theirs, what } => {
            format!("We count {ours} {what}, {device} counts {theirs}.")
        }
        C::ForeignIo { device, bytes, share } => {
            let share = percent(*share);
            format!("Other programs moved {bytes} on {device} meanwhile, {share} of its traffic.")
        }
        C::CacheBelow { claim, latency } => {
            format!("{claim} cannot answer in {latency}: a cache below (hypervisor, controller) does.")
        }
        C::SmallRegion { region, memory } => {
            format!("The region of {region} may fit a cache below; this machine has {memory} of memory.")
        }
        C::NoDeviceCount { reason } => format!("No device counters confirm this count: {reason}."),
        C::Simulated { device, sourced, fitted, assumed } => format!(
            "Simulated: {device} rests on {sourced} numbers with a source, {fitted} fitted, {assumed} assumed."
        ),
        C::NotSimulated { what } => format!("Not simulated: {what}."),
        C::StateByFormula { how } => format!("The state at the start was not written: {how}."),
        C::Lab { device, kernel, clock } => {
            format!("Lab: {device} under Linux {kernel} in an emulated machine: {clock}.")
        }
        C::NotLinear { residual, bend } => format!(
            "c + b x does not hold: a point lies {} off the line, and a request more costs {bend:.1} times as much in \
             large commands as in small ones.",
            percent(*residual)
        ),
        _ => return None,
    })
}

/// The sentence of a doubt of the load, and of the machine that made it.
fn says_of_load(caveat: &Caveat) -> Option<String> {
    use Caveat as C;
    Some(match caveat {
        C::DepthBelowAsked { asked, achieved, reason } => {
            format!("Depth {achieved:.1} was reached of {asked:.0} asked: {reason}.")
        }
        C::LoadNotFull { in_flight, little, residual, full } => format!(
            "The load was full for {} of the time only: {in_flight:.1} I/Os were in flight then, rate times latency is \
             {little:.1} ({} off).",
            percent(*full),
            percent(*residual)
        ),
        C::GeneratorBound { busy } => {
            format!(
                "The generator's thread was {} busy: it may be the limit, not the device.",
                percent(*busy)
            )
        }
        C::Punted { workers, cpu_share } => {
            let s = if *workers == 1 { "" } else { "s" };
            let share = percent(*cpu_share);
            format!("io_uring handed I/O to {workers} kernel worker{s} ({share} of the CPU time).")
        }
        C::Failed { count, message } => format!("{count} I/Os failed ({message})."),
        C::Interrupted { after, asked: Some(asked) } => format!("Interrupted after {after} of {asked}."),
        C::Interrupted { after, asked: None } => format!("Interrupted after {after}."),
        C::Stall { at, longest, waiting } => {
            let lacked = waiting.0 * 2 >= longest.0;
            let cpu = if lacked { format!("; its thread lacked a CPU for {waiting}") } else { String::new() };
            format!(
                "An I/O took {longest} in the element at {at}, and a closed loop asked nothing meanwhile{cpu}."
            )
        }
        C::RateMissed { asked, achieved } => {
            format!("{asked:.0} I/Os per second were asked for, {achieved:.0} reached.")
        }
        C::Steal { share } => format!("The hypervisor took {} of the CPU time.", percent(*share)),
        C::ForeignCpu { share } => {
            format!("Other programs took {} of the machine's CPU time.", percent(*share))
        }
        C::IoLimit { line } => format!("A cgroup limits this process: {line}."),
        C::ClockNotInvariant { source } => format!("The clock ({source}) may change its rate."),
        C::TraceLeap { line, after } => {
            let days = after.as_secs_f64() / 86_400.0;
            format!("Line {line} of the trace comes {days:.1} days after the one before it.")
        }
        C::Drift { low, high, runs } => {
            format!("The same job gave {low:.0} to {high:.0} IOPS in {runs} runs of this check.")
        }
        C::CostOverlapped { callers, times } => format!(
            "The device works on several commands at once: {callers} callers have {times:.1} times the rate of one \
             without any merging."
        ),
        C::FewSamples { percentile, samples, needed } => {
            format!("p{percentile} rests on {samples} I/Os; it takes {needed}.")
        }
        _ => return None,
    })
}

/// The sentence of a doubt of the course of rates, and of what was seen from inside.
fn says_of_figures(caveat: &Caveat) -> String {
    use Caveat as C;
    match caveat {
        C::RateStep { at, before, after } => {
            format!("The rate stepped from {before:.0} to {after:.0} IOPS at {at}.")
        }
        C::Cliff { at, before, after } => {
            format!("The rate fell from {before:.0} to {after:.0} IOPS at {at} and stayed there.")
        }
        C::Slope { per_minute } => format!("The rate drifted by {} a minute.", percent(*per_minute)),
        C::Unstable { relative } => {
            format!("The rate was uneven: the 95 % interval is +-{}.", percent(*relative))
        }
        C::Traced { ns_per_io, share } => format!(
            "Looking from inside cost {:.2} us of CPU per I/O, {} of the latency.",
            ns_per_io / 1e3,
            percent(*share)
        ),
        C::EventsLost { lost, seen } => format!("{lost} trace events or samples were lost, {seen} arrived."),
        C::Unmatched { unmatched, ios } => {
            format!("{unmatched} of {ios} I/Os were not seen from end to end.")
        }
        C::Unclassified { share } => {
            format!("The layer rules do not know {} of the kernel's samples for sure.", percent(*share))
        }
        C::InexactClocks { how } => format!("CPU time was not bracketed: {how}."),
        C::UnwrittenExtents { .. }
        | C::FewSamples { .. }
        | C::NotLinear { .. }
        | C::CostOverlapped { .. }
        | C::TraceLeap { .. }
        | C::Drift { .. }
        | C::CachedReads { .. }
        | C::BufferedWrites { .. }
        | C::CompressibleData { .. }
        | C::NoData { .. }
        | C::DeviceCountDiffers { .. }
        | C::ForeignIo { .. }
        | C::CacheBelow { .. }
        | C::SmallRegion { .. }
        | C::NoDeviceCount { .. }
        | C::Simulated { .. }
        | C::NotSimulated { .. }
        | C::StateByFormula { .. }
        | C::Lab { .. }
        | C::DepthBelowAsked { .. }
        | C::LoadNotFull { .. }
        | C::GeneratorBound { .. }
        | C::Punted { .. }
        | C::Failed { .. }
        | C::Interrupted { .. }
        | C::Stall { .. }
        | C::RateMissed { .. }
        | C::Steal { .. }
        | C::ForeignCpu { .. }
        | C::IoLimit { .. }
        | C::ClockNotInvariant { .. } => unreachable!("the functions above have them"),
    }
}
