// One scenario from its registry to the last freed handle.

import AgentSurface
import CAgentSurface

enum Scenario {
  static func run(_ scenario: JSON, pull: Bool, place: Guarded<String>, stuck: Guarded<Bool>) throws {
    let before = try live()
    // What the scenario says of dispatch is part of it; the option speaks for those that say nothing.
    let pull = scenario["registry"]?["dispatch"].map { $0 == "pull" } ?? pull
    var host: Host? = Host(scenario, place: place)
    weak var left = host
    var outcome = Result { try play(host!, scenario, pull) }
    place.with { $0 = "closing" }
    let closed = Result { try close(host!, pull, stuck) }
    if case .success = outcome { outcome = closed }
    host = nil
    if !stuck.with({ $0 }) {
      let more = try live().filter { $0.value > before[$0.key] ?? 0 }.map { "\($0.key) \($0.value)" }.sorted()
      if case .success = outcome, !more.isEmpty { throw Complaint("leaked; as_dev_live: \(more.joined(separator: ", "))") }
      // A pump's thread may still be leaving.
      if case .success = outcome, !pull, left != nil { throw Complaint("leaked the host: a table's object was not given back") }
    }
    try outcome.get()
  }

  private static func play(_ host: Host, _ scenario: JSON, _ pull: Bool) throws {
    try open(host, scenario, pull)
    for (i, step) in (scenario["steps"]?.items ?? []).enumerated() { try Steps.run(host, i + 1, step) }
  }

  private static func open(_ host: Host, _ scenario: JSON, _ pull: Bool) throws {
    func plain(_ json: JSON) throws -> JSON { try References.resolve(json) { _ in throw Complaint("no step has run yet") } }
    for (name, value) in scenario["vars"]?.members ?? [] {
      let value = try plain(value)
      host.state.with { $0.vars[name] = value }
    }
    host.state.with { $0.vars["host"] = $0.vars["host"] ?? [:] }
    var config = try plain(scenario["registry"] ?? [:])
    if config["clock"] == nil { config.set("clock", ["manual": ["start": "2026-01-01T00:00:00.000Z"]]) }
    if pull && config["dispatch"] == nil { config.set("dispatch", "pull") }
    let audit = config["audit"]?["sink"] == "callback"
    do {
      host.registry = try Native.registryNew(config, host.hostHooks(audit: audit))
      if pull {
        let pump = Pump()
        host.pump = pump
        pump.start(host)
      }
      let subscription = try Native.subscribe(host.registry) { [host] event in host.state.with { $0.events.append(event) } }
      host.state.with { $0.subscriptions.append(subscription) }
      for (name, _) in host.policies.members { try Native.policyDefine(host.registry, name, host.policyHooks(name)) }
      if let paths = host.executorPaths { try Native.executorSet(host.registry, paths) { [host] in host.execute($0, $1, $2) } }
    } catch {
      throw Complaint("opening: expected AS_OK, saw \(error.name) \(error.value)")
    }
    do { try Steps.quiet(host) } catch { throw Complaint("opening: \(error)") }
  }

  /// Closes the registry and gives everything back, whatever goes wrong on the way; the first complaint counts.
  private static func close(_ host: Host, _ pull: Bool, _ stuck: Guarded<Bool>) throws {
    var answers: [(String, as_code)] = []
    var closed = AS_OK
    if host.registry != 0 { closed = as_registry_close(host.registry, Steps.patience, nil) }
    answers.append(("as_registry_close", closed))
    if closed != AS_OK { stuck.with { $0 = true } }
    host.pump?.stop()
    host.pump = nil
    let state = host.state.with { $0 }
    answers += state.invocations.map { ("as_invocation_free", as_invocation_free($0.handle)) }
    answers += state.toolsets.map { ("as_toolset_free", as_toolset_free($0)) }
    answers += state.registrations.map { ("as_unregister", as_unregister($0)) }
    answers += state.subscriptions.map { ("as_unsubscribe", as_unsubscribe($0)) }
    answers.append(("as_registry_free", as_registry_free(host.registry)))
    host.state.with { $0 = State() }
    if let (function, code) = answers.first(where: { $0.1 != AS_OK }) {
      throw Complaint("closing: \(function): expected AS_OK, saw \(SurfaceError.name(of: code))")
    }
    if let failure = state.failure { throw Complaint(failure) }
    let told = state.invocations.map { $0.told.with { $0 } }
    if !pull, let other = told.first(where: { $0 != 1 }) {
      throw Complaint("closing: expected every result to be reported once, saw one \(other) times")
    }
  }

  /// The library's counters by their JSON Pointers.
  private static func live() throws -> [String: Int64] {
    var counters: [String: Int64] = [:]
    func count(_ pointer: String, _ json: JSON) {
      if let number = json.int { counters[pointer] = number }
      for (key, value) in json.members { count("\(pointer)/\(key)", value) }
    }
    count("", try Native.live())
    return counters
  }
}

extension SurfaceError {
  static func name(of code: as_code) -> String { String(cString: as_code_name(code)) }
}
