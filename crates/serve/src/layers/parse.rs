//! Layers as they are typed: `delay(80us) | sim(x25e)`.

use super::{LAYERS, Layer, LayerKind};

/// Layers and drive that were typed.
pub struct Stack {
    /// Layers from the top down.
    pub layers: Vec<Box<dyn Layer>>,
    /// The simulated drive below them, as `sim show` names it.
    pub device: String,
}

/// Words between a layer's brackets.
pub(super) struct Arguments<'a> {
    /// The layer, as typed.
    pub(super) typed: &'a str,
    pub(super) each: Vec<&'a str>,
}

impl Arguments<'_> {
    /// This argument, read; `what` says what it is.
    pub(super) fn read<T: std::str::FromStr>(&self, index: usize, what: &str) -> Result<T, String> {
        let Some(typed) = self.each.get(index) else {
            return Err(format!("`{}` lacks {what}", self.typed));
        };
        typed.parse().map_err(|_| format!("`{typed}` of `{}` is no {what}", self.typed))
    }

    /// There are no more than so many.
    pub(super) fn at_most(&self, count: usize) -> Result<(), String> {
        match self.each.get(count) {
            Some(more) => Err(format!("`{}` has no use for `{more}`", self.typed)),
            None => Ok(()),
        }
    }
}

/// Reads layers and the drive. Errors say what was typed, what is wrong and what to do.
pub fn parse(typed: &str) -> Result<Stack, String> {
    let mut parts: Vec<&str> = typed.split('|').map(str::trim).collect();
    let drive = parts.pop().unwrap_or_default();
    let device = drive_of(drive)?;
    Ok(Stack { layers: each(&parts)?, device })
}

/// Reads layers alone, from the top down.
pub fn each(typed: &[impl AsRef<str>]) -> Result<Vec<Box<dyn Layer>>, String> {
    typed.iter().map(|one| layer(one.as_ref())).collect()
}

/// `sim(x25e)`, `sim:x25e` or `x25e`.
fn drive_of(typed: &str) -> Result<String, String> {
    let inner = typed.strip_prefix("sim(").and_then(|rest| rest.strip_suffix(')'));
    let name = inner.or_else(|| typed.strip_prefix("sim:")).unwrap_or(typed).trim();
    let is_layer = LAYERS.iter().any(|kind| name.split('(').next() == Some(kind.name));
    if name.is_empty() || is_layer {
        return Err(format!(
            "`{typed}` is no drive; the last of the layers is one, such as sim(x25e): `iostack sim list`"
        ));
    }
    Ok(name.to_owned())
}

/// Refuses what is none of the layers, and makes nothing yet: no file of a log.
pub fn check(typed: &[impl AsRef<str>]) -> Result<(), String> {
    typed.iter().try_for_each(|one| read(one.as_ref()).map(|_| ()))
}

fn layer(typed: &str) -> Result<Box<dyn Layer>, String> {
    let (kind, arguments) = read(typed)?;
    (kind.make)(&arguments).map_err(|error| like(&error, kind))
}

fn like(error: &str, kind: &LayerKind) -> String {
    format!("{error}; write it like {}", kind.example)
}

/// Kind of a layer, and the words between its brackets.
fn read(typed: &str) -> Result<(&'static LayerKind, Arguments<'_>), String> {
    let (name, rest) = typed.split_once('(').unwrap_or((typed, ")"));
    let Some(kind) = LAYERS.iter().find(|kind| kind.name == name.trim()) else {
        let names: Vec<&str> = LAYERS.iter().map(|kind| kind.name).collect();
        return Err(format!("`{typed}` is no layer; there are {}", names.join(", ")));
    };
    let inner = rest.strip_suffix(')').ok_or_else(|| like(&format!("`{typed}` lacks its `)`"), kind))?;
    let each = inner.split(',').map(str::trim).filter(|each| !each.is_empty()).collect();
    Ok((kind, Arguments { typed, each }))
}
