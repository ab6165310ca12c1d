/// Binding a result to its request. Needs no surface: a verifier may be another process, another language, another year.
public enum Verify {
  /// The canonical text of a document (RFC 8785, integers of 64 bits exact): equal documents, and only those, have the same text.
  public static func canonical(_ json: JSON) throws -> String { String(decoding: try Native.canonicalJSON(json.bytes), as: UTF8.self) }

  /// `sha256:…` over canonical `{capabilityId, input}`; no input is `{}`.
  public static func digest(_ capabilityId: String, input: JSON? = nil) throws -> String {
    try Native.requestDigest(capabilityId, input?.bytes ?? [])
  }

  /// `{valid, checks, reason?}` of `{capabilityId, input?, effectiveInput?, invocationId?, registrationId?, instanceId?}`.
  public static func report(_ result: CallResult, request: JSON) throws -> JSON { try Native.verifyResult(result.document, request) }
}
