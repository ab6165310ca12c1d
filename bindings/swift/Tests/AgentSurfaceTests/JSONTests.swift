import AgentSurface
import Foundation
import XCTest

final class JSONTests: XCTestCase {
  /// What is read is written as it was: order, and every digit.
  func testTextIsKept() throws {
    for text in [#"{"b":1,"a":[123456789012345678901234567890,1.50,-0,1e400]}"#, #"["\"\\\n\u0001é😀"]"#, "null", "\"\""] {
      XCTAssertEqual(try JSON(parsing: text).description, text)
    }
  }

  func testWhatIsNotJSON() {
    let texts = ["", "{", "[1,]", #"{"a":1,}"#, "01", "1.", "+1", "nul", "'a'", "\"\n\"", #""\ud800""#, "1 2", #""\u12""#]
    for text in texts + [String(repeating: "[", count: 2000)] { XCTAssertThrowsError(try JSON(parsing: text), text) }
  }

  /// Numbers by worth, members in any order, texts by code point and not by Unicode equivalence.
  func testEquality() throws {
    func same(_ a: String, _ b: String) throws -> Bool { try JSON(parsing: a) == JSON(parsing: b) }
    XCTAssertTrue(try same("1", "1.0"))
    XCTAssertFalse(try same("9007199254740993", "9007199254740992"))
    XCTAssertFalse(try same("9007199254740993", "9007199254740992.0"))
    XCTAssertTrue(try same(#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#))
    XCTAssertFalse(try same("\"\u{e9}\"", "\"e\u{301}\""))
    XCTAssertNil(JSON.object([("\u{e9}", 1)])["e\u{301}"])
  }

  /// As a Codable value it keeps 64 bits.
  func testCodable() throws {
    let json: JSON = ["a": [1, 2.5, true, nil, "x"], "b": .number("18446744073709551615"), "c": .number("-9223372036854775808")]
    XCTAssertEqual(try JSONDecoder().decode(JSON.self, from: JSONEncoder().encode(json)), json)
  }

  /// The codes are those of `spec/codes.json`, no more and no fewer.
  func testCodes() throws {
    let codes = try projectFile("spec/codes.json")["codes"]?.items ?? []
    let numbers = Set(codes.compactMap { $0["number"]?.int }).subtracting([0])
    XCTAssertEqual(numbers, Set(SurfaceError.Code.allCases.map { Int64($0.rawValue) }).subtracting([1]))
    func letters(_ name: String) -> String { name.replacingOccurrences(of: "_", with: "").uppercased() }
    for code in codes where code["number"] != 0 {
      let found = code["number"]?.int.flatMap { SurfaceError.Code(rawValue: Int32($0)) }
      XCTAssertEqual(found.map { letters("AS_E_\($0)") }, code["name"]?.string.map { letters($0) })
    }
  }
}
