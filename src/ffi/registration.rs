//! Registrations: components the host puts on the surface, and takes off again.

use super::blob::Out;
use super::guard;
use super::handle::{self, Handles, Item, Kind};
use super::process::Process;
use super::table::PassedArray;
use super::text::Text;
use super::types::*;
use crate::model::Code;
use crate::surface::{Registration, Surface};

impl Item for Registration {
    type Found = Registration;
    const KIND: Kind = Kind::Registration;
    fn handles(process: &Process) -> &Handles<Registration> {
        &process.registrations
    }
    fn found(&self) -> Option<Registration> {
        Some(self.clone())
    }
}

/// Registers a component, live at once. `definition` is its JSON document; `bindings` are the callbacks of its
/// capabilities, `bindings_len` of them, NULL with 0. Where the same type and instance is registered already and the
/// registry says `reject`, or its guard rejects, the answer is `AS_OK` and a dead handle, whose info says `rejected`.
///
/// Ownership: `definition` is copied; every binding is taken over, on failure too; `out` is a handle to be freed with
/// `as_unregister`.
/// Threads: any, inside callbacks too.
/// Blocking: only while the host's own `on_register` runs.
/// Errors: `AS_E_DEFINITION` (the error blob says `reason` and `path`), `AS_E_ARGUMENT` (a binding that is no table, an
/// unknown flag, `out` NULL), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT` (`maxRegistrations`, a document too large),
/// `AS_E_WOULD_DEADLOCK` (the guard is in an `AS_SERIAL` table that is taken on this stack), `AS_E_CLOSED`, and those of
/// the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_register(
    registry: as_registry,
    definition: *const u8,
    definition_len: usize,
    bindings: *const as_binding,
    bindings_len: usize,
    out: *mut as_registration,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (definition, bindings, out, err) = unsafe {
        (
            Text::new("definition", definition, definition_len),
            PassedArray::new("bindings", bindings, bindings_len),
            Out::new("out", out),
            Out::new("err", err),
        )
    };
    guard::run(registry, err, || {
        let bindings = bindings.bindings();
        let surface = handle::find::<Surface>(registry)?;
        let out = out.required()?;
        let definition = definition.utf8()?;
        let place = handle::reserve::<Registration>()?;
        out.put(place.fill(surface.register(definition, bindings?)?));
        Ok(())
    })
}

/// Tells of a registration: `{registrationId, type, instanceId, status}`. Works as long as the handle, whatever became
/// of the registration.
///
/// Ownership: `out` is the caller's, freed with `as_blob_free`.
/// Threads: any.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (`out` NULL), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_registration_info(
    registration: as_registration,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (out, err) = unsafe { (Out::new("out", out), Out::new("err", err)) };
    guard::ask::<Registration, _>(registration, out, err, |registration| registration.info())
}

/// Changes what can be changed of a registration: `patch` is `{enabled?, availability?: {name or path: {available,
/// reason?}}}`. All of it is done or nothing.
///
/// Ownership: `patch` is copied.
/// Threads: any, inside callbacks too.
/// Blocking: no.
/// Errors: `AS_E_ARGUMENT` (an unknown field or name), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_CLOSED` (rejected,
/// replaced or closed), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_registration_update(
    registration: as_registration,
    patch: *const u8,
    patch_len: usize,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (patch, err) = unsafe { (Text::new("patch", patch, patch_len), Out::new("err", err)) };
    guard::with::<Registration>(registration, err, |registration| registration.update(patch.utf8()?))
}

/// Swaps callbacks of a registration, without a new surface version: each binding stands in the place of the one before
/// of the same name, all of it; capabilities that no binding names keep theirs. Calls that run go on with theirs. All of
/// it is done or nothing.
///
/// Ownership: every binding is taken over, on failure too; the ones before are destroyed once nothing uses them.
/// Threads: any, inside callbacks too.
/// Blocking: no.
/// Errors: `AS_E_DEFINITION` (a binding that names nothing, lacks what its capability needs, or has a function that its
/// capability never calls), `AS_E_ARGUMENT` (a binding that is no table), `AS_E_UTF8`, `AS_E_CLOSED` (rejected, replaced
/// or closed), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_registration_rebind(
    registration: as_registration,
    bindings: *const as_binding,
    bindings_len: usize,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (bindings, err) = unsafe { (PassedArray::new("bindings", bindings, bindings_len), Out::new("err", err)) };
    guard::run(registration, err, || {
        let bindings = bindings.bindings();
        let registration = handle::find::<Registration>(registration)?;
        registration.rebind(bindings?)
    })
}

/// Says that something the catalog shows of this registration has moved (a `when`, a note): a new surface version.
///
/// Ownership: nothing.
/// Threads: any, inside callbacks too.
/// Blocking: no.
/// Errors: `AS_E_CLOSED` (rejected, replaced or closed), and those of the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_registration_invalidate(registration: as_registration) -> as_code {
    guard::with::<Registration>(registration, Out::none(), |registration| registration.invalidate())
}

/// Ends a registration and frees its handle: its capabilities are gone, its calls are aborted, its callbacks are
/// destroyed once nothing uses them. Again, and with 0, it does nothing and answers `AS_OK`, so that a component may be
/// taken down from several places; every other function answers `AS_E_STALE_HANDLE` from then on.
///
/// Ownership: the handle is stale afterwards.
/// Threads: any, inside its own handlers too. In a forked child an inherited handle leaks on purpose: `AS_OK`.
/// Blocking: never.
/// Errors: `AS_E_WRONG_HANDLE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_unregister(registration: as_registration) -> as_code {
    let code = guard::free(registration, |registration: Registration| registration.unregister());
    if code == Code::StaleHandle as as_code { AS_OK } else { code }
}
