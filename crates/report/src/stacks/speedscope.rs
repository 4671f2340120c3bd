//! speedscope's own format: <https://www.speedscope.app/file-format-schema.json>.

use iostack_model::Layers;
use serde_json::{Value, json};

use super::{Numbered, chain, title};

/// The chains as one sampled profile for speedscope.app.
pub fn speedscope(layers: &Layers) -> String {
    let mut frames = Numbered::default();
    let chains = layers.stacks.iter().map(chain);
    let samples: Vec<Vec<usize>> =
        chains.map(|chain| chain.into_iter().map(|(name, _)| frames.number(name)).collect()).collect();
    let weights: Vec<u64> = layers.stacks.iter().map(|stack| stack.samples).collect();
    let name = title(layers);
    let frames: Vec<Value> = frames.all.iter().map(|name| json!({ "name": name })).collect();
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": name,
        "exporter": "iostack",
        "shared": { "frames": frames },
        "profiles": [{
            "type": "sampled",
            "name": name,
            "unit": "none",
            "startValue": 0,
            "endValue": weights.iter().sum::<u64>(),
            "samples": samples,
            "weights": weights,
        }],
    });
    file.to_string() + "\n"
}
