//! The fields of a step, as the types the page gives them.

use crate::json::Json;

pub fn alias(fields: &Json) -> Option<&str> {
    fields.get("as").and_then(Json::as_str)
}

pub fn document<'a>(fields: &'a Json, name: &str) -> &'a Json {
    fields.get(name).unwrap_or(&Json::Null)
}

pub fn members<'a>(fields: &'a Json, name: &str) -> &'a [(String, Json)] {
    fields.get(name).map_or(&[], Json::members)
}

pub fn some_of(fields: &Json, names: &[&str]) -> Json {
    Json::object(names.iter().filter_map(|name| Some((*name, fields.get(name)?.clone()))))
}

pub fn text<'a>(fields: &'a Json, name: &str) -> Result<&'a str, String> {
    fields.get(name).and_then(Json::as_str).ok_or_else(|| format!("`{name}` must be a string"))
}

pub fn integer(fields: &Json, name: &str) -> Result<i64, String> {
    fields.get(name).and_then(Json::as_int).ok_or_else(|| format!("`{name}` must be an integer"))
}

pub fn index(fields: &Json) -> Result<usize, String> {
    match fields.get("index") {
        Some(index) => index.as_index().ok_or_else(|| "`index` must be an integer from 0".to_string()),
        None => Ok(0),
    }
}
