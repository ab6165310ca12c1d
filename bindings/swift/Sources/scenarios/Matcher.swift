// Matching: objects as subsets, arrays element by element and in length, scalars exactly, and the `$` matchers. What is seen may be nil, a
// member that is not there, so that `$absent` needs no case of its own.

import AgentSurface
import Foundation

enum Matcher {
  static let names: Set = ["$exact", "$any", "$absent", "$match", "$type", "$len", "$oneOf", "$contains", "$not"]
  static let types: Set = ["null", "boolean", "number", "integer", "string", "array", "object"]

  static func check(_ expected: JSON, _ seen: JSON?, at pointer: String = "") throws {
    switch expected {
    case .object(let members):
      let matchers = members.filter { names.contains($0.key) }
      let plain = members.filter { !names.contains($0.key) }
      for (name, argument) in matchers { try special(name, argument, seen, pointer) }
      if !matchers.isEmpty && plain.isEmpty { return }
      guard case .object? = seen else { throw differs(pointer, short(expected), seen) }
      for (key, wanted) in plain { try check(wanted, seen?[key], at: join(pointer, key)) }
    case .array(let wanted):
      guard case .array(let items)? = seen else { throw differs(pointer, short(expected), seen) }
      if items.count != wanted.count { throw differs(pointer, "\(wanted.count) elements \(short(expected))", seen) }
      for (i, item) in items.enumerated() { try check(wanted[i], item, at: "\(pointer)/\(i)") }
    default:
      if seen != expected { throw differs(pointer, short(expected), seen) }
    }
  }

  /// Each expectation finds an element, in this order, other elements in between being of no interest.
  static func subsequence(_ expected: [JSON], _ seen: [JSON]) throws {
    var rest = seen[...]
    for (i, wanted) in expected.enumerated() {
      guard let place = rest.firstIndex(where: { matches(wanted, $0) }) else {
        let after = i == 0 ? "" : " after the first \(i) expected ones"
        let list = seen.map { short($0["type"] ?? $0) }.joined(separator: ", ")
        throw Complaint("expected \(short(wanted))\(after), saw \(seen.count) elements [\(list)]")
      }
      rest = rest[(place + 1)...]
    }
  }

  private static func matches(_ expected: JSON, _ seen: JSON?) -> Bool { (try? check(expected, seen)) != nil }

  private static func special(_ name: String, _ argument: JSON, _ seen: JSON?, _ pointer: String) throws {
    let holds =
      switch name {
      case "$exact": seen == argument
      case "$any": seen != nil
      case "$absent": seen == nil
      case "$match": try found(argument, seen)
      case "$type": seen.map { isType($0, argument.string ?? "") } ?? false
      case "$len": seen.flatMap(length).map { JSON($0) == argument } ?? false
      case "$oneOf": argument.items.contains { matches($0, seen) }
      case "$contains": seen?.items.contains { matches(argument, $0) } ?? false
      default: !matches(argument, seen)
      }
    if !holds { throw differs(pointer, "{\"\(name)\":\(short(argument))}", seen) }
  }

  private static func found(_ pattern: JSON, _ seen: JSON?) throws -> Bool {
    guard let pattern = pattern.string, let text = seen?.string else { return false }
    guard let expression = try? NSRegularExpression(pattern: pattern) else { throw Complaint("bad pattern \(pattern)") }
    return expression.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)) != nil
  }

  private static func isType(_ seen: JSON, _ name: String) -> Bool {
    switch (name, seen) {
    case ("null", .null), ("boolean", .bool), ("number", .number), ("string", .string), ("array", .array), ("object", .object): true
    case ("integer", .number(let text)): Double(text).map { $0.rounded() == $0 } ?? false
    default: false
    }
  }

  private static func length(_ seen: JSON) -> Int? {
    switch seen {
    case .array(let items): items.count
    case .object(let members): members.count
    case .string(let text): text.unicodeScalars.count
    default: nil
    }
  }

  private static func differs(_ pointer: String, _ expected: String, _ seen: JSON?) -> Complaint {
    Complaint("\(pointer.isEmpty ? "" : "at \(pointer) ")expected \(expected), saw \(seen.map(short) ?? "nothing")")
  }
}

func join(_ pointer: String, _ segment: String) -> String {
  pointer + "/" + segment.replacingOccurrences(of: "~", with: "~0").replacingOccurrences(of: "/", with: "~1")
}

/// Short enough for a line of the report.
func short(_ json: JSON) -> String {
  let text = json.description
  return text.unicodeScalars.count > 400 ? String(String.UnicodeScalarView(text.unicodeScalars.prefix(400))) + "…" : text
}
