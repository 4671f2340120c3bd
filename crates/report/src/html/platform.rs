//! The path through a simulated machine as a drawing: which part is full?
//!
//! Application, cores, adapters, drives from top to bottom, those alike side by side, each filled by its busy share. Below
//! it the clocks of an I/O by layer, and every number with its reason, member by member. Start reading at [`page`].

use iostack_model::{DeviceLevel, DevicePicture, HostUse, Inside, Outcome, ResourceUse};

use super::device;
use super::escape;
use super::numbers::{Quantity, grouped, significant};
use super::page::{Section, document};
use super::sheet::Sheet;
use super::stages::percent;
use super::table::table;
use crate::inside::reasons;
use crate::platform::{Parts, parts};
use crate::what_if::{limiting, plural};

const WIDTH: f64 = 1130.0;
/// Most boxes side by side.
const COLUMNS: usize = 16;
const LINE: f64 = 18.0;
const GAP: f64 = 26.0;
/// Height of a box that fills.
const BOX: f64 = 54.0;
/// Where a bar of a part begins, and how long a full one is.
const LEFT: f64 = 250.0;
const FULL: f64 = 640.0;

/// The whole document; of a device alone its card.
pub(super) fn page(picture: &DevicePicture) -> String {
    if picture.roles.is_empty() {
        return device::page(&picture.card);
    }
    let card = &picture.card;
    let mut sheet = Sheet::bare();
    let inside = picture.run.as_ref().and_then(|outcome| outcome.inside.as_ref());
    let mut sections =
        vec![Section::new("path", "Path", "The path of an I/O, and what is full", figure(picture))];
    if let (Some(outcome), Some(inside)) = (&picture.run, inside) {
        if let Some(host) = &inside.host {
            let hosts = [(card.name.clone(), host)];
            sections.push(Section::new("clocks", "Clocks", "Clocks of an I/O by layer", clocks_bars(&hosts)));
        }
        sections.push(Section::new("resources", "Resources", "Every resource", resources(inside)));
        sheet.doubts.note(&outcome.caveats, &card.name);
    }
    sections.push(Section::new("numbers", "Numbers", "The platform's own numbers", device::numbers(card)));
    for (role, member) in picture.roles.iter().zip(&card.members) {
        let short = role.rsplit('.').next().unwrap_or(role);
        let about = format!(
            "<p>{} = <b>{}</b>: {}. {} numbers have a source, {} are fitted, {} are assumed.</p>",
            escape::text(role),
            escape::text(&member.name),
            escape::text(&member.title),
            member.sourced,
            member.fitted,
            member.assumed
        );
        let title = format!("Numbers of the {short}");
        sections.push(Section::new(
            &format!("member-{short}"),
            short,
            &title,
            about + &device::numbers(member),
        ));
    }
    let sources = device::sources_of_all(card);
    if !sources.is_empty() {
        sections.push(Section::new("sources", "Sources", "Sources", sources));
    }
    if picture.run.is_some() {
        sections.push(Section::new(
            "doubts",
            "Doubts",
            "Why to doubt it, and what to do",
            sheet.doubts.list(),
        ));
    }
    document(&card.title, &header(picture, inside), &sections, &sheet, &device::raw(card))
}

