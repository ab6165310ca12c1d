//! A program: what a host and its agents do to one registry, step by step. Any of them can be written down as a scenario.

use serde_json::{Map, Value, json};

/// Every duration is a multiple of it, so that one `Advance` never skips an instant at which something is due.
pub const UNIT_MS: u64 = 100;

#[derive(Clone)]
pub struct Program {
    pub setting: Setting,
    pub steps: Vec<Step>,
}

/// What stands before the first step.
#[derive(Clone)]
pub struct Setting {
    pub id_seed: u64,
    pub limits: Vec<(&'static str, u64)>,
    pub replace: bool,
    /// What the executor does, one script a call; the last one ever after.
    pub executor: Vec<Script>,
}

/// Names (`r1`, `i1`) are those of a scenario's `as`.
#[derive(Clone)]
pub enum Step {
    Register { name: String, component: Component },
    Update { registration: String, patch: Value },
    Invalidate { registration: String },
    Swap { registration: String, capability: &'static Capability, script: Script },
    Unregister { registration: String },
    Invoke(Call),
    Cancel { invocation: String },
    Finish { token: &'static str, index: usize, answer: Answer },
    Decide { token: &'static str, index: usize, verdict: Verdict },
    Advance,
    Set { var: &'static str, to: Value },
    Confirm { asked: String, approve: bool },
    CloseConsumer { consumer: &'static str },
    Dispose,
}

#[derive(Clone)]
pub struct Component {
    pub kind: &'static str,
    pub instance: &'static str,
    pub capabilities: Vec<(&'static Capability, Script)>,
}

/// One `invoke`. What only some calls have is `None`.
#[derive(Clone, PartialEq)]
pub struct Call {
    pub name: String,
    pub capability: String,
    pub consumer: &'static str,
    pub id: Option<&'static str>,
    pub instance: Option<&'static str>,
    /// The name of a registration.
    pub registration: Option<String>,
    pub version: Option<u64>,
    pub input: Option<Value>,
    /// The name of an earlier invocation, which was answered `CONFIRMATION_REQUIRED`.
    pub confirmation: Option<String>,
    pub timeout_ms: Option<u64>,
    pub deadline_ms: Option<u64>,
}

#[derive(Clone)]
pub enum Script {
    Answer(Answer),
    Echo,
    Pend(&'static str),
    /// Takes the steps the first time, and then does as the other script, as it does ever after: a handler that always
    /// called itself would never end.
    Doing(Vec<Step>, Box<Script>),
}

/// How a handler ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Output(Value),
    Reject(&'static str),
    Fail,
    Malformed,
    Nothing,
}

#[derive(Clone)]
pub enum Verdict {
    Allow,
    Deny(&'static str),
    Confirm,
}

/// Which calls may not run beside each other.
#[derive(Clone, Copy, PartialEq)]
pub enum Rule {
    Instance,
    Capability,
    Key(&'static str),
    Parallel(usize),
    Own,
    Gate,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Plane {
    Observation,
    Action,
    Procedure,
}

/// One kind of capability that programs are made of.
pub struct Capability {
    pub plane: Plane,
    pub name: &'static str,
    pub effect: &'static str,
    pub rule: Rule,
    pub depth: Option<u64>,
    pub hold: bool,
    pub timeout_ms: Option<u64>,
    pub idempotent: bool,
    pub confirms: bool,
    pub policies: &'static [&'static str],
    pub when: bool,
    pub precondition: bool,
    pub bound: bool,
}

const PLAIN: Capability = Capability {
    plane: Plane::Action,
    name: "",
    effect: "local-state",
    rule: Rule::Instance,
    depth: None,
    hold: false,
    timeout_ms: None,
    idempotent: false,
    confirms: false,
    policies: &[],
    when: false,
    precondition: false,
    bound: false,
};

pub static CAPABILITIES: [Capability; 13] = [
    Capability { name: "poke", idempotent: true, ..PLAIN },
    Capability { name: "turn", when: true, depth: Some(1), ..PLAIN },
    Capability { name: "press", rule: Rule::Capability, ..PLAIN },
    Capability { name: "pull", rule: Rule::Key("rope"), depth: Some(2), ..PLAIN },
    Capability { name: "spin", rule: Rule::Parallel(2), timeout_ms: Some(2 * UNIT_MS), ..PLAIN },
    Capability { name: "keep", hold: true, depth: Some(3), ..PLAIN },
    Capability { name: "ask", confirms: true, precondition: true, ..PLAIN },
    Capability { name: "go", effect: "navigation", ..PLAIN },
    Capability { name: "guarded", policies: &["gate"], rule: Rule::Parallel(1), ..PLAIN },
    Capability { name: "masked", policies: &["gate", "mask"], confirms: true, ..PLAIN },
    Capability { name: "look", plane: Plane::Observation, effect: "read", rule: Rule::Gate, ..PLAIN },
    Capability {
        name: "jobs/run",
        plane: Plane::Procedure,
        effect: "server-mutation",
        rule: Rule::Own,
        bound: true,
        ..PLAIN
    },
    Capability {
        name: "jobs/burn",
        plane: Plane::Procedure,
        effect: "destructive",
        rule: Rule::Own,
        confirms: true,
        ..PLAIN
    },
];

/// The variables that policies and hooks answer with, and what they are at first.
pub fn first_values() -> Vec<(&'static str, Value)> {
    vec![
        ("when", json!(true)),
        ("precondition", Value::Null),
        ("bind", json!({"who": "ann"})),
        ("discovery", json!({"decision": "expose"})),
        ("authorize", json!({"allow": true})),
        ("approve", json!({"allow": true})),
        ("host", json!({})),
    ]
}

pub const EXECUTOR_PATHS: [&str; 2] = ["jobs/run", "jobs/burn"];

pub fn consumer(id: &str) -> Value {
    json!({"id": id, "kind": "test"})
}

impl Capability {
    pub fn id(&self, kind: &str) -> String {
        match self.plane {
            Plane::Procedure => format!("domain:{}", self.name),
            _ => format!("view:{kind}.{}", self.name),
        }
    }

    /// By its id, whatever component type is in it.
    pub fn find(id: &str) -> Option<&'static Capability> {
        let name = id.strip_prefix("domain:").or_else(|| id.rsplit('.').next())?;
        CAPABILITIES.iter().find(|capability| capability.name == name)
    }

    fn definition(&self) -> Value {
        let mut out = json!({"description": self.name});
        let mut put = |key: &str, value: Value| out[key] = value;
        if self.plane == Plane::Observation {
            put("output", json!({}));
        } else {
            put("effect", json!(self.effect));
            let mut properties = json!({"n": {"type": "integer"}});
            if self.bound {
                properties["who"] = json!({"type": "string"});
                put("boundFields", json!(["who"]));
            }
            put("input", json!({"type": "object", "properties": properties, "additionalProperties": false}));
            put("concurrency", self.concurrency());
            if self.confirms {
                put("confirmation", json!("required"));
            }
        }
        if self.plane == Plane::Procedure {
            put("path", json!(self.name));
        }
        if self.idempotent {
            put("idempotent", json!(true));
        }
        if let Some(ms) = self.timeout_ms {
            put("timeoutMs", json!(ms));
        }
        if !self.policies.is_empty() {
            put("policies", json!(self.policies));
        }
        out
    }

    fn concurrency(&self) -> Value {
        let mut out = match self.rule {
            Rule::Instance => json!({"mode": "instance"}),
            Rule::Capability => json!({"mode": "capability"}),
            Rule::Key(key) => json!({"mode": "key", "key": key}),
            Rule::Parallel(max) => json!({"mode": "parallel", "max": max}),
            Rule::Own | Rule::Gate => json!({}),
        };
        if let Some(depth) = self.depth {
            out["queueDepth"] = json!(depth);
        }
        if self.hold {
            out["onTimeout"] = json!("hold");
        }
        out
    }
}

impl Component {
    pub fn definition(&self) -> Value {
        let of = |plane: Plane| self.capabilities.iter().map(|(c, _)| *c).filter(move |c| c.plane == plane);
        let named = |plane| of(plane).map(|c| (c.name.into(), c.definition())).collect::<Map<String, Value>>();
        json!({
            "type": self.kind,
            "instanceId": self.instance,
            "description": "A component",
            "observations": named(Plane::Observation),
            "actions": named(Plane::Action),
            "procedures": of(Plane::Procedure).map(Capability::definition).collect::<Vec<_>>(),
        })
    }
}

impl Call {
    /// The request, with its references as they are or resolved.
    pub fn request(&self, resolve: &dyn Fn(&str, &str) -> Option<Value>) -> Option<Value> {
        let mut out = json!({"capabilityId": self.capability});
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                out[key] = value;
            }
        };
        put("invocationId", self.id.map(Value::from));
        put("instanceId", self.instance.map(Value::from));
        put("surfaceVersion", self.version.map(|version| Value::from(version.to_string())));
        put("input", self.input.clone());
        if let Some(name) = &self.registration {
            put("registrationId", Some(resolve(name, "registrationId")?));
        }
        if let Some(name) = &self.confirmation {
            put("confirmationId", Some(resolve(name, "error.details.confirmationId")?));
        }
        Some(out)
    }
}

// ---- written down ----------------------------------------------------------------------------------------------------------

impl Setting {
    pub fn registry(&self) -> Value {
        let limits: Map<String, Value> =
            self.limits.iter().map(|(name, value)| ((*name).into(), json!(value))).collect();
        json!({
            "environment": "test",
            "idSeed": self.id_seed,
            "limits": limits,
            "onDuplicateInstance": if self.replace { "replace" } else { "reject" },
        })
    }

    /// A scenario of these settings; `steps` come from [`Step::written`].
    pub fn scenario(&self, name: &str, steps: Vec<Value>) -> Value {
        let script = json!({"sequence": self.executor.iter().map(Script::written).collect::<Vec<_>>()});
        json!({
            "name": name,
            "registry": self.registry(),
            "vars": first_values().into_iter().map(|(var, value)| (var.into(), value)).collect::<Map<String, Value>>(),
            "policies": {
                "gate": {"onDiscovery": {"var": "discovery"}, "onAuthorize": {"var": "authorize"},
                         "onInvoke": {"var": "approve"}, "onResult": {"observe": true}},
                "mask": {"onResult": {"output": masked()}},
            },
            "executor": {"paths": EXECUTOR_PATHS, "script": script},
            "steps": steps,
        })
    }
}

/// What the policy `mask` makes of every output.
pub fn masked() -> Value {
    json!("masked")
}

impl Step {
    /// As a step of a scenario.
    pub fn written(&self) -> Value {
        match self {
            Step::Register { name, component } => written_register(name, component),
            Step::Update { registration, patch } => {
                json!({"do": "update", "registration": registration, "patch": patch})
            }
            Step::Invalidate { registration } => json!({"do": "invalidate", "registration": registration}),
            Step::Swap { registration, capability, script } => {
                json!({"do": "swap", "registration": registration, "handlers": {capability.name: script.written()}})
            }
            Step::Unregister { registration } => json!({"do": "unregister", "registration": registration}),
            Step::Invoke(call) => written_call(call),
            Step::Cancel { invocation } => json!({"do": "cancel", "invocation": invocation}),
            Step::Finish { token, index, answer } => {
                let mut out = json!({"do": "finish", "token": token, "index": index});
                match answer {
                    Answer::Output(value) => out["return"] = value.clone(),
                    Answer::Reject(code) => out["reject"] = json!({"code": code}),
                    _ => out["fail"] = json!("it broke"),
                }
                out
            }
            Step::Decide { token, index, verdict } => {
                let mut out = json!({"do": "decide", "token": token, "index": index});
                match verdict {
                    Verdict::Allow => out["allow"] = json!(true),
                    Verdict::Deny(code) => out["deny"] = json!({"code": code}),
                    Verdict::Confirm => out["confirm"] = json!({}),
                }
                out
            }
            Step::Advance => json!({"do": "advance", "ms": UNIT_MS}),
            Step::Set { var, to } => json!({"do": "set", "var": var, "to": to}),
            Step::Confirm { asked, approve } => {
                json!({"do": "confirm", "id": format!("${asked}.error.details.confirmationId"), "approve": approve})
            }
            Step::CloseConsumer { consumer: id } => json!({"do": "closeConsumer", "consumer": consumer(id)}),
            Step::Dispose => json!({"do": "dispose"}),
        }
    }
}

fn written_register(name: &str, component: &Component) -> Value {
    let some = |wanted: fn(&Capability) -> bool, value: Value| {
        let names = component.capabilities.iter().filter(move |(c, _)| wanted(c));
        names.map(|(c, _)| (c.name.to_string(), value.clone())).collect::<Map<String, Value>>()
    };
    let handled = component.capabilities.iter().filter(|(c, _)| c.plane != Plane::Procedure);
    json!({
        "do": "register",
        "as": name,
        "definition": component.definition(),
        "handlers": handled.map(|(c, script)| (c.name.into(), script.written())).collect::<Map<String, Value>>(),
        "when": some(|c| c.when, json!({"var": "when"})),
        "precondition": some(|c| c.precondition, json!({"var": "precondition"})),
        "bind": some(|c| c.bound, json!({"var": "bind"})),
    })
}

fn written_call(call: &Call) -> Value {
    let reference = |name: &str, path: &str| Some(json!(format!("${name}.{path}")));
    let mut out = json!({"do": "invoke", "as": call.name, "consumer": consumer(call.consumer)});
    out["request"] = call.request(&reference).unwrap_or_default();
    for (key, value) in [("timeoutMs", call.timeout_ms), ("deadlineMs", call.deadline_ms)] {
        if let Some(ms) = value {
            out[key] = json!(ms);
        }
    }
    out
}

impl Script {
    pub fn written(&self) -> Value {
        match self {
            Script::Answer(answer) => match answer {
                Answer::Output(value) => json!({"return": value}),
                Answer::Reject(code) => json!({"reject": {"code": code}}),
                Answer::Fail => json!({"fail": "it broke"}),
                Answer::Malformed => json!({"raw": "{"}),
                Answer::Nothing => json!({"none": true}),
            },
            Script::Echo => json!({"echo": true}),
            Script::Pend(token) => json!({"pend": token}),
            Script::Doing(steps, then) => {
                let steps: Vec<Value> = steps.iter().map(Step::written).collect();
                json!({"sequence": [{"doing": steps, "then": then.written()}, then.written()]})
            }
        }
    }
}
