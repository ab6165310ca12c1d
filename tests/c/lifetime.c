/* Who may end what, and when: unregister, close and free from every place, and what a closed registry still answers. */
#include "check.h"

#include <pthread.h>
#include <sched.h>

/* ---- from inside a callback ------------------------------------------------------------------------------------------ */

HANDLER(unregister_itself) {
  probe *p = (probe *)user_data;
  UNUSED;
  CHECK_CODE(AS_OK, as_unregister(p->registration));
  CHECK(probe_destroyed(p) == 0); /* not while this call runs */
  p->seen = as_reply_json(reply, TEXT("null"));
  count_call(p);
}
/* AS-CONC-010 */
TEST(unregister_from_its_own_handler) {
  probe p = {0};
  as_registry registry = world_with(&p, unregister_itself);
  GO_GIVES(registry, "\"code\":\"COMPONENT_UNMOUNTED\"");
  CHECK_CODE(AS_E_LATE, p.seen);
  quiesce(registry);
  CHECK(probe_destroyed(&p) == 1);
  GO_GIVES(registry, "\"code\":\"COMPONENT_UNMOUNTED\"");
  CHECK(probe_calls(&p) == 1);
  world_ends(registry);
}

HANDLER(close_the_registry) {
  probe *p = (probe *)user_data;
  as_invocation call = 0;
  UNUSED;
  CHECK_CODE(AS_E_WOULD_DEADLOCK, as_registry_close(p->registry, -1, NULL));
  CHECK_CODE(AS_E_CLOSED, as_invoke(p->registry, TEXT(GO_REQUEST), NULL, 0, NULL, &call, NULL));
  CHECK(probe_destroyed(p) == 0);
  p->seen = as_reply_json(reply, TEXT("null"));
  count_call(p);
}
TEST(close_from_a_handler) {
  probe p = {0};
  as_registry registry = world_with(&p, close_the_registry);
  GO_GIVES(registry, "\"code\":\"CANCELLED\"");
  CHECK(p.seen == AS_E_LATE || p.seen == AS_E_STALE_HANDLE);
  CHECK_CODE(AS_OK, as_registry_close(registry, -1, NULL));
  CHECK(probe_destroyed(&p) == 1);
  world_ends(registry);
}

static void close_in_a_listener(void *user_data, const uint8_t *text, size_t text_len) {
  probe *p = (probe *)user_data;
  (void)text, (void)text_len;
  if (probe_calls(p) == 0) p->seen = as_registry_close(p->registry, -1, NULL);
  count_call(p);
}
TEST(close_from_a_listener) {
  probe p = {0}, listener = {0};
  as_registry registry = world_with(&p, answer_null);
  as_hooks_event events = event_table(&listener);
  as_subscription subscription = 0;
  listener.registry = registry;
  events.on_event = close_in_a_listener;
  CHECK_CODE(AS_OK, as_subscribe(registry, &events, &subscription, NULL));
  CHECK_CODE(AS_OK, as_registration_invalidate(p.registration));
  probe_wait_calls(&listener, 1);
  CHECK_CODE(AS_E_WOULD_DEADLOCK, listener.seen);
  CHECK_CODE(AS_OK, as_registry_close(registry, -1, NULL));
  CHECK(probe_destroyed(&listener) == 1);
  CHECK(probe_destroyed(&p) == 1);
  CHECK_CODE(AS_OK, as_unsubscribe(subscription));
  world_ends(registry);
}

HANDLER(free_the_registry) {
  probe *p = (probe *)user_data;
  UNUSED;
  CHECK_CODE(AS_OK, as_registry_free(p->registry));
  CHECK_CODE(AS_E_STALE_HANDLE, as_registry_free(p->registry));
  CHECK(probe_destroyed(p) == 0);
  as_reply_json(reply, TEXT("null"));
  count_call(p);
}
TEST(free_the_registry_from_a_handler) {
  probe p = {0};
  as_registry registry = world_with(&p, free_the_registry);
  GO_GIVES(registry, "\"code\":\"CANCELLED\"");
  while (probe_destroyed(&p) == 0) sched_yield(); /* free never waits; the rest ends by itself */
  CHECK_CODE(AS_OK, as_unregister(p.registration));
  CHECK(probe_destroyed(&p) == 1);
}