fn header(picture: &DevicePicture, inside: Option<&Inside>) -> String {
    let mut tiles = String::new();
    let mut tile = |name: &str, value: String, more: String| {
        tiles += &format!("<li><span>{name}</span><b>{value}</b><span>{more}</span></li>");
    };
    let mut answer = String::new();
    if let (Some(outcome), Some(inside)) = (&picture.run, inside) {
        tile("IOPS", Quantity::Count.show(outcome.rate()), Quantity::Bandwidth.show(outcome.bandwidth()));
        let latency = outcome.latency();
        tile(
            "mean latency",
            Quantity::Nanos.show(latency.mean_ns()),
            format!("{} I/Os", grouped(latency.count)),
        );
        if let Some(host) = &inside.host {
            let more = format!(
                "{} interrupts per I/O",
                significant(host.interrupts as f64 / latency.count.max(1) as f64)
            );
            tile("clocks per I/O", grouped(host.clocks_per_io.round() as u64), more);
        }
        if let Some(limit) = &inside.limit {
            let what = if limiting(outcome).is_some() { "full" } else { "busiest" };
            tile(what, escape::text(&limit.name), format!("{} busy", percent(limit.busy)));
        }
        answer = reasons(outcome, inside)
            .into_iter()
            .find(|(label, _)| *label == "limit")
            .map_or(String::new(), |(_, sentence)| format!("<p>{}</p>", escape::text(&sentence)));
        answer +=
            &format!("<p class=\"note\">Simulated: <code>{}</code></p>", escape::text(&picture.command));
    }
    let tiles = if tiles.is_empty() { tiles } else { format!("<ul class=\"tiles\">{tiles}</ul>") };
    device::header(&picture.card) + &tiles + &answer
}

/// The colour of a bar: what limits, what is nearly full, and the rest.
pub(super) fn bar_color(share: f64, limits: bool) -> &'static str {
    match (limits, share >= 0.7) {
        (true, _) => "var(--k1)",
        (false, true) => "var(--k4)",
        (false, false) => "var(--k0)",
    }
}

/// `text` is not escaped yet.
fn text(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!(
        "<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escape::text(text)
    )
}

fn figure(picture: &DevicePicture) -> String {
    let outcome = picture.run.as_ref();
    let inside = outcome.and_then(|outcome| outcome.inside.as_ref());
    let cut = inside.map(parts).unwrap_or_default();
    let limit = outcome.and_then(limiting);
    let mut top = 6.0;
    let mut drawn = application(outcome, &mut top);
    let mut above = 1;
    for level in &picture.card.levels {
        let columns = columns(level.count);
        drawn += &lines(above.max(1), columns, top);
        top += GAP;
        drawn += &part(level, uses(level, &cut), limit, columns, &mut top);
        above = columns;
    }
    let caption = match inside {
        Some(inside) => format!(
            "Each box is filled by the busy share of its busiest resource, mean over those alike; orange limits; seed {}.",
            inside.seed
        ),
        None => "Nothing was run.".to_owned(),
    };
    let most = if picture.card.levels.iter().any(|level| level.count > COLUMNS as u64) {
        " Sixteen are drawn at most."
    } else {
        ""
    };
    format!(
        "<figure class=\"wide\"><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {:.1}\" role=\"img\" \
         aria-label=\"{}: its path from the application to the drives\">{drawn}</svg><figcaption>{caption}{most}\
         </figcaption></figure>",
        top + 4.0,
        escape::text(&picture.card.title)
    )
}

fn uses<'a, 'b>(level: &DeviceLevel, cut: &'b Parts<'a>) -> &'b [&'a ResourceUse] {
    match level.name.as_str() {
        "core" => &cut.host,
        "adapter" => &cut.adapter,
        "drive" => &cut.drive,
        _ => &[],
    }
}

fn columns(count: u64) -> usize {
    usize::try_from(count).unwrap_or(COLUMNS).clamp(1, COLUMNS)
}

fn application(outcome: Option<&Outcome>, top: &mut f64) -> String {
    let told = outcome.map_or_else(
        || "application".to_owned(),
        |outcome| format!("application: {}", crate::text::asked(outcome)),
    );
    let shape = format!(
        "<rect x=\"4\" y=\"{:.1}\" width=\"{:.1}\" height=\"28\" rx=\"6\" fill=\"var(--soft)\" stroke=\"var(--quiet)\"/>",
        *top,
        WIDTH - 8.0
    );
    let out = shape + &text(WIDTH / 2.0, *top + 18.0, "middle", &told);
    *top += 28.0;
    out
}

fn middle(column: usize, columns: usize) -> f64 {
    WIDTH * (column as f64 + 0.5) / columns as f64
}

