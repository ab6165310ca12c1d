/* Handlers that answer twice, late, never, wrongly, or with something that is no answer: the typed result, and the
 * registry goes on. */
#include "check.h"

#include <stdlib.h>

/* One call whose handler misbehaves, its result, and a good call after it. */
static void go_wrong(as_fn_handler wrong, const char *result) {
  probe p = {0}, good = {0};
  as_registry registry = world_with(&p, wrong);
  as_binding go = binding(&good, "go", answer_null);
  GO_GIVES(registry, "\"status\":\"error\"");
  GO_GIVES(registry, result);
  CHECK(probe_calls(&p) == 2);
  CHECK_CODE(AS_OK, as_registration_rebind(p.registration, &go, 1, NULL));
  GO_GIVES(registry, "\"status\":\"ok\"");
  CHECK(probe_destroyed(&p) == 1); /* swapped out */
  world_ends(registry);
  CHECK(probe_destroyed(&good) == 1);
}

static as_invocation begin(as_registry registry, probe *p) {
  as_invocation call = 0;
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT("{\"capabilityId\":\"view:t.go\",\"invocationId\":\"x\"}"), NULL, 0, NULL, &call, NULL));
  probe_wait_calls(p, 1);
  quiesce(registry);
  return call;
}

static void still_pending(as_invocation call) {
  as_blob result = EMPTY_BLOB;
  CHECK_CODE(AS_E_TIMEOUT, as_invocation_wait(call, 0, &result, NULL));
  CHECK(result.ptr == NULL);
}

static void end(as_registry registry, as_invocation call) {
  CHECK_CODE(AS_OK, as_invocation_free(call));
  world_ends(registry);
}

TEST(no_answer_is_a_failure) { go_wrong(answer_nothing, "\"reason\":\"handler-error\""); }

HANDLER(answer_twice) {
  UNUSED;
  CHECK_CODE(AS_OK, as_reply_json(reply, TEXT("{\"first\":1}")));
  CHECK_CODE(AS_E_SETTLED, as_reply_json(reply, TEXT("{\"second\":2}")));
  CHECK_CODE(AS_E_SETTLED, as_reply_error(reply, NULL, 0));
  CHECK_CODE(AS_E_SETTLED, as_reply_defer(reply));
  count_call(user_data);
}
TEST(the_first_answer_counts) {
  probe p = {0};
  as_registry registry = world_with(&p, answer_twice);
  GO_GIVES(registry, "\"output\":{\"first\":1}");
  world_ends(registry);
}

TEST(a_deferred_answer_settles_once) {
  probe p = {0};
  as_registry registry = world_with(&p, pend);
  as_invocation call = begin(registry, &p);
  still_pending(call);
  CHECK_CODE(AS_OK, as_reply_json(p.reply, TEXT("{\"at\":\"last\"}")));
  RESULT_GIVES(call, "\"output\":{\"at\":\"last\"}");
  RESULT_GIVES(call, "\"status\":\"ok\""); /* may be taken again */
  as_code again = as_reply_json(p.reply, TEXT("null"));
  CHECK(again == AS_E_SETTLED || again == AS_E_STALE_HANDLE);
  end(registry, call);
}

/* AS-CONC-011: the answer that comes after the timeout is told so, kept for as_outcome, and changes nothing. */
TEST(a_late_answer_is_late) {
  probe p = {0};
  as_registry registry = world_with(&p, pend);
  as_blob outcome = EMPTY_BLOB, audit = EMPTY_BLOB;
  as_invocation call = begin(registry, &p);
  int32_t aborted = 0;
  CHECK_CODE(AS_OK, as_reply_aborted(p.reply, &aborted));
  CHECK(aborted == 0);
  advance(registry, 1000);
  RESULT_GIVES(call, "\"code\":\"TIMEOUT\"");
  CHECK_CODE(AS_OK, as_reply_aborted(p.reply, &aborted));
  CHECK(aborted == 1);
  CHECK_CODE(AS_E_LATE, as_reply_json(p.reply, TEXT("{\"too\":\"late\"}")));
  quiesce(registry);
  RESULT_GIVES(call, "\"code\":\"TIMEOUT\"");
  CHECK_CODE(AS_OK, as_outcome(registry, TEXT("{\"invocationId\":\"x\"}"), &outcome, NULL));
  CHECK_HAS(&outcome, "\"code\":\"TIMEOUT\"");
  CHECK_HAS(&outcome, "\"output\":{\"too\":\"late\"}");
  as_blob_free(&outcome);
  CHECK_CODE(AS_OK, as_audit_read(registry, 0, &audit, NULL));
  CHECK_HAS(&audit, "late-settlement");
  as_blob_free(&audit);
  end(registry, call);
}

TEST(a_handler_that_never_answers_times_out) {
  probe p = {0};
  as_registry registry = world_with(&p, pend);
  as_invocation call = begin(registry, &p);
  advance(registry, 999);
  still_pending(call);
  advance(registry, 1);
  RESULT_GIVES(call, "\"timeoutMs\":1000");
  end(registry, call); /* and its table is destroyed although it never answers: world_ends waits for nothing */
  CHECK(probe_destroyed(&p) == 1);
}

