//! How a registration looks in a snapshot, rendered once: only what is live is filled in later.

use std::ops::Range;

use crate::json;
use crate::model::definition::{Capability, Definition, Kind};
use crate::model::writer::ObjectWriter;

pub struct Descriptor {
    /// The component up to its lists, without the closing brace.
    pub head: Vec<u8>,
    /// By capability.
    pub capabilities: Vec<Fragment>,
    /// The component and its procedures as they look when all is available.
    pub whole: Vec<u8>,
    pub procedures: Vec<u8>,
}

/// One capability without its live members and without the closing brace.
pub struct Fragment {
    pub kind: Kind,
    pub bytes: Vec<u8>,
    /// Where in `bytes` the agent's input schema stands; empty where there is none.
    pub input: Range<usize>,
}

/// What the moment adds to a capability.
pub struct Moment<'a> {
    pub unavailable: Option<&'a str>,
    pub note: Option<&'a str>,
}

impl Descriptor {
    pub fn new(registration_id: &str, definition: &Definition) -> Descriptor {
        let mut head = ObjectWriter::new();
        head.string("type", &definition.component_type);
        head.string("instanceId", &definition.instance_id);
        head.string("registrationId", registration_id);
        head.string("description", &definition.description);
        head.value("priority", &serde_json::json!(definition.priority));
        head.optional_string("parent", definition.parent.as_deref());
        if let Some(meta) = &definition.meta {
            head.value("meta", meta);
        }
        let capabilities =
            definition.capabilities.iter().map(|capability| Fragment::new(registration_id, capability)).collect();
        let mut descriptor = Descriptor { head: open(head), capabilities, whole: Vec::new(), procedures: Vec::new() };
        let all: Vec<_> =
            descriptor.capabilities.iter().map(|_| Some(Moment { unavailable: None, note: None })).collect();
        let (whole, procedures) = descriptor.render(&all);
        descriptor.whole = whole;
        descriptor.procedures = procedures;
        descriptor
    }

    /// The component, and its procedures separated by commas. `None` is hidden.
    pub fn render(&self, moments: &[Option<Moment>]) -> (Vec<u8>, Vec<u8>) {
        let mut component = self.head.clone();
        let shown = || self.capabilities.iter().zip(moments).filter_map(|(f, m)| m.as_ref().map(|m| (f, m)));
        for (kind, member) in [(Kind::Observation, "observations"), (Kind::Action, "actions")] {
            component.extend_from_slice(format!(",\"{member}\":[").as_bytes());
            join(&mut component, shown().filter(|(fragment, _)| fragment.kind == kind));
            component.push(b']');
        }
        component.push(b'}');
        let mut procedures = Vec::new();
        join(&mut procedures, shown().filter(|(fragment, _)| fragment.kind == Kind::Procedure));
        (component, procedures)
    }
}

impl Fragment {
    fn new(registration_id: &str, capability: &Capability) -> Fragment {
        let mut out = ObjectWriter::new();
        let procedure = capability.kind == Kind::Procedure;
        let mut input = 0..0;
        match procedure {
            true => out.string("procedureId", &capability.id),
            false => {
                out.string("capabilityId", &capability.id);
                out.string("name", &capability.name);
            }
        }
        out.string("description", &capability.description);
        if capability.kind != Kind::Observation {
            out.string("effect", capability.effect.as_str());
            if let Some(schema) = &capability.agent_input {
                let text = json::canonical(schema.source());
                out.raw("inputSchema", text.as_bytes());
                input = out.position() - text.len()..out.position();
            }
        }
        if let Some(output) = &capability.output {
            out.value("outputSchema", output.source());
        }
        if capability.kind != Kind::Observation {
            out.boolean("idempotent", capability.idempotent);
            if !procedure {
                out.boolean("reversible", capability.reversible);
            }
            out.string("confirmation", capability.confirmation.as_str());
        }
        if procedure {
            out.array("boundFields", &capability.bound_fields, |field, out| {
                let mut entry = ObjectWriter::new();
                entry.string("path", field);
                entry.boolean("locked", !capability.overridable_fields.contains(field));
                entry.string("source", "ui-state");
                out.extend(entry.into_bytes());
            });
            out.string("registrationId", registration_id);
            if let Some(context) = &capability.context {
                out.value("context", context);
            }
        }
        if let Some(meta) = &capability.meta {
            out.value("meta", meta);
        }
        Fragment { kind: capability.kind, bytes: open(out), input }
    }

    fn write(&self, moment: &Moment, out: &mut Vec<u8>) {
        let mut live = ObjectWriter::with_capacity(64);
        live.boolean("available", moment.unavailable.is_none());
        live.optional_string("unavailableReason", moment.unavailable);
        live.optional_string("contextualNote", moment.note);
        out.extend_from_slice(&self.bytes);
        // The live members follow the fixed ones: their opening brace becomes the comma.
        out.push(b',');
        out.extend_from_slice(&live.into_bytes()[1..]);
    }
}

fn join<'a>(out: &mut Vec<u8>, parts: impl Iterator<Item = (&'a Fragment, &'a Moment<'a>)>) {
    for (index, (fragment, moment)) in parts.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        fragment.write(moment, out);
    }
}

/// An object that is still open at its end.
fn open(writer: ObjectWriter) -> Vec<u8> {
    let mut bytes = writer.into_bytes();
    bytes.pop();
    bytes
}
