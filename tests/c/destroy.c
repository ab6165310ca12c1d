/* `destroy` runs exactly once for every table that was passed, on every way out. The other suites count it for wrong
 * handles, wrong tables and refused definitions; here are the ways that remain. */
#include "check.h"

TEST(a_registry_that_is_not_made) {
  probe p = {0};
  as_hooks_host host = host_table(&p);
  as_registry registry = 0;
  CHECK_CODE(AS_E_JSON, as_registry_new(TEXT("{"), &host, &registry, NULL));
  CHECK(probe_destroyed(&p) == 1);
  CHECK_CODE(AS_E_ARGUMENT, as_registry_new(TEXT("{\"no\":1}"), &host, &registry, NULL));
  CHECK(probe_destroyed(&p) == 2);
  CHECK_CODE(AS_E_ARGUMENT, as_registry_new(NULL, 0, &host, NULL, NULL));
  CHECK(probe_destroyed(&p) == 3);
}

/* Nothing calls it here; a table without any function would be destroyed at once. */
HOOK(never_called) {
  UNUSED_CONTEXT;
  (void)reply;
  count_call(user_data);
}

TEST(a_registry_that_is_closed) {
  probe p = {0};
  as_hooks_host host = host_table(&p);
  as_registry registry = 0;
  host.context = never_called;
  CHECK_CODE(AS_OK, as_registry_new(NULL, 0, &host, &registry, NULL));
  CHECK(probe_destroyed(&p) == 0);
  CHECK_CODE(AS_OK, as_registry_close(registry, -1, NULL));
  CHECK(probe_destroyed(&p) == 1);
  CHECK_CODE(AS_OK, as_registry_free(registry));
  CHECK(probe_destroyed(&p) == 1);
}

TEST(policies) {
  probe p = {0};
  as_registry registry = world();
  as_hooks_policy policy = policy_table(&p);
  policy.on_discovery = never_called;
  CHECK_CODE(AS_OK, as_policy_define(registry, TEXT("p"), &policy, NULL));
  CHECK_CODE(AS_E_ARGUMENT, as_policy_define(registry, TEXT("p"), &policy, NULL)); /* a name is defined once */
  CHECK(probe_destroyed(&p) == 1);
  CHECK_CODE(AS_E_ARGUMENT, as_policy_define(registry, NULL, 0, &policy, NULL));
  CHECK(probe_destroyed(&p) == 2);
  CHECK_CODE(AS_E_UTF8, as_policy_define(registry, TEXT("\xff"), &policy, NULL));
  CHECK(probe_destroyed(&p) == 3);
  world_ends(registry);
  CHECK(probe_destroyed(&p) == 4);
}

TEST(executors) {
  probe first = {0}, second = {0};
  as_registry registry = world();
  as_hooks_handler one = handler_table(&first, answer_null), two = handler_table(&second, answer_null);
  CHECK_CODE(AS_OK, as_executor_set(registry, TEXT("[\"a\"]"), &one, NULL));
  CHECK(probe_destroyed(&first) == 0);
  CHECK_CODE(AS_OK, as_executor_set(registry, TEXT("[\"a\",\"b\"]"), &two, NULL)); /* replaces */
  quiesce(registry);
  CHECK(probe_destroyed(&first) == 1);
  CHECK(probe_destroyed(&second) == 0);
  CHECK(as_executor_set(registry, TEXT("{}"), &one, NULL) < 0);
  CHECK(as_executor_set(registry, TEXT("[1]"), &one, NULL) < 0);
  CHECK(probe_destroyed(&first) == 3);
  world_ends(registry);
  CHECK(probe_destroyed(&second) == 1);
}

TEST(one_table_passed_twice) {
  probe p = {0};
  as_registry registry = world();
  as_binding go = binding(&p, "go", answer_null);
  static const char OTHER[] =
      "{\"type\":\"other\",\"description\":\"Another\",\"actions\":{\"go\":{\"description\":\"Go\",\"effect\":\"local-state\",\"input\":{}}}}";
  world_register(registry, GO, &go, 1);
  world_register(registry, OTHER, &go, 1);
  CHECK(probe_destroyed(&p) == 0);
  world_ends(registry);
  CHECK(probe_destroyed(&p) == 2);
}

TEST(one_table_for_each_binding) {
  probe p = {0};
  as_registry registry = world();
  as_binding both[2] = {binding(&p, "go", answer_null), binding(&p, "look", answer_null)};
  as_registration thing = world_register(
      registry,
      "{\"type\":\"t\",\"description\":\"A thing\",\"observations\":{\"look\":{\"description\":\"Look\",\"output\":{}}},"
      "\"actions\":{\"go\":{\"description\":\"Go\",\"effect\":\"local-state\",\"input\":{}}}}",
      both, 2);
  CHECK_CODE(AS_OK, as_unregister(thing));
  quiesce(registry);
  CHECK(probe_destroyed(&p) == 2);
  world_ends(registry);
  CHECK(probe_destroyed(&p) == 2);
}

TEST(bindings_that_are_swapped) {
  probe first = {0}, second = {0}, refused = {0};
  as_registry registry = world_with(&first, answer_null);
  as_binding go = binding(&second, "go", answer_null), gone = binding(&refused, "gone", answer_null);
  CHECK_CODE(AS_OK, as_registration_rebind(first.registration, &go, 1, NULL));
  quiesce(registry);
  CHECK(probe_destroyed(&first) == 1);
  CHECK(probe_destroyed(&second) == 0);
  REFUSED(AS_E_DEFINITION, "INVALID_DEFINITION", as_registration_rebind(first.registration, &gone, 1, &err));
  CHECK(probe_destroyed(&refused) == 1);
  CHECK(probe_destroyed(&second) == 0);
  GO_GIVES(registry, "\"status\":\"ok\"");
  CHECK(probe_calls(&second) == 1);
  world_ends(registry);
  CHECK(probe_destroyed(&second) == 1);
}