static void unsubscribe_in_a_listener(void *user_data, const uint8_t *text, size_t text_len) {
  probe *p = (probe *)user_data;
  (void)text, (void)text_len;
  p->seen = as_unsubscribe(p->reply); /* the probe has no other place for a handle */
  count_call(p);
}
TEST(unsubscribe_from_its_own_listener) {
  probe p = {0}, listener = {0};
  as_registry registry = world_with(&p, answer_null);
  as_hooks_event events = event_table(&listener);
  events.on_event = unsubscribe_in_a_listener;
  CHECK_CODE(AS_OK, as_subscribe(registry, &events, &listener.reply, NULL));
  CHECK_CODE(AS_OK, as_registration_invalidate(p.registration));
  quiesce(registry);
  CHECK_CODE(AS_OK, as_registration_invalidate(p.registration));
  quiesce(registry);
  CHECK(probe_calls(&listener) == 1);
  CHECK(probe_destroyed(&listener) == 1);
  CHECK_CODE(AS_OK, listener.seen);
  world_ends(registry);
}

HANDLER(register_another) {
  static const char OTHER[] =
      "{\"type\":\"other\",\"description\":\"Another\",\"observations\":{\"look\":{\"description\":\"Look\",\"output\":{}}}}";
  probe *p = (probe *)user_data;
  as_binding look = binding(p, "look", answer_null);
  UNUSED;
  world_register(p->registry, OTHER, &look, 1);
  CHECK_CODE(AS_OK, as_reply_json(reply, TEXT("null")));
  count_call(p);
}
TEST(register_from_a_handler) {
  probe p = {0};
  as_registry registry = world_with(&p, register_another);
  as_blob result = EMPTY_BLOB;
  GO_GIVES(registry, "\"surfaceChanged\":true");
  CHECK_CODE(AS_OK, as_invoke_wait(registry, TEXT("{\"capabilityId\":\"view:other.look\"}"), NULL, 0, &result, NULL));
  CHECK_HAS(&result, "\"status\":\"ok\"");
  as_blob_free(&result);
  world_ends(registry);
  CHECK(probe_destroyed(&p) == 2);
}

/* ---- waits inside a callback ----------------------------------------------------------------------------------------- */

HANDLER(invoke_itself) {
  probe *p = (probe *)user_data;
  as_blob result = EMPTY_BLOB;
  UNUSED;
  p->seen = as_invoke_wait(p->registry, TEXT(GO_REQUEST), NULL, 0, &result, NULL);
  as_blob_free(&result);
  CHECK_CODE(AS_OK, as_reply_json(reply, TEXT("null")));
  count_call(p);
}
TEST(a_wait_for_the_slot_it_holds) {
  probe p = {0};
  as_registry registry = world_with(&p, invoke_itself);
  GO_GIVES(registry, "\"status\":\"ok\"");
  CHECK_CODE(AS_E_WOULD_DEADLOCK, p.seen);
  CHECK(probe_calls(&p) == 1);
  world_ends(registry);
}

HANDLER(invoke_the_other) {
  probe *p = (probe *)user_data;
  as_blob result = EMPTY_BLOB;
  UNUSED;
  p->seen = as_invoke_wait(p->registry, TEXT("{\"capabilityId\":\"view:other.go\"}"), NULL, 0, &result, NULL);
  CHECK_HAS(&result, "\"status\":\"ok\"");
  as_blob_free(&result);
  CHECK_CODE(AS_OK, as_reply_json(reply, TEXT("{\"nested\":true}")));
  count_call(p);
}
TEST(a_wait_for_another_call) {
  probe p = {0}, other = {0};
  as_registry registry = world_with(&p, invoke_the_other);
  as_binding go = binding(&other, "go", answer_null);
  world_register(registry,
                 "{\"type\":\"other\",\"description\":\"Another\",\"actions\":{\"go\":{\"description\":\"Go\",\"effect\":\"local-state\","
                 "\"input\":{\"type\":\"object\"}}}}",
                 &go, 1);
  GO_GIVES(registry, "\"nested\":true");
  CHECK_CODE(AS_OK, p.seen);
  CHECK(probe_calls(&other) == 1);
  world_ends(registry);
}

