//! `spec/vectors/` against the library: the same files that `scripts/vectors.py` recomputes.

use agent_surface::ffi::{
    AS_OK, as_blob, as_blob_free, as_canonical_json, as_code, as_code_name, as_request_digest, as_verify_result,
};
use serde_json::Value;
use std::ffi::CStr;

/// Calls a function with its two output blobs and takes their text.
fn call(f: impl FnOnce(*mut as_blob, *mut as_blob) -> as_code) -> Result<String, String> {
    let empty = || as_blob { ptr: std::ptr::null(), len: 0, opaque: std::ptr::null_mut() };
    let (mut out, mut err) = (empty(), empty());
    let code = f(&mut out, &mut err);
    let text = String::from_utf8(bytes(&out).to_vec()).expect("UTF-8 out");
    // SAFETY: both blobs are the library's or empty, and are freed once; names are static.
    let name = unsafe {
        as_blob_free(&mut out);
        as_blob_free(&mut err);
        CStr::from_ptr(as_code_name(code)).to_str().unwrap()
    };
    if code == AS_OK { Ok(text) } else { Err(name.to_owned()) }
}

fn bytes(blob: &as_blob) -> &[u8] {
    if blob.ptr.is_null() {
        return &[];
    }
    // SAFETY: a filled blob holds `len` bytes until it is freed.
    unsafe { std::slice::from_raw_parts(blob.ptr, blob.len) }
}

fn canonical(json: &str) -> Result<String, String> {
    // SAFETY: the text lives through the call; so do the blobs.
    call(|out, err| unsafe { as_canonical_json(json.as_ptr(), json.len(), out, err) })
}

fn request_digest(capability: &str, input: &str) -> Result<String, String> {
    let (c, i) = (capability, input);
    // SAFETY: as above.
    call(|out, err| unsafe { as_request_digest(c.as_ptr(), c.len(), i.as_ptr(), i.len(), out, err) })
}

fn verify(result: &str, request: &str) -> Result<String, String> {
    let (r, q) = (result, request);
    // SAFETY: as above.
    call(|out, err| unsafe { as_verify_result(r.as_ptr(), r.len(), q.as_ptr(), q.len(), out, err) })
}

/// The SHA-256 of a canonical text, by way of the one digest the ABI offers: a result's output digest.
fn output_digest_holds(output: &str, digest: &str) -> bool {
    let issued = request_digest("view:a.b", "").unwrap();
    let result = format!(
        r#"{{"status":"ok","invocationId":"i","capabilityId":"view:a.b","issuedDigest":"{issued}","output":{output},"outputDigest":"{digest}","surfaceVersion":"0"}}"#
    );
    let report: Value = serde_json::from_str(&verify(&result, r#"{"capabilityId":"view:a.b"}"#).unwrap()).unwrap();
    report["checks"]["outputDigest"].as_bool().unwrap()
}

fn vectors(file: &str) -> Value {
    let path = format!("{}/spec/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn each(list: &Value) -> &[Value] {
    let list = list.as_array().unwrap();
    assert!(!list.is_empty());
    list
}

fn text<'a>(vector: &'a Value, key: &str) -> &'a str {
    vector[key].as_str().unwrap()
}

/// AS-CONFIRM-002: different values never share an encoding, equal ones always do.
#[test]
fn canonical_form() {
    let file = vectors("canonical.json");
    for v in each(&file["accepted"]) {
        let expected = text(v, "canonical");
        assert_eq!(canonical(text(v, "json")).as_deref(), Ok(expected), "{}", v["name"]);
        assert_eq!(canonical(expected).as_deref(), Ok(expected), "{} read back", v["name"]);
    }
    for v in each(&file["refused"]) {
        assert_eq!(canonical(text(v, "json")), Err(text(v, "code").to_owned()), "{}", v["name"]);
    }
}

/// AS-BINDING-001, AS-BINDING-002: one formula for both digests of a request.
#[test]
fn request_digests() {
    for v in each(&vectors("digests.json")["requests"]) {
        let input = v["input"].as_str().unwrap_or("");
        assert_eq!(request_digest(text(v, "capabilityId"), input).as_deref(), Ok(text(v, "digest")), "{}", v["name"]);
    }
}

/// AS-BINDING-004: the digest of an output.
#[test]
fn output_digests() {
    for v in each(&vectors("digests.json")["outputs"]) {
        assert!(output_digest_holds(text(v, "output"), text(v, "digest")), "{}", v["name"]);
        assert!(!output_digest_holds("\"another\"", text(v, "digest")), "{}", v["name"]);
    }
}

/// AS-BINDING-004: what a verifier reports, check by check.
#[test]
fn verified_results() {
    for v in each(&vectors("results.json")) {
        let report = verify(text(v, "result"), text(v, "request")).unwrap();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["checks"], v["checks"], "{}", v["name"]);
        assert_eq!(report["valid"], v["valid"], "{}", v["name"]);
        assert_eq!(report.get("reason").is_some(), v["valid"] == false, "{}", v["name"]);
    }
}

/// AS-IDENT-002: the fingerprint of a request is taken over this text.
#[test]
fn fingerprints() {
    for v in each(&vectors("fingerprints.json")) {
        let request: Value = serde_json::from_str(text(v, "request")).unwrap();
        let of = |key: &str| request.get(key).cloned().unwrap_or(Value::Null);
        let document: Value =
            ["capabilityId", "registrationId", "instanceId", "surfaceVersion", "input", "confirmationId"]
                .into_iter()
                .map(|key| (key.to_owned(), of(key)))
                .collect::<serde_json::Map<_, _>>()
                .into();
        let canonical = canonical(&document.to_string()).unwrap();
        assert_eq!(canonical, text(v, "canonical"), "{}", v["name"]);
        let hash = agent_surface::json::fnv1a64(canonical.as_bytes());
        assert_eq!(format!("{hash:016x}"), text(v, "fnv1a64"), "{}", v["name"]);
        let sha = agent_surface::json::digest(canonical.as_bytes());
        assert_eq!(sha, format!("sha256:{}", text(v, "sha256")), "{}", v["name"]);
    }
}
