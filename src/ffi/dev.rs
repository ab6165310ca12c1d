//! For developers and tests: rendered into a header of its own, which no adapter includes, since it discloses what
//! hiding withholds.

use super::blob::Out;
use super::guard;
use super::process::{self, Process};
use super::table::{TABLE_KINDS, TABLE_NAMES};
use super::text::{self, Text};
use super::types::*;
use crate::model::{ApiError, Code};
use crate::surface::Surface;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Answers why: every capability the registry holds, what the snapshot makes of it for the same context, each policy's
/// own vote, and availability apart. `context` as in `as_snapshot`.
///
/// Ownership: `context` is copied; `out` is the caller's, freed with `as_blob_free`.
/// Threads: as `as_snapshot`.
/// Blocking: while the host's own callbacks run.
/// Errors: as `as_snapshot`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_dev_explain(
    registry: as_registry,
    context: *const u8,
    context_len: usize,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (context, out, err) =
        unsafe { (Text::new("context", context, context_len), Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Surface, _>(registry, out, err, |surface| surface.explain(context.utf8()?))
}

/// Moves a manual clock on by `ms` milliseconds: goes to each instant at which something is due, fires it, waits for
/// quiet, and goes on. `timeout_ms` is real time, for the waiting: -1 for ever.
///
/// Ownership: nothing.
/// Threads: any; not inside a callback.
/// Blocking: up to `timeout_ms`.
/// Errors: `AS_E_ARGUMENT` (a system clock, `ms` below 0, `timeout_ms` below -1), `AS_E_TIMEOUT`,
/// `AS_E_WOULD_DEADLOCK`, `AS_E_CLOSED`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_dev_advance(registry: as_registry, ms: i64, timeout_ms: i64, err: *mut as_blob) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let err = unsafe { Out::new("err", err) };
    guard::with::<Surface>(registry, err, |surface| {
        if ms < 0 {
            return Err(ApiError::new(Code::Argument, "`ms` is negative: time goes on, not back."));
        }
        surface.advance(ms, text::timeout(timeout_ms)?)
    })
}

/// Waits until nothing of the registry is ready to run; what pends may pend. `timeout_ms` is real time: -1 for ever, 0
/// looks only.
///
/// Ownership: nothing.
/// Threads: any; not inside a callback.
/// Blocking: up to `timeout_ms`.
/// Errors: `AS_E_TIMEOUT`, `AS_E_WOULD_DEADLOCK`, `AS_E_ARGUMENT` (`timeout_ms` below -1), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_dev_quiesce(registry: as_registry, timeout_ms: i64, err: *mut as_blob) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let err = unsafe { Out::new("err", err) };
    guard::with::<Surface>(registry, err, |surface| surface.quiesce(text::timeout(timeout_ms)?))
}

/// Counts what is alive in this process: `{"handles": {"registry", "registration", "invocation", "reply",
/// "subscription", "toolset"}, "blobs", "tables": {"host", "policy", "handler", "binding", "result", "event",
/// "notify"}}`. A blob counts until it is freed, `out` itself not; a callback table until its `destroy` has returned. A
/// host that has given everything back sees zeros.
///
/// Ownership: `out` is the caller's, freed with `as_blob_free`.
/// Threads: any. No registry is needed.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`out` NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_dev_live(out: *mut as_blob) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let out = unsafe { Out::new("out", out) };
    guard::run(0, Out::none(), || {
        out.required()?.text(live(process::here()));
        Ok(())
    })
}

fn live(process: &Process) -> String {
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let tables: Vec<String> =
        (0..TABLE_KINDS).map(|kind| format!("\"{}\":{}", TABLE_NAMES[kind], count(&process.tables[kind]))).collect();
    format!(
        concat!(
            r#"{{"handles":{{"registry":{},"registration":{},"invocation":{},"reply":{},"subscription":{},"#,
            r#""toolset":{}}},"blobs":{},"tables":{{{}}}}}"#
        ),
        process.registries.live(),
        process.registrations.live(),
        process.invocations.live(),
        process.replies.live(),
        process.subscriptions.live(),
        process.toolsets.live(),
        count(&process.blobs),
        tables.join(","),
    )
}
