//! What is said of bad clients when there are many? A few lines a minute, and how many more there were.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lines that are said in each stretch of time.
const LINES: u32 = 5;
const STRETCH: Duration = Duration::from_mins(1);

/// Says what is wrong with clients.
pub(super) struct Complaints {
    tell: Box<dyn Fn(&str) + Send + Sync>,
    said: Mutex<Said>,
}

/// Count of what was said in the stretch of time that began with the first line.
#[derive(Default)]
struct Said {
    since: Option<Instant>,
    lines: u32,
    unsaid: u64,
}

impl Complaints {
    pub(super) fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Complaints {
        Complaints { tell: Box::new(tell), said: Mutex::default() }
    }

    /// Says a line, or counts it.
    pub(super) fn say(&self, line: &str) {
        self.say_at(Instant::now(), line);
    }

    fn say_at(&self, now: Instant, line: &str) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.since.is_none_or(|since| now.duration_since(since) >= STRETCH) {
            let before = std::mem::take(&mut *said);
            self.say_unsaid(before.unsaid);
            said.since = Some(now);
        }
        if said.lines < LINES {
            said.lines += 1;
            (self.tell)(line);
        } else {
            said.unsaid += 1;
        }
    }

    /// Nothing more comes: says how many lines were not said.
    pub(super) fn finish(&self) {
        let said = std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner));
        self.say_unsaid(said.unsaid);
    }

    fn say_unsaid(&self, unsaid: u64) {
        if unsaid > 0 {
            (self.tell)(&format!("{unsaid} more clients were sent away or cut off"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_few_lines_a_minute_are_said_and_how_many_were_not() {
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let (ears, start) = (Arc::clone(&heard), Instant::now());
        let complaints = Complaints::new(move |line| ears.lock().expect("a line").push(line.to_owned()));
        let lines = || std::mem::take(&mut *heard.lock().expect("a line"));
        (0..LINES).for_each(|_| complaints.say_at(start, "bad"));
        assert_eq!(lines().len(), LINES as usize);
        complaints.say_at(start + Duration::from_nanos(STRETCH.as_nanos() as u64 - 1), "bad");
        assert!(lines().is_empty());
        complaints.say_at(start + STRETCH, "worse");
        assert_eq!(lines(), ["1 more clients were sent away or cut off", "worse"]);
        (0..LINES + 2).for_each(|_| complaints.say_at(start + STRETCH, "bad"));
        complaints.finish();
        complaints.finish();
        assert_eq!(lines().last().map(String::as_str), Some("3 more clients were sent away or cut off"));
    }
}
