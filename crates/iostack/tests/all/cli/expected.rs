//! Is this the output that the page shows? `...` stands for any lines, `[..]` for any text within one.

/// True when `output` is what `pattern` shows; empty lines and spaces at the ends do not count.
pub(crate) fn matches(pattern: &str, output: &str) -> bool {
    let pattern: Vec<&str> = pattern.trim_end().lines().map(str::trim_end).collect();
    let output: Vec<&str> = output.trim_end().lines().map(str::trim_end).collect();
    lines_match(&pattern, &output)
}

fn lines_match(pattern: &[&str], output: &[&str]) -> bool {
    match pattern {
        [] => output.is_empty(),
        ["..."] => true,
        ["...", rest @ ..] => (0..=output.len()).any(|skipped| lines_match(rest, &output[skipped..])),
        [line, rest @ ..] => {
            output.first().is_some_and(|heard| line_matches(line, heard)) && lines_match(rest, &output[1..])
        }
    }
}

/// The first and last piece are anchored; those between are taken where they come first.
fn line_matches(pattern: &str, line: &str) -> bool {
    let pieces: Vec<&str> = pattern.split("[..]").collect();
    let [first, between @ .., last] = pieces.as_slice() else { return pattern == line };
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for piece in between {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn a_pattern_matches_what_it_stands_for() {
    let good = [
        ("", ""),
        ("a\nb", "a\nb\n"),
        ("a  \nb\n\n", "a\nb"),
        ("...", ""),
        ("...\nend", "x\ny\nend"),
        ("start\n...\nend", "start\nend"),
        ("[..] IOPS", "12 345 IOPS"),
        ("a [..] b [..] c", "a 1 b 2 c"),
        ("p99 [..]", "p99 4 us"),
    ];
    for (pattern, output) in good {
        assert!(matches(pattern, output), "{pattern:?} should match {output:?}");
    }
}

#[test]
fn a_pattern_refuses_everything_else() {
    let bad = [
        ("", "a"),
        ("a", ""),
        ("a", "ab"),
        ("a\nb", "a"),
        ("a", "a\nb"),
        ("...\nend", "end\nx"),
        ("start\n...", "x\nstart"),
        ("[..] IOPS", "12 IOPS more"),
        ("a[..]a", "a"),
        ("a [..] b", "a b"),
    ];
    for (pattern, output) in bad {
        assert!(!matches(pattern, output), "{pattern:?} should not match {output:?}");
    }
}
