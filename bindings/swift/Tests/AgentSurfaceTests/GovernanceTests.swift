import AgentSurface
import XCTest

final class GovernanceTests: XCTestCase {
  /// AS-CONFIRM-001: a person is asked, is told what would run, and the call runs once they agreed.
  func testConfirmation() async throws {
    let surface = try Surface()
    let registration = try surface.register(table(options: ["confirmation": "required"]) { input, context in
      XCTAssertNotNil(context.confirmation)
      return input
    })
    var events = try surface.confirmationEvents().makeAsyncIterator()
    var options = CallOptions(invocationId: "call-1")
    options.consumer = ["id": "agent", "kind": "test"]
    let asked = try await surface.invoke(poke, input: ["n": 1], options)
    XCTAssertEqual(asked.error?.code, "CONFIRMATION_REQUIRED")
    let requested = await events.next()
    XCTAssertEqual(requested?["type"], "confirmation-requested")
    XCTAssertEqual(try surface.confirmations().map { $0["input"] }, [["n": 1]])
    let id = try XCTUnwrap(asked.confirmationId)
    try surface.confirm(id, approved: true, approver: "Ada")
    let resolved = await events.next()
    XCTAssertEqual(resolved?["type"], "confirmation-resolved")
    options.confirmationId = id
    let answer: Poke = try await surface.call(poke, Poke(n: 1), options)
    XCTAssertEqual(answer, Poke(n: 1))
    XCTAssertThrowsError(try surface.confirm(id, approved: true))
    try await surface.close()
    withExtendedLifetime(registration) {}
  }

  /// AS-POLICY-001: policies as closures hide, deny, ask and withhold; one that throws is never permission.
  func testPolicies() async throws {
    struct Broken: Error {}
    let surface = try Surface()
    try surface.define(policy: "hides", Policy(onDiscovery: { _ in .hide }))
    try surface.define(policy: "breaks", Policy(onAuthorize: { _ in throw Broken() }))
    try surface.define(policy: "denies", Policy(onInvoke: { context in
      context.effectiveInput?["n"]?.int == 0 ? .deny(Refusal(.rateLimited, "Slowly")) : .allow
    }))
    try surface.define(policy: "asks", Policy(onInvoke: { _ in .confirm(summary: "Poke it?") }))
    try surface.define(policy: "masks", Policy(onResult: { _, result in ["n": .number("0")] }))
    func registered(_ policy: String) throws -> Registration {
      try surface.register(table(policy, options: ["policies": [JSON(policy)]]) { input, _ in input })
    }
    let registrations = try ["hides", "breaks", "denies", "asks", "masks"].map(registered)
    func code(_ policy: String, _ n: Int64 = 1) async throws -> String? {
      let result = try await surface.invoke(poke, input: ["n": JSON(n)], CallOptions(instanceId: policy))
      return result.error?.code
    }
    let hidden = try await code("hides")
    XCTAssertEqual(hidden, "CAPABILITY_NOT_FOUND")
    let broken = try await code("breaks")
    XCTAssertEqual(broken, "NOT_AUTHORIZED")
    let denied = try await code("denies", 0)
    XCTAssertEqual(denied, "RATE_LIMITED")
    let allowed = try await code("denies", 1)
    XCTAssertNil(allowed)
    let asked = try await surface.invoke(poke, input: ["n": 1], CallOptions(instanceId: "asks"))
    XCTAssertEqual(asked.error?.details?["summary"], "Poke it?")
    let masked = try await surface.invoke(poke, input: ["n": 7], CallOptions(instanceId: "masks"))
    XCTAssertEqual(masked.output, ["n": 0])
    try await surface.close()
    withExtendedLifetime(registrations) {}
  }

