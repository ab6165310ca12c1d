//! The names a C programmer sees: codes, handles, callbacks and their tables. cbindgen renders this file into
//! `agent_surface.h`, so constants and layouts are written out, not computed.
//!
//! Source: the ABI contract, `spec/abi.md`; the codes are held against `spec/codes.json` by a test below.
#![allow(non_camel_case_types)]

use std::ffi::c_void;

/// The ABI these declarations belong to. A library whose `as_abi_version` says another number does not fit them.
pub const AS_ABI_VERSION: u32 = 1;

/// What every function answers: `AS_OK`, or one of the negative `AS_E_…` numbers, which are never reused.
pub type as_code = i32;

/// It worked; the outputs are filled.
pub const AS_OK: as_code = 0;
/// An argument is wrong: a required pointer is NULL, a length without a pointer, a struct_size too small, an unknown
/// flag, field or option, a kind of answer this callback may not give. Mend the caller; trying again changes nothing.
pub const AS_E_ARGUMENT: as_code = -1;
/// The handle is 0.
pub const AS_E_NULL_HANDLE: as_code = -2;
/// The handle was freed, or what it stood for is gone.
pub const AS_E_STALE_HANDLE: as_code = -3;
/// The handle is of another kind, or was never handed out by this library.
pub const AS_E_WRONG_HANDLE: as_code = -4;
/// A text is not UTF-8.
pub const AS_E_UTF8: as_code = -5;
/// A document is not strict JSON: syntax, a duplicate key, a lone surrogate, a number out of range, or nested too
/// deep. The error blob says where.
pub const AS_E_JSON: as_code = -6;
/// A component definition was refused. The error blob carries the reason (`INVALID_ID`, `INVALID_DEFINITION`,
/// `UNSUPPORTED_SCHEMA`, `PLANE_VIOLATION`, `DUPLICATE_CAPABILITY`, `LIMIT_EXCEEDED`) and the JSON Pointer of the
/// field; nothing was registered.
pub const AS_E_DEFINITION: as_code = -7;
/// A bound would be exceeded (document size, registrations, handles, subscriptions). Nothing was done.
pub const AS_E_LIMIT: as_code = -8;
/// The registry is closed, or the registration is rejected, replaced or closed. Nothing was done.
pub const AS_E_CLOSED: as_code = -9;
/// Already answered: this reply, or this confirmation, has its decision.
pub const AS_E_SETTLED: as_code = -10;
/// The call had settled before this answer came. The answer is kept for audit and `as_outcome`; the result does not
/// change.
pub const AS_E_LATE: as_code = -11;
/// Nothing of that id is known (any more).
pub const AS_E_NOT_FOUND: as_code = -12;
/// The wait ended before what it waited for. What was waited for goes on.
pub const AS_E_TIMEOUT: as_code = -13;
/// This wait could never end: it waits, inside a callback, for something that waits for that callback. Answered at
/// once.
pub const AS_E_WOULD_DEADLOCK: as_code = -14;
/// The handle was made before fork() and this is the child. Make a new registry here.
pub const AS_E_FORKED: as_code = -15;
/// A defect of the library, stopped at its edge. Please report it; close the registry.
pub const AS_E_PANIC: as_code = -16;

/// Flag of a callback table: never two calls of its functions at once. It is a queue, not a lock: calls wait their
/// turn without holding a thread, until the callback before them has returned.
pub const AS_SERIAL: u32 = 1;
/// Flag of a callback table: its functions return at once. They answer, defer or note something down, and never block.
/// So they need no worker: they also run on the host's own thread, inside whatever function of the library has brought
/// them up (`as_invoke`, `as_reply_json`, `as_unregister`, …), before it returns. Push dispatch only.
pub const AS_INLINE: u32 = 0x100;

/// A registry: one surface, its registrations, calls and records. 0 is no handle. Freed by `as_registry_free`.
pub type as_registry = u64;
/// One lifetime of one component instance. 0 is no handle. Freed by `as_unregister`.
pub type as_registration = u64;
/// One call as its caller holds it. 0 is no handle. Freed by `as_invocation_free`, which does not end the call.
pub type as_invocation = u64;
/// The one-shot answer that a callback owes. Never freed by the host: it lives until it is answered, or until the
/// record of its call or its registry is gone.
pub type as_reply = u64;
/// A listener. 0 is no handle. Freed by `as_unsubscribe`.
pub type as_subscription = u64;
/// A tool catalog for a model, with its way back. 0 is no handle. Freed by `as_toolset_free`.
pub type as_toolset = u64;

