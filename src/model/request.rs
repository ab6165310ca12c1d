//! What a caller asks: the request as issued, and the options of one call.

use std::sync::Arc;

use serde_json::{Value, json};

use super::consumer::Consumer;
use super::error::{ApiError, Code};
use super::fields::{self, Fields};
use super::id;
use crate::json;

/// A request as issued. `input` is `None` when it was absent or null: the two are one request.
#[derive(Clone, Debug)]
pub struct Request {
    pub capability_id: String,
    pub input: Option<Value>,
    pub invocation_id: Option<String>,
    pub instance_id: Option<String>,
    pub registration_id: Option<String>,
    pub surface_version: Option<String>,
    pub confirmation_id: Option<String>,
    /// Why the input is refused whatever its schema allows; phase 5 says so.
    pub bad_input: Option<BadInput>,
}

/// A model's mistake, not the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadInput {
    /// Larger than a model may send.
    Bytes,
    Depth,
    /// A tool's arguments are an object.
    NotAnObject,
}

/// The part of a surface that a caller may reach: adapters show only a part of it.
#[derive(Debug, Default)]
pub struct Reach {
    /// Component-type prefixes; `None` is everything.
    pub scope: Option<Vec<String>>,
    pub observations_only: bool,
}

/// What an adapter changed in what a model sent, for the audit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adapted {
    /// The id was none, and a minted one took its place.
    pub replaced_id: bool,
    /// Pointers of the objects that had come as text.
    pub repaired: Vec<String>,
}

/// Options of one call. Times in milliseconds.
#[derive(Clone, Debug)]
pub struct Options {
    pub consumer: Arc<Consumer>,
    pub timeout_ms: Option<u64>,
    pub deadline_ms: Option<u64>,
    pub traceparent: Option<String>,
    pub reach: Option<Arc<Reach>>,
    pub adapted: Option<Adapted>,
    /// How much host code the call is nested in, on whatever threads.
    pub depth: usize,
}

/// What a request may leave out, beside the input.
const OPTIONAL: [&str; 5] = ["invocationId", "instanceId", "registrationId", "surfaceVersion", "confirmationId"];

/// Longest bound a caller may set: a week.
const MAX_CALL_MS: u64 = 604_800_000;

impl Request {
    pub fn parse(text: &[u8], max_input_bytes: u64, max_depth: u64) -> Result<Request, ApiError> {
        let mut value = fields::deep_document(text)?;
        let mut input = None;
        if let Some(map) = value.as_object_mut() {
            input = map.remove("input");
            // A null member is an absent one, here and in the fingerprint.
            map.retain(|name, member| !(member.is_null() && OPTIONAL.contains(&name.as_str())));
        }
        let mut fields = Fields::new(&value, "", fields::argument)?;
        let mut request = Request {
            capability_id: fields.required_string("capabilityId")?.into(),
            input: input.filter(|input| !input.is_null()),
            invocation_id: caller_id(&mut fields, "invocationId")?,
            instance_id: fields.string("instanceId")?.map(String::from),
            registration_id: fields.string("registrationId")?.map(String::from),
            surface_version: version(&mut fields)?,
            confirmation_id: fields.string("confirmationId")?.map(String::from),
            bad_input: None,
        };
        fields.finish()?;
        request.check_input_bounds(text.len() as u64, max_input_bytes, max_depth);
        Ok(request)
    }

    /// A model's input that is too large or too deep is the model's mistake, not the host's.
    pub fn check_input_bounds(&mut self, document_bytes: u64, max_bytes: u64, max_depth: u64) {
        let Some(input) = &self.input else { return };
        if document_bytes > max_bytes && json::canonical(input).len() as u64 > max_bytes {
            self.bad_input = Some(BadInput::Bytes);
        } else if !json::within_depth(input, max_depth as usize) {
            self.bad_input = Some(BadInput::Depth);
        }
    }

    /// The input that runs when nothing is bound: absent is `{}`.
    pub fn input_or_empty(&self) -> Value {
        self.input.clone().unwrap_or_else(|| json!({}))
    }
}

impl Options {
    pub fn parse(text: &[u8]) -> Result<Options, ApiError> {
        if text.is_empty() {
            return Ok(Options::new(Consumer::anonymous()));
        }
        let value = fields::document(text, None)?;
        let mut fields = Fields::new(&value, "", fields::argument)?;
        let path = fields.child("consumer");
        let options = Options {
            consumer: Consumer::read(fields.get("consumer"), &path)?,
            timeout_ms: fields.integer("timeoutMs", 1, MAX_CALL_MS)?,
            deadline_ms: fields.integer("deadlineMs", 0, MAX_CALL_MS)?,
            traceparent: traceparent(&mut fields)?,
            reach: None,
            adapted: None,
            depth: 0,
        };
        fields.finish()?;
        Ok(options)
    }

    pub fn new(consumer: Arc<Consumer>) -> Options {
        Options {
            consumer,
            timeout_ms: None,
            deadline_ms: None,
            traceparent: None,
            reach: None,
            adapted: None,
            depth: 0,
        }
    }
}

pub fn caller_id(fields: &mut Fields, name: &'static str) -> Result<Option<String>, ApiError> {
    match fields.string(name)? {
        Some(text) if !id::is_caller_id(text) => {
            Err(fields.error(name, "Give 1 to 256 bytes without control characters here."))
        }
        text => Ok(text.map(String::from)),
    }
}

/// A version is a decimal string; a whole number is taken as one.
fn version(fields: &mut Fields) -> Result<Option<String>, ApiError> {
    match fields.get("surfaceVersion") {
        None => Ok(None),
        Some(Value::String(text)) if text.len() <= id::MAX_ID => Ok(Some(text.clone())),
        Some(Value::Number(number)) if number.is_u64() => Ok(Some(number.to_string())),
        Some(_) => Err(fields.error("surfaceVersion", "Give the version as a decimal string here.")),
    }
}

/// W3C trace context, version 00: `00-<32 hex>-<16 hex>-<2 hex>`.
fn traceparent(fields: &mut Fields) -> Result<Option<String>, ApiError> {
    let Some(text) = fields.string("traceparent")? else { return Ok(None) };
    let parts: Vec<_> = text.split('-').collect();
    let hex =
        |part: &str, len| part.len() == len && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let valid = parts.len() == 4
        && hex(parts[0], 2)
        && parts[0] != "ff"
        && hex(parts[1], 32)
        && hex(parts[2], 16)
        && hex(parts[3], 2)
        && parts[1].bytes().any(|b| b != b'0')
        && parts[2].bytes().any(|b| b != b'0');
    match valid {
        true => Ok(Some(text.into())),
        false => Err(fields.error("traceparent", "Give a W3C traceparent here.")),
    }
}

/// `{consumer?, invocationId}`.
pub fn parse_outcome_query(text: &[u8]) -> Result<(Arc<Consumer>, String), ApiError> {
    let value = fields::document(text, None)?;
    let mut fields = Fields::new(&value, "", fields::argument)?;
    let path = fields.child("consumer");
    let consumer = Consumer::read(fields.get("consumer"), &path)?;
    fields.required_string("invocationId")?;
    let id = caller_id(&mut fields, "invocationId")?
        .ok_or_else(|| ApiError::new(Code::Argument, "Give an invocationId."))?;
    fields.finish()?;
    Ok((consumer, id))
}
