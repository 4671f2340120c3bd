//! How does a plot stand on a page: drawn, and as numbers for `plot.js`?

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

    /// The same for `plot.js`: `[x, y, low, high, count, label, doubtful]` per point, trailing defaults left out.
    pub(crate) fn json(&self) -> String {
        let series: Vec<String> = self.series.iter().map(series_json).collect();
        let marks: Vec<String> = self
            .marks
            .iter()
            .map(|mark| {
                let slot = mark.slot.map_or("null".to_owned(), |slot| slot.to_string());
                format!(
                    "[{},{},{slot},{}]",
                    escape::precise(mark.x),
                    escape::json(&mark.label),
                    mark.leftward
                )
            })
            .collect();
        format!(
            "{{\"heading\":{},\"x\":{},\"y\":{},\"label_spots\":{},\"series\":[{}],\"marks\":[{}]}}",
            escape::json(&self.heading),
            axis_json(&self.x),
            axis_json(&self.y),
            self.label_spots,
            series.join(","),
            marks.join(",")
        )
    }
}

fn axis_json(axis: &Axis) -> String {
    format!(
        "{{\"label\":{},\"quantity\":\"{}\",\"scale\":\"{}\"}}",
        escape::json(&axis.label),
        axis.quantity.name(),
        axis.scale.name()
    )
}

fn series_json(series: &Series) -> String {
    let spots: Vec<String> = series.spots.iter().map(spot_json).collect();
    format!(
        "{{\"name\":{},\"slot\":{},\"look\":\"{}\",\"spots\":[{}]}}",
        escape::json(&series.name),
        series.slot,
        series.look.name(),
        spots.join(",")
    )
}

fn spot_json(spot: &Spot) -> String {
    let mut fields = vec![escape::precise(spot.x), escape::number(spot.y)];
    let interval = spot.has_interval();
    if interval || spot.count > 0 || !spot.label.is_empty() || spot.doubtful {
        let end = |value: f64| if interval { escape::number(value) } else { "null".to_owned() };
        fields.extend([end(spot.low), end(spot.high), spot.count.to_string()]);
    }
    if !spot.label.is_empty() || spot.doubtful {
        fields.push(escape::json(&spot.label));
    }
    if spot.doubtful {
        fields.push("1".to_owned());
    }
    format!("[{}]", fields.join(","))
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
