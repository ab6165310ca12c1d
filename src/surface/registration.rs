//! Registering components, and what can be done with one that is registered.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::Surface;
use crate::catalog::{self, Admitted, CapabilityHooks, Status};
use crate::model::config::SuffixPolicy;
use crate::model::definition::{
    Capability, DUPLICATE_CAPABILITY, Definition, INVALID_DEFINITION, Kind, LIMIT_EXCEEDED, Patch,
};
use crate::model::policy::PolicyRef;
use crate::model::writer::ObjectWriter;
use crate::model::{ApiError, Code, fields};
use crate::observe::{Bound, Entry, Topic};
use crate::pipeline::call::would_deadlock;
use crate::pipeline::engine::Engine;
use crate::registry::Executor;
use crate::runtime::{Hook, enter, local};

/// The host's functions for one capability: its name, or `domain:` + path for a procedure.
#[derive(Default)]
pub struct Binding {
    pub name: String,
    pub handler: Option<Hook>,
    pub when: Option<Hook>,
    pub precondition: Option<Hook>,
    pub bind: Option<Hook>,
    pub describe: Option<Hook>,
}

impl Surface {
    /// Registers a component. A newcomer that is not admitted gets a dead handle, not an error.
    pub fn register(&self, definition: &[u8], bindings: Vec<Binding>) -> Result<Registration, ApiError> {
        let _scope = enter();
        let engine = &self.engine;
        let _busy = engine.open()?;
        let value = fields::document(definition, None)?;
        let executor = engine.executor();
        let serves = executor.as_ref().map(|executor| |path: &str| executor.paths.contains(path));
        let definition =
            Definition::parse(&value, engine.limits(), serves.as_ref().map(|serves| serves as &dyn Fn(&str) -> bool))?;
        let hooks = match_bindings(&definition.capabilities, bindings)?;
        self.check_policies(&definition)?;
        let suspects = collisions(&definition, executor.as_ref());
        if let (Some(suspect), SuffixPolicy::Error) = (suspects.first(), engine.config.suffix_policy) {
            return Err(ApiError::definition(
                DUPLICATE_CAPABILITY,
                suspect.pointer.as_str(),
                "The executor serves a procedure of the same name.",
            ));
        }
        let (guarded, knotted) = local::knots(|| self.guard_rejects(&value, &definition));
        if knotted {
            return Err(would_deadlock());
        }
        let collision_ids: Vec<String> = suspects.iter().map(|capability| capability.id.clone()).collect();
        let id = engine.random.id(&format!("reg_{}_", engine.next_registration()));
        let inner = catalog::Registration::new(id, definition, hooks);
        let registration = Registration { engine: engine.clone(), inner };
        match guarded {
            true => registration.reject("guard"),
            false => registration.admit()?,
        }
        if registration.inner.is_active() && engine.config.suffix_policy == SuffixPolicy::Warn {
            collision_ids.iter().for_each(|id| registration.tell_collision(id));
        }
        Ok(registration)
    }

    /// Every policy that a definition names must be defined.
    fn check_policies(&self, definition: &Definition) -> Result<(), ApiError> {
        let places =
            definition.capabilities.iter().map(|capability| (capability.pointer.as_str(), &capability.policies));
        for (pointer, policies) in std::iter::once(("", &definition.policies)).chain(places) {
            for (index, policy) in policies.iter().enumerate() {
                if let PolicyRef::Host(name) = policy
                    && self.engine.policies.get(name).is_none()
                {
                    let path = format!("{pointer}/policies/{index}");
                    return Err(ApiError::definition(INVALID_DEFINITION, path, "No policy of this name is defined."));
                }
            }
        }
        Ok(())
    }

    /// Has procedures served by `executor` from here on, unless one has the name of what is registered.
    pub(super) fn serve(&self, executor: Executor) -> Result<(), ApiError> {
        let engine = &self.engine;
        let known = engine.executor();
        let new = |capability: &&Capability| !serves(known.as_ref(), capability);
        let policy = engine.config.suffix_policy;
        let mut suspects = Vec::new();
        if policy != SuffixPolicy::Off {
            for inner in engine.catalog.live().1.iter() {
                let found = collisions(&inner.definition, Some(&executor)).into_iter().filter(new);
                let ids: Vec<_> = found.map(|capability| capability.id.clone()).collect();
                suspects.push((Registration { engine: engine.clone(), inner: inner.clone() }, ids));
            }
        }
        let first = suspects.iter().flat_map(|(_, ids)| ids).next();
        if let (Some(id), SuffixPolicy::Error) = (first, policy) {
            let message = format!("{id} is registered, and a procedure of the same name is given here.");
            return Err(ApiError::definition(DUPLICATE_CAPABILITY, "", message));
        }
        engine.set_executor(executor);
        for (registration, ids) in suspects {
            ids.iter().for_each(|id| registration.tell_collision(id));
        }
        Ok(())
    }

