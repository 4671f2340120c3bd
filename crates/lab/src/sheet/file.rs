//! A built-in sheet with counted numbers in the place of its own: text in, text out.

use std::fmt::Write as _;

use super::CountedNumber;

/// Names under which the counts stand among the sources: the second where the sheet has counts of its own.
const SOURCES: [&str; 2] = ["counted", "counted_now"];

/// The built-in system nearest to a kernel: `6.12.30-amd64`, or a series.
pub fn base_of_kernel(release: &str) -> &'static str {
    let mut numbers = release.split(|next: char| !next.is_ascii_digit()).filter_map(|text| text.parse().ok());
    let (major, minor): (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if (major, minor) < (6, 7) { "linux-6.1" } else { "linux-6.12" }
}

/// Clocks of a number, as a sheet has them.
pub fn clocks(number: &CountedNumber, cpi: f64) -> String {
    let clocks = number.instructions * cpi;
    let digits = if clocks.abs() < 10.0 { 4 } else { 1 };
    let text = format!("{clocks:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The sheet `base` called `name`, with these numbers; `document` says by what they were counted.
pub fn sheet_with(base: &str, name: &str, document: &str, cpi: f64, numbers: &[CountedNumber]) -> String {
    let by = if (cpi - 1.0).abs() < f64::EPSILON { "" } else { "; times the clocks of an instruction" };
    let has_counts = base.lines().any(|text| text.split(" = ").next() == Some(SOURCES[0]));
    let source = SOURCES[usize::from(has_counts)];
    let line = |number: &CountedNumber| {
        let key = number.key.rsplit('.').next().unwrap_or_default();
        format!(
            "{key} = {{ value = \"{}\", source = \"{source}: {}{by}\" }}",
            clocks(number, cpi),
            number.how
        )
    };
    let mut left: Vec<&CountedNumber> = numbers.iter().filter(|number| number.what.is_none()).collect();
    let table = left.first().map(|first| format!("[{}]", first.key.split('.').next().unwrap_or_default()));
    let (mut out, mut within) = (String::new(), false);
    let end = |out: &mut String, left: &mut Vec<&CountedNumber>| {
        for number in left.drain(..) {
            let _ = writeln!(out, "{}", line(number));
        }
    };
    for text in base.lines() {
        if text.starts_with('[') {
            if within {
                let blank = out.ends_with("\n\n");
                out.truncate(out.len() - usize::from(blank));
                end(&mut out, &mut left);
                out += "\n";
            }
            within = Some(text) == table.as_deref();
        }
        let key = text.split(" = ").next().unwrap_or_default();
        let place = left.iter().position(|number| within && number.key.rsplit('.').next() == Some(key));
        let text = match place {
            Some(place) => line(left.remove(place)),
            None if key == "name" && !within => format!("name = \"{name}\""),
            None => text.to_owned(),
        };
        out += &text;
        out += "\n";
        if text == "[sources]" {
            let _ = writeln!(out, "{source} = \"{document}\"");
        }
    }
    end(&mut out, &mut left);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(key: &str, instructions: f64) -> CountedNumber {
        CountedNumber { key: key.to_owned(), what: None, instructions, how: "12 of it".to_owned() }
    }

    #[test]
    fn a_counted_number_takes_the_place_of_another_or_joins_its_table() {
        let base = "name = \"a\"\n\n[sources]\nx = \"X\"\n\n[os]\nvfs = { value = \"1\", source = \"x: y\" }\n\n[claims.one]\nvfs = \"2\"\n";
        let numbers = [number("os.vfs", 12.0), number("os.copy", 0.125)];
        let made = sheet_with(base, "b", "the lab", 1.0, &numbers);
        assert_eq!(
            made,
            "name = \"b\"\n\n[sources]\ncounted = \"the lab\"\nx = \"X\"\n\n[os]\n\
             vfs = { value = \"12\", source = \"counted: 12 of it\" }\n\
             copy = { value = \"0.125\", source = \"counted: 12 of it\" }\n\n[claims.one]\nvfs = \"2\"\n"
        );
    }

    #[test]
    fn a_sheet_that_was_counted_before_keeps_its_own_source() {
        let base = "name = \"a\"\n[sources]\ncounted = \"X\"\n[os]\nvfs = { value = \"1\", source = \"counted: y\" }\n";
        let made = sheet_with(base, "b", "the lab", 1.0, &[number("os.block", 2.0)]);
        assert!(made.contains("counted_now = \"the lab\"\ncounted = \"X\"\n"), "{made}");
        assert!(made.ends_with("block = { value = \"2\", source = \"counted_now: 12 of it\" }\n"), "{made}");
        assert!(toml::from_str::<toml::Table>(&made).is_ok(), "{made}");
    }

    #[test]
    fn clocks_are_instructions_by_their_price_and_the_sheet_says_so() {
        assert_eq!(clocks(&number("os.vfs", 1218.5), 1.0), "1218.5");
        assert_eq!(clocks(&number("os.vfs", 1000.0), 1.5), "1500");
        let made = sheet_with("name = \"a\"\n[os]\n", "b", "d", 1.5, &[number("os.vfs", 1000.0)]);
        assert!(made.ends_with(
            "vfs = { value = \"1500\", source = \"counted: 12 of it; times the clocks of an instruction\" }\n"
        ));
    }

    #[test]
    fn a_kernel_has_the_nearest_system() {
        for (release, base) in [
            ("6.1", "linux-6.1"),
            ("6.1.0-56-amd64", "linux-6.1"),
            ("6.12", "linux-6.12"),
            ("7.2", "linux-6.12"),
        ] {
            assert_eq!(base_of_kernel(release), base, "{release}");
        }
    }
}
