//! The grammar of identifiers (section 2).

/// Longest id, in bytes.
pub const MAX_ID: usize = 128;
/// Longest id that a caller may choose (invocation, consumer, tool call), in bytes.
pub const MAX_CALLER_ID: usize = 256;

/// `segment = a-z *( a-z / 0-9 / "-" )`
fn is_segment(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

/// `component-type = segment *( "." segment )`
pub fn is_component_type(text: &str) -> bool {
    text.len() <= MAX_ID && text.split('.').all(is_segment)
}

/// `capability-name = a-z *( A-Z / a-z / 0-9 )`
pub fn is_capability_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.len() <= MAX_ID
        && bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.iter().all(u8::is_ascii_alphanumeric)
}

/// `instance-id = 1*( A-Z / a-z / 0-9 / "-" / "_" )`
pub fn is_instance_id(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_ID
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// The id of a view capability; `None` when the whole is over the length.
pub fn view_id(component_type: &str, name: &str) -> String {
    format!("view:{component_type}.{name}")
}

pub fn domain_id(path: &str) -> String {
    format!("domain:{path}")
}

/// Whether `text` is a capability id at all. Everything after `domain:` is opaque.
pub fn is_capability_id(text: &str) -> bool {
    if text.len() > MAX_ID {
        return false;
    }
    if let Some(rest) = text.strip_prefix("view:") {
        return rest
            .rsplit_once('.')
            .is_some_and(|(component, name)| is_component_type(component) && is_capability_name(name));
    }
    text.strip_prefix("domain:").is_some_and(|path| !path.is_empty())
}

/// Whether one of the prefixes covers `component_type`, on a segment boundary. `None` covers everything.
pub fn in_scope(component_type: &str, scope: Option<&[String]>) -> bool {
    let covers = |prefix: &String| {
        component_type.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    scope.is_none_or(|scope| scope.iter().any(covers))
}

/// Ids chosen by callers: 1 to 256 bytes of UTF-8 without control characters.
pub fn is_caller_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_CALLER_ID && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AS-ID-001: the grammar, its edges, and what lies just outside.
    #[test]
    fn grammar_edges() {
        for ok in ["a", "devices.table", "a-1.b2", "a-"] {
            assert!(is_component_type(ok), "{ok}");
        }
        for bad in ["", ".", "a.", ".a", "A", "1a", "-a", "a_b", "a..b", "é"] {
            assert!(!is_component_type(bad), "{bad}");
        }
        assert!(is_capability_name("selectRows2") && !is_capability_name("SelectRows"));
        assert!(!is_capability_name("") && !is_capability_name("a-b") && !is_capability_name("a.b"));
        assert!(is_instance_id("-_A9") && !is_instance_id("") && !is_instance_id("a.b"));
    }

    /// AS-ID-001: 128 bytes at most, the whole id counted.
    #[test]
    fn length_is_counted_over_the_whole_id() {
        let path = "x".repeat(MAX_ID - "domain:".len());
        assert!(is_capability_id(&domain_id(&path)));
        assert!(!is_capability_id(&domain_id(&format!("{path}x"))));
    }

    /// AS-ID-003: the name is what follows the last dot, so every valid pair comes back.
    #[test]
    fn round_trip() {
        let id = view_id("a.b-c.d", "doIt");
        assert!(is_capability_id(&id));
        assert_eq!(id["view:".len()..].rsplit_once('.'), Some(("a.b-c.d", "doIt")));
        for bad in ["view:", "view:a", "view:.a", "view:a.", "view:a.B", "domain:", "other:a.b", ""] {
            assert!(!is_capability_id(bad), "{bad}");
        }
    }

    #[test]
    fn caller_ids() {
        assert!(is_caller_id("é:\u{200b}") && is_caller_id(&"x".repeat(256)));
        assert!(!is_caller_id("") && !is_caller_id(&"x".repeat(257)) && !is_caller_id("a\u{7f}"));
        assert!(!is_caller_id("a\n") && !is_caller_id("\u{85}"));
    }
}
