//! Binding a result to its request: what anyone can check who holds both, without a registry.

use super::blob::Out;
use super::guard;
use super::text::Text;
use super::types::*;
use crate::surface;

/// The canonical form of a JSON document (RFC 8785, integers of 64 bits exact): equal documents, and only those, have
/// the same text.
///
/// Ownership: `json` is copied; `out` is the caller's, freed with `as_blob_free`.
/// Threads: any. No registry is needed.
/// Blocking: no.
/// Errors: `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT` (too large), `AS_E_ARGUMENT` (`out` NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_canonical_json(
    json: *const u8,
    json_len: usize,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (json, out, err) = unsafe { (Text::new("json", json, json_len), Out::new("out", out), Out::new("err", err)) };
    guard::run(0, err, || {
        let out = out.required()?;
        out.text(surface::canonical_json(json.utf8()?)?);
        Ok(())
    })
}

/// The digest of a request: `sha256:` and the hexadecimal SHA-256 of canonical `{capabilityId, input}`. `input` is a
/// JSON document; an empty text is absent input, which is `{}`. Over the input as issued this is the `issuedDigest` of a
/// result, over the effective input its `requestDigest`.
///
/// Ownership: both texts are copied; `out` is the caller's, freed with `as_blob_free`.
/// Threads: any. No registry is needed.
/// Blocking: no.
/// Errors: `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_ARGUMENT` (`out` NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_request_digest(
    capability_id: *const u8,
    capability_id_len: usize,
    input: *const u8,
    input_len: usize,
    out: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (capability_id, input, out, err) = unsafe {
        (
            Text::new("capability_id", capability_id, capability_id_len),
            Text::new("input", input, input_len),
            Out::new("out", out),
            Out::new("err", err),
        )
    };
    guard::run(0, err, || {
        let out = out.required()?;
        out.text(surface::request_digest(capability_id.utf8()?, input.utf8()?)?);
        Ok(())
    })
}

/// Checks that a result belongs to a request. `result` is a result envelope, `request` is `{capabilityId, input?,
/// effectiveInput?, invocationId?, registrationId?, instanceId?}`; the report is `{valid, checks: {…: bool}, reason?}`,
/// `valid` when all that is given matches. A mismatch is in the report, not in the code.
///
/// Ownership: both texts are copied; `report` is the caller's, freed with `as_blob_free`.
/// Threads: any. No registry is needed.
/// Blocking: no.
/// Errors: `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_ARGUMENT` (no result envelope, an unknown field, `report` NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn as_verify_result(
    result: *const u8,
    result_len: usize,
    request: *const u8,
    request_len: usize,
    report: *mut as_blob,
    err: *mut as_blob,
) -> as_code {
    // SAFETY: the caller's promise, see mod.rs.
    let (result, request, report, err) = unsafe {
        (
            Text::new("result", result, result_len),
            Text::new("request", request, request_len),
            Out::new("report", report),
            Out::new("err", err),
        )
    };
    guard::run(0, err, || {
        let report = report.required()?;
        report.text(surface::verify_result(result.utf8()?, request.utf8()?)?);
        Ok(())
    })
}