    fn guard_rejects(&self, value: &Value, definition: &Definition) -> bool {
        let Some(hook) = self.engine.hooks().on_register else { return false };
        let mut context = ObjectWriter::new();
        context.value("definition", value);
        context.string("origin", &definition.origin);
        // A guard that fails lets nothing in.
        let answer = self.engine.ask_now(&hook, "on_register", context.into_bytes(), false);
        answer.as_ref().and_then(Value::as_str) != Some("accept")
    }
}

/// One lifetime of a component instance, or the dead handle of one that was not admitted.
#[derive(Clone)]
pub struct Registration {
    engine: Arc<Engine>,
    inner: Arc<catalog::Registration>,
}

impl Registration {
    fn admit(&self) -> Result<(), ApiError> {
        let engine = &self.engine;
        let admitted =
            engine.catalog.add(&self.inner, engine.config.on_duplicate, engine.clock.now(), |admitted, version| {
                if let Admitted::Live { replaced } = admitted {
                    if let Some(old) = replaced {
                        self.tell(old, "component-unregistered", "unregistration", None);
                    }
                    self.tell(&self.inner, "component-registered", "registration", None);
                    self.surface_changed(version);
                }
            });
        match admitted {
            Admitted::Live { replaced } => {
                if let Some(old) = replaced {
                    engine.end_registration(&old, Status::Replaced);
                }
                // The registry may have closed while this was under way; then nothing stays.
                if engine.is_closed() {
                    engine.catalog.remove(&self.inner, engine.clock.now(), |_| {});
                    self.inner.end(Status::Closed);
                    return Err(ApiError::closed());
                }
                Ok(())
            }
            Admitted::Duplicate => {
                self.reject("duplicate");
                Ok(())
            }
            Admitted::Full => {
                let max = engine.limits().max_registrations;
                let full = ApiError::new(Code::Limit, format!("A registry has at most {max} registrations."));
                Err(ApiError { reason: Some(LIMIT_EXCEEDED), ..full })
            }
        }
    }

    fn reject(&self, reason: &str) {
        self.inner.end(Status::Rejected);
        self.tell(&self.inner, "component-rejected", "registration-rejected", Some(reason));
    }

    fn tell(&self, whose: &catalog::Registration, event: &'static str, audit: &'static str, reason: Option<&str>) {
        self.engine.observer.emit(Topic::All, event, |out| {
            component(whose, out);
            out.optional_string("reason", reason);
        });
        let mut entry = self.entry(whose, audit);
        if let Some(reason) = reason {
            entry = entry.with("reason", reason);
        }
        self.engine.observer.audit(entry);
    }

    fn entry(&self, whose: &catalog::Registration, kind: &'static str) -> Entry {
        let mut entry = Entry::new(kind).with("componentType", whose.definition.component_type.as_str());
        entry.bound = Bound {
            registration_id: Some(whose.id.clone()),
            instance_id: Some(whose.instance_id.clone()),
            request_digest: None,
        };
        entry
    }

    fn tell_collision(&self, capability_id: &str) {
        self.engine.observer.emit(Topic::All, "collision-suspected", |out| {
            component(&self.inner, out);
            out.string("capabilityId", capability_id);
        });
        let entry = self.entry(&self.inner, "collision-suspected").with("capabilityId", capability_id);
        self.engine.observer.audit(entry);
    }

    fn surface_changed(&self, version: u64) {
        self.engine.observer.emit(Topic::All, "surface-changed", |out| {
            out.string("surfaceVersion", &version.to_string());
        });
    }

    pub fn info(&self) -> Result<String, ApiError> {
        Ok(self.inner.describe_status())
    }

    /// Changes `enabled` and pushed availability: all of the patch or nothing.
    pub fn update(&self, patch: &[u8]) -> Result<(), ApiError> {
        let _scope = enter();
        let patch = Patch::parse(patch)?;
        let mut pushes = Vec::new();
        for (name, available, reason) in patch.availability {
            let index = self.inner.find(&name).ok_or_else(|| {
                let path = format!("/availability/{}", crate::json::escape_pointer(&name));
                ApiError::at(Code::Argument, path, "This registration has no such capability.")
            })?;
            pushes.push((index, available, reason));
        }
        let change = || {
            let mut changed = patch.enabled.is_some_and(|enabled| self.inner.set_enabled(enabled));
            for (index, available, reason) in pushes {
                changed |= self.inner.push_availability(index, available, reason);
            }
            changed
        };
        let live = self.engine.catalog.change(&self.inner, change, |version| {
            self.engine.observer.emit(Topic::All, "availability-changed", |out| component(&self.inner, out));
            self.surface_changed(version);
        });
        if live { Ok(()) } else { Err(over()) }
    }

