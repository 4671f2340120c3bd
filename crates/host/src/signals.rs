//! How does a run end early?
//!
//! The first SIGINT, SIGTERM or SIGHUP only sets a flag, and whoever runs a load looks at it. A second one means it:
//! scratch files are removed, settings put back, and the process exits with 130 from within the handler. A signal
//! that was ignored when we started (nohup) stays ignored. Start reading at [`stop_flag`].

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{emergency, sys};

/// Exit status after a second signal: 128 + SIGINT, as shells know it.
const EXIT_INTERRUPTED: i32 = 130;

static STOP: AtomicBool = AtomicBool::new(false);
static HUNG_UP: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);
static INSTALL: Once = Once::new();

/// The flag that the first signal sets. The first call installs the handlers.
pub fn stop_flag() -> &'static AtomicBool {
    INSTALL.call_once(|| {
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // The three signals are valid and catchable, and a process may always change its own actions.
            sys::handle(signal, on_signal).expect("SIGINT, SIGTERM and SIGHUP can be handled");
        }
    });
    &STOP
}

/// True when it was SIGHUP that ended the run.
pub fn was_hung_up() -> bool {
    HUNG_UP.load(Ordering::Relaxed)
}

/// Lets SIGINT and SIGTERM end the run also where whoever started us had them ignored, as shells do with what runs in the
/// background: fio obeys them there. Called before [`stop_flag`].
pub fn obey_although_ignored() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        sys::unignore(signal);
    }
}

/// The flag that SIGUSR1 sets: somebody asks what came of the run so far. The call installs the handler.
pub fn ask_flag() -> &'static AtomicBool {
    extern "C" fn ask(_signal: libc::c_int) {
        ASKED.store(true, Ordering::Relaxed);
    }
    // The signal is valid and catchable, as above.
    sys::handle(libc::SIGUSR1, ask).expect("SIGUSR1 can be handled");
    &ASKED
}

/// A write beyond the limit of file sizes (`ulimit -f`) fails with an error, as every other, instead of ending the
/// process. Programs that are started keep their own way.
pub fn fail_beyond_file_limit() {
    extern "C" fn nothing(_signal: libc::c_int) {}
    // The signal is valid and catchable, as above.
    sys::handle(libc::SIGXFSZ, nothing).expect("SIGXFSZ can be handled");
}

extern "C" fn on_signal(signal: libc::c_int) {
    if !STOP.load(Ordering::SeqCst) && signal == libc::SIGHUP {
        HUNG_UP.store(true, Ordering::Relaxed);
    }
    if STOP.swap(true, Ordering::SeqCst) {
        emergency::run();
        sys::say_raw(b"\niostack: stopped at once; scratch files are removed and settings put back\n");
        sys::exit_raw(EXIT_INTERRUPTED);
    }
}