/// Bytes that the library hands out: `len` bytes of UTF-8 at `ptr`, and a NUL after the last. An empty one is all
/// zero. The caller owns it and gives it back with `as_blob_free`, once, whole and unchanged; nothing else frees it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct as_blob {
    pub ptr: *const u8,
    pub len: usize,
    /// The library's own; NULL when there is nothing to free.
    pub opaque: *mut c_void,
}

/// A callback that answers through `reply` with what its kind asks for (see the table it stands in). `context` is one
/// JSON document; the view dies when the callback returns. It must not throw or unwind.
pub type as_fn_hook =
    Option<unsafe extern "C" fn(user_data: *mut c_void, reply: as_reply, context: *const u8, context_len: usize)>;

/// A callback that runs a capability: `context` is the call context, `input` the effective input, both JSON; the views
/// die when it returns. It answers with `as_reply_json` or `as_reply_error`, or takes its time with `as_reply_defer`.
pub type as_fn_handler = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        reply: as_reply,
        context: *const u8,
        context_len: usize,
        input: *const u8,
        input_len: usize,
    ),
>;

/// A policy's look at a result on its way out: `context` is the policy context, `result` the result envelope, both
/// JSON; the views die when it returns. It answers with `as_reply_json`: `null` leaves the result, `{"output": …}`
/// replaces the output.
pub type as_fn_result_hook = Option<
    unsafe extern "C" fn(
        user_data: *mut c_void,
        reply: as_reply,
        context: *const u8,
        context_len: usize,
        result: *const u8,
        result_len: usize,
    ),
>;

/// A callback that is told something (a result, an event, an audit entry, a log line): one JSON document, whose view
/// dies when it returns. No answer is owed.
pub type as_fn_text = Option<unsafe extern "C" fn(user_data: *mut c_void, text: *const u8, text_len: usize)>;

/// A callback that is told that something happened. No answer is owed.
pub type as_fn_notify = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// Releases `user_data`. Runs exactly once for each passing of the table it stands in, also when the function the
/// table was passed to fails: after the last call of the table has returned and every deferred one has ended; at once
/// where the table has no function that could be called. The one exception is a table whose `struct_size` is not that
/// of a table; nothing of it is read.
pub type as_fn_destroy = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// What a registry asks of its host. Every function may be NULL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct as_hooks_host {
    /// `sizeof(as_hooks_host)`.
    pub struct_size: u32,
    /// 0, or `AS_SERIAL` and `AS_INLINE`.
    pub flags: u32,
    pub user_data: *mut c_void,
    /// The host context: answers any JSON object. Read at most once a call and once a snapshot; `{}` when it fails.
    pub context: as_fn_hook,
    /// The route a snapshot shows: answers `{"path", "params"?}`.
    pub route: as_fn_hook,
    /// The guard of registrations: gets `{definition, origin}`, answers `"accept"` or `"reject"`.
    pub on_register: as_fn_hook,
    /// Replaces the payload of a full audit entry: answers any JSON.
    pub redact: as_fn_hook,
    /// Gets every audit entry when the audit sink is `callback`.
    pub audit: as_fn_text,
    /// Gets what an operator needs: level, message, cause and context. Nothing of it reaches an agent.
    pub log: as_fn_text,
    pub destroy: as_fn_destroy,
}

/// A policy. Every function may be NULL; a NULL one has nothing to say.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct as_hooks_policy {
    /// `sizeof(as_hooks_policy)`.
    pub struct_size: u32,
    /// 0, or `AS_SERIAL` and `AS_INLINE`.
    pub flags: u32,
    pub user_data: *mut c_void,
    /// Answers `{"decision": "expose" | "hide"}` or `{"decision": "disable", "reason"}`, before it returns. Hides when
    /// it fails.
    pub on_discovery: as_fn_hook,
    /// Before the input is looked at: answers allow or deny. Denies when it fails.
    pub on_authorize: as_fn_hook,
    /// Over the effective input: answers allow, deny or confirm. Denies when it fails.
    pub on_invoke: as_fn_hook,
    /// Over the result on its way out, before it returns. Withholds the output when it fails.
    pub on_result: as_fn_result_hook,
    pub destroy: as_fn_destroy,
}

