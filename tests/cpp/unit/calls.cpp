// Ways to call, and to be told what came of it.
#include "check.hpp"

#include <thread>

TEST(a_result_comes_by_callback_once) {
  as::registry surface = world();
  const as::registration box = surface.add(BOX, {{"poke", [] { return "1"; }}}).value();
  Given<std::string> result;
  auto moved = std::make_unique<int>(7);  // a listener need not be copied
  const as::invocation call =
      surface.invoke(poke(), {}, [&, moved = std::move(moved)](std::string_view text) { result.give(std::string(text)); }).value();
  CHECK_EQUAL(result.take(), call.wait().value());
}

TEST(a_listener_that_throws_harms_nobody) {
  as::registry surface = world();
  const as::registration box = surface.add(BOX, {{"poke", [] { return "1"; }}}).value();
  const as::subscription events = surface.subscribe([](std::string_view) { throw std::runtime_error("broken"); }).value();
  const as::invocation call = surface.invoke(poke(), {}, [](std::string_view) { throw 7; }).value();
  CHECK_HAS(R"("output":1)", call.wait().value());
  CHECK(as::dev::quiesce(surface).ok());
}

TEST(a_result_comes_as_a_future) {
  as::registry surface = world();
  const as::registration box = surface.add(BOX, {{"poke", [] { return "1"; }}}).value();
  as::future_call call = surface.invoke_future(poke(), R"({"consumer":{"id":"a","kind":"test"}})");
  CHECK_HAS(R"("output":1)", call.result.get());
  CHECK(call.invocation.cancel().ok());
}

TEST(a_future_of_a_call_that_did_not_start_has_its_error) {
  as::registry surface = world();
  as::future_call call = surface.invoke_future(poke("{}", R"(,"unknown":1)"));
  try {
    call.result.get();
    CHECK(false);
  } catch (const as::exception& thrown) {
    CHECK_EQUAL(AS_E_ARGUMENT, thrown.error().code());
    CHECK_EQUAL("/unknown", thrown.error().path());
  }
}

TEST(a_future_settles_when_the_registry_closes) {
  as::registry surface = world();
  std::vector<as::reply> kept;
  const as::registration box =
      surface.add(BOX, {{"poke", [&](const as::call&, as::reply reply) { kept.push_back(std::move(reply)); }}}).value();
  as::future_call call = surface.invoke_future(poke());
  CHECK(as::dev::quiesce(surface).ok());
  CHECK(surface.close().ok());
  CHECK_HAS("CANCELLED", call.result.get());
}

TEST(outcomes_are_remembered_and_sessions_end) {
  as::registry surface = world();
  const as::registration box = surface.add(BOX, {{"poke", [] { return "1"; }}}).value();
  const std::string consumer = R"({"id":"a","kind":"test"})";
  CHECK(surface.invoke_wait(poke("{}", R"(,"invocationId":"x")"), "{\"consumer\":" + consumer + "}").ok());
  CHECK_HAS(R"("output":1)", surface.outcome("{\"consumer\":" + consumer + R"(,"invocationId":"x"})").value());
  CHECK_EQUAL(AS_E_NOT_FOUND, surface.outcome(R"({"invocationId":"x"})").code());
  CHECK(surface.close_consumer(consumer).ok());
  CHECK_HAS("invocation-settled", surface.audit().value());
}

TEST(a_registration_is_updated_rebound_and_invalidated) {
  as::registry surface = world();
  as::registration box = surface.add(BOX, {{"poke", [] { return "1"; }}}).value();
  CHECK(box.rebind({{"poke", [] { return "2"; }}}).ok());
  CHECK_HAS(R"("output":2)", surface.invoke_wait(poke()).value());
  CHECK(box.update(R"({"availability":{"poke":{"available":false,"reason":"Not today."}}})").ok());
  CHECK_HAS("Not today.", surface.invoke_wait(poke()).value());
  CHECK(box.invalidate().ok());
  CHECK_HAS("\"outcome\"", as::dev::explain(surface).value());
}

TEST(tools_of_a_model) {
  as::registry surface = world();
  const as::registration box = surface.add(BOX, {{"poke", [] { return "1"; }}}).value();
  as::toolset tools = surface.make_toolset(R"({"mode":"direct","topology":"embedded"})").value();
  CHECK_HAS("embedded", tools.info().value());
  const std::string catalog = tools.tools().value();
  const std::string list(as::detail::members(catalog).raw("tools").value());
  const std::string call = "{\"name\":" + as::quote(as::detail::members(list.substr(1)).string("name")) + ",\"input\":{}}";
  const std::string result = tools.call_wait(call).value();
  CHECK_HAS(R"("output":1)", result);
  CHECK_HAS(R"("output":1)", tools.call(call).value().wait().value());
  CHECK_HAS(R"("output":1)", tools.call_future(call).result.get());
  Given<std::string> told;
  const as::invocation last = tools.call(call, [&](std::string_view text) { told.give(std::string(text)); }).value();
  CHECK_HAS(R"("output":1)", told.take());
  CHECK(tools.render(result).ok());
  CHECK_EQUAL(AS_E_ARGUMENT, tools.tools("no such format").code());
  CHECK(tools.close().ok());
  CHECK_EQUAL(AS_E_STALE_HANDLE, tools.info().code());
}
