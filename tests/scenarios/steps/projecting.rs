//! Steps on toolsets: make one, list its tools, call one, end it.

use super::invoking::started;
use super::{Act, answered, value_of};
use crate::abi;
use crate::callbacks;
use crate::fields::{alias, some_of, text};
use crate::host::{Host, Named};
use crate::json::Json;
use std::sync::Arc;

pub fn toolset(host: &Host, fields: &Json) -> Act {
    let options = fields.get("options").cloned().unwrap_or(Json::Object(Vec::new()));
    let made = abi::toolset_new(host.registry(), &options);
    let handle = made.as_ref().ok().copied();
    host.state().opened.toolsets.extend(handle);
    let answer = made.and_then(abi::toolset_info);
    if let (Some(handle), Ok(value)) = (handle, &answer) {
        host.name(alias(fields), Named::Toolset { value: value.clone(), handle });
    }
    answered(answer)
}

pub fn tools(host: &Host, fields: &Json) -> Act {
    let format = fields.get("format").and_then(Json::as_str).unwrap_or("neutral");
    let answer = abi::toolset_tools(toolset_handle(host, fields)?, format);
    answered(answer.map(|catalog| catalog.get("tools").cloned().unwrap_or(catalog)))
}

pub fn call(host: &Arc<Host>, fields: &Json) -> Act {
    let toolset = toolset_handle(host, fields)?;
    let count = Arc::default();
    let hooks = callbacks::result_table(host, &count);
    let call = some_of(fields, &["name", "input", "toolCallId"]);
    started(host, fields, count, abi::toolset_call(toolset, &call, &hooks))
}

pub fn dispose(host: &Host, fields: &Json) -> Act {
    let handle = toolset_handle(host, fields)?;
    host.state().opened.toolsets.retain(|opened| *opened != handle);
    value_of(abi::toolset_free(handle))
}

fn toolset_handle(host: &Host, fields: &Json) -> Result<abi::as_toolset, String> {
    let name = text(fields, "toolset")?;
    match host.named(name)? {
        Named::Toolset { handle, .. } => Ok(handle),
        _ => Err(format!("{name:?} is no toolset")),
    }
}
