//! Constants a host asks for before it trusts anything else.

use super::types::*;
use std::ffi::c_char;

/// The ABI of this library, to be held against the `AS_ABI_VERSION` a host was compiled with. A host refuses a library
/// whose number differs.
///
/// Ownership: nothing.
/// Threads: any, at any time, in a forked child as well.
/// Blocking: never.
/// Errors: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_abi_version() -> u32 {
    AS_ABI_VERSION
}

/// The version of this library, such as `0.1.0`.
///
/// Ownership: a static text with a NUL at its end; never freed.
/// Threads: any, at any time, in a forked child as well.
/// Blocking: never.
/// Errors: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The name of a code, such as `AS_E_JSON`; `AS_E_UNKNOWN` for a number this library does not know.
///
/// Ownership: a static text with a NUL at its end; never freed.
/// Threads: any, at any time, in a forked child as well.
/// Blocking: never.
/// Errors: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_code_name(code: as_code) -> *const c_char {
    macro_rules! name_of {
        ($($name:ident)*) => {
            match code {
                $($name => concat!(stringify!($name), "\0"),)*
                _ => "AS_E_UNKNOWN\0",
            }
        };
    }
    name_of!(
        AS_OK AS_E_ARGUMENT AS_E_NULL_HANDLE AS_E_STALE_HANDLE AS_E_WRONG_HANDLE AS_E_UTF8 AS_E_JSON AS_E_DEFINITION
        AS_E_LIMIT AS_E_CLOSED AS_E_SETTLED AS_E_LATE AS_E_NOT_FOUND AS_E_TIMEOUT AS_E_WOULD_DEADLOCK AS_E_FORKED
        AS_E_PANIC
    )
    .as_ptr()
    .cast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Code;
    use std::ffi::CStr;

    fn name(code: as_code) -> String {
        // SAFETY: the texts are static and end with NUL.
        unsafe { CStr::from_ptr(as_code_name(code)) }.to_str().unwrap().to_owned()
    }

    /// The list has one source: `spec/codes.json`, the constants and the core's codes say the same.
    #[test]
    fn codes_are_those_of_the_list() {
        let list: serde_json::Value = serde_json::from_str(include_str!("../../spec/codes.json")).unwrap();
        let list = list["codes"].as_array().unwrap();
        assert_eq!(list.len(), Code::ALL.len() + 1);
        for entry in list {
            assert_eq!(name(entry["number"].as_i64().unwrap() as as_code), entry["name"].as_str().unwrap());
        }
        for &code in Code::ALL {
            assert_eq!(name(code as as_code), code.name());
        }
        assert_eq!(name(1), "AS_E_UNKNOWN");
        assert_eq!(name(i32::MIN), "AS_E_UNKNOWN");
    }
}
