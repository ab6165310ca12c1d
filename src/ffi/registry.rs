//! Registries: their life, and what the host offers besides registrations.

use super::blob::Out;
use super::guard;
use super::handle::{self, Handles, Item, Kind};
use super::process::Process;
use super::table::Passed;
use super::text::{self, Text};
use super::types::*;
use crate::surface::Surface;

impl Item for Surface {
    type Found = Surface;
    const KIND: Kind = Kind::Registry;
    fn handles(process: &Process) -> &Handles<Surface> {
        &process.registries
    }
    fn found(&self) -> Option<Surface> {
        Some(self.clone())
    }
}

/// Makes a registry. `config` is its configuration, a JSON object; empty or `{}` means every default. `hooks` is what
/// it asks of the host, or NULL. The first registry of a process starts the worker threads; nothing does before.
///
/// Ownership: `config` is copied; `hooks` is taken over, on failure too; `out` is a handle to be freed with
/// `as_registry_free`.
/// Threads: any. In a forked child, makes a registry of the child's own.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (an unknown field or flag, a value out of its bounds, `out` NULL), `AS_E_UTF8`,
/// `AS_E_JSON`, `AS_E_LIMIT` (a document too large, handles or threads exhausted).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_registry_new(
    config: *const u8,
    config_len: usize,
    hooks: *const as_hooks_host,
    out: *mut as_registry,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (config, hooks, out, err) = unsafe {
        (
            Text::new("config", config, config_len),
            Passed::new("hooks", hooks),
            Out::new("out", out),
            Out::new("err", err),
        )
    };
    guard::run(0, err, || {
        let hooks = hooks.host();
        let out = out.required()?;
        let place = handle::reserve::<Surface>()?;
        let surface = Surface::new(config.utf8()?, hooks?)?;
        out.put(place.fill(surface));
        Ok(())
    })
}

/// Closes a registry: takes nothing new, settles what is pending (`CANCELLED`), expires confirmations, lets running
/// callbacks end and runs every `destroy`; after `AS_OK` no host code of it runs any more. The handle stays valid and
/// answers `AS_E_CLOSED`, as does every registration of it. Closing again waits for the same end. `timeout_ms` is real
/// time: -1 for ever, 0 begins and looks.
///
/// Ownership: nothing changes hands; the handle is still to be freed.
/// Threads: any. Safe from finalizers and `atexit`.
/// Blocking: up to `timeout_ms`; not at all inside a callback.
/// Errors: `AS_E_TIMEOUT` (closing goes on), `AS_E_WOULD_DEADLOCK` (called inside a callback of this registry, or of one
/// that this one waits for: closing has begun, and completes when the last callback has returned), `AS_E_ARGUMENT` (`timeout_ms` below -1), and those of
/// the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_registry_close(registry: as_registry, timeout_ms: i64, err: *mut as_blob) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let err = unsafe { Out::new("err", err) };
    guard::with::<Surface>(registry, err, |surface| surface.close(text::timeout(timeout_ms)?))
}

/// Frees a registry handle, and begins closing where `as_registry_close` has not. Freeing 0 does nothing.
///
/// Ownership: the handle is stale afterwards; what was made of the registry keeps its own handle, to be freed as ever.
/// Threads: any. In a forked child an inherited handle leaks on purpose, and the answer is `AS_OK`.
/// Blocking: never.
/// Errors: `AS_E_STALE_HANDLE` (freed before), `AS_E_WRONG_HANDLE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_registry_free(registry: as_registry) -> as_code {
    guard::free(registry, |surface: Surface| surface.release())
}

/// Tells of a registry: `{surfaceId, surfaceVersion, registrations, inFlight, pendingConfirmations, workers, limits,
/// abiVersion}`.
///
/// Ownership: `out` is the caller's, freed with `as_blob_free`.
/// Threads: any.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`out` NULL), `AS_E_CLOSED`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_registry_info(registry: as_registry, out: *mut as_blob, err: *mut as_blob) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (out, err) = unsafe { (Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Surface, _>(registry, out, err, |surface| surface.info())
}

/// Defines a policy of the host under `name`, for definitions and for the registry's own list to refer to. A name of
/// the registry's list that is not defined yet hides and denies.
///
/// Ownership: `name` is copied; `hooks` is taken over, on failure too.
/// Threads: any.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (a name that is empty or defined before, `hooks` NULL, an unknown flag), `AS_E_UTF8`,
/// `AS_E_CLOSED`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_policy_define(
    registry: as_registry,
    name: *const u8,
    name_len: usize,
    hooks: *const as_hooks_policy,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (name, hooks, err) =
        unsafe { (Text::new("name", name, name_len), Passed::new("hooks", hooks), Out::new("err", err)) };
    guard::run(registry, err, || {
        let hooks = hooks.policy();
        let surface = handle::find::<Surface>(registry)?;
        surface.define_policy(name.utf8()?, hooks?)
    })
}

/// Sets the executor of procedures. `paths` is a JSON array of the paths it serves; a definition with a procedure of
/// another path is refused (`PLANE_VIOLATION`). Setting another replaces the one before; calls that run go on with
/// theirs.
///
/// Ownership: `paths` is copied; `hooks` is taken over, on failure too.
/// Threads: any.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`hooks` or its handler NULL, paths that are no array of texts), `AS_E_DEFINITION` (with
/// `duplicateSuffixPolicy` `error`, a path that has the name of what is registered), `AS_E_UTF8`, `AS_E_JSON`,
/// `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_executor_set(
    registry: as_registry,
    paths: *const u8,
    paths_len: usize,
    hooks: *const as_hooks_handler,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (paths, hooks, err) =
        unsafe { (Text::new("paths", paths, paths_len), Passed::new("hooks", hooks), Out::new("err", err)) };
    guard::run(registry, err, || {
        let handler = hooks.handler();
        let surface = handle::find::<Surface>(registry)?;
        surface.set_executor(paths.utf8()?, handler?)
    })
}

/// Fetches the next piece of work of a registry with `"dispatch": "pull"`: `{"do": "call" | "policy" | "result" |
/// "event" | …, "reply"?, "name", "phase"?, "context", "input"?}`, where `reply` is a reply handle as a decimal text, to
/// be answered with the `as_reply_…` functions from any thread. Hooks that cannot be deferred run inside this
/// function. After the registry was closed it hands out the results and events that were not fetched yet.
/// `timeout_ms` is real time: -1 for ever, 0 looks only.
///
/// Ownership: `out` is the caller's, freed with `as_blob_free`.
/// Threads: any, several at once too; each piece of work is handed out once.
/// Blocking: up to `timeout_ms`.
/// Errors: `AS_E_TIMEOUT` (nothing to do), `AS_E_CLOSED` (nothing will come any more), `AS_E_ARGUMENT` (a push
/// registry, `timeout_ms` below -1, `out` NULL), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_next(
    registry: as_registry,
    timeout_ms: i64,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (out, err) = unsafe { (Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Surface, _>(registry, out, err, |surface| {
        surface.next(text::timeout(timeout_ms)?, &super::reply::name)
    })
}
