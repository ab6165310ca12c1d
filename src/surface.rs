//! The registry as a Rust type: the one public face. Every function opens a scope, so that what it
//! woke is polled and what it released is destroyed before it returns.

mod invocation;
mod registration;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;

use crate::catalog::explain;
use crate::catalog::snapshot::{self, View};
use crate::confirm::Decision;
use crate::model::config::Config;
use crate::model::writer::ObjectWriter;
use crate::model::{ApiError, Code, Consumer, fields, id, request};
use crate::observe::{Listener, Topic};
use crate::pipeline::call::would_deadlock;
use crate::pipeline::engine::Engine;
use crate::registry::Executor;
use crate::runtime::clock::Clock;
use crate::runtime::dispatch::Patience;
use crate::runtime::pull::Taken;
use crate::runtime::{Hook, Reply, enter, local};

pub use crate::policy::PolicyHooks;
pub use crate::registry::HostHooks;
pub use crate::verify::{canonical_json, request_digest, verify_result};
pub use invocation::Invocation;
pub use registration::{Binding, Registration};

/// The ABI this library speaks; part of the registry info.
pub const ABI_VERSION: u32 = 1;

/// A registry. Cheap to clone; all clones are the same one.
#[derive(Clone)]
pub struct Surface {
    engine: Arc<Engine>,
}

impl Surface {
    pub fn new(config: &[u8], hooks: HostHooks) -> Result<Surface, ApiError> {
        let _scope = enter();
        let engine = Engine::new(Config::parse(config)?, hooks)?;
        Ok(Surface { engine })
    }

    /// Closes: takes nothing new, settles what is pending, waits until no host code runs and all
    /// that is the host's has been released.
    pub fn close(&self, timeout_ms: i64) -> Result<(), ApiError> {
        self.release();
        match self.engine.dispatcher.wait_closed(Patience::new(timeout_ms)) {
            None => Err(would_deadlock()),
            Some(true) => Ok(()),
            Some(false) => {
                Err(ApiError::new(Code::Timeout, "Host code is still running; the registry goes on closing."))
            }
        }
    }

    /// Begins to close, and does not wait.
    pub fn release(&self) {
        let _scope = enter();
        self.engine.close();
    }

    pub fn info(&self) -> Result<String, ApiError> {
        let engine = &self.engine;
        engine.check_open()?;
        let mut out = ObjectWriter::new();
        out.string("surfaceId", &engine.surface_id);
        out.string("surfaceVersion", &engine.catalog.version().to_string());
        out.number("registrations", engine.catalog.len() as i64);
        out.number("inFlight", engine.in_flight() as i64);
        out.number("pendingConfirmations", engine.confirmations.pending() as i64);
        out.number("workers", engine.dispatcher.pool.workers() as i64);
        out.object("limits", |out| {
            for (name, value) in engine.limits().entries() {
                out.number(name, value as i64);
            }
        });
        out.number("abiVersion", ABI_VERSION.into());
        Ok(out.finish())
    }

    pub fn define_policy(&self, name: &[u8], hooks: PolicyHooks) -> Result<(), ApiError> {
        let _scope = enter();
        let _busy = self.engine.open()?;
        let name = utf8(name)?;
        if !id::is_caller_id(name) {
            return Err(ApiError::new(
                Code::Argument,
                "Give a policy name of 1 to 256 bytes without control characters.",
            ));
        }
        self.engine.policies.define(name, hooks)?;
        self.engine.looks_otherwise();
        Ok(())
    }

    /// `paths` is a JSON array; a second call replaces the first.
    pub fn set_executor(&self, paths: &[u8], hook: Hook) -> Result<(), ApiError> {
        let _scope = enter();
        let _busy = self.engine.open()?;
        let value = fields::document(paths, None)?;
        let wrong = || ApiError::at(Code::Argument, "", "Give a list of procedure paths here.");
        // A path that no id could hold is the definition's error, should one name it.
        let read = |(index, path): (usize, &Value)| {
            let wrong = || ApiError::at(Code::Argument, format!("/{index}"), "Give a text here.");
            path.as_str().map(String::from).ok_or_else(wrong)
        };
        let paths: HashSet<String> =
            value.as_array().ok_or_else(wrong)?.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        self.serve(Executor { paths: Arc::new(paths), hook })
    }

    /// Pull dispatch: the next request, as JSON. `name_reply` gives the handle of its answer.
    pub fn next(&self, timeout_ms: i64, name_reply: &dyn Fn(&Arc<Reply>) -> u64) -> Result<Vec<u8>, ApiError> {
        let Some(pull) = &self.engine.dispatcher.pull else {
            return Err(ApiError::new(Code::Argument, "This registry was not made with \"dispatch\": \"pull\"."));
        };
        let patience = Patience::new(timeout_ms);
        loop {
            local::drain();
            let job = match pull.take(patience) {
                Taken::Job(job) => job,
                Taken::Document(document) => return Ok(document),
                Taken::Nothing => return Err(ApiError::new(Code::Timeout, "There is nothing to do.")),
                Taken::Closed => return Err(ApiError::closed()),
            };
            let _scope = enter();
            if let Some(request) = job.hand_out(name_reply) {
                return Ok(request);
            }
        }
    }

