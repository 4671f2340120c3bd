//! What is varied, and which points are that?
//!
//! Each `--vary KEY=VALUES` is an axis; the points are the product of all axes, the first one slowest. A key with a dot is
//! a number of the device (`flash.over_provisioning`), one without is an option of the job (`queue_depth`).

use iostack_model::answers::SweepAxis;

use super::values;

/// More points than this would run for days.
const MOST: usize = 100_000;

/// True when the key names a number of the device.
pub fn is_parameter(key: &str) -> bool {
    key.contains('.')
}

/// The axes of all `--vary`, those of the devices first.
pub fn axes(devices: &str, vary: &[String]) -> Result<Vec<SweepAxis>, String> {
    let mut axes: Vec<SweepAxis> = Vec::new();
    let devices = values::parse(devices).map_err(|what| format!("`{devices}`: {what}"))?;
    if devices.len() > 1 {
        axes.push(SweepAxis { key: SweepAxis::DEVICE.to_owned(), values: devices });
    }
    for text in vary {
        let new = axis("--vary", text)?;
        if axes.iter().any(|other| other.key == new.key) {
            return Err(format!("`--vary {text}`: `{}` is varied already", new.key));
        }
        axes.push(new);
    }
    let points = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
    match points {
        Some(points) if points <= MOST => Ok(axes),
        _ => Err(format!("more than {MOST} points; vary less at a time")),
    }
}

/// The axis of `KEY=VALUES`; `word` is what stands before it in errors.
pub fn axis(word: &str, text: &str) -> Result<SweepAxis, String> {
    let Some((key, list)) = text.split_once('=') else {
        return Err(format!("`{word} {text}` names no values; write it like {word} queue_depth=1..32*2"));
    };
    let key = key.trim().trim_start_matches('-');
    // A flag's spelling is as good as the option's name.
    let key = if is_parameter(key) { key.to_owned() } else { key.replace('-', "_") };
    if key.is_empty() || key == SweepAxis::DEVICE {
        return Err(format!(
            "`{word} {text}` names no key; devices are named at the front: iostack sim sweep A,B"
        ));
    }
    let values = values::parse(list).map_err(|what| format!("`{word} {text}`: {what}"))?;
    Ok(SweepAxis { key, values })
}

/// One setting of every axis for each point, in order: the last axis changes fastest.
pub fn product(axes: &[SweepAxis]) -> Vec<Vec<(String, String)>> {
    let mut points: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for axis in axes {
        points = points
            .iter()
            .flat_map(|point| {
                axis.values.iter().map(|value| {
                    let mut longer = point.clone();
                    longer.push((axis.key.clone(), value.clone()));
                    longer
                })
            })
            .collect();
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes_of(devices: &str, vary: &[&str]) -> Result<Vec<SweepAxis>, String> {
        axes(devices, &vary.iter().map(|&text| text.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_points_are_the_product_and_the_last_axis_changes_fastest() {
        let axes = axes_of("a,b", &["flash.x=1,2", "queue-depth=8..16*2"]).expect("sound");
        let points = product(&axes);
        assert_eq!(points.len(), 8);
        let named = |point: &[(String, String)]| {
            point.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(named(&points[0]), "device=a flash.x=1 queue_depth=8");
        assert_eq!(named(&points[1]), "device=a flash.x=1 queue_depth=16");
        assert_eq!(named(&points[7]), "device=b flash.x=2 queue_depth=16");
    }

    #[test]
    fn one_device_and_nothing_varied_is_one_point() {
        assert_eq!(product(&axes_of("a", &[]).expect("sound")), vec![Vec::new()]);
    }

    #[test]
    fn what_is_no_axis_is_refused_as_typed() {
        for (vary, said) in [
            (&["queue_depth"][..], "`--vary queue_depth` names no values"),
            (&["=1"], "names no key"),
            (&["device=a,b"], "at the front"),
            (&["a=1,2", "a=3"], "`a` is varied already"),
            (&["a=4..1"], "`--vary a=4..1`: `4..1` ends before"),
            (&["a=1..1000", "b=1..1000"], "more than 100000 points"),
        ] {
            let error = axes_of("d", vary).expect_err("no axis");
            assert!(error.contains(said), "{error}");
        }
    }
}
