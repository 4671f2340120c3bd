//! Files of budgets, good and bad, and costs on both sides of them.

use iostack_model::answers::{CallNode, CostFunction, CostLayer, CostMode};

use super::super::tests::case;
use super::*;

fn cost(rows: &[(&str, Option<&str>, &str, u64)]) -> IoCost {
    let mut layers: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows {
        *layers.entry(row.2).or_default() += row.3;
    }
    let instructions = rows.iter().map(|row| row.3).sum();
    let function = |&(name, module, layer, instructions): &(&str, Option<&str>, &str, u64)| CostFunction {
        name: name.to_owned(),
        module: module.map(str::to_owned),
        layer: layer.to_owned(),
        instructions,
        calls: None,
        alike: None,
    };
    let layer = |(layer, instructions): (&str, u64)| CostLayer {
        layer: layer.to_owned(),
        meaning: String::new(),
        instructions,
        alike: None,
    };
    IoCost {
        instructions,
        modes: vec![CostMode { instructions, ios: 1 }],
        boots: vec![instructions],
        layers: layers.into_iter().map(layer).collect(),
        functions: rows.iter().map(function).collect(),
        ..super::super::tests::cost(true)
    }
}

const QUEUE: (&str, Option<&str>, &str, u64) = ("queuecommand", Some("scsi_ram"), "driver", 61);
const SERVE: (&str, Option<&str>, &str, u64) = ("serve", Some("scsi_ram"), "driver", 100);
const SUBMIT: (&str, Option<&str>, &str, u64) = ("submit_bio", None, "block", 300);

fn budget() -> Budget {
    parse(&write(&[cost(&[SUBMIT, QUEUE, SERVE])], false)).expect("what is written can be read").remove(0)
}

#[test]
fn what_is_written_is_read_and_holds() {
    let now = cost(&[SUBMIT, QUEUE, SERVE]);
    let budget = budget();
    assert_eq!(budget.name, "scsi_ram read copy=0 6.1");
    assert_eq!(budget.functions.keys().collect::<Vec<_>>(), ["scsi_ram:queuecommand", "scsi_ram:serve"]);
    assert!(is_of(&budget, &now.case));
    let verdict = check(&budget, &now);
    assert!(verdict.holds && verdict.grown.is_empty());
    assert_eq!((verdict.allowed, verdict.counted), (469, 461));
    assert!(shrunk(&budget, &now).is_empty());
}

#[test]
fn twenty_instructions_more_in_one_function_are_found_and_it_is_named() {
    let verdict = check(&budget(), &cost(&[SUBMIT, (QUEUE.0, QUEUE.1, QUEUE.2, 81), SERVE]));
    assert!(!verdict.holds);
    let named: Vec<_> = verdict.grown.iter().map(|one| (one.name.as_str(), one.before, one.after)).collect();
    assert_eq!(named, [("driver", 161, 181), ("scsi_ram:queuecommand", 61, 81)]);
}

#[test]
fn a_budget_of_the_driver_alone_outlives_a_change_of_the_kernel() {
    let now = [cost(&[SUBMIT, QUEUE, SERVE])];
    let budget = parse(&write(&now, true)).expect("what is written can be read").remove(0);
    assert_eq!((budget.kernel.as_str(), budget.instructions), ("6.1", 161));
    let newer = cost(&[(SUBMIT.0, None, "block", 900), QUEUE, SERVE]);
    assert!(check(&budget, &newer).holds);
    let grown = check(&budget, &cost(&[SUBMIT, QUEUE, (SERVE.0, SERVE.1, SERVE.2, 120)]));
    let named: Vec<_> = grown.grown.iter().map(|one| (one.name.as_str(), one.before, one.after)).collect();
    assert!(!grown.holds);
    assert_eq!(named, [("scsi_ram:serve", 100, 120)]);
}

#[test]
fn a_module_of_which_nothing_ran_holds_no_budget() {
    let now = [cost(&[SUBMIT, QUEUE, SERVE])];
    let budget = parse(&write(&now, true)).expect("what is written can be read").remove(0);
    let verdict = check(&budget, &cost(&[SUBMIT]));
    assert_eq!((verdict.counted, verdict.holds), (0, false));
    assert!(check(&budget, &cost(&[SUBMIT, (QUEUE.0, QUEUE.1, QUEUE.2, 1)])).holds);
}

#[test]
fn a_new_function_of_a_module_counts_from_nothing() {
    let verdict = check(&budget(), &cost(&[SUBMIT, QUEUE, SERVE, ("extra", Some("scsi_ram"), "driver", 20)]));
    assert_eq!(verdict.grown[1].name, "scsi_ram:extra");
    assert_eq!((verdict.grown[1].before, verdict.grown[1].after), (0, 20));
}

#[test]
fn a_layer_may_not_grow_because_another_shrank() {
    let verdict =
        check(&budget(), &cost(&[(SUBMIT.0, None, "block", 250), (QUEUE.0, QUEUE.1, QUEUE.2, 81), SERVE]));
    assert!(!verdict.holds && verdict.counted < verdict.allowed);
    assert_eq!(verdict.grown[0].name, "driver");
}

