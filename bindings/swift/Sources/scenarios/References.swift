// References: the string "$i1.error.code" stands for that value of an earlier `as`; "$$x" is the literal "$x".

import AgentSurface

enum References {
  /// The reference in a string, without its `$`; nil for ordinary text and for an escaped `$$`.
  static func path(_ text: String) -> String? {
    text.hasPrefix("$") && !text.hasPrefix("$$") ? String(text.dropFirst()) : nil
  }

  /// The same document with every reference replaced. Keys are never references.
  static func resolve(_ json: JSON, _ lookup: (String) throws -> JSON) throws -> JSON {
    switch json {
    case .string(let text):
      if let path = path(text) { return try follow(path, lookup) }
      return text.hasPrefix("$") ? .string(String(text.dropFirst())) : json
    case .array(let items): return .array(try items.map { try resolve($0, lookup) })
    case .object(let members): return .object(try members.map { ($0.key, try resolve($0.value, lookup)) })
    default: return json
    }
  }

  /// The names that a document refers to.
  static func names(_ json: JSON) -> [String] {
    switch json {
    case .string(let text): path(text).map { [head($0)] } ?? []
    case .array(let items): items.flatMap(names)
    case .object(let members): members.flatMap { names($0.value) }
    default: []
    }
  }

  private static func follow(_ path: String, _ lookup: (String) throws -> JSON) throws -> JSON {
    var value: JSON
    do { value = try lookup(head(path)) } catch { throw Complaint("unresolved reference \"$\(path)\": \(error)") }
    for segment in path.split(separator: ".", omittingEmptySubsequences: false).dropFirst() {
      let child = if case .array = value { Int(segment).flatMap { value[$0] } } else { value[String(segment)] }
      guard let child else { throw Complaint("unresolved reference \"$\(path)\": no `\(segment)` in \(short(value))") }
      value = child
    }
    return value
  }

  private static func head(_ path: String) -> String { String(path.prefix { $0 != "." }) }
}
