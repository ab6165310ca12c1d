// Policies, the hooks of a binding and of the host.
#include "check.hpp"

#include <thread>

namespace {

// What one call answers under this policy.
std::string under(as::policy policy, as::handler handler = [] { return "1"; }) {
  as::registry surface = world();
  CHECK(surface.define_policy("p", std::move(policy)).ok());
  const as::registration box = surface.add(GUARDED, {{"poke", std::move(handler)}}).value();
  return surface.invoke_wait(poke()).value();
}

// What one call answers, and what the catalog shows, of a binding with these hooks.
struct Seen {
  std::string result, catalog;
};
Seen with_hooks(as::binding binding) {
  as::registry surface = world();
  binding.name = "poke";
  if (!binding.handle) binding.handle = [] { return "1"; };
  const as::registration box = surface.add(BOX, {binding}).value();
  return {surface.invoke_wait(poke()).value(), surface.snapshot(R"({"includeUnavailable":true})").value()};
}

}  // namespace

TEST(a_policy_allows_or_denies_in_both_phases) {
  CHECK_HAS(R"("output":1)", under({{}, as::decision::allow, as::decision::allow}));
  CHECK_HAS("NOT_AUTHORIZED", under({{}, [] { return as::decision::deny(); }}));
  CHECK_HAS("NOT_AUTHORIZED", under({{}, {}, [] { return as::decision::deny(); }}));
  const auto typed = [] { return as::decision::deny(as::failure("NOT_AUTHENTICATED", "Sign in.")); };
  CHECK_HAS(R"("message":"Sign in.")", under({{}, typed}));
}

TEST(a_policy_that_throws_denies) {
  CHECK_HAS("NOT_AUTHORIZED", under({{}, []() -> as::decision { throw std::runtime_error("broken"); }}));
  CHECK_HAS("NOT_AUTHORIZED", under({{}, {}, []() -> as::decision { throw 7; }}));
  CHECK_HAS("RATE_LIMITED", under({{}, []() -> as::decision { throw as::failure("RATE_LIMITED", "Later."); }}));
}

TEST(a_policy_may_decide_later) {
  std::thread thread;
  as::policy later;
  later.on_authorize = [&](const as::call&, as::decision_reply reply) {
    thread = std::thread([reply = std::move(reply)]() mutable { CHECK(reply.send(as::decision::allow()).ok()); });
  };
  CHECK_HAS(R"("output":1)", under(later));
  thread.join();
  CHECK_HAS("NOT_AUTHORIZED", under({{}, [](const as::call&, as::decision_reply) {}}));
}

TEST(a_policy_asks_a_person) {
  as::registry surface = world();
  as::policy policy;
  policy.on_invoke = [] { return as::decision::confirm("Poke the box?"); };
  CHECK(surface.define_policy("p", policy).ok());
  const as::registration box = surface.add(GUARDED, {{"poke", [] { return "1"; }}}).value();
  Given<std::string> asked;
  const as::subscription questions = surface.subscribe_confirmations([&](std::string_view event) {
    if (event.find("confirmation-requested") != std::string_view::npos) asked.give(std::string(event));
  }).value();
  const std::string id = as::quote("call-1");
  const std::string first = surface.invoke_wait(poke("{}", ",\"invocationId\":" + id)).value();
  CHECK_HAS("CONFIRMATION_REQUIRED", first);
  CHECK_HAS("confirmation-requested", asked.take());
  const std::string pending = surface.confirmations().value();
  CHECK_HAS("Poke the box?", pending);
  const std::string confirmation = as::detail::members(pending.substr(1)).string("confirmationId");
  CHECK_EQUAL(AS_E_TIMEOUT, surface.confirmation_wait(confirmation, std::chrono::milliseconds(0)).code());
  CHECK(surface.confirm("{\"confirmationId\":" + as::quote(confirmation) + ",\"approved\":true}").ok());
  CHECK_HAS("approved", surface.confirmation_wait(confirmation).value());
  const std::string evidence = ",\"invocationId\":" + id + ",\"confirmationId\":" + as::quote(confirmation);
  CHECK_HAS(R"("output":1)", surface.invoke_wait(poke("{}", evidence)).value());
}

