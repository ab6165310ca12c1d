//! Meta mode: three constant tools for whatever the surface holds.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::format::{self, Format, Losses, Spec};
use super::options::Options;
use crate::catalog::snapshot::{self, State};
use crate::json;
use crate::model::error::ErrorCode;
use crate::model::request::Request;
use crate::model::writer::ObjectWriter;
use crate::model::{ErrorPayload, id};
use crate::registry::Registry;
use crate::schema::{Issue, Schema};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Discover,
    Read,
    Act,
}

pub const ACT: &str = "surface_act";

struct Tool {
    verb: Verb,
    name: &'static str,
    description: &'static str,
    input: Value,
    /// What is checked here: `input` of `surface_act` is its capability's to judge.
    schema: Option<Schema>,
}

static TOOLS: LazyLock<[Tool; 3]> = LazyLock::new(|| {
    let capability =
        json!({ "type": "string", "description": "A capabilityId, or the procedureId, that surface_discover lists." });
    let instance =
        json!({ "type": "string", "description": "The instanceId, where several components offer the capability." });
    [
        tool(
            Verb::Discover,
            "surface_discover",
            "Lists what can be read and done now: components with observations and actions, and procedures. Call it again \
             when a result says surfaceChanged, or retry after-refresh.",
            json!({ "scope": { "type": "array", "items": { "type": "string" }, "description":
                "Component types, or what they begin with up to a dot, to list only those; what was refused comes back in scopeRejected." } }),
            &[],
        ),
        tool(
            Verb::Read,
            "surface_read",
            "Reads one observation. It changes nothing.",
            json!({ "capabilityId": capability, "instanceId": instance }),
            &["capabilityId"],
        ),
        tool(
            Verb::Act,
            ACT,
            "Runs one action or procedure with the input that its inputSchema asks for. On CONFIRMATION_REQUIRED tell the \
             person, then repeat the call with the same invocationId and the confirmationId.",
            json!({
                "capabilityId": capability,
                "instanceId": instance,
                "input": { "type": "object", "description": "The capability's own input; nothing of it stands beside it." },
                "invocationId": { "type": "string", "minLength": 1, "description": "Only to repeat a call: the invocationId of its result." },
                "confirmationId": { "type": "string", "description": "Only to repeat a call: from details of CONFIRMATION_REQUIRED." },
                "surfaceVersion": { "type": "string", "description": "The surfaceVersion that surface_discover gave." },
            }),
            &["capabilityId"],
        ),
    ]
});

fn tool(verb: Verb, name: &'static str, description: &'static str, properties: Value, required: &[&str]) -> Tool {
    let mut input = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        input["required"] = json!(required);
    }
    let mut checked = input.clone();
    if let Some(properties) = checked["properties"].as_object_mut() {
        properties.remove("input");
    }
    Tool { verb, name, description, schema: Schema::compile(&checked, "").ok(), input }
}

/// `{tools, wireNameMap, loss, state?}`, the same for every surface.
pub fn text(format: Format) -> String {
    let usual = State::default();
    let mut losses = Vec::new();
    let mut out = ObjectWriter::new();
    out.array("tools", TOOLS.iter(), |tool, out| {
        let mut lost = Losses::default();
        let input_text = json::canonical(&tool.input);
        let spec = Spec {
            name: tool.name,
            description: tool.description,
            input: &tool.input,
            input_text: input_text.as_bytes(),
            output: None,
            read_only: tool.verb != Verb::Act,
            destructive: tool.verb == Verb::Act,
            idempotent: tool.verb != Verb::Act,
            capability_id: None,
            state: &usual,
        };
        format.tool(&spec, &mut lost, out);
        losses.extend(lost.found.into_iter().map(|(pointer, keyword)| (tool.name, pointer, keyword)));
    });
    out.object("wireNameMap", |_| {});
    format::write_losses(losses.iter().map(|(tool, pointer, keyword)| (*tool, &**pointer, &**keyword)), &mut out);
    if format != Format::Neutral {
        out.object("state", |out| {
            for tool in TOOLS.iter() {
                out.object(tool.name, |out| format::write_state(&usual, out));
            }
        });
    }
    out.finish()
}

pub fn verb(name: &str) -> Option<Verb> {
    TOOLS.iter().find(|tool| tool.name == name).map(|tool| tool.verb)
}

/// What the arguments are held against.
pub fn schema(verb: Verb) -> Option<&'static Schema> {
    TOOLS[verb as usize].schema.as_ref()
}

