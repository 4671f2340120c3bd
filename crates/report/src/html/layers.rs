//! Where did the clocks go?
//!
//! A bar for each kernel layer, what kind of work it was, the largest functions, and the stacks as a flame-like
//! picture. A layer has one colour everywhere. Start reading at [`body`].

use std::fmt::Write as _;

use iostack_model::{Clocks, Layers, Nanos, Quality};

use super::escape;
use super::flame;
use super::ladder;
use super::numbers::{NOTHING, grouped, significant};
use super::sheet::{Sheet, span};
use super::stages::{notes, percent};
use super::table::{pairs, table};
use super::tiles;
use crate::text::{kind_meaning, kinds};

/// Functions shown; JSON has more.
const FUNCTIONS: usize = 24;

/// Everything about a profile, as HTML without a heading of its own.
pub(super) fn body(layers: &Layers, sheet: &Sheet) -> String {
    if layers.rows.is_empty() {
        return format!("<p class=\"note\">No sample fell into the subject.</p>{}", trust(layers));
    }
    let colours = Colours::of(layers);
    tiles(layers)
        + &by_layer(layers, &colours, sheet)
        + &flame::figure(layers, &colours, sheet)
        + &format!(
            "<div class=\"two\"><div>{}</div><div>{}</div></div>",
            by_kind(layers),
            by_function(layers)
        )
        + &trust(layers)
}

/// The colour of each layer: the largest have their own, the rest share the grey one.
pub(super) struct Colours<'a>(Vec<&'a str>);

/// Slots in the order of use; 6 is the grey.
const SLOTS: [usize; 13] = [0, 1, 2, 3, 4, 5, 7, 9, 12, 10, 8, 11, 13];
/// Colours that are told apart also where they do not lie side by side.
const OWN: usize = 7;
const GREY: usize = 6;

