import CAgentSurface

/// What the library answers where it was misused: a code, and what the error blob said. Whatever goes wrong with a *call* is in its
/// result instead.
public struct SurfaceError: Error, Sendable, CustomStringConvertible {
  public let code: Code
  /// `AS_E_…`, also for a code that this package does not know.
  public let name: String
  public let message: String
  /// The JSON Pointer of what is wrong in the document that was passed.
  public let path: String?
  /// Why a definition was refused, such as `INVALID_DEFINITION`.
  public let reason: String?

  public var description: String {
    let words = [name, reason, path.map { "at \($0)" }, message.isEmpty ? nil : message]
    return words.compactMap { $0 }.joined(separator: " ")
  }

  /// The codes of the library, by `spec/codes.json`.
  public enum Code: Int32, Sendable, CaseIterable {
    case argument = -1
    case nullHandle = -2
    case staleHandle = -3
    case wrongHandle = -4
    case utf8 = -5
    case json = -6
    case definition = -7
    case limit = -8
    case closed = -9
    case settled = -10
    case late = -11
    case notFound = -12
    case timeout = -13
    case wouldDeadlock = -14
    case forked = -15
    case panic = -16
    /// A code of a later library.
    case unknown = 1
  }
}

extension SurfaceError {
  init(_ code: as_code, _ told: JSON? = nil) {
    self.code = Code(rawValue: code) ?? .unknown
    name = String(cString: as_code_name(code))
    message = told?["message"]?.string ?? ""
    path = told?["path"]?.string
    reason = told?["reason"]?.string
  }
}
