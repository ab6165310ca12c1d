// nlohmann::json in and out, where it is installed.
#if __has_include(<nlohmann/json.hpp>)
#define AGENT_SURFACE_WITH_NLOHMANN

#include "check.hpp"

using nlohmann::json;

TEST(values_go_in_and_out) {
  as::registry surface = world();
  const json definition = json::parse(BOX);
  const as::registration box = surface.add(definition, {{"poke", as::with_json([](const json& input) {
    return json{{"sum", input["a"].get<int>() + input["b"].get<int>()}};
  })}}).value();
  const json result = json::parse(
      surface.invoke_wait(json{{"capabilityId", POKE}, {"input", {{"a", 1}, {"b", 2}}}}).value());
  CHECK(result["output"] == json({{"sum", 3}}));
}

TEST(a_failure_may_have_details_and_a_payload_may_be_json) {
  const auto details = [] { throw as::failure("RATE_LIMITED", "Later.", {}, json{{"in", 3}}); };
  CHECK_HAS(R"("in":3)", poked(details));
  const auto payload = []() -> as::answer { return as::failure::of(json{{"code", "RATE_LIMITED"}, {"message", "Later."}}); };
  CHECK_HAS("Later.", poked(payload));
}

TEST(ordered_json_keeps_its_order) {
  CHECK_HAS(R"("output":{"a":2,"b":1})", poked([] { return nlohmann::ordered_json{{"b", 1}, {"a", 2}}; }));
}

TEST(what_a_json_function_throws_fails_the_call) {
  CHECK_HAS("handler-error", poked(as::with_json([](const json& input) { return input.at("absent"); })));
  CHECK_HAS("handler-error", poked([] { return json("\xff"); }));
}

#endif