/// From every box above to its boxes below.
fn lines(above: usize, below: usize, top: f64) -> String {
    let most = above.max(below);
    (0..most)
        .map(|line| {
            let (from, to) = (middle(line * above / most, above), middle(line * below / most, below));
            format!("<path class=\"base\" d=\"M{from:.1} {top:.1}L{to:.1} {:.1}\"/>", top + GAP)
        })
        .collect()
}

/// Boxes side by side that fill, and below them what each is and the bars of its resources.
fn part(
    level: &DeviceLevel,
    uses: &[&ResourceUse],
    limit: Option<&str>,
    columns: usize,
    top: &mut f64,
) -> String {
    let width = (WIDTH / columns as f64 - 8.0).min(150.0);
    let busiest = uses.iter().max_by(|a, b| a.busy.total_cmp(&b.busy));
    let share = busiest.map_or(0.0, |used| used.busy.clamp(0.0, 1.0));
    let limits = busiest.is_some_and(|used| limit == Some(&used.name));
    let mut out = String::new();
    for column in 0..columns {
        let x = middle(column, columns) - width / 2.0;
        out += &format!(
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"6\" fill=\"{}\" opacity=\".45\"/>\
             <rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{BOX}\" rx=\"6\" fill=\"none\" \
             stroke=\"{}\" stroke-width=\"{}\"/>",
            *top + BOX * (1.0 - share),
            BOX * share,
            bar_color(share, limits),
            if limits { "var(--k1)" } else { "var(--quiet)" },
            if limits { 2.5 } else { 1.0 },
        );
        out += &text(x + width / 2.0, *top + 22.0, "middle", &level.name);
        if let Some(used) = busiest {
            out +=
                &text(x + width / 2.0, *top + 41.0, "middle", &format!("{:.0}\u{202f}%", used.busy * 100.0));
        }
    }
    *top += BOX + LINE;
    let name = if level.count == 1 {
        level.name.clone()
    } else {
        format!("{} {}", level.count, plural(&level.name))
    };
    for line in wrapped(&format!("{name}: {}", level.facts.join(" · "))) {
        out += &text(4.0, *top, "start", &line);
        *top += LINE;
    }
    for used in uses {
        out += &bar(used, limit == Some(&used.name), top);
    }
    out
}

/// One resource: its name, how many, and how full.
fn bar(used: &ResourceUse, limits: bool, top: &mut f64) -> String {
    let share = used.busy.clamp(0.0, 1.0);
    let count = if used.count > 1 { format!(" × {}", used.count) } else { String::new() };
    let more = if limits { " FULL" } else { "" };
    let out = text(24.0, *top, "start", &format!("{}{count}", used.name))
        + &format!(
            "<rect x=\"{LEFT}\" y=\"{0:.1}\" width=\"{FULL}\" height=\"12\" rx=\"3\" fill=\"var(--soft)\"/>\
             <rect x=\"{LEFT}\" y=\"{0:.1}\" width=\"{1:.1}\" height=\"12\" rx=\"3\" fill=\"{2}\"/>",
            *top - 10.0,
            FULL * share,
            bar_color(share, limits)
        )
        + &text(LEFT + FULL + 8.0, *top, "start", &format!("{}{more}", percent(used.busy)));
    *top += LINE;
    out
}

