//! Why a capability is hidden or disabled (section 15). For developers: it tells what hiding
//! withholds, so nothing an agent can reach includes it (AS-EXPLAIN-004).

use super::Target;
use super::judge::Look;
use super::snapshot::View;
use crate::model::policy::{BuiltIn, PolicyRef};
use crate::model::writer::{self, ObjectWriter};
use crate::policy;
use crate::registry::Registry;

pub fn explain(registry: &Registry, view: &View) -> String {
    let look = Look::new(registry, &view.consumer);
    let (version, live) = registry.catalog.live();
    let targets = live.iter().filter(|registration| view.covers(&registration.definition.component_type)).flat_map(
        |registration| {
            (0..registration.definition.capabilities.len())
                .map(|index| Target { registration: registration.clone(), index })
        },
    );
    let mut out = ObjectWriter::new();
    out.string("surfaceId", &registry.surface_id);
    out.string("surfaceVersion", &version.to_string());
    out.array("capabilities", targets, |target, out| out.extend(describe(&look, &target)));
    out.finish()
}

fn describe(look: &Look, target: &Target) -> Vec<u8> {
    let capability = target.capability();
    let judged = look.judge(target);
    let mut out = ObjectWriter::new();
    out.string("capabilityId", &capability.id);
    out.string("kind", capability.kind.as_str());
    out.string("plane", capability.kind.plane());
    out.string("description", &capability.description);
    out.string("registrationId", &target.registration.id);
    out.object("component", |component| {
        component.string("type", &target.registration.definition.component_type);
        component.string("instanceId", &target.registration.instance_id);
    });
    let outcome = match (judged.hidden, &judged.disabled) {
        (true, _) => "hide",
        (false, Some(_)) => "disable",
        (false, None) => "expose",
    };
    out.string("outcome", outcome);
    if !judged.hidden {
        out.optional_string("reason", judged.disabled.as_deref());
    }
    let mut policies = Vec::new();
    writer::write_array(
        &mut policies,
        target.links(&look.registry.config.policies).zip(&judged.votes),
        |(link, voted), out| {
            let mut entry = ObjectWriter::new();
            entry.string("name", &voted.name);
            entry.string("scope", voted.scope.as_str());
            entry.array("phases", phases(look.registry, link.policy), |phase, out| {
                out.extend_from_slice(format!("\"{phase}\"").as_bytes());
            });
            if let Some(vote) = &voted.vote {
                entry.string("discovery", vote.as_str());
            }
            if voted.failed {
                entry.boolean("failed", true);
            }
            if policy::may_confirm(&link, capability.kind) {
                entry.boolean("confirms", true);
            }
            out.extend(entry.into_bytes());
        },
    );
    out.raw("policies", &policies);
    // What is hidden was not asked for its availability; a developer wants it all the same.
    let unavailable = if judged.hidden { look.unavailable(target) } else { judged.unavailable };
    out.object("availability", |out| {
        out.boolean("available", unavailable.is_none());
        out.optional_string("reason", unavailable.as_deref());
    });
    out.into_bytes()
}

/// Where a policy has a say.
fn phases(registry: &Registry, policy: &PolicyRef) -> Vec<&'static str> {
    match policy {
        PolicyRef::BuiltIn(BuiltIn::RateLimit { .. }) => vec!["authorize"],
        PolicyRef::BuiltIn(BuiltIn::RequireConfirmation { .. } | BuiltIn::Audit { .. }) => vec!["invoke"],
        PolicyRef::BuiltIn(_) => vec!["discovery", "authorize"],
        PolicyRef::Host(name) => match registry.policies.get(name) {
            None => Vec::new(),
            Some(hooks) => [
                (hooks.on_discovery.is_some(), "discovery"),
                (hooks.on_authorize.is_some(), "authorize"),
                (hooks.on_invoke.is_some(), "invoke"),
                (hooks.on_result.is_some(), "result"),
            ]
            .into_iter()
            .filter_map(|(has, phase)| has.then_some(phase))
            .collect(),
        },
    }
}
