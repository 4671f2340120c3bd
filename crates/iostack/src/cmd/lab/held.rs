//! Costs that are held to a file of budgets.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use iostack_attribute::classify::Rules;
use iostack_lab::cost::budget::{self, Budget};
use iostack_lab::devices::Device;
use iostack_lab::host::folder;
use iostack_lab::targets::LabFlags;
use iostack_model::answers::{BudgetVerdict, IoCost};
use iostack_validation::count::spec::Spec;

/// The budgets of a file.
pub(super) struct Budgets {
    file: PathBuf,
    pub(super) all: Vec<Budget>,
}

impl Budgets {
    pub(super) fn read(file: &Path) -> anyhow::Result<Budgets> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", file.display()))?;
        let all = budget::parse(&text).with_context(|| format!("`{}`", file.display()))?;
        let known: Vec<&str> = Rules::built_in().layers().iter().map(|(name, _)| name.as_str()).collect();
        for (budget, layer) in
            all.iter().flat_map(|one| one.layers.keys().map(move |layer| (&one.name, layer)))
        {
            ensure!(
                known.contains(&layer.as_str()),
                "`{}`: [[cost]] `{budget}` names a layer `{layer}`, which is none and would always hold; choose from {}",
                file.display(),
                known.join(", ")
            );
        }
        Ok(Budgets { file: file.to_owned(), all })
    }

    /// A case for each, on the kernel and with the source that the flags name.
    pub(super) fn specs(&self, lab: &LabFlags, ios: u32) -> anyhow::Result<Vec<Spec>> {
        let whose = lab.source.as_deref().map(|source| self.whose(source)).transpose()?;
        let specs: Vec<Spec> =
            self.all.iter().map(|budget| of_budget(budget, lab, ios, whose.as_deref())).collect();
        for spec in &specs {
            spec.request()?;
        }
        Ok(specs)
    }

    /// Keeps those of the device that a source is of.
    pub(super) fn only(mut self, source: &Path) -> anyhow::Result<Budgets> {
        let whose = self.whose(source)?;
        self.all.retain(|budget| budget.device == whose);
        Ok(self)
    }

    /// One for each cost.
    pub(super) fn verdicts(&self, costs: &[IoCost]) -> Vec<BudgetVerdict> {
        self.all.iter().zip(costs).map(|(budget, cost)| budget::check(budget, cost)).collect()
    }

    /// The device that a source is of. It must have a budget: costs that were counted without the source would say
    /// nothing of it.
    fn whose(&self, source: &Path) -> anyhow::Result<String> {
        let built = folder::modules(source)?;
        let mut devices: Vec<&str> = self.all.iter().map(|budget| budget.device.as_str()).collect();
        devices.dedup();
        match devices.iter().find(|device| Device::with_source(device, Some(source)).is_ok()) {
            Some(device) => Ok((*device).to_owned()),
            None => bail!(
                "`{}` is the source of {}, and `{}` has costs of {} only; leave out --source, or name another file",
                source.display(),
                built.join(", "),
                self.file.display(),
                devices.join(", ")
            ),
        }
    }
}

fn of_budget(budget: &Budget, lab: &LabFlags, ios: u32, whose: Option<&str>) -> Spec {
    let lab = LabFlags {
        kernel: Some(lab.kernel.clone().unwrap_or_else(|| budget.kernel.clone())),
        file_system: budget.file_system.clone(),
        scheduler: Some(budget.scheduler.clone()),
        mitigations: budget.mitigations,
        tracepoint: budget.tracepoints.clone(),
        source: lab.source.clone().filter(|_| whose == Some(budget.device.as_str())),
        ..lab.clone()
    };
    Spec {
        device: budget.device.clone(),
        set: budget.options.iter().map(|(name, value)| format!("{name}={value}")).collect(),
        lab,
        direction: budget.direction,
        way: budget.engine.parse().expect("the file was checked"),
        buffered: budget.buffered,
        block_bytes: budget.block_bytes,
        ios,
    }
}
