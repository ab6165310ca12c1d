//! The library, through its C functions and nothing else. The wrappers copy what comes out, free every blob and name the codes.

use crate::json::Json;
use agent_surface::ffi::*;
use std::ffi::CStr;
use std::ptr::{null, null_mut};

pub use agent_surface::ffi::{
    AS_E_CLOSED, AS_E_LATE, AS_E_STALE_HANDLE, AS_E_TIMEOUT, AS_OK, as_binding, as_code, as_hooks_event,
    as_hooks_handler, as_hooks_host, as_hooks_policy, as_hooks_result, as_invocation, as_registration, as_registry,
    as_reply, as_subscription, as_toolset,
};

/// A call that the library refused: its code, and what the error blob said where there was one.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: as_code,
    blob: Option<Json>,
}

impl Failure {
    pub fn name(&self) -> String {
        code_name(self.code)
    }

    /// The value of a step that failed.
    pub fn value(&self) -> Json {
        let said = |field: &str| self.blob.as_ref().and_then(|blob| blob.get(field)).cloned();
        let mut error = vec![("code", said("reason").unwrap_or_else(|| Json::text(self.name())))];
        error.extend(said("path").map(|path| ("path", path)));
        error.push(("message", said("message").unwrap_or_else(|| Json::text(""))));
        Json::object([("error", Json::object(error))])
    }
}

pub type Reply<T> = Result<T, Failure>;

