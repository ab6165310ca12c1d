// The steps: how one is taken and judged, and what each does.

import AgentSurface
import CAgentSurface

enum Steps {
  /// Real time that the runtime may take to become quiet or to close; on a sound runtime it takes none worth speaking of.
  static let patience: Int64 = 20_000

  /// The fields of a step that hold scripts; references in them wait until the script runs.
  private static let scripted = ["handlers", "when", "precondition", "bind", "describe"]

  /// One step of the scenario, to the end: done, quiet, and as expected.
  static func run(_ host: Host, _ number: Int, _ step: JSON) throws {
    let place = "step \(number) (\(step["do"]?.string ?? ""))"
    host.place.with { $0 = place }
    var complaint: Complaint?
    do { try take(host, step, nested: false) } catch { complaint = Complaint("\(place): \(error)") }
    let earlier = host.state.with { state in
      defer { state.failure = nil }
      return state.failure
    }
    if let earlier { throw Complaint(earlier) }
    if let complaint { throw complaint }
  }

  /// Steps inside a handler, in its own thread. What fails there fails the scenario; the handler goes on and answers.
  static func nested(_ host: Host, _ steps: [JSON]) {
    for (i, step) in steps.enumerated() {
      do { try take(host, step, nested: true) } catch { host.fail("doing \(i + 1) (\(step["do"]?.string ?? "")): \(error)") }
    }
  }

  /// Waits until nothing is ready to run.
  static func quiet(_ host: Host) throws {
    guard let pump = host.pump else { return try settle(host) }
    while true {
      try settle(host)
      let before = pump.served
      pump.drain()
      try settle(host)
      if pump.served == before { return }
    }
  }

  private static func settle(_ host: Host) throws {
    do { try Native.quiesce(host.registry, patience) } catch {
      if ![.closed, .staleHandle].contains(error.code) { throw Complaint("the runtime does not become quiet: \(error.name)") }
    }
  }

  private static func take(_ host: Host, _ step: JSON, nested: Bool) throws {
    let fields = JSON.object(try step.members.map { ($0.key, scripted.contains($0.key) ? $0.value : try host.resolve($0.value)) })
    let action = step["do"]?.string ?? ""
    var started: as_invocation?
    var answer: Answer = .success(.null)
    do {
      answer = .success(try act(host, action, fields, nested, &started))
    } catch let error as SurfaceError {
      answer = .failure(error)
      host.name(fields["as"], failure: error)
    }
    if !nested {
      try quiet(host)
      if let started, fields["expect"] != nil { answer = try result(started, "it") }
    }
    try judge(action, fields, answer)
  }

  /// Holds the answer against `code` or `expect`, or against AS_OK where the step has neither.
  private static func judge(_ action: String, _ fields: JSON, _ answer: Answer) throws {
    var failure: SurfaceError?
    if case .failure(let error) = answer { failure = error }
    let said = failure.map { " " + short($0.value) } ?? ""
    if let wanted = fields["code"] {
      do { return try Matcher.check(wanted, JSON(failure?.name ?? SurfaceError.name(of: AS_OK))) } catch { throw Complaint("\(error) as code\(said)") }
    }
    let late = failure?.code == .late && ["finish", "decide"].contains(action)
    let value = late ? "late" : try failure?.value ?? answer.get()
    guard let wanted = fields["expect"] else {
      if let failure, !late { throw Complaint("expected AS_OK, saw \(failure.name)\(said)") }
      return try action == "register" ? Matcher.check(["status": "active"], value) : ()
    }
    if case .array(let list) = wanted, failure == nil, ["events", "audit"].contains(action), fields["mode"] != "exact" {
      return try Matcher.subsequence(list, value.items)
    }
    do { try Matcher.check(wanted, value) } catch {
      throw Complaint("\(error)".hasPrefix("at ") ? "\(error), in \(short(value))" : "\(error)")
    }
  }

  /// The result of a call when the runtime is quiet: what is pending now, nothing but another step could settle.
  private static func result(_ handle: as_invocation, _ name: String) throws -> Answer {
    do { return .success(try Native.invocationWait(handle, 0)) } catch {
      if error.code != .timeout { return .failure(error) }
      throw Complaint("expected a result, saw \(name) pending, and nothing left to run that could settle it")
    }
  }

