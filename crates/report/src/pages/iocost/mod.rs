//! What does one I/O cost, exactly, and where?
//!
//! ```text
//!   one case ──► case       how often, layers, calls, functions, registers, how far to trust it
//!   many     ──► survey     side by side; on a page each case follows
//!   two      ──► change     what differs
//!   a file   ──► budgets    which hold
//! ```
//!
//! A layer has one colour on the whole page. Start reading at [`iocost`].

mod budgets;
mod calltree;
mod case;
mod change;
mod survey;
#[cfg(test)]
mod tests;
pub(crate) mod words;

pub use budgets::budgets;

use iostack_model::answers::{CostDiff, IoCost, labelled_each};

use crate::document::{Block, Document, Section};
use crate::html::colours::Colours;
use words::{LIMITS, PUBLISHED, prices, subject, tell_apart};

/// Extent of what is told of each case.
#[derive(Clone, Copy, Debug, Default)]
pub struct CostDetail {
    /// Every function and every exact count, nothing folded.
    pub full: bool,
    /// The calls also on the screen.
    pub tree: bool,
}

/// More cases than this are many.
const FEW: usize = 2;
/// Rows of all calls of a page: some 400 bytes each.
const CALLS: usize = 3_000;

/// Extent of what is told of each case, and the colours of layers.
struct CaseFrame<'a> {
    detail: CostDetail,
    colours: &'a Colours<'a>,
    calls: usize,
    functions: usize,
}

/// Document of `iostack lab cost`: any number of cases, and a difference where there is one.
pub fn iocost(costs: &[IoCost], diff: Option<&CostDiff>, detail: CostDetail) -> Document {
    let of_diff = diff.map(|diff| [&diff.before, &diff.after]);
    let every: Vec<&IoCost> = costs.iter().chain(of_diff.into_iter().flatten()).collect();
    let layers = survey::layers(&every);
    let colours = Colours::of_names(layers.iter().map(String::as_str));
    let room = CaseFrame {
        detail,
        colours: &colours,
        calls: (CALLS / costs.len().max(1)).max(100),
        functions: if costs.len() > FEW { 8 } else { 16 },
    };
    let mut all = Document::new("iostack lab cost");
    (all.answers, all.unjudged) = ("ANSWER", true);
    // But for the calls, of which there may be thousands.
    let kept: Vec<_> = every.iter().map(|cost| IoCost { tree: None, ..(*cost).clone() }).collect();
    all.data_of_several(&labelled_each(&kept));
    match (diff, costs) {
        (Some(diff), _) => {
            all.beside = vec![subject(&diff.after.case)];
            all.answer = change::answer(diff);
            all.sections = change::sections(diff, &colours);
        }
        (None, [cost]) => {
            all.beside = vec![subject(&cost.case)];
            all.answer = case::answer(cost);
            all.sections = case::sections(cost, &room);
        }
        _ => {
            all.beside =
                vec![if costs.len() == 1 { "1 case".into() } else { format!("{} cases", costs.len()) }];
            all.head = survey::head(costs);
            all.answer = survey::answer(costs);
        }
    }
    if !all.sections.is_empty() {
        all.head = all.sections.remove(0);
    }
    if costs.len() > 1 {
        let side = survey::section(costs, &colours);
        all.sections.push(if diff.is_some() { side.on_page() } else { side });
        let names = tell_apart(costs).names;
        all.sections.extend(
            (1..).zip(costs.iter().zip(names)).map(|(at, (cost, name))| one_of(at, cost, &name, &room)),
        );
    }
    all.sections.push(method(&every));
    let next = |device: &str| Some((format!("iostack lab cost {device}"), "functions of one case"));
    all.next = match (diff, costs) {
        (Some(diff), _) => next(&diff.before.case.device),
        (None, [cost]) => {
            Some((format!("iostack lab cost {} --html cost.html", cost.case.device), "its calls"))
        }
        _ => next(costs.first().map_or("scsi_ram", |cost| &cost.case.device)),
    };
    all
}

/// A case among others: all of it on a page, on a screen only its calls, where they are wanted.
fn one_of(number: usize, cost: &IoCost, name: &str, room: &CaseFrame<'_>) -> Section {
    let mut section = Section::new(&format!("case-{number}"), name, name);
    if let Some(tree) = cost.tree.as_ref().filter(|_| room.detail.tree) {
        section.screen(Block::Heading(name.to_owned())).screen(calltree::lines(tree));
    }
    for part in case::sections(cost, room) {
        section.page(Block::Heading(part.title.clone()));
        section.blocks.extend(part.on_page().blocks);
    }
    section
}

fn method(costs: &[&IoCost]) -> Section {
    let mut section = Section::new("method", "How to read it", "How to read it");
    section.page(Block::Words(
        "A kernel ran in an emulated machine that counts every instruction between the start and the end of an I/O. The \
         figure is the commonest exact count of many I/Os, never a mean; layers and functions are those of one such I/O, \
         and add up to it."
            .to_owned(),
    ));
    if !costs.is_empty() {
        section.fact("clocks", format!("modelled, not measured: {}", prices(costs.iter().copied())));
        section.fact("published", format!("{PUBLISHED}."));
    }
    section.list(LIMITS.map(str::to_owned).to_vec());
    section
}
