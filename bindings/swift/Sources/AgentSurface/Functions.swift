import CAgentSurface

// The functions of the header, one to one.

extension Native {
  // MARK: Life of a registry

  package static func registryNew(_ config: JSON, _ hooks: HostHooks?) throws(SurfaceError) -> as_registry {
    var table = hooks?.table
    return try make { out, err in
      withText(config.bytes) { text, count in
        guard table != nil else { return as_registry_new(text, count, nil, out, err) }
        return as_registry_new(text, count, &table!, out, err)
      }
    }
  }

  package static func registryClose(_ registry: as_registry, _ timeoutMs: Int64) throws(SurfaceError) {
    try tell { as_registry_close(registry, timeoutMs, $0) }
  }

  package static func registryInfo(_ registry: as_registry) throws(SurfaceError) -> JSON {
    try ask { as_registry_info(registry, $0, $1) }
  }

  // MARK: What the host offers

  package static func policyDefine(_ registry: as_registry, _ name: String, _ hooks: PolicyHooks) throws(SurfaceError) {
    var table = hooks.table
    try tell { err in withText(Array(name.utf8)) { as_policy_define(registry, $0, $1, &table, err) } }
  }

  package static func executorSet(_ registry: as_registry, _ paths: JSON, _ handler: @escaping HandlerHook) throws(SurfaceError) {
    var table = handlerTable(handler)
    try tell { err in withText(paths.bytes) { as_executor_set(registry, $0, $1, &table, err) } }
  }

  package static func register(
    _ registry: as_registry, _ definition: JSON, _ bindings: [String: BindingHooks]
  ) throws(SurfaceError) -> as_registration {
    try make { out, err in
      withText(definition.bytes) { text, count in
        BindingHooks.pass(bindings) { as_register(registry, text, count, $0, $1, out, err) }
      }
    }
  }

  package static func registrationInfo(_ registration: as_registration) throws(SurfaceError) -> JSON {
    try ask { as_registration_info(registration, $0, $1) }
  }

  package static func registrationUpdate(_ registration: as_registration, _ patch: JSON) throws(SurfaceError) {
    try tell { err in withText(patch.bytes) { as_registration_update(registration, $0, $1, err) } }
  }

  package static func registrationRebind(_ registration: as_registration, _ bindings: [String: BindingHooks]) throws(SurfaceError) {
    try tell { err in BindingHooks.pass(bindings) { as_registration_rebind(registration, $0, $1, err) } }
  }

  // MARK: Calls

  package static func invoke(
    _ registry: as_registry, _ request: JSON, _ options: JSON, _ onResult: @escaping Listener
  ) throws(SurfaceError) -> as_invocation {
    var table = resultTable(onResult)
    return try make { out, err in
      withText(request.bytes) { text, count in
        withText(options.bytes) { as_invoke(registry, text, count, $0, $1, &table, out, err) }
      }
    }
  }

  package static func invokeWait(_ registry: as_registry, _ request: JSON, _ options: JSON) throws(SurfaceError) -> JSON {
    try ask { out, err in
      withText(request.bytes) { text, count in
        withText(options.bytes) { as_invoke_wait(registry, text, count, $0, $1, out, err) }
      }
    }
  }

  package static func invocationWait(_ invocation: as_invocation, _ timeoutMs: Int64) throws(SurfaceError) -> JSON {
    try ask { as_invocation_wait(invocation, timeoutMs, $0, $1) }
  }

  package static func consumerClose(_ registry: as_registry, _ consumer: JSON) throws(SurfaceError) {
    try tell { err in withText(consumer.bytes) { as_consumer_close(registry, $0, $1, err) } }
  }

  package static func outcome(_ registry: as_registry, _ query: JSON) throws(SurfaceError) -> JSON {
    try ask { out, err in withText(query.bytes) { as_outcome(registry, $0, $1, out, err) } }
  }

  package static func next(_ registry: as_registry, _ timeoutMs: Int64) throws(SurfaceError) -> JSON {
    try ask { as_next(registry, timeoutMs, $0, $1) }
  }

  // MARK: Confirmation

