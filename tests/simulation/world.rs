//! One program running: a registry, its host and its agents on one thread, and what they have seen so far.
//!
//! Dispatch is pull and the clock manual, so everything happens inside the calls made here: futures are polled on the
//! thread that woke them, host work is fetched, timers fire when the clock is moved, ids are seeded. The same program
//! always runs the same way.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Weak};

use agent_surface::model::{ApiError, Code};
use agent_surface::runtime::Reply;
use agent_surface::surface::{Binding, HostHooks, Invocation, PolicyHooks, Registration, Subscription, Surface};
use serde_json::{Value, json};

use crate::evidence::Evidence;
use crate::host::{Shared, What};
use crate::identity::{Fate, Window};
use crate::places::Places;
use crate::program::{
    Answer, Call, Capability, Component, EXECUTOR_PATHS, Plane, Script, Setting, Step, UNIT_MS, Verdict, consumer,
};

/// Real time that closing may take; on a sound runtime it takes none.
const PATIENCE_MS: i64 = 10_000;

/// A broken invariant. `proof` are steps of a scenario that fail where it is broken.
#[derive(Debug)]
pub struct Violation {
    pub rule: &'static str,
    pub what: String,
    pub proof: Vec<Value>,
}

/// What a step answered, in the scenario runner's terms: nothing where it went as a step goes that says nothing.
pub type Went = Option<(&'static str, Value)>;

pub type Checked = Result<(), Violation>;

pub fn broken(rule: &'static str, what: String, proof: Vec<Value>) -> Checked {
    Err(Violation { rule, what, proof })
}

pub struct World {
    pub surface: Surface,
    pub shared: Arc<Shared>,
    pub limits: HashMap<&'static str, u64>,
    /// What becomes of a newcomer's elder twin.
    pub replace: bool,
    pub now: u64,
    /// Steps taken from outside.
    pub step: usize,
    pub disposed: bool,
    pub registrations: Vec<Registered>,
    pub callers: Vec<Caller>,
    pub attempts: Vec<Attempt>,
    pub tokens: BTreeMap<&'static str, Vec<Pending>>,
    pub window: Window,
    pub evidence: Evidence,
    pub places: Places,
    /// Results that were reported and not yet found at a caller, counted by their text.
    pub reported: HashMap<String, i64>,
    /// How each step went; `None` where it named what is not there.
    pub answers: Vec<Option<Went>>,
    /// What was heard of calls: the kind of event, and whose.
    pub heard: Vec<(String, String)>,
    pub executor: Vec<Script>,
    pub executed: BTreeMap<String, usize>,
    by_attempt: HashMap<String, usize>,
    /// Callers whose event has not come yet, in the order of their calls.
    pub unheard: VecDeque<usize>,
    last_event: u64,
    last_audit: u64,
    nested: usize,
    /// The program itself makes no sense any more: a step inside a handler names what is not there.
    pub senseless: bool,
    found: Option<Violation>,
    subscription: Subscription,
}

pub struct Registered {
    pub name: String,
    pub id: String,
    pub component: Component,
    pub status: Status,
    pub handle: Registration,
    /// By capability: what its handler does, and how often it ran.
    pub scripts: BTreeMap<&'static str, Script>,
    pub ran: BTreeMap<&'static str, usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Status {
    Active,
    Rejected,
    Replaced,
    Unregistered,
}

/// One accepted `invoke`.
pub struct Caller {
    pub call: Call,
    pub consumer: String,
    pub id: Option<String>,
    pub fingerprint: String,
    pub confirmation: Option<String>,
    pub at: u64,
    pub step: usize,
    /// Made inside a handler.
    pub inner: bool,
    /// What the model said would become of it; `None` for calls made inside handlers.
    pub foretold: Option<Fate>,
    pub fate: Option<Fate>,
    pub attempt: Option<usize>,
    pub invocation: Invocation,
    pub cancelled: bool,
    /// Its consumer was closed while it waited.
    pub closed: bool,
    pub result: Option<Value>,
    /// The step in which it came.
    pub settled: usize,
}

/// One execution, which several callers may share.
pub struct Attempt {
    pub id: String,
    pub consumer: String,
    pub invocation: String,
    pub capability: String,
    pub started: bool,
    pub settled: Option<Settled>,
    pub registration: Option<String>,
    pub begun: Option<Begun>,
    pub answer: Option<(Answer, bool)>,
    /// The reply that its handler owes.
    pub reply: Weak<Reply>,
    pub waiting_since: Option<usize>,
    pub late_entries: usize,
    pub result: Option<Value>,
}

pub struct Settled {
    pub code: Option<String>,
    pub step: usize,
}

pub struct Begun {
    pub at: u64,
    pub step: usize,
    /// It had a person's approval in its hands.
    pub confirmed: bool,
}

/// A call or a vote that a script left open.
pub struct Pending {
    pub reply: Weak<Reply>,
    pub of: Of,
    pub answered: bool,
}

pub enum Of {
    Call(usize),
    Vote { consumer: String, capability: String, invocation: Option<String>, asked: u64 },
}

impl Registered {
    /// What the handler does this time.
    fn next(&mut self, capability: &'static str) -> Option<Script> {
        let script = self.scripts.get_mut(capability)?;
        *self.ran.entry(capability).or_default() += 1;
        let next = script.clone();
        if let Script::Doing(_, then) = &next {
            *script = (**then).clone();
        }
        Some(next)
    }
}

impl Pending {
    /// Neither answered nor overtaken by the end of its call.
    pub fn is_open(&self) -> bool {
        let aborted = |reply: Arc<Reply>| reply.aborted().unwrap_or(true);
        !self.answered && self.reply.upgrade().is_some_and(|reply| !aborted(reply))
    }
}

impl Caller {
    pub fn code(&self) -> Option<&str> {
        code_of(self.result.as_ref()?)
    }
}

impl Attempt {
    pub fn capability(&self) -> Option<&'static Capability> {
        Capability::find(&self.capability)
    }

    pub fn code(&self) -> Option<&str> {
        self.settled.as_ref()?.code.as_deref()
    }
}

