// The scenario runner: drives a registry through this package as scenario files say, and holds what it sees against them.
//
// scenarios [--dispatch push|pull] [--filter SUBSTRING] FILE…
// One line for each scenario, a last one with the counts; the exit status is 0 only if none failed. A folder stands for its *.json.

import AgentSurface
import Foundation

struct Complaint: Error, CustomStringConvertible {
  let description: String
  init(_ what: String) { description = what }
}

@main
enum Runner {
  /// Real time after which a scenario counts as hung and is left behind.
  static let watchdog = 60.0
  /// Room for the deepest document.
  static let stack = 32 << 20

  static func main() {
    var (pull, filter, files, words) = (false, "", [String](), CommandLine.arguments.dropFirst())
    while let word = words.popFirst() {
      switch word {
      case "--dispatch": pull = words.popFirst() == "pull"
      case "--filter": filter = words.popFirst() ?? ""
      case _ where word.hasPrefix("-"):
        FileHandle.standardError.write(Data("usage: scenarios [--dispatch push|pull] [--filter SUBSTRING] FILE…\n".utf8))
        exit(2)
      default: files += expanded(word)
      }
    }
    let tally = Tally()
    let stuck = Guarded(false)
    for file in files { run(file, filter, pull, stuck, tally) }
    say("\(tally.passed) passed, \(tally.failed) failed")
    exit(tally.failed == 0 ? 0 : 1)
  }

  static func expanded(_ path: String) -> [String] {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else { return [path] }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.filter { $0.hasSuffix(".json") }.sorted().map { path + "/" + $0 }
  }

  static func run(_ file: String, _ filter: String, _ pull: Bool, _ stuck: Guarded<Bool>, _ tally: Tally) {
    let scenarios: [JSON]
    do { scenarios = try read(file) } catch { return tally.report(file, "\(error)") }
    for (i, scenario) in scenarios.enumerated() {
      let name = scenario["name"]?.string ?? "\(file)[\(i)]"
      if filter.isEmpty || name.contains(filter) { tally.report(name, outcome(scenario, pull, stuck)) }
    }
  }

  static func read(_ file: String) throws -> [JSON] {
    guard let data = FileManager.default.contents(atPath: file) else { throw Complaint("cannot be read") }
    guard let text = String(data: data, encoding: .utf8) else { throw Complaint("not UTF-8") }
    do {
      let document = try JSON(parsing: text)
      if case .array(let scenarios) = document { return scenarios }
      return [document]
    } catch { throw Complaint("not valid JSON: \(error)") }
  }

  /// On a thread of its own, which is left behind when it hangs. Answers what went wrong.
  static func outcome(_ scenario: JSON, _ pull: Bool, _ stuck: Guarded<Bool>) -> String? {
    let (place, complaint, done) = (Guarded("opening"), Guarded<String?>(nil), DispatchSemaphore(value: 0))
    let thread = Thread {
      do {
        do { try Page.check(scenario) } catch { throw Complaint("not a valid scenario: \(error)") }
        try Scenario.run(scenario, pull: pull, place: place, stuck: stuck)
      } catch {
        complaint.with { $0 = "\(error)" }
      }
      done.signal()
    }
    thread.stackSize = stack
    thread.start()
    if done.wait(timeout: .now() + watchdog) == .timedOut {
      stuck.with { $0 = true }
      return place.with { $0 } + ": hangs"
    }
    return complaint.with { $0 }
  }
}

/// At once, so that a run that is killed has told what it did.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

final class Tally {
  private(set) var passed = 0
  private(set) var failed = 0

  func report(_ name: String, _ complaint: String?) {
    if let complaint {
      failed += 1
      say("FAIL \(line(name)): \(line(complaint))")
    } else {
      passed += 1
      say("ok \(line(name))")
    }
  }

  private func line(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0 == "\n" || $0 == "\r" ? " " : $0 }))
  }
}
