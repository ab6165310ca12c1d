//! What providers call a tool, a call and a result. One file each; this one says what they have in common.

mod anthropic;
mod gemini;
mod mcp;
mod neutral;
mod openai;
pub mod schema;

use serde_json::Value;

use crate::catalog::snapshot::State;
use crate::json;
use crate::model::fields::{self, Fields};
use crate::model::writer::ObjectWriter;
use crate::model::{ApiError, Limits};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Neutral,
    OpenAi,
    Anthropic,
    Gemini,
    Mcp,
}

const FORMATS: &[(&str, Format)] = &[
    ("neutral", Format::Neutral),
    ("openai", Format::OpenAi),
    ("anthropic", Format::Anthropic),
    ("gemini", Format::Gemini),
    ("mcp", Format::Mcp),
];

/// How many formats there are, for a place for each.
pub const COUNT: usize = 5;

/// A tool before a provider's form.
pub struct Spec<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub input: &'a Value,
    /// `input` as canonical text.
    pub input_text: &'a [u8],
    pub output: Option<&'a Value>,
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    /// `None` for a tool that is no capability.
    pub capability_id: Option<&'a str>,
    pub state: &'a State,
}

/// What a provider cannot be told of one tool; the core enforces it all the same. Pointer (into the input schema, to
/// the schema that holds the keyword; `/outputSchema` is the other one) and keyword.
#[derive(Default)]
pub struct Losses {
    pub found: Vec<(String, String)>,
}

impl Losses {
    pub fn add(&mut self, pointer: &str, keyword: &str) {
        self.found.push((pointer.into(), keyword.into()));
    }
}

/// A model's call of a tool.
pub struct ToolCall {
    pub name: String,
    pub input: Option<Value>,
    /// The arguments came as text that is no JSON; `input` is that text.
    pub unreadable: bool,
    /// As it came; whether it is fit to be one is asked later.
    pub id: Option<String>,
}

/// A result on its way to the model.
pub struct Answer<'a> {
    pub tool_call_id: Option<&'a str>,
    pub name: &'a str,
    pub invocation_id: &'a str,
    pub outcome: Outcome<'a>,
}

pub enum Outcome<'a> {
    Ok(Option<&'a Value>),
    Error(&'a Value),
}

impl Format {
    /// Empty is the neutral one. Errors: `AS_E_ARGUMENT`.
    pub fn parse(name: &[u8]) -> Result<Format, ApiError> {
        match FORMATS.iter().find(|(word, _)| name.is_empty() || word.as_bytes() == name) {
            Some((_, format)) => Ok(*format),
            None => {
                let list: Vec<_> = FORMATS.iter().map(|(word, _)| *word).collect();
                Err(fields::argument(String::new(), format!("Give one of {} as format.", list.join(", "))))
            }
        }
    }

    /// Writes the tool as the provider wants it.
    pub fn tool(self, spec: &Spec, losses: &mut Losses, out: &mut Vec<u8>) {
        ObjectWriter::append(out, |out| match self {
            Format::Neutral => neutral::tool(spec, out),
            Format::OpenAi => openai::tool(spec, losses, out),
            Format::Anthropic => anthropic::tool(spec, losses, out),
            Format::Gemini => gemini::tool(spec, losses, out),
            Format::Mcp => mcp::tool(spec, losses, out),
        });
    }

    /// The result as the provider wants it.
    pub fn result(self, answer: &Answer) -> String {
        match self {
            Format::Neutral => neutral::result(answer),
            Format::OpenAi => openai::result(answer),
            Format::Anthropic => anthropic::result(answer),
            Format::Gemini => gemini::result(answer),
            Format::Mcp => mcp::result(answer),
        }
    }
}

/// Reads a call in whatever form it came: a provider's is known by the member that only it has.
pub fn read_call(call: Value) -> Result<ToolCall, ApiError> {
    match call {
        call if call.get("function").is_some() => openai::call(call),
        call if call.get("functionCall").is_some() => gemini::call(call),
        call if call.get("method").is_some() => mcp::call(call),
        call if call.get("type").and_then(Value::as_str) == Some("tool_use") => anthropic::call(call),
        call => neutral::call(call),
    }
}

/// Providers add members of their own to a call, so only what is needed is looked at.
fn provider_call(body: &mut Value, path: &str, arguments: &str, id: Option<&Value>) -> Result<ToolCall, ApiError> {
    let name = match body.get("name").and_then(Value::as_str) {
        Some(name) => name.to_owned(),
        None => return Err(fields::argument(format!("{path}/name"), "Give the name of a tool here.".into())),
    };
    let input = body.get_mut(arguments).map(Value::take).filter(|input| !input.is_null());
    Ok(ToolCall { name, input, unreadable: false, id: id.map(id_text) })
}

/// An id that is no text is taken by its JSON: JSON-RPC counts its requests.
fn id_text(id: &Value) -> String {
    match id {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => json::canonical(other),
    }
}

/// Arguments that a provider sends as text. None at all is an empty object.
fn read_arguments(call: &mut ToolCall) {
    let Some(Value::String(text)) = &call.input else { return };
    if text.trim().is_empty() {
        call.input = None;
        return;
    }
    match json::parse(text.as_bytes(), &Limits::call_bounds()) {
        Ok(value) => call.input = Some(value).filter(|input| !input.is_null()),
        Err(_) => call.unreadable = true,
    }
}

/// The output as text; a handler may complete without one.
fn output_text(output: Option<&Value>) -> String {
    output.map_or_else(|| "{\"status\":\"ok\"}".into(), json::canonical)
}

/// An error in band: `{error: {code, message, retry, details?}, invocationId}`.
fn error_text(answer: &Answer, error: &Value) -> String {
    let mut out = ObjectWriter::new();
    out.value("error", error);
    out.string("invocationId", answer.invocation_id);
    out.finish()
}

fn text(answer: &Answer) -> String {
    match &answer.outcome {
        Outcome::Ok(output) => output_text(*output),
        Outcome::Error(error) => error_text(answer, error),
    }
}

/// The id that the provider needs back: the call's own, or the one that was minted for want of it.
fn reply_id<'a>(answer: &Answer<'a>) -> &'a str {
    answer.tool_call_id.unwrap_or(answer.invocation_id)
}

fn neutral_fields<'a>(call: &'a Value) -> Result<Fields<'a>, ApiError> {
    Fields::new(call, "", fields::argument)
}

/// `[{tool, pointer, keyword}]`.
pub fn write_losses<'a>(losses: impl Iterator<Item = (&'a str, &'a str, &'a str)>, out: &mut ObjectWriter) {
    out.array("loss", losses, |(tool, pointer, keyword), out| {
        let mut loss = ObjectWriter::new();
        loss.string("tool", tool);
        loss.string("pointer", pointer);
        loss.string("keyword", keyword);
        out.extend(loss.into_bytes());
    });
}

/// What is of the moment, apart from what the model is given for good: `{available, unavailableReason?, note?}`.
pub fn write_state(state: &State, out: &mut ObjectWriter) {
    out.boolean("available", state.unavailable.is_none());
    out.optional_string("unavailableReason", state.unavailable.as_deref());
    out.optional_string("note", state.note.as_deref());
}
