//! What time is it, in as few clocks as possible?
//!
//!   `now()` ──► ticks ──► `nanos(ticks)` = ticks * mult >> 60
//!
//! Ticks are the time-stamp counter where it can be trusted, else nanoseconds of `CLOCK_MONOTONIC_RAW`. The
//! conversion is one 64 x 64 -> 128 bit multiplication and a shift, with no base: it is monotone, and it serves for
//! moments and for spans alike. Start reading at [`Clock::calibrated`].

use std::sync::OnceLock;

use crate::roots::Root;
use crate::sys;

const SHIFT: u32 = 60;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
/// Comparing the clocks this long leaves an error below 1e-5: two reads of some 20 ns each in 5 ms. Eight calibrations
/// on a busy 2-core virtual machine were 1.8e-6 to 2.7e-6 off `CLOCK_MONOTONIC` over 1 s, its own slew included.
const COMPARE_NS: u64 = 5_000_000;
/// Long enough to see that a rate the processor states is wrong by more than a thousandth.
const CONFIRM_NS: u64 = 500_000;
/// Slower counters would overflow `mult`: 2^60 * 1e9 / hz must fit in 64 bits.
const RATE_MIN_HZ: u64 = 100_000_000;

/// Kernel clock sources that themselves read the time-stamp counter; with any other, the kernel distrusts it.
const SOURCES_ON_TSC: [&str; 4] = ["tsc", "tsc-early", "kvm-clock", "hyperv_clocksource_tsc_page"];

/// The kernel's clock on Arm is the system counter, whose rate is fixed (Arm Architecture Reference Manual, "The Generic Timer").
/// It is slow beside the processor and no measure of its clocks, so that `CLOCK_MONOTONIC_RAW` serves, and clocks are not told.
const STEADY_ALWAYS: bool = cfg!(target_arch = "aarch64");

/// A clock: how to read ticks, and what a tick is.
#[derive(Clone, Debug)]
pub struct Clock {
    tsc: bool,
    hz: u64,
    mult: u64,
    how: &'static str,
}

impl Clock {
    /// The machine's best clock. The first call takes some 6 ms to calibrate it, each further one nothing.
    pub fn calibrated() -> &'static Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        CLOCK.get_or_init(Clock::new)
    }

    fn new() -> Clock {
        let source = clock_source(&Root::live()).unwrap_or_default();
        if STEADY_ALWAYS || !(tsc_invariant() && SOURCES_ON_TSC.contains(&source.as_str())) {
            return Clock::raw();
        }
        if let Some(stated) = stated_rate() {
            let measured = measured_rate(CONFIRM_NS);
            if stated.abs_diff(measured) < stated / 1000 {
                return Clock::counting(stated, "stated by CPUID");
            }
        }
        match measured_rate(COMPARE_NS) {
            hz if hz >= RATE_MIN_HZ => Clock::counting(hz, "compared with CLOCK_MONOTONIC_RAW"),
            _ => Clock::raw(),
        }
    }

    fn counting(hz: u64, how: &'static str) -> Clock {
        let mult = (u128::from(NANOS_PER_SECOND) << SHIFT) / u128::from(hz);
        Clock { tsc: true, hz, mult: mult as u64, how }
    }

    fn raw() -> Clock {
        Clock { tsc: false, hz: 0, mult: 1 << SHIFT, how: "CLOCK_MONOTONIC_RAW itself" }
    }

    /// The ticks that the clock shows now.
    #[inline]
    pub fn now(&self) -> u64 {
        if self.tsc { sys::time_stamp() } else { sys::monotonic_raw_ns() }
    }

    /// Nanoseconds of a moment (from an arbitrary zero) or of a span.
    #[inline]
    pub fn nanos(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.mult)) >> SHIFT) as u64
    }

    /// Ticks of a span, rounded down.
    #[inline]
    pub fn ticks(&self, ns: u64) -> u64 {
        let hz = if self.tsc { self.hz } else { NANOS_PER_SECOND };
        (u128::from(ns) * u128::from(hz) / u128::from(NANOS_PER_SECOND)) as u64
    }

    /// Rate of the time-stamp counter; 0 when it is not used.
    pub fn tsc_hz(&self) -> u64 {
        self.hz
    }

    /// True when its rate never changes.
    pub fn is_steady(&self) -> bool {
        self.tsc || STEADY_ALWAYS
    }

    /// Words for how the rate was had.
    pub fn how(&self) -> &'static str {
        self.how
    }
}

