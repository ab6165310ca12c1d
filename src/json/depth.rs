use super::Value;

/// Whether `value` nests at most `depth` arrays and objects. Looks no deeper than that.
pub fn within_depth(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| within_depth(item, depth - 1)),
        Value::Object(map) => depth > 0 && map.values().all(|item| within_depth(item, depth - 1)),
        _ => true,
    }
}
