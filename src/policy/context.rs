//! What a policy is shown. Discovery and authorization have no field for input, by construction
//! (AS-INVOKE-001).

use serde_json::Value;

use crate::catalog::Target;
use crate::model::Consumer;
use crate::model::time;
use crate::model::writer::ObjectWriter;
use crate::registry::Registry;

/// The context of discovery and authorization, still open for what invocation adds.
pub fn context(registry: &Registry, target: &Target, consumer: &Consumer, host: &Value) -> ObjectWriter {
    let capability = target.capability();
    let definition = &target.registration.definition;
    let mut out = ObjectWriter::with_capacity(512);
    out.string("capabilityId", &capability.id);
    out.string("plane", capability.kind.plane());
    out.string("kind", capability.kind.as_str());
    out.string("effect", capability.effect.as_str());
    out.string("registrationId", &target.registration.id);
    out.raw("consumer", consumer.json.as_bytes());
    out.value("host", host);
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
pub fn looking(target: &Target, consumer: &Consumer, host: &Value) -> Vec<u8> {
    let mut out = ObjectWriter::new();
    out.string("capabilityId", &target.capability().id);
    out.string("registrationId", &target.registration.id);
    out.string("instanceId", &target.registration.instance_id);
    out.raw("consumer", consumer.json.as_bytes());
    out.value("host", host);
    out.into_bytes()
}