  // MARK: What each does; throws the library's answer where it was not AS_OK

  private static func act(
    _ host: Host, _ action: String, _ fields: JSON, _ nested: Bool, _ started: inout as_invocation?
  ) throws -> JSON {
    let registry = host.registry
    // Inside a handler nothing that waits for the handler can come to an end.
    let patience = nested ? 0 : patience
    switch action {
    case "register": return try register(host, fields)
    case "update": try Native.registrationUpdate(try registration(host, fields), fields["patch"] ?? .null)
    case "invalidate": try Native.check(as_registration_invalidate(try registration(host, fields)))
    case "unregister": try Native.check(as_unregister(try registration(host, fields)))
    case "swap": try swap(host, fields)
    case "invoke":
      let options = some(fields, ["consumer", "timeoutMs", "deadlineMs"])
      started = try start(host, fields) { try Native.invoke(registry, fields["request"] ?? .null, options, $0) }
    case "call":
      let toolset = try toolset(host, fields)
      started = try start(host, fields) { try Native.toolsetCall(toolset, some(fields, ["name", "input", "toolCallId"]), $0) }
    case "await":
      let handle = try invocation(host, fields)
      if nested || fields["code"] != nil { return try Native.invocationWait(handle, nested ? -1 : 0) }
      return try result(handle, fields["invocation"]?.string ?? "").get()
    case "unsettled":
      let settled: JSON
      do { settled = try Native.invocationWait(try invocation(host, fields), 0) } catch let error as SurfaceError where error.code == .timeout {
        return .null
      }
      throw Complaint("expected it to be pending, saw \(short(settled))")
    case "cancel": try Native.check(as_invocation_cancel(try invocation(host, fields)))
    case "finish": try finish(host, fields)
    case "decide": try decide(host, fields)
    case "aborted": return try aborted(host, fields)
    case "advance": try Native.advance(registry, fields["ms"]?.int ?? 0, patience)
    case "set": host.state.with { $0.vars[fields["var"]?.string ?? ""] = fields["to"] }
    case "confirm":
      try Native.confirm(
        registry, .object(["confirmationId": fields["id"], "approved": fields["approve"] ?? true, "reason": fields["reason"]]))
    case "pending": return look(host, fields, try Native.confirmations(registry))
    case "snapshot": return look(host, fields, try Native.snapshot(registry, view(fields)))
    case "explain": return look(host, fields, try Native.explain(registry, view(fields)))
    case "version": return try Native.registryInfo(registry)["surfaceVersion"] ?? .null
    case "events": return try log(fields, host.state.with { $0.events })
    case "audit":
      let shown = host.state.with { $0.audit }
      return try log(fields, shown.isEmpty ? Native.auditRead(registry, 0).items : shown)
    case "calls": return JSON(try calls(host, fields["handler"]?.string ?? ""))
    case "contexts": return try contexts(host, fields)
    case "toolset":
      let handle = try Native.toolsetNew(registry, fields["options"] ?? [:])
      host.state.with { $0.toolsets.append(handle) }
      let value = try Native.toolsetInfo(handle)
      host.name(fields["as"], .toolset(value, handle))
      return value
    case "tools":
      let catalog = try Native.toolsetTools(try toolset(host, fields), fields["format"]?.string ?? "neutral")
      return catalog["tools"] ?? catalog
    case "disposeToolset":
      let handle = try toolset(host, fields)
      host.state.with { $0.toolsets.removeAll { $0 == handle } }
      try Native.check(as_toolset_free(handle))
    case "verify":
      let given = fields["result"] ?? .null
      return try Native.verifyResult(given.string.map(host.value) ?? given, fields["request"] ?? .null)
    case "outcome": return try Native.outcome(registry, .object(["consumer": fields["consumer"], "invocationId": fields["id"]]))
    case "closeConsumer": try Native.consumerClose(registry, fields["consumer"] ?? .null)
    case "dispose": try Native.registryClose(registry, patience)
    default: throw Complaint("no such step")
    }
    return .null
  }

