//! One audit entry. Kept as values and rendered when read: most are never read.

use std::sync::Arc;

use serde_json::Value;

use super::{Bound, CallIds};
use crate::model::time::{self, UnixMs};
use crate::model::writer::ObjectWriter;

/// Milliseconds by the registry's clock.
#[derive(Clone, Copy)]
pub struct Measures {
    pub duration_ms: u64,
    pub queue_wait_ms: u64,
    pub execution_ms: u64,
}

pub struct Entry {
    pub seq: u64,
    pub at: UnixMs,
    pub kind: &'static str,
    pub ids: Option<Arc<CallIds>>,
    pub bound: Bound,
    pub status: Option<&'static str>,
    pub code: Option<&'static str>,
    pub output_digest: Option<Arc<str>>,
    pub measures: Option<Measures>,
    /// The payload of a full audit, as JSON.
    pub payload: Option<String>,
    /// What only this kind has.
    pub more: Vec<(&'static str, Value)>,
}

impl Entry {
    pub fn new(kind: &'static str) -> Entry {
        Entry {
            seq: 0,
            at: 0,
            kind,
            ids: None,
            bound: Bound::default(),
            status: None,
            code: None,
            output_digest: None,
            measures: None,
            payload: None,
            more: Vec::new(),
        }
    }

    pub fn of_call(kind: &'static str, ids: &Arc<CallIds>, bound: &Bound) -> Entry {
        Entry { ids: Some(ids.clone()), bound: bound.clone(), ..Entry::new(kind) }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Entry {
        self.more.push((name, value.into()));
        self
    }

    pub fn render(&self) -> String {
        let mut out = ObjectWriter::with_capacity(512);
        out.number("seq", self.seq as i64);
        out.string("at", &time::format(self.at));
        out.string("type", self.kind);
        match &self.ids {
            Some(ids) => ids.write(&self.bound, &mut out),
            None => {
                out.optional_string("registrationId", self.bound.registration_id.as_deref());
                out.optional_string("instanceId", self.bound.instance_id.as_deref());
            }
        }
        out.optional_string("status", self.status);
        out.optional_string("code", self.code);
        out.optional_string("outputDigest", self.output_digest.as_deref());
        if let Some(measures) = self.measures {
            out.number("durationMs", measures.duration_ms as i64);
            out.number("queueWaitMs", measures.queue_wait_ms as i64);
            out.number("executionMs", measures.execution_ms as i64);
        }
        if let Some(payload) = &self.payload {
            out.raw("payload", payload.as_bytes());
        }
        for (name, value) in &self.more {
            out.value(name, value);
        }
        out.finish()
    }
}
