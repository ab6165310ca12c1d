//! The host of one scenario: what its steps made, what its callbacks have seen, and the first thing that went wrong.
//!
//! Steps and callbacks share it across threads. Its lock is never held while a function of the library runs.

use crate::abi::{self, as_invocation, as_registration, as_registry, as_reply, as_subscription, as_toolset};
use crate::json::Json;
use crate::model::Executor;
use crate::refs;
use crate::script::{Answer, Policy, Script};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub struct Host {
    registry: AtomicU64,
    pub policies: HashMap<String, Policy>,
    pub executor: Option<ExecutorSite>,
    /// Set in pull dispatch: the thread that takes requests from the library.
    pub pump: OnceLock<crate::pull::Pump>,
    place: Arc<Mutex<String>>,
    state: Mutex<State>,
}

#[derive(Default)]
pub struct State {
    pub names: HashMap<String, Named>,
    pub vars: HashMap<String, Json>,
    pub tokens: HashMap<String, Vec<Pending>>,
    pub contexts: Vec<Shown>,
    pub events: Vec<Json>,
    pub audit: Vec<Json>,
    pub opened: Opened,
    pub failure: Option<String>,
    /// The handlers of each registration by its id, which is how pull dispatch names them.
    pub registered: HashMap<String, Arc<Mutex<Component>>>,
}

/// What an `as` gave a name to.
#[derive(Clone)]
pub enum Named {
    Value(Json),
    Registration { value: Json, handle: Option<as_registration>, component: Arc<Mutex<Component>> },
    Invocation(as_invocation),
    Toolset { value: Json, handle: as_toolset },
}

/// The scripts of one registration, by the name its binding has.
#[derive(Clone)]
pub struct Component {
    pub definition: Json,
    pub sites: HashMap<String, Site>,
    pub answers: HashMap<String, Arc<Answers>>,
}

/// A handler: what it does, and how often it ran, which a swap does not forget.
#[derive(Clone)]
pub struct Site {
    pub script: Arc<Script>,
    pub ran: Arc<AtomicUsize>,
}

/// What the hooks of one binding answer.
#[derive(Default)]
pub struct Answers {
    pub when: Option<Answer>,
    pub precondition: Option<Answer>,
    pub bind: Option<Answer>,
    pub describe: Option<Answer>,
}

pub struct ExecutorSite {
    pub script: Executor,
    pub ran: AtomicUsize,
    pub ran_path: Mutex<HashMap<String, usize>>,
}

/// A call that a script left open. `aborted` is what the library said when it was answered, its handle being dead since.
#[derive(Clone)]
pub struct Pending {
    pub reply: as_reply,
    pub answered: bool,
    pub aborted: bool,
}

/// A context that a policy was shown.
pub struct Shown {
    pub policy: String,
    pub phase: &'static str,
    pub context: Json,
}

/// Handles to free at the end.
#[derive(Default)]
pub struct Opened {
    pub invocations: Vec<(as_invocation, Arc<AtomicUsize>)>,
    pub registrations: Vec<as_registration>,
    pub toolsets: Vec<as_toolset>,
    pub subscriptions: Vec<as_subscription>,
}

impl Host {
    pub fn new(policies: Vec<(String, Policy)>, executor: Option<Executor>, place: Arc<Mutex<String>>) -> Host {
        Host {
            registry: AtomicU64::new(0),
            policies: policies.into_iter().collect(),
            executor: executor.map(|script| ExecutorSite {
                script,
                ran: AtomicUsize::new(0),
                ran_path: Mutex::default(),
            }),
            pump: OnceLock::new(),
            place,
            state: Mutex::default(),
        }
    }

    pub fn registry(&self) -> as_registry {
        self.registry.load(Ordering::SeqCst)
    }

    pub fn set_registry(&self, registry: as_registry) {
        self.registry.store(registry, Ordering::SeqCst);
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Says which step runs, for the report and for the watchdog.
    pub fn enter(&self, place: String) {
        *lock(&self.place) = place;
    }

    pub fn place(&self) -> String {
        lock(&self.place).clone()
    }

    /// Notes what went wrong in a callback; the first one is what the scenario fails with.
    pub fn fail(&self, what: String) {
        let place = self.place();
        self.state().failure.get_or_insert(format!("{place}: {what}"));
    }

    pub fn name(&self, name: Option<&str>, what: Named) {
        if let Some(name) = name {
            self.state().names.insert(name.to_string(), what);
        }
    }

    /// A step that failed has a value too. A registration that was refused keeps its scripts, which never ran.
    pub fn name_failure(&self, name: Option<&str>, failure: &abi::Failure) {
        if let Some(name) = name {
            let names = &mut self.state().names;
            match names.get_mut(name) {
                Some(Named::Registration { handle: None, .. }) => {}
                _ => drop(names.insert(name.to_string(), Named::Value(failure.value()))),
            }
        }
    }

    pub fn named(&self, name: &str) -> Result<Named, String> {
        self.state().names.get(name).cloned().ok_or_else(|| format!("no step was `as` {name:?} yet"))
    }

    pub fn var(&self, name: &str) -> Result<Json, String> {
        self.state().vars.get(name).cloned().ok_or_else(|| format!("no variable {name:?}"))
    }

    pub fn resolve(&self, json: &Json) -> Result<Json, String> {
        refs::resolve(json, &|name| self.value(name))
    }

    /// What a reference to a name stands for; an invocation has a value once it has settled.
    pub fn value(&self, name: &str) -> Result<Json, String> {
        match self.named(name)? {
            Named::Value(value) | Named::Registration { value, .. } | Named::Toolset { value, .. } => Ok(value),
            Named::Invocation(handle) => {
                abi::invocation_wait(handle, 0).map_err(|failure| format!("{name:?} has no result: {}", failure.name()))
            }
        }
    }

    pub fn pend(&self, token: &str, reply: as_reply) {
        let pending = Pending { reply, answered: false, aborted: false };
        self.state().tokens.entry(token.to_string()).or_default().push(pending);
    }
}

/// A callback that panicked is already the scenario's failure; its lock is as good as before.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
