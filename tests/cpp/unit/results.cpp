// Results, errors and texts.
#include "check.hpp"

TEST(an_error_has_its_code_its_place_and_its_reason) {
  as::registry surface = world();
  const auto refused = surface.add(R"({"type":"box","description":"A box","actions":{"a \"b\"\n":{"description":"A","effect":"local-state","input":{"type":"object"}}}})");
  CHECK(!refused.ok());
  CHECK_EQUAL(AS_E_DEFINITION, refused.code());
  CHECK_EQUAL(std::string("AS_E_DEFINITION"), refused.error().name());
  CHECK_EQUAL("INVALID_ID", refused.error().reason());
  CHECK_EQUAL("/actions/a \"b\"\n", refused.error().path());
  CHECK(!refused.error().message().empty());
  CHECK_HAS("\"code\":-7", refused.error().document());
}

TEST(an_error_becomes_an_exception_where_the_value_is_taken) {
  as::registry surface = world();
  try {
    surface.snapshot("{").value();
    CHECK(false);
  } catch (const as::exception& thrown) {
    CHECK_EQUAL(AS_E_JSON, thrown.error().code());
    CHECK_HAS("AS_E_JSON: ", thrown.what());
  }
  try {
    surface.confirm(R"({"confirmationId":"cnf_0","approved":true})").value();
    CHECK(false);
  } catch (const as::exception& thrown) {
    CHECK_EQUAL(AS_E_NOT_FOUND, thrown.error().code());
  }
}

TEST(a_function_without_an_error_blob_answers_its_code) {
  as::registration none;
  const auto refused = none.invalidate();
  CHECK_EQUAL(AS_E_NULL_HANDLE, refused.code());
  CHECK_EQUAL("", refused.error().message());
  CHECK_EQUAL("", refused.error().document());
}

TEST(texts_may_hold_anything_that_is_utf8) {
  const std::string text("\"\\\b\f\n\r\t\x01\x1f\0ü€𝄞", 19);
  const std::string quoted = as::quote(text);
  CHECK_EQUAL(R"("\"\\\u0008\u000c\u000a\u000d\u0009\u0001\u001f\u0000ü€𝄞")", quoted);
  CHECK_EQUAL(R"(["\"\\\b\f\n\r\t\u0001\u001f\u0000ü€𝄞"])", as::canonical_json("[" + quoted + "]").value());
}

TEST(members_of_a_document_are_found_at_its_top_only) {
  const as::detail::members members(R"({"a":{"b":"no","c":["]",{"d":"}"}]},"b":"x\"\\\n\u0001ü","e":[],"f":12})");
  CHECK_EQUAL("x\"\\\n\x01ü", members.string("b"));
  CHECK_EQUAL(R"({"b":"no","c":["]",{"d":"}"}]})", members.raw("a").value());
  CHECK_EQUAL("[]", members.raw("e").value());
  CHECK_EQUAL("12", members.raw("f").value());
  CHECK(!members.raw("c"));
  CHECK_EQUAL("", members.string("g"));
  CHECK(!as::detail::members("{}").raw("a"));
  CHECK(!as::detail::members("").raw("a"));
}

TEST(a_result_is_bound_to_its_request) {
  const std::string result = poked([](const as::call& call) { return call.input; }, R"({"n":1})");
  CHECK_HAS("\"valid\":true", as::verify_result(result, poke(R"({"n":1})")).value());
  CHECK_HAS("\"valid\":false", as::verify_result(result, poke(R"({"n":2})")).value());
  CHECK_HAS(as::request_digest(POKE, R"({ "n": 1 })").value(), result);
  CHECK(!as::version().empty());
}
