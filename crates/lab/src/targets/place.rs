//! A device of the lab that a study holds: one boot, in which the guest asks for one job after another.
//!
//! ```text
//!   study ── run ──► LabPlace ── order ──► (the guest stands still until it is there) ──► far side: Occupied ── run
//!              ◄── measured ──── a line of the guest's ◄────────────────────────────────────┘
//! ```
//!
//! A thread of ours boots and hears; what it hears of goes to whoever waits. Between two jobs no time passes in the guest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use iostack_model::quoted;
use iostack_model::{Bytes, Inside, Job, Ladder, Nanos, Outcome, Storage, TargetName};
use iostack_target::{
    About, Audience, How, Measured, MergeAsked, MergeFound, On, Place, Prepared, RunClock, Session, Target,
    Wanted, Wishes, read_json, reseeded,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LIVE, Wire, as_target, caveat, settle, value};
use crate::devices::{Device, Store};
use crate::guest::{self, Message, Work};
use crate::host::machine::Accelerator;
use crate::outside::{HeldQuestion, Outside, SEED, Wish, machine_takes};
use crate::{Lab, Request};

/// Key that tells the order for a place from others.
const HELD: &str = "held";

/// So often it is looked whether all is to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Four ticks of the guest's kernel.
const SHORTEST: Nanos = Nanos::millis(16);

/// Order to a guest that holds a place.
#[derive(Serialize, Deserialize)]
enum PlaceOrder {
    Run(Box<Job>, How),
    Merge(Box<MergeAsked>),
    Keep(Bytes),
}

/// Message of a boot to who waits.
enum GuestNews {
    Said(String),
    /// A value of the guest's: its name, and what it is.
    Told(String, String),
    /// No more comes; why, where it should have.
    Over(Option<anyhow::Error>),
}

const ENDED: &str = "the guest has ended";

/// A device of the lab, held.
pub(super) struct LabPlace {
    about: About,
    ladder: Ladder,
    guest: Guest,
}

impl LabPlace {
    /// Boots, and waits until the guest holds its device. `words` are the flags that a command with this target has.
    pub(super) fn new(
        name: &TargetName,
        request: &Request,
        words: &[(&str, String)],
        wishes: &Wishes,
        audience: &dyn Audience,
    ) -> anyhow::Result<LabPlace> {
        refuse_host_time(request)?;
        let guest = Guest::boot(request, wishes)?;
        let (mut about, ladder): (About, Ladder) = guest.wait("held", audience)?;
        about.name = name.clone();
        // Every clock of the guest counts instructions, one a clock.
        let cpu = &mut about.machine.cpu;
        (cpu.tsc_invariant, cpu.tsc_hz) = (true, guest.clock_hz());
        if let Some(disk) = about
            .storage
            .devices
            .first_mut()
            .filter(|disk| disk.driver.is_empty() || disk.driver == "unknown")
        {
            disk.driver.clone_from(&guest.request.device);
        }
        as_called(&mut about.place, name, words);
        Ok(LabPlace { about, ladder, guest })
    }

    fn measure(&self, job: &Job, how: How, audience: &dyn Audience) -> anyhow::Result<Measured> {
        self.guest.order(&PlaceOrder::Run(Box::new(job.clone()), how))?;
        let came: Result<Measured, String> = self.guest.wait("measured", audience)?;
        let mut measured = came.map_err(anyhow::Error::msg)?;
        let outcome = &mut measured.outcome;
        as_target(outcome, &self.guest.request, &self.about.machine.kernel.release);
        let (inside, full) = self.guest.inside(outcome)?;
        measured.notes.extend(full.map(str::to_owned));
        outcome.inside = inside;
        // The kernel counts its processors' time in hundredths of a second, as long as many a run here.
        let busy = outcome.cpu.total().as_secs_f64() / outcome.elapsed.as_secs_f64().max(1e-9);
        outcome.cpu.machine_busy = (busy / f64::from(self.about.place.cores)).min(1.0);
        let clocks = outcome.cpu.total().as_secs_f64() * self.guest.clock_hz() as f64;
        outcome.cpu.clocks_per_io = clocks / outcome.ios().max(1) as f64;
        Ok(measured)
    }
}

/// One job in turns with another's, with a draw of its own each time.
pub(super) struct Turns {
    pub(super) place: LabPlace,
    pub(super) job: Job,
}

