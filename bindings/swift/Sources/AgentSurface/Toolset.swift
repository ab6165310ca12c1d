import CAgentSurface

/// The catalog of one consumer as the tools of a language model, and the model's calls back to governed ones.
public final class Toolset: Sendable {
  private let handle: Handle

  init(_ raw: as_toolset) { handle = Handle(raw, free: as_toolset_free) }

  /// `{tools, wireNameMap, loss}` in a provider's format: `neutral`, `openai`, `anthropic`, `gemini` or `mcp`.
  public func catalog(_ format: String = "neutral") throws -> JSON { try Native.toolsetTools(handle.raw, format) }

  public func tools(_ format: String = "neutral") throws -> [JSON] { try catalog(format)["tools"]?.items ?? [] }

  /// Its options as they came out.
  public func info() throws -> JSON { try Native.toolsetInfo(handle.raw) }

  /// Runs a model's tool call. `input` may be the JSON text that some providers send. What a model gets wrong is in the result. With
  /// confirmations `wait` the result comes once the person has decided.
  public func call(_ name: String, input: JSON = [:], id: String? = nil) async throws -> CallResult {
    let call: JSON = .object(["name": JSON(name), "input": input, "toolCallId": id.map { JSON($0) }])
    return try await awaited { [handle] in try Native.toolsetCall(handle.raw, call, $0) }
  }

  /// A result as the provider wants to read it: the message that goes back to the model.
  public func render(_ result: CallResult, _ format: String = "neutral") throws -> JSON {
    try Native.toolsetRender(handle.raw, format, result.document)
  }

  /// Ends it; calls that wait for a person end at once with the result they have. Again it does nothing.
  public func close() { as_toolset_free(handle.raw) }
}
