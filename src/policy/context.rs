//! What a policy is shown. Discovery and authorization have no field for input, by construction
//! (AS-INVOKE-001).

use std::sync::Arc;

use once_cell::race::OnceBox;
use serde_json::{Map, Value};

use crate::catalog::Target;
use crate::json;
use crate::model::Consumer;
use crate::model::time;
use crate::model::writer::ObjectWriter;
use crate::registry::Registry;

/// What the host says of itself: an object, and its text, since every context carries it.
pub struct HostContext {
    pub value: Value,
    pub text: Vec<u8>,
}

static EMPTY: OnceBox<Arc<HostContext>> = OnceBox::new();

impl HostContext {
    /// Anything but an object counts as a failed callback, which leaves `{}`.
    pub fn of(answer: Option<Value>) -> Arc<HostContext> {
        let new = |value| {
            let text = json::canonical(&value).into_bytes();
            Arc::new(HostContext { value, text })
        };
        match answer.filter(Value::is_object) {
            Some(value) => new(value),
            None => EMPTY.get_or_init(|| Box::new(new(Value::Object(Map::new())))).clone(),
        }
    }
}

/// The context of discovery and authorization, still open for what invocation adds.
pub fn context(registry: &Registry, target: &Target, consumer: &Consumer, host: &HostContext) -> ObjectWriter {
    let capability = target.capability();
    let definition = &target.registration.definition;
    let mut out = ObjectWriter::with_capacity(512);
    out.string("capabilityId", &capability.id);
    out.string("plane", capability.kind.plane());
    out.string("kind", capability.kind.as_str());
    out.string("effect", capability.effect.as_str());
    out.string("registrationId", &target.registration.id);
    out.raw("consumer", consumer.json.as_bytes());
    out.raw("host", &host.text);
    out.object("meta", |meta| {
        if let Some(component) = &definition.meta {
            meta.value("component", component);
        }
        if let Some(capability) = &capability.meta {
            meta.value("capability", capability);
        }
    });
    out.value("internal", &definition.internal);
    out.string("environment", registry.config.environment.as_str());
    out.string("now", &time::format(registry.clock.unix()));
    out
}

/// The context of `when` and `describe`, which belong to no call.
pub fn looking(target: &Target, consumer: &Consumer, host: &HostContext) -> Vec<u8> {
    let mut out = ObjectWriter::new();
    out.string("capabilityId", &target.capability().id);
    out.string("registrationId", &target.registration.id);
    out.string("instanceId", &target.registration.instance_id);
    out.raw("consumer", consumer.json.as_bytes());
    out.raw("host", &host.text);
    out.into_bytes()
}
