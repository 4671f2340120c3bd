//! Which colour has a layer, and a stage? The same on the whole page.

use iostack_model::{Layers, Part, Stage};

/// The colour of each layer: the largest have their own, the rest share the grey one.
pub(crate) struct Colours<'a>(Vec<&'a str>);

/// Slots in the order of use; 6 is the grey.
const SLOTS: [usize; 13] = [0, 1, 2, 3, 4, 5, 7, 9, 12, 10, 8, 11, 13];
/// Colours that are told apart also where they do not lie side by side.
const OWN: usize = 7;
const GREY: usize = 6;

impl<'a> Colours<'a> {
    /// Colours of the layers of a profile.
    pub(crate) fn of_profile(layers: &'a Layers) -> Colours<'a> {
        let known = layers.rows.iter().map(|row| row.layer.as_str()).filter(|layer| *layer != "unclassified");
        Colours(known.take(OWN).collect())
    }

    /// Colours of names in this order, as many as there are.
    pub(crate) fn of_names(names: impl Iterator<Item = &'a str>) -> Colours<'a> {
        Colours(names.take(SLOTS.len()).collect())
    }

    /// Class of a layer's colour.
    pub(crate) fn slot(&self, layer: &str) -> usize {
        self.0.iter().position(|known| *known == layer).map_or(GREY, |place| SLOTS[place])
    }

    /// The layers that have a colour of their own.
    pub(crate) fn named(&self) -> &[&'a str] {
        &self.0
    }
}

/// The colour of a stage: inside a device each has one of its own (flash and disk share them), elsewhere its part's.
pub(crate) fn slot(stage: Stage) -> usize {
    match stage {
        Stage::Channel => 0,
        Stage::Collect | Stage::Fold | Stage::Rotate | Stage::Throttle => 1,
        Stage::Die | Stage::Medium => 2,
        Stage::Controller | Stage::Seek => 3,
        Stage::Link => 4,
        Stage::Buffer => 5,
        Stage::Admit => 6,
        Stage::DieWait | Stage::ArmWait => 7,
        other => slot_of_part(other.part()),
    }
}

/// The colour of a part.
pub(crate) const fn slot_of_part(part: Part) -> usize {
    match part {
        Part::Platform => 0,
        Part::Transport => 4,
        Part::Device => 2,
        Part::Journal => 5,
    }
}