impl Prepared for Turns {
    fn name(&self) -> TargetName {
        self.place.about.name.clone()
    }

    fn storage(&self) -> Storage {
        self.place.about.storage.clone()
    }

    fn run(
        &self,
        seed: Option<u64>,
        wanted: Wanted,
        audience: &dyn Audience,
    ) -> anyhow::Result<Vec<Outcome>> {
        let how = How { on: On::Target, look: wanted };
        let [job] = &reseeded(std::slice::from_ref(&self.job), seed)[..] else { bail!("one job is one") };
        Ok(vec![self.place.measure(job, how, audience)?.outcome])
    }
}

/// Names the place as a command out here does.
fn as_called(place: &mut Place, name: &TargetName, words: &[(&str, String)]) {
    let with = |left_out: &str| {
        let words = words.iter().filter(|(flag, _)| *flag != left_out);
        let words = words.flat_map(|(flag, value)| [(*flag).to_owned(), quoted(value)]);
        let all = std::iter::once(quoted(&name.to_string())).chain(words);
        all.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    (place.clock, place.shortest) = (RunClock::Virtual, SHORTEST);
    (place.on, place.end) = (with(""), String::new());
    place.scheduler_command = format!("iostack check {} --scheduler {{}}", with("--scheduler"));
}

impl Session for LabPlace {
    fn about(&self) -> &About {
        &self.about
    }

    fn ladder(&self) -> Ladder {
        self.ladder.clone()
    }

    fn run(&self, job: &Job, how: How, audience: &dyn Audience) -> Result<Measured, String> {
        self.measure(job, how, audience).map_err(|error| format!("{error:#}"))
    }

    fn merge(&self, asked: &MergeAsked, audience: &dyn Audience) -> anyhow::Result<MergeFound> {
        self.guest.order(&PlaceOrder::Merge(Box::new(asked.clone())))?;
        let came: Result<MergeFound, String> = self.guest.wait("merged", audience)?;
        let mut found = came.map_err(anyhow::Error::msg)?;
        found.caveats.push(caveat(&self.guest.request, &self.about.machine.kernel.release));
        Ok(found)
    }

    fn keep(&mut self, region: Bytes) {
        let place = &mut self.about.place;
        (place.region, place.to_fill) = (region, None);
        // A guest that has ended says so to the next job.
        let _ = self.guest.order(&PlaceOrder::Keep(region));
    }
}

/// A boot of which one hears.
struct Guest {
    request: Request,
    asks: Option<Sender<HeldQuestion>>,
    hears: Receiver<GuestNews>,
    stop: Arc<AtomicBool>,
    boots: Option<JoinHandle<()>>,
}

impl Guest {
    fn boot(request: &Request, wishes: &Wishes) -> anyhow::Result<Guest> {
        let request = Request {
            accelerator: Accelerator::Exact,
            processors: 1,
            other_schedulers: Device::with_source(&request.device, request.source.as_deref())?.queue,
            ..request.clone()
        };
        let ((asks, asked), (told, hears)) = (channel(), channel());
        let wish = Wish { seed: SEED, asked: Some(asked), ..Wish::default() };
        let outside = request.bring(wish)?;
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let (request, stop, wishes) = (request.clone(), Arc::clone(&stop), *wishes);
            move || {
                let over = boot(&request, outside, &wishes, &stop, &told).err();
                // Nobody may be waiting any more.
                let _ = told.send(GuestNews::Over(over));
            }
        };
        let boots = Some(std::thread::spawn(thread));
        Ok(Guest { request, asks: Some(asks), hears, stop, boots })
    }

    /// Instructions of the emulated processor a second.
    fn clock_hz(&self) -> u64 {
        self.request.khz.map_or(1_000_000_000, |khz| u64::from(khz) * 1000)
    }

    fn ask(&self, what: HeldQuestion) -> anyhow::Result<()> {
        let asks = self.asks.as_ref().context(ENDED)?;
        asks.send(what).map_err(|_| anyhow!(ENDED))
    }

    fn order(&self, next: &PlaceOrder) -> anyhow::Result<()> {
        self.ask(HeldQuestion::Order(serde_json::to_vec(next)?))
    }

    fn inside(&self, outcome: &Outcome) -> anyhow::Result<(Option<Inside>, Option<&'static str>)> {
        let (tell, told) = channel();
        self.ask(HeldQuestion::Inside(Box::new(outcome.clone()), tell))?;
        let (mut inside, full) = told.recv().context(ENDED)?;
        if let Some(inside) = &mut inside {
            inside.changed.extend(self.request.between());
        }
        Ok((inside, full))
    }

    /// Waits for the value of this name; the audience hears of the rest.
    fn wait<T: DeserializeOwned>(&self, wanted: &str, audience: &dyn Audience) -> anyhow::Result<T> {
        loop {
            match self.hears.recv_timeout(LOOK_EVERY) {
                Ok(GuestNews::Said(text)) => audience.say(&text),
                Ok(GuestNews::Told(name, text)) if name == wanted => {
                    return read_json(&text)
                        .with_context(|| format!("what the guest `{wanted}` cannot be read"));
                }
                Ok(GuestNews::Told(name, text)) if name == LIVE => audience.live(&text),
                Ok(GuestNews::Told(..)) => {}
                Ok(GuestNews::Over(why)) => return Err(why.unwrap_or_else(|| anyhow!(ENDED))),
                Err(RecvTimeoutError::Timeout) => {
                    // Then the emulator is ended, and that is heard.
                    self.stop.fetch_or(audience.stop().load(Ordering::Relaxed), Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Disconnected) => bail!(ENDED),
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.asks = None;
        if let Some(boots) = self.boots.take() {
            let _ = boots.join();
        }
    }
}

/// Devices of the emulator work in this machine's time, which the guest's clock knows nothing of.
pub(super) fn takes_host_time(request: &Request) -> anyhow::Result<bool> {
    Ok(Device::with_source(&request.device, request.source.as_deref())?.store == Store::Emulator)
}

fn refuse_host_time(request: &Request) -> anyhow::Result<()> {
    ensure!(
        !takes_host_time(request)?,
        "the emulator's `{0}` takes time of this machine and not of the lab's clock, so that no figure of it would say \
         anything; count its instructions (iostack lab cost {0}), or name a drive that keeps time: lab:sim:x25e",
        request.device
    );
    Ok(())
}

fn boot(
    request: &Request,
    mut outside: Option<Box<dyn Outside>>,
    wishes: &Wishes,
    stop: &AtomicBool,
    told: &Sender<GuestNews>,
) -> anyhow::Result<()> {
    // Who does not wait does not hear.
    let tell = |heard| drop(told.send(heard));
    let say = |text: &str| tell(GuestNews::Said(text.to_owned()));
    let lab = Lab::open(&say, stop)?;
    let order = json!({ HELD: wishes });
    let booted =
        lab.boot(request, Work::Job(order), machine_takes(outside.as_mut()), &mut |message| match message {
            Message::Hello(release) => say(&format!("Linux {release} is up")),
            Message::Value { name, value: Value::String(text) } => {
                tell(GuestNews::Told(name.clone(), text.clone()));
            }
            Message::Value { name, value } => tell(GuestNews::Told(name.clone(), value.to_string())),
            _ => {}
        })?;
    for line in &booted.complaints {
        say(&format!("the guest's kernel complained: {line}"));
    }
    outside.map_or(Ok(()), Outside::end)
}

/// True when the order is to hold a place.
pub(super) fn is_meant(order: &Value) -> bool {
    order.get(HELD).is_some()
}

/// The far side: holds the place, and does with it what it is told until that is all.
pub(super) fn run(order: &Value, target: &dyn Target) -> Result<(), String> {
    let wishes: Wishes = read_json(&order[HELD].to_string()).map_err(|error| error.to_string())?;
    let mut session = target.occupy(&wishes, &Wire).map_err(|error| format!("{error:#}"))?;
    tell("held", &(session.about(), session.ladder()))?;
    while let Some(text) = guest::next_order()? {
        match read_json(&text).map_err(|error| error.to_string())? {
            PlaceOrder::Keep(region) => session.keep(region),
            PlaceOrder::Run(job, how) => {
                settle()?;
                tell("measured", &session.run(&job, how, &Wire))?;
            }
            PlaceOrder::Merge(asked) => {
                let found = session.merge(&asked, &Wire);
                tell("merged", &found.map_err(|error| format!("{error:#}")))?;
            }
        }
    }
    Ok(())
}

fn tell(name: &str, what: &impl Serialize) -> Result<(), String> {
    value(name, serde_json::to_value(what).map_err(|error| error.to_string())?);
    Ok(())
}