    pub fn consumer_close(&self, consumer: &[u8]) -> Result<(), ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        let value = fields::document(consumer, None)?;
        let consumer = Consumer::read(Some(&value), "")?;
        self.engine.end_consumer(&consumer.key);
        Ok(())
    }

    /// What became of a call: `{result, late?}` or `{"state": "running"}`.
    pub fn outcome(&self, query: &[u8]) -> Result<String, ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        let (consumer, id) = request::parse_outcome_query(query)?;
        match self.engine.dedupe.find(&consumer.key, &id, self.engine.clock.now()) {
            Some(call) => Ok(call.outcome()),
            None => Err(ApiError::new(Code::NotFound, "No call of this consumer and id is remembered.")),
        }
    }

    pub fn confirm(&self, decision: &[u8]) -> Result<(), ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        self.engine.confirmations.decide(Decision::parse(decision)?)
    }

    pub fn confirmations(&self) -> Result<String, ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        Ok(self.engine.confirmations.list())
    }

    pub fn confirmation_subscribe(&self, hook: Hook) -> Result<Subscription, ApiError> {
        self.listen(Topic::Confirmations, hook)
    }

    pub fn confirmation_wait(&self, id: &[u8], timeout_ms: i64) -> Result<String, ApiError> {
        self.engine.check_open()?;
        local::drain();
        let patience = Patience::new(timeout_ms);
        let pool = &self.engine.dispatcher.pool;
        self.engine.confirmations.wait(utf8(id)?, patience, |wait| pool.blocking(wait))
    }

    pub fn snapshot(&self, context: &[u8]) -> Result<Vec<u8>, ApiError> {
        let view = View::parse(context)?;
        self.look(|engine| snapshot::take(engine, &view))
    }

    /// Why each capability is shown as it is. For developers.
    pub fn explain(&self, context: &[u8]) -> Result<String, ApiError> {
        let view = View::parse(context)?;
        self.look(|engine| explain::explain(engine, &view))
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Looks at the surface, asking the host on this thread. Inside a hook that is part of looking that would never end,
    /// nor where a hook's table is taken on this stack.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Arc<Engine>) -> T) -> Result<T, ApiError> {
        let _scope = enter();
        self.engine.check_open()?;
        if local::looking(&self.engine.dispatcher) {
            return Err(would_deadlock());
        }
        let (seen, knotted) = local::knots(|| look(&self.engine));
        // What was not asked any more would read as hidden.
        self.engine.check_open()?;
        if knotted { Err(would_deadlock()) } else { Ok(seen) }
    }

    pub fn subscribe(&self, hook: Hook) -> Result<Subscription, ApiError> {
        self.listen(Topic::All, hook)
    }

    fn listen(&self, topic: Topic, hook: Hook) -> Result<Subscription, ApiError> {
        let _scope = enter();
        let _busy = self.engine.open()?;
        let listener = self.engine.observer.subscribe(topic, hook)?;
        Ok(Subscription { engine: self.engine.clone(), listener })
    }

    /// The audit entries in memory with a `seq` above `after`, as a JSON array; also those of the close itself, after it.
    pub fn audit_read(&self, after: u64) -> String {
        let _scope = enter();
        self.engine.observer.audit_read(after)
    }

    /// Moves the manual clock, instant by instant, and lets everything that is due happen.
    pub fn advance(&self, ms: i64, timeout_ms: i64) -> Result<(), ApiError> {
        self.engine.check_open()?;
        let Clock::Manual { now, timers, .. } = &*self.engine.clock else {
            return Err(ApiError::new(Code::Argument, "This registry runs by the system clock."));
        };
        let Ok(ms) = u64::try_from(ms) else {
            return Err(ApiError::new(Code::Argument, "Give a number of milliseconds of 0 or more."));
        };
        let patience = Patience::new(timeout_ms);
        let target = self.engine.clock.now().saturating_add(ms);
        loop {
            self.quiet(patience)?;
            match timers.next_due().filter(|due| *due <= target) {
                None => break,
                Some(due) => {
                    let at = due.max(self.engine.clock.now());
                    now.fetch_max(at, Ordering::AcqRel);
                    while let Some(waker) = timers.take_due(at) {
                        let _scope = enter();
                        waker.wake();
                    }
                }
            }
        }
        // Another thread may have moved it further.
        now.fetch_max(target, Ordering::AcqRel);
        Ok(())
    }

    /// Waits until nothing is ready to run.
    pub fn quiesce(&self, timeout_ms: i64) -> Result<(), ApiError> {
        self.quiet(Patience::new(timeout_ms))
    }

    fn quiet(&self, patience: Patience) -> Result<(), ApiError> {
        match self.engine.dispatcher.wait_quiet(patience) {
            None => Err(would_deadlock()),
            Some(true) => Ok(()),
            Some(false) => Err(ApiError::new(Code::Timeout, "Something is still running.")),
        }
    }
}

fn utf8(text: &[u8]) -> Result<&str, ApiError> {
    std::str::from_utf8(text).map_err(|_| ApiError::new(Code::Utf8, "This is not UTF-8."))
}

/// One listener's place.
#[derive(Clone)]
pub struct Subscription {
    engine: Arc<Engine>,
    listener: Arc<Listener>,
}

impl Subscription {
    /// Ends it. A call of the listener that is running ends by itself.
    pub fn cancel(&self) {
        let _scope = enter();
        self.engine.observer.unsubscribe(&self.listener);
    }
}
