import AgentSurface
import XCTest

/// Memory is safe and nothing is left, whatever goes first.
final class LifetimeTests: XCTestCase {
  /// Everything that a surface gives out, released in every order, with a call in flight.
  func testEveryOrderOfRelease() async throws {
    let before = try live()
    let names = ["surface", "registration", "toolset", "events", "confirmations"]
    for order in permutations(names) { try await released(order) }
    XCTAssertEqual(try live(), before)
  }

  private func released(_ order: [String]) async throws {
    let (canary, started) = (Signal(), Signal())
    var held: [String: Any] = [:]
    let call: Task<CallResult, any Error>
    do {
      let surface = try Surface()
      let bird = Canary()
      held["registration"] = try surface.register(table { input, _ in
        started.send()
        await Signal().wait()
        withExtendedLifetime(bird) {}
        return input
      })
      held["toolset"] = try surface.toolset(["topology": "remote"])
      held["events"] = try surface.events()
      held["confirmations"] = try surface.confirmationEvents()
      held["surface"] = surface
      call = Task { [weak surface] in try await surface!.invoke(poke, input: ["n": 1]) }
      await started.wait()
      Task { [gone = bird.gone] in
        await gone.wait()
        canary.send()
      }
    }
    let surface = held["surface"] as? Surface
    for name in order { held[name] = nil }
    try await surface?.close()
    let result = try await call.value
    XCTAssertNotNil(result.error)
    await canary.wait()
  }

  private func permutations(_ names: [String]) -> [[String]] {
    names.isEmpty ? [[]] : names.flatMap { first in permutations(names.filter { $0 != first }).map { [first] + $0 } }
  }

  /// A surface that nobody closed ends with its last reference: its calls settle, its streams end, its closures are given back.
  func testForgottenSurface() async throws {
    let started = Signal()
    var gone: [Signal] = []
    func canary() -> Canary {
      let bird = Canary()
      gone.append(bird.gone)
      return bird
    }
    let (call, events, registration): (Task<CallResult, any Error>, AsyncStream<JSON>, Registration)
    do {
      let (inHost, inPolicy, inHandler) = (canary(), canary(), canary())
      let surface = try Surface(host: .init(context: { withExtendedLifetime(inHost) { [:] } }))
      try surface.define(policy: "p", Policy(onDiscovery: { _ in withExtendedLifetime(inPolicy) { .expose } }))
      registration = try surface.register(table { input, _ in
        started.send()
        await Signal().wait()
        return withExtendedLifetime(inHandler) { input }
      })
      events = try surface.events()
      // A toolset's call does not hold the surface.
      let toolset = try surface.toolset(["topology": "remote"])
      let name = try XCTUnwrap(toolset.tools().first?["name"]?.string)
      call = Task { try await toolset.call(name, input: ["n": 1]) }
      await started.wait()
    }
    let result = try await call.value
    XCTAssertEqual(result.error?.code, "CANCELLED")
    for await _ in events {}
    for signal in gone { await signal.wait() }
    XCTAssertEqual(gone.count, 3)
    XCTAssertEqual(registration.status, "closed")
  }

  /// A stream that nobody reads any more is no listener any more, and one of a surface that is gone has ended.
  func testStreams() async throws {
    let surface = try Surface()
    let before = try live()
    var events: AsyncStream<JSON>? = try surface.events()
    XCTAssertEqual(try live()["/handles/subscription"], before["/handles/subscription"].map { $0 + 1 })
    XCTAssertNotNil(events)
    events = nil
    XCTAssertEqual(try live()["/handles/subscription"], before["/handles/subscription"])
    let rest = try surface.events()
    try await surface.close()
    for await _ in rest {}
  }

  /// What fails gives its closures back at once.
  func testFailuresKeepNothing() async throws {
    let surface = try Surface()
    let before = try live()
    let bird = Guarded<Canary?>(Canary())
    let gone = bird.with { $0!.gone }
    try {
      let kept = bird.with { $0! }
      var wrong = table { input, _ in withExtendedLifetime(kept) { input } }
      wrong.definition.set("colour", "red")
      XCTAssertThrowsError(try surface.register(wrong))
      XCTAssertThrowsError(try surface.define(policy: "", Policy(onDiscovery: { _ in withExtendedLifetime(kept) { .hide } })))
      XCTAssertEqual(try live(), before)
    }()
    bird.with { $0 = nil }
    await gone.wait()
    try await surface.close()
  }

  /// Many tasks, one surface: results go to whom they belong.
  func testConcurrentCalls() async throws {
    let surface = try Surface(["limits": ["maxInFlight": 512]])
    let registration = try surface.register(table(options: ["concurrency": ["mode": "parallel", "max": 64, "queueDepth": 512]]) { input, _ in input })
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for n in 0..<200 {
        group.addTask { try await surface.call(poke, Poke(n: Int64(n))) == Poke(n: Int64(n)) }
      }
      for try await right in group { XCTAssertTrue(right) }
    }
    try await surface.close()
    withExtendedLifetime(registration) {}
  }
}
