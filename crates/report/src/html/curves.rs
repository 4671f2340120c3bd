//! A plot on a page: drawn, and as numbers for `plot.js`.

use super::plot::{Axis, Plot, Series, Spot};
use super::{escape, svg};

impl Plot {
    /// The whole figure as HTML; so is the caption.
    pub(crate) fn figure(&self, id: &str, caption: &str) -> String {
        let legend: String =
            self.series.iter().enumerate().map(|(index, series)| legend_key(index, series)).collect();
        let wide = if self.wide { " wide" } else { "" };
        format!(
            "<figure class=\"plot{wide}\" id=\"{id}\" data-plot=\"{id}\"><h4>{heading}</h4>\
             <div class=\"legend\">{legend}</div><div class=\"canvas\">{svg}</div>\
             <figcaption>{caption}</figcaption></figure>\n",
            heading = escape::text(&self.heading),
            svg = svg::draw(self, id),
        )
    }

    /// Names and values for `plot.js`, and `frame`: the right end of the axis, and the ends of both.
    pub(crate) fn json(&self) -> String {
        let axis = |axis: &Axis| {
            let (label, quantity) = (escape::json(&axis.label), axis.quantity.name());
            format!("{{\"label\":{label},\"quantity\":\"{quantity}\",\"scale\":\"{}\"}}", axis.scale.name())
        };
        let series = |series: &Series| {
            let spots = listed(series.spots.iter().map(spot_json));
            let (name, look) = (escape::json(&series.name), series.look.name());
            format!("{{\"name\":{name},\"look\":\"{look}\",\"spots\":{spots}}}")
        };
        format!(
            "{{\"x\":{},\"y\":{},\"label_spots\":{},\"frame\":{},\"series\":{}}}",
            axis(&self.x),
            axis(&self.y),
            self.label_spots,
            listed(svg::frame(self).map(escape::precise)),
            listed(self.series.iter().map(series))
        )
    }
}

fn listed(each: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", each.into_iter().collect::<Vec<_>>().join(","))
}

/// `[x, y, low, high, count, label, doubtful]`, defaults at the end left out.
fn spot_json(spot: &Spot) -> String {
    const DEFAULTS: [&str; 7] = ["", "", "null", "null", "0", "\"\"", "0"];
    let [low, high] = if spot.has_interval() { [spot.low, spot.high] } else { [f64::NAN; 2] };
    let [y, low, high] = [spot.y, low, high].map(escape::number);
    let (count, label, doubtful) =
        (spot.count.to_string(), escape::json(&spot.label), u8::from(spot.doubtful));
    let mut fields = vec![escape::precise(spot.x), y, low, high, count, label, doubtful.to_string()];
    while fields.last().is_some_and(|last| last == DEFAULTS[fields.len() - 1]) {
        fields.pop();
    }
    listed(fields)
}

fn legend_key(index: usize, series: &Series) -> String {
    let marker = if series.look.has_markers() {
        format!("<path class=\"marker\" d=\"{}\"/>", svg::marker(series.slot, 14.0, 7.0))
    } else {
        String::new()
    };
    format!(
        "<button type=\"button\" class=\"key s{slot} {look}\" data-series=\"{index}\" aria-pressed=\"true\">\
         <svg width=\"28\" height=\"14\" aria-hidden=\"true\"><path class=\"line\" d=\"M1 7H27\"/>{marker}</svg>{name}\
         </button>",
        slot = series.slot,
        look = series.look.name(),
        name = escape::text(&series.name),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spot_says_no_more_than_it_knows() {
        assert_eq!(spot_json(&Spot::at(1.0, f64::NAN)), "[1,null]");
        let spot = Spot { low: 1.5, high: 2.5, count: 97, ..Spot::at(1.0, 2.0) };
        assert_eq!(spot_json(&spot), "[1,2,1.5,2.5,97]");
        let doubtful = Spot { doubtful: true, ..spot };
        assert_eq!(spot_json(&doubtful), "[1,2,1.5,2.5,97,\"\",1]");
    }
}
