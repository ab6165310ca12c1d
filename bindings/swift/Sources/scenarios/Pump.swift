// Pull dispatch: one thread takes requests with `as_next` and has the same scripts answer them.

import AgentSurface
import CAgentSurface
import Foundation

final class Pump: @unchecked Sendable {
  private let condition = NSCondition()
  // Under the condition's lock.
  private var servedSoFar = 0
  private var empty = 0
  private var stopping = false
  private var ended = false

  func start(_ host: Host) {
    Thread.detachNewThread { [self] in
      while true {
        do throws(SurfaceError) {
          let request = try Native.next(host.registry, 1)
          host.serve(request)
          note { servedSoFar += 1 }
        } catch {
          if error.code != .timeout { break }
          note { empty += 1 }
          if condition.withLock({ stopping }) { break }
        }
      }
      note { ended = true }
    }
  }

  /// How many requests it has answered.
  var served: Int { condition.withLock { servedSoFar } }

  /// Waits until the pump has asked, got nothing, and begun to ask after this call did: two empty rounds.
  func drain() {
    condition.withLock {
      let until = empty + 2
      while !ended && empty < until { condition.wait() }
    }
  }

  func stop() {
    condition.withLock {
      stopping = true
      while !ended { condition.wait() }
    }
  }

  private func note(_ change: () -> Void) {
    condition.withLock {
      change()
      condition.broadcast()
    }
  }
}

extension Host {
  fileprivate func serve(_ request: JSON) {
    let context = request["context"] ?? .null
    let reply = Reply(request["reply"]?.string.flatMap { as_reply($0) } ?? 0)
    switch request["do"]?.string {
    case "call": call(request, reply, context)
    case "policy":
      let invokes = ["onInvoke", "invoke"].contains(request["phase"]?.string)
      decide(request["name"]?.string ?? "", invokes ? "onInvoke" : "onAuthorize", reply, context)
    case "event": state.with { $0.events.append(context) }
    case "audit": state.with { $0.audit.append(context) }
    default: break
    }
  }

  private func call(_ request: JSON, _ reply: Reply, _ context: JSON) {
    let input = request["input"]?.bytes ?? []
    if context["path"] != nil { return execute(reply, context, input) }
    let name = (context["capabilityId"]?.string ?? "").split { $0 == "." || $0 == ":" }.last.map(String.init) ?? ""
    let component = state.with { $0.registered[context["registrationId"]?.string ?? ""] }
    if let site = component?.with({ $0.sites[name] }) {
      handle(site, reply, context, input)
    } else {
      failHook(reply, "a handler was asked for that was never given: \(request)")
    }
  }
}
