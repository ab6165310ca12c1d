/* Callback tables: their layout, their size, their flags. */
#include "check.h"

#include <stddef.h>

/* The layouts that a program compiled against ABI 1 relies on; src/ffi asserts the same numbers. */
#if UINTPTR_MAX == UINT64_MAX
#ifdef __cplusplus
#define LAYOUT(holds) static_assert(holds, #holds)
#else
#define LAYOUT(holds) _Static_assert(holds, #holds)
#endif
LAYOUT(AS_ABI_VERSION == 1);
LAYOUT(sizeof(as_code) == 4);
LAYOUT(sizeof(as_registry) == 8 && sizeof(as_reply) == 8);
LAYOUT(sizeof(as_blob) == 24 && offsetof(as_blob, len) == 8 && offsetof(as_blob, opaque) == 16);
LAYOUT(sizeof(as_hooks_host) == 72 && offsetof(as_hooks_host, context) == 16 && offsetof(as_hooks_host, destroy) == 64);
LAYOUT(sizeof(as_hooks_policy) == 56 && offsetof(as_hooks_policy, on_result) == 40 && offsetof(as_hooks_policy, destroy) == 48);
LAYOUT(sizeof(as_hooks_handler) == 32 && offsetof(as_hooks_handler, destroy) == 24);
LAYOUT(sizeof(as_binding) == 80 && offsetof(as_binding, user_data) == 24 && offsetof(as_binding, destroy) == 72);
LAYOUT(sizeof(as_hooks_result) == 32 && offsetof(as_hooks_result, destroy) == 24);
LAYOUT(sizeof(as_hooks_event) == 32 && offsetof(as_hooks_event, destroy) == 24);
LAYOUT(sizeof(as_hooks_notify) == 32 && offsetof(as_hooks_notify, destroy) == 24);
#endif

TEST(constants) {
  CHECK(as_abi_version() == AS_ABI_VERSION);
  CHECK(strlen(as_version()) > 0);
  CHECK(strcmp(as_code_name(AS_OK), "AS_OK") == 0);
  CHECK(strcmp(as_code_name(AS_E_PANIC), "AS_E_PANIC") == 0);
  CHECK(strcmp(as_code_name(1), "AS_E_UNKNOWN") == 0);
  CHECK(strcmp(as_code_name(INT32_MIN), "AS_E_UNKNOWN") == 0);
}

/* A size that is no table's: nothing of it is read, so it was never taken and nothing is destroyed. */
TEST(a_struct_size_that_is_no_tables) {
  static const uint32_t sizes[] = {0, 4, 16, 31, 5000, UINT32_MAX};
  probe p = {0};
  as_registry registry = world(), made = 0;
  as_registration registration = 0;
  as_subscription subscription = 0;
  as_invocation call = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    as_hooks_host host = host_table(&p);
    as_hooks_policy policy = policy_table(&p);
    as_hooks_handler executor = handler_table(&p, answer_null);
    as_binding go = binding(&p, "go", answer_null);
    as_hooks_event events = event_table(&p);
    as_hooks_result result = result_table(&p);
    host.struct_size = policy.struct_size = executor.struct_size = sizes[i];
    go.struct_size = events.struct_size = result.struct_size = sizes[i];
    REFUSED(AS_E_ARGUMENT, "struct_size", as_registry_new(NULL, 0, &host, &made, &err));
    REFUSED(AS_E_ARGUMENT, "struct_size", as_policy_define(registry, TEXT("p"), &policy, &err));
    REFUSED(AS_E_ARGUMENT, "struct_size", as_executor_set(registry, TEXT("[\"a\"]"), &executor, &err));
    REFUSED(AS_E_ARGUMENT, "struct_size", as_register(registry, TEXT(GO), &go, 1, &registration, &err));
    REFUSED(AS_E_ARGUMENT, "struct_size", as_subscribe(registry, &events, &subscription, &err));
    REFUSED(AS_E_ARGUMENT, "struct_size", as_invoke(registry, TEXT(GO_REQUEST), NULL, 0, &result, &call, &err));
  }
  CHECK(made == 0 && registration == 0 && subscription == 0 && call == 0);
  CHECK(probe_destroyed(&p) == 0);
  world_ends(registry);
}

/* A host compiled against a later header: fine as long as it asks for nothing that this library does not know. */
TEST(a_struct_size_that_is_larger) {
  struct later {
    as_hooks_handler known;
    void *added[4];
  } later;
  probe p = {0};
  as_registry registry = world();
  memset(&later, 0, sizeof later);
  later.known = handler_table(&p, answer_null);
  later.known.struct_size = sizeof later;
  CHECK_CODE(AS_OK, as_executor_set(registry, TEXT("[\"a\"]"), &later.known, NULL));
  later.added[3] = &later;
  REFUSED(AS_E_ARGUMENT, "", as_executor_set(registry, TEXT("[\"a\"]"), &later.known, &err));
  CHECK(probe_destroyed(&p) == 1); /* the one that was refused */
  world_ends(registry);
  CHECK(probe_destroyed(&p) == 2);
}

