// Handlers: what they may return, throw, and put off.
#include "check.hpp"

#include <memory>
#include <thread>

TEST(a_handler_returns_what_an_answer_can_be_made_of) {
  CHECK_HAS(R"("output":{"n":1})", poked([](const as::call& call) { return call.input; }, R"({"n":1})"));
  CHECK_HAS(R"("output":[1])", poked([] { return std::string("[1]"); }));
  CHECK_HAS(R"("output":"text")", poked([] { return as::quote("text"); }));
  CHECK_HAS(R"("output":7)", poked([] { return "7"; }));
  CHECK_HAS(R"("output":true)", poked([] { return true; }));
  CHECK_HAS(R"("output":null)", poked([] { return nullptr; }));
  CHECK_HAS(R"("capabilityId":"view:box.poke")", poked([](const as::call& call) { return call.context; }));
}

TEST(a_handler_that_returns_nothing_completes_without_output) {
  for (const std::string& result : {poked([] {}), poked([](const as::call&) {}), poked([] { return as::answer(); })}) {
    CHECK_HAS(R"("status":"ok")", result);
    CHECK(result.find("output") == std::string::npos);
  }
}

TEST(a_failure_may_be_thrown_or_returned) {
  const auto thrown = [] { throw as::failure("PRECONDITION_FAILED", "Not \"now\".", "with-changes", R"({"field":1})"); };
  const auto returned = []() -> as::answer { return as::failure("RATE_LIMITED", "Later."); };
  const std::string result = poked(thrown);
  CHECK_HAS(R"("code":"PRECONDITION_FAILED")", result);
  CHECK_HAS(R"("message":"Not \"now\".")", result);
  CHECK_HAS(R"("retry":"with-changes")", result);
  CHECK_HAS(R"("field":1)", result);
  CHECK_HAS(R"("code":"RATE_LIMITED")", poked(returned));
}

TEST(whatever_else_is_thrown_goes_to_the_operator_only) {
  std::string log;
  as::host host;
  host.log = [&](std::string_view entry) { log += entry; };
  {
    as::registry surface = world(std::move(host));
    const as::registration box = surface.add(BOX, {{"poke", [] { throw std::runtime_error("the secret\nplace"); }}}).value();
    const std::string result = surface.invoke_wait(poke()).value();
    CHECK_HAS(R"("code":"EXECUTION_FAILED")", result);
    CHECK_HAS(R"("reason":"handler-error")", result);
    CHECK(result.find("secret") == std::string::npos);
  }
  CHECK_HAS("the secret\\nplace", log);
}

TEST(what_is_no_exception_is_caught_too) { CHECK_HAS(R"("reason":"handler-error")", poked([]() -> std::string { throw 7; })); }

TEST(output_that_is_no_json_fails_the_call) { CHECK_HAS(R"("reason":"output-invalid")", poked([] { return "{"; })); }

TEST(a_handler_may_answer_from_another_thread) {
  std::thread thread;
  {
    as::registry surface = world();
    const as::registration box = surface.add(BOX, {{"poke", [&](const as::call& call, as::reply reply) {
      thread = std::thread([reply = std::move(reply), input = std::string(call.input)]() mutable {
        CHECK(reply.send(input).ok());
        CHECK_EQUAL(AS_E_SETTLED, reply.send("2").code());
      });
    }}}).value();
    CHECK_HAS(R"("output":{"n":1})", surface.invoke_wait(poke(R"({"n":1})")).value());
    thread.join();
  }
}

TEST(a_handler_that_takes_its_reply_may_answer_at_once) {
  CHECK_HAS(R"("output":1)", poked([](const as::call&, as::reply reply) { (void)reply.send("1"); }));
  CHECK_HAS(R"("code":"RATE_LIMITED")",
            poked([](const as::call&, as::reply reply) { (void)reply.send(as::failure("RATE_LIMITED", "Later.")); }));
}