pub fn code_of(result: &Value) -> Option<&str> {
    result["error"]["code"].as_str()
}

fn parsed(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_default()
}

impl World {
    pub fn new(setting: &Setting) -> World {
        let shared = Shared::new();
        let mut config = setting.registry();
        config["clock"] = json!({"manual": {"start": "2026-01-01T00:00:00.000Z"}});
        config["dispatch"] = json!("pull");
        let hooks = HostHooks { context: Some(shared.function(What::Var("host"))), ..HostHooks::default() };
        let surface = Surface::new(config.to_string().as_bytes(), hooks).expect("a registry");
        let subscription = surface.subscribe(shared.function(What::Fetched)).expect("a listener");
        let fetched = || Some(shared.function(What::Fetched));
        let gate = PolicyHooks {
            on_discovery: Some(shared.function(What::Var("discovery"))),
            on_authorize: fetched(),
            on_invoke: fetched(),
            on_result: Some(shared.function(What::Leave)),
        };
        let mask = PolicyHooks { on_result: Some(shared.function(What::Mask)), ..PolicyHooks::default() };
        surface.define_policy(b"gate", gate).expect("a policy");
        surface.define_policy(b"mask", mask).expect("a policy");
        let paths = json!(EXECUTOR_PATHS).to_string();
        surface.set_executor(paths.as_bytes(), shared.function(What::Fetched)).expect("an executor");
        let info: Value = parsed(surface.info().expect("an info").as_bytes());
        let limits: HashMap<&'static str, u64> =
            LIMITS.iter().map(|name| (*name, info["limits"][*name].as_u64().expect("a limit"))).collect();
        World {
            window: Window::new(limits["dedupeCacheSize"] as usize, limits["dedupeCacheTtlMs"], limits["maxInFlight"]),
            evidence: Evidence::new(limits["confirmationTtlMs"], limits["confirmationRedeemMs"]),
            places: Places::default(),
            surface,
            shared,
            limits,
            replace: setting.replace,
            now: 0,
            step: 0,
            disposed: false,
            registrations: Vec::new(),
            callers: Vec::new(),
            attempts: Vec::new(),
            tokens: BTreeMap::new(),
            reported: HashMap::new(),
            answers: Vec::new(),
            heard: Vec::new(),
            executor: setting.executor.clone(),
            executed: BTreeMap::new(),
            by_attempt: HashMap::new(),
            unheard: VecDeque::new(),
            last_event: 0,
            last_audit: 0,
            nested: 0,
            senseless: false,
            found: None,
            subscription,
        }
    }

