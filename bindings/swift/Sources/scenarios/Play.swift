// What scripts do when the runtime calls: the same for callbacks and for requests taken with `as_next`. A script answers once and has done
// its part; that the library found the answer late or malformed shows in the result.

import AgentSurface
import CAgentSurface

extension Host {
  func handle(_ site: Site, _ reply: Reply, _ context: JSON, _ input: [UInt8]) {
    site.ran.with { $0 += 1 }
    play(site.script.next(), reply, context, input)
  }

  func execute(_ reply: Reply, _ context: JSON, _ input: [UInt8]) {
    let path = context["path"]?.string ?? ""
    state.with { $0.executorRan[path, default: 0] += 1 }
    guard let script = executorScripts[path] ?? executorScript else {
      return failHook(reply, "the executor has no script for \"\(path)\"")
    }
    play(script.next(), reply, context, input)
  }

  func discover(_ policy: String, _ reply: Reply, _ context: JSON) {
    shown(policy, "onDiscovery", context)
    answer(policies[policy]?["onDiscovery"], reply)
  }

  func decide(_ policy: String, _ phase: String, _ reply: Reply, _ context: JSON) {
    shown(policy, phase, context)
    guard let decision = policies[policy]?[phase] else { return failHook(reply, "\(phase) ran and was never given") }
    decide(decision, reply, resolve)
  }

  func review(_ policy: String, _ reply: Reply, _ context: JSON, _ result: JSON) {
    var context = context
    context.set("result", result)
    shown(policy, "onResult", context)
    attempt(reply) {
      let output = try policies[policy]?["onResult"]?["output"].map(resolve)
      try? reply.json(output.map { ["output": $0] } ?? .null)
    }
  }

  private func play(_ script: Script, _ reply: Reply, _ context: JSON, _ input: [UInt8]) {
    if let steps = script.json["doing"] {
      Steps.nested(self, steps.items)
      return play(script.parts[0].next(), reply, context, input)
    }
    let (key, value) = script.json.members[0]
    attempt(reply) {
      switch key {
      case "return": let value = try resolve(value); try? reply.json(value)
      case "echo": try? reply.json(input)
      case "confirmation": try? reply.json(context["confirmation"] ?? .null)
      case "var": let value = try variable(value.string ?? ""); try? reply.json(value)
      case "reject": let value = try resolve(value); try? reply.error(value.bytes)
      case "fail": try? reply.error(value.bytes)
      case "raw": try? reply.json(Array((value.string ?? "").utf8))
      case "pend": pend(value, reply)
      default: try? reply.json([])
      }
    }
  }

  /// `resolve` turns the JSON of the decision into what is sent: a script has references in it, a variable no longer has.
  private func decide(_ decision: JSON, _ reply: Reply, _ resolve: (JSON) throws -> JSON) {
    let (key, value) = decision.members[0]
    attempt(reply) {
      switch key {
      case "allow": try? reply.allow()
      case "deny": let value = try resolve(value); try? reply.deny(value.bytes)
      case "confirm": let value = try resolve(value); try? reply.confirm(value["summary"]?.string ?? "")
      case "pend": pend(value, reply)
      case "fail": try? reply.error([])
      default:
        let named = try variable(value.string ?? "")
        try Page.check(decision: named, "", confirms: true)
        if named["var"] != nil { throw Complaint("a variable must not name a variable") }
        decide(named, reply) { $0 }
      }
    }
  }

  /// A hook that answers a value.
  func answer(_ script: JSON?, _ reply: Reply) {
    guard let (key, value) = script?.members.first else { return failHook(reply, "a hook ran that was never given") }
    attempt(reply) {
      switch key {
      case "const": let value = try resolve(value); try? reply.json(value)
      case "var": let value = try variable(value.string ?? ""); try? reply.json(value)
      default: try? reply.error([])
      }
    }
  }

  /// The entry comes before the deferral, so that whoever sees the call pending finds it under its token.
  private func pend(_ token: JSON, _ reply: Reply) {
    state.with { $0.tokens[token.string ?? "", default: []].append(Pending(reply: reply)) }
    try? reply.later()
  }

  private func shown(_ policy: String, _ phase: String, _ context: JSON) {
    state.with { $0.contexts.append((policy, phase, context)) }
  }

  private func attempt(_ reply: Reply, _ work: () throws -> Void) {
    do { try work() } catch { failHook(reply, "\(error)") }
  }

  /// The scenario is wrong: it fails, and so does the hook, so that nothing waits for it.
  func failHook(_ reply: Reply, _ why: String) {
    fail(why)
    try? reply.error([])
  }
}

// MARK: - The hooks that lead here

extension Host {
  func hostHooks(audit: Bool) -> HostHooks {
    var hooks = HostHooks()
    hooks.context = { [self] reply, _ in answer(["var": "host"], reply) }
    if audit { hooks.audit = { [self] entry in state.with { $0.audit.append(entry) } } }
    return hooks
  }

  func policyHooks(_ name: String) -> PolicyHooks {
    var hooks = PolicyHooks()
    let policy = policies[name]
    if policy?["onDiscovery"] != nil { hooks.onDiscovery = { [self] in discover(name, $0, $1) } }
    if policy?["onAuthorize"] != nil { hooks.onAuthorize = { [self] in decide(name, "onAuthorize", $0, $1) } }
    if policy?["onInvoke"] != nil { hooks.onInvoke = { [self] in decide(name, "onInvoke", $0, $1) } }
    if policy?["onResult"] != nil { hooks.onResult = { [self] in review(name, $0, $1, $2) } }
    return hooks
  }

  func bindings(_ component: Component) -> [String: BindingHooks] {
    let names = Set(component.sites.keys).union(component.hooks.keys)
    return Dictionary(uniqueKeysWithValues: names.map { ($0, binding(component.sites[$0], component.hooks[$0] ?? [:])) })
  }

  private func binding(_ site: Site?, _ scripts: [String: JSON]) -> BindingHooks {
    func hook(_ name: String) -> Hook? {
      guard let script = scripts[name] else { return nil }
      return { [self] reply, _ in answer(script, reply) }
    }
    var hooks = BindingHooks()
    if let site { hooks.handler = { [self] in handle(site, $0, $1, $2) } }
    hooks.when = hook("when")
    hooks.precondition = hook("precondition")
    hooks.bind = hook("bind")
    hooks.describe = hook("describe")
    return hooks
  }
}