  private static func some(_ fields: JSON, _ names: [String]) -> JSON {
    .object(names.compactMap { name in fields[name].map { (name, $0) } })
  }

  private static func view(_ fields: JSON) -> JSON { some(fields, ["consumer", "scope", "includeUnavailable", "budget"]) }

  // MARK: Registrations

  private static func register(_ host: Host, _ fields: JSON) throws -> JSON {
    let definition = fields["definition"] ?? .null
    var component = Component(definition: definition)
    for (key, script) in fields["handlers"]?.members ?? [] {
      component.sites[bindingName(definition, key)] = Site(script: Script(script), ran: Guarded(0))
    }
    for hook in ["when", "precondition", "bind", "describe"] {
      for (key, script) in fields[hook]?.members ?? [] {
        let byPath = ["bind", "describe"].contains(hook)
        component.hooks[byPath ? pathName(definition, key) : bindingName(definition, key), default: [:]][hook] = script
      }
    }
    let kept = Guarded(component)
    do {
      let handle = try Native.register(host.registry, definition, host.bindings(component))
      host.state.with { $0.registrations.append(handle) }
      let value = some(try Native.registrationInfo(handle), ["status", "registrationId"])
      host.state.with { $0.registered[value["registrationId"]?.string ?? ""] = kept }
      host.name(fields["as"], .registration(value, handle, kept))
      return value
    } catch {
      host.name(fields["as"], .registration(error.value, nil, kept))
      throw error
    }
  }

  /// The name a binding has: an observation's or action's as it is, a procedure's with `domain:` before its path.
  private static func bindingName(_ definition: JSON, _ key: String) -> String {
    let isView = ["observations", "actions"].contains { definition[$0]?[key] != nil }
    return !isView && hasPath(definition, key) ? "domain:" + key : key
  }

  private static func pathName(_ definition: JSON, _ key: String) -> String {
    key.hasPrefix("domain:") && !hasPath(definition, key) ? key : "domain:" + key
  }

  private static func hasPath(_ definition: JSON, _ path: String) -> Bool {
    definition["procedures"]?.items.contains { $0["path"]?.string == path } ?? false
  }

  /// A rebinding replaces every callback, so those that the step does not name are passed again.
  private static func swap(_ host: Host, _ fields: JSON) throws {
    let name = fields["registration"]?.string ?? ""
    guard case .registration(_, let handle?, let kept) = try host.named(name) else { throw Complaint("\"\(name)\" is no registration") }
    var new = kept.with { $0 }
    for (key, script) in fields["handlers"]?.members ?? [] {
      let name = bindingName(new.definition, key)
      new.sites[name] = Site(script: Script(script), ran: new.sites[name]?.ran ?? Guarded(0))
    }
    try Native.registrationRebind(handle, host.bindings(new))
    kept.with { $0 = new }
  }

  private static func registration(_ host: Host, _ fields: JSON) throws -> as_registration {
    let name = fields["registration"]?.string ?? ""
    guard case .registration(_, let handle?, _) = try host.named(name) else { throw Complaint("\"\(name)\" is no registration") }
    return handle
  }

  // MARK: Calls

  private static func start(
    _ host: Host, _ fields: JSON, _ begin: (@escaping Listener) throws -> as_invocation
  ) throws -> as_invocation {
    let told = Guarded(0)
    // Holds the host, so that a table that is not given back is seen.
    let handle = try begin { [host] _ in withExtendedLifetime(host) { told.with { $0 += 1 } } }
    host.state.with { $0.invocations.append((handle, told)) }
    host.name(fields["as"], .invocation(handle))
    return handle
  }

  private static func invocation(_ host: Host, _ fields: JSON) throws -> as_invocation {
    let name = fields["invocation"]?.string ?? ""
    guard case .invocation(let handle) = try host.named(name) else { throw Complaint("\"\(name)\" is no invocation") }
    return handle
  }

  private static func toolset(_ host: Host, _ fields: JSON) throws -> as_toolset {
    let name = fields["toolset"]?.string ?? ""
    guard case .toolset(_, let handle) = try host.named(name) else { throw Complaint("\"\(name)\" is no toolset") }
    return handle
  }

