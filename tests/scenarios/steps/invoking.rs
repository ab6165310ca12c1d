//! Steps on calls: start one, wait for it, cancel it, answer what it left pending, and ask about it afterwards.

use super::{Act, Done, answered, value_of};
use crate::abi::{self, AS_E_STALE_HANDLE, AS_E_TIMEOUT, Reply, as_invocation};
use crate::callbacks;
use crate::fields::{alias, document, index, some_of, text};
use crate::host::{Host, Named, Pending};
use crate::json::Json;
use crate::matcher;
use crate::play;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

pub fn invoke(host: &Arc<Host>, fields: &Json) -> Act {
    let options = some_of(fields, &["consumer", "timeoutMs", "deadlineMs"]);
    let count = Arc::default();
    let hooks = callbacks::result_table(host, &count);
    started(host, fields, count, abi::invoke(host.registry(), document(fields, "request"), &options, &hooks))
}

pub fn started(host: &Host, fields: &Json, count: Arc<AtomicUsize>, made: Reply<as_invocation>) -> Act {
    let started = made.as_ref().ok().copied();
    if let Some(handle) = started {
        host.state().opened.invocations.push((handle, count));
        host.name(alias(fields), Named::Invocation(handle));
    }
    Ok(Done { answer: made.map(|_| Json::Null), started })
}

pub fn wait(host: &Host, fields: &Json, nested: bool) -> Act {
    let handle = invocation(host, fields)?;
    if nested {
        return answered(abi::invocation_wait(handle, -1));
    }
    if fields.get("code").is_some() {
        return answered(abi::invocation_wait(handle, 0));
    }
    answered(result(handle, text(fields, "invocation")?)?)
}

/// The result of a call when the runtime is quiet: what is pending now, nothing but another step could settle.
pub fn result(handle: as_invocation, name: &str) -> Result<Reply<Json>, String> {
    match abi::invocation_wait(handle, 0) {
        Err(failure) if failure.code == AS_E_TIMEOUT => {
            Err(format!("expected a result, saw {name} pending, and nothing left to run that could settle it"))
        }
        answer => Ok(answer),
    }
}

pub fn unsettled(host: &Host, fields: &Json) -> Act {
    match abi::invocation_wait(invocation(host, fields)?, 0) {
        Err(failure) if failure.code == AS_E_TIMEOUT => answered(Ok(Json::Null)),
        Ok(result) => Err(format!("expected it to be pending, saw {}", matcher::short(&result))),
        failure => answered(failure),
    }
}

pub fn finish(host: &Host, fields: &Json) -> Act {
    let pending = unanswered(host, fields)?;
    value_of(match (fields.get("return"), fields.get("reject")) {
        (Some(output), _) => abi::reply_json(pending.reply, output.to_string().as_bytes()),
        (_, Some(payload)) => abi::reply_error(pending.reply, payload.to_string().as_bytes()),
        _ => play::untyped(pending.reply, text(fields, "fail")?),
    })
}

pub fn decide(host: &Host, fields: &Json) -> Act {
    let pending = unanswered(host, fields)?;
    value_of(match (fields.get("deny"), fields.get("confirm")) {
        (Some(payload), _) => abi::reply_deny(pending.reply, payload.to_string().as_bytes()),
        (_, Some(confirm)) => abi::reply_confirm(pending.reply, play::summary_text(confirm.get("summary")).as_bytes()),
        _ => abi::reply_allow(pending.reply),
    })
}

/// The call that the step answers, marked as answered. Its handle dies with the answer, so what `aborted` would say of
/// it is kept first.
fn unanswered(host: &Host, fields: &Json) -> Result<Pending, String> {
    let (token, index) = (text(fields, "token")?, index(fields)?);
    let open = |(_, pending): &(usize, &Pending)| !pending.answered;
    let (at, pending) = host
        .state()
        .tokens
        .get(token)
        .and_then(|calls| calls.iter().enumerate().filter(open).nth(index))
        .map(|(at, pending)| (at, pending.clone()))
        .ok_or_else(|| format!("expected an unanswered call {index} under {token:?}, saw none"))?;
    let aborted = abi::reply_aborted(pending.reply).unwrap_or(false);
    if let Some(entry) = host.state().tokens.get_mut(token).and_then(|calls| calls.get_mut(at)) {
        *entry = Pending { answered: true, aborted, ..*entry };
    }
    Ok(pending)
}

pub fn aborted(host: &Host, fields: &Json) -> Act {
    let (token, index) = (text(fields, "token")?, index(fields)?);
    let pending = host
        .state()
        .tokens
        .get(token)
        .and_then(|calls| calls.get(index).cloned())
        .ok_or_else(|| format!("expected a call {index} under {token:?}, saw none"))?;
    let answer = match abi::reply_aborted(pending.reply) {
        Err(failure) if pending.answered && fields.get("code").is_none() && failure.code == AS_E_STALE_HANDLE => {
            Ok(pending.aborted)
        }
        answer => answer,
    };
    answered(answer.map(Json::Bool))
}

pub fn outcome(host: &Host, fields: &Json) -> Act {
    let mut query = some_of(fields, &["consumer"]).members().to_vec();
    query.push(("invocationId".to_string(), document(fields, "id").clone()));
    answered(abi::outcome(host.registry(), &Json::Object(query)))
}

/// `result` is a result, or the name of an earlier one.
pub fn verify(host: &Host, fields: &Json) -> Act {
    let given = document(fields, "result");
    let result = match given.as_str() {
        Some(name) => host.value(name)?,
        None => given.clone(),
    };
    answered(abi::verify_result(&result, document(fields, "request")))
}

pub fn cancel(host: &Host, fields: &Json) -> Act {
    value_of(abi::invocation_cancel(invocation(host, fields)?))
}

fn invocation(host: &Host, fields: &Json) -> Result<as_invocation, String> {
    let name = text(fields, "invocation")?;
    match host.named(name)? {
        Named::Invocation(handle) => Ok(handle),
        _ => Err(format!("{name:?} is no invocation")),
    }
}