    /// One step to the end: done, quiet, and every invariant checked.
    pub fn take(&mut self, step: &Step) -> Checked {
        self.step += 1;
        let Some(answer) = self.apply(step) else {
            self.answers.push(None);
            return Ok(());
        };
        let went = self.went(step, &answer);
        self.answers.push(Some(went));
        self.pump();
        if let Some(found) = self.found.take() {
            return Err(found);
        }
        if self.disposed {
            self.subscription.cancel();
        }
        self.read_audit()?;
        self.read_results();
        self.check()
    }

    fn went(&self, step: &Step, answer: &Result<(), ApiError>) -> Went {
        match (step, answer) {
            (Step::Register { .. }, Err(error)) => {
                Some(("expect", json!({"error": {"code": definition_error(error)}})))
            }
            (Step::Register { .. }, Ok(())) => {
                let rejected = self.registrations.last().is_some_and(|last| last.status == Status::Rejected);
                rejected.then(|| ("expect", json!({"status": "rejected"})))
            }
            // Late answers are taken by the runner as they are by this.
            (_, Err(error)) if error.code != Code::Late => Some(("code", json!(error.code.name()))),
            _ => None,
        }
    }

    // ---- the host's side -----------------------------------------------------------------------------------------------

    /// `None` where the step names what is not there.
    fn apply(&mut self, step: &Step) -> Option<Result<(), ApiError>> {
        match step {
            Step::Register { name, component } => Some(self.register(name, component)),
            Step::Update { registration, patch } => {
                let handle = self.usable(registration)?.handle.clone();
                Some(handle.update(patch.to_string().as_bytes()))
            }
            Step::Invalidate { registration } => Some(self.usable(registration)?.handle.clone().invalidate()),
            Step::Swap { registration, capability, script } => self.swap(registration, capability, script),
            Step::Unregister { registration } => {
                let known = self.registrations.iter_mut().rev().find(|known| known.name == *registration)?;
                // A dead handle's end changes nothing.
                known.status = Status::Unregistered;
                let handle = known.handle.clone();
                handle.unregister();
                Some(Ok(()))
            }
            Step::Invoke(call) => self.invoke(call),
            Step::Cancel { invocation } => {
                let caller = self.callers.iter_mut().rev().find(|caller| caller.call.name == *invocation)?;
                caller.cancelled |= caller.result.is_none();
                let invocation = caller.invocation.clone();
                Some(invocation.cancel())
            }
            Step::Finish { token, index, answer } => {
                let pending = self.unanswered(token, *index)?;
                let Of::Call(attempt) = pending.of else { return None };
                let reply = pending.reply.clone();
                Some(self.answer(attempt, &reply, answer))
            }
            Step::Decide { token, index, verdict } => {
                let reply = self.unanswered(token, *index)?.reply.clone();
                Some(match (reply.upgrade(), verdict) {
                    (None, _) => Err(gone()),
                    (Some(reply), Verdict::Allow) => reply.allow(),
                    (Some(reply), Verdict::Deny(code)) => reply.deny(json!({"code": code}).to_string().as_bytes()),
                    (Some(reply), Verdict::Confirm) => reply.confirm(b""),
                })
            }
            Step::Advance => {
                self.now += UNIT_MS;
                Some(self.surface.advance(UNIT_MS as i64, PATIENCE_MS))
            }
            Step::Set { var, to } => {
                self.shared.set(var, to.clone());
                Some(Ok(()))
            }
            Step::Confirm { asked, approve } => {
                let id = self.resolve(asked, "error.details.confirmationId")?;
                let decision = json!({"confirmationId": id, "approved": approve});
                Some(self.surface.confirm(decision.to_string().as_bytes()))
            }
            Step::CloseConsumer { consumer: id } => {
                let key = format!("test:{id}");
                let waiting =
                    self.callers.iter_mut().filter(|caller| caller.result.is_none() && caller.consumer == key);
                waiting.for_each(|caller| caller.closed = true);
                self.evidence.closed(&key);
                Some(self.surface.consumer_close(consumer(id).to_string().as_bytes()))
            }
            Step::Dispose => {
                self.disposed = true;
                Some(self.surface.close(PATIENCE_MS))
            }
        }
    }

