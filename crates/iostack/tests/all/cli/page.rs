//! What does a page ask for? Files to lay down, commands to run, and what each of them prints.

/// A page of `tests/cli/`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Page {
    /// Requirements on the machine: `<!-- requires: fio root -->`.
    pub(crate) requires: Vec<String>,
    /// Name and content of the blocks whose fence carries a file name.
    pub(crate) files: Vec<(String, String)>,
    /// The commands of all `console` blocks, in order.
    pub(crate) commands: Vec<Shown>,
}

/// A command and what the page shows of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    /// Command for the shell.
    pub(crate) command: String,
    /// `? 2` below the command; 0 without it.
    pub(crate) status: i32,
    /// Everything up to the next command.
    pub(crate) output: String,
    /// Index of the command's first line.
    pub(crate) line: usize,
    /// Index of the line below its output.
    pub(crate) end: usize,
}

impl Page {
    /// Reads a page, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Page, String> {
        let lines: Vec<&str> = text.lines().collect();
        let mut page = Page::default();
        let mut at = 0;
        while at < lines.len() {
            if let Some(list) = lines[at].strip_prefix("<!-- requires:") {
                page.requires.extend(list.trim_end_matches("-->").split_whitespace().map(str::to_owned));
            }
            let Some(fence) = lines[at].strip_prefix("```") else {
                at += 1;
                continue;
            };
            let body = at + 1;
            let length = lines[body..].iter().position(|line| *line == "```");
            let end = body + length.ok_or_else(|| format!("line {}: this block has no end", at + 1))?;
            match fence.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["console"] => page.commands.extend(commands(&lines, body, end)?),
                [_language, name] => page.files.push(((*name).to_owned(), joined(&lines[body..end]))),
                _ => {}
            }
            at = end + 1;
        }
        if page.commands.is_empty() {
            return Err("no `console` block with a command, so it tests nothing".to_owned());
        }
        Ok(page)
    }
}

/// The commands between two line indices.
fn commands(lines: &[&str], body: usize, end: usize) -> Result<Vec<Shown>, String> {
    let mut found = Vec::new();
    let mut at = body;
    while at < end {
        let line = at;
        let first = lines[at].strip_prefix("$ ");
        let mut command =
            first.ok_or_else(|| format!("line {}: a console block begins with `$ `", at + 1))?.to_owned();
        at += 1;
        while let Some(more) = lines[at..end].first().and_then(|line| line.strip_prefix("> ")) {
            command = format!("{command}\n{more}");
            at += 1;
        }
        let status = lines[at..end].first().and_then(|line| line.strip_prefix("? "));
        let status = match status {
            Some(number) => {
                number.parse().map_err(|_| format!("line {}: `? {number}` is no exit status", at + 1))?
            }
            None => 0,
        };
        let output = at + usize::from(lines[at..end].first().is_some_and(|line| line.starts_with("? ")));
        let length = lines[output..end].iter().position(|line| line.starts_with("$ "));
        at = length.map_or(end, |length| output + length);
        found.push(Shown { command, status, output: joined(&lines[output..at]), line, end: at });
    }
    Ok(found)
}

fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// The page with these commands' status and output replaced by what really came.
pub(crate) fn corrected(text: &str, real: &[(&Shown, i32, String)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (shown, status, output) in real.iter().rev() {
        let body = shown.line + 1 + shown.command.matches('\n').count();
        let mut fresh: Vec<String> =
            output.trim_end().lines().map(|line| line.trim_end().to_owned()).collect();
        if *status != 0 {
            fresh.insert(0, format!("? {status}"));
        }
        lines.splice(body..shown.end, fresh);
    }
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

#[test]
fn a_page_is_files_and_commands() {
    let text = "# A\n<!-- requires: fio root -->\n```toml a.toml\nx = 1\n```\n```\nprose\n```\n```console\n\
                $ one \\\n> two\n? 2\nout\n$ three\n```\n";
    let page = Page::parse(text).expect("it is well formed");
    assert_eq!(page.requires, ["fio", "root"]);
    assert_eq!(page.files, [("a.toml".to_owned(), "x = 1\n".to_owned())]);
    let seen: Vec<_> =
        page.commands.iter().map(|it| (it.command.as_str(), it.status, it.output.as_str())).collect();
    assert_eq!(seen, [("one \\\ntwo", 2, "out\n"), ("three", 0, "")]);
}

#[test]
fn a_page_that_tests_nothing_is_refused() {
    for text in [
        "",
        "```console\n```\n",
        "```console\n$ a\n",
        "```console\nout\n```\n",
        "```console\n$ a\n? x\n```\n",
    ] {
        Page::parse(text).expect_err(text);
    }
}

#[test]
fn a_corrected_page_shows_what_came() {
    let text = "```console\n$ a\n? 1\nold\n$ b\nkept\n$ c\n```\nend\n";
    let page = Page::parse(text).expect("it is well formed");
    let real =
        [(&page.commands[0], 0, "new\n".to_owned()), (&page.commands[2], 2, "lines\nmore\n\n".to_owned())];
    assert_eq!(corrected(text, &real), "```console\n$ a\nnew\n$ b\nkept\n$ c\n? 2\nlines\nmore\n```\nend\n");
}
