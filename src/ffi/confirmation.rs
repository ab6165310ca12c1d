//! Confirmations: what a person is asked, and what they said. For the host alone, never for an agent.

use super::blob::Out;
use super::guard;
use super::looking::subscribe;
use super::table::Passed;
use super::text::{self, Text};
use super::types::*;
use crate::surface::Surface;

/// Resolves a pending confirmation. `decision` is `{confirmationId, approved, reason?, approver?}`; `approver` is kept
/// for audit.
///
/// Ownership: `decision` is copied.
/// Threads: any, inside callbacks too.
/// Blocking: no.
/// Errors: `AS_E_NOT_FOUND` (unknown), `AS_E_SETTLED` (resolved or expired), `AS_E_ARGUMENT`, `AS_E_UTF8`, `AS_E_JSON`,
/// `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle. On failure nothing changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_confirm(
    registry: as_registry,
    decision: *const u8,
    decision_len: usize,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (decision, err) = unsafe { (Text::new("decision", decision, decision_len), Out::new("err", err)) };
    guard::with::<Surface>(registry, err, |surface| surface.confirm(decision.utf8()?))
}

/// Lists what waits for a person: `[{confirmationId, capabilityId, registrationId, consumerKey, effect, summary, input,
/// requestedAt, expiresAt}]`, at most `maxPendingConfirmations`.
///
/// Ownership: `out` is the caller's, freed with `as_blob_free`.
/// Threads: any.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`out` NULL), `AS_E_CLOSED`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_confirmations(registry: as_registry, out: *mut as_blob, err: *mut as_blob) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (out, err) = unsafe { (Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Surface, _>(registry, out, err, |surface| surface.confirmations())
}

/// Has `hooks` told of confirmations: `confirmation-requested` and `confirmation-resolved`, in order.
///
/// Ownership: `hooks` is taken over, on failure too; `out` is a handle to be freed with `as_unsubscribe`.
/// Threads: any. Events come on a worker, one at a time, or by `as_next`.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`hooks`, its function or `out` NULL), `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_confirmation_subscribe(
    registry: as_registry,
    hooks: *const as_hooks_event,
    out: *mut as_subscription,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (hooks, out, err) = unsafe { (Passed::new("hooks", hooks), Out::new("out", out), Out::new("err", err)) };
    subscribe(registry, hooks, out, err, Surface::confirmation_subscribe)
}

/// Waits until a confirmation is resolved: `{"outcome": "approved" | "denied" | "expired"}`. `id` is the
/// confirmationId, as it is, not as JSON. `timeout_ms` is real time: -1 for ever, 0 looks only.
///
/// Ownership: `id` is copied; `out` is the caller's, freed with `as_blob_free`.
/// Threads: any.
/// Blocking: up to `timeout_ms`, and never longer than the confirmation lives.
/// Errors: `AS_E_TIMEOUT`, `AS_E_NOT_FOUND`, `AS_E_WOULD_DEADLOCK`, `AS_E_ARGUMENT`, `AS_E_UTF8`, `AS_E_CLOSED`, and
/// those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_confirmation_wait(
    registry: as_registry,
    id: *const u8,
    id_len: usize,
    timeout_ms: i64,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (id, out, err) = unsafe { (Text::new("id", id, id_len), Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Surface, _>(registry, out, err, |surface| {
        surface.confirmation_wait(id.utf8()?, text::timeout(timeout_ms)?)
    })
}
