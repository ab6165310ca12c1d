// Whether a file is valid against the page: every field known, of its type, and every reference to a name that exists.

import AgentSurface
import Foundation

enum Page {
  enum Kind {
    case document, name, text, integer, index, flag, texts, object, scripts, answers, summary, matcher
    case word([String])
  }

  typealias Field = (name: String, kind: Kind, required: Bool)

  private static func must(_ name: String, _ kind: Kind) -> Field { (name, kind, true) }
  private static func may(_ name: String, _ kind: Kind) -> Field { (name, kind, false) }

  private static let phases = ["onDiscovery", "onAuthorize", "onInvoke", "onResult", "discovery", "authorize", "invoke", "result"]

  /// The table of steps. `expect` and `code` belong to every step and stand apart.
  static func fields(of step: String) -> [Field]? {
    switch step {
    case "register":
      [
        may("as", .name), must("definition", .document), may("handlers", .scripts), may("when", .answers), may("bind", .answers),
        may("describe", .answers), may("precondition", .answers),
      ]
    case "update": [must("registration", .name), must("patch", .document)]
    case "invalidate", "unregister": [must("registration", .name)]
    case "swap": [must("registration", .name), must("handlers", .scripts)]
    case "invoke":
      [may("as", .name), must("request", .document), may("consumer", .document), may("timeoutMs", .document), may("deadlineMs", .document)]
    case "await", "unsettled", "cancel": [must("invocation", .name)]
    case "finish": [must("token", .name), may("index", .index), may("return", .document), may("reject", .document), may("fail", .text)]
    case "decide": [must("token", .name), may("index", .index), may("allow", .flag), may("deny", .document), may("confirm", .summary)]
    case "aborted": [must("token", .name), may("index", .index)]
    case "advance": [must("ms", .integer)]
    case "set": [must("var", .name), must("to", .document)]
    case "confirm": [must("id", .document), may("approve", .flag), may("reason", .document)]
    case "pending": [may("as", .name)]
    case "snapshot", "explain":
      [may("as", .name), may("consumer", .document), may("scope", .document), may("includeUnavailable", .document), may("budget", .document)]
    case "version", "dispose": []
    case "events", "audit": [may("mode", .word(["exact", "subsequence"])), may("types", .texts), may("count", .matcher)]
    case "calls": [must("handler", .name)]
    case "contexts": [must("policy", .name), may("phase", .word(phases))]
    case "toolset": [may("as", .name), may("options", .document)]
    case "tools": [must("toolset", .name), may("format", .text)]
    case "call":
      [must("toolset", .name), must("name", .document), may("input", .document), may("toolCallId", .document), may("as", .name)]
    case "disposeToolset": [must("toolset", .name)]
    case "verify": [must("result", .document), must("request", .document)]
    case "outcome": [may("consumer", .document), must("id", .document)]
    case "closeConsumer": [must("consumer", .document)]
    default: nil
    }
  }

  static func check(_ scenario: JSON) throws {
    try known(scenario, ["name", "requirements", "registry", "policies", "executor", "vars", "steps"], "", "a scenario")
    try check(scenario["name"], .name, "/name", required: true)
    for field in ["registry", "vars"] { try check(scenario[field], .object, "/" + field) }
    guard let list = scenario["steps"] else { throw fault("/steps", "missing") }
    for (name, policy) in try members(scenario["policies"] ?? [:], "/policies") { try check(policy: policy, join("/policies", name)) }
    if let executor = scenario["executor"] { try check(executor: executor) }
    try check(steps: list, "/steps", nested: false)
    let given = Set(aliases(scenario))
    for field in ["registry", "policies", "executor", "vars", "steps"] {
      if let name = scenario[field].map(References.names)?.first(where: { !given.contains($0) }) {
        throw fault("/" + field, "unresolved reference: no step is `as` \"\(name)\"")
      }
    }
  }

