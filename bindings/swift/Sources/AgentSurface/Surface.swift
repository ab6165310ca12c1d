import CAgentSurface
import Foundation

/// What an application exposes to agents, and the one way they call it.
///
/// Any thread, task or actor may use it. `close()` it where it ends: closures given to it are released then. One that is forgotten closes
/// by itself, without waiting, unless a closure given to it holds it. Registrations, calls, toolsets and streams may outlive it.
public final class Surface: Sendable {
  /// What the library asks of the application. Closures answer at once.
  public struct Host: Sendable {
    /// The host context: one JSON object that policies and handlers see.
    public var context: (@Sendable () throws -> JSON)?
    /// `{path, params?}`, shown in snapshots.
    public var route: (@Sendable () throws -> JSON)?
    /// The guard of registrations: gets `{definition, origin}`.
    public var accepts: (@Sendable (JSON) throws -> Bool)?
    /// Replaces the payload of a full audit entry.
    public var redact: (@Sendable (JSON) throws -> JSON)?
    /// Gets every audit entry; needs `"audit": {"sink": "callback"}` in the configuration.
    public var audit: (@Sendable (JSON) -> Void)?
    /// Gets what an operator needs: `{level, message, …}`. Nothing of it reaches an agent.
    public var log: (@Sendable (JSON) -> Void)?

    public init(
      context: (@Sendable () throws -> JSON)? = nil, route: (@Sendable () throws -> JSON)? = nil,
      accepts: (@Sendable (JSON) throws -> Bool)? = nil, redact: (@Sendable (JSON) throws -> JSON)? = nil,
      audit: (@Sendable (JSON) -> Void)? = nil, log: (@Sendable (JSON) -> Void)? = nil
    ) {
      (self.context, self.route, self.accepts, self.redact, self.audit, self.log) = (context, route, accepts, redact, audit, log)
    }
  }

  let handle: Handle
  private let executor = Executor()
  package var registry: as_registry { handle.raw }

  /// `configuration` is the registry configuration of `spec/abi.md`: `{environment?, limits?, policies?, …}`.
  public init(_ configuration: JSON = [:], host: Host = Host()) throws {
    guard as_abi_version() == AS_ABI_VERSION else { throw AbiMismatch(library: as_abi_version(), package: UInt32(AS_ABI_VERSION)) }
    handle = Handle(try Native.registryNew(configuration, host.hooks), free: as_registry_free)
  }

  /// The library is of another ABI than this package.
  public struct AbiMismatch: Error {
    public let library: UInt32
    public let package: UInt32
  }

  // MARK: What it offers

  /// Makes a policy known under a name, for definitions and the configuration's `policies` to refer to.
  public func define(policy name: String, _ policy: Policy) throws {
    try Native.policyDefine(registry, name, policy.hooks)
  }

  /// Registers a component, live at once. Where the surface does not take it, its status is `rejected`.
  public func register(_ component: Component) throws -> Registration {
    try executor.serve(component.procedures, on: registry) {
      try Native.register(registry, component.definition, component.bindings)
    }
  }

  // MARK: Calls

  /// Calls a capability. Whatever goes wrong with the call is in the result; only misuse of this function throws. Cancelling the task
  /// cancels the call, and then this throws `CancellationError`, unless the call had settled before.
  ///
  /// Give an `invocationId` where the call may be repeated: the same id and input run once.
  public func invoke(_ capabilityId: String, input: JSON? = nil, _ options: CallOptions = CallOptions()) async throws -> CallResult {
    let request = options.request(capabilityId, input)
    return try await awaited { [registry] in try Native.invoke(registry, request, options.options, $0) }
  }

  /// The same with Swift values: answers the output, throws the `CallError` where the call failed.
  public func call<Output: Decodable>(
    _ capabilityId: String, _ input: some Encodable, returning type: Output.Type = Output.self, _ options: CallOptions = CallOptions()
  ) async throws -> Output {
    try await invoke(capabilityId, input: encode(input), options).output(as: type)
  }

