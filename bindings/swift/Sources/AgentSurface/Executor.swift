import CAgentSurface
import Foundation

/// The surface's one executor of procedures, which finds the closure of the component that a call is for.
final class Executor: Sendable {
  private struct State {
    var paths: Set<String> = []
    /// By registration, then by path.
    var works: [String: [String: Handling.Work]] = [:]
    /// Registrations that are live perhaps, and not written down yet; calls for them wait.
    var registering = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Guarded(State())
  /// Sets one after the other: the last one has all paths.
  private let setting = NSLock()

  /// Serves these paths as well, and then registers.
  func serve(
    _ procedures: [String: Handling.Work], on registry: as_registry, _ register: () throws -> as_registration
  ) throws -> Registration {
    if procedures.isEmpty { return Registration(try register()) {} }
    state.with { $0.registering += 1 }
    defer { written() }
    try set(procedures.keys, on: registry)
    let raw = try register()
    let id = (try? Native.registrationInfo(raw))?["registrationId"]?.string ?? ""
    state.with { $0.works[id] = procedures }
    return Registration(raw) { [weak self] in _ = self?.state.with { $0.works.removeValue(forKey: id) } }
  }

  private func written() {
    let waiting = state.with { state in
      state.registering -= 1
      defer { state.waiting = [] }
      return state.waiting
    }
    waiting.forEach { $0.resume() }
  }

  private func set(_ more: some Collection<String>, on registry: as_registry) throws {
    try setting.withLock {
      let known = state.with(\.paths)
      let paths = known.union(more)
      if paths == known { return }
      try Native.executorSet(registry, .array(paths.sorted().map { JSON($0) })) { [weak self] reply, context, input in
        Handling.run(reply, context, input) { [weak self] context, input in
          guard let work = await self?.work(for: context) else { throw Unserved() }
          return try await work(context, input)
        }
      }
      state.with { $0.paths = paths }
    }
  }

  private func work(for context: JSON) async -> Handling.Work? {
    let (id, path) = (context["registrationId"]?.string ?? "", context["path"]?.string ?? "")
    while true {
      if let work = state.with({ $0.works[id]?[path] }) { return work }
      if state.with({ $0.registering }) == 0 { return state.with { $0.works[id]?[path] } }
      await withCheckedContinuation { here in
        let waits = state.with { state in
          if state.registering > 0 { state.waiting.append(here) }
          return state.registering > 0
        }
        if !waits { here.resume() }
      }
    }
  }

  private struct Unserved: Error {}
}
