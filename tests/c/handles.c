/* Null, stale, foreign and wrong handles: every function, its own code, nothing else happens. */
#include "check.h"

/* Every function that takes a handle first, called with one; what else it takes is in order, so only the handle is wrong. */
static void every_registry_function(as_registry r, as_code expected) {
  as_blob out = EMPTY_BLOB;
  uint64_t made = 0;
  probe p = {0};
  int tables = 0;
  as_hooks_policy policy = policy_table(&p);
  as_hooks_handler executor = handler_table(&p, answer_null);
  as_binding go = binding(&p, "go", answer_null);
  as_hooks_result result = result_table(&p);
  as_hooks_event event = event_table(&p);
  CHECK_CODE(expected, as_registry_info(r, &out, NULL));
  CHECK_CODE(expected, as_registry_close(r, 0, NULL));
  CHECK_CODE(expected, as_policy_define(r, TEXT("p"), &policy, NULL)), tables++;
  CHECK_CODE(expected, as_executor_set(r, TEXT("[\"a\"]"), &executor, NULL)), tables++;
  CHECK_CODE(expected, as_register(r, TEXT(GO), &go, 1, &made, NULL)), tables++;
  CHECK_CODE(expected, as_next(r, 0, &out, NULL));
  CHECK_CODE(expected, as_invoke(r, TEXT(GO_REQUEST), NULL, 0, &result, &made, NULL)), tables++;
  CHECK_CODE(expected, as_invoke_wait(r, TEXT(GO_REQUEST), NULL, 0, &out, NULL));
  CHECK_CODE(expected, as_consumer_close(r, TEXT("{\"id\":\"a\",\"kind\":\"test\"}"), NULL));
  CHECK_CODE(expected, as_outcome(r, TEXT("{\"invocationId\":\"a\"}"), &out, NULL));
  CHECK_CODE(expected, as_confirm(r, TEXT("{\"confirmationId\":\"a\",\"approved\":true}"), NULL));
  CHECK_CODE(expected, as_confirmations(r, &out, NULL));
  CHECK_CODE(expected, as_confirmation_subscribe(r, &event, &made, NULL)), tables++;
  CHECK_CODE(expected, as_confirmation_wait(r, TEXT("a"), 0, &out, NULL));
  CHECK_CODE(expected, as_snapshot(r, NULL, 0, &out, NULL));
  CHECK_CODE(expected, as_subscribe(r, &event, &made, NULL)), tables++;
  CHECK_CODE(expected, as_audit_read(r, 0, &out, NULL));
  CHECK_CODE(expected, as_toolset_new(r, TEXT("{\"topology\":\"embedded\"}"), &made, NULL));
  CHECK_CODE(expected, as_dev_explain(r, NULL, 0, &out, NULL));
  CHECK_CODE(expected, as_dev_advance(r, 1, 0, NULL));
  CHECK_CODE(expected, as_dev_quiesce(r, 0, NULL));
  CHECK(made == 0);
  CHECK(out.ptr == NULL && out.len == 0 && out.opaque == NULL);
  CHECK(probe_calls(&p) == 0);
  CHECK(probe_destroyed(&p) == tables);
}

static void every_registration_function(as_registration r, as_code expected) {
  as_blob out = EMPTY_BLOB;
  probe p = {0};
  as_binding go = binding(&p, "go", answer_null);
  CHECK_CODE(expected, as_registration_info(r, &out, NULL));
  CHECK_CODE(expected, as_registration_update(r, TEXT("{\"enabled\":false}"), NULL));
  CHECK_CODE(expected, as_registration_rebind(r, &go, 1, NULL));
  CHECK_CODE(expected, as_registration_invalidate(r));
  CHECK(probe_destroyed(&p) == 1);
}

static void every_invocation_function(as_invocation i, as_code expected) {
  as_blob out = EMPTY_BLOB;
  CHECK_CODE(expected, as_invocation_wait(i, 0, &out, NULL));
  CHECK_CODE(expected, as_invocation_cancel(i));
  CHECK(out.ptr == NULL);
}

static void every_reply_function(as_reply r, as_code expected) {
  int32_t aborted = 7;
  probe p = {0};
  as_hooks_notify notify = notify_table(&p);
  CHECK_CODE(expected, as_reply_json(r, TEXT("null")));
  CHECK_CODE(expected, as_reply_error(r, NULL, 0));
  CHECK_CODE(expected, as_reply_allow(r));
  CHECK_CODE(expected, as_reply_deny(r, NULL, 0));
  CHECK_CODE(expected, as_reply_confirm(r, NULL, 0));
  CHECK_CODE(expected, as_reply_defer(r));
  CHECK_CODE(expected, as_reply_aborted(r, &aborted));
  CHECK_CODE(expected, as_reply_on_abort(r, &notify));
  CHECK(aborted == 0);
  CHECK(probe_destroyed(&p) == 1);
}

static void every_toolset_function(as_toolset t, as_code expected) {
  static const char CALL[] = "{\"name\":\"view_t__go\",\"input\":{}}";
  as_blob out = EMPTY_BLOB;
  as_invocation made = 0;
  probe p = {0};
  as_hooks_result result = result_table(&p);
  CHECK_CODE(expected, as_toolset_tools(t, NULL, 0, &out, NULL));
  CHECK_CODE(expected, as_toolset_info(t, &out, NULL));
  CHECK_CODE(expected, as_toolset_render(t, NULL, 0, TEXT("{}"), &out, NULL));
  CHECK_CODE(expected, as_toolset_call(t, TEXT(CALL), &result, &made, NULL));
  CHECK_CODE(expected, as_toolset_call_wait(t, TEXT(CALL), &out, NULL));
  CHECK(made == 0 && out.ptr == NULL);
  CHECK(probe_destroyed(&p) == 1);
}

