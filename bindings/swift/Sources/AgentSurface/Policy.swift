/// A policy of the host. A closure that throws has failed, and that is never permission: discovery hides, a decision denies, an output is
/// withheld.
public struct Policy: Sendable {
  public enum Discovery: Sendable {
    case expose
    case hide
    case disable(reason: String)
  }

  public enum Decision: Sendable {
    case allow
    /// Without a refusal: `NOT_AUTHORIZED`.
    case deny(Refusal? = nil)
    /// Ask a person first; only `onInvoke` may. Without a summary the library composes one.
    case confirm(summary: String? = nil)
  }

  /// Whether a capability exists for a consumer. Answers at once.
  public var onDiscovery: (@Sendable (PolicyContext) throws -> Discovery)?
  /// Before the input is looked at.
  public var onAuthorize: (@Sendable (PolicyContext) async throws -> Decision)?
  /// Over the input that would really run.
  public var onInvoke: (@Sendable (PolicyContext) async throws -> Decision)?
  /// Over the result on its way out: nil leaves it, a value replaces the output. Answers at once.
  public var onResult: (@Sendable (PolicyContext, CallResult) throws -> JSON?)?

  public init(
    onDiscovery: (@Sendable (PolicyContext) throws -> Discovery)? = nil,
    onAuthorize: (@Sendable (PolicyContext) async throws -> Decision)? = nil,
    onInvoke: (@Sendable (PolicyContext) async throws -> Decision)? = nil,
    onResult: (@Sendable (PolicyContext, CallResult) throws -> JSON?)? = nil
  ) {
    (self.onDiscovery, self.onAuthorize, self.onInvoke, self.onResult) = (onDiscovery, onAuthorize, onInvoke, onResult)
  }
}

/// What a policy is told, of which `document` is the whole. Discovery and authorization see no input.
public struct PolicyContext: Sendable {
  public let document: JSON

  public var capabilityId: String { document["capabilityId"]?.string ?? "" }
  public var effect: String { document["effect"]?.string ?? "" }
  public var consumer: JSON? { document["consumer"] }
  public var host: JSON? { document["host"] }
  /// The definition's `internal`, which no agent sees.
  public var `internal`: JSON? { document["internal"] }
  public var effectiveInput: JSON? { document["effectiveInput"] }
}

extension Policy {
  var hooks: PolicyHooks {
    var hooks = PolicyHooks()
    hooks.onDiscovery = onDiscovery.map { discover in Handling.hook { try discover(PolicyContext(document: $0)).document } }
    hooks.onAuthorize = onAuthorize.map(Policy.deciding)
    hooks.onInvoke = onInvoke.map(Policy.deciding)
    hooks.onResult = onResult.map(Policy.reviewing)
    return hooks
  }

  private static func reviewing(_ review: @escaping @Sendable (PolicyContext, CallResult) throws -> JSON?) -> ResultHook {
    { reply, context, result in
      Handling.answer(reply) {
        try review(PolicyContext(document: context), CallResult(result)).map { ["output": $0] } ?? .null
      }
    }
  }

  private static func deciding(_ decide: @escaping @Sendable (PolicyContext) async throws -> Decision) -> Hook {
    { reply, context in
      Handling.later(reply) {
        do {
          switch try await decide(PolicyContext(document: context)) {
          case .allow: return { try reply.allow() }
          case .deny(let refusal): return { try reply.deny(refusal?.payload ?? []) }
          case .confirm(let summary): return { try reply.confirm(summary ?? "") }
          }
        } catch let refusal as Refusal {
          return { try reply.deny(refusal.payload) }
        }
      }
    }
  }
}

extension Policy.Discovery {
  var document: JSON {
    switch self {
    case .expose: ["decision": "expose"]
    case .hide: ["decision": "hide"]
    case .disable(let reason): ["decision": "disable", "reason": JSON(reason)]
    }
  }
}