    fn usable(&self, name: &str) -> Option<&Registered> {
        let known = self.registrations.iter().rev().find(|known| known.name == name)?;
        (known.status != Status::Unregistered).then_some(known)
    }

    fn register(&mut self, name: &str, component: &Component) -> Result<(), ApiError> {
        let bindings = component.capabilities.iter().filter_map(|(capability, _)| self.binding(capability)).collect();
        let handle = self.surface.register(component.definition().to_string().as_bytes(), bindings)?;
        let info = parsed(handle.info()?.as_bytes());
        let status = if info["status"] == "active" { Status::Active } else { Status::Rejected };
        let same = |other: &&mut Registered| {
            let (a, b) = (&other.component, component);
            other.status == Status::Active && a.kind == b.kind && a.instance == b.instance
        };
        let twin = self.registrations.iter_mut().find(same);
        let wanted = if twin.is_some() && !self.replace { Status::Rejected } else { Status::Active };
        if status != wanted {
            let what = format!("{name} is {status:?}, and should be {wanted:?}");
            self.found.get_or_insert(Violation { rule: "a newcomer is taken as it should", what, proof: Vec::new() });
        }
        if let (Some(twin), Status::Active) = (twin, status) {
            twin.status = Status::Replaced;
        }
        self.registrations.push(Registered {
            name: name.into(),
            id: info["registrationId"].as_str().unwrap_or_default().into(),
            component: component.clone(),
            status,
            handle,
            scripts: component.capabilities.iter().map(|(c, script)| (c.name, script.clone())).collect(),
            ran: BTreeMap::new(),
        });
        Ok(())
    }

    fn binding(&self, capability: &Capability) -> Option<Binding> {
        let procedure = capability.plane == Plane::Procedure;
        if procedure && !capability.bound {
            return None;
        }
        let some = |wanted: bool, what| wanted.then(|| self.shared.function(what));
        Some(Binding {
            name: if procedure { format!("domain:{}", capability.name) } else { capability.name.into() },
            handler: some(!procedure, What::Fetched),
            when: some(capability.when, What::Var("when")),
            precondition: some(capability.precondition, What::Var("precondition")),
            bind: some(capability.bound, What::Var("bind")),
            describe: None,
        })
    }

    fn swap(&mut self, name: &str, capability: &'static Capability, script: &Script) -> Option<Result<(), ApiError>> {
        let known = self.usable(name)?;
        known.scripts.get(capability.name)?;
        // All of them: a rebinding replaces what it names.
        let bindings = known.component.capabilities.iter().filter_map(|(c, _)| self.binding(c)).collect();
        let answer = known.handle.clone().rebind(bindings);
        if answer.is_ok() {
            let known = self.registrations.iter_mut().rev().find(|known| known.name == name)?;
            known.scripts.insert(capability.name, script.clone());
        }
        Some(answer)
    }

