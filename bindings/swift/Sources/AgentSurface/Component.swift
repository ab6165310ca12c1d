/// A part of the application as agents see it: what can be read and done there, and the closures that do it.
///
/// A value: it goes live with `Surface.register`, and what it offers is frozen from then on. Handlers are async and may run at the same
/// time; `concurrency` in a definition's `options` says otherwise. When a call is aborted, its handler's task is cancelled.
public struct Component: Sendable {
  public enum ViewEffect: String, Sendable {
    case localState = "local-state"
    case navigation
  }

  public enum ServerEffect: String, Sendable {
    case query = "server-query"
    case mutation = "server-mutation"
    case external = "external-side-effect"
    case destructive
  }

  /// The definition, as the library gets it. Fields this package has no name for are set here.
  public var definition: JSON
  package var bindings: [String: BindingHooks] = [:]
  var procedures: [String: Handling.Work] = [:]

  /// `options` are further fields of a definition (`meta`, `internal`, `policies`, …); see `spec/abi.md`.
  public init(_ type: String, description: String, instance: String? = nil, options: JSON = [:]) {
    definition = .object(["type": JSON(type), "description": JSON(description), "instanceId": instance.map { JSON($0) }])
    for (key, value) in options.members { definition.set(key, value) }
  }

  /// Something to read: no input, no side effects.
  public mutating func observe<Output: Encodable>(
    _ name: String, _ description: String, output: Schema = .any, options: JSON = [:],
    when: (@Sendable (CallContext) throws -> Bool)? = nil,
    read: @escaping @Sendable (CallContext) async throws -> Output
  ) {
    define("observations", name, ["description": JSON(description), "output": output.document], options)
    var hooks = BindingHooks()
    hooks.handler = Handling.handler(Handling.work { (_: Nothing, context) in try await read(context) })
    hooks.when = when.map(Handling.when)
    bindings[name] = hooks
  }

  /// Something that changes what is on the screen or local state. `precondition` answers why not, or nil.
  public mutating func act<Input: Decodable, Output: Encodable>(
    _ name: String, _ description: String, effect: ViewEffect = .localState, input: Schema, output: Schema? = nil, options: JSON = [:],
    when: (@Sendable (CallContext) throws -> Bool)? = nil,
    precondition: (@Sendable (CallContext) throws -> String?)? = nil,
    execute: @escaping @Sendable (Input, CallContext) async throws -> Output
  ) {
    let fields: JSON = .object([
      "description": JSON(description), "effect": JSON(effect.rawValue), "input": input.document, "output": output?.document,
    ])
    define("actions", name, fields, options)
    var hooks = BindingHooks()
    hooks.handler = Handling.handler(Handling.work(execute))
    hooks.when = when.map(Handling.when)
    hooks.precondition = precondition.map(Handling.precondition)
    bindings[name] = hooks
  }

  /// Something whose authority is elsewhere: a server, the world. `bind` fills the `boundFields` given in `options`; `describe` gives the catalog a note.
  public mutating func serve<Input: Decodable, Output: Encodable>(
    _ path: String, _ description: String, effect: ServerEffect, input: Schema, output: Schema? = nil, options: JSON = [:],
    when: (@Sendable (CallContext) throws -> Bool)? = nil,
    bind: (@Sendable (CallContext) throws -> JSON)? = nil,
    describe: (@Sendable (CallContext) throws -> String)? = nil,
    execute: @escaping @Sendable (Input, CallContext) async throws -> Output
  ) {
    var fields: JSON = .object([
      "path": JSON(path), "description": JSON(description), "effect": JSON(effect.rawValue), "input": input.document, "output": output?.document,
    ])
    for (key, value) in options.members { fields.set(key, value) }
    definition.set("procedures", .array((definition["procedures"]?.items ?? []) + [fields]))
    procedures[path] = Handling.work(execute)
    var hooks = BindingHooks()
    hooks.when = when.map(Handling.when)
    hooks.bind = bind.map { bind in Handling.hook { try bind(CallContext($0)) } }
    hooks.describe = describe.map { describe in Handling.hook { JSON(try describe(CallContext($0))) } }
    bindings["domain:" + path] = hooks
  }

  private mutating func define(_ kind: String, _ name: String, _ fields: JSON, _ options: JSON) {
    var capability = fields
    for (key, value) in options.members { capability.set(key, value) }
    var all = definition[kind] ?? [:]
    all.set(name, capability)
    definition.set(kind, all)
  }
}

/// No input, or no output. As an output it completes the call without one.
public struct Nothing: Codable, Sendable {
  public init() {}
}

/// What a handler or a hook is told of the call it serves, of which `document` is the whole.
public struct CallContext: Sendable {
  public let document: JSON

  init(_ document: JSON) { self.document = document }

  public var capabilityId: String { document["capabilityId"]?.string ?? "" }
  public var registrationId: String { document["registrationId"]?.string ?? "" }
  public var invocationId: String { document["invocationId"]?.string ?? "" }
  public var consumer: JSON? { document["consumer"] }
  /// What the surface's `context` closure answered.
  public var host: JSON? { document["host"] }
  /// `{id, approvedAt}` where a person approved the call.
  public var confirmation: JSON? { document["confirmation"] }
}

/// A JSON Schema of the subset that the library checks; see `spec/abi.md`.
public struct Schema: Sendable {
  public var document: JSON

  public init(_ document: JSON) { self.document = document }

  /// Anything.
  public static let any = Schema([:])
  public static let nothing = Schema.object([:])
  public static let bool = Schema(["type": "boolean"])

  public static func integer(_ range: ClosedRange<Int>? = nil) -> Schema {
    Schema(.object(["type": "integer", "minimum": range.map { JSON($0.lowerBound) }, "maximum": range.map { JSON($0.upperBound) }]))
  }

  public static let number = Schema(["type": "number"])

  public static func string(maxLength: Int? = nil, pattern: String? = nil) -> Schema {
    Schema(.object(["type": "string", "maxLength": maxLength.map { JSON($0) }, "pattern": pattern.map { JSON($0) }]))
  }

  public static func oneOf(_ words: String...) -> Schema { Schema(["type": "string", "enum": .array(words.map { JSON($0) })]) }

  public static func array(of items: Schema, maxItems: Int? = nil) -> Schema {
    Schema(.object(["type": "array", "items": items.document, "maxItems": maxItems.map { JSON($0) }]))
  }

  /// An object of these properties, all of them required but those in `optional`, and no others.
  public static func object(_ properties: KeyValuePairs<String, Schema>, optional: Set<String> = []) -> Schema {
    let required = properties.map(\.key).filter { !optional.contains($0) }
    return Schema([
      "type": "object", "properties": .object(properties.map { ($0.key, $0.value.document) }),
      "required": .array(required.map { JSON($0) }), "additionalProperties": false,
    ])
  }

  /// The same schema with a description.
  public func described(_ text: String) -> Schema {
    var document = document
    document.set("description", JSON(text))
    return Schema(document)
  }
}