/// The kernel's clock source.
pub(crate) fn clock_source(root: &Root) -> Option<String> {
    root.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// The counter keeps its rate in all power states: CPUID `8000_0007h` EDX bit 8 (Intel SDM vol. 3B, 17.17.1; AMD APM
/// vol. 3, E.4.6), which Linux shows as `constant_tsc` and `nonstop_tsc`.
pub(crate) fn tsc_invariant() -> bool {
    STEADY_ALWAYS || sys::cpuid(0x8000_0000)[0] >= 0x8000_0007 && sys::cpuid(0x8000_0007)[3] & (1 << 8) != 0
}

/// The rate as the processor or the hypervisor states it.
fn stated_rate() -> Option<u64> {
    // Leaf 15h: EBX/EAX is TSC over crystal, ECX the crystal in Hz (Intel SDM vol. 2A, CPUID). ECX is 0 on some
    // models; guessing their crystal is what Linux regretted, so those are compared instead.
    if sys::cpuid(0)[0] >= 0x15 {
        let [denominator, numerator, crystal, _] = sys::cpuid(0x15);
        if denominator > 0 && numerator > 0 && crystal > 0 {
            return Some(u64::from(crystal) * u64::from(numerator) / u64::from(denominator));
        }
    }
    // Leaf 4000_0010h EAX is the rate in kHz on hypervisors that follow VMware's convention (KVM, VMware).
    let hypervisor = sys::cpuid(1)[2] & (1 << 31) != 0;
    if hypervisor && (0x4000_0010..0x4000_0100).contains(&sys::cpuid(0x4000_0000)[0]) {
        let khz = u64::from(sys::cpuid(0x4000_0010)[0]);
        return (khz * 1000 >= RATE_MIN_HZ).then_some(khz * 1000);
    }
    None
}

/// The counter's rate against `CLOCK_MONOTONIC_RAW` over `span_ns`.
fn measured_rate(span_ns: u64) -> u64 {
    let (first_ticks, first_ns) = both_clocks();
    loop {
        let (ticks, ns) = both_clocks();
        if ns - first_ns >= span_ns {
            let hz =
                u128::from(ticks - first_ticks) * u128::from(NANOS_PER_SECOND) / u128::from(ns - first_ns);
            return hz as u64;
        }
    }
}

/// Both clocks at one moment: the tightest of a few brackets, so that an interruption between them does not count.
fn both_clocks() -> (u64, u64) {
    let bracket = || {
        let before = sys::time_stamp();
        let ns = sys::monotonic_raw_ns();
        let after = sys::time_stamp();
        (after.wrapping_sub(before), before + after.wrapping_sub(before) / 2, ns)
    };
    let (_, ticks, ns) = (0..8).map(|_| bracket()).min_by_key(|&(width, ..)| width).unwrap_or_else(bracket);
    (ticks, ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_the_same_by_both_clocks() {
        let clock = Clock::calibrated();
        let raw = Clock::raw();
        let (ticks, ns) = (clock.now(), raw.now());
        std::thread::sleep(std::time::Duration::from_millis(50));
        // However long the sleep took, both clocks saw it; they are read some ns apart, more when preempted between.
        let (ticks, ns) = (clock.now() - ticks, raw.now() - ns);
        let error = clock.nanos(ticks).abs_diff(ns) as f64 / ns as f64;
        assert!(error < 0.05, "{clock:?}: {} against {ns} ns", clock.nanos(ticks));
    }

    #[test]
    fn conversion_is_exact_and_monotone_for_a_century() {
        let clock = Clock::counting(2_500_000_000, "given");
        assert_eq!(clock.nanos(0), 0);
        assert!(clock.nanos(2_500_000_000).abs_diff(NANOS_PER_SECOND) <= 1);
        let century = 2_500_000_000 * 86_400 * 36_525;
        assert!(clock.nanos(century).abs_diff(86_400 * 36_525 * NANOS_PER_SECOND) <= 16);
        let mut last = 0;
        for ticks in (0..10_000).chain(century..century + 10_000) {
            assert!(clock.nanos(ticks) >= last, "{ticks}");
            last = clock.nanos(ticks);
        }
    }

    #[test]
    fn ticks_and_nanos_are_inverse() {
        for clock in [Clock::counting(2_499_998_123, "given"), Clock::raw()] {
            for ns in [0, 1_000, 999_999_999, 86_400_000_000_000] {
                assert!(clock.nanos(clock.ticks(ns)).abs_diff(ns) <= 1, "{clock:?} {ns}");
            }
        }
    }

    #[test]
    fn the_slowest_accepted_counter_does_not_overflow() {
        let clock = Clock::counting(RATE_MIN_HZ, "given");
        assert!(clock.nanos(RATE_MIN_HZ).abs_diff(NANOS_PER_SECOND) <= 1);
    }
}
