// The host of one scenario: what its steps made, what its callbacks have seen, and the first thing that went wrong. Steps and callbacks share
// it across threads; its lock is never held while a function of the library runs.

import AgentSurface
import CAgentSurface

typealias Answer = Result<JSON, SurfaceError>

/// A handler script. A sequence gives one per call, and its last one ever after.
final class Script: Sendable {
  let json: JSON
  let parts: [Script]
  private let used = Guarded(0)

  init(_ json: JSON) {
    self.json = json
    parts = (json["sequence"]?.items ?? [json["then"]].compactMap { $0 }).map(Script.init)
  }

  func next() -> Script {
    if json["sequence"] == nil { return self }
    let turn = used.with { used in
      used += 1
      return used - 1
    }
    return parts[min(turn, parts.count - 1)].next()
  }
}

/// A handler: what it does, and how often it ran, which a swap does not forget.
struct Site: Sendable {
  let script: Script
  let ran: Guarded<Int>
}

/// The scripts of one registration, by the name its binding has; hooks by the hook's name.
struct Component: Sendable {
  let definition: JSON
  var sites: [String: Site] = [:]
  var hooks: [String: [String: JSON]] = [:]
}

/// A call that a script left open. `aborted` is what the library said when it was answered, its handle being dead since.
struct Pending: Sendable {
  let reply: Reply
  var answered = false
  var aborted = false
}

enum Named: Sendable {
  case value(JSON)
  case registration(JSON, as_registration?, Guarded<Component>)
  case invocation(as_invocation)
  case toolset(JSON, as_toolset)
}

struct State: Sendable {
  var names: [String: Named] = [:]
  var vars: [String: JSON] = [:]
  var tokens: [String: [Pending]] = [:]
  var contexts: [(policy: String, phase: String, context: JSON)] = []
  var events: [JSON] = []
  var audit: [JSON] = []
  var failure: String?
  /// The handlers of each registration by its id, which is how pull dispatch names them.
  var registered: [String: Guarded<Component>] = [:]
  var executorRan: [String: Int] = [:]
  // Handles to free at the end.
  var invocations: [(handle: as_invocation, told: Guarded<Int>)] = []
  var registrations: [as_registration] = []
  var toolsets: [as_toolset] = []
  var subscriptions: [as_subscription] = []
}

final class Host: Sendable {
  let policies: JSON
  let executorPaths: JSON?
  let executorScripts: [String: Script]
  let executorScript: Script?
  let place: Guarded<String>
  let state = Guarded(State())
  private let opened = Guarded<(registry: as_registry, pump: Pump?)>((0, nil))

  init(_ scenario: JSON, place: Guarded<String>) {
    policies = scenario["policies"] ?? [:]
    let executor = scenario["executor"]
    executorPaths = executor?["paths"]
    executorScript = executor?["script"].map(Script.init)
    executorScripts = Dictionary(uniqueKeysWithValues: (executor?["scripts"]?.members ?? []).map { ($0.key, Script($0.value)) })
    self.place = place
  }

  var registry: as_registry {
    get { opened.with { $0.registry } }
    set { opened.with { $0.registry = newValue } }
  }

  /// Set in pull dispatch: the thread that takes requests from the library.
  var pump: Pump? {
    get { opened.with { $0.pump } }
    set { opened.with { $0.pump = newValue } }
  }

  /// Notes what went wrong in a callback; the first one is what the scenario fails with.
  func fail(_ what: String) {
    let place = place.with { $0 }
    state.with { $0.failure = $0.failure ?? "\(place): \(what)" }
  }

  func name(_ name: JSON?, _ what: Named) {
    if let name = name?.string { state.with { $0.names[name] = what } }
  }

  /// A step that failed has a value too. A registration that was refused keeps its scripts, which never ran.
  func name(_ name: JSON?, failure: SurfaceError) {
    guard let name = name?.string else { return }
    state.with { state in
      if case .registration(_, nil, _)? = state.names[name] { return }
      state.names[name] = .value(failure.value)
    }
  }

  func named(_ name: String) throws -> Named {
    guard let named = state.with({ $0.names[name] }) else { throw Complaint("no step was `as` \"\(name)\" yet") }
    return named
  }

  func variable(_ name: String) throws -> JSON {
    guard let value = state.with({ $0.vars[name] }) else { throw Complaint("no variable \"\(name)\"") }
    return value
  }

  func resolve(_ json: JSON) throws -> JSON { try References.resolve(json, value) }

  /// What a reference to a name stands for; an invocation has a value once it has settled.
  func value(_ name: String) throws -> JSON {
    switch try named(name) {
    case .value(let value), .registration(let value, _, _), .toolset(let value, _): return value
    case .invocation(let handle):
      do { return try Native.invocationWait(handle, 0) } catch { throw Complaint("\"\(name)\" has no result: \(error.name)") }
    }
  }
}

extension SurfaceError {
  /// The value of a step that failed.
  var value: JSON {
    ["error": .object(["code": JSON(reason ?? name), "path": path.map { JSON($0) }, "message": JSON(message)])]
  }
}