  /// Did it happen? `{result, late?}` or `{"state": "running"}`; nil where nothing is known (any more).
  public func outcome(of invocationId: String, consumer: JSON? = nil) throws -> JSON? {
    do {
      return try Native.outcome(registry, .object(["invocationId": JSON(invocationId), "consumer": consumer]))
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
  }

  /// A session is over: its calls settle as cancelled, its confirmations expire.
  public func closeConsumer(_ consumer: JSON) throws { try Native.consumerClose(registry, consumer) }

  // MARK: Confirmation

  /// What waits for a person now.
  public func confirmations() throws -> [JSON] { try Native.confirmations(registry).items }

  /// A person has decided. Nothing that an agent can reach may call this.
  public func confirm(_ confirmationId: String, approved: Bool, reason: String? = nil, approver: JSON? = nil) throws {
    let decision: JSON = .object([
      "confirmationId": JSON(confirmationId), "approved": JSON(approved), "reason": reason.map { JSON($0) }, "approver": approver,
    ])
    try Native.confirm(registry, decision)
  }

  /// Confirmations requested and resolved, from here on, in order. See `events`.
  public func confirmationEvents(buffering limit: Int = 1024) throws -> AsyncStream<JSON> {
    try stream(limit) { [registry] in try Native.confirmationSubscribe(registry, $0) }
  }

  // MARK: Looking

  /// The catalog for one consumer, as it is now. `context` is `{consumer?, scope?, includeUnavailable?, budget?}`.
  public func snapshot(_ context: JSON = [:]) throws -> JSON { try Native.snapshot(registry, context) }

  /// Why each capability is shown, disabled or hidden. For developers: it tells what hiding withholds.
  public func explain(_ context: JSON = [:]) throws -> JSON { try Native.explain(registry, context) }

  /// `{surfaceId, surfaceVersion, registrations, inFlight, pendingConfirmations, workers, limits, abiVersion}`.
  public func info() throws -> JSON { try Native.registryInfo(registry) }

  /// Every event from here on, in order. Ends with the surface, or when nobody reads it any more. A reader that falls behind by more than
  /// `limit` loses the oldest; their `seq` shows the gap.
  public func events(buffering limit: Int = 1024) throws -> AsyncStream<JSON> {
    try stream(limit) { [registry] in try Native.subscribe(registry, $0) }
  }

  /// The audit entries that memory keeps, with a `seq` above `after`.
  public func audit(after: UInt64 = 0) throws -> [JSON] { try Native.auditRead(registry, after).items }

  /// This surface as the tools of a model. `options` are `{consumer?, mode?, topology?, confirmations?, scope?, budget?, toolCallIds?}`; one of
  /// `topology` and `confirmations` must be given.
  public func toolset(_ options: JSON) throws -> Toolset { Toolset(try Native.toolsetNew(registry, options)) }

  // MARK: The end

  /// Takes nothing new, settles what is pending as cancelled, and waits for handlers that run. Afterwards no closure given to this surface
  /// runs. Throws `.timeout` where handlers take longer (they end by themselves then). Closing again is fine.
  public func close(timeout: Duration? = nil) async throws {
    let registry = registry
    let limit = timeout.map(milliseconds) ?? -1
    // On a thread of its own: the wait must not hold one of those that the handlers need in order to end.
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      Thread.detachNewThread {
        done.resume(with: Result { try Native.registryClose(registry, limit) })
      }
    }
  }
}

/// Whom a call is from, and how it is to be made.
public struct CallOptions: Sendable {
  /// `{id, kind, grants?}`.
  public var consumer: JSON?
  public var invocationId: String?
  public var confirmationId: String?
  public var instanceId: String?
  public var registrationId: String?
  public var surfaceVersion: String?
  /// Bounds the execution.
  public var timeout: Duration?
  /// Bounds the whole call.
  public var deadline: Duration?
  public var traceparent: String?

  public init(
    consumer: JSON? = nil, invocationId: String? = nil, confirmationId: String? = nil, instanceId: String? = nil,
    registrationId: String? = nil, surfaceVersion: String? = nil, timeout: Duration? = nil, deadline: Duration? = nil,
    traceparent: String? = nil
  ) {
    self.consumer = consumer
    self.invocationId = invocationId
    self.confirmationId = confirmationId
    self.instanceId = instanceId
    self.registrationId = registrationId
    self.surfaceVersion = surfaceVersion
    self.timeout = timeout
    self.deadline = deadline
    self.traceparent = traceparent
  }

  func request(_ capabilityId: String, _ input: JSON?) -> JSON {
    .object([
      "capabilityId": JSON(capabilityId), "input": input, "invocationId": invocationId.map { JSON($0) },
      "confirmationId": confirmationId.map { JSON($0) }, "instanceId": instanceId.map { JSON($0) },
      "registrationId": registrationId.map { JSON($0) }, "surfaceVersion": surfaceVersion.map { JSON($0) },
    ])
  }

  var options: JSON {
    .object([
      "consumer": consumer, "timeoutMs": timeout.map { JSON(milliseconds($0)) }, "deadlineMs": deadline.map { JSON(milliseconds($0)) },
      "traceparent": traceparent.map { JSON($0) },
    ])
  }
}

/// Rounded up: a wait is never shorter than what was asked for.
func milliseconds(_ duration: Duration) -> Int64 {
  let (seconds, attoseconds) = duration.components
  let (whole, tooLong) = seconds.multipliedReportingOverflow(by: 1000)
  return tooLong ? .max : whole + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
}

extension Surface.Host {
  var hooks: HostHooks {
    var hooks = HostHooks()
    hooks.context = context.map { ask in Handling.hook { _ in try ask() } }
    hooks.route = route.map { ask in Handling.hook { _ in try ask() } }
    hooks.onRegister = accepts.map { accepts in Handling.hook { try accepts($0) ? "accept" : "reject" } }
    hooks.redact = redact.map(Handling.hook)
    hooks.audit = audit
    hooks.log = log
    return hooks
  }
}
