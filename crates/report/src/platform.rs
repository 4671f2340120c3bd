//! Which resource belongs where on the way from the application to the drives?

use iostack_model::{Inside, ResourceUse};

/// Resources of an adapter.
const ADAPTER: [&str; 2] = ["adapter", "uplink"];
/// Resources of a host, where no adapter tells where it ends.
const HOST: [&str; 6] = ["core", "lock", "kernel thread", "memory", "journal", "scheduler"];

/// The resources of a run, cut into the parts of the way. Each part in the order of the way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts<'a> {
    pub(crate) host: Vec<&'a ResourceUse>,
    pub(crate) adapter: Vec<&'a ResourceUse>,
    pub(crate) drive: Vec<&'a ResourceUse>,
}

/// Sorts the resources of a run by the parts of the way.
pub(crate) fn parts(inside: &Inside) -> Parts<'_> {
    let is_adapter = |each: &ResourceUse| ADAPTER.contains(&each.name.as_str());
    let end_of_host = inside.resources.iter().position(is_adapter);
    let mut parts = Parts::default();
    for (place, each) in inside.resources.iter().enumerate() {
        let host = HOST.contains(&each.name.as_str()) || end_of_host.is_some_and(|end| place < end);
        let part = if is_adapter(each) {
            &mut parts.adapter
        } else if host {
            &mut parts.host
        } else {
            &mut parts.drive
        };
        part.push(each);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_adapter_divides_the_host_from_the_drives() {
        let mut outcome = fixture::simulated_file().outcomes.swap_remove(1);
        let inside = outcome.inside.as_mut().expect("simulated");
        let model = inside.resources[0].clone();
        let of = |names: &[&str]| -> Vec<ResourceUse> {
            names.iter().map(|&name| ResourceUse { name: name.to_owned(), ..model.clone() }).collect()
        };
        let cut = |inside: &Inside| {
            let names = |list: &[&ResourceUse]| {
                list.iter().map(|each| each.name.clone()).collect::<Vec<_>>().join(" ")
            };
            let found = parts(inside);
            [names(&found.host), names(&found.adapter), names(&found.drive)]
        };
        inside.resources = of(&["core", "novelty", "adapter", "uplink", "link", "die"]);
        assert_eq!(cut(inside), ["core novelty", "adapter uplink", "link die"]);
        inside.resources = of(&["core", "lock", "link", "die"]);
        assert_eq!(cut(inside), ["core lock", "", "link die"]);
    }
}
