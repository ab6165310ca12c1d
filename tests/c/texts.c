/* Texts on their way in and out: lengths, UTF-8, strict JSON, bounds; blobs and who frees them. */
#include "check.h"

#include <stdlib.h>

/* Every function that takes a text, given one that is wrong in itself. */
static void every_text(as_registry registry, as_registration registration, const uint8_t *text, size_t len, as_code expected) {
  as_blob out = EMPTY_BLOB;
  as_registry made = 0;
  as_registration other = 0;
  as_invocation call = 0;
  probe p = {0};
  as_hooks_policy policy = policy_table(&p);
  as_hooks_handler executor = handler_table(&p, answer_null);
  as_binding go = binding(&p, "go", answer_null);
  CHECK_CODE(expected, as_registry_new(text, len, NULL, &made, NULL));
  CHECK_CODE(expected, as_policy_define(registry, text, len, &policy, NULL));
  CHECK_CODE(expected, as_executor_set(registry, text, len, &executor, NULL));
  CHECK_CODE(expected, as_register(registry, text, len, &go, 1, &other, NULL));
  CHECK_CODE(expected, as_registration_update(registration, text, len, NULL));
  CHECK_CODE(expected, as_invoke(registry, text, len, NULL, 0, NULL, &call, NULL));
  CHECK_CODE(expected, as_invoke(registry, TEXT(GO_REQUEST), text, len, NULL, &call, NULL));
  CHECK_CODE(expected, as_invoke_wait(registry, text, len, NULL, 0, &out, NULL));
  CHECK_CODE(expected, as_consumer_close(registry, text, len, NULL));
  CHECK_CODE(expected, as_outcome(registry, text, len, &out, NULL));
  CHECK_CODE(expected, as_confirm(registry, text, len, NULL));
  CHECK_CODE(expected, as_snapshot(registry, text, len, &out, NULL));
  CHECK_CODE(expected, as_dev_explain(registry, text, len, &out, NULL));
  CHECK_CODE(expected, as_canonical_json(text, len, &out, NULL));
  CHECK_CODE(expected, as_request_digest(TEXT("view:t.go"), text, len, &out, NULL));
  CHECK_CODE(expected, as_verify_result(text, len, TEXT(GO_REQUEST), &out, NULL));
  CHECK(made == 0 && other == 0 && call == 0 && out.ptr == NULL);
  CHECK(probe_destroyed(&p) == 3);
}

TEST(a_length_without_a_pointer) {
  probe p = {0};
  as_registry registry = world_with(&p, answer_null);
  every_text(registry, p.registration, NULL, 1, AS_E_ARGUMENT);
  GO_GIVES(registry, "\"status\":\"ok\"");
  world_ends(registry);
}

TEST(a_length_that_no_memory_has) {
  probe p = {0};
  as_registry registry = world_with(&p, answer_null);
  every_text(registry, p.registration, (const uint8_t *)"{}", SIZE_MAX, AS_E_ARGUMENT);
  world_ends(registry);
}

TEST(bytes_that_are_no_utf8) {
  static const char *const wrong[] = {"{\"a\":\"\xff\"}", "\"\xc3\"", "\"\xed\xa0\xbd\"", "\"\xf4\x90\x80\x80\"", "\"\xc0\x80\""};
  probe p = {0};
  as_registry registry = world_with(&p, answer_null);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) every_text(registry, p.registration, TEXT(wrong[i]), AS_E_UTF8);
  GO_GIVES(registry, "\"status\":\"ok\"");
  world_ends(registry);
}

