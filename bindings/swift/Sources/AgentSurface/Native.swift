import CAgentSurface

/// The library's functions as Swift calls them: texts in as bytes, documents out as values, every blob freed, codes thrown.
package enum Native {}

extension Native {
  /// The text of a blob, which is given back.
  private static func take(_ blob: inout as_blob) -> [UInt8] {
    defer { as_blob_free(&blob) }
    return blob.len == 0 ? [] : Array(UnsafeBufferPointer(start: blob.ptr, count: blob.len))
  }

  package static func check(_ code: as_code) throws(SurfaceError) {
    if code != AS_OK { throw SurfaceError(code) }
  }

  /// A call that answers a code and an error blob.
  package static func tell(_ call: (UnsafeMutablePointer<as_blob>) -> as_code) throws(SurfaceError) {
    var err = as_blob()
    let code = call(&err)
    let told = take(&err)
    if code != AS_OK { throw SurfaceError(code, try? JSON(parsing: told)) }
  }

  /// A call that also answers a handle.
  package static func make(_ call: (UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<as_blob>) -> as_code) throws(SurfaceError) -> UInt64 {
    var handle: UInt64 = 0
    try tell { call(&handle, $0) }
    return handle
  }

  /// A call that also answers a text.
  package static func read(
    _ call: (UnsafeMutablePointer<as_blob>, UnsafeMutablePointer<as_blob>) -> as_code
  ) throws(SurfaceError) -> [UInt8] {
    var out = as_blob()
    try tell { call(&out, $0) }
    return take(&out)
  }

  /// A call that also answers a document.
  package static func ask(
    _ call: (UnsafeMutablePointer<as_blob>, UnsafeMutablePointer<as_blob>) -> as_code
  ) throws(SurfaceError) -> JSON {
    document(try read(call))
  }

  /// The library writes strict JSON; should it ever not, a host must see what it wrote.
  static func document(_ bytes: [UInt8]) -> JSON {
    (try? JSON(parsing: bytes)) ?? .string(String(decoding: bytes, as: UTF8.self))
  }

  static func document(_ text: UnsafePointer<UInt8>?, _ count: Int) -> JSON { document(copy(text, count)) }

  /// A view that dies with the callback, copied.
  static func copy(_ text: UnsafePointer<UInt8>?, _ count: Int) -> [UInt8] { Array(UnsafeBufferPointer(start: text, count: count)) }
}

/// Runs `body` with the text as C takes it.
package func withText<T>(_ text: [UInt8], _ body: (UnsafePointer<UInt8>?, Int) -> T) -> T {
  text.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
}

/// A handle of the library, freed with its last owner. The library checks every handle it is given, so one that outlives its registry
/// is harmless.
final class Handle: Sendable {
  let raw: UInt64
  private let free: @Sendable (UInt64) -> as_code

  init(_ raw: UInt64, free: @escaping @Sendable (UInt64) -> as_code) {
    (self.raw, self.free) = (raw, free)
  }

  deinit { _ = free(raw) }
}