/// Lines that fit the drawing.
fn wrapped(words: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split_whitespace() {
        let last = lines.last_mut().expect("it begins with one");
        if last.chars().count() + word.chars().count() > 165 {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

fn resources(inside: &Inside) -> String {
    let row = |used: &ResourceUse| {
        vec![
            escape::text(&used.name),
            grouped(u64::from(used.count)),
            percent(used.busy),
            percent(used.busiest),
            Quantity::Count.show(used.visits as f64),
            Quantity::Nanos.show(used.service_ns),
            Quantity::Nanos.show(used.wait_ns),
            significant(used.waiting),
        ]
    };
    let rows: Vec<Vec<String>> = inside.resources.iter().map(row).collect();
    table(&["resource", "how many", "busy", "busiest", "uses", "each takes", "wait", "waiting"], &rows)
}

/// A stacked bar of clocks for each host, by layer, with the numbers.
pub(super) fn clocks_bars(hosts: &[(String, &HostUse)]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for layer in hosts.iter().flat_map(|(_, host)| &host.layers) {
        if !names.contains(&layer.name.as_str()) {
            names.push(&layer.name);
        }
    }
    let most = hosts.iter().map(|(_, host)| host.clocks_per_io).fold(1.0, f64::max);
    let (left, length) = (LEFT - 60.0, FULL + 150.0);
    let mut top = 8.0;
    let mut drawn = String::new();
    for (name, host) in hosts {
        drawn += &text(0.0, top + 16.0, "start", &name.chars().take(26).collect::<String>());
        let mut x = left;
        for layer in &host.layers {
            let wide = layer.clocks / most * length;
            let place = names.iter().position(|known| *known == layer.name).unwrap_or(0);
            drawn += &format!(
                "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"24\" {}><title>{}: {:.0} clocks</title></rect>",
                wide.max(0.5),
                fill(place),
                escape::text(&layer.name),
                layer.clocks
            );
            x += wide;
        }
        drawn += &text(x + 8.0, top + 16.0, "start", &grouped(host.clocks_per_io.round() as u64));
        top += 32.0;
    }
    let rows: Vec<Vec<String>> =
        names.iter().enumerate().map(|(place, name)| layer_row(place, name, hosts)).collect();
    let mut heads = vec!["layer"];
    heads.extend(["clocks per I/O", "share"].repeat(hosts.len()));
    let order: Vec<String> = hosts.iter().map(|(name, _)| escape::text(name)).collect();
    format!(
        "<figure class=\"wide\"><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {top:.1}\" role=\"img\" \
         aria-label=\"clocks of an I/O by layer\">{drawn}</svg>{}<figcaption>Simulated. Clocks of the host for each I/O \
         that a caller asked for; columns: {}.</figcaption></figure>",
        table(&heads, &rows),
        order.join(", ")
    )
}

fn layer_row(place: usize, name: &str, hosts: &[(String, &HostUse)]) -> Vec<String> {
    let swatch = format!(
        "<svg width=\"12\" height=\"12\" aria-hidden=\"true\"><rect width=\"12\" height=\"12\" {}/></svg> {}",
        fill(place),
        escape::text(name)
    );
    let mut row = vec![swatch];
    for (_, host) in hosts {
        let clocks = host.layers.iter().find(|layer| layer.name == name).map_or(0.0, |layer| layer.clocks);
        row.push(grouped(clocks.round() as u64));
        row.push(if host.clocks_per_io > 0.0 {
            percent(clocks / host.clocks_per_io)
        } else {
            "–".to_owned()
        });
    }
    row
}

/// Eight colours, then the same again lighter.
fn fill(place: usize) -> String {
    let opacity = if place < 8 {
        "1"
    } else if place < 16 {
        ".55"
    } else {
        ".3"
    };
    format!("fill=\"var(--k{})\" opacity=\"{opacity}\"", place % 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::platform_fixture;

    #[test]
    fn the_full_part_is_orange_and_nothing_becomes_markup() {
        let mut picture = platform_fixture();
        picture.card.levels[0].facts.push("<script>alert(1)</script>".to_owned());
        let page = page(&picture);
        assert!(!page.contains("<script>alert"), "{page}");
        assert!(page.contains("var(--k1)") && page.contains("FULL"));
        assert!(page.contains("Clocks of an I/O by layer") && page.contains("Numbers of the os"));
    }

    #[test]
    fn every_core_and_drive_is_a_box() {
        let page = page(&platform_fixture());
        assert_eq!(page.matches("height=\"54\" rx=\"6\"").count(), 8 + 4 + 12);
    }
}