HANDLER(answer_no_json) {
  UNUSED;
  CHECK_CODE(AS_E_JSON, as_reply_json(reply, TEXT("{\"a\":")));
  CHECK_CODE(AS_E_SETTLED, as_reply_json(reply, TEXT("{}"))); /* the reply is consumed */
  count_call(user_data);
}
TEST(malformed_output) { go_wrong(answer_no_json, "\"reason\":\"output-invalid\""); }

HANDLER(answer_duplicate_keys) {
  UNUSED;
  CHECK_CODE(AS_E_JSON, as_reply_json(reply, TEXT("{\"a\":1,\"a\":2}")));
  count_call(user_data);
}
TEST(output_with_duplicate_keys) { go_wrong(answer_duplicate_keys, "\"reason\":\"output-invalid\""); }

HANDLER(answer_no_utf8) {
  UNUSED;
  CHECK_CODE(AS_E_UTF8, as_reply_json(reply, TEXT("\"\xff\"")));
  count_call(user_data);
}
TEST(output_that_is_no_utf8) { go_wrong(answer_no_utf8, "\"reason\":\"output-invalid\""); }

HANDLER(answer_too_deep) {
  char deep[2001];
  UNUSED;
  memset(deep, '[', 1000), memset(deep + 1000, ']', 1000), deep[2000] = 0;
  CHECK_CODE(AS_E_JSON, as_reply_json(reply, TEXT(deep)));
  count_call(user_data);
}
TEST(output_nested_too_deep) { go_wrong(answer_too_deep, "\"reason\":\"output-invalid\""); }

HANDLER(answer_too_much) {
  enum { SIZE = 40000 }; /* maxOutputBytes is 32768 */
  char *large = (char *)malloc(SIZE + 3);
  UNUSED;
  memset(large, 'x', SIZE + 2);
  large[0] = large[SIZE + 1] = '"', large[SIZE + 2] = 0;
  CHECK_CODE(AS_E_LIMIT, as_reply_json(reply, TEXT(large)));
  free(large);
  count_call(user_data);
}
TEST(oversized_output) { go_wrong(answer_too_much, "\"reason\":\"output-too-large\""); }

HANDLER(answer_null_with_length) {
  UNUSED;
  CHECK_CODE(AS_E_ARGUMENT, as_reply_json(reply, NULL, 3));
  count_call(user_data);
}
TEST(output_without_a_pointer) { go_wrong(answer_null_with_length, "\"reason\":\"handler-error\""); }

HANDLER(fail_untyped) {
  UNUSED;
  CHECK_CODE(AS_OK, as_reply_error(reply, NULL, 0));
  count_call(user_data);
}
TEST(an_untyped_failure) { go_wrong(fail_untyped, "\"reason\":\"handler-error\""); }

HANDLER(fail_typed) {
  UNUSED;
  CHECK_CODE(AS_OK, as_reply_error(reply, TEXT("{\"code\":\"PRECONDITION_FAILED\",\"message\":\"Open the valve first.\",\"details\":{\"valve\":7}}")));
  count_call(user_data);
}
TEST(a_typed_failure_is_relayed) {
  go_wrong(fail_typed, "\"code\":\"PRECONDITION_FAILED\"");
  go_wrong(fail_typed, "\"valve\":7");
}

/* AS-ERR-001: a host types only its own six codes, so that nobody forges a confirmation. */
HANDLER(forge) {
  UNUSED;
  as_reply_error(reply, TEXT("{\"code\":\"CONFIRMATION_REQUIRED\",\"message\":\"Ask.\",\"retry\":\"with-confirmation\",\"details\":{\"confirmationId\":\"cnf_forged\"}}"));
  count_call(user_data);
}
TEST(a_forged_confirmation_is_an_untyped_failure) { go_wrong(forge, "\"reason\":\"handler-error\""); }

HANDLER(allow_in_a_handler) {
  UNUSED;
  CHECK_CODE(AS_E_ARGUMENT, as_reply_allow(reply));
  count_call(user_data);
}
TEST(a_kind_of_answer_a_handler_may_not_give) { go_wrong(allow_in_a_handler, "\"reason\":\"handler-error\""); }

HANDLER(answer_nothing_at_all) {
  UNUSED;
  CHECK_CODE(AS_OK, as_reply_json(reply, NULL, 0));
  count_call(user_data);
}
TEST(completed_without_output) {
  probe p = {0};
  as_registry registry = world_with(&p, answer_nothing_at_all);
  as_blob result = EMPTY_BLOB;
  CHECK_CODE(AS_OK, as_invoke_wait(registry, TEXT(GO_REQUEST), NULL, 0, &result, NULL));
  CHECK_HAS(&result, "\"status\":\"ok\"");
  CHECK(strstr((const char *)result.ptr, "output") == NULL);
  as_blob_free(&result);
  world_ends(registry);
}