    /// Swaps the host's functions of the capabilities that the bindings name.
    pub fn rebind(&self, bindings: Vec<Binding>) -> Result<(), ApiError> {
        let _scope = enter();
        let mut swaps = BTreeMap::new();
        for binding in bindings {
            let index = self.inner.find(&binding.name).ok_or_else(|| names_nothing(&binding.name))?;
            let capability = &self.inner.definition.capabilities[index];
            let hooks = check_binding(capability, binding)?;
            check_needs(capability, &hooks)?;
            if swaps.insert(index, hooks).is_some() {
                return Err(named_twice(capability));
            }
        }
        let before = self.inner.rebind(swaps).ok_or_else(over)?;
        self.engine.looks_otherwise();
        drop(before);
        Ok(())
    }

    /// Says that the surface changed in a way only the host knows.
    pub fn invalidate(&self) -> Result<(), ApiError> {
        let _scope = enter();
        match self.engine.catalog.change(&self.inner, || true, |version| self.surface_changed(version)) {
            true => Ok(()),
            false => Err(over()),
        }
    }

    /// Ends the registration; again, it does nothing.
    pub fn unregister(&self) {
        let _scope = enter();
        let removed = self.engine.catalog.remove(&self.inner, self.engine.clock.now(), |version| {
            self.tell(&self.inner, "component-unregistered", "unregistration", None);
            self.surface_changed(version);
        });
        if removed {
            self.engine.end_registration(&self.inner, Status::Unregistered);
        }
    }
}

fn component(registration: &catalog::Registration, out: &mut ObjectWriter) {
    out.string("componentType", &registration.definition.component_type);
    out.string("instanceId", &registration.instance_id);
    out.string("registrationId", &registration.id);
}

fn over() -> ApiError {
    ApiError::new(Code::Closed, "This registration is not active.")
}

/// Puts the host's functions where the definition has their capabilities.
fn match_bindings(capabilities: &[Capability], bindings: Vec<Binding>) -> Result<Vec<Arc<CapabilityHooks>>, ApiError> {
    let mut hooks: Vec<Option<CapabilityHooks>> = capabilities.iter().map(|_| None).collect();
    let names = capabilities.iter().enumerate().map(|(index, capability)| (capability.binding_name(), index));
    let names: HashMap<&str, usize> = names.collect();
    for binding in bindings {
        let index = *names.get(&*binding.name).ok_or_else(|| names_nothing(&binding.name))?;
        if hooks[index].is_some() {
            return Err(named_twice(&capabilities[index]));
        }
        hooks[index] = Some(check_binding(&capabilities[index], binding)?);
    }
    let checked = |(capability, hooks): (&Capability, Option<CapabilityHooks>)| {
        let hooks = hooks.unwrap_or_default();
        check_needs(capability, &hooks).map(|()| Arc::new(hooks))
    };
    capabilities.iter().zip(hooks).map(checked).collect()
}

/// Refuses a capability without the function that it cannot do without.
fn check_needs(capability: &Capability, hooks: &CapabilityHooks) -> Result<(), ApiError> {
    let missing = match capability.kind {
        Kind::Procedure if !capability.bound_fields.is_empty() && hooks.bind.is_none() => "\"bind\" function",
        Kind::Procedure => return Ok(()),
        _ if hooks.handler.is_none() => "handler",
        _ => return Ok(()),
    };
    Err(ApiError::definition(INVALID_DEFINITION, &*capability.pointer, format!("Bind a {missing} for this.")))
}

fn names_nothing(name: &str) -> ApiError {
    let message = format!("A binding names \"{}\", which is not defined.", shown(name));
    ApiError::definition(INVALID_DEFINITION, "", message)
}

fn named_twice(capability: &Capability) -> ApiError {
    ApiError::definition(INVALID_DEFINITION, &*capability.pointer, "Two bindings name this.")
}

/// Refuses a function that its capability would never call.
fn check_binding(capability: &Capability, binding: Binding) -> Result<CapabilityHooks, ApiError> {
    let stray = match capability.kind {
        Kind::Observation => [binding.precondition.is_some(), binding.bind.is_some(), binding.describe.is_some()],
        Kind::Action => [false, binding.bind.is_some(), binding.describe.is_some()],
        Kind::Procedure => [binding.precondition.is_some(), binding.handler.is_some(), false],
    };
    if stray.contains(&true) {
        let message = format!("A binding has a function that no {} calls.", capability.kind.as_str());
        return Err(ApiError::definition(INVALID_DEFINITION, &*capability.pointer, message));
    }
    let Binding { handler, when, precondition, bind, describe, .. } = binding;
    Ok(CapabilityHooks { handler, when, precondition, bind, describe })
}

fn shown(name: &str) -> &str {
    crate::model::error::truncate(name, 64)
}

/// View capabilities whose name the executor serves as a procedure, too.
fn collisions<'a>(definition: &'a Definition, executor: Option<&Executor>) -> Vec<&'a Capability> {
    definition.capabilities.iter().filter(|capability| serves(executor, capability)).collect()
}

fn serves(executor: Option<&Executor>, capability: &Capability) -> bool {
    let suffix = capability.id.strip_prefix("view:");
    executor.zip(suffix).is_some_and(|(executor, suffix)| executor.paths.contains(suffix))
}