  private static func finish(_ host: Host, _ fields: JSON) throws {
    let reply = try unanswered(host, fields)
    if let value = fields["return"] { return try reply.json(value) }
    try reply.error((fields["reject"] ?? fields["fail"] ?? .null).bytes)
  }

  private static func decide(_ host: Host, _ fields: JSON) throws {
    let reply = try unanswered(host, fields)
    if let payload = fields["deny"] { return try reply.deny(payload.bytes) }
    if let confirm = fields["confirm"] { return try reply.confirm(confirm["summary"]?.string ?? "") }
    try reply.allow()
  }

  /// The call that the step answers, marked as answered. Its handle dies with the answer, so what `aborted` would say is kept first.
  private static func unanswered(_ host: Host, _ fields: JSON) throws -> Reply {
    let (token, index) = (fields["token"]?.string ?? "", Int(fields["index"]?.int ?? 0))
    let calls = host.state.with { $0.tokens[token] ?? [] }
    let open = calls.indices.filter { !calls[$0].answered }
    guard open.indices.contains(index) else { throw Complaint("expected an unanswered call \(index) under \"\(token)\", saw none") }
    let (place, reply) = (open[index], calls[open[index]].reply)
    let aborted = (try? reply.aborted()) ?? false
    host.state.with { $0.tokens[token]?[place] = Pending(reply: reply, answered: true, aborted: aborted) }
    return reply
  }

  private static func aborted(_ host: Host, _ fields: JSON) throws -> JSON {
    let (token, index) = (fields["token"]?.string ?? "", Int(fields["index"]?.int ?? 0))
    let calls = host.state.with { $0.tokens[token] ?? [] }
    guard calls.indices.contains(index) else { throw Complaint("expected a call \(index) under \"\(token)\", saw none") }
    do { return JSON(try calls[index].reply.aborted()) } catch {
      if error.code == .staleHandle, calls[index].answered, fields["code"] == nil { return JSON(calls[index].aborted) }
      throw error
    }
  }

  // MARK: Looking

  /// A document that an `as` may name.
  private static func look(_ host: Host, _ fields: JSON, _ value: JSON) -> JSON {
    host.name(fields["as"], .value(value))
    return value
  }

  private static func log(_ fields: JSON, _ entries: [JSON]) throws -> JSON {
    let wanted = fields["types"].map { types in entries.filter { entry in types.items.contains { $0 == entry["type"] } } } ?? entries
    if let count = fields["count"] {
      do { try Matcher.check(count, JSON(wanted.count)) } catch {
        throw Complaint("\(error) as count of \(short(.array(wanted.compactMap { $0["type"] })))")
      }
    }
    return .array(wanted)
  }

  private static func calls(_ host: Host, _ handler: String) throws -> Int {
    if handler == "executor" || handler.hasPrefix("executor:") {
      if host.executorPaths == nil { throw Complaint("the scenario has no executor") }
      let ran = host.state.with { $0.executorRan }
      return handler == "executor" ? ran.values.reduce(0, +) : ran[String(handler.dropFirst("executor:".count))] ?? 0
    }
    let parts = handler.split(separator: ".", maxSplits: 1).map(String.init)
    guard parts.count == 2, case .registration(_, _, let kept) = try host.named(parts[0]) else { throw Complaint("no handler \"\(handler)\"") }
    let site = kept.with { $0.sites[bindingName($0.definition, parts[1])] }
    guard let site else { throw Complaint("no handler \"\(handler)\"") }
    return site.ran.with { $0 }
  }

  private static func contexts(_ host: Host, _ fields: JSON) throws -> JSON {
    let policy = fields["policy"]?.string ?? ""
    if host.policies[policy] == nil { throw Complaint("no policy \"\(policy)\"") }
    // `onInvoke` and `invoke` are one phase.
    func plain(_ phase: String) -> String { (phase.hasPrefix("on") ? String(phase.dropFirst(2)) : phase).lowercased() }
    let phase = fields["phase"]?.string.map(plain)
    let shown = host.state.with { $0.contexts }.filter { $0.policy == policy && (phase == nil || phase == plain($0.phase)) }
    return .array(shown.map(\.context))
  }
}
