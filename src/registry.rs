//! The parts of one registry, and how its host is asked.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::sync::RwLock;
use serde_json::Value;

use crate::admit::Admission;
use crate::catalog::Catalog;
use crate::confirm::Confirmations;
use crate::json::Bounds;
use crate::model::config::Config;
use crate::model::{ApiError, Code, Limits};
use crate::observe::Observer;
use crate::policy::context::HostContext;
use crate::policy::{Policies, RateTable};
use crate::runtime::dispatch::Busy;
use crate::runtime::job::{Job, Label};
use crate::runtime::random::Random;
use crate::runtime::reply::Owed;
use crate::runtime::{Answer, Clock, Dispatcher, Hook, Reply};

/// The host's functions that belong to the registry as a whole.
#[derive(Clone, Default)]
pub struct HostHooks {
    pub context: Option<Hook>,
    pub route: Option<Hook>,
    pub on_register: Option<Hook>,
    pub redact: Option<Hook>,
    pub audit: Option<Hook>,
    pub log: Option<Hook>,
}

/// The procedure executor and the paths it serves.
#[derive(Clone)]
pub struct Executor {
    pub paths: Arc<HashSet<String>>,
    pub hook: Hook,
}

/// Locks, where more than one is held, are taken in the order catalog, confirmations, dedupe,
/// admission, observer. None is held while host code runs or a future is polled.
pub struct Registry {
    pub surface_id: String,
    pub config: Config,
    pub clock: Arc<Clock>,
    pub random: Random,
    pub dispatcher: Arc<Dispatcher>,
    pub observer: Arc<Observer>,
    pub catalog: Catalog,
    pub policies: Policies,
    pub rates: RateTable,
    pub confirmations: Arc<Confirmations>,
    pub admission: Arc<Admission>,
    closed: AtomicBool,
    /// Grows with what changes how the surface looks and is in no version: functions swapped, a policy defined.
    unversioned: AtomicU64,
    hooks: RwLock<HostHooks>,
    executor: RwLock<Option<Executor>>,
}

/// A hook's answer and, where there is none, that it failed.
pub type Asked = Option<Value>;

impl Registry {
    pub fn new(config: Config, hooks: HostHooks) -> Result<Registry, ApiError> {
        let (pool, first) = crate::runtime::pool::Pool::get(config.pool)?;
        let clock = Clock::new(config.clock, &pool);
        let random = Random::new(config.id_seed)
            .ok_or_else(|| ApiError::new(Code::Limit, "The system gives no randomness for ids."))?;
        let pull = config.dispatch == crate::model::config::DispatchConfig::Pull;
        let dispatcher = Dispatcher::new(pool, pull, config.limits.policy_timeout_ms);
        let limits = &config.limits;
        let bounds = (limits.max_event_backlog as usize, limits.audit_capacity as usize);
        let observer =
            Observer::new(&clock, &dispatcher, bounds, &config.audit, hooks.audit.clone(), hooks.log.clone())?;
        let observer = Arc::new(observer);
        if config.pool.is_some() && !first {
            observer.log("warning", "The pool of this process exists already; this registry's \"pool\" is ignored.");
        }
        Ok(Registry {
            surface_id: random.id("srf_"),
            catalog: Catalog::new(limits),
            policies: Policies::default(),
            rates: RateTable::default(),
            confirmations: Confirmations::new(&clock, &observer, limits),
            admission: Admission::new(limits),
            closed: AtomicBool::new(false),
            unversioned: AtomicU64::new(0),
            hooks: RwLock::new(hooks),
            executor: RwLock::new(None),
            clock,
            random,
            dispatcher,
            observer,
            config,
        })
    }

    pub fn limits(&self) -> &Limits {
        &self.config.limits
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Takes no new work. `false` if it was closed already.
    pub fn close(&self) -> bool {
        !self.closed.swap(true, Ordering::AcqRel)
    }

    pub fn check_open(&self) -> Result<(), ApiError> {
        if self.is_closed() { Err(ApiError::closed()) } else { Ok(()) }
    }

    /// As [`Registry::check_open`], and keeps a registry that is open from having closed while the result lives. For
    /// what calls the host, or takes over what is the host's.
    pub fn open(&self) -> Result<Busy, ApiError> {
        let busy = self.dispatcher.hold();
        self.check_open()?;
        Ok(busy)
    }

    pub fn unversioned(&self) -> u64 {
        self.unversioned.load(Ordering::Acquire)
    }

    pub fn looks_otherwise(&self) {
        self.unversioned.fetch_add(1, Ordering::AcqRel);
    }

    pub fn hooks(&self) -> HostHooks {
        self.hooks.read().clone()
    }

    pub fn context_hook(&self) -> Option<Hook> {
        self.hooks.read().context.clone()
    }

    pub fn redact_hook(&self) -> Option<Hook> {
        self.hooks.read().redact.clone()
    }

    pub fn executor(&self) -> Option<Executor> {
        self.executor.read().clone()
    }

    pub fn set_executor(&self, executor: Executor) {
        let before = self.executor.write().replace(executor);
        drop(before);
    }

    /// Lets go of every function of the host. For when none runs any more.
    pub fn release_host(&self) {
        let hooks = std::mem::take(&mut *self.hooks.write());
        let executor = self.executor.write().take();
        self.policies.clear();
        self.observer.clear();
        drop((hooks, executor));
    }

    /// Bounds of what the host's hooks answer.
    pub fn answer_bounds(&self, bytes: u64) -> Bounds {
        Bounds { bytes: bytes as usize, depth: self.limits().max_json_depth as usize }
    }

    /// A request to a hook that must answer before it returns.
    pub fn immediate(&self, hook: &Hook, label: Label, context: Vec<u8>, looking: bool) -> (Job, Arc<Reply>) {
        let bounds = self.answer_bounds(self.limits().max_input_bytes);
        let reply = Reply::new(&self.dispatcher, Owed::Value, bounds, None);
        let mut job = Job::new(&self.dispatcher, hook.clone(), label, context);
        job.reply = Some(reply.clone());
        job.immediate = true;
        job.looking = looking;
        (job, reply)
    }

    /// Asks a hook on this thread, now. For what is not part of an invocation.
    pub fn ask_now(&self, hook: &Hook, name: &str, context: Vec<u8>, looking: bool) -> Asked {
        let _busy = self.open().ok()?;
        let label = Label { what: "hook", name: name.into(), phase: None };
        let (job, reply) = self.immediate(hook, label, context, looking);
        job.run_now();
        self.read_answer(name, reply.take())
    }

    /// The value of an answer; a failure goes to the log.
    pub fn read_answer(&self, name: &str, answer: Answer) -> Asked {
        match answer {
            Answer::Json(value) => Some(value),
            failed => {
                self.observer.log_with("warning", "A hook of the host failed.", |out| {
                    out.string("hook", name);
                    out.string("failure", &failed.describe());
                });
                None
            }
        }
    }

    /// The host context as the snapshot sees it: an object, `{}` without one.
    pub fn host_context_now(&self) -> Arc<HostContext> {
        let asked = self.context_hook().and_then(|hook| self.ask_now(&hook, "context", b"{}".to_vec(), true));
        HostContext::of(asked)
    }
}
