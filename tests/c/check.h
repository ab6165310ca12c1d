/* A test harness of one page, valid as C11 and as C++17, and what the tests share: probes, small worlds, short calls. */
#ifndef CHECK_H
#define CHECK_H

#include <agent_surface.h>
#include <agent_surface_dev.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

typedef struct test {
  const char *name;
  void (*run)(void);
} test;

/* TEST(name) { … }, then once a file: SUITE(suite, CASE(name), …); */
#define TEST(name) static void name(void)
#define CASE(name) { #name, name }
#define SUITE(suite, ...)                   \
  extern const test suite[];                \
  const test suite[] = {__VA_ARGS__, {0, 0}}

/* A failed check is told with its place, the test goes on, and it counts as failed. */
#define CHECK(condition) check_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_CODE(expected, call) check_code((expected), (call), #call, __FILE__, __LINE__)
#define CHECK_HAS(blob, part) check_has((blob), (part), __FILE__, __LINE__)

void check_true(bool holds, const char *what, const char *file, int line);
void check_code(as_code expected, as_code seen, const char *what, const char *file, int line);
/* The blob's text holds `part`. */
void check_has(const as_blob *blob, const char *part, const char *file, int line);

/* How many checks of the running test have failed; a child of a fork reports by it. */
int check_failures(void);

/* The shapes of callbacks. Most look at nothing but their reply. */
#define HANDLER(name) \
  static void name(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len)
#define HOOK(name) static void name(void *user_data, as_reply reply, const uint8_t *context, size_t context_len)
#define UNUSED_CONTEXT (void)context, (void)context_len
#define UNUSED UNUSED_CONTEXT, (void)input, (void)input_len

/* ---- texts ---------------------------------------------------------------------------------------------------------- */

#define TEXT(text) (const uint8_t *)(text), strlen(text)

/* Calls with an error blob and holds the answer: the code, and what the blob must say ("" accepts any). */
#define REFUSED(expected, says, call)             \
  do {                                            \
    as_blob err = EMPTY_BLOB;                     \
    CHECK_CODE(expected, call);                   \
    CHECK_HAS(&err, #expected);                   \
    CHECK_HAS(&err, says);                        \
    CHECK_CODE(AS_OK, as_blob_free(&err));        \
  } while (0)

extern const as_blob EMPTY_BLOB;

/* ---- probes: user data that counts ---------------------------------------------------------------------------------- */

typedef struct probe {
  int calls;     /* of any function of its table */
  int destroyed; /* of `destroy` */
  as_reply reply; /* the last one it was given */
  as_registry registry;
  as_registration registration;
  as_code seen;  /* what an API call inside the callback answered */
  char text[512]; /* the last result, event or input it was given, cut */
} probe;

/* Counters may be read while callbacks run. */
int probe_calls(const probe *p);
int probe_destroyed(const probe *p);
void probe_wait_calls(const probe *p, int calls); /* until it was called so often */

void count_call(void *user_data);
void count_destroy(void *user_data);

as_hooks_host host_table(probe *p);
as_hooks_policy policy_table(probe *p);
as_hooks_handler handler_table(probe *p, as_fn_handler handler);
as_binding binding(probe *p, const char *name, as_fn_handler handler);
as_hooks_result result_table(probe *p);
as_hooks_event event_table(probe *p);
as_hooks_notify notify_table(probe *p);

/* Handlers that most tests want. */
void answer_null(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len);
void pend(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len);
void answer_nothing(void *user_data, as_reply reply, const uint8_t *context, size_t context_len, const uint8_t *input, size_t input_len);

/* ---- worlds --------------------------------------------------------------------------------------------------------- */

/* A registry with a manual clock and nothing in it. */
as_registry world(void);
/* The same with one component `t`, one action `go` that takes and gives anything. */
as_registry world_with(probe *p, as_fn_handler handler);
/* Registers one component; its handle is freed when the world ends. Nothing else frees a registration but as_unregister. */
as_registration world_register(as_registry registry, const char *definition, const as_binding *bindings, size_t n);
void world_ends(as_registry registry);

extern const char GO[];         /* the definition of component `t` with action `go` */
extern const char GO_REQUEST[]; /* a request for it */

void quiesce(as_registry registry);
void advance(as_registry registry, int64_t ms);
/* Invokes `go` and holds its result. */
void go_gives(as_registry registry, const char *part, const char *file, int line);
#define GO_GIVES(registry, part) go_gives((registry), (part), __FILE__, __LINE__)
void result_gives(as_invocation call, const char *part, const char *file, int line);
#define RESULT_GIVES(call, part) result_gives((call), (part), __FILE__, __LINE__)

#ifdef __cplusplus
}
#endif
#endif
