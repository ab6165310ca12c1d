//! Replies: the one-shot answers that callbacks owe.

use super::blob::Out;
use super::guard;
use super::handle::{self, Handles, Item, Kind};
use super::process::{self, Process};
use super::table::Passed;
use super::text::Text;
use super::types::*;
use crate::runtime::Reply;
use std::sync::{Arc, Weak};

/// The runtime decides how long an answer can still be given; the table only knows where it is.
impl Item for Weak<Reply> {
    type Found = Arc<Reply>;
    const KIND: Kind = Kind::Reply;
    fn handles(process: &Process) -> &Handles<Weak<Reply>> {
        &process.replies
    }
    fn found(&self) -> Option<Arc<Reply>> {
        self.upgrade()
    }
}

/// The handle that a reply has, given back with it.
struct Named {
    process: &'static Process,
    handle: as_reply,
}

impl Drop for Named {
    fn drop(&mut self) {
        // Nothing to take back where the table was full.
        let _ = self.process.replies.remove(self.handle);
    }
}

/// The handle of a reply, made when it is first asked for. 0 where the table is full: the host cannot answer then, and
/// a call without an answer has failed.
pub(super) fn name(reply: &Arc<Reply>) -> as_reply {
    let attached = reply.attachment.get_or_init(|| {
        let process = process::here();
        let handle = process.replies.reserve().map_or(0, |place| place.fill(Arc::downgrade(reply)));
        Box::new(Named { process, handle })
    });
    attached.downcast_ref::<Named>().map_or(0, |named| named.handle)
}

/// Answers with a JSON value: the output of a handler, or what the hook's table says. For a handler an empty text means:
/// completed without output. A text that is not strict JSON, or too large, consumes the reply: the call fails.
///
/// Ownership: `json` is copied. The first answer uses the reply up.
/// Threads: any; inside the callback, or after `as_reply_defer` until the call has settled.
/// Blocking: no.
/// Errors: `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT` (the call settles `EXECUTION_FAILED`), `AS_E_ARGUMENT` (this hook
/// wants another kind of answer, and has failed; NULL with a length), `AS_E_SETTLED` (answered before), `AS_E_LATE` (the
/// call settled before), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_reply_json(reply: as_reply, json: *const u8, json_len: usize) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let json = unsafe { Text::new("json", json, json_len) };
    answer(reply, |reply| reply.json(json.bytes()?))
}

/// Answers that the callback failed. `payload` is a typed error `{code, message, retry?, details?}` of the codes a host
/// may give, or empty for an untyped failure, which an agent sees as `EXECUTION_FAILED`.
///
/// Ownership: `payload` is copied. The first answer uses the reply up.
/// Threads: as `as_reply_json`.
/// Blocking: no.
/// Errors: as `as_reply_json`; a payload that cannot be read leaves an untyped failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_reply_error(reply: as_reply, payload: *const u8, payload_len: usize) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let payload = unsafe { Text::new("payload", payload, payload_len) };
    answer(reply, |reply| reply.error(payload.bytes()?))
}

/// Lets the call go on (`on_authorize`, `on_invoke`).
///
/// Ownership: the first answer uses the reply up.
/// Threads: as `as_reply_json`.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (another kind of hook, which has failed), `AS_E_SETTLED`, `AS_E_LATE`, and those of the
/// handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_reply_allow(reply: as_reply) -> as_code {
    answer(reply, Reply::allow)
}

/// Refuses the call (`on_authorize`, `on_invoke`). `payload` is a typed error `{code, message, retry?, details?}` of the
/// codes a host may give, or empty for `NOT_AUTHORIZED`.
///
/// Ownership: `payload` is copied. The first answer uses the reply up.
/// Threads: as `as_reply_json`.
/// Blocking: no.
/// Errors: as `as_reply_allow`, and `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`: a payload that cannot be read still denies.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_reply_deny(reply: as_reply, payload: *const u8, payload_len: usize) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let payload = unsafe { Text::new("payload", payload, payload_len) };
    answer(reply, |reply| reply.deny(payload.bytes()?))
}

/// Asks for a person's confirmation first (`on_invoke`). `summary` is the text they are shown, 300 characters at most
/// (a longer one is cut), or empty for one composed of description and input.
///
/// Ownership: `summary` is copied. The first answer uses the reply up.
/// Threads: as `as_reply_json`.
/// Blocking: no.
/// Errors: as `as_reply_allow`, and `AS_E_UTF8` (the hook has failed).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_reply_confirm(reply: as_reply, summary: *const u8, summary_len: usize) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let summary = unsafe { Text::new("summary", summary, summary_len) };
    answer(reply, |reply| reply.confirm(summary.bytes()?))
}

/// Promises an answer after the callback has returned. The call's own deadline bounds the wait. Handlers, the executor,
/// `on_authorize` and `on_invoke` may defer; a hook that may not has failed.
///
/// Ownership: the reply stays good until it is answered, or until the record of its call or its registry is gone.
/// Threads: the thread of the callback, before it returns.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (this hook cannot be deferred), `AS_E_SETTLED`, `AS_E_LATE`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_reply_defer(reply: as_reply) -> as_code {
    answer(reply, Reply::defer)
}

/// Tells whether the call was aborted (timed out, cancelled, unmounted, settled): `out` is 1 or 0. A handler that runs
/// long asks now and then, and stops.
///
/// Ownership: nothing.
/// Threads: any.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`out` NULL), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_reply_aborted(reply: as_reply, out: *mut i32) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let out = unsafe { Out::new("out", out) };
    answer(reply, |reply| {
        out.required()?.put(i32::from(reply.aborted()?));
        Ok(())
    })
}

/// Has `hooks` told when the call is aborted; at once where it was already.
///
/// Ownership: `hooks` is taken over, on failure too; destroyed when the call is over.
/// Threads: any. The notice comes on a worker, or by `as_next`.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`hooks` or its function NULL, a hook that belongs to no call), `AS_E_LIMIT` (too many for
/// one call), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_reply_on_abort(reply: as_reply, hooks: *const as_hooks_notify) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let hooks = unsafe { Passed::new("hooks", hooks) };
    guard::run(reply, Out::none(), || {
        let hook = hooks.notify();
        let reply = handle::find::<Weak<Reply>>(reply)?;
        reply.on_abort(hook?)
    })
}

fn answer(reply: as_reply, body: impl FnOnce(&Reply) -> Result<(), crate::model::ApiError>) -> as_code {
    guard::with::<Weak<Reply>>(reply, Out::none(), |reply| body(&reply))
}
