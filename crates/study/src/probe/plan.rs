//! Which questions are asked, in which order, and how long do they take? Pure.

use iostack_model::answers::ProbeFinding;
use iostack_model::{Effort, Nanos};
use iostack_target::Place;

use super::finding::ProbeSubject;
use super::measure::{Prober, stretch};
use super::{ahead, background, buffer, caps, parallel, slc, spare, stripe, unit};

/// Findings that are read off the same measurements.
pub(crate) struct Question {
    pub(crate) title: &'static str,
    /// Time by the wall's clock at default effort, s.
    seconds: f64,
    pub(crate) writes: bool,
    /// Left out when there is little time.
    long: bool,
    /// Subjects of its findings, for when it is not asked.
    pub(crate) subjects: &'static [ProbeSubject],
    pub(crate) ask: fn(&mut Prober<'_>) -> Vec<ProbeFinding>,
}

const OF_READS: &[ProbeSubject] = &{
    let [a, b, c, d] = parallel::SIZES;
    [a.1, a.2, b.1, b.2, c.1, c.2, d.1, d.2]
};

/// Reads first; what changes the drive most comes last.
pub(crate) const QUESTIONS: [Question; 8] = [
    Question {
        title: "reads over depth, by size",
        seconds: 16.0,
        writes: false,
        long: false,
        subjects: OF_READS,
        ask: parallel::ask,
    },
    Question {
        title: "limits, and what comes back",
        seconds: 9.0,
        writes: false,
        long: false,
        subjects: &[caps::IOPS, caps::BYTES, caps::COMMAND, caps::LINK, caps::BURST, background::DIPS],
        ask: caps::ask,
    },
    Question {
        title: "reads at distances",
        seconds: 9.0,
        writes: false,
        long: false,
        subjects: &[stripe::STRIPE],
        ask: stripe::ask,
    },
    Question {
        title: "reads in order, and again",
        seconds: 4.0,
        writes: false,
        long: false,
        subjects: &[ahead::AHEAD, ahead::CACHE],
        ask: ahead::ask,
    },
    Question {
        title: "durable writes, by size and place",
        seconds: 7.0,
        writes: true,
        long: false,
        subjects: &[unit::UNIT, unit::FLUSH],
        ask: unit::ask,
    },
    Question {
        title: "a burst of writes",
        seconds: 12.0,
        writes: true,
        long: false,
        subjects: &[buffer::BUFFER, buffer::DRAIN, buffer::PROGRAM],
        ask: buffer::ask,
    },
    Question {
        title: "writes in order, without end",
        seconds: slc::SECONDS + slc::RECOVERY_SECONDS,
        writes: true,
        long: true,
        subjects: &[slc::SLC, slc::RECOVERY],
        ask: slc::ask,
    },
    Question {
        title: "random writes, without end",
        seconds: spare::SECONDS,
        writes: true,
        long: true,
        subjects: &[spare::SPARE, spare::COLLECTOR],
        ask: spare::ask,
    },
];

impl Question {
    /// Time that it takes, by the wall's clock.
    pub(crate) fn time(&self, effort: Effort) -> Nanos {
        Nanos((self.seconds * stretch(effort) * 1e9) as u64)
    }

    /// The reason why it is not asked.
    pub(crate) fn left_out(&self, place: &Place, effort: Effort) -> Option<String> {
        if self.writes && !place.writable {
            return Some(
                "it takes writes, and only reads are allowed here: name a directory, or pass --destroy-data"
                    .to_owned(),
            );
        }
        (self.long && effort == Effort::Quick).then(|| "left out by --quick: it writes for long".to_owned())
    }

    /// Its findings when it is not asked.
    pub(crate) fn not_asked(&self, reason: &str) -> Vec<ProbeFinding> {
        self.subjects.iter().map(|subject| subject.untold(reason)).collect()
    }
}

/// Time of all that are asked.
pub(crate) fn whole(place: &Place, effort: Effort) -> Nanos {
    let asked = QUESTIONS.iter().filter(|question| question.left_out(place, effort).is_none());
    Nanos(asked.map(|question| question.time(effort).0).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::planned::place_for_tests;

    #[test]
    fn a_probe_takes_less_than_three_minutes_and_the_quick_one_less_than_half_of_one() {
        let place = place_for_tests();
        // Filling a scratch file comes before.
        assert!(whole(&place, Effort::Default) < Nanos::secs(160));
        assert!(whole(&place, Effort::Quick) < Nanos::secs(15));
    }

    #[test]
    fn a_place_that_is_only_read_is_asked_no_question_that_writes_and_each_says_why() {
        let place = Place { writable: false, ..place_for_tests() };
        let written = QUESTIONS.iter().filter(|question| question.writes);
        for question in written {
            let reason = question.left_out(&place, Effort::Full).expect("it is left out");
            assert!(question.not_asked(&reason).iter().all(|finding| finding.value.is_none()), "{reason}");
        }
    }
}
