import AgentSurface
import XCTest

final class CallTests: XCTestCase {
  /// AS-INVOKE-001: Swift values go in and come out, exact to 64 bits.
  func testCodableValuesGoThrough() async throws {
    let surface = try Surface()
    let registration = try surface.register(table { input, context in
      XCTAssertEqual(context.capabilityId, poke)
      return Poke(n: input.n - 1)
    })
    let answer: Poke = try await surface.call(poke, Poke(n: .max))
    XCTAssertEqual(answer, Poke(n: .max - 1))
    XCTAssertEqual(registration.status, "active")
    try await surface.close()
  }

  /// AS-ERR-001: a refusal reaches the caller typed; of another error the caller learns nothing, and the operator does.
  func testErrorsOfHandlers() async throws {
    struct Secret: Error { let password = "hunter2" }
    let logged = Guarded<[JSON]>([])
    let surface = try Surface(host: .init(log: { line in logged.with { $0.append(line) } }))
    let registration = try surface.register(table { input, _ in
      if input.n == 0 { throw Refusal(.preconditionFailed, "Not now", details: ["why": "tea"]) }
      throw Secret()
    })
    let refused = try await surface.invoke(poke, input: ["n": 0])
    XCTAssertEqual(refused.error?.code, "PRECONDITION_FAILED")
    XCTAssertEqual(refused.error?.message, "Not now")
    XCTAssertEqual(refused.error?.details, ["why": "tea"])
    let failed = try await surface.invoke(poke, input: ["n": 1])
    XCTAssertEqual(failed.error?.code, "EXECUTION_FAILED")
    XCTAssertFalse(failed.document.description.contains("hunter2"))
    await XCTAssertThrows("EXECUTION_FAILED") { let _: Poke = try await surface.call(poke, Poke(n: 2)) }
    try await surface.close()
    XCTAssertTrue(logged.with { "\($0)" }.contains("hunter2"))
    withExtendedLifetime(registration) {}
  }

  /// AS-INVOKE-003: an input that the schema refuses never reaches the closure.
  func testBadInputDoesNotRun() async throws {
    let surface = try Surface()
    let ran = Guarded(0)
    let registration = try surface.register(table { input, _ in
      ran.with { $0 += 1 }
      return input
    })
    let result = try await surface.invoke(poke, input: ["n": "one"])
    XCTAssertEqual(result.error?.code, "INVALID_INPUT")
    XCTAssertEqual(ran.with { $0 }, 0)
    try await surface.close()
    withExtendedLifetime(registration) {}
  }

  /// AS-CONC-010: cancelling the caller's task cancels the call, and that the handler's task.
  func testCancellationReachesTheHandler() async throws {
    let (started, ended) = (Signal(), Signal())
    let surface = try Surface()
    let registration = try surface.register(table { input, _ in
      started.send()
      await Signal().wait()  // For ever, but for the cancellation.
      if Task.isCancelled { ended.send() }
      return input
    })
    let call = Task { try await surface.invoke(poke, input: ["n": 1]) }
    await started.wait()
    call.cancel()
    do {
      _ = try await call.value
      XCTFail("not cancelled")
    } catch { XCTAssertTrue(error is CancellationError, "\(error)") }
    await ended.wait()
    try await surface.close()
    withExtendedLifetime(registration) {}
  }

  /// AS-CONC-010: a task that is cancelled before it calls has cancelled the call.
  func testCancelledBeforeTheCall() async throws {
    let surface = try Surface()
    let registration = try surface.register(table { input, _ in
      await Signal().wait()
      return input
    })
    let call = Task {
      await Signal().wait()  // Until the cancellation.
      return try await surface.invoke(poke, input: ["n": 1])
    }
    call.cancel()
    do {
      _ = try await call.value
      XCTFail("not cancelled")
    } catch { XCTAssertTrue(error is CancellationError, "\(error)") }
    try await surface.close()
    withExtendedLifetime(registration) {}
  }

  /// AS-IDENT-001: the same id and input run once; the outcome is told afterwards.
  func testOneExecution() async throws {
    let surface = try Surface()
    let ran = Guarded(0)
    let registration = try surface.register(table { input, _ in
      ran.with { $0 += 1 }
      return input
    })
    let consumer: JSON = ["id": "agent", "kind": "test"]
    let options = CallOptions(consumer: consumer, invocationId: "call-1")
    let first = try await surface.invoke(poke, input: ["n": 1], options)
    let second = try await surface.invoke(poke, input: ["n": 1], options)
    XCTAssertEqual(first.output, second.output)
    XCTAssertEqual(ran.with { $0 }, 1)
    XCTAssertEqual(try surface.outcome(of: "call-1", consumer: consumer)?["result"]?["status"], "ok")
    XCTAssertNil(try surface.outcome(of: "call-2", consumer: consumer))
    try await surface.close()
    withExtendedLifetime(registration) {}
  }

  /// AS-BINDING-001: a result verifies against its request, and against no other; the digests are those of the vectors.
  func testResultsAreBound() async throws {
    let surface = try Surface()
    let registration = try surface.register(table { input, _ in input })
    let result = try await surface.invoke(poke, input: ["n": 1])
    XCTAssertEqual(try Verify.report(result, request: ["capabilityId": JSON(poke), "input": ["n": 1]])["valid"], true)
    XCTAssertEqual(try Verify.report(result, request: ["capabilityId": JSON(poke), "input": ["n": 2]])["valid"], false)
    let vectors = try projectFile("spec/vectors/digests.json")["requests"]?.items ?? []
    XCTAssertFalse(vectors.isEmpty)
    for vector in vectors {
      let input = try vector["input"]?.string.map { try JSON(parsing: $0) }
      XCTAssertEqual(try Verify.digest(vector["capabilityId"]?.string ?? "", input: input), vector["digest"]?.string, "\(vector)")
    }
    try await surface.close()
    withExtendedLifetime(registration) {}
  }

  /// A closed surface says so, and so does a wrong configuration.
  func testMisuseIsThrown() async throws {
    await XCTAssertThrows("AS_E_ARGUMENT at /speed") { try Surface(["speed": 1]) }
    let surface = try Surface()
    await XCTAssertThrows("AS_E_DEFINITION INVALID_DEFINITION at /colour") {
      try surface.register(Component("a.b", description: "B", options: ["colour": "red"]))
    }
    try await surface.close()
    try await surface.close()
    await XCTAssertThrows("AS_E_CLOSED") { try await surface.invoke(poke) }
    XCTAssertThrowsError(try surface.register(table { input, _ in input }))
  }
}
