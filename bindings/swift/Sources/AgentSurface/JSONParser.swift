extension JSON {
  /// Why a text is not JSON, and where.
  public struct ParseError: Error, CustomStringConvertible {
    public let description: String
  }

  /// Reads strict JSON (RFC 8259).
  public init(parsing text: String) throws(ParseError) { try self.init(parsing: Array(text.utf8)) }

  /// Reads strict JSON in UTF-8.
  public init(parsing bytes: [UInt8]) throws(ParseError) {
    var parser = JSONParser(bytes)
    self = try parser.document()
  }
}

private struct JSONParser {
  /// Deeper than the library goes (128), and shallow enough for a thread's stack.
  static let maxDepth = 1024

  let bytes: [UInt8]
  var at = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func document() throws(JSON.ParseError) -> JSON {
    let value = try value(0)
    space()
    if at < bytes.count { throw fault("text after the document") }
    return value
  }

  private mutating func value(_ depth: Int) throws(JSON.ParseError) -> JSON {
    if depth > JSONParser.maxDepth { throw fault("too deep") }
    space()
    switch peek() ?? 0 {
    case UInt8(ascii: "{"): return try object(depth)
    case UInt8(ascii: "["): return try array(depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: return try word()
    }
  }

  private mutating func object(_ depth: Int) throws(JSON.ParseError) -> JSON {
    var members: [(key: String, value: JSON)] = []
    at += 1
    if take("}") { return .object(members) }
    while true {
      space()
      let key = try string()
      try expect(":")
      members.append((key, try value(depth + 1)))
      if !take(",") {
        try expect("}")
        return .object(members)
      }
    }
  }

  private mutating func array(_ depth: Int) throws(JSON.ParseError) -> JSON {
    var items: [JSON] = []
    at += 1
    if take("]") { return .array(items) }
    while true {
      items.append(try value(depth + 1))
      if !take(",") {
        try expect("]")
        return .array(items)
      }
    }
  }

  private mutating func string() throws(JSON.ParseError) -> String {
    try expect("\"")
    var out: [UInt8] = []
    while true {
      guard let byte = peek() else { throw fault("a string without end") }
      at += 1
      switch byte {
      case UInt8(ascii: "\""):
        return String(decoding: out, as: UTF8.self)
      case UInt8(ascii: "\\"): try escape(into: &out)
      case 0..<0x20: throw fault("a control character in a string")
      default: out.append(byte)
      }
    }
  }

  private mutating func escape(into out: inout [UInt8]) throws(JSON.ParseError) {
    guard let kind = peek() else { throw fault("a string without end") }
    at += 1
    switch kind {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): out.append(kind)
    case UInt8(ascii: "b"): out.append(8)
    case UInt8(ascii: "f"): out.append(12)
    case UInt8(ascii: "n"): out.append(10)
    case UInt8(ascii: "r"): out.append(13)
    case UInt8(ascii: "t"): out.append(9)
    case UInt8(ascii: "u"): out.append(contentsOf: String(try codePoint()).utf8)
    default: throw fault("an unknown escape")
    }
  }

  private mutating func codePoint() throws(JSON.ParseError) -> Unicode.Scalar {
    let first = try codeUnit()
    var value = UInt32(first)
    if (0xd800..<0xdc00).contains(first), peek() == UInt8(ascii: "\\"), at + 1 < bytes.count, bytes[at + 1] == UInt8(ascii: "u") {
      at += 2
      let second = try codeUnit()
      guard (0xdc00..<0xe000).contains(second) else { throw fault("a lone surrogate") }
      value = 0x10000 + ((UInt32(first) - 0xd800) << 10) + (UInt32(second) - 0xdc00)
    }
    guard let scalar = Unicode.Scalar(value) else { throw fault("a lone surrogate") }
    return scalar
  }

  private mutating func codeUnit() throws(JSON.ParseError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek(), byte < 0x80, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw fault("four hexadecimal digits wanted")
      }
      unit = unit << 4 | UInt16(digit)
      at += 1
    }
    return unit
  }

  private mutating func number() throws(JSON.ParseError) -> JSON {
    let start = at
    skip("-")
    if !skip("0") { try digits() }
    if skip(".") { try digits() }
    if skip("e") || skip("E") {
      if !skip("+") { skip("-") }
      try digits()
    }
    return .number(String(decoding: bytes[start..<at], as: UTF8.self))
  }

  private mutating func digits() throws(JSON.ParseError) {
    let start = at
    while let byte = peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { at += 1 }
    if at == start { throw fault("a digit wanted") }
  }

  private mutating func word() throws(JSON.ParseError) -> JSON {
    let words: [(StaticString, JSON)] = [("null", .null), ("true", .bool(true)), ("false", .bool(false))]
    for (word, value) in words {
      let text = Array("\(word)".utf8)
      if bytes[at...].starts(with: text) {
        at += text.count
        return value
      }
    }
    throw fault("a value wanted")
  }

  private mutating func space() {
    while let byte = peek(), [0x20, 0x0a, 0x0d, 0x09].contains(byte) { at += 1 }
  }

  private func peek() -> UInt8? { at < bytes.count ? bytes[at] : nil }

  @discardableResult
  private mutating func skip(_ c: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(ascii: c) else { return false }
    at += 1
    return true
  }

  private mutating func take(_ c: Unicode.Scalar) -> Bool {
    space()
    return skip(c)
  }

  private mutating func expect(_ c: Unicode.Scalar) throws(JSON.ParseError) {
    if !take(c) { throw fault("`\(c)` wanted") }
  }

  private func fault(_ what: String) -> JSON.ParseError {
    let before = bytes[..<min(at, bytes.count)]
    let line = before.filter { $0 == 0x0a }.count + 1
    let column = before.reversed().prefix { $0 != 0x0a }.count + 1
    return JSON.ParseError(description: "\(what) at line \(line), column \(column)")
  }
}
