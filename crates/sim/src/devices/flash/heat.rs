//! How warm does the drive get, and what does it do about it? Watts of work warm it, time cools it, and from a limit on it holds
//! commands back.
//!
//! Flash and air are a resistance (degrees for each watt) and a capacity, which together have a time constant: between two pieces
//! of work the excess falls as exp(-t / tau), each piece adds its energy times resistance / tau, and constant power P leads to P times
//! the resistance. What is held back waits in the firmware: data of commands passes at `heat.rate`, one after the other.

use std::iter::once;

use iostack_model::ResourceUse;

use super::die::Phase;
use crate::devices::parameter::Pace;
use crate::engine::{Server, Time, usage};
use crate::sheet::{Sheet, SheetError};

#[derive(Clone, Debug)]
pub(super) struct Heat {
    /// Degrees from which on commands are held back, and those at which they no longer are.
    limit: f64,
    resume: f64,
    pace: Pace,
    gate: Server,
    holds: bool,
    /// Degrees without any work.
    idle: f64,
    /// Time constant, ns, and degrees by a watt for a ns.
    constant: f64,
    step: f64,
    /// Watts of a die that senses, programs, erases.
    watts: [f64; 3],
    /// Degrees more than without work, at a time.
    excess: f64,
    at: Time,
}

impl Heat {
    pub(super) fn from_sheet(sheet: &Sheet) -> Result<Option<Heat>, SheetError> {
        if !sheet.has("heat.limit") {
            return Ok(None);
        }
        let limit = sheet.number("heat.limit")?;
        let resume = limit - sheet.number("heat.hysteresis")?;
        let resistance = sheet.number("heat.resistance")?;
        let idle = sheet.number("heat.ambient")? + resistance * sheet.number("heat.idle")?;
        if idle >= resume {
            let what = format!("without any work it has {idle:.1}, and would hold commands back for ever");
            return Err(sheet.refuse("heat.limit", &what, "give more, or less heat.hysteresis"));
        }
        let constant = sheet.time("heat.constant")?.0 as f64;
        if constant < 1.0 {
            return Err(sheet.refuse("heat.constant", "warming takes time", "write it like 100s"));
        }
        let watts = ["heat.sense", "heat.program", "heat.erase"].map(|key| sheet.number(key));
        let [sense, program, erase] = watts;
        Ok(Some(Heat {
            limit,
            resume,
            pace: Pace::from_sheet(sheet, "heat.rate")?,
            gate: Server::default(),
            holds: false,
            idle,
            constant,
            step: resistance / constant,
            watts: [sense?, program?, erase?],
            excess: 0.0,
            at: 0,
        }))
    }

    fn cool(&mut self, now: Time) {
        self.excess *= (-((now - self.at) as f64) / self.constant).exp();
        self.at = now;
    }

    /// A die works for so long; less than nothing when it was interrupted.
    pub(super) fn work(&mut self, phase: Phase, now: Time, time: f64) {
        let watts = match phase {
            Phase::Sensing | Phase::MoveSensing | Phase::FoldSensing | Phase::Patrol | Phase::Table => {
                self.watts[0]
            }
            Phase::Programming | Phase::MoveProgramming | Phase::FoldProgramming => self.watts[1],
            Phase::Erasing | Phase::FoldErasing | Phase::Resetting => self.watts[2],
            _ => return,
        };
        self.cool(now);
        self.excess += watts * time * self.step;
    }

    /// Moment at which a command with so much data passes, which comes now.
    pub(super) fn pass(&mut self, now: Time, bytes: u64) -> Time {
        self.cool(now);
        self.holds = self.degrees() >= if self.holds { self.resume } else { self.limit };
        if self.holds { self.gate.serve(now, self.pace.time(bytes)) } else { now }
    }

    /// Degrees when it last worked or was asked.
    pub(super) fn degrees(&self) -> f64 {
        self.idle + self.excess
    }

    pub(super) fn begin(&mut self, now: Time) {
        self.gate.account.begin(now);
    }

    pub(super) fn usage(&self, now: Time) -> ResourceUse {
        usage("throttle", once(&self.gate.account), now)
    }
}
