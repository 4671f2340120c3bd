//! Why did a program fail? A number alone does not say it, and the kernel's log often does.

/// Signals that end programs, by their numbers on x86-64.
const SIGNALS: [(i32, &str); 9] = [
    (4, "SIGILL"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (15, "SIGTERM"),
    (31, "SIGSYS"),
];

/// Explains an exit code by what the kernel said meanwhile, or by the signal behind it.
pub(super) fn why(code: i32, messages: &[String]) -> Option<String> {
    if code == 0 {
        return None;
    }
    let first = |told: fn(&str) -> Option<String>| messages.iter().find_map(|message| told(message));
    let signal =
        || SIGNALS.iter().find(|(number, _)| *number == code - 128).map(|(_, name)| (*name).to_owned());
    first(out_of_memory).or_else(|| first(fault)).or_else(signal)
}

/// Explains `Out of memory: Killed process 83 (mariadbd) total-vm:..`, also of a control group alone.
fn out_of_memory(message: &str) -> Option<String> {
    let (head, rest) = message.split_once("ut of memory: Killed process ")?;
    let name = rest.split_once('(')?.1.split_once(')')?.0;
    Some(match head {
        "O" => format!("out of memory: the kernel killed {name}; give the machine more with --memory-mib"),
        _ => format!("out of memory: the kernel killed {name}, whose control group may have no more"),
    })
}

/// Explains `postgres[85]: segfault at 0 ip ..`, and `traps: postgres[85] general protection fault ip:..`.
fn fault(message: &str) -> Option<String> {
    let text = message.strip_prefix("traps: ").unwrap_or(message);
    let (name, rest) = text.split_once('[')?;
    let what = rest.split_once(']')?.1.trim_start_matches(':').trim_start();
    let is_fault = ["segfault at ", "general protection"].iter().any(|begin| what.starts_with(begin));
    is_fault.then(|| format!("SIGSEGV in {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: i32, message: &str) -> Option<String> {
        why(code, &["random: crng init done".to_owned(), message.to_owned()])
    }

    #[test]
    fn the_kernels_word_for_it_comes_before_the_signal() {
        let killed = "Out of memory: Killed process 83 (mariadbd) total-vm:1kB, anon-rss:1kB";
        let expected = "out of memory: the kernel killed mariadbd; give the machine more with --memory-mib";
        assert_eq!(said(137, killed).as_deref(), Some(expected));
        // The shell that waited for it in vain.
        assert_eq!(said(1, killed).as_deref(), Some(expected));
        assert_eq!(said(0, killed), None, "it did not fail");
        let group = said(137, "Memory cgroup out of memory: Killed process 9 (postmark) total-vm:1kB");
        assert_eq!(
            group.as_deref(),
            Some("out of memory: the kernel killed postmark, whose control group may have no more")
        );
        let fault = said(139, "postgres[85]: segfault at 0 ip 000055 sp 00007f error 4 in postgres[55+1]");
        assert_eq!(fault.as_deref(), Some("SIGSEGV in postgres"));
        let fault = said(139, "traps: fio[12] general protection fault ip:55 sp:7f error:0 in fio[55+1]");
        assert_eq!(fault.as_deref(), Some("SIGSEGV in fio"));
    }

    #[test]
    fn a_signal_has_its_name_and_an_exit_code_none() {
        assert_eq!(said(137, "EXT4-fs (sim0): mounted").as_deref(), Some("SIGKILL"));
        assert_eq!(said(139, "").as_deref(), Some("SIGSEGV"));
        assert_eq!([said(1, ""), said(127, ""), said(128, ""), said(255, "")], [None, None, None, None]);
    }
}
