import AgentSurface
import Foundation
import XCTest

struct Poke: Codable, Equatable, Sendable { var n: Int64 }

/// A table of devices with one action, `poke`.
func table(
  _ instance: String? = nil, options: JSON = [:], _ execute: @escaping @Sendable (Poke, CallContext) async throws -> Poke
) -> Component {
  var table = Component("devices.table", description: "Devices", instance: instance)
  table.act("poke", "Poke a device", input: .object(["n": .integer()]), options: options, execute: execute)
  return table
}

let poke = "view:devices.table.poke"

/// What is alive in the library now, by the JSON Pointers of `as_dev_live`.
func live() throws -> [String: Int64] {
  var counters: [String: Int64] = [:]
  func count(_ pointer: String, _ json: JSON) {
    if let number = json.int { counters[pointer] = number }
    for (key, value) in json.members { count("\(pointer)/\(key)", value) }
  }
  count("", try Native.live())
  return counters
}

/// Something that happens once, to be waited for.
struct Signal: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func send() { continuation.finish() }
  func wait() async { for await _ in stream {} }
}

/// Tells when it is gone.
final class Canary: Sendable {
  let gone = Signal()
  deinit { gone.send() }
}

func XCTAssertThrows<T>(_ expected: String, _ work: () async throws -> T, line: UInt = #line) async {
  do {
    _ = try await work()
    XCTFail("did not throw", line: line)
  } catch {
    XCTAssertTrue("\(error)".hasPrefix(expected), "\(error)", line: line)
  }
}

/// A file of the project.
func projectFile(_ path: String) throws -> JSON {
  let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../..").standardizedFileURL
  return try JSON(parsing: Array(Data(contentsOf: root.appendingPathComponent(path))))
}