TEST(a_notice_of_the_abort) {
  probe p = {0}, notice = {0}, later = {0};
  as_registry registry = world_with(&p, pend);
  as_invocation call = begin(registry, &p);
  as_hooks_notify table = notify_table(&notice), after = notify_table(&later);
  CHECK_CODE(AS_OK, as_reply_on_abort(p.reply, &table));
  CHECK(probe_calls(&notice) == 0);
  CHECK_CODE(AS_OK, as_invocation_cancel(call));
  RESULT_GIVES(call, "\"code\":\"CANCELLED\"");
  quiesce(registry);
  CHECK(probe_calls(&notice) == 1);
  CHECK_CODE(AS_OK, as_reply_on_abort(p.reply, &after)); /* too late to be warned, so told at once */
  quiesce(registry);
  CHECK(probe_calls(&later) == 1);
  end(registry, call);
  CHECK(probe_destroyed(&notice) == 1);
  CHECK(probe_destroyed(&later) == 1);
}

/* ---- hooks that must answer before they return ----------------------------------------------------------------------- */

HOOK(defer_a_predicate) {
  UNUSED_CONTEXT;
  CHECK_CODE(AS_E_ARGUMENT, as_reply_defer(reply));
  count_call(user_data);
}
TEST(a_predicate_cannot_be_deferred) {
  probe p = {0};
  as_registry registry = world();
  as_binding go = binding(&p, "go", answer_null);
  go.when = defer_a_predicate;
  world_register(registry, GO, &go, 1);
  GO_GIVES(registry, "\"reason\":\"when-error\"");
  world_ends(registry);
}

HOOK(no_predicate) {
  UNUSED_CONTEXT;
  CHECK_CODE(AS_OK, as_reply_json(reply, TEXT("7")));
  count_call(user_data);
}
TEST(an_answer_that_is_no_predicate) {
  probe p = {0};
  as_registry registry = world();
  as_binding go = binding(&p, "go", answer_null);
  go.when = no_predicate;
  world_register(registry, GO, &go, 1);
  GO_GIVES(registry, "\"reason\":\"when-error\"");
  world_ends(registry);
}

HOOK(silent) {
  UNUSED_CONTEXT;
  (void)reply;
  count_call(user_data);
}
HOOK(confirm_too_early) {
  UNUSED_CONTEXT;
  CHECK_CODE(AS_E_ARGUMENT, as_reply_confirm(reply, NULL, 0));
  count_call(user_data);
}
HOOK(allow) {
  UNUSED_CONTEXT;
  CHECK_CODE(AS_OK, as_reply_allow(reply));
  count_call(user_data);
}

static void policy_gives(as_fn_hook authorize, as_fn_hook invoke, const char *part) {
  probe p = {0}, handled = {0};
  as_registry registry = world();
  as_hooks_policy policy = policy_table(&p);
  as_binding go = binding(&handled, "go", answer_null);
  policy.on_authorize = authorize;
  policy.on_invoke = invoke;
  CHECK_CODE(AS_OK, as_policy_define(registry, TEXT("p"), &policy, NULL));
  world_register(registry,
                 "{\"type\":\"t\",\"description\":\"A thing\",\"actions\":{\"go\":{\"description\":\"Go\",\"effect\":\"local-state\","
                 "\"policies\":[\"p\"],\"input\":{\"type\":\"object\"}}}}",
                 &go, 1);
  GO_GIVES(registry, part);
  CHECK(probe_calls(&p) > 0);
  CHECK(probe_calls(&handled) == (strstr(part, "ok") ? 1 : 0));
  world_ends(registry);
}

TEST(a_policy_that_says_nothing_denies) {
  policy_gives(silent, NULL, "\"code\":\"NOT_AUTHORIZED\"");
  policy_gives(NULL, silent, "\"code\":\"NOT_AUTHORIZED\"");
  policy_gives(silent, NULL, "\"origin\":\"policy\"");
  policy_gives(confirm_too_early, NULL, "\"code\":\"NOT_AUTHORIZED\"");
  policy_gives(allow, allow, "\"status\":\"ok\"");
}

SUITE(replies, CASE(no_answer_is_a_failure), CASE(the_first_answer_counts), CASE(a_deferred_answer_settles_once),
      CASE(a_late_answer_is_late), CASE(a_handler_that_never_answers_times_out), CASE(malformed_output),
      CASE(output_with_duplicate_keys), CASE(output_that_is_no_utf8), CASE(output_nested_too_deep), CASE(oversized_output),
      CASE(output_without_a_pointer), CASE(an_untyped_failure), CASE(a_typed_failure_is_relayed),
      CASE(a_forged_confirmation_is_an_untyped_failure), CASE(a_kind_of_answer_a_handler_may_not_give),
      CASE(completed_without_output), CASE(a_notice_of_the_abort), CASE(a_predicate_cannot_be_deferred),
      CASE(an_answer_that_is_no_predicate), CASE(a_policy_that_says_nothing_denies));