  /// AS-BIND-001: procedures of one path reach the closure of their own component, with the fields that it binds.
  func testProcedures() async throws {
    struct Order: Codable { var device: String; var note: String }
    let surface = try Surface(host: .init(context: { ["user": "ada"] }))
    func shop(_ instance: String) throws -> Registration {
      var shop = Component("shop.cart", description: "A cart", instance: instance)
      shop.serve(
        "orders.place", "Place the order", effect: .mutation,
        input: .object(["device": .string(), "note": .string()]), options: ["boundFields": ["device"]],
        bind: { context in ["device": .string("\(instance) of \(context.host?["user"]?.string ?? "")")] },
        describe: { _ in "For \(instance)" }
      ) { (order: Order, context) in "\(instance): \(order.device), \(order.note)" }
      return try surface.register(shop)
    }
    let registrations = try ["first", "second"].map(shop)
    for instance in ["first", "second"] {
      let result = try await surface.invoke("domain:orders.place", input: ["note": "soon"], CallOptions(instanceId: instance))
      XCTAssertEqual(result.output, .string("\(instance): \(instance) of ada, soon"), "\(result.document)")
    }
    let notes = try surface.snapshot()["procedures"]?.items.compactMap { $0["contextualNote"]?.string } ?? []
    XCTAssertEqual(notes.sorted(), ["For first", "For second"])
    try await surface.close()
    withExtendedLifetime(registrations) {}
  }

  /// AS-AVAIL-001: availability by closure and by word; a registration's closures are swapped; a second one of its name is rejected.
  func testRegistrations() async throws {
    let open = Guarded(false)
    let surface = try Surface()
    var door = Component("hall.door", description: "The door")
    door.observe("state", "How it stands", output: .string()) { _ in "shut" }
    door.act("pass", "Go through", input: .nothing, when: { _ in open.with { $0 } }) { (_: Nothing, _) in Nothing() }
    let registration = try surface.register(door)
    let shut = try await surface.invoke("view:hall.door.pass")
    XCTAssertEqual(shut.error?.code, "CAPABILITY_NOT_AVAILABLE")
    open.with { $0 = true }
    let passed = try await surface.invoke("view:hall.door.pass")
    XCTAssertTrue(passed.succeeded)
    XCTAssertNil(passed.output)
    try registration.setAvailable("pass", false, reason: "Wet paint")
    let wet = try await surface.invoke("view:hall.door.pass")
    XCTAssertEqual(wet.error?.details?["reason"], "Wet paint")
    var other = door
    other.observe("state", "How it stands", output: .string()) { _ in "open" }
    try registration.rebind(other)
    let state = try await surface.invoke("view:hall.door.state")
    XCTAssertEqual(state.output, "open")
    XCTAssertEqual(try surface.register(door).status, "rejected")
    registration.unregister()
    registration.unregister()
    let gone = try await surface.invoke("view:hall.door.state")
    XCTAssertEqual(gone.error?.code, "COMPONENT_UNMOUNTED")
    try await surface.close()
  }

  /// AS-ADAPTER-001: a model's tools and calls; what it gets wrong is in the result.
  func testToolset() async throws {
    let surface = try Surface()
    let registration = try surface.register(table { input, _ in input })
    let toolset = try surface.toolset(["topology": "embedded"])
    let name = try XCTUnwrap(toolset.tools().first?["name"]?.string)
    let result = try await toolset.call(name, input: ["n": 3], id: "toolu_1")
    XCTAssertEqual(result.output, ["n": 3])
    XCTAssertTrue(try toolset.render(result, "anthropic").description.contains("toolu_1"))
    let wrong = try await toolset.call("no_such_tool")
    XCTAssertEqual(wrong.error?.code, "CAPABILITY_NOT_FOUND")
    toolset.close()
    XCTAssertThrowsError(try toolset.tools())
    try await surface.close()
    withExtendedLifetime(registration) {}
  }

  /// AS-EVT-001: events come in order, and the stream ends with the surface.
  func testEvents() async throws {
    let surface = try Surface()
    let events = try surface.events()
    let registration = try surface.register(table { input, _ in input })
    _ = try await surface.invoke(poke, input: ["n": 1])
    try await surface.close()
    var seen: [JSON] = []
    for await event in events { seen.append(event) }
    let types = seen.compactMap { $0["type"]?.string }
    XCTAssertTrue(types.contains("component-registered") && types.contains("invocation-settled"), "\(types)")
    let order = seen.compactMap { $0["seq"]?.int }
    XCTAssertEqual(order, order.sorted())
    XCTAssertEqual(order.count, seen.count)
    withExtendedLifetime(registration) {}
  }
}