/// Holds the arguments against the tool's own schema; the input of an action is set aside, for its capability.
pub fn check(verb: Verb, arguments: Value) -> Result<(Map<String, Value>, Option<Value>), ErrorPayload> {
    let mut arguments = arguments;
    let input = match verb {
        Verb::Act => arguments.as_object_mut().and_then(|arguments| arguments.remove("input")),
        _ => None,
    };
    if let Some(schema) = schema(verb) {
        schema.validate(&arguments).map_err(|issues| invalid(&issues))?;
    }
    let given = text_of(&arguments, "invocationId");
    if given.as_deref().is_some_and(|given| !id::is_caller_id(given)) {
        let message = "Give 1 to 256 bytes without control characters.".into();
        return Err(invalid(&[Issue { path: "/invocationId".into(), message, keyword: "maxLength".into() }]));
    }
    match arguments {
        Value::Object(arguments) => Ok((arguments, input.filter(|input| !input.is_null()))),
        _ => Err(invalid(&[])),
    }
}

/// What the arguments ask for.
pub fn request(arguments: &Map<String, Value>, input: Option<Value>) -> Request {
    let text = |name| arguments.get(name).and_then(Value::as_str).map(String::from);
    Request {
        capability_id: text("capabilityId").unwrap_or_default(),
        input,
        invocation_id: text("invocationId"),
        instance_id: text("instanceId"),
        registration_id: None,
        surface_version: text("surfaceVersion"),
        confirmation_id: text("confirmationId"),
        bad_input: None,
    }
}

fn text_of(arguments: &Value, name: &str) -> Option<String> {
    arguments.get(name).and_then(Value::as_str).map(String::from)
}

pub fn invalid(issues: &[Issue]) -> ErrorPayload {
    let issues: Vec<Value> = issues
        .iter()
        .map(|issue| json!({ "path": issue.path, "message": issue.message, "keyword": issue.keyword }))
        .collect();
    ErrorPayload::new(
        ErrorCode::InvalidInput,
        "The arguments of the tool do not fit. Correct what details.issues lists.",
    )
    .details(json!({ "issues": issues }))
}

/// The catalog of now as the model asked for it, in its canonical form.
pub fn discover(registry: &Registry, options: &Options, arguments: &Map<String, Value>) -> Option<Value> {
    let asked: Vec<String> = arguments
        .get("scope")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(String::from)
        .collect();
    let (scope, rejected) = narrow(options.scope.as_deref(), asked);
    let snapshot = snapshot::take(registry, &options.view(scope));
    let mut catalog = json::parse(&snapshot, &json::Bounds { bytes: usize::MAX, depth: json::MAX_DEPTH }).ok()?;
    if !rejected.is_empty() {
        catalog["scopeRejected"] = json!({ "prefixes": rejected });
    }
    Some(catalog)
}

/// The floor narrowed to what the model asked for, and the prefixes that it lets nothing through for. Asked for
/// nothing, or for more than the floor, it is the floor; refused all, it is empty.
fn narrow(floor: Option<&[String]>, asked: Vec<String>) -> (Option<Vec<String>>, Vec<String>) {
    let Some(floor) = floor else {
        return ((!asked.is_empty()).then_some(asked), Vec::new());
    };
    if asked.is_empty() {
        return (Some(floor.to_vec()), Vec::new());
    }
    let (mut scope, mut rejected) = (Vec::new(), Vec::new());
    for prefix in asked {
        if id::in_scope(&prefix, Some(floor)) {
            scope.push(prefix);
            continue;
        }
        let wider = [prefix];
        let inside: Vec<String> = floor.iter().filter(|floor| id::in_scope(floor, Some(&wider))).cloned().collect();
        match inside.is_empty() {
            true => rejected.extend(wider),
            false => scope.extend(inside),
        }
    }
    (Some(scope), rejected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(prefixes: &[&str]) -> Vec<String> {
        prefixes.iter().map(|prefix| (*prefix).to_owned()).collect()
    }

    /// AS-ADAPTER-005: a model's scope only ever narrows.
    #[test]
    fn the_floor_holds() {
        let floor = list(&["devices", "orders.open"]);
        for (asked, scope, rejected) in [
            (&[][..], &["devices", "orders.open"][..], &[][..]),
            (&["devices.table"], &["devices.table"], &[]),
            (&["devices"], &["devices"], &[]),
            (&["orders"], &["orders.open"], &[]),
            (&["billing", "devicesx", ""], &[], &["billing", "devicesx", ""]),
            (&["billing", "orders.open.today"], &["orders.open.today"], &["billing"]),
        ] {
            assert_eq!(narrow(Some(&floor), list(asked)), (Some(list(scope)), list(rejected)), "{asked:?}");
        }
        assert_eq!(narrow(None, list(&["a"])), (Some(list(&["a"])), vec![]));
        assert_eq!(narrow(None, vec![]), (None, vec![]));
        assert_eq!(narrow(Some(&[]), list(&["a"])), (Some(vec![]), list(&["a"])));
    }

    /// The constants are what they are taken for: schemas that compile, a tool in each verb's place.
    #[test]
    fn the_tools_are_in_order() {
        for (place, verb) in [Verb::Discover, Verb::Read, Verb::Act].into_iter().enumerate() {
            assert!(TOOLS[place].verb == verb && verb as usize == place && TOOLS[place].schema.is_some());
            assert!(Schema::compile(&TOOLS[place].input, "").is_ok());
        }
    }
}
