//! A plot on a page: drawn, and as numbers for `plot.js`.

use serde_json::{Value, json};

use super::escape::within;
use super::plot::{Axis, Plot, Series, Spot};
use super::{escape, svg};
use crate::lists::Joined;

impl Plot {
    /// The whole figure as HTML; so is the caption.
    pub(crate) fn figure(&self, id: &str, caption: &str) -> String {
        let legend = (0..).zip(&self.series).map(|(index, series)| legend_key(index, series)).joined("");
        let wide = if self.wide { " wide" } else { "" };
        let (heading, svg) = (escape::text(&self.heading), svg::draw(self, id));
        format!(
            "<figure class=\"plot{wide}\" id=\"{id}\" data-plot=\"{id}\"><h4>{heading}</h4>\
             <div class=\"legend\">{legend}</div><div class=\"canvas\">{svg}</div>\
             <figcaption>{caption}</figcaption></figure>\n"
        )
    }

    /// Names and values for `plot.js`, and `frame`: the right end of the axis, and the ends of both.
    pub(crate) fn json(&self) -> Value {
        let axis = |axis: &Axis| json!({"label": axis.label, "quantity": axis.quantity, "scale": axis.scale});
        let series = |series: &Series| {
            let spots: Value = series.spots.iter().map(spot_json).collect();
            json!({"name": series.name, "look": series.look.name(), "spots": spots})
        };
        let (series, frame): (Value, _) =
            (self.series.iter().map(series).collect(), svg::frame(self).map(escape::precise));
        let (x, y, label_spots) = (axis(&self.x), axis(&self.y), self.label_spots);
        json!({"x": x, "y": y, "label_spots": label_spots, "frame": frame, "series": series})
    }
}

/// `[x, y, low, high, count, label, doubtful]`, defaults at the end left out.
fn spot_json(spot: &Spot) -> Value {
    let [low, high] = if spot.has_interval() { [spot.low, spot.high] } else { [f64::NAN; 2] };
    let [y, low, high] = [spot.y, low, high].map(escape::number);
    let ends = [low, high, spot.count.into(), spot.label.as_str().into(), u8::from(spot.doubtful).into()];
    let mut fields = vec![escape::precise(spot.x), y];
    let given = ends.iter().rposition(|end| !end.is_null() && *end != 0 && *end != "");
    fields.extend(ends.into_iter().take(given.map_or(0, |last| last + 1)));
    fields.into()
}

fn legend_key(index: usize, series: &Series) -> String {
    let marker = Some(svg::marker(series.slot, 14.0, 7.0)).filter(|_| series.look.has_markers());
    let marker = within("<path class=\"marker\" d=\"", marker.unwrap_or_default(), "\"/>");
    let (slot, look, name) = (series.slot, series.look.name(), escape::text(&series.name));
    format!(
        "<button type=\"button\" class=\"key s{slot} {look}\" data-series=\"{index}\" aria-pressed=\"true\">\
         <svg width=\"28\" height=\"14\" aria-hidden=\"true\"><path class=\"line\" d=\"M1 7H27\"/>{marker}</svg>{name}\
         </button>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spot_says_no_more_than_it_knows() {
        assert_eq!(spot_json(&Spot::at(1.0, f64::NAN)), json!([1, null]));
        let spot = Spot { low: 1.5, high: 2.5, count: 97, ..Spot::at(1.0, 2.0) };
        assert_eq!(spot_json(&spot), json!([1, 2, 1.5, 2.5, 97]));
        let doubtful = Spot { doubtful: true, ..spot };
        assert_eq!(spot_json(&doubtful), json!([1, 2, 1.5, 2.5, 97, "", 1]));
    }
}
