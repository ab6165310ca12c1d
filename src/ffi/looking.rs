//! Looking: catalogs, events, audit.

use super::blob::Out;
use super::guard;
use super::handle::{self, Handles, Item, Kind};
use super::process::Process;
use super::table::Passed;
use super::text::Text;
use super::types::*;
use crate::model::ApiError;
use crate::runtime::Hook;
use crate::surface::{Subscription, Surface};

impl Item for Subscription {
    type Found = Subscription;
    const KIND: Kind = Kind::Subscription;
    fn handles(process: &Process) -> &Handles<Subscription> {
        &process.subscriptions
    }
    fn found(&self) -> Option<Subscription> {
        Some(self.clone())
    }
}

/// The catalog of what one consumer may use now. `context` is `{consumer?, scope?, includeUnavailable?, budget?}`, or
/// empty. It runs `when`, `describe`, discovery and the host's `context` and `route`, never a handler.
///
/// Ownership: `context` is copied; `out` is the caller's, freed with `as_blob_free`.
/// Threads: any, on which the host's hooks are asked; not inside `when`, `describe` or `on_discovery`, nor inside a callback
/// of an `AS_SERIAL` table that has one of the hooks to be asked.
/// Blocking: while the host's own callbacks run.
/// Errors: `AS_E_WOULD_DEADLOCK` (inside one of those), `AS_E_ARGUMENT` (an unknown field, `out` NULL), `AS_E_UTF8`,
/// `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_snapshot(
    registry: as_registry,
    context: *const u8,
    context_len: usize,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (context, out, err) =
        unsafe { (Text::new("context", context, context_len), Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Surface, _>(registry, out, err, |surface| surface.snapshot(context.utf8()?))
}

/// Has `hooks` told of every event from here on, in the order things happened, one at a time. A listener that falls
/// behind by more than `maxEventBacklog` is told how many it lost.
///
/// Ownership: `hooks` is taken over, on failure too; `out` is a handle to be freed with `as_unsubscribe`.
/// Threads: any. Events come on a worker, or by `as_next`; what a listener does inside is queued, not nested.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`hooks`, its function or `out` NULL), `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_subscribe(
    registry: as_registry,
    hooks: *const as_hooks_event,
    out: *mut as_subscription,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (hooks, out, err) = unsafe { (Passed::new("hooks", hooks), Out::new("out", out), Out::new("err", err)) };
    subscribe(registry, hooks, out, err, Surface::subscribe)
}

/// Ends a listener and frees its handle; no delivery begins after it has returned, also of an event that was queued or
/// was to be fetched. Unsubscribing 0 does nothing.
///
/// Ownership: the handle is stale afterwards; the table is destroyed once an event that is being delivered has been.
/// Threads: any, inside the listener too. In a forked child an inherited handle leaks on purpose: `AS_OK`.
/// Blocking: never.
/// Errors: `AS_E_STALE_HANDLE` (freed before), `AS_E_WRONG_HANDLE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_unsubscribe(subscription: as_subscription) -> as_code {
    guard::free(subscription, |subscription: Subscription| subscription.cancel())
}

/// Reads the audit memory: the entries whose `seq` is greater than `after`, oldest first, as a JSON array. 0 reads all
/// that is kept (`auditCapacity`). A closed registry can be read, too: what its close settled stands there.
///
/// Ownership: `out` is the caller's, freed with `as_blob_free`.
/// Threads: any.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`out` NULL), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_audit_read(
    registry: as_registry,
    after: u64,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (out, err) = unsafe { (Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Surface, _>(registry, out, err, |surface| Ok(surface.audit_read(after)))
}

/// What both kinds of subscription do.
pub(super) fn subscribe(
    registry: as_registry,
    hooks: Passed<as_hooks_event>,
    out: Out<as_subscription>,
    err: Out<as_blob>,
    begin: impl FnOnce(&Surface, Hook) -> Result<Subscription, ApiError>,
) -> as_code {
    guard::run(registry, err, || {
        let on_event = hooks.on_event();
        let surface = handle::find::<Surface>(registry)?;
        let out = out.required()?;
        let place = handle::reserve::<Subscription>()?;
        out.put(place.fill(begin(&surface, on_event?)?));
        Ok(())
    })
}