    fn unanswered(&mut self, token: &str, index: usize) -> Option<&mut Pending> {
        let pending = self.tokens.get_mut(token)?.iter_mut().filter(|pending| !pending.answered).nth(index)?;
        pending.answered = true;
        Some(pending)
    }

    /// What a name's document has at a path: a registration's id, or a part of an invocation's result.
    fn resolve(&self, name: &str, path: &str) -> Option<Value> {
        if path == "registrationId" {
            let known = self.registrations.iter().rev().find(|known| known.name == name)?;
            return Some(known.id.clone().into());
        }
        let caller = self.callers.iter().rev().find(|caller| caller.call.name == name)?;
        caller.result.as_ref()?.pointer(&format!("/{}", path.replace('.', "/"))).cloned()
    }

    fn invoke(&mut self, call: &Call) -> Option<Result<(), ApiError>> {
        let request = call.request(&|name, path| self.resolve(name, path))?;
        let mut options = json!({"consumer": consumer(call.consumer)});
        for (key, value) in [("timeoutMs", call.timeout_ms), ("deadlineMs", call.deadline_ms)] {
            if let Some(ms) = value {
                options[key] = json!(ms);
            }
        }
        let key = format!("test:{}", call.consumer);
        let fingerprint = fingerprint(&request);
        let foretold = (self.nested == 0).then(|| self.window.foretell(&key, call.id, &fingerprint, self.now));
        let hook = Some(self.shared.function(What::Fetched));
        let made = self.surface.invoke(request.to_string().as_bytes(), options.to_string().as_bytes(), hook);
        let invocation = match made {
            Ok(invocation) => invocation,
            Err(error) => return Some(Err(error)),
        };
        // These two are answered at once and make no event.
        let fate = invocation.wait(0).ok().and_then(|result| Fate::refused(&parsed(&result)));
        if fate.is_none() {
            self.unheard.push_back(self.callers.len());
        }
        self.callers.push(Caller {
            confirmation: request["confirmationId"].as_str().map(String::from),
            call: call.clone(),
            consumer: key,
            id: call.id.map(String::from),
            fingerprint,
            at: self.now,
            step: self.step,
            inner: self.nested > 0,
            foretold,
            fate,
            attempt: None,
            invocation,
            cancelled: false,
            closed: false,
            result: None,
            settled: 0,
        });
        Some(Ok(()))
    }

    // ---- what the library asks for -------------------------------------------------------------------------------------

    /// Fetches and does everything there is to do.
    fn pump(&mut self) {
        loop {
            let named: Rc<RefCell<Weak<Reply>>> = Rc::default();
            let name = |reply: &Arc<Reply>| {
                *named.borrow_mut() = Arc::downgrade(reply);
                1
            };
            let Ok(request) = self.surface.next(0, &name) else { return };
            let reply = named.take();
            let request = parsed(&request);
            let context = &request["context"];
            match request["do"].as_str().unwrap_or_default() {
                "call" => self.serve_call(context, &request["input"], &reply),
                "policy" => self.vote(context, request["phase"].as_str().unwrap_or_default(), &reply),
                "event" => {
                    if let Err(found) = self.hear(context) {
                        self.found.get_or_insert(found);
                    }
                }
                "result" => *self.reported.entry(context.to_string()).or_default() += 1,
                _ => {}
            }
        }
    }

