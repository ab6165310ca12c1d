/* Hosts compiled against another header than the library's. Older: tables as long as the ABI began with, and something else behind
 * them. Newer (AS_NEWER): every table has one function more at its end, `later`, which this library does not know. */
#include <agent_surface.h>
#include <stdio.h>
#include <string.h>

#define TEXT(text) (const uint8_t *)(text), strlen(text)
#define BOX "{\"type\":\"box\",\"description\":\"A box\",\"actions\":{\"poke\":{\"description\":\"Poke\",\"effect\":\"local-state\",\"input\":{\"type\":\"object\"}}}}"

static int failures, destroyed;

static void expect(int holds, const char *what) {
  if (!holds) printf("does not hold: %s\n", what), failures++;
}
#define EXPECT(condition) expect((condition), #condition)

static void destroy(void *user_data) { (void)user_data, destroyed++; }
static void told(void *user_data, const uint8_t *text, size_t len) { (void)user_data, (void)text, (void)len; }
static void notified(void *user_data) { (void)user_data; }
static void hook(void *user_data, as_reply reply, const uint8_t *context, size_t len) {
  (void)user_data, (void)context, (void)len;
  as_reply_json(reply, TEXT("{\"decision\":\"expose\"}"));
}
#ifdef AS_NEWER
#define SIZE(type, first) sizeof(type)
static void later(void *user_data) { (void)user_data; }
#else
#define SIZE(type, first) first /* what ABI 1 began with, where pointers have 64 bits */
#endif

/* What stands behind a table of this host must not matter. */
#define TABLE(type, name, first)           \
  type name;                               \
  memset(&name, 0xAB, sizeof name);        \
  memset(&name, 0, SIZE(type, first));     \
  name.struct_size = SIZE(type, first);    \
  name.destroy = destroy

static void handler(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len) {
  TABLE(as_hooks_notify, notice, 32);
  (void)user_data, (void)context, (void)context_len, (void)input, (void)input_len;
  notice.notify = notified;
  EXPECT(as_reply_on_abort(reply, &notice) == AS_OK);
#ifdef AS_NEWER
  notice.later = later, destroyed--; /* one more that is given back, for the same count */
  EXPECT(as_reply_on_abort(reply, &notice) == AS_E_ARGUMENT);
#endif
  as_reply_json(reply, TEXT("1"));
}

/* One call of each function that takes a table, the last inside the handler; answers how many were taken over. */
static int pass_all(as_code expected, int more_than_it_has) {
  as_registry surface = 0, other = 0;
  as_registration box = 0;
  as_subscription events = 0;
  as_invocation call = 0;
  as_blob result = {0, 0, 0}, err = {0, 0, 0};
  TABLE(as_hooks_host, host, 72);
  TABLE(as_hooks_policy, policy, 56);
  TABLE(as_hooks_handler, executor, 32);
  TABLE(as_binding, binding, 80);
  TABLE(as_hooks_result, result_table, 32);
  TABLE(as_hooks_event, event, 32);
  binding.name = (const uint8_t *)"poke", binding.name_len = 4, binding.handler = handler;
  policy.on_discovery = hook, executor.handler = handler, result_table.on_result = told, event.on_event = told;
#ifdef AS_NEWER
  if (more_than_it_has) host.later = policy.later = executor.later = binding.later = result_table.later = event.later = later;
#else
  (void)more_than_it_has;
#endif
  destroyed = 0;
  EXPECT(as_registry_new(NULL, 0, NULL, &surface, NULL) == AS_OK);
  EXPECT(as_registry_new(NULL, 0, &host, &other, &err) == expected);
  if (expected != AS_OK) EXPECT(err.ptr && strstr((const char *)err.ptr, "struct_size") == NULL && strstr((const char *)err.ptr, "`hooks`") != NULL);
  as_blob_free(&err);
  EXPECT(as_policy_define(surface, TEXT("p"), &policy, NULL) == expected);
  EXPECT(as_executor_set(surface, TEXT("[\"box.empty\"]"), &executor, NULL) == expected);
  EXPECT(as_register(surface, TEXT(BOX), &binding, 1, &box, NULL) == expected);
  EXPECT(as_subscribe(surface, &event, &events, NULL) == expected);
  EXPECT(as_invoke(surface, TEXT("{\"capabilityId\":\"view:box.poke\"}"), NULL, 0, &result_table, &call, NULL) == expected);
  if (expected == AS_OK) {
    EXPECT(as_invocation_wait(call, -1, &result, NULL) == AS_OK);
    EXPECT(result.ptr && strstr((const char *)result.ptr, "\"output\":1") != NULL);
    as_blob_free(&result);
  }
  as_invocation_free(call), as_unsubscribe(events), as_unregister(box);
  as_registry_close(other, -1, NULL), as_registry_free(other);
  EXPECT(as_registry_close(surface, -1, NULL) == AS_OK);
  as_registry_free(surface);
  return destroyed;
}

int main(void) {
  EXPECT(pass_all(AS_OK, 0) == 7);
#ifdef AS_NEWER
  EXPECT(sizeof(as_binding) > 80);
  EXPECT(pass_all(AS_E_ARGUMENT, 1) == 6);
#else
  {
    as_registry surface = 0;
    as_blob err = {0, 0, 0};
    TABLE(as_hooks_host, host, 72);
    host.struct_size = 71; /* no header ever had such a table: nothing of it is read, and it stays ours */
    destroyed = 0;
    EXPECT(as_registry_new(NULL, 0, &host, &surface, &err) == AS_E_ARGUMENT);
    EXPECT(err.ptr && strstr((const char *)err.ptr, "struct_size") != NULL);
    EXPECT(destroyed == 0);
    as_blob_free(&err);
  }
#endif
  return failures != 0;
}