pub fn code_name(code: as_code) -> String {
    // SAFETY: the function takes any number and answers NULL or a constant C string.
    let name = unsafe { as_code_name(code) };
    if name.is_null() {
        return format!("code {code}");
    }
    // SAFETY: not NULL, so it is the constant string, valid for ever.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

const EMPTY: as_blob = as_blob { ptr: null(), len: 0, opaque: null_mut() };

/// The text of a blob, None when it is empty; the blob is freed.
fn take(mut blob: as_blob) -> Option<String> {
    // SAFETY: the library filled the blob or left it empty; it is read before it is freed, and freed once.
    unsafe {
        let text = (!blob.ptr.is_null())
            .then(|| String::from_utf8_lossy(std::slice::from_raw_parts(blob.ptr, blob.len)).into_owned());
        as_blob_free(&mut blob);
        text
    }
}

fn done(code: as_code) -> Reply<()> {
    if code == AS_OK { Ok(()) } else { Err(Failure { code, blob: None }) }
}

/// A call that answers a code and an error blob.
fn tell(call: impl FnOnce(*mut as_blob) -> as_code) -> Reply<()> {
    let mut err = EMPTY;
    let code = call(&mut err);
    let blob = take(err).and_then(|text| Json::parse(&text).ok());
    done(code).map_err(|failure| Failure { blob, ..failure })
}

/// A call that also answers a handle.
fn make(call: impl FnOnce(*mut u64, *mut as_blob) -> as_code) -> Reply<u64> {
    let mut handle = 0;
    tell(|err| call(&mut handle, err))?;
    Ok(handle)
}

/// A call that also answers a document.
fn ask(call: impl FnOnce(*mut as_blob, *mut as_blob) -> as_code) -> Reply<Json> {
    let mut out = EMPTY;
    let answer = tell(|err| call(&mut out, err));
    let text = take(out);
    answer?;
    let text = text.unwrap_or_default();
    Ok(Json::parse(&text).unwrap_or_else(|why| Json::text(format!("not JSON: {why}: {text}"))))
}

/// Text as the library takes it: a pointer and a length.
macro_rules! text {
    ($f:ident($($before:expr),*; $text:expr; $($after:expr),*)) => {
        // SAFETY: the text outlives the call, which copies it; the out pointers are valid or NULL.
        unsafe { $f($($before,)* $text.as_ptr(), $text.len(), $($after),*) }
    };
}

/// A call without text.
macro_rules! plain {
    ($f:ident($($argument:expr),*)) => {
        // SAFETY: handles may be anything; the out pointers and tables are valid for the call.
        unsafe { $f($($argument),*) }
    };
}

/* life */

pub fn registry_new(config: &Json, host: &as_hooks_host) -> Reply<as_registry> {
    let config = config.to_string();
    make(|out, err| text!(as_registry_new(; config; host, out, err)))
}

pub fn registry_close(registry: as_registry, timeout_ms: i64) -> Reply<()> {
    tell(|err| plain!(as_registry_close(registry, timeout_ms, err)))
}

pub fn registry_free(registry: as_registry) -> Reply<()> {
    done(plain!(as_registry_free(registry)))
}

pub fn registry_info(registry: as_registry) -> Reply<Json> {
    ask(|out, err| plain!(as_registry_info(registry, out, err)))
}

/* what the host offers */

pub fn policy_define(registry: as_registry, name: &str, hooks: &as_hooks_policy) -> Reply<()> {
    tell(|err| text!(as_policy_define(registry; name; hooks, err)))
}

pub fn executor_set(registry: as_registry, paths: &Json, hooks: &as_hooks_handler) -> Reply<()> {
    let paths = paths.to_string();
    tell(|err| text!(as_executor_set(registry; paths; hooks, err)))
}

pub fn register(registry: as_registry, definition: &Json, bindings: &[as_binding]) -> Reply<as_registration> {
    let definition = definition.to_string();
    make(|out, err| text!(as_register(registry; definition; bindings.as_ptr(), bindings.len(), out, err)))
}

pub fn registration_info(registration: as_registration) -> Reply<Json> {
    ask(|out, err| plain!(as_registration_info(registration, out, err)))
}

pub fn registration_update(registration: as_registration, patch: &Json) -> Reply<()> {
    let patch = patch.to_string();
    tell(|err| text!(as_registration_update(registration; patch; err)))
}

pub fn registration_rebind(registration: as_registration, bindings: &[as_binding]) -> Reply<()> {
    tell(|err| plain!(as_registration_rebind(registration, bindings.as_ptr(), bindings.len(), err)))
}

pub fn registration_invalidate(registration: as_registration) -> Reply<()> {
    done(plain!(as_registration_invalidate(registration)))
}

pub fn unregister(registration: as_registration) -> Reply<()> {
    done(plain!(as_unregister(registration)))
}

/* answering */

pub fn reply_json(reply: as_reply, json: &[u8]) -> Reply<()> {
    done(text!(as_reply_json(reply; json;)))
}

pub fn reply_error(reply: as_reply, payload: &[u8]) -> Reply<()> {
    done(text!(as_reply_error(reply; payload;)))
}

pub fn reply_allow(reply: as_reply) -> Reply<()> {
    done(plain!(as_reply_allow(reply)))
}

pub fn reply_deny(reply: as_reply, payload: &[u8]) -> Reply<()> {
    done(text!(as_reply_deny(reply; payload;)))
}

pub fn reply_confirm(reply: as_reply, summary: &[u8]) -> Reply<()> {
    done(text!(as_reply_confirm(reply; summary;)))
}

pub fn reply_defer(reply: as_reply) -> Reply<()> {
    done(plain!(as_reply_defer(reply)))
}

pub fn reply_aborted(reply: as_reply) -> Reply<bool> {
    let mut aborted = 0;
    done(plain!(as_reply_aborted(reply, &mut aborted))).map(|()| aborted != 0)
}

pub fn next(registry: as_registry, timeout_ms: i64) -> Reply<Json> {
    ask(|out, err| plain!(as_next(registry, timeout_ms, out, err)))
}

/* calls */

pub fn invoke(registry: as_registry, request: &Json, options: &Json, hooks: &as_hooks_result) -> Reply<as_invocation> {
    let (request, options) = (request.to_string(), options.to_string());
    make(|out, err| {
        // SAFETY: both texts and the table outlive the call, which copies them; the out pointers are valid.
        unsafe {
            as_invoke(registry, request.as_ptr(), request.len(), options.as_ptr(), options.len(), hooks, out, err)
        }
    })
}

pub fn invocation_wait(invocation: as_invocation, timeout_ms: i64) -> Reply<Json> {
    ask(|out, err| plain!(as_invocation_wait(invocation, timeout_ms, out, err)))
}

pub fn invocation_cancel(invocation: as_invocation) -> Reply<()> {
    done(plain!(as_invocation_cancel(invocation)))
}

pub fn invocation_free(invocation: as_invocation) -> Reply<()> {
    done(plain!(as_invocation_free(invocation)))
}

pub fn consumer_close(registry: as_registry, consumer: &Json) -> Reply<()> {
    let consumer = consumer.to_string();
    tell(|err| text!(as_consumer_close(registry; consumer; err)))
}

pub fn outcome(registry: as_registry, query: &Json) -> Reply<Json> {
    let query = query.to_string();
    ask(|out, err| text!(as_outcome(registry; query; out, err)))
}

/* confirmation */

pub fn confirm(registry: as_registry, decision: &Json) -> Reply<()> {
    let decision = decision.to_string();
    tell(|err| text!(as_confirm(registry; decision; err)))
}

pub fn confirmations(registry: as_registry) -> Reply<Json> {
    ask(|out, err| plain!(as_confirmations(registry, out, err)))
}

/* looking */

pub fn snapshot(registry: as_registry, context: &Json) -> Reply<Json> {
    let context = context.to_string();
    ask(|out, err| text!(as_snapshot(registry; context; out, err)))
}

pub fn explain(registry: as_registry, context: &Json) -> Reply<Json> {
    let context = context.to_string();
    ask(|out, err| text!(as_dev_explain(registry; context; out, err)))
}

pub fn subscribe(registry: as_registry, hooks: &as_hooks_event) -> Reply<as_subscription> {
    make(|out, err| plain!(as_subscribe(registry, hooks, out, err)))
}

pub fn unsubscribe(subscription: as_subscription) -> Reply<()> {
    done(plain!(as_unsubscribe(subscription)))
}

pub fn audit_read(registry: as_registry, after: u64) -> Reply<Json> {
    ask(|out, err| plain!(as_audit_read(registry, after, out, err)))
}

/* toolset */

pub fn toolset_new(registry: as_registry, options: &Json) -> Reply<as_toolset> {
    let options = options.to_string();
    make(|out, err| text!(as_toolset_new(registry; options; out, err)))
}

pub fn toolset_free(toolset: as_toolset) -> Reply<()> {
    done(plain!(as_toolset_free(toolset)))
}

pub fn toolset_info(toolset: as_toolset) -> Reply<Json> {
    ask(|out, err| plain!(as_toolset_info(toolset, out, err)))
}

pub fn toolset_tools(toolset: as_toolset, format: &str) -> Reply<Json> {
    ask(|out, err| text!(as_toolset_tools(toolset; format; out, err)))
}

pub fn toolset_call(toolset: as_toolset, call: &Json, hooks: &as_hooks_result) -> Reply<as_invocation> {
    let call = call.to_string();
    make(|out, err| text!(as_toolset_call(toolset; call; hooks, out, err)))
}

/* binding a result to its request */

pub fn verify_result(result: &Json, request: &Json) -> Reply<Json> {
    let (result, request) = (result.to_string(), request.to_string());
    ask(|out, err| {
        // SAFETY: both texts outlive the call; the out pointers are valid.
        unsafe { as_verify_result(result.as_ptr(), result.len(), request.as_ptr(), request.len(), out, err) }
    })
}

/* for tests */

pub fn advance(registry: as_registry, ms: i64, timeout_ms: i64) -> Reply<()> {
    tell(|err| plain!(as_dev_advance(registry, ms, timeout_ms, err)))
}

pub fn quiesce(registry: as_registry, timeout_ms: i64) -> Reply<()> {
    tell(|err| plain!(as_dev_quiesce(registry, timeout_ms, err)))
}

pub fn live() -> Reply<Json> {
    let mut out = EMPTY;
    let code = plain!(as_dev_live(&mut out));
    let text = take(out);
    done(code)?;
    Ok(Json::parse(&text.unwrap_or_default()).unwrap_or_else(Json::text))
}