TEST(a_reply_that_ends_unanswered_fails_the_call) {
  CHECK_HAS(R"("reason":"handler-error")", poked([](const as::call&, as::reply) {}));
  CHECK_HAS(R"("reason":"handler-error")", poked([](const as::call&, as::reply) { throw std::runtime_error("no"); }));
  as::reply kept;
  as::registry surface = world();
  const as::registration box = surface.add(BOX, {{"poke", [&](const as::call&, as::reply reply) { kept = std::move(reply); }}}).value();
  const as::invocation call = surface.invoke(poke()).value();
  CHECK(as::dev::quiesce(surface).ok());
  CHECK_EQUAL(AS_E_TIMEOUT, call.wait(std::chrono::milliseconds(0)).code());
  kept = as::reply();
  CHECK_HAS(R"("reason":"handler-error")", call.wait().value());
}

TEST(an_aborted_call_tells_and_takes_no_answer) {
  as::registry surface = world();
  as::reply kept;
  Given<bool> told;
  const as::registration box = surface.add(BOX, {{"poke", [&](const as::call& call, as::reply reply) {
    CHECK_EQUAL(false, call.aborted().value());
    CHECK(call.on_abort([&] { told.give(true); }).ok());
    CHECK(reply.on_abort([] { throw std::runtime_error("nobody waits for it"); }).ok());
    kept = std::move(reply);
  }}}).value();
  as::invocation call = surface.invoke(poke()).value();
  CHECK(as::dev::quiesce(surface).ok());
  CHECK_EQUAL(false, kept.aborted().value());
  CHECK(call.cancel().ok());
  CHECK(told.take());
  CHECK_HAS(R"("code":"CANCELLED")", call.wait().value());
  CHECK_EQUAL(true, kept.aborted().value());
  CHECK_EQUAL(AS_E_LATE, kept.send("1").code());
}

// A call inside a serial binding that waits for the same binding could never end; without the flag it simply runs.
TEST(a_serial_binding_is_never_entered_twice) {
  for (const bool serial : {false, true}) {
    as::registry surface = world();
    const std::string look = R"({"capabilityId":"view:box.look"})";
    int depth = 0;
    as_code inner = AS_OK;
    as::binding binding{"look", [&] {
      if (depth++ == 0) inner = surface.invoke_wait(look).code();
      return "1";
    }};
    binding.serial = serial;
    const as::registration box = surface.add(
        R"({"type":"box","description":"A box","observations":{"look":{"description":"Look inside","output":{"type":"integer"}}}})",
        {binding}).value();
    CHECK_HAS(R"("output":1)", surface.invoke_wait(look).value());
    CHECK_EQUAL(serial ? AS_E_WOULD_DEADLOCK : AS_OK, inner);
    CHECK_EQUAL(serial ? 1 : 2, depth);
  }
}

// In every way a table can be passed: what a lambda holds is given back, once.
TEST(what_a_callback_holds_is_given_back) {
  const auto held = std::make_shared<int>(7);
  const auto holder = [held] {};
  const auto listener = [held](std::string_view) {};
  {
    as::registry surface = world();
    as::host host;
    host.context = [held] { return "{}"; };
    CHECK_EQUAL(AS_E_ARGUMENT, as::registry::make(R"({"unknown":1})", host).code());
    as::policy policy;
    policy.on_discovery = [held] { return as::answer::hide(); };
    CHECK(surface.define_policy("p", policy).ok());
    CHECK_EQUAL(AS_E_ARGUMENT, surface.define_policy("p", policy).code());
    CHECK_EQUAL(AS_E_JSON, surface.set_executor("[", holder).code());
    CHECK_EQUAL(AS_E_ARGUMENT, surface.set_executor("[]", as::handler()).code());
    CHECK(surface.set_executor("[]", holder).ok());
    CHECK(surface.set_executor("[]", holder).ok());
    CHECK_EQUAL(AS_E_DEFINITION, surface.add("{}", {{"poke", holder}, {"pull", holder}}).code());
    as::registration box = surface.add(BOX, {{"poke", holder}}).value();
    CHECK_EQUAL(AS_E_DEFINITION, box.rebind({{"pull", holder}}).code());
    CHECK(box.rebind({{"poke", holder}}).ok());
    CHECK_EQUAL(AS_E_ARGUMENT, surface.invoke(R"({"unknown":1})", {}, listener).code());
    CHECK(surface.invoke(poke(), {}, listener).ok());
    const as::subscription events = surface.subscribe(listener).value();
    const as::subscription questions = surface.subscribe_confirmations(listener).value();
    CHECK(held.use_count() > 3);
  }
  CHECK_EQUAL(3, held.use_count());  // this one, and one in each of the two lambdas
}
