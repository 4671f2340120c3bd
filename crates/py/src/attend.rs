//! Who waits for a run in Python? The thread that asked: it looks for Ctrl-C, passes on what is said, and holds no lock meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iostack_model::{Nanos, Progress};
use iostack_target::Audience;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::prelude::*;

use crate::answer::Answer;
use crate::door::ThreadWork;

create_exception!(iostack, Error, PyException, "What could not be done, in the words of the command line.");
create_exception!(
    iostack,
    Interrupted,
    PyKeyboardInterrupt,
    "Ctrl-C ended a run; `partial` is what came of it until then, or None."
);

/// Time between two looks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// An error with its causes, as the command line prints it.
#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub(crate) fn error(error: anyhow::Error) -> PyErr {
    Error::new_err(format!("{error:#}"))
}

/// Something that was said: `live`, `say` or `warn`, and the words.
type Said = (&'static str, String);

/// Passes on what is said, from whatever thread.
pub(crate) struct PythonAudience {
    stop: Arc<AtomicBool>,
    said: Sender<Said>,
    watches: bool,
}

impl PythonAudience {
    /// Nobody hears it any more when the one who asked went away.
    fn tell(&self, kind: &'static str, text: impl Into<String>) {
        let _ = self.said.send((kind, text.into()));
    }
}

impl Audience for PythonAudience {
    fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    fn watches(&self) -> bool {
        self.watches
    }

    fn progress(&self, progress: &Progress) {
        self.live(&iostack_report::text::live(progress));
    }

    fn point(&self, series: &str, label: &str, elapsed: Nanos, whole: Nanos) {
        let [elapsed, whole] = [elapsed, whole].map(Nanos::as_secs_f64);
        self.live(&format!("[{elapsed:>3.0} s of {whole:>3.0} s] {series}, {label}"));
    }

    fn live(&self, text: &str) {
        if self.watches {
            self.tell("live", text);
        }
    }

    fn say(&self, line: &str) {
        self.tell("say", line);
    }

    fn warn(&self, line: &str) {
        self.tell("warn", line);
    }
}

/// Runs the work in a thread of its own and waits for it.
pub(crate) fn attend(listener: &Bound<'_, PyAny>, watches: bool, work: ThreadWork) -> PyResult<Answer> {
    let py = listener.py();
    let (said, hears) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let teller = PythonAudience { stop: stop.clone(), said, watches };
    let working = std::thread::Builder::new().name("iostack".to_owned()).spawn(move || work(&teller))?;
    let stopped = wait(listener, &Mutex::new(hears), &stop)?;
    let done = py.detach(|| working.join());
    let done =
        done.map_err(|_| Error::new_err("a defect of iostack ended the run; standard error says where"))?;
    match (stopped, done) {
        (None, done) => done.map(Answer::new).map_err(error),
        // A listener that failed.
        (Some(raised), _) if !raised.is_instance_of::<PyKeyboardInterrupt>(py) => Err(raised),
        (Some(_), Ok(kept)) => {
            Err(interrupted(py, Some(Answer::new(kept)), "interrupted; `partial` has what was done"))
        }
        (Some(_), Err(why)) => Err(interrupted(py, None, &format!("interrupted; {why:#}"))),
    }
}

fn interrupted(py: Python<'_>, partial: Option<Answer>, text: &str) -> PyErr {
    let raised = Interrupted::new_err(text.to_owned());
    match raised.value(py).setattr("partial", partial) {
        Ok(()) => raised,
        Err(other) => other,
    }
}

/// Waits for the end of the work and passes on what is said. An exception of a signal or of the listener ends the work; a second
/// signal ends the wait.
fn wait(
    listener: &Bound<'_, PyAny>,
    hears: &Mutex<Receiver<Said>>,
    stop: &AtomicBool,
) -> PyResult<Option<PyErr>> {
    let (py, mut stopped) = (listener.py(), None);
    let hear = || hears.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(LOOK_EVERY);
    loop {
        let told = match py.detach(hear) {
            Err(RecvTimeoutError::Disconnected) => return Ok(stopped),
            Ok((kind, text)) if stopped.is_none() => listener.call1((kind, text)).map(drop),
            Ok(_) | Err(RecvTimeoutError::Timeout) => Ok(()),
        };
        if let Err(raised) = told.and_then(|()| py.check_signals()) {
            if stop.swap(true, Ordering::Relaxed) {
                return Err(raised);
            }
            stopped = Some(raised);
        }
    }
}