    fn serve_call(&mut self, context: &Value, input: &Value, reply: &Weak<Reply>) {
        let text = |field: &str| context[field].as_str().unwrap_or_default();
        let attempt = self.attempt(text("attemptId"), context);
        let (registration, capability) = (text("registrationId").to_string(), text("capabilityId").to_string());
        let confirmation = context["confirmation"]["id"].as_str().map(String::from);
        if let Some(id) = &confirmation {
            self.evidence.began(id);
        }
        let (now, step) = (self.now, self.step);
        let known = &mut self.attempts[attempt];
        if known.begun.is_some() {
            let what = format!("the handler of {} ran twice", known.id);
            self.found.get_or_insert(Violation { rule: "a handler runs at most once", what, proof: Vec::new() });
        }
        known.begun = Some(Begun { at: now, step, confirmed: confirmation.is_some() });
        known.registration = Some(registration.clone());
        known.reply = reply.clone();
        let script = match context["path"].as_str() {
            Some(path) => {
                *self.executed.entry(path.into()).or_default() += 1;
                let calls: usize = self.executed.values().sum();
                self.executor[(calls - 1).min(self.executor.len() - 1)].clone()
            }
            None => {
                let name = Capability::find(&capability).map_or("", |capability| capability.name);
                let site = self.registrations.iter_mut().find(|known| known.id == registration);
                let Some(script) = site.and_then(|site| site.next(name)) else {
                    let what = format!("{capability} of {registration} was asked for and never given");
                    self.found.get_or_insert(Violation {
                        rule: "only what is there is asked for",
                        what,
                        proof: Vec::new(),
                    });
                    return;
                };
                script
            }
        };
        self.play(attempt, &script, input, reply);
    }

    fn play(&mut self, attempt: usize, script: &Script, input: &Value, reply: &Weak<Reply>) {
        match script {
            Script::Answer(answer) => drop(self.answer(attempt, reply, answer)),
            Script::Echo => drop(self.answer(attempt, reply, &Answer::Output(input.clone()))),
            Script::Pend(token) => {
                let pending = Pending { reply: reply.clone(), of: Of::Call(attempt), answered: false };
                self.tokens.entry(token).or_default().push(pending);
                defer(reply);
            }
            Script::Doing(steps, then) => {
                self.nested += 1;
                for step in steps {
                    let answer = if self.disposed { None } else { self.apply(step) };
                    self.senseless |= answer.is_none_or(|answer| answer.is_err());
                }
                self.nested -= 1;
                self.play(attempt, then, input, reply);
            }
        }
    }

    fn vote(&mut self, context: &Value, phase: &str, reply: &Weak<Reply>) {
        let var = if phase == "onInvoke" { "approve" } else { "authorize" };
        let decision = self.shared.get(var);
        let Some(owed) = reply.upgrade() else { return };
        if decision["pend"].is_string() {
            let text = |field: &str| context[field].as_str().map(String::from);
            let consumer = &context["consumer"];
            let of = Of::Vote {
                consumer: format!(
                    "{}:{}",
                    consumer["kind"].as_str().unwrap_or_default(),
                    consumer["id"].as_str().unwrap_or_default()
                ),
                capability: text("capabilityId").unwrap_or_default(),
                invocation: text("invocationId"),
                asked: self.now,
            };
            self.tokens.entry("vote").or_default().push(Pending { reply: reply.clone(), of, answered: false });
            defer(reply);
        } else if let Some(payload) = decision.get("deny") {
            let _ = owed.deny(payload.to_string().as_bytes());
        } else if decision.get("confirm").is_some() {
            let _ = owed.confirm(b"");
        } else {
            let _ = owed.allow();
        }
    }

