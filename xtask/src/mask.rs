//! Rust text with comments and literals blanked out, so that a search finds code only.
//!
//! The mask has the same bytes at the same places, with spaces where comments, strings and characters were; line
//! numbers and brackets therefore agree with the file. This is a lexer of forty lines, not a parser; it knows nested
//! comments, raw strings, and a lifetime from a character.

/// `text` with comments and literals replaced by spaces.
pub(crate) fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut masked = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_or_comment_end(bytes, at);
        for byte in &mut masked[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8(masked).expect("whole characters were blanked, so the rest is still UTF-8")
}

/// Byte offsets where `word` stands alone in masked text.
pub(crate) fn words<'a>(masked: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    masked.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = masked[..at].chars().next_back();
        let after = masked[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Line number, from 1, of a byte offset.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Offset just behind the bracket that closes the one at `open`; the end of the text when none does.
pub(crate) fn closing(masked: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in masked.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    masked.len()
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// End of the literal or comment that begins at `at`; `at` itself when none begins there.
fn literal_or_comment_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    match rest {
        [b'/', b'/', ..] => at + rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => at + block_comment_len(rest),
        [b'"', ..] => at + string_len(rest),
        [b'\'', ..] => at + character_len(rest),
        [b'r', ..] if !follows_word(bytes, at) => at + raw_string_len(rest),
        _ => at,
    }
}

/// `r` of an identifier such as `for` begins no raw string; that of `br"..."` and `cr"..."` does.
fn follows_word(bytes: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map_or(b' ', |index| bytes[index]);
    let is_word_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_prefix = matches!(before(1), b'b' | b'c') && !is_word_byte(before(2));
    is_word_byte(before(1)) && !is_prefix
}

fn block_comment_len(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string_len(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

fn raw_string_len(rest: &[u8]) -> usize {
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = 2 + hashes;
    let end = rest[body..].windows(close.len()).position(|window| window == close);
    end.map_or(rest.len(), |end| body + end + close.len())
}

/// Zero for a lifetime.
fn character_len(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        let end = rest.iter().skip(3).position(|&byte| byte == b'\'');
        return end.map_or(rest.len(), |end| end + 4);
    }
    // A character is at most four bytes; the quote behind it tells it from a lifetime.
    let quote = rest.iter().skip(2).take(4).position(|&byte| byte == b'\'').map(|back| back + 2);
    match quote {
        Some(end) if std::str::from_utf8(&rest[1..end]).is_ok_and(|text| text.chars().count() == 1) => {
            end + 1
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_vanish_and_code_stays() {
        let cases = [
            ("a // unsafe", "a          "),
            ("a /* x /* y */ z */ b", "a                     b"),
            (r#"f("un\"safe") ;"#, "f(           ) ;"),
            ("r#\"{\"# }", "       }"),
            ("br\"{\" }", "b     }"),
            ("for x", "for x"),
            ("&'a str", "&'a str"),
            ("'{' }", "    }"),
            ("'\\'' }", "     }"),
            ("'\\u{7f}' }", "         }"),
            ("'µ' }", "     }"),
            ("\"µ\" }", "     }"),
        ];
        for (text, expected) in cases {
            let masked = mask(text);
            assert_eq!(masked.len(), text.len(), "{text}");
            assert_eq!(
                masked.split_whitespace().collect::<String>(),
                expected.split_whitespace().collect::<String>(),
                "{text}"
            );
        }
    }

    #[test]
    fn lines_survive_the_mask() {
        assert_eq!(mask("\"a\nb\"\n/*\n*/x"), "  \n  \n  \n  x");
        assert_eq!(line_of("a\nb\nc", 4), 3);
    }

    #[test]
    fn a_word_is_found_only_alone() {
        assert_eq!(words("unsafe unsafe_code { unsafe}", "unsafe").collect::<Vec<_>>(), [0, 21]);
    }

    #[test]
    fn brackets_close_where_they_were_opened() {
        assert_eq!(closing("f(a[1]) {}", 1), 7);
        assert_eq!(closing("{ {} ", 0), 5);
    }
}
