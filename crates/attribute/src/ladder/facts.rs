//! What decides about a rung, as found.

/// Name of a container that is nothing but a namespace of users.
pub(crate) const USER_NAMESPACE: &str = "a user namespace";

/// Outcome of trying something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// It worked; what was seen.
    Works(String),
    /// The kernel refused the act with this error number.
    Refused {
        /// Act that was tried: `open an event`.
        act: String,
        /// Error number, as in errno.h.
        number: i32,
    },
    /// It was not refused and gave nothing, or could not be tried; why.
    Nothing(String),
}

impl Attempt {
    /// True when it worked.
    pub fn works(&self) -> bool {
        matches!(self, Attempt::Works(_))
    }
}

/// A set of capabilities, as in `CapEff` of `/proc/self/status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(pub u64);

impl Capabilities {
    /// Everything, by the old rule.
    pub const SYS_ADMIN: u32 = 21;
    /// Reading the kernel's log and its addresses.
    pub const SYSLOG: u32 = 34;
    /// Sampling and counting the whole machine (Linux 5.8).
    pub const PERFMON: u32 = 38;
    /// Loading BPF programs (Linux 5.8).
    pub const BPF: u32 = 39;

    /// True when it holds the capability of that number.
    pub const fn has(self, number: u32) -> bool {
        self.0 >> number & 1 == 1
    }

    /// True when it holds that one or the old one for everything.
    pub const fn allows(self, number: u32) -> bool {
        self.has(number) || self.has(Self::SYS_ADMIN)
    }
}

/// All that the ladder is judged by.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// `/proc` or `/sys`, where it is not mounted.
    pub unmounted: Option<&'static str>,
    /// The release of the kernel, as `uname -r` says.
    pub release: String,
    /// The effective user is root.
    pub root: bool,
    /// The capabilities that the process has now.
    pub effective: Capabilities,
    /// Capabilities that a program started from here can ever hold.
    pub bounding: Capabilities,
    /// `no_new_privs`: `sudo` and `setcap` have no effect below this process.
    pub no_new_privileges: bool,
    /// A seccomp filter watches the system calls.
    pub seccomp: bool,
    /// Kind of container, as far as it tells: `docker`, `a user namespace`.
    pub container: Option<String>,
    /// A hypervisor is below; without a counting unit, that is why.
    pub hypervisor: bool,
    /// `kernel.perf_event_paranoid`; `None` when the kernel has no perf events.
    pub paranoid: Option<i32>,
    /// The setting `kernel.kptr_restrict`.
    pub kptr_restrict: Option<i32>,
    /// `kernel.unprivileged_bpf_disabled`; `None` when the kernel has no BPF system call.
    pub unprivileged_bpf_disabled: Option<i32>,
    /// `integrity`, `confidentiality`, `none`; `None` when securityfs does not say.
    pub lockdown: Option<String>,
    /// The kernel describes its types in `/sys/kernel/btf/vmlinux`.
    pub types: bool,
    /// `/proc/kallsyms` shows addresses.
    pub symbols: bool,
    /// Share of CPU time that the hypervisor took since boot.
    pub steal: f64,
    /// Kernel samples of our own process.
    pub own_samples: Attempt,
    /// Samples of the whole machine.
    pub all_samples: Attempt,
    /// A BPF program on a tracepoint.
    pub tracing: Attempt,
    /// Cycles and instructions.
    pub hardware: Attempt,
}