TEST(json_that_is_none_says_where) {
  static const struct {
    const char *text, *says;
  } wrong[] = {
      {"{", ""},
      {"[1,]", ""},
      {"{\"a\":1}x", ""},
      {"{\"a\":{\"b\":1,\"b\":2}}", "\"path\":\"/a/b\""}, /* two readers would run different things */
      {"{\"a\":1,\"\\u0061\":2}", "\"path\":\"/a\""},
      {"{\"x\":[0,\"\\ud800\"]}", "\"path\":\"/x/1\""},
      {"{\"n\":1e999}", "\"path\":\"/n\""},
      {"{\"n\":18446744073709551616}", "\"path\":\"/n\""},
      {"\xef\xbb\xbf{}", ""}, /* a byte order mark is no JSON */
  };
  as_registry registry = world(), made = 0;
  as_blob out = EMPTY_BLOB;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    REFUSED(AS_E_JSON, wrong[i].says, as_canonical_json(TEXT(wrong[i].text), &out, &err));
    REFUSED(AS_E_JSON, wrong[i].says, as_registry_new(TEXT(wrong[i].text), NULL, &made, &err));
    REFUSED(AS_E_JSON, wrong[i].says, as_snapshot(registry, TEXT(wrong[i].text), &out, &err));
  }
  CHECK(out.ptr == NULL && made == 0);
  world_ends(registry);
}

TEST(json_nested_too_deep) {
  enum { DEPTH = 100000 };
  char *deep = (char *)malloc(2 * DEPTH + 1);
  as_blob out = EMPTY_BLOB;
  memset(deep, '[', DEPTH);
  memset(deep + DEPTH, ']', DEPTH);
  deep[2 * DEPTH] = 0;
  CHECK_CODE(AS_OK, as_canonical_json((const uint8_t *)deep + DEPTH - 512, 1024, &out, NULL));
  as_blob_free(&out);
  REFUSED(AS_E_JSON, "", as_canonical_json((const uint8_t *)deep + DEPTH - 513, 1026, &out, &err));
  REFUSED(AS_E_JSON, "", as_canonical_json(TEXT(deep), &out, &err));
  REFUSED(AS_E_JSON, "", as_canonical_json((const uint8_t *)deep, DEPTH, &out, &err)); /* never closed */
  free(deep);
}

TEST(a_document_beyond_its_bound) {
  enum { SIZE = 64 << 20 };
  char *large = (char *)malloc(SIZE + 1);
  as_registry registry = world(), made = 0;
  as_blob out = EMPTY_BLOB;
  memset(large, ' ', SIZE);
  large[SIZE - 2] = '{', large[SIZE - 1] = '}', large[SIZE] = 0;
  REFUSED(AS_E_LIMIT, "", as_registry_new(TEXT(large), NULL, &made, &err));
  REFUSED(AS_E_LIMIT, "", as_snapshot(registry, TEXT(large), &out, &err));
  REFUSED(AS_E_LIMIT, "", as_register(registry, TEXT(large), NULL, 0, &made, &err));
  world_ends(registry);
  free(large);
}

TEST(an_empty_text_is_a_document_not_given) {
  as_registry registry = 0;
  as_blob out = EMPTY_BLOB;
  CHECK_CODE(AS_OK, as_registry_new(NULL, 0, NULL, &registry, NULL));
  CHECK_CODE(AS_OK, as_snapshot(registry, NULL, 0, &out, NULL));
  as_blob_free(&out);
  CHECK_CODE(AS_OK, as_snapshot(registry, TEXT(""), &out, NULL));
  as_blob_free(&out);
  REFUSED(AS_E_JSON, "", as_invoke_wait(registry, NULL, 0, NULL, 0, &out, &err)); /* a request is needed */
  world_ends(registry);
}

TEST(a_text_may_hold_nul_and_need_not_end_with_one) {
  as_blob out = EMPTY_BLOB;
  static const uint8_t text[] = {'[', '1', ',', '2', ']', 'x'};
  CHECK_CODE(AS_OK, as_canonical_json(text, 5, &out, NULL));
  CHECK_HAS(&out, "[1,2]");
  as_blob_free(&out);
  REFUSED(AS_E_JSON, "", as_canonical_json((const uint8_t *)"[1]\0", 4, &out, &err));
}