TEST(discovery_exposes_hides_or_disables) {
  CHECK_HAS(R"("output":1)", under({[] { return as::answer::expose(); }}));
  CHECK_HAS("CAPABILITY_NOT_FOUND", under({[] { return as::answer::hide(); }}));
  CHECK_HAS("Not \\\"now\\\".", under({[] { return as::answer::disable("Not \"now\"."); }}));
  CHECK_HAS("CAPABILITY_NOT_FOUND", under({[]() -> as::answer { throw std::runtime_error("broken"); }}));
}

TEST(a_policy_looks_at_results) {
  as::policy policy;
  policy.on_result = [](const as::call& call, std::string_view result) {
    CHECK_HAS("effectiveInput", std::string(call.context));
    CHECK_HAS(R"("output":1)", std::string(result));
    return R"({"output":2})";
  };
  CHECK_HAS(R"("output":2)", under(policy));
  policy.on_result = [](const as::call&, std::string_view) { return nullptr; };
  CHECK_HAS(R"("output":1)", under(policy));
  policy.on_result = [](const as::call&, std::string_view) -> as::answer { throw std::runtime_error("broken"); };
  CHECK_HAS("result-policy", under(policy));
}

TEST(availability_is_asked) {
  as::binding binding;
  binding.when = [] { return true; };
  CHECK_HAS(R"("output":1)", with_hooks(binding).result);
  binding.when = [] { return false; };
  CHECK_HAS("CAPABILITY_NOT_AVAILABLE", with_hooks(binding).result);
  CHECK_HAS(R"("available":false)", with_hooks(binding).catalog);
  binding.when = []() -> bool { throw std::runtime_error("broken"); };
  CHECK_HAS("CAPABILITY_NOT_AVAILABLE", with_hooks(binding).result);
}

TEST(a_precondition_refuses) {
  as::binding binding;
  binding.precondition = [] { return nullptr; };
  CHECK_HAS(R"("output":1)", with_hooks(binding).result);
  binding.precondition = [] { return as::refusal("Open it first.", R"({"lid":"closed"})"); };
  const std::string refused = with_hooks(binding).result;
  CHECK_HAS("PRECONDITION_FAILED", refused);
  CHECK_HAS("Open it first.", refused);
  CHECK_HAS(R"("lid":"closed")", refused);
}

TEST(procedures_are_bound_described_and_executed) {
  as::registry surface = world();
  CHECK(surface.set_executor(R"(["box.empty"])", [](const as::call& call) {
    CHECK_HAS(R"("path":"box.empty")", std::string(call.context));
    return call.input;
  }).ok());
  as::binding binding{"domain:box.empty"};
  binding.bind = [] { return R"({"what":"all"})"; };
  binding.describe = [] { return as::quote("3 things inside"); };
  const as::registration box = surface.add(R"({"type":"box","description":"A box","procedures":[{"path":"box.empty","description":"Empty it",
      "effect":"server-mutation","boundFields":["what"],"input":{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}}]})",
      {binding}).value();
  CHECK_HAS("3 things inside", surface.snapshot().value());
  CHECK_HAS(R"("output":{"what":"all"})", surface.invoke_wait(R"({"capabilityId":"domain:box.empty"})").value());
}

TEST(the_host_tells_guards_redacts_and_is_told) {
  std::string audit;
  as::host host;
  host.context = [] { return R"({"user":"mara"})"; };
  host.route = [] { return R"({"path":"/boxes"})"; };
  host.on_register = [](const as::call& call) {
    return call.context.find("forbidden") == std::string_view::npos ? R"("accept")" : R"("reject")";
  };
  host.audit = [&](std::string_view entry) { audit += entry; };
  {
    as::registry surface = as::registry::make(R"({"environment":"test","audit":{"sink":"callback"}})", host).value();
    const as::registration box = surface.add(BOX, {{"poke", [](const as::call& call) { return call.context; }}}).value();
    CHECK_HAS(R"("user":"mara")", surface.invoke_wait(poke()).value());
    CHECK_HAS(R"("path":"/boxes")", surface.snapshot().value());
    const as::registration rejected = surface.add(R"({"type":"forbidden","description":"No"})").value();
    CHECK_HAS("rejected", rejected.info().value());
    CHECK(as::dev::quiesce(surface).ok());
  }
  CHECK_HAS("invocation-settled", audit);
}
