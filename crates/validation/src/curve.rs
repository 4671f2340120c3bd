//! What is a curve of an experiment?

/// Runs that belong together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) device: String,
    /// Case that the lab counts, as changes of the plain one; none for what is simulated.
    pub(crate) cost: Option<String>,
    /// A job file in `experiments/`; none for one job of options.
    pub(crate) jobs: Option<String>,
    /// Each point has a boot of its own in the lab.
    pub(crate) anew: bool,
    pub(crate) options: Vec<(String, String)>,
    pub(crate) changes: Vec<(String, String)>,
    /// Key and values.
    pub(crate) vary: Option<(String, Vec<String>)>,
    /// Keys that change along with it, with as many values each.
    pub(crate) along: Vec<(String, Vec<String>)>,
    /// Parts of its job that no document states, and that were chosen.
    pub(crate) chosen: Vec<String>,
}

impl Curve {
    /// Changes at a value of the varied key: keys and values, the varied one first.
    pub(crate) fn varied_at(&self, value: &str) -> Vec<(String, String)> {
        let Some((key, values)) = &self.vary else { return Vec::new() };
        let place = values.iter().position(|other| other == value);
        let along =
            self.along.iter().filter_map(|(key, values)| Some((key.clone(), values.get(place?)?.clone())));
        std::iter::once((key.clone(), value.to_owned())).chain(along).collect()
    }
}
