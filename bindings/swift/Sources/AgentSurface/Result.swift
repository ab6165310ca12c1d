import Foundation

/// What came of a call: the result envelope, of which `document` is the whole.
public struct CallResult: Sendable {
  public let document: JSON

  package init(_ document: JSON) { self.document = document }

  public var succeeded: Bool { document["status"]?.string == "ok" }
  /// What the handler returned; nil where it returned nothing, or the call failed.
  public var output: JSON? { document["output"] }
  /// Why the call failed; nil where it did not.
  public var error: CallError? { succeeded ? nil : CallError(self) }
  public var invocationId: String { document["invocationId"]?.string ?? "" }
  public var capabilityId: String { document["capabilityId"]?.string ?? "" }
  /// The confirmation that the call waits for, to be given with the call's repetition.
  public var confirmationId: String? {
    guard let error = document["error"], error["code"]?.string == "CONFIRMATION_REQUIRED" else { return nil }
    return error["details"]?["confirmationId"]?.string
  }

  /// The output as a Swift value. Throws the `CallError` where the call failed.
  public func output<Output: Decodable>(as type: Output.Type = Output.self) throws -> Output {
    if let error { throw error }
    return try decode(type, (output ?? .null).bytes)
  }
}

/// The error in a result: one code of a closed set (`spec/error-matrix.json`), and what an agent may do about it.
public struct CallError: Error, Sendable, CustomStringConvertible {
  public let code: String
  public let message: String
  /// `no`, `yes`, `after-refresh`, `after-delay`, `with-confirmation` or `with-changes`.
  public let retry: String
  public let details: JSON?
  public let result: CallResult

  init(_ result: CallResult) {
    let error = result.document["error"]
    code = error?["code"]?.string ?? ""
    message = error?["message"]?.string ?? ""
    retry = error?["retry"]?.string ?? ""
    details = error?["details"]
    self.result = result
  }

  public var description: String { "\(code): \(message)" }
}

/// What a handler or a policy throws for an agent to see. Any other error is an untyped failure: an agent learns nothing of it, and its
/// text goes to the operator's log.
public struct Refusal: Error, Sendable {
  /// The codes a host may give.
  public enum Code: String, Sendable {
    case notAuthenticated = "NOT_AUTHENTICATED"
    case notAuthorized = "NOT_AUTHORIZED"
    case preconditionFailed = "PRECONDITION_FAILED"
    case notAvailable = "CAPABILITY_NOT_AVAILABLE"
    case rateLimited = "RATE_LIMITED"
    case executionFailed = "EXECUTION_FAILED"
  }

  public let code: Code
  public let message: String
  public let retry: String?
  public let details: JSON?

  /// `retry` only where it is another than the code's own.
  public init(_ code: Code, _ message: String, retry: String? = nil, details: JSON? = nil) {
    (self.code, self.message, self.retry, self.details) = (code, message, retry, details)
  }

  var payload: [UInt8] {
    let document: JSON = .object(["code": JSON(code.rawValue), "message": JSON(message), "retry": retry.map { JSON($0) }, "details": details])
    return document.bytes
  }
}

// MARK: - Codable

/// Any JSON value may stand alone, also a text or a number.
func encode(_ value: some Encodable) throws -> JSON {
  if let json = value as? JSON { return json }
  return try JSON(parsing: Array(JSONEncoder().encode(value)))
}

func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
  if type == JSON.self { return try JSON(parsing: bytes) as! Value }
  return try JSONDecoder().decode(type, from: Data(bytes))
}

extension JSON: Codable {
  public init(from decoder: any Decoder) throws {
    if let members = try? decoder.container(keyedBy: Field.self) {
      self = .object(try members.allKeys.map { ($0.stringValue, try members.decode(JSON.self, forKey: $0)) })
    } else if var items = try? decoder.unkeyedContainer() {
      var array: [JSON] = []
      while !items.isAtEnd { array.append(try items.decode(JSON.self)) }
      self = .array(array)
    } else {
      self = try JSON(scalar: decoder.singleValueContainer())
    }
  }

  private init(scalar: any SingleValueDecodingContainer) throws {
    if scalar.decodeNil() {
      self = .null
    } else if let flag = try? scalar.decode(Bool.self) {
      self = .bool(flag)
    } else if let number = try? scalar.decode(Int64.self) {
      self = .number(String(number))
    } else if let number = try? scalar.decode(UInt64.self) {
      self = .number(String(number))
    } else if let number = try? scalar.decode(Double.self) {
      self = .number(String(number))
    } else {
      self = .string(try scalar.decode(String.self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .null:
      var scalar = encoder.singleValueContainer()
      try scalar.encodeNil()
    case .bool(let flag): try flag.encode(to: encoder)
    case .number(let text):
      if let number = Int64(text) { return try number.encode(to: encoder) }
      if let number = UInt64(text) { return try number.encode(to: encoder) }
      guard let number = Double(text), number.isFinite else {
        throw EncodingError.invalidValue(text, .init(codingPath: encoder.codingPath, debugDescription: "no 64-bit number"))
      }
      try number.encode(to: encoder)
    case .string(let text): try text.encode(to: encoder)
    case .array(let items): try items.encode(to: encoder)
    case .object(let members):
      var container = encoder.container(keyedBy: Field.self)
      for (key, value) in members { try container.encode(value, forKey: Field(stringValue: key)) }
    }
  }

  private struct Field: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}
