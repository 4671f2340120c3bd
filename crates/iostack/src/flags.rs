//! The options of a job as flags, made from the same table as job files and the reference.

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};

/// `(option, value)` in the table's order, for each flag that was given.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobFlags {
    pub(crate) options: Vec<(String, String)>,
}

/// `queue_depth` is typed `--queue-depth`.
fn flag(name: &str) -> String {
    name.replace('_', "-")
}

impl clap::Args for JobFlags {
    fn augment_args(command: Command) -> Command {
        iostack_workload::native_options().iter().fold(command, |command, option| {
            command.arg(
                Arg::new(option.name)
                    .long(flag(option.name))
                    .help(format!("{} [{}]", option.meaning, option.example))
                    .help_heading("What is asked")
                    .value_name("VALUE")
                    .allow_hyphen_values(true)
                    .action(ArgAction::Set),
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for JobFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = JobFlags::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for option in iostack_workload::native_options() {
            if let Some(value) = matches.get_one::<String>(option.name) {
                self.options.push((option.name.to_owned(), value.clone()));
            }
        }
        Ok(())
    }
}
