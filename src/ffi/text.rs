//! Texts that come in: a pointer and a length.

use crate::model::{ApiError, Code};
use std::{slice, str};

/// A text of the caller's, not looked at yet. `name` is the parameter's, for messages.
#[derive(Clone, Copy)]
pub(super) struct Text {
    name: &'static str,
    ptr: *const u8,
    len: usize,
}

impl Text {
    /// # Safety
    /// `ptr` is NULL, or good for reading `len` bytes for as long as the value is used.
    pub(super) unsafe fn new(name: &'static str, ptr: *const u8, len: usize) -> Text {
        Text { name, ptr, len }
    }

    /// The bytes as they are, for documents whose reader judges the encoding itself. NULL with 0 is empty. Errors:
    /// `AS_E_ARGUMENT` for NULL with a length, and for a length that no memory has.
    pub(super) fn bytes(&self) -> Result<&[u8], ApiError> {
        let Text { name, ptr, len } = *self;
        let wrong = |what: &str| Err(ApiError::new(Code::Argument, format!("`{name}` {what}.")));
        match () {
            _ if len == 0 => Ok(&[]),
            _ if ptr.is_null() => wrong("is NULL, but its length is not 0"),
            _ if isize::try_from(len).is_err() => wrong("is longer than any memory"),
            // SAFETY: not NULL, not too long, and good for `len` bytes, as promised to `new`.
            _ => Ok(unsafe { slice::from_raw_parts(ptr, len) }),
        }
    }

    /// The text. Errors: as `bytes`, and `AS_E_UTF8`.
    pub(super) fn str(&self) -> Result<&str, ApiError> {
        str::from_utf8(self.bytes()?).map_err(|error| {
            let (name, at) = (self.name, error.valid_up_to());
            ApiError::new(Code::Utf8, format!("`{name}` is not UTF-8, from byte {at} on."))
        })
    }

    /// The bytes, known to be UTF-8. Errors: as `str`.
    pub(super) fn utf8(&self) -> Result<&[u8], ApiError> {
        self.str().map(str::as_bytes)
    }
}

/// The real-time bound of a wait: -1 for ever, 0 to look only. Errors: `AS_E_ARGUMENT` for anything below -1.
pub(super) fn timeout(timeout_ms: i64) -> Result<i64, ApiError> {
    match timeout_ms {
        -1.. => Ok(timeout_ms),
        _ => Err(ApiError::new(Code::Argument, "`timeout_ms` is below -1, which stands for ever.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn read(ptr: *const u8, len: usize) -> Result<Vec<u8>, (Code, String)> {
        // SAFETY: the tests pass NULL, a length that is refused unread, or a whole literal.
        let text = unsafe { Text::new("config", ptr, len) };
        text.utf8().map(<[u8]>::to_vec).map_err(|e| (e.code, e.message))
    }

    #[test]
    fn null_is_empty_only_without_a_length() {
        assert_eq!(read(ptr::null(), 0), Ok(vec![]));
        assert_eq!(read(b"x".as_ptr(), 0), Ok(vec![]));
        let refused = (Code::Argument, "`config` is NULL, but its length is not 0.".to_owned());
        assert_eq!(read(ptr::null(), 1), Err(refused));
    }

    #[test]
    fn a_length_that_no_memory_has_is_not_read() {
        let refused = (Code::Argument, "`config` is longer than any memory.".to_owned());
        assert_eq!(read(b"x".as_ptr(), usize::MAX), Err(refused.clone()));
        assert_eq!(read(b"x".as_ptr(), isize::MAX as usize + 1), Err(refused));
    }

    #[test]
    fn what_is_not_utf8_says_where() {
        assert_eq!(read(b"a\0\xc3\xa9".as_ptr(), 4), Ok(b"a\0\xc3\xa9".to_vec()), "NUL is a character like others");
        let refused = (Code::Utf8, "`config` is not UTF-8, from byte 2 on.".to_owned());
        assert_eq!(read(b"ab\xff".as_ptr(), 3), Err(refused));
    }

    #[test]
    fn waits_are_bounded_by_what_they_say() {
        assert_eq!(timeout(-1).unwrap(), -1);
        assert_eq!(timeout(0).unwrap(), 0);
        assert_eq!(timeout(i64::MAX).unwrap(), i64::MAX);
        assert_eq!(timeout(-2).unwrap_err().code, Code::Argument);
        assert_eq!(timeout(i64::MIN).unwrap_err().code, Code::Argument);
    }
}
