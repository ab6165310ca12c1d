//! Host code to be run: which function, with what, and what for.

use std::sync::Arc;

use super::dispatch::{Dispatcher, Patience};
use super::host::{Hook, Serial};
use super::local::{self, Frame, Role};
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

pub type Start = Box<dyn FnOnce() -> bool + Send>;
pub type After = Box<dyn FnOnce() + Send>;

pub struct Job {
    pub dispatcher: Arc<Dispatcher>,
    pub hook: Hook,
    pub label: Label,
    pub reply: Option<Arc<Reply>>,
    /// The call it belongs to; 0 where there is none.
    pub call: u64,
    /// The lane of that call's consumer, in the queue to the workers.
    pub(super) lane: u64,
    pub context: Vec<u8>,
    pub extra: Arc<[u8]>,
    /// The hook must answer before it returns, so it is never handed out in pull dispatch.
    pub immediate: bool,
    /// The hook must not look at the surface.
    pub looking: bool,
    /// Asked just before the host code runs; `false` means that it must not run any more.
    pub start: Option<Start>,
    /// Done once the host code has returned, or the host has fetched the request.
    pub after: Option<After>,
    pub(super) holds_serial: bool,
}

/// A request that holds nothing of the host, for when it is fetched.
pub(super) struct Document {
    text: Vec<u8>,
    start: Option<Start>,
}

impl Document {
    /// Its text, if it is still wanted.
    pub(super) fn fetch(self) -> Option<Vec<u8>> {
        self.start.is_none_or(|start| start()).then_some(self.text)
    }
}

/// A request in the host's hands: its table is taken and its registry busy as long as this lives.
pub(super) struct Handed {
    dispatcher: Arc<Dispatcher>,
    serial: Option<Arc<Serial>>,
}

impl Drop for Handed {
    fn drop(&mut self) {
        if let Some(serial) = &self.serial {
            serial.pass_on();
        }
        local::done(self.dispatcher.clone());
    }
}

impl Job {
    pub fn new(dispatcher: &Arc<Dispatcher>, hook: Hook, label: Label, context: Vec<u8>) -> Job {
        Job {
            dispatcher: dispatcher.clone(),
            hook,
            label,
            reply: None,
            call: 0,
            lane: 0,
            context,
            extra: Arc::default(),
            immediate: false,
            looking: false,
            start: None,
            after: None,
            holds_serial: false,
        }
    }

    pub fn belongs_to(&mut self, call: u64, lane: u64) {
        (self.call, self.lane) = (call, lane);
    }

    /// Tells a handler that its call was aborted.
    pub fn notice(dispatcher: &Arc<Dispatcher>, hook: Hook, invocation_id: &str) -> Job {
        let label = Label { what: "abort", name: "abort".into(), phase: None };
        let mut context = ObjectWriter::new();
        context.string("invocationId", invocation_id);
        Job::new(dispatcher, hook, label, context.into_bytes())
    }

    /// Takes the table that keeps its calls apart, where there is one; gives nothing back where the job has to wait in
    /// the table's queue.
    pub(super) fn take_turn(self) -> Option<Job> {
        match self.hook.serial().cloned() {
            Some(serial) => serial.enter(self),
            None => Some(self),
        }
    }

    /// Runs the host code on this thread, or leaves it with its table's queue.
    pub fn run(self) {
        let Some(job) = self.take_turn() else { return };
        let (serial, dispatcher) = (job.hook.serial().cloned(), job.dispatcher.clone());
        job.call_host(serial.clone());
        if let Some(serial) = serial {
            serial.pass_on();
        }
        local::done(dispatcher);
    }

    /// Runs a hook whose answer this thread needs at once, unless it would wait for itself, or too long, or host code
    /// is too deep in itself.
    pub fn run_now(self) {
        if local::depth() >= local::MAX_FRAMES {
            return;
        }
        let serial = self.hook.serial().cloned();
        if let Some(serial) = &serial {
            let patience = Patience::new(self.dispatcher.patience_ms() as i64);
            if !self.dispatcher.pool.blocking(|| serial.enter_blocking(patience)) {
                return;
            }
        }
        self.call_host(serial.clone());
        if let Some(serial) = serial {
            serial.pass_on();
        }
    }

    /// Whether the call has gone on without it.
    pub(super) fn is_over(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| !reply.is_open())
    }

    /// It is over, and is not run. For a job that is counted already.
    pub(super) fn skip(self) {
        if let Some(reply) = &self.reply {
            reply.skipped();
        }
        let dispatcher = self.dispatcher.clone();
        drop(self);
        local::done(dispatcher);
    }

    /// Pull dispatch: gives the request to the host. `None` where there is nothing to hand out: a hook
    /// that must answer at once was run here, or the call is over.
    pub fn hand_out(self, name_reply: &dyn Fn(&Arc<Reply>) -> u64) -> Option<Vec<u8>> {
        // Counted from here: what is handed out runs until it is answered or deferred.
        self.dispatcher.begin();
        if self.immediate {
            self.run();
            return None;
        }
        let serial = self.hook.serial().cloned();
        let mut job = match &serial {
            Some(serial) => serial.enter(self)?,
            None => self,
        };
        let handed = Handed { dispatcher: job.dispatcher.clone(), serial };
        if job.start.take().is_some_and(|start| !start()) {
            if let Some(reply) = &job.reply {
                reply.skipped();
            }
            return None;
        }
        let request = job.render(job.reply.as_ref().map(name_reply));
        if let Some(reply) = &job.reply {
            reply.handed_out(handed, &job.hook);
        }
        if let Some(after) = job.after.take() {
            after();
        }
        Some(request)
    }

    /// Pull dispatch of a registry that closes: what needs no answer, as it will be fetched, and what follows
    /// from it.
    pub(super) fn into_document(mut self) -> Option<(Document, Option<After>)> {
        let document = |job: &mut Job| Document { text: job.render(None), start: job.start.take() };
        self.reply.is_none().then(|| (document(&mut self), self.after.take()))
    }

    fn render(&self, reply: Option<u64>) -> Vec<u8> {
        let mut out = ObjectWriter::with_capacity(self.context.len() + self.extra.len() + 128);
        out.string("do", self.label.what);
        out.optional_string("reply", reply.map(|handle| handle.to_string()).as_deref());
        out.string("name", &self.label.name);
        out.optional_string("phase", self.label.phase);
        out.raw("context", &self.context);
        if !self.extra.is_empty() {
            out.raw("input", &self.extra);
        }
        out.into_bytes()
    }

    fn call_host(self, serial: Option<Arc<Serial>>) {
        let reply = self.reply.as_ref();
        if self.start.is_some_and(|start| !start()) {
            if let Some(reply) = reply {
                reply.skipped();
            }
            return;
        }
        let desk = (local::role() == Role::Worker).then(|| local::desk(&self.dispatcher.pool));
        if let Some(reply) = reply {
            reply.started(desk.clone(), &self.hook);
        }
        // Inside other host code, the worker is where that is.
        let desk = desk.filter(|_| local::depth() == 0);
        if let Some(desk) = &desk {
            desk.run(&self.dispatcher, reply);
        }
        let frame = Frame { dispatcher: self.dispatcher.clone(), call: self.call, serial, looking: self.looking };
        local::host_code(Some(frame), || self.hook.call(reply, &self.context, &self.extra));
        if let Some(desk) = &desk {
            desk.run(&self.dispatcher, None);
        }
        if let Some(reply) = reply {
            reply.returned();
        }
        if let Some(after) = self.after {
            after();
        }
    }
}
