import CAgentSurface

// The callback tables. Each holds one reference to a Swift object, which the library gives back through `destroy`, exactly once for
// every passing, also when the function that took the table fails. No Swift error passes through C.

/// The one-shot answer that a callback owes. Whoever answers a second time, or late, is told so.
package struct Reply: Sendable {
  package let handle: as_reply

  package init(_ handle: as_reply) { self.handle = handle }

  package func json(_ text: [UInt8]) throws(SurfaceError) { try Native.check(withText(text) { as_reply_json(handle, $0, $1) }) }
  package func json(_ value: JSON) throws(SurfaceError) { try json(value.bytes) }
  package func error(_ payload: [UInt8]) throws(SurfaceError) { try Native.check(withText(payload) { as_reply_error(handle, $0, $1) }) }
  package func allow() throws(SurfaceError) { try Native.check(as_reply_allow(handle)) }
  package func deny(_ payload: [UInt8]) throws(SurfaceError) { try Native.check(withText(payload) { as_reply_deny(handle, $0, $1) }) }
  package func confirm(_ summary: String) throws(SurfaceError) {
    try Native.check(withText(Array(summary.utf8)) { as_reply_confirm(handle, $0, $1) })
  }
  package func later() throws(SurfaceError) { try Native.check(as_reply_defer(handle)) }
  package func aborted() throws(SurfaceError) -> Bool {
    var aborted: Int32 = 0
    try Native.check(as_reply_aborted(handle, &aborted))
    return aborted != 0
  }

  /// Has `notice` run when the call is aborted.
  package func onAbort(_ notice: @escaping @Sendable () -> Void) throws(SurfaceError) {
    var table = as_hooks_notify()
    table.struct_size = UInt32(MemoryLayout<as_hooks_notify>.size)
    table.user_data = give(notice)
    table.notify = { (held(by: $0) as @Sendable () -> Void)() }
    table.destroy = drop
    try Native.check(as_reply_on_abort(handle, &table))
  }
}

package typealias Hook = @Sendable (_ reply: Reply, _ context: JSON) -> Void
package typealias HandlerHook = @Sendable (_ reply: Reply, _ context: JSON, _ input: [UInt8]) -> Void
package typealias ResultHook = @Sendable (_ reply: Reply, _ context: JSON, _ result: JSON) -> Void
package typealias Listener = @Sendable (_ document: JSON) -> Void

package struct HostHooks: Sendable {
  package var context: Hook?
  package var route: Hook?
  package var onRegister: Hook?
  package var redact: Hook?
  package var audit: Listener?
  package var log: Listener?
  package init() {}
}

package struct PolicyHooks: Sendable {
  package var onDiscovery: Hook?
  package var onAuthorize: Hook?
  package var onInvoke: Hook?
  package var onResult: ResultHook?
  package init() {}
}

package struct BindingHooks: Sendable {
  package var serial = false
  package var handler: HandlerHook?
  package var when: Hook?
  package var precondition: Hook?
  package var bind: Hook?
  package var describe: Hook?
  package init() {}
}

// MARK: - What a table holds

private final class Held<Value: Sendable>: Sendable {
  let value: Value
  init(_ value: Value) { self.value = value }
}

/// One reference for the library to hold.
private func give<Value: Sendable>(_ value: Value) -> UnsafeMutableRawPointer { Unmanaged.passRetained(Held(value)).toOpaque() }

/// The value behind `user_data`, which lives until `destroy`, and `destroy` comes after the last call.
private func held<Value: Sendable>(by userData: UnsafeMutableRawPointer?) -> Value {
  Unmanaged<Held<Value>>.fromOpaque(userData!).takeUnretainedValue().value
}

private let drop: as_fn_destroy = { Unmanaged<AnyObject>.fromOpaque($0!).release() }

// MARK: - The tables

extension HostHooks {
  var table: as_hooks_host {
    var table = as_hooks_host()
    table.struct_size = UInt32(MemoryLayout<as_hooks_host>.size)
    table.user_data = give(self)
    if context != nil { table.context = { (held(by: $0) as HostHooks).context?(Reply($1), Native.document($2, $3)) } }
    if route != nil { table.route = { (held(by: $0) as HostHooks).route?(Reply($1), Native.document($2, $3)) } }
    if onRegister != nil { table.on_register = { (held(by: $0) as HostHooks).onRegister?(Reply($1), Native.document($2, $3)) } }
    if redact != nil { table.redact = { (held(by: $0) as HostHooks).redact?(Reply($1), Native.document($2, $3)) } }
    if audit != nil { table.audit = { (held(by: $0) as HostHooks).audit?(Native.document($1, $2)) } }
    if log != nil { table.log = { (held(by: $0) as HostHooks).log?(Native.document($1, $2)) } }
    table.destroy = drop
    return table
  }
}

