//! The page of the manual: `docs/repro.md`.

#![expect(
    clippy::format_push_string,
    reason = "a page is made once; `write!` would return an error that cannot happen"
)]

use iostack_model::{Repro, ReproVerdict, Reproduced};

/// Where the page finds its figures.
const IMAGES: &str = "images/repro";

/// The name of a figure's file.
pub(crate) fn file(id: &str, index: usize) -> String {
    if index == 0 { format!("{id}.svg") } else { format!("{id}-{}.svg", index + 1) }
}

/// The page.
pub(crate) fn page(repro: &Repro) -> String {
    let mut text = String::from(HEAD);
    text += "| experiment | claim | claimed | ours | difference | verdict |\n| --- | --- | --- | --- | --- | --- |\n";
    for one in &repro.experiments {
        for verdict in &one.verdicts {
            text += &format!("| [{}](#{}) | {} |\n", one.id, one.id, cells(verdict));
        }
    }
    text + &repro.experiments.iter().map(section).collect::<Vec<_>>().concat()
}

const HEAD: &str = "\
# Published experiments, made again

What was measured on devices that nobody sells any more, asked again of simulated ones. This page is written by
`iostack repro --markdown --svg docs/images/repro`; a test compares. Run `iostack repro` to see it yourself, with
`--html FILE` for a page with plots. It ends in exit 1 when a claim does not hold.

A **value** must come out within the tolerance that stands beside it, a **shape** must pass the named test. The files of
[experiments/](../experiments) say what is run and what is asked; `experiments/published.toml` has what was published.
Where a number of the device was *fitted* to the claim, agreement proves only that the device can be so; the others are
predictions.

";

fn cells(verdict: &ReproVerdict) -> String {
    let holds = match verdict.holds {
        Some(true) if verdict.fitted.is_empty() => "holds",
        Some(true) => "holds (fitted)",
        Some(false) => "**fails**",
        None => "**unknown**",
    };
    let difference = verdict.difference.map_or("-".to_owned(), |share| format!("{:+.1} %", share * 100.0));
    let cell = |text: &str| text.replace('|', "\\|");
    [cell(&verdict.says), verdict.claimed.clone(), cell(&verdict.ours), difference, holds.to_owned()]
        .join(" | ")
}

fn section(one: &Reproduced) -> String {
    let mut text = format!("\n## {}\n\n{}.\n\n*{}.*\n\n", one.id, one.title, one.source);
    text += &format!("Measured: {}\n\nSimulated: {}\n\n", one.measured, one.simulated);
    for (index, plot) in one.plots.iter().enumerate() {
        text += &format!("![{}]({IMAGES}/{})\n\n", plot.heading, file(&one.id, index));
    }
    text += "| claim | asked | claimed | ours | fitted to it |\n| --- | --- | --- | --- | --- |\n";
    for verdict in &one.verdicts {
        let fitted: Vec<String> = verdict.fitted.iter().map(|key| format!("`{key}`")).collect();
        let fitted = if fitted.is_empty() { "-".to_owned() } else { fitted.join(", ") };
        text += &format!(
            "| `{}` | {} | {} | {} | {fitted} |\n",
            verdict.claim,
            verdict.test,
            verdict.claimed,
            verdict.ours.replace('|', "\\|")
        );
    }
    text += "\n```sh\n";
    for curve in &one.curves {
        let points = curve.points.len();
        if let Some(point) = curve.points.last() {
            let more = if points > 1 {
                format!("    # and {} more of this curve", points - 1)
            } else {
                String::new()
            };
            text += &format!("{}{more}\n", point.command);
        }
    }
    text + "```\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_has_a_file_of_its_own() {
        assert_eq!([file("a", 0), file("a", 1)], ["a.svg", "a-2.svg"]);
    }
}
