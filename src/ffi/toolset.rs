//! Toolsets: what a model is given, and the way back from what it calls.

use super::blob::Out;
use super::guard;
use super::handle::{self, Handles, Item, Kind};
use super::invocation::begin;
use super::process::Process;
use super::table::Passed;
use super::text::Text;
use super::types::*;
use crate::surface::Surface;
use crate::toolset::Toolset;

impl Item for Toolset {
    type Found = Toolset;
    const KIND: Kind = Kind::Toolset;
    fn handles(process: &Process) -> &Handles<Toolset> {
        &process.toolsets
    }
    fn found(&self) -> Option<Toolset> {
        Some(self.clone())
    }
}

/// Makes a toolset: the catalog of one consumer as tools of a model. `options` is `{consumer?, mode?, topology?,
/// confirmations?, scope?, budget?, toolCallIds?}`; one of `topology` and `confirmations` must be given.
///
/// Ownership: `options` is copied; `out` is a handle to be freed with `as_toolset_free`.
/// Threads: any, on which the host's hooks are asked, as by `as_snapshot`.
/// Blocking: while the host's own callbacks run.
/// Errors: `AS_E_ARGUMENT` (an unknown field, neither `topology` nor `confirmations`, `out` NULL), `AS_E_UTF8`,
/// `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_WOULD_DEADLOCK`, `AS_E_CLOSED`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_toolset_new(
    registry: as_registry,
    options: *const u8,
    options_len: usize,
    out: *mut as_toolset,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (options, out, err) =
        unsafe { (Text::new("options", options, options_len), Out::new("out", out), Out::new("err", err)) };
    guard::with::<Surface>(registry, err, |surface| {
        let out = out.required()?;
        let place = handle::reserve::<Toolset>()?;
        out.put(place.fill(Toolset::new(&surface, options.utf8()?)?));
        Ok(())
    })
}

/// Ends a toolset and frees its handle. Calls that wait for a person end at once with the result they have. Freeing 0
/// does nothing.
///
/// Ownership: the handle is stale afterwards.
/// Threads: any. In a forked child an inherited handle leaks on purpose: `AS_OK`.
/// Blocking: never.
/// Errors: `AS_E_STALE_HANDLE` (freed before), `AS_E_WRONG_HANDLE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_toolset_free(toolset: as_toolset) -> as_code {
    guard::free(toolset, |toolset: Toolset| toolset.dispose())
}

/// Takes the catalog anew and hands it out: `{tools, wireNameMap, loss: [{tool, pointer, keyword}]}`. `format` is the
/// name of a provider's format, as it is, not as JSON; empty is the neutral one. Names of the catalog before stay
/// callable.
///
/// Ownership: `format` is copied; `out` is the caller's, freed with `as_blob_free`.
/// Threads: any, on which the host's hooks are asked, as by `as_snapshot`.
/// Blocking: while the host's own callbacks run.
/// Errors: `AS_E_ARGUMENT` (an unknown format, `out` NULL), `AS_E_UTF8`, `AS_E_WOULD_DEADLOCK`, `AS_E_CLOSED`, and those
/// of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_toolset_tools(
    toolset: as_toolset,
    format: *const u8,
    format_len: usize,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (format, out, err) =
        unsafe { (Text::new("format", format, format_len), Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Toolset, _>(toolset, out, err, |toolset| toolset.tools(format.utf8()?))
}

/// Tells of a toolset: its options as they came out.
///
/// Ownership: `out` is the caller's, freed with `as_blob_free`.
/// Threads: any.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`out` NULL), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_toolset_info(toolset: as_toolset, out: *mut as_blob, err: *mut as_blob) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (out, err) = unsafe { (Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Toolset, _>(toolset, out, err, |toolset| toolset.info())
}

/// Renders a result envelope as a provider's message. `format` as in `as_toolset_tools`.
///
/// Ownership: both texts are copied; `out` is the caller's, freed with `as_blob_free`.
/// Threads: any.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (an unknown format, no result envelope, `out` NULL), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`,
/// and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_toolset_render(
    toolset: as_toolset,
    format: *const u8,
    format_len: usize,
    result: *const u8,
    result_len: usize,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (format, result, out, err) = unsafe {
        (
            Text::new("format", format, format_len),
            Text::new("result", result, result_len),
            Out::new("out", out),
            Out::new("err", err),
        )
    };
    guard::ask::<Toolset, _>(toolset, out, err, |toolset| toolset.render(format.utf8()?, result.utf8()?))
}

/// Runs a tool call of a model and returns at once. `call` is `{name, input?, toolCallId?}`, or a provider's as it came:
/// OpenAI `{id, function: {name, arguments}}` with the arguments as text, Anthropic `{type: "tool_use", id, name, input}`,
/// Gemini `{functionCall: {id?, name, args}}`, MCP `{method: "tools/call", id, params: {name, arguments}}`. Whatever a model gets wrong
/// (a tool it does not have, bad arguments, a bad id) is in the result; codes are for misuse of this function.
///
/// Ownership: `call` is copied; `hooks` is taken over, on failure too; `out` is a handle to be freed with
/// `as_invocation_free`, or NULL where nobody will wait for the call or cancel it.
/// Threads: any, inside callbacks too, but for `surface_discover`, which is as `as_snapshot`. The result may come before
/// this function returns.
/// Blocking: no; `surface_discover` while the host's own callbacks run, on this thread.
/// Errors: `AS_E_ARGUMENT` (an unknown field), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT` (also where too much waits, as for
/// `as_invoke`), `AS_E_WOULD_DEADLOCK` (`surface_discover`), `AS_E_CLOSED`, and those of the handle. On failure `hooks` gets no result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_toolset_call(
    toolset: as_toolset,
    call: *const u8,
    call_len: usize,
    hooks: *const as_hooks_result,
    out: *mut as_invocation,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (call, hooks, out, err) = unsafe {
        (Text::new("call", call, call_len), Passed::new("hooks", hooks), Out::new("out", out), Out::new("err", err))
    };
    guard::run(toolset, err, || {
        let on_result = hooks.on_result();
        let toolset = handle::find::<Toolset>(toolset)?;
        let (call, on_result) = (call.utf8()?, on_result?);
        begin(out, || toolset.call(call, on_result))
    })
}

/// Runs a tool call of a model and waits for the result envelope. With confirmations `wait` that includes a person's
/// answer, bounded by the confirmation's time to live. `call` as in `as_toolset_call`.
///
/// Ownership: `call` is copied; `result` is the caller's, freed with `as_blob_free`.
/// Threads: any, inside callbacks too.
/// Blocking: until the call has settled.
/// Errors: as `as_toolset_call`, `AS_E_ARGUMENT` (`result` NULL), and `AS_E_WOULD_DEADLOCK`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_toolset_call_wait(
    toolset: as_toolset,
    call: *const u8,
    call_len: usize,
    result: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (call, result, err) =
        unsafe { (Text::new("call", call, call_len), Out::new("result", result), Out::new("err", err)) };
    guard::with::<Toolset>(toolset, err, |toolset| {
        let result = result.required()?;
        result.copy(&toolset.call_wait(call.utf8()?)?);
        Ok(())
    })
}