extension PolicyHooks {
  var table: as_hooks_policy {
    var table = as_hooks_policy()
    table.struct_size = UInt32(MemoryLayout<as_hooks_policy>.size)
    table.user_data = give(self)
    if onDiscovery != nil { table.on_discovery = { (held(by: $0) as PolicyHooks).onDiscovery?(Reply($1), Native.document($2, $3)) } }
    if onAuthorize != nil { table.on_authorize = { (held(by: $0) as PolicyHooks).onAuthorize?(Reply($1), Native.document($2, $3)) } }
    if onInvoke != nil { table.on_invoke = { (held(by: $0) as PolicyHooks).onInvoke?(Reply($1), Native.document($2, $3)) } }
    if onResult != nil {
      table.on_result = {
        (held(by: $0) as PolicyHooks).onResult?(Reply($1), Native.document($2, $3), Native.document($4, $5))
      }
    }
    table.destroy = drop
    return table
  }
}

extension BindingHooks {
  /// `name` must live until the table has been passed.
  func table(_ name: UnsafeBufferPointer<UInt8>) -> as_binding {
    var table = as_binding()
    table.struct_size = UInt32(MemoryLayout<as_binding>.size)
    table.flags = serial ? UInt32(AS_SERIAL) : 0
    table.name = name.baseAddress
    table.name_len = name.count
    table.user_data = give(self)
    if handler != nil {
      table.handler = { (held(by: $0) as BindingHooks).handler?(Reply($1), Native.document($2, $3), Native.copy($4, $5)) }
    }
    if when != nil { table.when = { (held(by: $0) as BindingHooks).when?(Reply($1), Native.document($2, $3)) } }
    if precondition != nil { table.precondition = { (held(by: $0) as BindingHooks).precondition?(Reply($1), Native.document($2, $3)) } }
    if bind != nil { table.bind = { (held(by: $0) as BindingHooks).bind?(Reply($1), Native.document($2, $3)) } }
    if describe != nil { table.describe = { (held(by: $0) as BindingHooks).describe?(Reply($1), Native.document($2, $3)) } }
    table.destroy = drop
    return table
  }

  /// Passes tables in the order of their names, so that one run is like another.
  static func pass<T>(_ bindings: [String: BindingHooks], _ body: (UnsafePointer<as_binding>?, Int) -> T) -> T {
    let named = bindings.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    let names = named.map { Array($0.key.utf8) }
    let all = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: names.map(\.count).reduce(0, +))
    defer { all.deallocate() }
    var at = 0
    let tables = zip(named, names).map { binding, name in
      let place = UnsafeMutableBufferPointer(rebasing: all[at..<at + name.count])
      _ = place.initialize(from: name)
      at += name.count
      return binding.value.table(UnsafeBufferPointer(place))
    }
    return tables.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
  }
}

func handlerTable(_ handler: @escaping HandlerHook) -> as_hooks_handler {
  var table = as_hooks_handler()
  table.struct_size = UInt32(MemoryLayout<as_hooks_handler>.size)
  table.user_data = give(handler)
  table.handler = { (held(by: $0) as HandlerHook)(Reply($1), Native.document($2, $3), Native.copy($4, $5)) }
  table.destroy = drop
  return table
}

func eventTable(_ listener: @escaping Listener) -> as_hooks_event {
  var table = as_hooks_event()
  table.struct_size = UInt32(MemoryLayout<as_hooks_event>.size)
  table.user_data = give(listener)
  table.on_event = { (held(by: $0) as Listener)(Native.document($1, $2)) }
  table.destroy = drop
  return table
}

func resultTable(_ listener: @escaping Listener) -> as_hooks_result {
  var table = as_hooks_result()
  table.struct_size = UInt32(MemoryLayout<as_hooks_result>.size)
  table.user_data = give(listener)
  table.on_result = { (held(by: $0) as Listener)(Native.document($1, $2)) }
  table.destroy = drop
  return table
}
