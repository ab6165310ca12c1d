//! Matching: objects as subsets, arrays element by element and in length, scalars exactly, and the `$` matchers.
//!
//! Every function takes an `Option`, None being a member that is not there, so that `$absent` needs no case of its own.

use crate::json::Json;

/// Where and how the two differ; the text names the JSON Pointer, what was expected and what was seen.
pub type Verdict = Result<(), String>;

pub const MATCHERS: [&str; 9] = ["$exact", "$any", "$absent", "$match", "$type", "$len", "$oneOf", "$contains", "$not"];
pub const TYPES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];

pub fn check(expected: &Json, seen: &Json) -> Verdict {
    at("", expected, Some(seen))
}

/// Each expectation finds an element, in this order, other elements in between being of no interest.
pub fn subsequence(expected: &[Json], seen: &[Json]) -> Verdict {
    let mut rest = seen.iter();
    for (i, wanted) in expected.iter().enumerate() {
        if !rest.any(|item| check(wanted, item).is_ok()) {
            let after = if i == 0 { String::new() } else { format!(" after the first {i} expected ones") };
            return Err(format!("expected {}{after}, saw {}", short(wanted), list(seen)));
        }
    }
    Ok(())
}

/// Short enough for a line of the report.
pub fn short(json: &Json) -> String {
    const MOST: usize = 400;
    let text = json.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn at(pointer: &str, expected: &Json, seen: Option<&Json>) -> Verdict {
    match expected {
        Json::Object(members) => {
            let (matchers, plain): (Vec<_>, Vec<_>) =
                members.iter().partition(|(key, _)| MATCHERS.contains(&key.as_str()));
            for (name, argument) in &matchers {
                special(pointer, name, argument, seen)?;
            }
            if matchers.is_empty() || !plain.is_empty() {
                subset(pointer, expected, &plain, seen)?;
            }
            Ok(())
        }
        Json::Array(wanted) => elements(pointer, expected, wanted, seen),
        scalar => demand(seen.is_some_and(|seen| scalar.same(seen)), pointer, &short(scalar), seen),
    }
}

fn subset(pointer: &str, expected: &Json, plain: &[&(String, Json)], seen: Option<&Json>) -> Verdict {
    let Some(object @ Json::Object(_)) = seen else { return differs(pointer, &short(expected), seen) };
    plain.iter().try_for_each(|(key, wanted)| at(&join(pointer, key), wanted, object.get(key)))
}

fn elements(pointer: &str, expected: &Json, wanted: &[Json], seen: Option<&Json>) -> Verdict {
    let Some(Json::Array(items)) = seen else { return differs(pointer, &short(expected), seen) };
    if items.len() != wanted.len() {
        return differs(pointer, &format!("{} elements {}", wanted.len(), short(expected)), seen);
    }
    wanted
        .iter()
        .zip(items)
        .enumerate()
        .try_for_each(|(i, (wanted, item))| at(&join(pointer, &i.to_string()), wanted, Some(item)))
}

fn special(pointer: &str, name: &str, argument: &Json, seen: Option<&Json>) -> Verdict {
    let holds = match name {
        "$exact" => seen.is_some_and(|seen| argument.same(seen)),
        "$any" => seen.is_some(),
        "$absent" => seen.is_none(),
        "$match" => match (argument.as_str(), seen.and_then(Json::as_str)) {
            (Some(pattern), Some(text)) => {
                regex::Regex::new(pattern).map_err(|why| format!("bad pattern {pattern}: {why}"))?.is_match(text)
            }
            _ => false,
        },
        "$type" => argument.as_str().zip(seen).is_some_and(|(name, seen)| is_type(seen, name)),
        "$len" => seen.and_then(length).is_some_and(|len| argument.same(&Json::count(len))),
        "$oneOf" => argument.items().iter().any(|wanted| at(pointer, wanted, seen).is_ok()),
        "$contains" => match seen {
            Some(Json::Array(items)) => items.iter().any(|item| check(argument, item).is_ok()),
            _ => false,
        },
        _ => at(pointer, argument, seen).is_err(),
    };
    demand(holds, pointer, &format!("{{\"{name}\":{}}}", short(argument)), seen)
}

fn is_type(seen: &Json, name: &str) -> bool {
    match (name, seen) {
        ("integer", Json::Number(text)) => {
            text.parse::<i128>().is_ok() || text.parse::<f64>().is_ok_and(|double| double.fract() == 0.0)
        }
        _ => seen.type_name() == name,
    }
}

fn length(seen: &Json) -> Option<usize> {
    match seen {
        Json::Array(items) => Some(items.len()),
        Json::Object(members) => Some(members.len()),
        Json::String(text) => Some(text.chars().count()),
        _ => None,
    }
}

fn demand(holds: bool, pointer: &str, expected: &str, seen: Option<&Json>) -> Verdict {
    if holds { Ok(()) } else { differs(pointer, expected, seen) }
}

fn differs(pointer: &str, expected: &str, seen: Option<&Json>) -> Verdict {
    let place = if pointer.is_empty() { String::new() } else { format!("at {pointer} ") };
    let saw = seen.map_or("nothing".to_string(), short);
    Err(format!("{place}expected {expected}, saw {saw}"))
}

fn join(pointer: &str, segment: &str) -> String {
    format!("{pointer}/{}", segment.replace('~', "~0").replace('/', "~1"))
}

fn list(items: &[Json]) -> String {
    let names: Vec<String> = items.iter().map(|item| item.get("type").map_or_else(|| short(item), short)).collect();
    format!("{} elements [{}]", items.len(), names.join(", "))
}