    /// A handler's answer, and a second one, which must never be taken.
    fn answer(&mut self, attempt: usize, reply: &Weak<Reply>, answer: &Answer) -> Result<(), ApiError> {
        let Some(owed) = reply.upgrade() else { return Err(gone()) };
        let given = match answer {
            Answer::Output(value) => owed.json(value.to_string().as_bytes()),
            Answer::Reject(code) => owed.error(json!({"code": code}).to_string().as_bytes()),
            Answer::Fail => owed.error(b"\"it broke\""),
            Answer::Malformed => owed.json(b"{"),
            Answer::Nothing => owed.json(b""),
        };
        let accepted = match &given {
            Ok(()) => true,
            // The text was refused, and with it the call has failed.
            Err(error) => error.code == Code::Json,
        };
        self.attempts[attempt].answer = Some((answer.clone(), accepted));
        let again = owed.json(b"\"again\"");
        if again.as_ref().err().map(|error| error.code) != Some(Code::Settled) {
            let what = format!("a second answer of {} was answered {again:?}", self.attempts[attempt].id);
            self.found.get_or_insert(Violation { rule: "a reply takes one answer", what, proof: Vec::new() });
        }
        given
    }

    /// The attempt of this id, as far as it is known.
    fn attempt(&mut self, id: &str, ids: &Value) -> usize {
        if let Some(known) = self.by_attempt.get(id) {
            return *known;
        }
        let text = |field: &str| ids[field].as_str().unwrap_or_default().to_string();
        let consumer = match ids["consumerKey"].as_str() {
            Some(key) => key.to_string(),
            None => format!("test:{}", ids["consumer"]["id"].as_str().unwrap_or_default()),
        };
        self.by_attempt.insert(id.into(), self.attempts.len());
        self.attempts.push(Attempt {
            id: id.into(),
            consumer,
            invocation: text("invocationId"),
            capability: text("capabilityId"),
            started: false,
            settled: None,
            registration: None,
            begun: None,
            answer: None,
            reply: Weak::new(),
            waiting_since: None,
            late_entries: 0,
            result: None,
        });
        self.attempts.len() - 1
    }

    /// One event of the library.
    fn hear(&mut self, event: &Value) -> Checked {
        let seq = event["seq"].as_u64().unwrap_or_default();
        if seq <= self.last_event {
            return broken("events come in order", format!("event {seq} came after {}", self.last_event), Vec::new());
        }
        self.last_event = seq;
        let kind = event["type"].as_str().unwrap_or_default();
        if let (true, Some(id)) = (kind.starts_with("invocation-"), event["invocationId"].as_str()) {
            self.heard.push((kind.into(), id.into()));
        }
        match kind {
            "invocation-started" | "invocation-joined" | "invocation-replayed" => {
                let attempt = self.attempt(event["attemptId"].as_str().unwrap_or_default(), event);
                self.called(kind, attempt)
            }
            "invocation-settled" => {
                let attempt = self.attempt(event["attemptId"].as_str().unwrap_or_default(), event);
                self.settled(attempt, event["code"].as_str())
            }
            "events-lost" => broken("no event is lost", format!("{event}"), Vec::new()),
            _ => Ok(()),
        }
    }

    /// The event of a call that was started, joined, or answered from its record.
    fn called(&mut self, kind: &str, attempt: usize) -> Checked {
        let known = &mut self.attempts[attempt];
        let Some(index) = self.unheard.pop_front() else {
            return broken("events match calls", format!("{kind} of {} without a call", known.id), Vec::new());
        };
        let caller = &mut self.callers[index];
        let id = caller.id.get_or_insert_with(|| known.invocation.clone());
        if (&caller.consumer, &*id) != (&known.consumer, &known.invocation) {
            let what = format!(
                "the call {} of {} {id:?} met the record of {} {:?}",
                caller.call.name, caller.consumer, known.consumer, known.invocation
            );
            return broken("no two requests share a record", what, vec![started_count(self.started() + 1)]);
        }
        let fate = match kind {
            "invocation-started" => Fate::Started,
            "invocation-joined" => Fate::Joined,
            _ => Fate::Replayed,
        };
        caller.fate = Some(fate);
        caller.attempt = Some(attempt);
        if fate == Fate::Started {
            let order = vec![in_order(&known.invocation)];
            if known.started {
                return broken("a call starts once", format!("{} started twice", known.id), order);
            }
            if known.settled.is_some() {
                return broken("started precedes settled", format!("{} settled before it started", known.id), order);
            }
            known.started = true;
        }
        self.window.called(fate, attempt, &caller.consumer, id, &caller.fingerprint, self.now)
    }