#[test]
fn the_step_of_the_tag_allocator_passes_and_less_is_told() {
    let budget = budget();
    assert!(check(&budget, &cost(&[(SUBMIT.0, None, "block", 308), QUEUE, SERVE])).holds);
    let less = cost(&[(SUBMIT.0, None, "block", 290), SERVE]);
    assert!(check(&budget, &less).holds);
    let told: Vec<_> = shrunk(&budget, &less).into_iter().map(|one| (one.name, one.after)).collect();
    assert_eq!(
        told,
        [("driver".to_owned(), 100), ("block".to_owned(), 290), ("scsi_ram:queuecommand".to_owned(), 0)]
    );
}

#[test]
fn a_release_is_met_by_its_beginning_and_not_by_its_digits() {
    let with = |kernel: &str| Budget { kernel: kernel.to_owned(), ..budget() };
    let case = |kernel: &str| CostCase { kernel: kernel.to_owned(), ..case() };
    assert!(is_of(&with("6.1"), &case("6.1.0-53-amd64")));
    assert!(!is_of(&with("6.1"), &case("6.12.117+deb12-amd64")));
    assert!(!is_of(&with("6.1"), &CostCase { scheduler: "bfq".to_owned(), ..case("6.1.0") }));
}

const GOOD: &str =
    "[[cost]]\nname = \"a\"\ndevice = \"brd\"\ndirection = \"read\"\nkernel = \"6.1\"\ninstructions = 3448\n";

fn refusal(text: &str) -> String {
    format!("{:#}", parse(text).expect_err("it must be refused"))
}

#[test]
fn a_short_entry_has_the_usual_rest() {
    let budget = parse(GOOD).expect("it is complete").remove(0);
    assert_eq!(
        (budget.engine.as_str(), budget.scheduler.as_str(), budget.block_bytes),
        ("psync", "none", 4096)
    );
    assert_eq!(budget.tolerance, 8);
}

#[test]
fn bad_files_are_refused_with_the_line_or_the_entry_and_the_remedy() {
    let said = refusal(&GOOD.replace("instructions", "instruction"));
    assert!(said.contains("line 6") && said.contains("`instruction`") && said.contains("--write"), "{said}");
    assert!(refusal("").contains("no [[cost]]"));
    assert!(refusal(&format!("{GOOD}{GOOD}")).contains("`a` is there twice"));
    assert!(refusal(&GOOD.replace("3448", "0")).contains("`instructions` is 0"));
    assert!(refusal(&GOOD.replace("\"read\"", "\"trim\"")).contains("write `read` or `write`"));
    assert!(refusal(&format!("{GOOD}engine = \"mmap\"\n")).contains("`mmap`"));
    let said = refusal(&format!("{GOOD}[cost.layers]\nblock = 4000\n"));
    assert!(said.contains("4000 together") && said.contains("more than"), "{said}");
}

/// The same cost, each layer of which was the same in every traced I/O.
fn always(mut cost: IoCost) -> IoCost {
    cost.layers.iter_mut().for_each(|row| row.alike = Some(1.0));
    cost
}

#[test]
fn where_a_figure_is_the_same_in_each_io_not_one_instruction_passes() {
    let budget = budget();
    let mut more = always(cost(&[SUBMIT, (QUEUE.0, QUEUE.1, QUEUE.2, 62), SERVE]));
    let verdict = check(&budget, &more);
    assert!(!verdict.holds && verdict.exact, "{verdict:?}");
    assert_eq!(verdict.grown.last().map(|one| one.name.as_str()), Some("scsi_ram:queuecommand"));
    assert!(varying(&budget, &more).is_empty());
    // The layer differs among the I/Os: so does the total, and the tolerance is for both.
    more.layers.iter_mut().filter(|row| row.layer == "driver").for_each(|row| row.alike = Some(0.9));
    assert!(check(&budget, &more).holds);
    assert_eq!(varying(&budget, &more), ["the total", "driver"]);
    // The other layer is held to as before.
    let block = always(cost(&[(SUBMIT.0, SUBMIT.1, SUBMIT.2, 301), QUEUE, SERVE]));
    assert_eq!(check(&budget, &block).grown.first().map(|one| one.name.as_str()), Some("block"));
    // What was not traced is no exact figure, and a file that does not ask for it has its tolerance.
    more.layers.iter_mut().for_each(|row| row.alike = None);
    assert!(check(&budget, &more).holds);
    assert!(check(&Budget { exact: false, ..budget }, &block).holds);
}

#[test]
fn the_path_to_what_grew_is_that_on_which_most_of_it_runs() {
    let node = |name: &str, instructions, times, calls| CallNode {
        name: name.to_owned(),
        layer: "driver".to_owned(),
        instructions,
        calls,
        times,
    };
    let tree = |own| {
        let often = node("often", 1, 1, vec![node("queuecommand", own, 3, Vec::new())]);
        node(
            "user",
            1,
            1,
            vec![node("once", 1, 1, vec![node("queuecommand.isra.0", 61, 1, Vec::new())]), often],
        )
    };
    let mut more = cost(&[SUBMIT, (QUEUE.0, QUEUE.1, QUEUE.2, 81), SERVE]);
    more.tree = Some(tree(27));
    assert_eq!(check(&budget(), &more).path.as_deref(), Some("user > often > queuecommand"));
    let before = IoCost { tree: Some(tree(20)), ..cost(&[SUBMIT, QUEUE, SERVE]) };
    let paths = super::super::diff(&before, &more).paths;
    let told: Vec<_> = paths.iter().map(|one| (one.name.as_str(), one.before, one.after)).collect();
    assert_eq!(told, [("user > often > queuecommand", 60, 81)]);
}
