//! Who calls: an agent-side client, for whom snapshots and invocations are evaluated.

use std::sync::Arc;

use once_cell::race::OnceBox;
use serde_json::Value;

use super::error::ApiError;
use super::fields::{self, Fields};
use super::id;
use super::writer::ObjectWriter;
use crate::json;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumerKind {
    Embedded,
    Webmcp,
    McpBridge,
    Test,
    Other,
}

const KINDS: &[(&str, ConsumerKind)] = &[
    ("embedded", ConsumerKind::Embedded),
    ("webmcp", ConsumerKind::Webmcp),
    ("mcp-bridge", ConsumerKind::McpBridge),
    ("test", ConsumerKind::Test),
    ("other", ConsumerKind::Other),
];

impl ConsumerKind {
    pub fn as_str(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("other", |(word, _)| word)
    }
}

/// `{id, kind, grants?}`; `embedded:anonymous` where none is given.
#[derive(Debug, PartialEq)]
pub struct Consumer {
    /// `kind + ":" + id`. No kind holds a colon, so two consumers never share a key.
    pub key: Arc<str>,
    /// A hash of the key: two consumers that share it merely wait for each other.
    pub lane: u64,
    /// The document as the host sees it again.
    pub json: String,
}

static ANONYMOUS: OnceBox<Arc<Consumer>> = OnceBox::new();

impl Consumer {
    pub fn new(kind: ConsumerKind, id: &str, grants: Option<&Value>) -> Arc<Consumer> {
        let mut out = ObjectWriter::with_capacity(64 + id.len());
        if let Some(grants) = grants {
            out.value("grants", grants);
        }
        out.string("id", id);
        out.string("kind", kind.as_str());
        let key = [kind.as_str(), ":", id].concat();
        Arc::new(Consumer { lane: json::fnv1a64(key.as_bytes()), key: key.into(), json: out.finish() })
    }

    pub fn anonymous() -> Arc<Consumer> {
        ANONYMOUS.get_or_init(|| Box::new(Consumer::new(ConsumerKind::Embedded, "anonymous", None))).clone()
    }

    pub fn read(value: Option<&Value>, path: &str) -> Result<Arc<Consumer>, ApiError> {
        let Some(value) = value else { return Ok(Consumer::anonymous()) };
        let mut fields = Fields::new(value, path, fields::argument)?;
        let id = fields.required_string("id")?;
        if !id::is_caller_id(id) {
            return Err(fields.error("id", "Give 1 to 256 bytes without control characters here."));
        }
        fields.required("kind")?;
        let kind = fields.word("kind", KINDS)?.unwrap_or(ConsumerKind::Other);
        let grants = fields.get("grants");
        fields.finish()?;
        Ok(Consumer::new(kind, id, grants))
    }
}