TEST(flags_that_nobody_knows) {
  probe p = {0};
  as_registry registry = world(), made = 0;
  as_hooks_host host = host_table(&p);
  as_hooks_policy policy = policy_table(&p);
  as_hooks_handler executor = handler_table(&p, answer_null);
  as_binding go = binding(&p, "go", answer_null);
  host.flags = policy.flags = executor.flags = go.flags = 2 | AS_SERIAL;
  REFUSED(AS_E_ARGUMENT, "flags", as_registry_new(NULL, 0, &host, &made, &err));
  REFUSED(AS_E_ARGUMENT, "flags", as_policy_define(registry, TEXT("p"), &policy, &err));
  REFUSED(AS_E_ARGUMENT, "flags", as_executor_set(registry, TEXT("[\"a\"]"), &executor, &err));
  REFUSED(AS_E_ARGUMENT, "flags", as_register(registry, TEXT(GO), &go, 1, &made, &err));
  CHECK(probe_destroyed(&p) == 4);
  world_ends(registry);
}

TEST(tables_that_are_missing) {
  as_registry registry = world();
  as_subscription subscription = 0;
  as_registration registration = 0;
  REFUSED(AS_E_ARGUMENT, "", as_policy_define(registry, TEXT("p"), NULL, &err));
  REFUSED(AS_E_ARGUMENT, "", as_executor_set(registry, TEXT("[\"a\"]"), NULL, &err));
  REFUSED(AS_E_ARGUMENT, "", as_subscribe(registry, NULL, &subscription, &err));
  REFUSED(AS_E_ARGUMENT, "", as_register(registry, TEXT(GO), NULL, 1, &registration, &err));
  CHECK(subscription == 0 && registration == 0);
  world_ends(registry);
}

TEST(functions_that_are_required) {
  probe p = {0};
  as_registry registry = world();
  as_subscription subscription = 0;
  as_hooks_handler executor = handler_table(&p, NULL);
  as_hooks_event events = event_table(&p);
  events.on_event = NULL;
  REFUSED(AS_E_ARGUMENT, "handler", as_executor_set(registry, TEXT("[\"a\"]"), &executor, &err));
  REFUSED(AS_E_ARGUMENT, "on_event", as_subscribe(registry, &events, &subscription, &err));
  CHECK(probe_destroyed(&p) == 2);
  world_ends(registry);
}

/* Two pending calls at once would be possible; with AS_SERIAL the callbacks still never overlap. */
static int inside, overlaps;
HANDLER(not_twice) {
  if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) > 1) __atomic_add_fetch(&overlaps, 1, __ATOMIC_SEQ_CST);
  answer_null(user_data, reply, context, context_len, input, input_len);
  __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
}

TEST(serial_tables_are_never_entered_twice) {
  enum { CALLS = 32 };
  probe p = {0};
  as_registry registry = world();
  as_invocation calls[CALLS];
  as_binding look = binding(&p, "look", not_twice);
  look.flags = AS_SERIAL;
  world_register(registry,
                 "{\"type\":\"t\",\"description\":\"A thing\",\"observations\":{\"look\":{\"description\":\"Look\",\"output\":{}}}}", &look, 1);
  for (int i = 0; i < CALLS; i++) {
    static const char *const consumers[] = {"{\"consumer\":{\"id\":\"a\",\"kind\":\"test\"}}", "{\"consumer\":{\"id\":\"b\",\"kind\":\"test\"}}",
                                            "{\"consumer\":{\"id\":\"c\",\"kind\":\"test\"}}", "{\"consumer\":{\"id\":\"d\",\"kind\":\"test\"}}"};
    CHECK_CODE(AS_OK, as_invoke(registry, TEXT("{\"capabilityId\":\"view:t.look\"}"), TEXT(consumers[i % 4]), NULL, &calls[i], NULL));
  }
  for (int i = 0; i < CALLS; i++) {
    RESULT_GIVES(calls[i], "\"status\":\"ok\"");
    CHECK_CODE(AS_OK, as_invocation_free(calls[i]));
  }
  CHECK(overlaps == 0);
  CHECK(probe_calls(&p) == CALLS);
  world_ends(registry);
}

SUITE(tables, CASE(constants), CASE(a_struct_size_that_is_no_tables), CASE(a_struct_size_that_is_larger),
      CASE(flags_that_nobody_knows), CASE(tables_that_are_missing), CASE(functions_that_are_required),
      CASE(serial_tables_are_never_entered_twice));
