//! Boots, counts, tabulates: from cases to costs.

mod names;
pub mod spec;

use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Context, anyhow};
use iostack_lab::cost::{Counted, tabulate};
use iostack_lab::counts::Round;
use iostack_lab::guest::{Message, Work};
use iostack_lab::outside;
use iostack_lab::{Booted, Lab, Request};
use iostack_model::answers::{ClockPrices, IoCost};
use iostack_target::Audience;

use names::GuestNames;
use spec::Spec;

/// Counts cases, several boots of each when asked.
pub struct Counter<'a> {
    /// Lab whose machines boot.
    pub lab: Lab<'a>,
    /// Audience that hears of it.
    pub talk: &'a dyn Audience,
    /// Boots of each case.
    pub boots: u32,
    /// Clocks that an instruction of each kind is worth.
    pub prices: ClockPrices,
}

/// Cases that one boot serves.
struct BootGroup<'a> {
    request: Request,
    specs: Vec<(usize, &'a Spec)>,
}

impl Counter<'_> {
    /// The cost of each case, in their order. Cases that differ only in the I/O share a boot.
    pub fn count(&self, specs: &[Spec]) -> anyhow::Result<Vec<IoCost>> {
        self.each(specs, false)?.into_iter().collect()
    }

    /// The same; a boot that fails is the failure of its own cases when the others are to `go_on`.
    pub fn each(&self, specs: &[Spec], go_on: bool) -> anyhow::Result<Vec<anyhow::Result<IoCost>>> {
        let groups = groups(specs)?;
        let all = groups.len() as u32 * self.boots;
        let begun = Instant::now();
        let mut costs = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            let done = number as u32 * self.boots;
            let booted: anyhow::Result<Vec<Booted>> =
                (0..self.boots).map(|boot| self.boot(group, done + boot, all, begun)).collect();
            if self.talk.stop().load(Ordering::Relaxed) || !go_on {
                costs.extend(self.of_group(group, &booted?));
                continue;
            }
            match booted {
                Ok(booted) => {
                    costs.extend(self.of_group(group, &booted).into_iter().inspect(|(index, cost)| {
                        if let Err(error) = cost {
                            self.talk.warn(&format!("{}: {error:#}", specs[*index].command()));
                        }
                    }));
                }
                Err(error) => {
                    self.talk.warn(&format!("{}: {error:#}", group.request.device));
                    let why = format!("{error:#}");
                    costs.extend(group.specs.iter().map(|&(index, _)| (index, Err(anyhow!("{why}")))));
                }
            }
        }
        self.talk.clear();
        costs.sort_by_key(|(index, _)| *index);
        Ok(costs.into_iter().map(|(_, cost)| cost).collect())
    }

    fn of_group(&self, group: &BootGroup<'_>, booted: &[Booted]) -> Vec<(usize, anyhow::Result<IoCost>)> {
        let specs = group.specs.iter().enumerate();
        specs
            .map(|(place, &(index, spec))| (index, self.tabulate(spec, &group.request, booted, place)))
            .collect()
    }

    fn boot(&self, group: &BootGroup<'_>, done: u32, all: u32, begun: Instant) -> anyhow::Result<Booted> {
        let title = format!("{} on Linux {}", group.request.device, group.request.kernel);
        let left = match done {
            0 => "about 20 s a boot".to_owned(),
            _ => format!(
                "about {} s left",
                begun.elapsed().as_secs() * u64::from(all - done) / u64::from(done)
            ),
        };
        let tell =
            |what: &str| self.talk.live(&format!("boot {} of {all}: {title}: {what} ({left})", done + 1));
        if !self.talk.watches() {
            self.talk.say(&format!("boot {} of {all}: {title} ({left})", done + 1));
        }
        tell("booting");
        let measures = group.specs.iter().map(|(_, spec)| spec.measure()).collect();
        let booted =
            outside::boot(&self.lab, &group.request, Work::Cost(measures), &mut |message| match message {
                Message::Hello(_) => tell("loading drivers"),
                Message::Step(text) => tell(text),
                _ => {}
            })?;
        for line in &booted.complaints {
            self.talk.warn(&format!("the guest's kernel complained: {line}"));
        }
        Ok(booted)
    }

    fn tabulate(
        &self,
        spec: &Spec,
        request: &Request,
        booted: &[Booted],
        place: usize,
    ) -> anyhow::Result<IoCost> {
        let rounds: Vec<Round> = booted.iter().filter_map(|one| one.rounds.get(place).cloned()).collect();
        let ticks: Vec<u64> =
            booted.iter().filter_map(|one| one.ticks.get(place)).flatten().copied().collect();
        let first = booted.first().context("it was booted once at least")?;
        let mut names = GuestNames::parse(&first.kallsyms, &first.built)?;
        let counted = Counted {
            rounds: &rounds,
            case: spec.case(request, &first.release),
            ticks: &ticks,
            iomem: &first.iomem,
            prices: self.prices,
            how: format!("QEMU {}, TCG: an instruction is a nanosecond", self.lab.qemu.version),
        };
        tabulate(counted, &mut names)
    }
}

fn groups(specs: &[Spec]) -> anyhow::Result<Vec<BootGroup<'_>>> {
    let mut groups: Vec<BootGroup<'_>> = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let request = spec.request()?;
        match groups.iter_mut().find(|group| group.request == request) {
            Some(group) => group.specs.push((index, spec)),
            None => groups.push(BootGroup { request, specs: vec![(index, spec)] }),
        }
    }
    Ok(groups)
}
