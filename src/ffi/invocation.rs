//! Invocations: calls, waiting for them, and what became of them.

use super::blob::Out;
use super::guard;
use super::handle::{self, Handles, Item, Kind};
use super::process::Process;
use super::table::Passed;
use super::text::{self, Text};
use super::types::*;
use crate::model::ApiError;
use crate::surface::{Invocation, Surface};

impl Item for Invocation {
    type Found = Invocation;
    const KIND: Kind = Kind::Invocation;
    fn handles(process: &Process) -> &Handles<Invocation> {
        &process.invocations
    }
    fn found(&self) -> Option<Invocation> {
        Some(self.clone())
    }
}

/// Calls a capability and returns at once. `request` is `{capabilityId, input?, invocationId?, instanceId?,
/// registrationId?, surfaceVersion?, confirmationId?}`, `options` is `{consumer?, timeoutMs?, deadlineMs?,
/// traceparent?}` or empty. `hooks`, or NULL, gets the result envelope, exactly once. Whatever goes wrong with the call
/// is in its result; codes are for misuse of this function.
///
/// Ownership: `request` and `options` are copied; `hooks` is taken over, on failure too; `out` is a handle to be freed
/// with `as_invocation_free`, or NULL where nobody will wait for the call or cancel it.
/// Threads: any, inside callbacks too. The result may come before this function returns.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (an unknown field, a bad caller-supplied id), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT` (too large;
/// or `maxInFlight` + `maxEventBacklog` pieces of work wait to be fetched, or behind callbacks that hang),
/// `AS_E_CLOSED`, and those of the handle. On failure `hooks` gets no result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_invoke(
    registry: as_registry,
    request: *const u8,
    request_len: usize,
    options: *const u8,
    options_len: usize,
    hooks: *const as_hooks_result,
    out: *mut as_invocation,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (request, options, hooks, out, err) = unsafe {
        (
            Text::new("request", request, request_len),
            Text::new("options", options, options_len),
            Passed::new("hooks", hooks),
            Out::new("out", out),
            Out::new("err", err),
        )
    };
    guard::run(registry, err, || {
        let on_result = hooks.on_result();
        let surface = handle::find::<Surface>(registry)?;
        let (request, options) = (request.utf8()?, options.utf8()?);
        let on_result = on_result?;
        begin(out, || surface.invoke(request, options, on_result))
    })
}

/// Calls a capability and waits for the result envelope. The call runs on this thread as far as it can: a handler that
/// answers at once never changes threads. Inside a callback the inner call inherits what is left of the outer one's
/// time. `request` and `options` as in `as_invoke`.
///
/// Ownership: `request` and `options` are copied; `result` is the caller's, freed with `as_blob_free`.
/// Threads: any, inside callbacks too, to a depth of 32.
/// Blocking: until the call has settled; its timeout, or `deadlineMs`, bounds that.
/// Errors: as `as_invoke`, and `AS_E_WOULD_DEADLOCK` (waits for a slot, a call or a serial table that this thread
/// holds; a pull registry).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_invoke_wait(
    registry: as_registry,
    request: *const u8,
    request_len: usize,
    options: *const u8,
    options_len: usize,
    result: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (request, options, result, err) = unsafe {
        (
            Text::new("request", request, request_len),
            Text::new("options", options, options_len),
            Out::new("result", result),
            Out::new("err", err),
        )
    };
    guard::with::<Surface>(registry, err, |surface| {
        let result = result.required()?;
        result.copy(&surface.invoke_wait(request.utf8()?, options.utf8()?)?);
        Ok(())
    })
}

/// Waits for the result envelope of a call; as often as one likes. `timeout_ms` is real time: -1 for ever, 0 looks only.
///
/// Ownership: `result` is the caller's, freed with `as_blob_free`.
/// Threads: any, several at once too.
/// Blocking: up to `timeout_ms`.
/// Errors: `AS_E_TIMEOUT` (the call goes on), `AS_E_WOULD_DEADLOCK` (inside a callback that the call waits for; an
/// endless wait in a pull registry), `AS_E_ARGUMENT` (`result` NULL, `timeout_ms` below -1), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_invocation_wait(
    invocation: as_invocation,
    timeout_ms: i64,
    result: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (result, err) = unsafe { (Out::new("result", result), Out::new("err", err)) };
    guard::with::<Invocation>(invocation, err, |invocation| {
        let result = result.required()?;
        result.copy(&invocation.wait(text::timeout(timeout_ms)?)?);
        Ok(())
    })
}

/// Cancels a call for this caller: its result is `CANCELLED`, unless it has settled already. The execution itself is
/// aborted when every caller that joined it has cancelled.
///
/// Ownership: nothing; the handle is still to be freed.
/// Threads: any, inside callbacks too.
/// Blocking: no.
/// Errors: those of the handle. Cancelling a settled call is `AS_OK`, and changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_invocation_cancel(invocation: as_invocation) -> as_code {
    guard::with::<Invocation>(invocation, Out::none(), |invocation| invocation.cancel())
}

/// Frees an invocation handle. The call goes on, and its result still goes to the table given to `as_invoke`. Freeing 0
/// does nothing.
///
/// Ownership: the handle is stale afterwards.
/// Threads: any. In a forked child an inherited handle leaks on purpose: `AS_OK`.
/// Blocking: never.
/// Errors: `AS_E_STALE_HANDLE` (freed before), `AS_E_WRONG_HANDLE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_invocation_free(invocation: as_invocation) -> as_code {
    guard::free(invocation, |invocation: Invocation| drop(invocation))
}

/// Ends a consumer's session: its calls settle `CANCELLED`, its pending confirmations expire, its queues and rate
/// windows are gone. Its records stay, so that a late repetition is still known. `consumer` is `{id, kind, grants?}`.
///
/// Ownership: `consumer` is copied.
/// Threads: any, inside callbacks too.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (no consumer), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the
/// handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_consumer_close(
    registry: as_registry,
    consumer: *const u8,
    consumer_len: usize,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (consumer, err) = unsafe { (Text::new("consumer", consumer, consumer_len), Out::new("err", err)) };
    guard::with::<Surface>(registry, err, |surface| surface.consumer_close(consumer.utf8()?))
}

/// Answers "did it happen?". `query` is `{consumer?, invocationId}`; the answer is `{result, late?: {status, output?,
/// outputDigest?, error?, at}}`, where `late` is how the handler ended after the call had settled, or `{"state":
/// "running"}`.
///
/// Ownership: `query` is copied; `out` is the caller's, freed with `as_blob_free`.
/// Threads: any.
/// Blocking: no.
/// Errors: `AS_E_NOT_FOUND` (no record, or no more), `AS_E_ARGUMENT` (an unknown field, `out` NULL), `AS_E_UTF8`,
/// `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_outcome(
    registry: as_registry,
    query: *const u8,
    query_len: usize,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (query, out, err) =
        unsafe { (Text::new("query", query, query_len), Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Surface, _>(registry, out, err, |surface| surface.outcome(query.utf8()?))
}

/// Starts a call, with a handle where the host wants one: a full table is answered before anything has begun.
pub(super) fn begin(
    out: Out<as_invocation>,
    start: impl FnOnce() -> Result<Invocation, ApiError>,
) -> Result<(), ApiError> {
    let place = out.wanted().map(|_| handle::reserve::<Invocation>()).transpose()?;
    let invocation = start()?;
    if let Some(place) = place {
        out.put(place.fill(invocation));
    }
    Ok(())
}