  package static func confirm(_ registry: as_registry, _ decision: JSON) throws(SurfaceError) {
    try tell { err in withText(decision.bytes) { as_confirm(registry, $0, $1, err) } }
  }

  package static func confirmations(_ registry: as_registry) throws(SurfaceError) -> JSON {
    try ask { as_confirmations(registry, $0, $1) }
  }

  package static func confirmationSubscribe(_ registry: as_registry, _ listener: @escaping Listener) throws(SurfaceError) -> as_subscription {
    var table = eventTable(listener)
    return try make { as_confirmation_subscribe(registry, &table, $0, $1) }
  }

  // MARK: Looking

  package static func snapshot(_ registry: as_registry, _ context: JSON) throws(SurfaceError) -> JSON {
    try ask { out, err in withText(context.bytes) { as_snapshot(registry, $0, $1, out, err) } }
  }

  package static func subscribe(_ registry: as_registry, _ listener: @escaping Listener) throws(SurfaceError) -> as_subscription {
    var table = eventTable(listener)
    return try make { as_subscribe(registry, &table, $0, $1) }
  }

  package static func auditRead(_ registry: as_registry, _ after: UInt64) throws(SurfaceError) -> JSON {
    try ask { as_audit_read(registry, after, $0, $1) }
  }

  // MARK: Toolset

  package static func toolsetNew(_ registry: as_registry, _ options: JSON) throws(SurfaceError) -> as_toolset {
    try make { out, err in withText(options.bytes) { as_toolset_new(registry, $0, $1, out, err) } }
  }

  package static func toolsetInfo(_ toolset: as_toolset) throws(SurfaceError) -> JSON { try ask { as_toolset_info(toolset, $0, $1) } }

  package static func toolsetTools(_ toolset: as_toolset, _ format: String) throws(SurfaceError) -> JSON {
    try ask { out, err in withText(Array(format.utf8)) { as_toolset_tools(toolset, $0, $1, out, err) } }
  }

  package static func toolsetRender(_ toolset: as_toolset, _ format: String, _ result: JSON) throws(SurfaceError) -> JSON {
    try ask { out, err in
      withText(Array(format.utf8)) { name, count in
        withText(result.bytes) { as_toolset_render(toolset, name, count, $0, $1, out, err) }
      }
    }
  }

  package static func toolsetCall(
    _ toolset: as_toolset, _ call: JSON, _ onResult: @escaping Listener
  ) throws(SurfaceError) -> as_invocation {
    var table = resultTable(onResult)
    return try make { out, err in withText(call.bytes) { as_toolset_call(toolset, $0, $1, &table, out, err) } }
  }

  // MARK: Binding a result to its request

  package static func canonicalJSON(_ json: [UInt8]) throws(SurfaceError) -> [UInt8] {
    try read { out, err in withText(json) { as_canonical_json($0, $1, out, err) } }
  }

  package static func requestDigest(_ capabilityId: String, _ input: [UInt8]) throws(SurfaceError) -> String {
    let digest = try read { out, err in
      withText(Array(capabilityId.utf8)) { id, count in withText(input) { as_request_digest(id, count, $0, $1, out, err) } }
    }
    return String(decoding: digest, as: UTF8.self)
  }

  package static func verifyResult(_ result: JSON, _ request: JSON) throws(SurfaceError) -> JSON {
    try ask { out, err in
      withText(result.bytes) { text, count in withText(request.bytes) { as_verify_result(text, count, $0, $1, out, err) } }
    }
  }

  // MARK: For developers and tests

  package static func explain(_ registry: as_registry, _ context: JSON) throws(SurfaceError) -> JSON {
    try ask { out, err in withText(context.bytes) { as_dev_explain(registry, $0, $1, out, err) } }
  }

  package static func advance(_ registry: as_registry, _ ms: Int64, _ timeoutMs: Int64) throws(SurfaceError) {
    try tell { as_dev_advance(registry, ms, timeoutMs, $0) }
  }

  package static func quiesce(_ registry: as_registry, _ timeoutMs: Int64) throws(SurfaceError) {
    try tell { as_dev_quiesce(registry, timeoutMs, $0) }
  }

  package static func live() throws(SurfaceError) -> JSON { try ask { out, _ in as_dev_live(out) } }
}
