/// From closures that return and throw to replies.
enum Handling {
  /// What a handler does, over bytes; nil completes without output.
  typealias Work = @Sendable (_ context: JSON, _ input: [UInt8]) async throws -> [UInt8]?

  static func work<Input: Decodable, Output: Encodable>(_ body: @escaping @Sendable (Input, CallContext) async throws -> Output) -> Work {
    { context, input in
      let input = try Input.self == Nothing.self ? Nothing() as! Input : decode(Input.self, input)
      let output = try await body(input, CallContext(context))
      return output is Nothing ? nil : try encode(output).bytes
    }
  }

  static func handler(_ work: @escaping Work) -> HandlerHook {
    { reply, context, input in run(reply, context, input, work) }
  }

  static func run(_ reply: Reply, _ context: JSON, _ input: [UInt8], _ work: @escaping Work) {
    later(reply) {
      let output = try await work(context, input)
      return { try reply.json(output ?? []) }
    }
  }

  /// Runs `decide` as a task of its own, and then the answer it gave. The call's abort cancels the task.
  static func later(_ reply: Reply, _ decide: @escaping @Sendable () async throws -> (() throws -> Void)) {
    guard (try? reply.later()) != nil else { return }
    let task = Task {
      do {
        let answer = try await decide()
        try? answer()  // Late, or the call is gone: the library has noted it.
      } catch {
        fail(reply, error)
      }
    }
    try? reply.onAbort { task.cancel() }
  }

  /// Answers before the callback returns.
  static func hook(_ work: @escaping @Sendable (JSON) throws -> JSON) -> Hook {
    { reply, context in answer(reply) { try work(context) } }
  }

  static func answer(_ reply: Reply, _ work: () throws -> JSON) {
    let value: JSON
    do { value = try work() } catch { return fail(reply, error) }
    try? reply.json(value)
  }

  /// A refusal as it is; of anything else an agent learns nothing.
  static func fail(_ reply: Reply, _ error: any Error) {
    let payload = (error as? Refusal)?.payload ?? JSON(String(describing: error)).bytes
    try? reply.error(payload)
  }

  static func when(_ predicate: @escaping @Sendable (CallContext) throws -> Bool) -> Hook {
    hook { JSON(try predicate(CallContext($0))) }
  }

  static func precondition(_ refuses: @escaping @Sendable (CallContext) throws -> String?) -> Hook {
    hook { try refuses(CallContext($0)).map { ["message": JSON($0)] } ?? .null }
  }
}