HOOK(look_around) {
  probe *p = (probe *)user_data;
  as_blob out = EMPTY_BLOB;
  UNUSED_CONTEXT;
  p->seen = as_snapshot(p->registry, NULL, 0, &out, NULL);
  CHECK_CODE(AS_E_WOULD_DEADLOCK, as_dev_explain(p->registry, NULL, 0, &out, NULL));
  CHECK(out.ptr == NULL);
  CHECK_CODE(AS_OK, as_reply_json(reply, TEXT("true")));
  count_call(p);
}
TEST(a_snapshot_inside_when) {
  probe p = {0};
  as_registry registry = world();
  as_blob out = EMPTY_BLOB;
  as_binding go = binding(&p, "go", answer_null);
  go.when = look_around;
  p.registry = registry;
  world_register(registry, GO, &go, 1);
  CHECK_CODE(AS_OK, as_snapshot(registry, NULL, 0, &out, NULL));
  CHECK_HAS(&out, "\"available\":true");
  as_blob_free(&out);
  CHECK_CODE(AS_E_WOULD_DEADLOCK, p.seen);
  world_ends(registry);
}

/* ---- from outside ---------------------------------------------------------------------------------------------------- */

TEST(a_closed_registry) {
  probe p = {0}, refused = {0};
  as_registry registry = world_with(&p, pend);
  as_invocation call = 0, none = 0;
  as_subscription subscription = 0;
  as_registration registration = 0;
  as_blob out = EMPTY_BLOB;
  as_hooks_policy policy = policy_table(&refused);
  as_hooks_handler executor = handler_table(&refused, answer_null);
  as_binding go = binding(&refused, "go", answer_null);
  as_hooks_event events = event_table(&refused);
  as_hooks_result result = result_table(&refused);
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, NULL, &call, NULL));
  probe_wait_calls(&p, 1);
  CHECK_CODE(AS_OK, as_registry_close(registry, -1, NULL));
  CHECK_CODE(AS_OK, as_registry_close(registry, -1, NULL));
  CHECK_CODE(AS_OK, as_registry_close(registry, 0, NULL));
  CHECK(probe_destroyed(&p) == 1);

  RESULT_GIVES(call, "\"code\":\"CANCELLED\""); /* what was pending can still be read */
  CHECK_CODE(AS_E_STALE_HANDLE, as_reply_json(p.reply, TEXT("null")));
  CHECK_CODE(AS_E_CLOSED, as_registration_invalidate(p.registration));
  CHECK_CODE(AS_OK, as_registration_info(p.registration, &out, NULL));
  as_blob_free(&out);

  CHECK_CODE(AS_E_CLOSED, as_registry_info(registry, &out, NULL));
  CHECK_CODE(AS_E_CLOSED, as_policy_define(registry, TEXT("p"), &policy, NULL));
  CHECK_CODE(AS_E_CLOSED, as_executor_set(registry, TEXT("[\"a\"]"), &executor, NULL));
  CHECK_CODE(AS_E_CLOSED, as_register(registry, TEXT(GO), &go, 1, &registration, NULL));
  CHECK_CODE(AS_E_CLOSED, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, &result, &none, NULL));
  CHECK_CODE(AS_E_CLOSED, as_invoke_wait(registry, TEXT(GO_REQUEST), NULL, 0, &out, NULL));
  CHECK_CODE(AS_E_CLOSED, as_subscribe(registry, &events, &subscription, NULL));
  CHECK_CODE(AS_E_CLOSED, as_snapshot(registry, NULL, 0, &out, NULL));
  CHECK(registration == 0 && none == 0 && subscription == 0 && out.ptr == NULL);
  CHECK(probe_destroyed(&refused) == 5);
  CHECK(probe_calls(&refused) == 0);
  CHECK_CODE(AS_OK, as_invocation_free(call));
  world_ends(registry);
}

static int gate; /* a handler that blocks until the test opens it */
HANDLER(block) {
  UNUSED;
  count_call(user_data);
  while (!__atomic_load_n(&gate, __ATOMIC_SEQ_CST)) sched_yield();
  as_reply_json(reply, TEXT("null"));
}
TEST(a_close_that_does_not_wait_for_a_running_callback) {
  probe p = {0};
  as_registry registry = world_with(&p, block);
  as_invocation call = 0;
  gate = 0;
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, NULL, &call, NULL));
  probe_wait_calls(&p, 1);
  REFUSED(AS_E_TIMEOUT, "", as_registry_close(registry, 0, &err));
  CHECK(probe_destroyed(&p) == 0);
  RESULT_GIVES(call, "\"code\":\"CANCELLED\""); /* settled although its handler still runs */
  __atomic_store_n(&gate, 1, __ATOMIC_SEQ_CST);
  CHECK_CODE(AS_OK, as_registry_close(registry, -1, NULL));
  CHECK(probe_destroyed(&p) == 1);
  CHECK_CODE(AS_OK, as_invocation_free(call));
  world_ends(registry);
}

