#include "check.h"

#include <sched.h>
#include <stdio.h>

extern const test handles[], texts[], tables[], definitions[], replies[], lifetime[], destroy_once[], forks[], quiet[];

static const test *const SUITES[] = {handles, texts, tables, definitions, replies, lifetime, destroy_once, quiet, forks};

static const char *running;
static int failures; /* of the running test */

void check_true(bool holds, const char *what, const char *file, int line) {
  if (holds) return;
  failures++;
  printf("  %s:%d: %s: not so: %s\n", file, line, running, what);
}

void check_code(as_code expected, as_code seen, const char *what, const char *file, int line) {
  if (expected == seen) return;
  failures++;
  printf("  %s:%d: %s: expected %s, saw %s: %s\n", file, line, running, as_code_name(expected), as_code_name(seen), what);
}

void check_has(const as_blob *blob, const char *part, const char *file, int line) {
  const char *text = blob->ptr ? (const char *)blob->ptr : "";
  if (strstr(text, part)) return;
  failures++;
  printf("  %s:%d: %s: expected %s in: %s\n", file, line, running, part, text);
}

/* The check after every test: no handle, blob or callback table of any kind is alive. */
static void nothing_lives(const char *file, int line) {
  static char told[512]; /* a leak is told once, by the test that made it */
  as_blob live = EMPTY_BLOB;
  CHECK_CODE(AS_OK, as_dev_live(&live));
  const char *text = live.ptr ? (const char *)live.ptr : "?";
  if (strpbrk(text, "?123456789") && strcmp(text, told) != 0) check_has(&live, "everything at zero", file, line);
  strncpy(told, text, sizeof told - 1);
  as_blob_free(&live);
}

int check_failures(void) { return failures; }

int main(int argc, char **argv) {
  int passed = 0, failed = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; i < sizeof SUITES / sizeof *SUITES; i++)
    for (const test *t = SUITES[i]; t->name; t++) {
      if (argc > 1 && !strstr(t->name, argv[1])) continue;
      running = t->name;
      failures = 0;
      t->run();
      nothing_lives(__FILE__, __LINE__);
      printf("%s %s\n", failures ? "not ok" : "ok", t->name);
      failures ? failed++ : passed++;
    }
  printf("%d passed, %d failed\n", passed, failed);
  return failed || !passed;
}

/* ---- probes --------------------------------------------------------------------------------------------------------- */

const as_blob EMPTY_BLOB = {NULL, 0, NULL};

int probe_calls(const probe *p) { return __atomic_load_n(&p->calls, __ATOMIC_SEQ_CST); }
int probe_destroyed(const probe *p) { return __atomic_load_n(&p->destroyed, __ATOMIC_SEQ_CST); }
void probe_wait_calls(const probe *p, int calls) {
  while (probe_calls(p) < calls) sched_yield();
}

void count_call(void *user_data) { __atomic_add_fetch(&((probe *)user_data)->calls, 1, __ATOMIC_SEQ_CST); }
void count_destroy(void *user_data) { __atomic_add_fetch(&((probe *)user_data)->destroyed, 1, __ATOMIC_SEQ_CST); }

static void keep_text(probe *p, const uint8_t *text, size_t len) {
  size_t cut = len < sizeof p->text - 1 ? len : sizeof p->text - 1;
  if (cut) memcpy(p->text, text, cut);
  p->text[cut] = 0;
}

static void keep(void *user_data, const uint8_t *text, size_t text_len) {
  keep_text((probe *)user_data, text, text_len);
  count_call(user_data);
}

#define TABLE(type, name)         \
  type name;                      \
  memset(&name, 0, sizeof name);  \
  name.struct_size = sizeof name; \
  name.user_data = p;             \
  name.destroy = count_destroy

as_hooks_host host_table(probe *p) {
  TABLE(as_hooks_host, table);
  return table;
}

as_hooks_policy policy_table(probe *p) {
  TABLE(as_hooks_policy, table);
  return table;
}

