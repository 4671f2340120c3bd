//! The Firefox profiler's processed format, version 62: docs-developer/processed-profile-format.md of
//! github.com/firefox-devtools/profiler. profiler.firefox.com brings older versions up to date itself.

use iostack_model::Layers;
use serde_json::{Value, json};

use super::{Numbered, chain, title};

/// Version of the format.
const VERSION: u32 = 62;
/// Version of Gecko's own format that it goes back to.
const GECKO_VERSION: u32 = 24;
/// Colours that it knows, for the layers in turn; grey is that of no layer.
const COLOURS: [&str; 10] =
    ["blue", "green", "orange", "purple", "yellow", "lightblue", "red", "brown", "magenta", "darkgrey"];

/// The tables of all chains.
#[derive(Default)]
struct Tables<'a> {
    layers: Numbered<&'a str>,
    /// Functions with their layers: a frame each.
    frames: Numbered<(&'a str, usize)>,
    /// Nodes of the tree of chains: the one above, and the frame.
    stacks: Numbered<(Option<usize>, usize)>,
}

impl<'a> Tables<'a> {
    /// The node at which a chain ends.
    fn leaf(&mut self, chain: Vec<(&'a str, &'a str)>) -> Option<usize> {
        chain.into_iter().fold(None, |above, (name, layer)| {
            let layer = self.layers.number(layer);
            let frame = self.frames.number((name, layer));
            Some(self.stacks.number((above, frame)))
        })
    }

    /// Layers as categories, behind one for what has none.
    fn categories(&self) -> Vec<Value> {
        let category =
            |name: &str, color: &str| json!({ "name": name, "color": color, "subcategories": ["Other"] });
        let colours = COLOURS.iter().cycle();
        let layers = self.layers.all.iter().zip(colours).map(|(name, color)| category(name, color));
        std::iter::once(category("Other", "grey")).chain(layers).collect()
    }

    fn shared(&self) -> Value {
        let count = self.frames.all.len();
        let all = |value: Value| vec![value; count];
        let each: Vec<usize> = (0..count).collect();
        let names: Vec<&str> = self.frames.all.iter().map(|(name, _)| *name).collect();
        let category: Vec<usize> = self.frames.all.iter().map(|(_, layer)| layer + 1).collect();
        let prefix: Vec<Option<usize>> = self.stacks.all.iter().map(|(above, _)| *above).collect();
        let frame: Vec<usize> = self.stacks.all.iter().map(|(_, frame)| *frame).collect();
        json!({
            "frameTable": {
                "length": count, "func": each, "category": category, "subcategory": all(json!(0)),
                "address": all(json!(-1)), "inlineDepth": all(json!(0)), "innerWindowID": all(json!(0)),
                "nativeSymbol": all(Value::Null), "line": all(Value::Null), "column": all(Value::Null),
            },
            "funcTable": {
                "length": count, "name": each, "isJS": all(json!(false)), "relevantForJS": all(json!(false)),
                "resource": all(json!(-1)), "source": all(Value::Null), "lineNumber": all(Value::Null),
                "columnNumber": all(Value::Null),
            },
            "stackTable": { "length": frame.len(), "prefix": prefix, "frame": frame },
            "nativeSymbols": { "length": 0, "address": [], "functionSize": [], "libIndex": [], "name": [] },
            "resourceTable": { "length": 0, "host": [], "lib": [], "name": [], "type": [] },
            "sources": {
                "length": 0, "filename": [], "id": [], "sourceMapURL": [], "startColumn": [], "startLine": [],
            },
            "stringArray": names,
        })
    }
}

/// The chains as one thread for profiler.firefox.com. Its samples have weights; their times are made up, one behind the other.
pub fn firefox(layers: &Layers) -> String {
    let mut tables = Tables::default();
    let leaves: Vec<Option<usize>> = layers.stacks.iter().map(|stack| tables.leaf(chain(stack))).collect();
    let weights: Vec<u64> = layers.stacks.iter().map(|stack| stack.samples).collect();
    let interval_ms = 1000.0 / f64::from(layers.rate_hz.max(1));
    let deltas: Vec<f64> = weights.iter().map(|&weight| weight as f64 * interval_ms).collect();
    let name = title(layers);
    let file = json!({
        "meta": {
            "version": GECKO_VERSION, "preprocessedProfileVersion": VERSION, "product": name, "processType": 0,
            "interval": interval_ms, "startTime": 0.0, "symbolicated": true, "debug": false,
            "usesOnlyOneStackType": true, "sourceCodeIsNotOnSearchfox": true, "pausedRanges": [], "markerSchema": [],
            "categories": tables.categories(),
            "extensions": { "length": 0, "baseURL": [], "id": [], "name": [] },
            "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "\u{b5}s" },
        },
        "libs": [], "pages": [], "counters": [], "profilerOverhead": [],
        "shared": tables.shared(),
        "threads": [{
            "name": name, "processName": layers.subject, "processType": "default", "isMainThread": true,
            "pid": "0", "tid": "0", "processStartupTime": 0.0, "processShutdownTime": null,
            "registerTime": 0.0, "unregisterTime": null, "pausedRanges": [], "showMarkersInTimeline": false,
            "markers": {
                "length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [], "startTime": [],
            },
            "samples": {
                "length": leaves.len(), "stack": leaves, "timeDeltas": deltas, "weight": weights, "weightType": "samples",
            },
        }],
    });
    file.to_string() + "\n"
}