TEST(freeing_an_invocation_does_not_end_the_call) {
  probe p = {0}, result = {0};
  as_registry registry = world_with(&p, pend);
  as_hooks_result table = result_table(&result);
  as_invocation call = 0;
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, &table, &call, NULL));
  probe_wait_calls(&p, 1);
  CHECK_CODE(AS_OK, as_invocation_free(call));
  CHECK(probe_calls(&result) == 0);
  CHECK_CODE(AS_OK, as_reply_json(p.reply, TEXT("{\"still\":\"here\"}")));
  quiesce(registry);
  CHECK(probe_calls(&result) == 1);
  CHECK(probe_destroyed(&result) == 1);
  CHECK(strstr(result.text, "\"still\":\"here\"") != NULL);
  world_ends(registry);
  CHECK(probe_calls(&result) == 1);
}

TEST(an_invocation_need_not_be_kept) {
  probe p = {0}, result = {0};
  as_registry registry = world_with(&p, answer_null);
  as_hooks_result table = result_table(&result);
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, &table, NULL, NULL));
  quiesce(registry);
  CHECK(probe_calls(&result) == 1);
  CHECK(probe_destroyed(&result) == 1);
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, NULL, NULL, NULL));
  quiesce(registry);
  CHECK(probe_calls(&p) == 2);
  world_ends(registry);
}

/* AS-IDENT-002, AS-CONC-012: one caller that gives up leaves the other waiting. */
TEST(cancelling_one_of_two_that_joined) {
  static const char SAME[] = "{\"capabilityId\":\"view:t.go\",\"invocationId\":\"x\"}";
  probe p = {0};
  as_registry registry = world_with(&p, pend);
  as_invocation one = 0, two = 0;
  int32_t aborted = 1;
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(SAME), NULL, 0, NULL, &one, NULL));
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(SAME), NULL, 0, NULL, &two, NULL));
  quiesce(registry);
  CHECK(probe_calls(&p) == 1);
  CHECK_CODE(AS_OK, as_invocation_cancel(one));
  RESULT_GIVES(one, "\"code\":\"CANCELLED\"");
  CHECK_CODE(AS_OK, as_reply_aborted(p.reply, &aborted));
  CHECK(aborted == 0);
  CHECK_CODE(AS_OK, as_reply_json(p.reply, TEXT("{\"for\":\"two\"}")));
  RESULT_GIVES(two, "\"for\":\"two\"");
  CHECK_CODE(AS_OK, as_invocation_free(one));
  CHECK_CODE(AS_OK, as_invocation_free(two));
  world_ends(registry);
}

static void *invoke_a_hundred_times(void *registry) {
  for (int i = 0; i < 100; i++) {
    as_blob result = EMPTY_BLOB;
    CHECK_CODE(AS_OK, as_invoke_wait(*(as_registry *)registry, TEXT("{\"capabilityId\":\"view:t.look\"}"), NULL, 0, &result, NULL));
    CHECK_HAS(&result, "\"status\":\"ok\"");
    as_blob_free(&result);
  }
  return NULL;
}
TEST(four_threads_at_once) {
  probe p = {0};
  pthread_t threads[4];
  as_registry registry = world();
  as_binding look = binding(&p, "look", answer_null);
  world_register(registry,
                 "{\"type\":\"t\",\"description\":\"A thing\",\"observations\":{\"look\":{\"description\":\"Look\",\"output\":{}}}}", &look, 1);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, invoke_a_hundred_times, &registry);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CHECK(probe_calls(&p) == 400);
  world_ends(registry);
}

SUITE(lifetime, CASE(unregister_from_its_own_handler), CASE(close_from_a_handler), CASE(close_from_a_listener),
      CASE(free_the_registry_from_a_handler), CASE(unsubscribe_from_its_own_listener), CASE(register_from_a_handler),
      CASE(a_wait_for_the_slot_it_holds), CASE(a_wait_for_another_call), CASE(a_snapshot_inside_when), CASE(a_closed_registry),
      CASE(a_close_that_does_not_wait_for_a_running_callback), CASE(freeing_an_invocation_does_not_end_the_call),
      CASE(an_invocation_need_not_be_kept), CASE(cancelling_one_of_two_that_joined), CASE(four_threads_at_once));
