//! Two costs side by side: what changed, in which layer, in which function?

use std::collections::BTreeMap;

use iostack_model::SCHEMA;
use iostack_model::answers::{CALLS, CallNode, CostCase, CostChange, CostDiff, IoCost};

/// Lays two costs side by side.
pub fn diff(before: &IoCost, after: &IoCost) -> CostDiff {
    let layers = |cost: &IoCost| {
        cost.layers
            .iter()
            .map(|row| ((row.layer.clone(), String::new()), row.instructions))
            .collect::<Vec<_>>()
    };
    let functions = |cost: &IoCost| {
        let row = |row: &iostack_model::answers::CostFunction| {
            ((plain(&row.name).to_owned(), row.layer.clone()), row.instructions)
        };
        cost.functions.iter().map(row).collect::<Vec<_>>()
    };
    let functions = changes(functions(before), functions(after));
    CostDiff {
        schema: SCHEMA,
        varied: varied(&before.case, &after.case),
        layers: changes(layers(before), layers(after)),
        paths: before.tree.as_ref().zip(after.tree.as_ref()).map_or(Vec::new(), |(before, after)| {
            let mut paths = changes(paths(before), paths(after));
            // A caller that is new renames every path below it; where the function took as many as ever, none changed.
            paths
                .retain(|path| functions.iter().any(|row| path.name.rsplit(CALLS).next() == Some(&row.name)));
            paths
        }),
        functions,
        before: before.clone(),
        after: after.clone(),
    }
}

/// A symbol without what the compiler adds behind a dot: `foo.isra.0` of one kernel is `foo` of the next.
pub(super) fn plain(symbol: &str) -> &str {
    symbol.split_once('.').map_or(symbol, |(plain, _)| plain)
}

/// Each path of calls with the layer and the own instructions of its last function.
pub(super) fn paths(tree: &CallNode) -> Vec<((String, String), u64)> {
    fn walk(node: &CallNode, above: &str, times: u64, all: &mut Vec<((String, String), u64)>) {
        let path = format!("{above}{}", plain(&node.name));
        let times = times * node.times;
        let below = format!("{path}{CALLS}");
        all.push(((path, node.layer.clone()), times * node.instructions));
        node.calls.iter().for_each(|call| walk(call, &below, times, all));
    }
    let mut all = Vec::new();
    walk(tree, "", 1, &mut all);
    all
}

/// Rows with equal names joined, those that changed, largest change first.
fn changes(before: Vec<((String, String), u64)>, after: Vec<((String, String), u64)>) -> Vec<CostChange> {
    let mut rows: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for (key, instructions) in before {
        rows.entry(key).or_default().0 += instructions;
    }
    for (key, instructions) in after {
        rows.entry(key).or_default().1 += instructions;
    }
    let changed = rows.into_iter().filter(|(_, (before, after))| before != after);
    let mut changed: Vec<CostChange> =
        changed.map(|((name, layer), (before, after))| CostChange { name, layer, before, after }).collect();
    // Stable: of equal changes the names' order stays.
    changed.sort_by_key(|change| std::cmp::Reverse(change.before.abs_diff(change.after)));
    changed
}

/// Sentences that tell the differences between two cases.
fn varied(before: &CostCase, after: &CostCase) -> Vec<String> {
    let list = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(" ") };
    let yes = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let facts = |case: &CostCase| {
        vec![
            ("device", case.device.clone()),
            ("direction", case.direction.name().to_owned()),
            ("engine", case.engine.clone()),
            ("block size", format!("{} bytes", case.block_bytes)),
            ("file system", case.file_system.clone().unwrap_or_else(|| "none".to_owned())),
            ("buffered", yes(case.buffered)),
            ("scheduler", case.scheduler.clone()),
            ("kernel", case.kernel.clone()),
            ("patched modules", list(&case.patched)),
            ("mitigations", yes(case.mitigations)),
            ("tracepoints", list(&case.tracepoints)),
        ]
    };
    let pairs = facts(before).into_iter().zip(facts(after)).filter(|(one, two)| one != two);
    let mut told: Vec<String> =
        pairs.map(|((what, one), (_, two))| format!("{what} {one} -> {two}")).collect();
    told.extend(options_varied(&before.options, &after.options));
    told
}

fn options_varied(before: &[(String, String)], after: &[(String, String)]) -> Vec<String> {
    let value = |options: &[(String, String)], name: &str| {
        options
            .iter()
            .find(|(known, _)| known == name)
            .map_or("default".to_owned(), |(_, value)| value.clone())
    };
    let mut names: Vec<&str> = before.iter().chain(after).map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let pairs = names.into_iter().map(|name| (name, value(before, name), value(after, name)));
    let changed = pairs.filter(|(_, one, two)| one != two);
    changed.map(|(name, one, two)| format!("option {name} {one} -> {two}")).collect()
}
