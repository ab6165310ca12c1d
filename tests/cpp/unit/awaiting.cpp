// co_await, where the compiler has coroutines.
#include "check.hpp"

#ifdef AGENT_SURFACE_COROUTINES

#include <thread>

namespace {

// The smallest coroutine: it begins at once, and its frame goes when it ends or, if it has not, with the object.
struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

Task two_calls(const as::registry& surface, Given<std::string>& out) {
  const auto first = co_await surface.invoke_await(poke(R"({"n":1})"));
  const auto second = co_await surface.invoke_await(poke(R"({"n":2})"));
  out.give(first.value() + second.value());
}

Task one_call(const as::registry& surface, std::string request, Given<as_code>& out) {
  const auto result = co_await surface.invoke_await(request);
  out.give(result.code());
}

Task tool_call(const as::toolset& tools, std::string call, Given<std::string>& out) {
  const auto result = co_await tools.call_await(call);
  out.give(result.value());
}

}  // namespace

TEST(a_coroutine_goes_on_with_the_result) {
  as::registry surface = world();
  const as::registration box = surface.add(BOX, {{"poke", [](const as::call& call) { return call.input; }}}).value();
  Given<std::string> out;
  two_calls(surface, out);
  const std::string results = out.take();
  CHECK_HAS(R"("output":{"n":1})", results);
  CHECK_HAS(R"("output":{"n":2})", results);
}

TEST(a_coroutine_goes_on_with_the_error) {
  as::registry surface = world();
  Given<as_code> out;
  one_call(surface, "{", out);
  CHECK_EQUAL(AS_E_JSON, out.take());
}

TEST(a_coroutine_that_is_destroyed_is_not_resumed) {
  as::registry surface = world();
  as::reply kept;
  const as::registration box = surface.add(BOX, {{"poke", [&](const as::call&, as::reply reply) { kept = std::move(reply); }}}).value();
  Given<as_code> out;
  const Task task = one_call(surface, poke(), out);
  CHECK(as::dev::quiesce(surface).ok());
  task.handle.destroy();
  CHECK(kept.send("1").ok());
  CHECK(as::dev::quiesce(surface).ok());
}

// The call and its reply outlive the handler: a coroutine copies what it needs before it suspends.
TEST(a_handler_may_be_a_coroutine) {
  as::registry surface = world();
  const as::registration inner = surface.add(BOX, {{"poke", [](const as::call& call) { return call.input; }}}).value();
  const auto outer = [&surface](const as::call& call, as::reply reply) -> Task {
    const std::string input(call.input);
    const auto result = co_await surface.invoke_await(poke(input));
    (void)reply.send(result.value());
  };
  const as::registration crate = surface.add(
      R"({"type":"crate","description":"A crate","actions":{"open":{"description":"Open it","effect":"local-state","input":{"type":"object"}}}})",
      {{"open", outer}}).value();
  CHECK_HAS(R"("output":{"n":3})", surface.invoke_wait(R"({"capabilityId":"view:crate.open","input":{"n":3}})").value());
}

TEST(a_tool_call_is_awaited) {
  as::registry surface = world();
  const as::registration box = surface.add(BOX, {{"poke", [] { return "1"; }}}).value();
  const as::toolset tools = surface.make_toolset(R"({"mode":"direct","topology":"embedded"})").value();
  Given<std::string> out;
  tool_call(tools, R"({"name":"no-such-tool","input":{}})", out);
  CHECK_HAS("error", out.take());
}

#endif
