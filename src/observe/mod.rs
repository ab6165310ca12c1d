//! What a host can watch: events, audit, and the operator's log.
//!
//! Everything is put in order under one short lock and handed to listeners afterwards, so no
//! listener runs under it and what a listener causes comes after what it was told.

mod audit;
mod file;
mod listener;
pub mod trace;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::sync::Mutex;

pub use audit::{Entry, Measures};
pub use listener::Listener;
use listener::Stamp;

use crate::model::config::AuditSink;
use crate::model::time::{self, UnixMs};
use crate::model::writer::{self, ObjectWriter};
use crate::model::{ApiError, Code, Consumer};
use crate::runtime::{Clock, Dispatcher, Hook};
use file::FileSink;

/// Most listeners of one registry.
const MAX_LISTENERS: usize = 64;

/// Who called what: the part of a call's identity that never changes (AS-BINDING-005).
pub struct CallIds {
    pub invocation_id: Arc<str>,
    /// One an execution: the same in its joins and replays, new when an id is used again.
    pub attempt_id: String,
    pub capability_id: Arc<str>,
    pub consumer: Arc<Consumer>,
    pub issued_digest: Arc<str>,
    pub traceparent: Option<String>,
}

/// What phases 2 and 5 add to it.
#[derive(Clone, Default)]
pub struct Bound {
    pub registration_id: Option<Arc<str>>,
    pub instance_id: Option<Arc<str>>,
    pub request_digest: Option<Arc<str>>,
}

impl CallIds {
    pub fn write(&self, bound: &Bound, out: &mut ObjectWriter) {
        out.string("invocationId", &self.invocation_id);
        out.string("attemptId", &self.attempt_id);
        out.string("capabilityId", &self.capability_id);
        out.string("consumerKey", &self.consumer.key);
        out.string("issuedDigest", &self.issued_digest);
        out.optional_string("requestDigest", bound.request_digest.as_deref());
        out.optional_string("registrationId", bound.registration_id.as_deref());
        out.optional_string("instanceId", bound.instance_id.as_deref());
        out.optional_string("traceparent", self.traceparent.as_deref());
    }
}

/// Which listeners an event is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    All,
    Confirmations,
}

pub struct Observer {
    clock: Arc<Clock>,
    dispatcher: Arc<Dispatcher>,
    max_backlog: usize,
    events: Mutex<Events>,
    audit: Mutex<Audit>,
    log: Option<Arc<Listener>>,
}

#[derive(Default)]
struct Events {
    seq: u64,
    listeners: Vec<(Topic, Arc<Listener>)>,
    closed: bool,
}

struct Audit {
    seq: u64,
    capacity: usize,
    entries: VecDeque<Entry>,
    callback: Option<Arc<Listener>>,
    file: Option<FileSink>,
}

impl Observer {
    pub fn new(
        clock: &Arc<Clock>,
        dispatcher: &Arc<Dispatcher>,
        limits: (usize, usize),
        sink: &AuditSink,
        audit: Option<Hook>,
        log: Option<Hook>,
    ) -> Result<Observer, ApiError> {
        let (max_backlog, capacity) = limits;
        let listener = |what, hook| Listener::new(dispatcher, what, hook, max_backlog);
        let file = match sink {
            AuditSink::File { path, max_bytes } => Some(FileSink::open(path, *max_bytes)?),
            _ => None,
        };
        let callback = match (sink, audit) {
            (AuditSink::Callback, None) => {
                return Err(ApiError::at(
                    Code::Argument,
                    "/audit/sink",
                    "Give an audit callback to send the entries to.",
                ));
            }
            (AuditSink::Callback, Some(hook)) => Some(listener("audit", hook)),
            _ => None,
        };
        Ok(Observer {
            clock: clock.clone(),
            dispatcher: dispatcher.clone(),
            max_backlog,
            events: Mutex::default(),
            audit: Mutex::new(Audit { seq: 0, capacity, entries: VecDeque::new(), callback, file }),
            log: log.map(|hook| listener("log", hook)),
        })
    }