/// The executor of procedures.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct as_hooks_handler {
    /// `sizeof(as_hooks_handler)`.
    pub struct_size: u32,
    /// 0, or `AS_SERIAL` and `AS_INLINE`.
    pub flags: u32,
    pub user_data: *mut c_void,
    /// Must not be NULL.
    pub handler: as_fn_handler,
    pub destroy: as_fn_destroy,
}

/// The callbacks of one capability of a definition. Every function may be NULL where the definition does not need it.
/// In an array of bindings every `struct_size` is the same: the distance between two of them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct as_binding {
    /// `sizeof(as_binding)`.
    pub struct_size: u32,
    /// 0, or `AS_SERIAL` and `AS_INLINE`.
    pub flags: u32,
    /// The capability's name, or `domain:` and the path of a procedure; UTF-8, copied.
    pub name: *const u8,
    pub name_len: usize,
    pub user_data: *mut c_void,
    /// `read` of an observation, `execute` of an action.
    pub handler: as_fn_handler,
    /// Whether it is available: answers `true` or `false`. False when it fails.
    pub when: as_fn_hook,
    /// Over the effective input: answers `null`, or `{"message", "details"?}` to refuse.
    pub precondition: as_fn_hook,
    /// The bound fields of a procedure: answers an object.
    pub bind: as_fn_hook,
    /// The contextual note of a procedure: answers a string.
    pub describe: as_fn_hook,
    pub destroy: as_fn_destroy,
}

/// Where the result of a call goes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct as_hooks_result {
    /// `sizeof(as_hooks_result)`.
    pub struct_size: u32,
    /// 0, or `AS_SERIAL` and `AS_INLINE`.
    pub flags: u32,
    pub user_data: *mut c_void,
    /// Gets the result envelope, exactly once. May be NULL.
    pub on_result: as_fn_text,
    pub destroy: as_fn_destroy,
}

/// A listener.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct as_hooks_event {
    /// `sizeof(as_hooks_event)`.
    pub struct_size: u32,
    /// 0, or `AS_SERIAL` and `AS_INLINE`; a listener is never called twice at once anyway.
    pub flags: u32,
    pub user_data: *mut c_void,
    /// Gets one event. Must not be NULL.
    pub on_event: as_fn_text,
    pub destroy: as_fn_destroy,
}

/// Who wants to know that a call was aborted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct as_hooks_notify {
    /// `sizeof(as_hooks_notify)`.
    pub struct_size: u32,
    /// 0, or `AS_SERIAL` and `AS_INLINE`.
    pub flags: u32,
    pub user_data: *mut c_void,
    /// Must not be NULL.
    pub notify: as_fn_notify,
    pub destroy: as_fn_destroy,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// The layouts that C compiled against ABI 1 relies on (the C tests assert the same numbers).
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn layouts_are_frozen() {
        assert_eq!((size_of::<as_blob>(), offset_of!(as_blob, len), offset_of!(as_blob, opaque)), (24, 8, 16));
        assert_eq!((size_of::<as_hooks_host>(), offset_of!(as_hooks_host, destroy)), (72, 64));
        assert_eq!((size_of::<as_hooks_policy>(), offset_of!(as_hooks_policy, destroy)), (56, 48));
        assert_eq!((size_of::<as_hooks_handler>(), offset_of!(as_hooks_handler, destroy)), (32, 24));
        assert_eq!((size_of::<as_binding>(), offset_of!(as_binding, destroy)), (80, 72));
        assert_eq!((size_of::<as_hooks_result>(), offset_of!(as_hooks_result, destroy)), (32, 24));
        assert_eq!((size_of::<as_hooks_event>(), offset_of!(as_hooks_event, destroy)), (32, 24));
        assert_eq!((size_of::<as_hooks_notify>(), offset_of!(as_hooks_notify, destroy)), (32, 24));
    }
}
