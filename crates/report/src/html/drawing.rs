//! What does a figure need to stand alone?

use super::plot::Plot;
use super::svg;

/// The colours of a light page, and the rules of its lines.
const STYLE: &str = "text{fill:#5a6773;font:11.5px sans-serif}.axes .y{text-anchor:end}.axes .x{text-anchor:middle}\
.end{text-anchor:end}.name{fill:#16202b}.grid{stroke:#e8ecf0;fill:none}.tick,.base{stroke:#5a6773;fill:none}\
.line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}.marker{fill:var(--c);stroke:#fff}\
.direct{fill:var(--c);font-weight:500}.s0{--c:#0072b2}.s1{--c:#d55e00}.s2{--c:#00895f}.s3{--c:#8a4fae}.s4{--c:#b07c00}\
.s5{--c:#2a9bd6}.s6{--c:#5f6670}.s7{--c:#a3324d}";

/// A figure as an SVG file.
pub(super) fn drawing(plot: &Plot) -> String {
    let drawn = svg::draw(plot, "plot");
    let inside = drawn.find('>').map_or(0, |end| end + 1);
    let (head, body) = drawn.split_at(inside);
    format!("{head}<style>{STYLE}</style><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{body}\n")
}
