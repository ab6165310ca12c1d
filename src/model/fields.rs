//! Reads the documents a host sends: strict about names and types, and exact about where.

use serde_json::{Map, Value};

use super::error::{ApiError, Code};
use super::limits::Limits;
use crate::json;

/// Parses a document of a host. Empty text stands for an absent document where `empty` is given.
pub fn document(text: &[u8], empty: Option<Value>) -> Result<Value, ApiError> {
    if let (true, Some(value)) = (text.is_empty(), empty) {
        return Ok(value);
    }
    json::parse(text, &Limits::host_bounds()).map_err(json_error)
}

/// Parses a document with an input or an output in it, which may be as deep as a registry allows and deeper: that is for
/// the phases of the call to judge.
pub fn deep_document(text: &[u8]) -> Result<Value, ApiError> {
    json::parse(text, &Limits::call_bounds()).map_err(json_error)
}

/// A refused document: too large is `AS_E_LIMIT`, not UTF-8 is `AS_E_UTF8`, anything else `AS_E_JSON`.
pub fn json_error(error: json::JsonError) -> ApiError {
    let code = match error.kind {
        json::JsonErrorKind::Size => Code::Limit,
        json::JsonErrorKind::Utf8 => Code::Utf8,
        _ => Code::Json,
    };
    ApiError::at(code, error.path, error.message)
}

/// One object being read. Every getter marks its name as known; [`Fields::finish`] refuses the rest.
///
/// The error of a wrong shape is made by `refuse`, so that a definition's error differs from an
/// option's.
pub struct Fields<'a> {
    map: &'a Map<String, Value>,
    pub path: String,
    known: Vec<&'static str>,
    refuse: fn(String, String) -> ApiError,
}

/// For everything but definitions.
pub fn argument(path: String, message: String) -> ApiError {
    ApiError::at(Code::Argument, path, message)
}

impl<'a> Fields<'a> {
    pub fn new(
        value: &'a Value,
        path: impl Into<String>,
        refuse: fn(String, String) -> ApiError,
    ) -> Result<Self, ApiError> {
        let path = path.into();
        match value {
            Value::Object(map) => Ok(Fields { map, path, known: Vec::with_capacity(8), refuse }),
            _ => Err(refuse(path, "Give an object here.".into())),
        }
    }

    pub fn child(&self, name: &str) -> String {
        format!("{}/{}", self.path, json::escape_pointer(name))
    }

    pub fn error(&self, name: &str, message: impl Into<String>) -> ApiError {
        (self.refuse)(self.child(name), message.into())
    }

    /// How a wrong shape is reported here, for the readers of what stands inside.
    pub fn refusal(&self) -> fn(String, String) -> ApiError {
        self.refuse
    }

    pub fn get(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.map.get(name)
    }

    pub fn required(&mut self, name: &'static str) -> Result<&'a Value, ApiError> {
        self.get(name).ok_or_else(|| self.error(name, format!("Give the member \"{name}\"; it is required.")))
    }

    pub fn string(&mut self, name: &'static str) -> Result<Option<&'a str>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.error(name, "Give a string here.")),
        }
    }

    pub fn required_string(&mut self, name: &'static str) -> Result<&'a str, ApiError> {
        self.required(name)?;
        Ok(self.string(name)?.unwrap_or_default())
    }

    pub fn boolean(&mut self, name: &'static str) -> Result<Option<bool>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(_) => Err(self.error(name, "Give true or false here.")),
        }
    }

    /// A whole number from `min` to `max`.
    pub fn integer(&mut self, name: &'static str, min: u64, max: u64) -> Result<Option<u64>, ApiError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match whole(value).filter(|n| (min..=max).contains(n)) {
            Some(n) => Ok(Some(n)),
            None => Err(self.error(name, format!("Give a whole number from {min} to {max} here."))),
        }
    }

    pub fn number(&mut self, name: &'static str) -> Result<Option<f64>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Number(n)) => Ok(n.as_f64()),
            Some(_) => Err(self.error(name, "Give a number here.")),
        }
    }

    pub fn strings(&mut self, name: &'static str) -> Result<Option<Vec<&'a str>>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Array(items)) => items
                .iter()
                .map(Value::as_str)
                .collect::<Option<Vec<_>>>()
                .map(Some)
                .ok_or_else(|| self.error(name, "Give a list of strings here.")),
            Some(_) => Err(self.error(name, "Give a list of strings here.")),
        }
    }

    /// One of a closed set of words.
    pub fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Result<Option<T>, ApiError> {
        let Some(text) = self.string(name)? else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, value)) => Ok(Some(*value)),
            None => {
                let list: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                Err(self.error(name, format!("Give one of {} here.", list.join(", "))))
            }
        }
    }

    pub fn object(&mut self, name: &'static str) -> Result<Option<&'a Map<String, Value>>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(_) => Err(self.error(name, "Give an object here.")),
        }
    }

    pub fn list(&mut self, name: &'static str) -> Result<Option<&'a Vec<Value>>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.error(name, "Give a list here.")),
        }
    }

    /// The fields of an object member.
    pub fn fields(&mut self, name: &'static str) -> Result<Option<Fields<'a>>, ApiError> {
        let path = self.child(name);
        self.get(name).map(|value| Fields::new(value, path, self.refuse)).transpose()
    }

    /// Refuses the first member (in name order) that no getter asked for.
    pub fn finish(self) -> Result<(), ApiError> {
        match self.map.keys().find(|key| !self.known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(self.error(key, "This member is not known here; remove it.")),
        }
    }
}

/// A JSON number that is a whole number, however it was written.
fn whole(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    number.as_u64().or_else(|| {
        let double = number.as_f64()?;
        (double.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&double)).then_some(double as u64)
    })
}
