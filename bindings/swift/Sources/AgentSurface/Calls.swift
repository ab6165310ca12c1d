import CAgentSurface

/// Starts a call, and waits for its result; the task's cancellation cancels the call.
func awaited(_ start: (@escaping Listener) throws -> as_invocation) async throws -> CallResult {
  let call = Cancellable()
  let result = try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { (settled: CheckedContinuation<CallResult, any Error>) in
      // The library tells a result exactly once, and none where `start` throws.
      do { call.started(try start { settled.resume(returning: CallResult($0)) }) } catch { settled.resume(throwing: error) }
    }
  } onCancel: {
    call.cancel()
  }
  if call.isCancelled, result.error?.code == "CANCELLED" { throw CancellationError() }
  return result
}

/// A call that may be cancelled before it is known.
private final class Cancellable: Sendable {
  private let state = Guarded<(handle: Handle?, cancelled: Bool)>((nil, false))

  var isCancelled: Bool { state.with { $0.cancelled } }

  func started(_ invocation: as_invocation) {
    let handle = Handle(invocation, free: as_invocation_free)
    let cancelled = state.with { state in
      state.handle = handle
      return state.cancelled
    }
    if cancelled { as_invocation_cancel(invocation) }
  }

  func cancel() {
    let handle = state.with { state in
      state.cancelled = true
      return state.handle
    }
    if let handle { as_invocation_cancel(handle.raw) }
  }
}

/// What a listener gets, as a stream: it ends when the library lets go of the listener, and lets go of the listener when it ends.
func stream(_ limit: Int, _ subscribe: (@escaping Listener) throws -> as_subscription) throws -> AsyncStream<JSON> {
  let (stream, continuation) = AsyncStream.makeStream(of: JSON.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
  let end = Ending(continuation)
  let handle = Handle(try subscribe { end.continuation.yield($0) }, free: as_unsubscribe)
  continuation.onTermination = { _ in withExtendedLifetime(handle) {} }  // It goes with this closure.
  return stream
}

/// Ends the stream when the listener's table is gone.
private final class Ending: Sendable {
  let continuation: AsyncStream<JSON>.Continuation

  init(_ continuation: AsyncStream<JSON>.Continuation) { self.continuation = continuation }

  deinit { continuation.finish() }
}