/* A swap lets the call in flight end on the table it began with. */
TEST(bindings_that_are_swapped_while_a_call_pends) {
  probe first = {0}, second = {0};
  as_registry registry = world_with(&first, pend);
  as_binding go = binding(&second, "go", answer_null);
  as_invocation call = 0;
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, NULL, &call, NULL));
  probe_wait_calls(&first, 1);
  CHECK_CODE(AS_OK, as_registration_rebind(first.registration, &go, 1, NULL));
  quiesce(registry);
  CHECK(probe_destroyed(&first) == 0);
  CHECK_CODE(AS_OK, as_reply_json(first.reply, TEXT("{\"by\":\"first\"}")));
  RESULT_GIVES(call, "\"by\":\"first\"");
  quiesce(registry);
  CHECK(probe_destroyed(&first) == 1);
  CHECK_CODE(AS_OK, as_invocation_free(call));
  world_ends(registry);
}

/* AS-LIFE-003 */
TEST(a_registration_that_is_replaced) {
  probe first = {0}, second = {0};
  as_registry registry = 0;
  as_binding one = binding(&first, "go", answer_null), two = binding(&second, "go", answer_null);
  CHECK_CODE(AS_OK, as_registry_new(TEXT("{\"onDuplicateInstance\":\"replace\"}"), NULL, &registry, NULL));
  world_register(registry, GO, &one, 1);
  world_register(registry, GO, &two, 1);
  quiesce(registry);
  CHECK(probe_destroyed(&first) == 1);
  CHECK(probe_destroyed(&second) == 0);
  GO_GIVES(registry, "\"status\":\"ok\"");
  world_ends(registry);
  CHECK(probe_destroyed(&second) == 1);
}

TEST(a_pending_call_of_something_unregistered) {
  probe p = {0};
  as_registry registry = world_with(&p, pend);
  as_invocation call = 0;
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, NULL, &call, NULL));
  probe_wait_calls(&p, 1);
  CHECK_CODE(AS_OK, as_unregister(p.registration));
  RESULT_GIVES(call, "\"phase\":\"mid-flight\"");
  quiesce(registry);
  CHECK(probe_destroyed(&p) == 1); /* the call has settled, so nothing of the table is needed any more */
  CHECK_CODE(AS_E_LATE, as_reply_json(p.reply, TEXT("null")));
  CHECK_CODE(AS_OK, as_invocation_free(call));
  world_ends(registry);
}

TEST(results) {
  probe p = {0}, r = {0};
  as_registry registry = world_with(&p, answer_null);
  as_hooks_result result = result_table(&r);
  as_invocation call = 0;
  CHECK_CODE(AS_E_JSON, as_invoke(registry, TEXT("{"), NULL, 0, &result, &call, NULL));
  CHECK(probe_destroyed(&r) == 1);
  CHECK_CODE(AS_E_ARGUMENT, as_invoke(registry, TEXT(GO_REQUEST), TEXT("{\"no\":1}"), &result, &call, NULL));
  CHECK(probe_destroyed(&r) == 2 && probe_calls(&r) == 0 && call == 0);
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, &result, &call, NULL));
  quiesce(registry);
  CHECK(probe_destroyed(&r) == 3);
  CHECK(probe_calls(&r) == 1);
  CHECK_CODE(AS_OK, as_invocation_free(call));
  result.on_result = NULL; /* a table without a function is a table all the same */
  CHECK_CODE(AS_OK, as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, &result, &call, NULL));
  quiesce(registry);
  CHECK(probe_destroyed(&r) == 4);
  CHECK(probe_calls(&r) == 1);
  CHECK_CODE(AS_OK, as_invocation_free(call));
  world_ends(registry);
}

TEST(listeners) {
  probe p = {0}, q = {0};
  as_registry registry = world();
  as_hooks_event events = event_table(&p), more = event_table(&q);
  as_subscription one = 0, two = 0;
  CHECK_CODE(AS_OK, as_subscribe(registry, &events, &one, NULL));
  CHECK_CODE(AS_OK, as_confirmation_subscribe(registry, &more, &two, NULL));
  CHECK_CODE(AS_E_ARGUMENT, as_subscribe(registry, &events, NULL, NULL));
  CHECK(probe_destroyed(&p) == 1);
  CHECK_CODE(AS_OK, as_unsubscribe(one));
  quiesce(registry);
  CHECK(probe_destroyed(&p) == 2);
  CHECK(probe_destroyed(&q) == 0);
  CHECK_CODE(AS_OK, as_registry_close(registry, -1, NULL));
  CHECK(probe_destroyed(&q) == 1);
  CHECK_CODE(AS_OK, as_unsubscribe(two));
  world_ends(registry);
}

SUITE(destroy_once, CASE(a_registry_that_is_not_made), CASE(a_registry_that_is_closed), CASE(policies), CASE(executors),
      CASE(one_table_passed_twice), CASE(one_table_for_each_binding), CASE(bindings_that_are_swapped),
      CASE(bindings_that_are_swapped_while_a_call_pends), CASE(a_registration_that_is_replaced),
      CASE(a_pending_call_of_something_unregistered), CASE(results), CASE(listeners));