as_hooks_handler handler_table(probe *p, as_fn_handler handler) {
  TABLE(as_hooks_handler, table);
  table.handler = handler;
  return table;
}

as_binding binding(probe *p, const char *name, as_fn_handler handler) {
  TABLE(as_binding, table);
  table.name = (const uint8_t *)name;
  table.name_len = strlen(name);
  table.handler = handler;
  return table;
}

as_hooks_result result_table(probe *p) {
  TABLE(as_hooks_result, table);
  table.on_result = keep;
  return table;
}

as_hooks_event event_table(probe *p) {
  TABLE(as_hooks_event, table);
  table.on_event = keep;
  return table;
}

as_hooks_notify notify_table(probe *p) {
  TABLE(as_hooks_notify, table);
  table.notify = count_call;
  return table;
}

void answer_null(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len) {
  UNUSED;
  count_call(user_data); /* before the answer, which another thread may be waiting for */
  CHECK_CODE(AS_OK, as_reply_json(reply, TEXT("null")));
}

void pend(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len) {
  UNUSED;
  ((probe *)user_data)->reply = reply;
  CHECK_CODE(AS_OK, as_reply_defer(reply));
  count_call(user_data);
}

void answer_nothing(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len) {
  UNUSED;
  ((probe *)user_data)->reply = reply;
  count_call(user_data);
}

/* ---- worlds --------------------------------------------------------------------------------------------------------- */

const char GO[] =
    "{\"type\":\"t\",\"description\":\"A thing\",\"actions\":{\"go\":{\"description\":\"Go\",\"effect\":\"local-state\","
    "\"input\":{\"type\":\"object\"},\"timeoutMs\":1000}}}";
const char GO_REQUEST[] = "{\"capabilityId\":\"view:t.go\"}";

as_registry world(void) {
  as_registry registry = 0;
  CHECK_CODE(AS_OK, as_registry_new(TEXT("{\"environment\":\"test\",\"clock\":{\"manual\":{\"start\":\"2026-01-01T00:00:00.000Z\"}}}"),
                                    NULL, &registry, NULL));
  return registry;
}

static as_registration registered[16];
static size_t registrations;

as_registration world_register(as_registry registry, const char *definition, const as_binding *bindings, size_t n) {
  as_registration made = 0;
  as_blob err = EMPTY_BLOB;
  CHECK_CODE(AS_OK, as_register(registry, TEXT(definition), bindings, n, &made, &err));
  if (err.len) printf("  %s\n", (const char *)err.ptr);
  as_blob_free(&err);
  if (registrations < sizeof registered / sizeof *registered) registered[registrations++] = made;
  return made;
}

as_registry world_with(probe *p, as_fn_handler handler) {
  as_registry registry = world();
  as_binding go = binding(p, "go", handler);
  p->registry = registry;
  p->registration = world_register(registry, GO, &go, 1);
  return registry;
}

void world_ends(as_registry registry) {
  while (registrations) CHECK_CODE(AS_OK, as_unregister(registered[--registrations]));
  CHECK_CODE(AS_OK, as_registry_close(registry, -1, NULL));
  CHECK_CODE(AS_OK, as_registry_free(registry));
}

void quiesce(as_registry registry) { CHECK_CODE(AS_OK, as_dev_quiesce(registry, -1, NULL)); }
void advance(as_registry registry, int64_t ms) { CHECK_CODE(AS_OK, as_dev_advance(registry, ms, -1, NULL)); }

void go_gives(as_registry registry, const char *part, const char *file, int line) {
  as_blob result = EMPTY_BLOB;
  CHECK_CODE(AS_OK, as_invoke_wait(registry, TEXT(GO_REQUEST), NULL, 0, &result, NULL));
  check_has(&result, part, file, line);
  as_blob_free(&result);
}

void result_gives(as_invocation call, const char *part, const char *file, int line) {
  as_blob result = EMPTY_BLOB;
  CHECK_CODE(AS_OK, as_invocation_wait(call, -1, &result, NULL));
  check_has(&result, part, file, line);
  as_blob_free(&result);
}