impl<'a> Colours<'a> {
    /// Of a profile.
    pub(super) fn of(layers: &'a Layers) -> Colours<'a> {
        let known = layers.rows.iter().map(|row| row.layer.as_str()).filter(|layer| *layer != "unclassified");
        Colours(known.take(OWN).collect())
    }

    /// Of layers by their size, as many as there are colours.
    pub(super) fn of_names(names: impl Iterator<Item = &'a str>) -> Colours<'a> {
        Colours(names.take(SLOTS.len()).collect())
    }

    /// Class of a layer's colour.
    pub(super) fn slot(&self, layer: &str) -> usize {
        self.0.iter().position(|known| *known == layer).map_or(GREY, |place| SLOTS[place])
    }

    /// The layers that have a colour of their own.
    pub(super) fn named(&self) -> &[&'a str] {
        &self.0
    }
}

fn put(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a string takes everything");
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// Clocks per I/O where I/Os were counted, else per second.
fn clocks(layers: &Layers, time_ns: f64) -> String {
    if layers.tsc_hz == 0 {
        return NOTHING.to_owned();
    }
    let clocks = crate::text::clocks(layers, time_ns);
    if clocks < 100.0 { significant(clocks) } else { grouped(clocks.round() as u64) }
}

fn per(layers: &Layers) -> &'static str {
    if layers.ios.is_some_and(|ios| ios > 0) { "clocks per I/O" } else { "clocks per second" }
}

fn tiles(layers: &Layers) -> String {
    let total = layers.clocks.total();
    let all: f64 = layers.rows.iter().map(|row| row.time.0 as f64).sum();
    let exact = if layers.clocks.exact { "exact total" } else { "total not exact" };
    let mut items = vec![(per(layers).to_owned(), clocks(layers, total.0 as f64), exact.to_owned())];
    if let Some(first) = layers.rows.first() {
        let time = first.time.0 as f64;
        let detail = format!("{} {}", clocks(layers, time), per(layers));
        items.push((format!("most in: {}", first.layer), percent(share(time, all)), detail));
    }
    items.push((
        "not classified".to_owned(),
        format!("{:.2}\u{202f}%", layers.quality.unclassified * 100.0),
        format!("{:.2} % more inferred from a caller", layers.quality.inferred * 100.0),
    ));
    if let Some(hardware) = layers.hardware {
        items.push((
            "instructions per I/O".to_owned(),
            grouped(hardware.instructions.max(0.0) as u64),
            format!("{} core cycles", grouped(hardware.cycles.max(0.0) as u64)),
        ));
    }
    tiles::tiles(&items)
}

/// A bar for each layer, and what it did.
fn by_layer(layers: &Layers, colours: &Colours<'_>, sheet: &Sheet) -> String {
    let all: f64 = layers.rows.iter().map(|row| row.time.0 as f64).sum();
    let most = layers.rows.iter().map(|row| row.time.0).max().unwrap_or(0) as f64;
    let mut rows = String::new();
    for row in &layers.rows {
        let time = row.time.0 as f64;
        let samples: u64 = row.kinds.iter().map(|(_, count)| count).sum();
        let kinds = row.kinds.iter().filter(|(_, count)| *count > 0).take(4);
        let kinds: Vec<String> = kinds
            .map(|(kind, count)| {
                format!("{} {:.0}\u{202f}%", escape::text(kind), share(*count as f64, samples as f64) * 100.0)
            })
            .collect();
        put(
            &mut rows,
            format_args!(
                "<tr><th>{layer}<br/><small>{meaning}</small></th><td class=\"bar s{slot}\"><svg width=\"100%\" \
                 height=\"16\" role=\"img\" aria-label=\"{layer} {share}\"><rect x=\"0\" y=\"2\" width=\"{width:.2}%\" \
                 height=\"12\"/></svg></td><td class=\"number\">{clocks}</td><td class=\"number\">{share}</td>\
                 <td class=\"words\">{kinds}</td></tr>",
                layer = escape::text(&row.layer),
                meaning = escape::text(&row.meaning),
                slot = colours.slot(&row.layer),
                width = share(time, most) * 100.0,
                clocks = clocks(layers, time),
                share = percent(share(time, all)),
                kinds = kinds.join(", "),
            ),
        );
    }
    let beside = match layers.clocks.beside.total() {
        Nanos(0) => String::new(),
        time => format!(
            "<tr><th>not in the sum<br/><small>kernel threads, interrupts: its or others'</small></th><td></td>\
             <td class=\"number\">{}</td><td></td><td></td></tr>",
            clocks(layers, time.0 as f64)
        ),
    };
    format!(
        "<figure class=\"bars\"><h4>Clocks by kernel layer</h4><div class=\"scroll\"><table><thead><tr><th>layer</th>\
         <th></th><th class=\"number\">{per}</th><th class=\"number\">share</th><th class=\"words\">kind of work</th></tr>\
         </thead><tbody>{rows}<tr class=\"partsum\"><th>sum</th><td></td><td class=\"number\">{total}</td>\
         <td class=\"number\">{hundred}</td><td></td></tr>{beside}</tbody></table></div><figcaption>{caption}</figcaption></figure>",
        per = per(layers),
        total = clocks(layers, all),
        hundred = percent(share(all, all)),
        caption = sheet.note(&measured(layers)),
    )
}

/// What a figure of a profile rests on.
pub(super) fn measured(layers: &Layers) -> String {
    let ios = layers.ios.map_or("nobody counted I/Os".to_owned(), |ios| format!("{} I/Os", grouped(ios)));
    format!("{ios} and {} samples in {}", grouped(layers.samples), span(layers.elapsed))
}

fn by_kind(layers: &Layers) -> String {
    let all: f64 = layers.rows.iter().map(|row| row.time.0 as f64).sum();
    let rows: Vec<Vec<String>> = kinds(layers)
        .iter()
        .map(|kind| {
            let places: Vec<String> =
                kind.layers.iter().take(2).map(|(layer, _)| escape::text(layer)).collect();
            vec![
                format!("{}<br/><small>{}</small>", escape::text(kind.name), kind_meaning(kind.name)),
                clocks(layers, kind.time_ns),
                percent(share(kind.time_ns, all)),
                places.join(", "),
            ]
        })
        .collect();
    format!("<h3>By kind of work</h3>{}", table(&["kind", per(layers), "share", "most of it in"], &rows))
}

fn by_function(layers: &Layers) -> String {
    let rows: Vec<Vec<String>> = layers
        .functions
        .iter()
        .take(FUNCTIONS)
        .map(|row| {
            vec![
                escape::text(&row.name),
                percent(share(row.samples as f64, layers.samples as f64)),
                escape::text(&row.layer),
                escape::text(&row.kind),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!("<h3>Largest functions</h3>{}", table(&["function", "share of samples", "layer", "kind"], &rows))
}

fn trust(layers: &Layers) -> String {
    let exact = if layers.clocks.exact { "Exact" } else { "Not exact" };
    let counted = match layers.ios {
        Some(ios) if ios > 0 => {
            format!("; divided by {} {}", grouped(ios), escape::text(&layers.ios_meaning))
        }
        _ => String::new(),
    };
    let total = format!("{exact}: {}{counted}. Samples only split it.", escape::text(&layers.clocks.how));
    let clock = match layers.tsc_hz {
        0 => "No time-stamp counter: shares only.".to_owned(),
        hz => format!(
            "Clocks of the time-stamp counter, {:.3} GHz at all times. The core's own clock is another and changes.",
            hz as f64 / 1e9
        ),
    };
    let lost = if layers.lost == 0 {
        "none lost".to_owned()
    } else {
        format!("<b class=\"held\">{} lost</b>", grouped(layers.lost))
    };
    let cost = if layers.sampling_cost > 0.0 {
        format!("it cost {} of the CPU time", percent(layers.sampling_cost))
    } else {
        "its cost could not be measured".to_owned()
    };
    let sampling =
        format!("{} at {} Hz and CPU, {lost}; {cost}", escape::text(&layers.event), layers.rate_hz);
    let facts = pairs(&[
        ("Total", total),
        ("Who ran", who_ran(&layers.clocks)),
        ("Beside it", ran_beside(layers)),
        ("Clock", clock),
        ("Classification", quality(&layers.quality)),
        ("Sampling", sampling),
        ("What may be measured", ladder::line(&layers.ladder)),
    ]);
    format!("<h3>How far to trust it</h3>{facts}{}", notes(&layers.notes))
}

fn who_ran(clocks: &Clocks) -> String {
    let total = clocks.total().0 as f64;
    if total <= 0.0 {
        return String::new();
    }
    let part = |time: Nanos| percent(share(time.0 as f64, total));
    let names = named(&clocks.kernel_thread_names, part);
    let polling = match clocks.idle_polling.0 {
        0 => String::new(),
        _ => format!("; {} of idle polling kept out", span(clocks.idle_polling)),
    };
    format!(
        "threads {}, its kernel threads {}{names}, interrupts outside them {}{polling}",
        part(clocks.tasks),
        part(clocks.kernel_threads),
        part(clocks.interrupts)
    )
}

/// The first kernel threads with what each took, in brackets; nothing of none.
fn named(names: &[(String, Nanos)], took: impl Fn(Nanos) -> String) -> String {
    let names: Vec<String> =
        names.iter().take(6).map(|(name, time)| format!("{} {}", escape::text(name), took(*time))).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// What is in no sum.
fn ran_beside(layers: &Layers) -> String {
    let beside = &layers.clocks.beside;
    if beside.total() == Nanos(0) {
        return "nothing".to_owned();
    }
    let clocks = |time: Nanos| clocks(layers, time.0 as f64);
    format!(
        "{} {} in kernel threads{}, {} in interrupts: not in the sum, since whose I/O they served is not known",
        clocks(beside.kernel_threads),
        per(layers),
        named(&beside.kernel_thread_names, clocks),
        clocks(beside.interrupts)
    )
}

fn quality(quality: &Quality) -> String {
    let two = |share: f64| format!("{:.2}\u{202f}%", share * 100.0);
    let disagree = quality
        .disagreement
        .map_or(String::new(), |share| format!(", a name rule and a path rule disagree on {}", two(share)));
    let neighbours = quality.neighbours_right.map_or("neighbours not used".to_owned(), |right| {
        format!("neighbours right for {} of known functions", percent(right))
    });
    format!(
        "{} of the samples unclassified, {} inferred from a caller{disagree}; {neighbours}; symbols: {}",
        two(quality.unclassified),
        two(quality.inferred),
        escape::text(&quality.symbols)
    )
}