    fn settled(&mut self, attempt: usize, code: Option<&str>) -> Checked {
        let known = &mut self.attempts[attempt];
        let order = vec![in_order(&known.invocation)];
        if !known.started {
            return broken("started precedes settled", format!("{} settled and never started", known.id), order);
        }
        if known.settled.is_some() {
            return broken("a call settles once", format!("{} settled twice", known.id), order);
        }
        known.settled = Some(Settled { code: code.map(String::from), step: self.step });
        self.window.settled(attempt, &known.consumer, &known.invocation, code, self.now);
        Ok(())
    }

    pub fn started(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.started).count()
    }

    fn read_audit(&mut self) -> Checked {
        if self.disposed {
            return Ok(());
        }
        let entries = parsed(self.surface.audit_read(self.last_audit).as_bytes());
        for entry in entries.as_array().into_iter().flatten() {
            self.last_audit = entry["seq"].as_u64().unwrap_or_default();
            let kind = entry["type"].as_str().unwrap_or_default();
            if kind.starts_with("confirmation-") {
                self.evidence.hear(kind, entry, self.now)?;
            }
            if let Some(id) = entry["attemptId"].as_str() {
                let attempt = self.attempt(id, entry);
                let known = &mut self.attempts[attempt];
                known.registration = entry["registrationId"].as_str().map(String::from).or(known.registration.take());
                // A policy that decides late has an entry, too.
                known.late_entries += usize::from(kind == "late-settlement" && entry.get("policy").is_none());
            }
        }
        Ok(())
    }

    /// Looks at every caller that waited.
    fn read_results(&mut self) {
        for caller in self.callers.iter_mut().filter(|caller| caller.result.is_none()) {
            if let Ok(result) = caller.invocation.wait(0) {
                let result = parsed(&result);
                *self.reported.entry(result.to_string()).or_default() -= 1;
                caller.result = Some(result);
                caller.settled = self.step;
            }
        }
    }
}

const LIMITS: [&str; 14] = [
    "dedupeCacheSize",
    "dedupeCacheTtlMs",
    "maxInFlight",
    "confirmationTtlMs",
    "confirmationRedeemMs",
    "maxPendingConfirmations",
    "actionQueueDepth",
    "maxConcurrentObservationsPerConsumer",
    "maxConcurrentObservationsTotal",
    "maxQueuedObservationsPerConsumer",
    "actionTimeoutMs",
    "observationTimeoutMs",
    "procedureTimeoutMs",
    "policyTimeoutMs",
];

/// All of the request but its id.
fn fingerprint(request: &Value) -> String {
    let mut rest = request.clone();
    rest["invocationId"] = Value::Null;
    rest.to_string()
}

fn definition_error(error: &ApiError) -> String {
    parsed(error.to_json().as_bytes())["reason"].as_str().unwrap_or(error.code.name()).into()
}

fn defer(reply: &Weak<Reply>) {
    // Over already where the handler itself ended its call.
    let _ = reply.upgrade().map(|reply| reply.defer());
}

/// What the C ABI answers for a reply that is gone.
fn gone() -> ApiError {
    ApiError::new(Code::StaleHandle, "The reply is gone.")
}

/// Fails where another number of calls has started.
pub fn started_count(count: usize) -> Value {
    json!({"do": "events", "types": ["invocation-started"], "count": count, "expect": []})
}

/// Fails where a call settled without or before its start.
fn in_order(invocation: &str) -> Value {
    json!({"do": "events", "types": ["invocation-started", "invocation-settled"], "expect": [
        {"type": "invocation-started", "invocationId": invocation},
        {"type": "invocation-settled", "invocationId": invocation},
    ]})
}
