//! Host code to be run: which function, with what, and what for.

use std::sync::Arc;

use super::dispatch::Dispatcher;
use super::host::{Hook, Serial};
use super::local::{self, Frame};
use super::reply::Reply;
use crate::model::writer::ObjectWriter;

/// How a request reads in pull dispatch.
#[derive(Clone)]
pub struct Label {
    /// `call`, `policy`, `result`, `event`, `audit`, `log`, `abort`; `hook` for what is never handed out.
    pub what: &'static str,
    pub name: Arc<str>,
    pub phase: Option<&'static str>,
}

pub struct Job {
    pub dispatcher: Arc<Dispatcher>,
    pub hook: Hook,
    pub label: Label,
    pub reply: Option<Arc<Reply>>,
    /// The call it belongs to; 0 where there is none.
    pub call: u64,
    pub context: Vec<u8>,
    pub extra: Arc<[u8]>,
    /// The hook must answer before it returns, so it is never handed out in pull dispatch.
    pub immediate: bool,
    /// The hook must not look at the surface.
    pub looking: bool,
    /// Asked just before the host code runs; `false` means that it must not run any more.
    pub start: Option<Box<dyn FnOnce() -> bool + Send>>,
    /// Done once the host code has returned, or the host has fetched the request.
    pub after: Option<Box<dyn FnOnce() + Send>>,
    pub(super) holds_serial: bool,
}

impl Job {
    pub fn new(dispatcher: &Arc<Dispatcher>, hook: Hook, label: Label, context: Vec<u8>) -> Job {
        Job {
            dispatcher: dispatcher.clone(),
            hook,
            label,
            reply: None,
            call: 0,
            context,
            extra: Arc::default(),
            immediate: false,
            looking: false,
            start: None,
            after: None,
            holds_serial: false,
        }
    }

    /// Tells a handler that its call was aborted.
    pub fn notice(dispatcher: &Arc<Dispatcher>, hook: Hook) -> Job {
        let label = Label { what: "abort", name: "abort".into(), phase: None };
        Job::new(dispatcher, hook, label, b"{}".to_vec())
    }

    /// Runs the host code on this thread, or leaves it with its table's queue.
    pub fn run(self) {
        let serial = self.hook.serial().cloned();
        let job = match &serial {
            Some(serial) => match serial.enter(self) {
                Some(job) => job,
                None => return,
            },
            None => self,
        };
        let dispatcher = job.dispatcher.clone();
        job.call_host(serial.clone());
        if let Some(next) = serial.and_then(|serial| serial.leave()) {
            next.dispatcher.clone().resubmit(next);
        }
        local::done(dispatcher);
    }

    /// Runs a hook whose answer this thread needs at once. `false` where it would wait for itself.
    pub fn run_now(self) -> bool {
        let serial = self.hook.serial().cloned();
        if serial.as_ref().is_some_and(|serial| !serial.enter_blocking()) {
            return false;
        }
        self.call_host(serial.clone());
        if let Some(next) = serial.and_then(|serial| serial.leave()) {
            next.dispatcher.clone().resubmit(next);
        }
        true
    }

    /// Pull dispatch: gives the request to the host. `None` where there is nothing to hand out: a hook
    /// that must answer at once was run here, or the call is over.
    pub fn hand_out(mut self, name_reply: &dyn Fn(&Arc<Reply>) -> u64) -> Option<Vec<u8>> {
        if self.immediate {
            self.dispatcher.begin();
            self.run();
            return None;
        }
        if self.start.take().is_some_and(|start| !start()) {
            if let Some(reply) = &self.reply {
                reply.skipped();
            }
            return None;
        }
        let mut out = ObjectWriter::with_capacity(self.context.len() + self.extra.len() + 128);
        out.string("do", self.label.what);
        if let Some(reply) = &self.reply {
            reply.handed_out();
            out.string("reply", &name_reply(reply).to_string());
        }
        out.string("name", &self.label.name);
        out.optional_string("phase", self.label.phase);
        out.raw("context", &self.context);
        if !self.extra.is_empty() {
            out.raw("input", &self.extra);
        }
        if let Some(after) = self.after.take() {
            after();
        }
        Some(out.into_bytes())
    }

    fn call_host(self, serial: Option<Arc<Serial>>) {
        let reply = self.reply.as_ref();
        if self.start.is_some_and(|start| !start()) {
            if let Some(reply) = reply {
                reply.skipped();
            }
            return;
        }
        if let Some(reply) = reply {
            reply.started(local::role());
        }
        let frame = Frame { dispatcher: self.dispatcher.clone(), call: self.call, serial, looking: self.looking };
        local::host_code(Some(frame), || self.hook.call(reply, &self.context, &self.extra));
        if let Some(reply) = reply {
            reply.returned();
        }
        if let Some(after) = self.after {
            after();
        }
    }
}