TEST(null_handles) {
  every_registry_function(0, AS_E_NULL_HANDLE);
  every_registration_function(0, AS_E_NULL_HANDLE);
  every_invocation_function(0, AS_E_NULL_HANDLE);
  every_reply_function(0, AS_E_NULL_HANDLE);
  every_toolset_function(0, AS_E_NULL_HANDLE);
}

TEST(freeing_nothing_does_nothing) {
  CHECK_CODE(AS_OK, as_registry_free(0));
  CHECK_CODE(AS_OK, as_unregister(0));
  CHECK_CODE(AS_OK, as_invocation_free(0));
  CHECK_CODE(AS_OK, as_unsubscribe(0));
  CHECK_CODE(AS_OK, as_toolset_free(0));
}

TEST(stale_handles) {
  probe p = {0}, listener = {0};
  as_registry registry = world_with(&p, pend);
  as_hooks_event events = event_table(&listener);
  as_invocation call = 0;
  as_subscription subscription = 0;
  CHECK_CODE(AS_OK, as_subscribe(registry, &events, &subscription, NULL));
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, NULL, &call, NULL));
  probe_wait_calls(&p, 1);
  CHECK_CODE(AS_OK, as_invocation_free(call));
  every_invocation_function(call, AS_E_STALE_HANDLE);
  CHECK_CODE(AS_E_STALE_HANDLE, as_invocation_free(call));
  CHECK_CODE(AS_OK, as_unsubscribe(subscription));
  CHECK_CODE(AS_E_STALE_HANDLE, as_unsubscribe(subscription));
  CHECK_CODE(AS_OK, as_unregister(p.registration));
  every_registration_function(p.registration, AS_E_STALE_HANDLE);
  CHECK_CODE(AS_OK, as_unregister(p.registration));
  world_ends(registry);
  every_registry_function(registry, AS_E_STALE_HANDLE);
  CHECK_CODE(AS_E_STALE_HANDLE, as_registry_free(registry));
  every_reply_function(p.reply, AS_E_STALE_HANDLE);
}

TEST(handles_of_another_kind) {
  probe p = {0};
  as_registry registry = world_with(&p, pend);
  as_invocation call = 0;
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, NULL, &call, NULL));
  probe_wait_calls(&p, 1);
  every_registry_function(call, AS_E_WRONG_HANDLE);
  every_registry_function(p.registration, AS_E_WRONG_HANDLE);
  every_registration_function(registry, AS_E_WRONG_HANDLE);
  every_invocation_function(p.reply, AS_E_WRONG_HANDLE);
  every_reply_function(call, AS_E_WRONG_HANDLE);
  every_toolset_function(registry, AS_E_WRONG_HANDLE);
  CHECK_CODE(AS_E_WRONG_HANDLE, as_toolset_free(registry));
  CHECK_CODE(AS_E_WRONG_HANDLE, as_registry_free(call));
  CHECK_CODE(AS_E_WRONG_HANDLE, as_unregister(registry));
  CHECK_CODE(AS_E_WRONG_HANDLE, as_invocation_free(registry));
  CHECK_CODE(AS_E_WRONG_HANDLE, as_unsubscribe(registry));
  CHECK_CODE(AS_OK, as_reply_json(p.reply, TEXT("null"))); /* all of that left the call alone */
  RESULT_GIVES(call, "\"status\":\"ok\"");
  CHECK_CODE(AS_OK, as_invocation_free(call));
  world_ends(registry);
}

TEST(numbers_that_were_never_handles) {
  static const uint64_t numbers[] = {1, 42, 0xdeadbeef, UINT64_MAX, UINT64_MAX / 2, (uint64_t)1 << 60};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    every_registry_function(numbers[i], AS_E_WRONG_HANDLE);
    every_registration_function(numbers[i], AS_E_WRONG_HANDLE);
    every_invocation_function(numbers[i], AS_E_WRONG_HANDLE);
    every_reply_function(numbers[i], AS_E_WRONG_HANDLE);
    every_toolset_function(numbers[i], AS_E_WRONG_HANDLE);
    CHECK_CODE(AS_E_WRONG_HANDLE, as_registry_free(numbers[i]));
    CHECK_CODE(AS_E_WRONG_HANDLE, as_unregister(numbers[i]));
    CHECK_CODE(AS_E_WRONG_HANDLE, as_unsubscribe(numbers[i]));
  }
}

TEST(a_registry_of_its_own_does_not_know_anothers_calls) {
  probe p = {0}, q = {0};
  as_registry one = world_with(&p, answer_null), other = world_with(&q, answer_null);
  as_blob out = EMPTY_BLOB;
  CHECK_CODE(AS_OK, as_invoke_wait(one, TEXT("{\"capabilityId\":\"view:t.go\",\"invocationId\":\"x\"}"), NULL, 0, &out, NULL));
  as_blob_free(&out);
  CHECK_CODE(AS_OK, as_outcome(one, TEXT("{\"invocationId\":\"x\"}"), &out, NULL));
  as_blob_free(&out);
  CHECK_CODE(AS_E_NOT_FOUND, as_outcome(other, TEXT("{\"invocationId\":\"x\"}"), &out, NULL));
  CHECK_CODE(AS_OK, as_registry_close(one, -1, NULL));
  CHECK_CODE(AS_OK, as_registry_free(one));
  GO_GIVES(other, "\"status\":\"ok\"");
  world_ends(other);
}

SUITE(handles, CASE(null_handles), CASE(freeing_nothing_does_nothing), CASE(stale_handles), CASE(handles_of_another_kind),
      CASE(numbers_that_were_never_handles), CASE(a_registry_of_its_own_does_not_know_anothers_calls));
