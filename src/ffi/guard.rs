//! The one way in: every export runs its body through here, so that a panic stops at the edge, the process is known
//! before any lock, and what the body had to put off (a `destroy`) runs before the function returns.

use super::blob::Out;
use super::handle::{self, Item};
use super::process;
use super::types::*;
use crate::model::{ApiError, Code};
use crate::runtime;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[cfg(panic = "abort")]
compile_error!("a panic must stop at the edge of the library: build with panic = \"unwind\"");

const PANIC: &str = concat!(
    r#"{"code":-16,"name":"AS_E_PANIC","message":"A defect of the library. Please report it; close the registry."}"#,
    "\0"
);

/// Runs a body that needs nothing of the runtime, and turns what becomes of it into a code and an error blob.
pub(super) fn edge(err: Out<as_blob>, body: impl FnOnce() -> Result<(), ApiError>) -> as_code {
    // Unwind safety: a body owns what it changes, and what is shared is changed under locks that do not poison.
    let outcome = catch_unwind(AssertUnwindSafe(|| match body() {
        Ok(()) => AS_OK,
        Err(error) => {
            if let Some(err) = err.wanted() {
                err.text(error.to_json());
            }
            error.code as as_code
        }
    }));
    outcome.unwrap_or_else(|payload| {
        // Not dropped: it may be of any type, and could panic again.
        std::mem::forget(payload);
        err.constant(PANIC);
        AS_E_PANIC
    })
}

/// Runs the body of an export that takes `handle` (0 for none). In the child of a fork, a call on an inherited handle
/// stays out of the runtime, whose locks may be held for ever; looking the handle up then says `AS_E_FORKED`.
pub(super) fn run(handle: u64, err: Out<as_blob>, body: impl FnOnce() -> Result<(), ApiError>) -> as_code {
    edge(err, || {
        let process = process::arrive();
        let _scope = (!handle::inherited(handle, process)).then(runtime::enter);
        body()
    })
}

/// Looks `handle` up and does something with what it stands for.
pub(super) fn with<I: Item>(
    handle: u64,
    err: Out<as_blob>,
    body: impl FnOnce(I::Found) -> Result<(), ApiError>,
) -> as_code {
    run(handle, err, || body(handle::find::<I>(handle)?))
}

/// Looks `handle` up and hands out a text about what it stands for.
pub(super) fn ask<I: Item, T: Into<Vec<u8>>>(
    handle: u64,
    out: Out<as_blob>,
    err: Out<as_blob>,
    body: impl FnOnce(I::Found) -> Result<T, ApiError>,
) -> as_code {
    with::<I>(handle, err, |found| {
        let out = out.required()?;
        out.text(body(found)?);
        Ok(())
    })
}

/// Frees a handle: 0 does nothing, an inherited one leaks on purpose, a freed one is stale.
pub(super) fn free<I: Item>(handle: u64, body: impl FnOnce(I)) -> as_code {
    run(handle, Out::none(), || match handle::remove::<I>(handle) {
        Ok(item) => {
            body(item);
            Ok(())
        }
        Err(error) if matches!(error.code, Code::NullHandle | Code::Forked) => Ok(()),
        Err(error) => Err(error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::blob::{Empty, as_blob_free};
    use std::{slice, str};

    fn said(blob: &as_blob) -> &str {
        // SAFETY: the library filled it.
        unsafe { str::from_utf8_unchecked(slice::from_raw_parts(blob.ptr, blob.len)) }
    }

    #[test]
    fn a_failure_is_a_code_and_a_blob() {
        let mut blob = as_blob::EMPTY;
        // SAFETY: the reference is good for writing.
        let err = unsafe { Out::new("err", &mut blob) };
        let code = edge(err, || Err(ApiError::at(Code::Json, "/a", "No.")));
        assert_eq!(code, AS_E_JSON);
        assert_eq!(said(&blob), r#"{"code":-6,"name":"AS_E_JSON","message":"No.","path":"/a"}"#);
        // SAFETY: the blob is ours.
        unsafe { as_blob_free(&mut blob) };
        assert_eq!(edge(Out::none(), || Err(ApiError::closed())), AS_E_CLOSED, "nobody need listen");
    }

    /// A payload whose own drop panics must not get past the edge either.
    #[test]
    fn a_panic_stops_at_the_edge() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        let mut blob = as_blob::EMPTY;
        // SAFETY: the reference is good for writing.
        let err = unsafe { Out::new("err", &mut blob) };
        assert_eq!(run(0, err, || std::panic::resume_unwind(Box::new(Bomb))), AS_E_PANIC);
        let document: serde_json::Value = serde_json::from_str(said(&blob)).unwrap();
        assert_eq!((document["code"].as_i64(), document["name"].as_str()), (Some(-16), Some("AS_E_PANIC")));
        assert!(blob.opaque.is_null(), "nothing was allocated");
        // SAFETY: the blob is ours.
        assert_eq!(unsafe { as_blob_free(&mut blob) }, AS_OK);
    }
}