    /// Emits one event. `write` adds what the kind needs; it runs only if anybody listens.
    pub fn emit(&self, topic: Topic, kind: &'static str, write: impl FnOnce(&mut ObjectWriter)) {
        let mut events = self.events.lock();
        events.seq += 1;
        let hears = |wants: Topic| wants == Topic::All || wants == topic;
        if !events.listeners.iter().any(|(wants, _)| hears(*wants)) {
            return;
        }
        let stamp = Stamp { seq: Some(events.seq), at: self.clock.unix() };
        let text: Arc<[u8]> = document(events.seq, stamp.at, kind, write).into();
        for (wants, listener) in &events.listeners {
            if hears(*wants) {
                listener.push(kind, stamp, text.clone());
            }
        }
    }

    pub fn subscribe(&self, topic: Topic, hook: Hook) -> Result<Arc<Listener>, ApiError> {
        let listener = Listener::new(&self.dispatcher, "event", hook, self.max_backlog);
        let mut events = self.events.lock();
        if events.closed {
            return Err(ApiError::closed());
        }
        if events.listeners.len() >= MAX_LISTENERS {
            return Err(ApiError::new(Code::Limit, format!("A registry has at most {MAX_LISTENERS} listeners.")));
        }
        events.listeners.push((topic, listener.clone()));
        Ok(listener)
    }

    pub fn unsubscribe(&self, listener: &Arc<Listener>) {
        self.events.lock().listeners.retain(|(_, other)| !Arc::ptr_eq(other, listener));
        listener.cancel();
    }

    /// Records one audit entry.
    pub fn audit(&self, mut entry: Entry) {
        let mut audit = self.audit.lock();
        audit.seq += 1;
        entry.seq = audit.seq;
        entry.at = self.clock.unix();
        let mut failure = None;
        if audit.callback.is_some() || audit.file.is_some() {
            let text = entry.render();
            if let Some(file) = &mut audit.file {
                // Written in place, so that the order of the file is the order of the audit.
                failure = file.write(text.as_bytes());
            }
            if let Some(callback) = &audit.callback {
                let stamp = Stamp { seq: Some(entry.seq), at: entry.at };
                callback.push(entry.kind, stamp, text.into_bytes().into());
            }
        }
        if audit.capacity > 0 {
            if audit.entries.len() >= audit.capacity {
                audit.entries.pop_front();
            }
            audit.entries.push_back(entry);
        }
        drop(audit);
        if let Some(failure) = failure {
            self.log("error", &failure);
        }
    }

    /// The entries in memory with a `seq` above `after`, as a JSON array.
    pub fn audit_read(&self, after: u64) -> String {
        let mut out = Vec::new();
        let audit = self.audit.lock();
        let newer = audit.entries.iter().filter(|entry| entry.seq > after);
        writer::write_array(&mut out, newer, |entry, out| out.extend_from_slice(entry.render().as_bytes()));
        writer::text(out)
    }

    /// Tells the operator. Never anything an agent sees.
    pub fn log(&self, level: &str, message: &str) {
        self.log_with(level, message, |_| {});
    }

    pub fn log_with(&self, level: &str, message: &str, write: impl FnOnce(&mut ObjectWriter)) {
        let Some(log) = &self.log else { return };
        let mut out = ObjectWriter::new();
        let stamp = Stamp { seq: None, at: self.clock.unix() };
        out.string("at", &time::format(stamp.at));
        out.string("level", level);
        out.string("message", message);
        write(&mut out);
        log.push("log", stamp, out.into_bytes().into());
    }

    /// No new listeners; what is in the backlogs is still delivered.
    pub fn close(&self) {
        self.events.lock().closed = true;
    }

    /// Drops every listener. For when no host code runs any more.
    pub fn clear(&self) {
        let listeners = std::mem::take(&mut self.events.lock().listeners);
        let callback = self.audit.lock().callback.take();
        for listener in listeners.iter().map(|(_, listener)| listener).chain(&callback).chain(&self.log) {
            listener.close();
        }
    }
}

fn document(seq: u64, at: UnixMs, kind: &str, write: impl FnOnce(&mut ObjectWriter)) -> Vec<u8> {
    let mut out = ObjectWriter::new();
    out.number("seq", seq as i64);
    out.string("at", &time::format(at));
    out.string("type", kind);
    write(&mut out);
    out.into_bytes()
}
