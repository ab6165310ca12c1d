import CAgentSurface

/// One life of one component on a surface. It ends with `unregister()`, with the surface, or when nobody holds it any more.
public final class Registration: Sendable {
  private let handle: Handle
  private let ended: @Sendable () -> Void

  init(_ raw: as_registration, ended: @escaping @Sendable () -> Void) {
    handle = Handle(raw, free: as_unregister)
    self.ended = ended
  }

  deinit { ended() }

  /// `{registrationId, type, instanceId, status}`.
  public func info() throws -> JSON { try Native.registrationInfo(handle.raw) }

  /// `active`, `rejected`, `replaced` or `closed`.
  public var status: String { (try? info()["status"]?.string) ?? "closed" }

  /// `{enabled?, availability?: {name or path: {available, reason?}}}`. All of it is done or nothing.
  public func update(_ patch: JSON) throws { try Native.registrationUpdate(handle.raw, patch) }

  public func setEnabled(_ enabled: Bool) throws { try update(["enabled": JSON(enabled)]) }

  /// Says whether a capability is available; a reason says why not.
  public func setAvailable(_ name: String, _ available: Bool, reason: String? = nil) throws {
    try update(["availability": .object([(name, .object(["available": JSON(available), "reason": reason.map { JSON($0) }]))])])
  }

  /// Swaps the closures of observations and actions for those of `component`. Calls that run go on with theirs.
  public func rebind(_ component: Component) throws { try Native.registrationRebind(handle.raw, component.bindings) }

  /// Something the catalog shows has moved.
  public func invalidate() throws { try Native.check(as_registration_invalidate(handle.raw)) }

  /// Ends it: its capabilities are gone, its calls are aborted. Again it does nothing.
  public func unregister() {
    as_unregister(handle.raw)
    ended()
  }
}
