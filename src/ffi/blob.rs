//! What goes out: outputs that are empty until the function has succeeded, and the blobs among them.

use super::guard;
use super::process::{self, Process};
use super::types::*;
use crate::model::{ApiError, Code};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::Ordering;

/// What stands in an output before it is filled, and stays there on failure.
pub(super) trait Empty: Copy {
    const EMPTY: Self;
}

impl Empty for as_blob {
    const EMPTY: Self = as_blob { ptr: ptr::null(), len: 0, opaque: ptr::null_mut() };
}

/// Handles.
impl Empty for u64 {
    const EMPTY: Self = 0;
}

/// Answers to yes-or-no questions.
impl Empty for i32 {
    const EMPTY: Self = 0;
}

impl Default for as_blob {
    fn default() -> Self {
        as_blob::EMPTY
    }
}

/// An output of the caller's. `name` is the parameter's, for messages.
#[derive(Clone, Copy)]
pub(super) struct Out<T> {
    name: &'static str,
    ptr: *mut T,
}

impl<T: Empty> Out<T> {
    /// Empties the output.
    ///
    /// # Safety
    /// `ptr` is NULL, or good for writing a `T` for as long as the value is used.
    pub(super) unsafe fn new(name: &'static str, ptr: *mut T) -> Out<T> {
        let out = Out { name, ptr };
        out.put(T::EMPTY);
        out
    }

    /// Errors: `AS_E_ARGUMENT` where there is nothing to write to.
    pub(super) fn required(self) -> Result<Out<T>, ApiError> {
        let name = self.name;
        self.wanted().ok_or_else(|| ApiError::new(Code::Argument, format!("`{name}` is NULL.")))
    }

    pub(super) fn wanted(self) -> Option<Out<T>> {
        (!self.ptr.is_null()).then_some(self)
    }

    pub(super) fn put(self, value: T) {
        if !self.ptr.is_null() {
            // SAFETY: not NULL, so good for writing, as promised to `new`; unaligned where a host packs its structs.
            unsafe { self.ptr.write_unaligned(value) };
        }
    }
}

impl Out<as_blob> {
    pub(super) fn none() -> Out<as_blob> {
        Out { name: "", ptr: ptr::null_mut() }
    }

    /// Hands a text out. The text keeps its allocation where there is room for the NUL.
    pub(super) fn text(self, text: impl Into<Vec<u8>>) {
        let mut text: Vec<u8> = text.into();
        let len = text.len();
        text.reserve_exact(1);
        text.push(0);
        let process = process::here();
        process.blobs.fetch_add(1, Ordering::Relaxed);
        let owner = Box::new(Owner { process, text });
        let ptr = owner.text.as_ptr();
        self.put(as_blob { ptr, len, opaque: Box::into_raw(owner).cast::<c_void>() });
    }

    /// Hands out bytes that others hold as well.
    pub(super) fn copy(self, text: &[u8]) {
        let mut copy = Vec::with_capacity(text.len() + 1);
        copy.extend_from_slice(text);
        self.text(copy);
    }

    /// Hands out a static text, which ends with NUL: nothing is allocated, and freeing it frees nothing.
    pub(super) fn constant(self, text: &'static str) {
        self.put(as_blob { ptr: text.as_ptr(), len: text.len() - 1, opaque: ptr::null_mut() });
    }
}

/// What `opaque` points to.
struct Owner {
    process: &'static Process,
    text: Vec<u8>,
}

/// Gives a blob back and makes it empty. Freeing an empty one does nothing, so freeing the same variable twice is
/// harmless; freeing a copy of a freed one is not, as with any memory.
///
/// Ownership: the bytes are gone, and `blob` is all zero.
/// Threads: any, whichever it came from; also in a forked child.
/// Blocking: never.
/// Errors: `AS_E_ARGUMENT` when `blob` is NULL.
///
/// # Safety
/// `blob` is NULL or points to a blob that this library filled and that was not freed, or to an empty one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_blob_free(blob: *mut as_blob) -> as_code {
    guard::edge(Out::none(), || {
        if blob.is_null() {
            return Err(ApiError::new(Code::Argument, "`blob` is NULL."));
        }
        // SAFETY: not NULL, so it points to a blob, as the contract says.
        let freed = unsafe { blob.read_unaligned() };
        // SAFETY: as above.
        unsafe { blob.write_unaligned(as_blob::EMPTY) };
        if !freed.opaque.is_null() {
            // SAFETY: `opaque` came out of a box in `text`, and its owner gives it back once.
            let owner = unsafe { Box::from_raw(freed.opaque.cast::<Owner>()) };
            owner.process.blobs.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    fn out(blob: &mut as_blob) -> Out<as_blob> {
        // SAFETY: the reference is good for writing.
        unsafe { Out::new("out", blob) }
    }

    fn free(blob: *mut as_blob) -> as_code {
        // SAFETY: the tests pass NULL or a blob that is theirs.
        unsafe { as_blob_free(blob) }
    }

    #[test]
    fn a_blob_ends_with_nul_and_is_empty_once_freed() {
        let mut blob = as_blob::EMPTY;
        for text in ["", "x", "a longer text, with room: ".repeat(9).as_str()] {
            out(&mut blob).text(text.to_owned());
            assert_eq!(blob.len, text.len());
            // SAFETY: a filled blob is good for its length and the NUL.
            let bytes = unsafe { slice::from_raw_parts(blob.ptr, blob.len + 1) };
            assert_eq!(bytes, [text.as_bytes(), b"\0"].concat());
            assert_eq!(free(&mut blob), AS_OK);
            assert!(blob.ptr.is_null() && blob.opaque.is_null() && blob.len == 0);
            assert_eq!(free(&mut blob), AS_OK, "freeing an empty one does nothing");
        }
    }

    #[test]
    fn only_null_cannot_be_freed() {
        assert_eq!(free(ptr::null_mut()), AS_E_ARGUMENT);
    }

    #[test]
    fn an_output_is_emptied_before_anything_else() {
        let mut blob = as_blob { ptr: b"left over".as_ptr(), len: 9, opaque: ptr::null_mut() };
        out(&mut blob);
        assert!(blob.ptr.is_null() && blob.len == 0);
        let mut handle = 7u64;
        // SAFETY: the reference is good for writing.
        unsafe { Out::new("out", &mut handle) };
        assert_eq!(handle, 0);
    }

    #[test]
    fn a_missing_output_is_refused_by_name() {
        // SAFETY: NULL is allowed.
        let refused = unsafe { Out::<u64>::new("out", ptr::null_mut()) }.required().err().unwrap();
        assert_eq!((refused.code, refused.message.as_str()), (Code::Argument, "`out` is NULL."));
    }
}
