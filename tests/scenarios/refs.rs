//! References: the string `"$i1.error.code"` stands for that value of an earlier `as`; `"$$x"` is the literal `"$x"`.

use crate::json::Json;

/// Finds what a name stands for, or says why it stands for nothing.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Result<Json, String>;

/// The reference in a string, without its `$`; None for ordinary text and for an escaped `$$`.
pub fn reference(text: &str) -> Option<&str> {
    text.strip_prefix('$').filter(|rest| !rest.starts_with('$'))
}

/// The same document with every reference replaced. Keys are never references.
pub fn resolve(json: &Json, lookup: Lookup) -> Result<Json, String> {
    Ok(match json {
        Json::String(text) => match reference(text) {
            Some(path) => follow(path, lookup)?,
            None => Json::text(text.strip_prefix('$').unwrap_or(text)),
        },
        Json::Array(items) => Json::Array(items.iter().map(|item| resolve(item, lookup)).collect::<Result<_, _>>()?),
        Json::Object(members) => Json::Object(
            members
                .iter()
                .map(|(key, value)| Ok((key.clone(), resolve(value, lookup)?)))
                .collect::<Result<_, String>>()?,
        ),
        other => other.clone(),
    })
}

/// The names that a document refers to.
pub fn names(json: &Json, found: &mut Vec<String>) {
    match json {
        Json::String(text) => found.extend(reference(text).map(|path| head(path).to_string())),
        Json::Array(items) => items.iter().for_each(|item| names(item, found)),
        Json::Object(members) => members.iter().for_each(|(_, value)| names(value, found)),
        _ => {}
    }
}

fn follow(path: &str, lookup: Lookup) -> Result<Json, String> {
    let whole = lookup(head(path)).map_err(|why| format!("unresolved reference \"${path}\": {why}"))?;
    let mut value = &whole;
    for segment in path.split('.').skip(1) {
        value = value.child(segment).ok_or_else(|| {
            format!("unresolved reference \"${path}\": no `{segment}` in {}", crate::matcher::short(value))
        })?;
    }
    Ok(value.clone())
}

fn head(path: &str) -> &str {
    path.split('.').next().unwrap_or_default()
}