  private static func check(policy: JSON, _ at: String) throws {
    for (hook, script) in try members(policy, at) {
      let place = join(at, hook)
      switch hook {
      case "onDiscovery": try check(answer: script, place)
      case "onAuthorize": try check(decision: script, place, confirms: false)
      case "onInvoke": try check(decision: script, place, confirms: true)
      case "onResult":
        let (key, value) = try only(script, place)
        if key != "output" && !(key == "observe" && value == true) { throw fault(join(place, key), "`output` or `observe` wanted") }
      default: throw fault(place, "no such hook of a policy")
      }
    }
  }

  private static func check(executor: JSON) throws {
    try known(executor, ["paths", "script", "scripts"], "/executor", "the executor")
    try check(executor["paths"], .texts, "/executor/paths", required: true)
    if (executor["script"] == nil) == (executor["scripts"] == nil) { throw fault("/executor", "either `script` or `scripts` wanted") }
    if let script = executor["script"] { try check(script: script, "/executor/script") }
    try check(executor["scripts"], .scripts, "/executor/scripts")
  }

  private static func check(steps: JSON, _ at: String, nested: Bool) throws {
    guard case .array(let items) = steps else { throw fault(at, "an array of steps wanted") }
    for (i, item) in items.enumerated() { try check(step: item, "\(at)/\(i)", nested: nested) }
  }

  private static func check(step: JSON, _ at: String, nested: Bool) throws {
    _ = try members(step, at)
    guard let action = step["do"]?.string else { throw fault(join(at, "do"), "a step's name wanted") }
    guard let fields = fields(of: action) else { throw fault(join(at, "do"), "no such step: \(action)") }
    try known(step, ["do", "expect", "code"] + fields.map(\.name), at, "`\(action)`")
    for field in fields { try check(step[field.name], field.kind, join(at, field.name), required: field.required) }
    for field in ["expect", "code"] { try check(step[field], .matcher, join(at, field)) }
    if step["expect"] != nil && step["code"] != nil { throw fault(join(at, "code"), "`code` stands instead of `expect`") }
    if nested && step["expect"] != nil && ["invoke", "await", "call"].contains(action) {
      throw fault(join(at, "expect"), "nothing waits for a result inside `doing`")
    }
    let choices = ["finish": ["return", "reject", "fail"], "decide": ["allow", "deny", "confirm"]][action] ?? []
    if !choices.isEmpty && choices.filter({ step[$0] != nil }).count != 1 {
      throw fault(at, "exactly one of \(choices.joined(separator: ", ")) wanted")
    }
    if step["allow"] == false { throw fault(join(at, "allow"), "only `true` here; `deny` refuses") }
  }

  private static func check(_ value: JSON?, _ kind: Kind, _ at: String, required: Bool = false) throws {
    guard let value else {
      if required { throw fault(at, "missing") }
      return
    }
    let isReference = value.string.flatMap(References.path) != nil
    let (fits, wanted): (Bool, String)
    switch kind {
    case .scripts: return try members(value, at).forEach { try check(script: $0.value, join(at, $0.key)) }
    case .answers: return try members(value, at).forEach { try check(answer: $0.value, join(at, $0.key)) }
    case _ where isReference: return
    case .summary: return try check(summary: value, at)
    case .matcher: return try check(matcher: value, at)
    case .document: return
    case .name: (fits, wanted) = (value.string.map { !$0.isEmpty } ?? false, "a name")
    case .text: (fits, wanted) = (value.string != nil, "a string")
    case .integer: (fits, wanted) = (value.int != nil, "an integer")
    case .index: (fits, wanted) = (value.int.map { $0 >= 0 } ?? false, "an integer from 0")
    case .flag: (fits, wanted) = (value.bool != nil, "true or false")
    case .texts:
      let isArray = if case .array = value { true } else { false }
      (fits, wanted) = (isArray && value.items.allSatisfy { $0.string != nil }, "an array of strings")
    case .object:
      let isObject = if case .object = value { true } else { false }
      (fits, wanted) = (isObject, "an object")
    case .word(let words): (fits, wanted) = (value.string.map(words.contains) ?? false, "another word")
    }
    if !fits { throw fault(at, "\(wanted) wanted") }
  }

  // MARK: Scripts

