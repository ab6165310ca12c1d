//! What a person is shown. It must show what runs: nothing in it may hide or reorder text.

use serde_json::Value;

use crate::json;
use crate::model::error::truncate;

/// Longest summary, in characters (section 9).
pub const MAX_SUMMARY: usize = 300;

/// What a policy wants the person to read.
pub enum Summary {
    /// With `{/pointer}` for what stands there in the effective input.
    Template(String),
    Text(String),
}

/// From what a policy wants, or from description and input.
pub fn compose(wanted: Option<&Summary>, description: &str, input: &Value) -> String {
    let text = match wanted {
        Some(Summary::Template(template)) => fill(template, input),
        Some(Summary::Text(text)) => text.clone(),
        None => match input.as_object().is_some_and(serde_json::Map::is_empty) {
            true => description.to_string(),
            false => format!("{description}: {}", json::canonical(input)),
        },
    };
    shorten(&escape(&text))
}

/// Replaces `{/pointer}` by what stands there; anything else in braces stays as it is.
fn fill(template: &str, input: &Value) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, placed) = (&rest[..open], &rest[open + 1..]);
        out.push_str(before);
        let Some(close) = placed.find('}').filter(|close| *close == 0 || placed.starts_with('/')) else {
            out.push('{');
            rest = placed;
            continue;
        };
        match json::lookup(input, &placed[..close]) {
            Some(Value::String(text)) => out.push_str(text),
            Some(value) => out.push_str(&json::canonical(value)),
            None => {}
        }
        rest = &placed[close + 1..];
    }
    out.push_str(rest);
    out
}

/// Makes control, bidirectional, zero-width and other invisible characters visible as `\u{…}`.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_deceptive(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fe00}'..='\u{fe0f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn shorten(text: &str) -> String {
    let cut = truncate(text, MAX_SUMMARY);
    if cut.len() == text.len() {
        return text.to_string();
    }
    format!("{}…", truncate(text, MAX_SUMMARY - 1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Section 9, point 9: what is shown is what runs.
    #[test]
    fn nothing_invisible_survives() {
        let summary = compose(None, "Pay", &json!({"to": "a\u{202e}b\u{200b}c\n"}));
        assert!(!summary.chars().any(is_deceptive), "{summary}");
        assert!(summary.contains("\\u{202e}") && summary.contains("\\u{200b}"));
    }

    #[test]
    fn templates_and_length() {
        let input = json!({"ids": ["d1"], "n": 2, "who": "Ann"});
        assert_eq!(
            compose(Some(&Summary::Template("Disable {/ids} for {/who} {n} {/gone}.".into())), "", &input),
            "Disable [\"d1\"] for Ann {n} ."
        );
        for (template, filled) in [
            ("{to: {/n}}", "{to: 2}"),
            ("{{/n}", "{2"),
            ("{/n", "{/n"),
            ("{}", "{\"ids\":[\"d1\"],\"n\":2,\"who\":\"Ann\"}"),
        ] {
            assert_eq!(compose(Some(&Summary::Template(template.into())), "", &input), filled);
        }
        let long = compose(Some(&Summary::Text("ä".repeat(400))), "", &input);
        assert_eq!(long.chars().count(), MAX_SUMMARY);
    }
}
