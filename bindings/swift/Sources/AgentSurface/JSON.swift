/// A JSON value. Numbers keep their text and objects their order, so that what comes from the library goes back unchanged: an
/// integer of 64 bits is exact, which a value with `Double` inside cannot promise.
///
/// Two values are equal when they say the same: numbers by what they are worth, objects whatever the order of their members, texts
/// code point by code point (not by Unicode equivalence, as Swift compares strings).
public enum JSON: Sendable {
  case null
  case bool(Bool)
  /// The text of a number, as JSON writes it.
  case number(String)
  case string(String)
  case array([JSON])
  case object([(key: String, value: JSON)])
}

extension JSON {
  public var string: String? { if case .string(let text) = self { text } else { nil } }
  public var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }
  public var int: Int64? { if case .number(let text) = self { Int64(text) } else { nil } }
  public var double: Double? { if case .number(let text) = self { Double(text) } else { nil } }
  public var items: [JSON] { if case .array(let items) = self { items } else { [] } }
  public var members: [(key: String, value: JSON)] { if case .object(let members) = self { members } else { [] } }

  /// A member of an object.
  public subscript(key: String) -> JSON? { members.first { identical($0.key, key) }?.value }

  /// An element of an array.
  public subscript(index: Int) -> JSON? { items.indices.contains(index) ? items[index] : nil }

  /// Sets a member of an object; nil removes it.
  public mutating func set(_ key: String, _ value: JSON?) {
    var members = self.members
    if let place = members.firstIndex(where: { identical($0.key, key) }) {
      if let value { members[place].value = value } else { members.remove(at: place) }
    } else if let value {
      members.append((key, value))
    }
    self = .object(members)
  }

  /// An object of those members that are there.
  public static func object(_ members: KeyValuePairs<String, JSON?>) -> JSON {
    .object(members.compactMap { member in member.value.map { (member.key, $0) } })
  }
}

extension JSON: Equatable {
  public static func == (a: JSON, b: JSON) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.number(let a), .number(let b)): sameNumber(a, b)
    case (.string(let a), .string(let b)): identical(a, b)
    case (.array(let a), .array(let b)): a == b
    case (.object(let members), .object(let others)):
      members.count == others.count && members.allSatisfy { b[$0.key] == $0.value }
    default: false
    }
  }
}

func identical(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }

private func sameNumber(_ a: String, _ b: String) -> Bool {
  switch (Int64(a), Int64(b)) {
  case (let a?, let b?): a == b
  case (let whole?, nil): sameAsDouble(whole, b)
  case (nil, let whole?): sameAsDouble(whole, a)
  case (nil, nil): a == b || (!(isInteger(a) && isInteger(b)) && Double(a) != nil && Double(a) == Double(b))
  }
}

private func isInteger(_ text: String) -> Bool { text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) } }

/// Exactly, since a cast alone would call 2^53 + 1 and 2^53 the same.
private func sameAsDouble(_ whole: Int64, _ text: String) -> Bool { Double(text).flatMap { Int64(exactly: $0) } == whole }

// MARK: - Literals

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral flag: Bool) { self = .bool(flag) }
  public init(integerLiteral number: Int64) { self = .number(String(number)) }
  public init(floatLiteral number: Double) { self = .number(String(number)) }
  public init(stringLiteral text: String) { self = .string(text) }
  public init(arrayLiteral items: JSON...) { self = .array(items) }
  public init(dictionaryLiteral members: (String, JSON)...) { self = .object(members.map { ($0.0, $0.1) }) }
}

extension JSON {
  public init(_ text: String) { self = .string(text) }
  public init(_ flag: Bool) { self = .bool(flag) }
  public init(_ number: some BinaryInteger) { self = .number(String(number)) }
}

// MARK: - Writing

extension JSON: CustomStringConvertible {
  /// Compact JSON.
  public var description: String {
    var out = ""
    write(to: &out)
    return out
  }

  /// Compact JSON in UTF-8.
  public var bytes: [UInt8] { Array(description.utf8) }

  private func write(to out: inout String) {
    switch self {
    case .null: out += "null"
    case .bool(let flag): out += flag ? "true" : "false"
    case .number(let text): out += text
    case .string(let text): JSON.write(text, to: &out)
    case .array(let items):
      out += "["
      for (i, item) in items.enumerated() {
        if i > 0 { out += "," }
        item.write(to: &out)
      }
      out += "]"
    case .object(let members):
      out += "{"
      for (i, member) in members.enumerated() {
        if i > 0 { out += "," }
        JSON.write(member.key, to: &out)
        out += ":"
        member.value.write(to: &out)
      }
      out += "}"
    }
  }

  private static func write(_ text: String, to out: inout String) {
    out += "\""
    for c in text.unicodeScalars {
      switch c {
      case "\"": out += "\\\""
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case _ where c.value < 0x20 || c.value == 0x7f:
        let digits = String(c.value, radix: 16)
        out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: out.unicodeScalars.append(c)
      }
    }
    out += "\""
  }
}