TEST(a_blob_ends_with_nul_and_is_freed_once) {
  as_blob out = EMPTY_BLOB;
  CHECK_CODE(AS_OK, as_canonical_json(TEXT(" [ 1 , 2 ] "), &out, NULL));
  CHECK(out.len == 5 && memcmp(out.ptr, "[1,2]", 6) == 0);
  CHECK_CODE(AS_OK, as_blob_free(&out));
  CHECK(out.ptr == NULL && out.len == 0 && out.opaque == NULL);
  CHECK_CODE(AS_OK, as_blob_free(&out));
  CHECK_CODE(AS_E_ARGUMENT, as_blob_free(NULL));
}

TEST(outputs_are_emptied_first_and_filled_on_success_only) {
  uint8_t byte = 0;
  as_blob out = {&byte, 7, NULL}; /* whatever stood there */
  as_registry registry = 99;
  CHECK_CODE(AS_E_JSON, as_canonical_json(TEXT("["), &out, NULL));
  CHECK(out.ptr == NULL && out.len == 0 && out.opaque == NULL);
  CHECK_CODE(AS_E_JSON, as_registry_new(TEXT("["), NULL, &registry, NULL));
  CHECK(registry == 0);
}

TEST(an_output_that_is_required) {
  as_registry registry = world();
  REFUSED(AS_E_ARGUMENT, "", as_canonical_json(TEXT("1"), NULL, &err));
  REFUSED(AS_E_ARGUMENT, "", as_registry_new(NULL, 0, NULL, NULL, &err));
  REFUSED(AS_E_ARGUMENT, "", as_snapshot(registry, NULL, 0, NULL, &err));
  REFUSED(AS_E_ARGUMENT, "", as_registry_info(registry, NULL, &err));
  world_ends(registry);
}

TEST(fields_and_options_that_nobody_knows) {
  as_registry registry = world(), made = 0;
  as_blob out = EMPTY_BLOB;
  REFUSED(AS_E_ARGUMENT, "\"path\":\"/colour\"", as_registry_new(TEXT("{\"colour\":1}"), NULL, &made, &err));
  REFUSED(AS_E_ARGUMENT, "\"path\":\"/limits/maxFun\"", as_registry_new(TEXT("{\"limits\":{\"maxFun\":1}}"), NULL, &made, &err));
  REFUSED(AS_E_ARGUMENT, "\"path\":\"/environment\"", as_registry_new(TEXT("{\"environment\":\"moon\"}"), NULL, &made, &err));
  REFUSED(AS_E_ARGUMENT, "\"path\":\"/a~1b\"", as_snapshot(registry, TEXT("{\"a/b\":1}"), &out, &err));
  REFUSED(AS_E_ARGUMENT, "\"path\":\"/extra\"",
          as_invoke_wait(registry, TEXT("{\"capabilityId\":\"view:t.go\",\"extra\":1}"), NULL, 0, &out, &err));
  REFUSED(AS_E_ARGUMENT, "\"path\":\"/speed\"", as_invoke_wait(registry, TEXT(GO_REQUEST), TEXT("{\"speed\":1}"), &out, &err));
  REFUSED(AS_E_ARGUMENT, "\"path\":\"/consumer/kind\"",
          as_invoke_wait(registry, TEXT(GO_REQUEST), TEXT("{\"consumer\":{\"id\":\"a\",\"kind\":\"robot\"}}"), &out, &err));
  REFUSED(AS_E_ARGUMENT, "\"path\":\"/why\"",
          as_confirm(registry, TEXT("{\"confirmationId\":\"a\",\"approved\":true,\"why\":1}"), &err));
  CHECK(made == 0 && out.ptr == NULL);
  world_ends(registry);
}

SUITE(texts, CASE(a_length_without_a_pointer), CASE(a_length_that_no_memory_has), CASE(bytes_that_are_no_utf8),
      CASE(json_that_is_none_says_where), CASE(json_nested_too_deep), CASE(a_document_beyond_its_bound),
      CASE(an_empty_text_is_a_document_not_given), CASE(a_text_may_hold_nul_and_need_not_end_with_one),
      CASE(a_blob_ends_with_nul_and_is_freed_once), CASE(outputs_are_emptied_first_and_filled_on_success_only),
      CASE(an_output_that_is_required), CASE(fields_and_options_that_nobody_knows));
