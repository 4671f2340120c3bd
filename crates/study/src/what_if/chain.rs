//! From changes to one run a step, each on top of those before it.

use anyhow::{bail, ensure};
use iostack_model::Job;
use iostack_model::answers::WhatIfChange;
use iostack_target::{Description, Targets};
use iostack_workload::suggest;

use crate::sweep::axis::is_parameter;
use crate::sweep::plan::{Base, Runnable, in_order, put};

/// One run of the chain.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) changes: Vec<WhatIfChange>,
    pub(crate) run: Runnable,
}

/// The run as it is, then one a step. What no run could have, and a step that changes nothing, is refused.
pub(crate) fn chain(base: &Base<'_>, steps: &[Vec<(String, String)>]) -> anyhow::Result<Vec<Link>> {
    let mut state = ChainState::new(base)?;
    let mut links = vec![state.link(base, "before".to_owned(), Vec::new())?];
    for step in steps {
        let changes = state.apply(base, step)?;
        links.push(state.link(base, typed(step).join(" "), changes)?);
    }
    Ok(links)
}

/// `KEY=VALUE` of each change.
fn typed(step: &[(String, String)]) -> Vec<String> {
    step.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

/// Target and job as they are after some steps.
struct ChainState {
    changes: Vec<(String, String)>,
    options: Vec<(String, String)>,
    sheet: Description,
    jobs: Vec<Job>,
}

impl ChainState {
    fn new(base: &Base<'_>) -> anyhow::Result<ChainState> {
        let sheet = described(base.targets, base.device, base.changes)?;
        let mut options = base.options.to_vec();
        in_order(&mut options);
        let jobs = Base { options: &options, ..*base }.gathered()?;
        Ok(ChainState { changes: base.changes.to_vec(), options, sheet, jobs })
    }

    /// Changes target and job; what differs then, each as it was and as it is.
    fn apply(&mut self, base: &Base<'_>, step: &[(String, String)]) -> anyhow::Result<Vec<WhatIfChange>> {
        let before = self.sheet.clone();
        let old_options = self.options.clone();
        for (key, value) in step {
            let list = if is_parameter(key) {
                &mut self.changes
            } else {
                check_option(key, base.device)?;
                &mut self.options
            };
            put(list, key, value);
        }
        in_order(&mut self.options);
        self.sheet = described(base.targets, base.device, &self.changes)?;
        let jobs = Base { options: &self.options, ..*base }.gathered()?;
        let mut differs = !are_alike(&jobs, &self.jobs);
        self.jobs = jobs;
        let changes = step.iter().map(|(key, value)| {
            let (old, new) = (before.number(key), self.sheet.number(key));
            differs |= old.zip(new).is_some_and(|(old, new)| !old.is_same(new));
            let typed = old_options.iter().find(|(other, _)| other == key).map(|(_, value)| value.clone());
            WhatIfChange {
                key: key.clone(),
                old: old.map(|number| number.text.clone()).or(typed).unwrap_or_default(),
                new: value.clone(),
                meaning: new.map_or_else(|| option_meaning(key), |number| number.meaning.to_owned()),
            }
        });
        let changes: Vec<WhatIfChange> = changes.collect();
        if !differs {
            let (typed, device) = (typed(step).join(","), base.device);
            bail!("`{typed}` changes nothing: `{device}` is so already; give another value");
        }
        Ok(changes)
    }

    fn link(&self, base: &Base<'_>, name: String, changes: Vec<WhatIfChange>) -> anyhow::Result<Link> {
        ensure!(!self.jobs.is_empty(), "there is no job to run");
        let own = Base { changes: &self.changes, options: &self.options, ..*base };
        Ok(Link { name, changes, run: own.runnable(Ok(self.jobs.clone())) })
    }
}

/// The same jobs, however they were typed.
pub(crate) fn are_alike(a: &[Job], b: &[Job]) -> bool {
    let bare = |jobs: &[Job]| -> Vec<Job> {
        jobs.iter().map(|job| Job { options: Vec::new(), ..job.clone() }).collect()
    };
    bare(a) == bare(b)
}

fn check_option(key: &str, device: &str) -> anyhow::Result<()> {
    let options = iostack_workload::native_options();
    if options.iter().any(|option| option.name == key) {
        return Ok(());
    }
    let near = suggest(key, options.iter().map(|option| option.name));
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    bail!(
        "`{key}` is neither an option of a job (`iostack options`) nor a number of the target, which has a dot \
         (`iostack sim show {device}`){near}"
    )
}

fn option_meaning(key: &str) -> String {
    let known = iostack_workload::native_options();
    known.iter().find(|option| option.name == key).map_or(String::new(), |option| option.meaning.to_owned())
}

/// The target with these changes, to look at.
fn described(
    targets: &dyn Targets,
    device: &str,
    changes: &[(String, String)],
) -> anyhow::Result<Description> {
    let word = targets.word(device);
    ensure!(
        targets.kind(&word).has_numbers,
        "`{device}` is not made of numbers that could be changed; name a simulated target (`iostack sim list`)"
    );
    Ok(targets.open(Some(&word), changes)?.describe().clone())
}

/// The target after every step, to look at before anything runs.
pub(crate) fn sheets(
    targets: &dyn Targets,
    device: &str,
    changes: &[(String, String)],
    steps: &[Vec<(String, String)>],
) -> anyhow::Result<Vec<Description>> {
    let mut all = changes.to_vec();
    let mut sheets = vec![described(targets, device, &all)?];
    for step in steps {
        for (key, value) in step.iter().filter(|(key, _)| is_parameter(key)) {
            put(&mut all, key, value);
        }
        sheets.push(described(targets, device, &all)?);
    }
    Ok(sheets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::plan::tests::base;
    use crate::what_if::typed;

    fn try_chain(device: &str, steps: &[&str]) -> anyhow::Result<Vec<Link>> {
        let options =
            [("queue_depth".to_owned(), "4".to_owned()), ("engine".to_owned(), "libaio".to_owned())];
        let steps: Vec<_> = steps.iter().map(|text| typed::changes("--step", text).expect("sound")).collect();
        chain(&base(device, &options), &steps)
    }

    #[test]
    fn each_step_stands_on_those_before_it() {
        let links =
            try_chain("x25e", &["flash.channels=20", "queue_depth=8,flash.read=30us"]).expect("sound");
        assert_eq!(links.len(), 3);
        let change = &links[1].changes[0];
        assert_eq!((change.old.as_str(), change.new.as_str()), ("10", "20"));
        assert_eq!(links[2].changes[0].old, "4");
        assert_eq!(
            links[2].run.command,
            "iostack run --on sim:x25e --set flash.channels=20 --set flash.read=30us --engine libaio --queue-depth 8"
        );
        assert_eq!(links[2].run.task.jobs.as_ref().expect("sound")[0].queue_depth, 8);
    }

    #[test]
    fn a_member_s_number_is_known_by_its_long_name() {
        let links = try_chain("raid0-p55", &["raid0.member.flash.read=30us"]).expect("sound");
        assert_eq!(links[1].changes[0].old, "60us");
    }

    #[test]
    fn nothing_changed_is_refused() {
        for step in
            ["flash.channels=10", "queue_depth=4", "flash.read=25000ns", "flash.over_provisioning=3.30%"]
        {
            let error = try_chain("x25e", &[step]).expect_err(step).to_string();
            assert!(error.contains("changes nothing"), "{error}");
        }
        let error =
            try_chain("x25e", &["flash.read=30us", "flash.read=30us"]).expect_err("twice").to_string();
        assert!(error.contains("changes nothing"), "{error}");
    }

    #[test]
    fn a_slip_of_the_keyboard_is_refused_with_a_suggestion() {
        for (step, said) in [
            ("flash.channelz=20", "did you mean `flash.channels`?"),
            ("queue_dept=8", "did you mean `queue_depth`?"),
            ("flash.read=30", "its unit is missing"),
        ] {
            let error = format!("{:#}", try_chain("x25e", &[step]).expect_err(step));
            assert!(error.contains(said), "{error}");
        }
    }
}
