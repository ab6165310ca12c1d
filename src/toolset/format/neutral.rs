//! The neutral form: nothing is left out.

use serde_json::Value;

use super::{Answer, Outcome, Spec, ToolCall, neutral_fields, reply_id, write_state};
use crate::model::ApiError;
use crate::model::writer::ObjectWriter;

/// `{name, description, inputSchema, state: {available, unavailableReason?, note?}}`.
pub fn tool(spec: &Spec, out: &mut ObjectWriter) {
    out.string("name", spec.name);
    out.string("description", spec.description);
    out.raw("inputSchema", spec.input_text);
    out.object("state", |out| write_state(spec.state, out));
}

/// `{name, input?, toolCallId?}`, and nothing else: this form is the host's own.
pub fn call(call: Value) -> Result<ToolCall, ApiError> {
    let mut fields = neutral_fields(&call)?;
    let name = fields.required_string("name")?.to_owned();
    let id = match fields.get("toolCallId") {
        None | Some(Value::Null) => None,
        Some(_) => fields.string("toolCallId")?.map(String::from),
    };
    let input = fields.get("input").filter(|input| !input.is_null()).cloned();
    fields.finish()?;
    Ok(ToolCall { name, input, unreadable: false, id })
}

/// `{toolCallId, name, status, output? or error?, invocationId}`.
pub fn result(answer: &Answer) -> String {
    let mut out = ObjectWriter::new();
    out.string("toolCallId", reply_id(answer));
    out.string("name", answer.name);
    match answer.outcome {
        Outcome::Ok(output) => {
            out.string("status", "ok");
            if let Some(output) = output {
                out.value("output", output);
            }
        }
        Outcome::Error(error) => {
            out.string("status", "error");
            out.value("error", error);
        }
    }
    out.string("invocationId", answer.invocation_id);
    out.finish()
}