  private static func check(script: JSON, _ at: String) throws {
    if let steps = script["doing"] {
      if let other = script.members.first(where: { $0.key != "doing" && $0.key != "then" }) {
        throw fault(join(at, other.key), "nothing but `doing` and `then` here")
      }
      guard let then = script["then"] else { throw fault(at, "`doing` needs a `then`") }
      try check(steps: steps, at + "/doing", nested: true)
      return try check(script: then, at + "/then")
    }
    let (key, value) = try only(script, at)
    let place = join(at, key)
    switch key {
    case "return", "reject": return
    case "echo", "confirmation", "none": try yes(value, place)
    case "var", "fail", "raw", "pend": try check(text: value, place)
    case "sequence":
      guard case .array(let items) = value else { throw fault(place, "an array of scripts wanted") }
      if items.isEmpty { throw fault(place, "at least one script wanted") }
      for (i, item) in items.enumerated() { try check(script: item, "\(place)/\(i)") }
    default: throw fault(place, "no such handler script")
    }
  }

  private static func check(answer: JSON, _ at: String) throws {
    let (key, value) = try only(answer, at)
    let place = join(at, key)
    switch key {
    case "const": return
    case "var": try check(text: value, place)
    case "fail": try yes(value, place)
    default: throw fault(place, "`const`, `var` or `fail` wanted")
    }
  }

  static func check(decision: JSON, _ at: String, confirms: Bool) throws {
    let (key, value) = try only(decision, at)
    let place = join(at, key)
    switch key {
    case "allow", "fail": try yes(value, place)
    case "deny": return
    case "confirm":
      if !confirms { throw fault(place, "`confirm` belongs to onInvoke only") }
      try check(summary: value, place)
    case "pend", "var": try check(text: value, place)
    default: throw fault(place, "`allow`, `deny`, `confirm`, `pend`, `fail` or `var` wanted")
    }
  }

  private static func check(summary: JSON, _ at: String) throws {
    if let other = try members(summary, at).first(where: { $0.key != "summary" }) { throw fault(join(at, other.key), "only `summary` here") }
    if let summary = summary["summary"], summary.string == nil { throw fault(at + "/summary", "a string wanted") }
  }

  private static func check(matcher: JSON, _ at: String) throws {
    for (i, item) in matcher.items.enumerated() { try check(matcher: item, "\(at)/\(i)") }
    for (key, argument) in matcher.members where key != "$exact" {
      if argument.string.flatMap(References.path) != nil { continue }
      let fits =
        switch key {
        case "$any", "$absent": argument == true
        case "$match": argument.string.map { (try? NSRegularExpression(pattern: $0)) != nil } ?? false
        case "$type": argument.string.map(Matcher.types.contains) ?? false
        case "$len": argument.int.map { $0 >= 0 } ?? false
        case "$oneOf": if case .array = argument { true } else { false }
        default: true
        }
      if !fits { throw fault(join(at, key), "\(key) cannot have \(short(argument))") }
      try check(matcher: argument, join(at, key))
    }
  }

  // MARK: Small things

  private static func only(_ json: JSON, _ at: String) throws -> (String, JSON) {
    let members = try members(json, at)
    guard members.count == 1 else { throw fault(at, "a script with exactly one key wanted") }
    return (members[0].key, members[0].value)
  }

  private static func yes(_ value: JSON, _ at: String) throws { if value != true { throw fault(at, "only `true` here") } }

  private static func check(text value: JSON, _ at: String) throws { if value.string == nil { throw fault(at, "a string wanted") } }

  private static func known(_ json: JSON, _ names: [String], _ at: String, _ what: String) throws {
    if let other = try members(json, at).first(where: { !names.contains($0.key) }) {
      throw fault(join(at, other.key), "unknown field of \(what)")
    }
  }

  private static func members(_ json: JSON, _ at: String) throws -> [(key: String, value: JSON)] {
    guard case .object(let members) = json else { throw fault(at, "an object wanted") }
    return members
  }

  private static func aliases(_ json: JSON) -> [String] {
    let own = json["do"] == nil ? [] : [json["as"]?.string].compactMap { $0 }
    return own + json.items.flatMap(aliases) + json.members.flatMap { aliases($0.value) }
  }

  private static func fault(_ at: String, _ what: String) -> Complaint { Complaint("at \(at.isEmpty ? "the top" : at): \(what)") }
}
