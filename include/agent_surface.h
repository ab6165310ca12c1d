/* Agent Surface: decides whether, when and how an AI agent's tool call runs in a host application.
 *
 * The whole contract is spec/abi.md. In short: every function answers an as_code and fills its outputs only on AS_OK; texts
 * go in as UTF-8 with a length and are copied; texts come out as an as_blob that the caller frees with as_blob_free;
 * callbacks answer through a one-shot as_reply; every function may be called from any thread.
 *
 * Generated from src/ffi by cbindgen; do not edit. */

#ifndef AGENT_SURFACE_H
#define AGENT_SURFACE_H

#include <stddef.h>
#include <stdint.h>

/**
 * The ABI these declarations belong to. A library whose `as_abi_version` says another number does not fit them.
 */
#define AS_ABI_VERSION 1

/**
 * Flag of a callback table: never two calls of its functions at once. It is a queue, not a lock: calls wait their
 * turn without holding a thread, until the callback before them has returned.
 */
#define AS_SERIAL 1

/**
 * Flag of a callback table: its functions return at once. They answer, defer or note something down, and never block.
 * So they need no worker: they also run on the host's own thread, inside whatever function of the library has brought
 * them up (`as_invoke`, `as_reply_json`, `as_unregister`, …), before it returns. Push dispatch only.
 */
#define AS_INLINE 256

/**
 * What every function answers: `AS_OK`, or one of the negative `AS_E_…` numbers, which are never reused.
 */
typedef int32_t as_code;

/**
 * Bytes that the library hands out: `len` bytes of UTF-8 at `ptr`, and a NUL after the last. An empty one is all
 * zero. The caller owns it and gives it back with `as_blob_free`, once, whole and unchanged; nothing else frees it.
 */
typedef struct as_blob {
  const uint8_t *ptr;
  size_t len;
  /**
   * The library's own; NULL when there is nothing to free.
   */
  void *opaque;
} as_blob;

/**
 * The one-shot answer that a callback owes. Never freed by the host: it lives until it is answered, or until the
 * record of its call or its registry is gone.
 */
typedef uint64_t as_reply;

/**
 * A callback that answers through `reply` with what its kind asks for (see the table it stands in). `context` is one
 * JSON document; the view dies when the callback returns. It must not throw or unwind.
 */
typedef void (*as_fn_hook)(void *user_data, as_reply reply, const uint8_t *context, size_t context_len);

/**
 * A callback that is told something (a result, an event, an audit entry, a log line): one JSON document, whose view
 * dies when it returns. No answer is owed.
 */
typedef void (*as_fn_text)(void *user_data, const uint8_t *text, size_t text_len);

/**
 * Releases `user_data`. Runs exactly once for each passing of the table it stands in, also when the function the
 * table was passed to fails: after the last call of the table has returned and every deferred one has ended; at once
 * where the table has no function that could be called. The one exception is a table whose `struct_size` is not that
 * of a table; nothing of it is read.
 */
typedef void (*as_fn_destroy)(void *user_data);

/**
 * What a registry asks of its host. Every function may be NULL.
 */
typedef struct as_hooks_host {
  /**
   * `sizeof(as_hooks_host)`.
   */
  uint32_t struct_size;
  /**
   * 0, or `AS_SERIAL` and `AS_INLINE`.
   */
  uint32_t flags;
  void *user_data;
  /**
   * The host context: answers any JSON object. Read at most once a call and once a snapshot; `{}` when it fails.
   */
  as_fn_hook context;
  /**
   * The route a snapshot shows: answers `{"path", "params"?}`.
   */
  as_fn_hook route;
  /**
   * The guard of registrations: gets `{definition, origin}`, answers `"accept"` or `"reject"`.
   */
  as_fn_hook on_register;
  /**
   * Replaces the payload of a full audit entry: answers any JSON.
   */
  as_fn_hook redact;
  /**
   * Gets every audit entry when the audit sink is `callback`.
   */
  as_fn_text audit;
  /**
   * Gets what an operator needs: level, message, cause and context. Nothing of it reaches an agent.
   */
  as_fn_text log;
  as_fn_destroy destroy;
} as_hooks_host;

/**
 * A registry: one surface, its registrations, calls and records. 0 is no handle. Freed by `as_registry_free`.
 */
typedef uint64_t as_registry;

/**
 * A policy's look at a result on its way out: `context` is the policy context, `result` the result envelope, both
 * JSON; the views die when it returns. It answers with `as_reply_json`: `null` leaves the result, `{"output": …}`
 * replaces the output.
 */
typedef void (*as_fn_result_hook)(void *user_data,
                                  as_reply reply,
                                  const uint8_t *context,
                                  size_t context_len,
                                  const uint8_t *result,
                                  size_t result_len);

/**
 * A policy. Every function may be NULL; a NULL one has nothing to say.
 */
typedef struct as_hooks_policy {
  /**
   * `sizeof(as_hooks_policy)`.
   */
  uint32_t struct_size;
  /**
   * 0, or `AS_SERIAL` and `AS_INLINE`.
   */
  uint32_t flags;
  void *user_data;
  /**
   * Answers `{"decision": "expose" | "hide"}` or `{"decision": "disable", "reason"}`, before it returns. Hides when
   * it fails.
   */
  as_fn_hook on_discovery;
  /**
   * Before the input is looked at: answers allow or deny. Denies when it fails.
   */
  as_fn_hook on_authorize;
  /**
   * Over the effective input: answers allow, deny or confirm. Denies when it fails.
   */
  as_fn_hook on_invoke;
  /**
   * Over the result on its way out, before it returns. Withholds the output when it fails.
   */
  as_fn_result_hook on_result;
  as_fn_destroy destroy;
} as_hooks_policy;

/**
 * A callback that runs a capability: `context` is the call context, `input` the effective input, both JSON; the views
 * die when it returns. It answers with `as_reply_json` or `as_reply_error`, or takes its time with `as_reply_defer`.
 */
typedef void (*as_fn_handler)(void *user_data,
                              as_reply reply,
                              const uint8_t *context,
                              size_t context_len,
                              const uint8_t *input,
                              size_t input_len);

/**
 * The executor of procedures.
 */
typedef struct as_hooks_handler {
  /**
   * `sizeof(as_hooks_handler)`.
   */
  uint32_t struct_size;
  /**
   * 0, or `AS_SERIAL` and `AS_INLINE`.
   */
  uint32_t flags;
  void *user_data;
  /**
   * Must not be NULL.
   */
  as_fn_handler handler;
  as_fn_destroy destroy;
} as_hooks_handler;

/**
 * The callbacks of one capability of a definition. Every function may be NULL where the definition does not need it.
 * In an array of bindings every `struct_size` is the same: the distance between two of them.
 */
typedef struct as_binding {
  /**
   * `sizeof(as_binding)`.
   */
  uint32_t struct_size;
  /**
   * 0, or `AS_SERIAL` and `AS_INLINE`.
   */
  uint32_t flags;
  /**
   * The capability's name, or `domain:` and the path of a procedure; UTF-8, copied.
   */
  const uint8_t *name;
  size_t name_len;
  void *user_data;
  /**
   * `read` of an observation, `execute` of an action.
   */
  as_fn_handler handler;
  /**
   * Whether it is available: answers `true` or `false`. False when it fails.
   */
  as_fn_hook when;
  /**
   * Over the effective input: answers `null`, or `{"message", "details"?}` to refuse.
   */
  as_fn_hook precondition;
  /**
   * The bound fields of a procedure: answers an object.
   */
  as_fn_hook bind;
  /**
   * The contextual note of a procedure: answers a string.
   */
  as_fn_hook describe;
  as_fn_destroy destroy;
} as_binding;

/**
 * One lifetime of one component instance. 0 is no handle. Freed by `as_unregister`.
 */
typedef uint64_t as_registration;

/**
 * A callback that is told that something happened. No answer is owed.
 */
typedef void (*as_fn_notify)(void *user_data);

/**
 * Who wants to know that a call was aborted.
 */
typedef struct as_hooks_notify {
  /**
   * `sizeof(as_hooks_notify)`.
   */
  uint32_t struct_size;
  /**
   * 0, or `AS_SERIAL` and `AS_INLINE`.
   */
  uint32_t flags;
  void *user_data;
  /**
   * Must not be NULL.
   */
  as_fn_notify notify;
  as_fn_destroy destroy;
} as_hooks_notify;

/**
 * Where the result of a call goes.
 */
typedef struct as_hooks_result {
  /**
   * `sizeof(as_hooks_result)`.
   */
  uint32_t struct_size;
  /**
   * 0, or `AS_SERIAL` and `AS_INLINE`.
   */
  uint32_t flags;
  void *user_data;
  /**
   * Gets the result envelope, exactly once. May be NULL.
   */
  as_fn_text on_result;
  as_fn_destroy destroy;
} as_hooks_result;

/**
 * One call as its caller holds it. 0 is no handle. Freed by `as_invocation_free`, which does not end the call.
 */
typedef uint64_t as_invocation;

/**
 * A listener.
 */
typedef struct as_hooks_event {
  /**
   * `sizeof(as_hooks_event)`.
   */
  uint32_t struct_size;
  /**
   * 0, or `AS_SERIAL` and `AS_INLINE`; a listener is never called twice at once anyway.
   */
  uint32_t flags;
  void *user_data;
  /**
   * Gets one event. Must not be NULL.
   */
  as_fn_text on_event;
  as_fn_destroy destroy;
} as_hooks_event;

/**
 * A listener. 0 is no handle. Freed by `as_unsubscribe`.
 */
typedef uint64_t as_subscription;

/**
 * A tool catalog for a model, with its way back. 0 is no handle. Freed by `as_toolset_free`.
 */
typedef uint64_t as_toolset;

/**
 * It worked; the outputs are filled.
 */
#define AS_OK 0

/**
 * An argument is wrong: a required pointer is NULL, a length without a pointer, a struct_size too small, an unknown
 * flag, field or option, a kind of answer this callback may not give. Mend the caller; trying again changes nothing.
 */
#define AS_E_ARGUMENT -1

/**
 * The handle is 0.
 */
#define AS_E_NULL_HANDLE -2

/**
 * The handle was freed, or what it stood for is gone.
 */
#define AS_E_STALE_HANDLE -3

/**
 * The handle is of another kind, or was never handed out by this library.
 */
#define AS_E_WRONG_HANDLE -4

/**
 * A text is not UTF-8.
 */
#define AS_E_UTF8 -5

/**
 * A document is not strict JSON: syntax, a duplicate key, a lone surrogate, a number out of range, or nested too
 * deep. The error blob says where.
 */
#define AS_E_JSON -6

/**
 * A component definition was refused. The error blob carries the reason (`INVALID_ID`, `INVALID_DEFINITION`,
 * `UNSUPPORTED_SCHEMA`, `PLANE_VIOLATION`, `DUPLICATE_CAPABILITY`, `LIMIT_EXCEEDED`) and the JSON Pointer of the
 * field; nothing was registered.
 */
#define AS_E_DEFINITION -7

/**
 * A bound would be exceeded (document size, registrations, handles, subscriptions). Nothing was done.
 */
#define AS_E_LIMIT -8

/**
 * The registry is closed, or the registration is rejected, replaced or closed. Nothing was done.
 */
#define AS_E_CLOSED -9

/**
 * Already answered: this reply, or this confirmation, has its decision.
 */
#define AS_E_SETTLED -10

/**
 * The call had settled before this answer came. The answer is kept for audit and `as_outcome`; the result does not
 * change.
 */
#define AS_E_LATE -11

/**
 * Nothing of that id is known (any more).
 */
#define AS_E_NOT_FOUND -12

/**
 * The wait ended before what it waited for. What was waited for goes on.
 */
#define AS_E_TIMEOUT -13

/**
 * This wait could never end: it waits, inside a callback, for something that waits for that callback. Answered at
 * once.
 */
#define AS_E_WOULD_DEADLOCK -14

/**
 * The handle was made before fork() and this is the child. Make a new registry here.
 */
#define AS_E_FORKED -15

/**
 * A defect of the library, stopped at its edge. Please report it; close the registry.
 */
#define AS_E_PANIC -16

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The ABI of this library, to be held against the `AS_ABI_VERSION` a host was compiled with. A host refuses a library
 * whose number differs.
 *
 * Ownership: nothing.
 * Threads: any, at any time, in a forked child as well.
 * Blocking: never.
 * Errors: none.
 */
uint32_t as_abi_version(void);

/**
 * The version of this library, such as `0.1.0`.
 *
 * Ownership: a static text with a NUL at its end; never freed.
 * Threads: any, at any time, in a forked child as well.
 * Blocking: never.
 * Errors: none.
 */
const char *as_version(void);

/**
 * The name of a code, such as `AS_E_JSON`; `AS_E_UNKNOWN` for a number this library does not know.
 *
 * Ownership: a static text with a NUL at its end; never freed.
 * Threads: any, at any time, in a forked child as well.
 * Blocking: never.
 * Errors: none.
 */
const char *as_code_name(as_code code);

/**
 * Gives a blob back and makes it empty. Freeing an empty one does nothing, so freeing the same variable twice is
 * harmless; freeing a copy of a freed one is not, as with any memory.
 *
 * Ownership: the bytes are gone, and `blob` is all zero.
 * Threads: any, whichever it came from; also in a forked child.
 * Blocking: never.
 * Errors: `AS_E_ARGUMENT` when `blob` is NULL.
 *
 * # Safety
 * `blob` is NULL or points to a blob that this library filled and that was not freed, or to an empty one.
 */
as_code as_blob_free(struct as_blob *blob);

/**
 * Makes a registry. `config` is its configuration, a JSON object; empty or `{}` means every default. `hooks` is what
 * it asks of the host, or NULL. The first registry of a process starts the worker threads; nothing does before.
 *
 * Ownership: `config` is copied; `hooks` is taken over, on failure too; `out` is a handle to be freed with
 * `as_registry_free`.
 * Threads: any. In a forked child, makes a registry of the child's own.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (an unknown field or flag, a value out of its bounds, `out` NULL), `AS_E_UTF8`,
 * `AS_E_JSON`, `AS_E_LIMIT` (a document too large, handles or threads exhausted).
 */
as_code as_registry_new(const uint8_t *config,
                        size_t config_len,
                        const struct as_hooks_host *hooks,
                        as_registry *out,
                        struct as_blob *err);

/**
 * Closes a registry: takes nothing new, settles what is pending (`CANCELLED`), expires confirmations, lets running
 * callbacks end and runs every `destroy`; after `AS_OK` no host code of it runs any more. The handle stays valid and
 * answers `AS_E_CLOSED`, as does every registration of it. Closing again waits for the same end. `timeout_ms` is real
 * time: -1 for ever, 0 begins and looks.
 *
 * Ownership: nothing changes hands; the handle is still to be freed.
 * Threads: any. Safe from finalizers and `atexit`.
 * Blocking: up to `timeout_ms`; not at all inside a callback.
 * Errors: `AS_E_TIMEOUT` (closing goes on), `AS_E_WOULD_DEADLOCK` (called inside a callback of this registry, or of one
 * that this one waits for: closing has begun, and completes when the last callback has returned), `AS_E_ARGUMENT` (`timeout_ms` below -1), and those of
 * the handle.
 */
as_code as_registry_close(as_registry registry,
                          int64_t timeout_ms,
                          struct as_blob *err);

/**
 * Frees a registry handle, and begins closing where `as_registry_close` has not. Freeing 0 does nothing.
 *
 * Ownership: the handle is stale afterwards; what was made of the registry keeps its own handle, to be freed as ever.
 * Threads: any. In a forked child an inherited handle leaks on purpose, and the answer is `AS_OK`.
 * Blocking: never.
 * Errors: `AS_E_STALE_HANDLE` (freed before), `AS_E_WRONG_HANDLE`.
 */
as_code as_registry_free(as_registry registry);

/**
 * Tells of a registry: `{surfaceId, surfaceVersion, registrations, inFlight, pendingConfirmations, workers, limits,
 * abiVersion}`.
 *
 * Ownership: `out` is the caller's, freed with `as_blob_free`.
 * Threads: any.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`out` NULL), `AS_E_CLOSED`, and those of the handle.
 */
as_code as_registry_info(as_registry registry,
                         struct as_blob *out,
                         struct as_blob *err);

/**
 * Defines a policy of the host under `name`, for definitions and for the registry's own list to refer to. A name of
 * the registry's list that is not defined yet hides and denies.
 *
 * Ownership: `name` is copied; `hooks` is taken over, on failure too.
 * Threads: any.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (a name that is empty or defined before, `hooks` NULL, an unknown flag), `AS_E_UTF8`,
 * `AS_E_CLOSED`, and those of the handle.
 */
as_code as_policy_define(as_registry registry,
                         const uint8_t *name,
                         size_t name_len,
                         const struct as_hooks_policy *hooks,
                         struct as_blob *err);

/**
 * Sets the executor of procedures. `paths` is a JSON array of the paths it serves; a definition with a procedure of
 * another path is refused (`PLANE_VIOLATION`). Setting another replaces the one before; calls that run go on with
 * theirs.
 *
 * Ownership: `paths` is copied; `hooks` is taken over, on failure too.
 * Threads: any.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`hooks` or its handler NULL, paths that are no array of texts), `AS_E_DEFINITION` (with
 * `duplicateSuffixPolicy` `error`, a path that has the name of what is registered), `AS_E_UTF8`, `AS_E_JSON`,
 * `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle.
 */
as_code as_executor_set(as_registry registry,
                        const uint8_t *paths,
                        size_t paths_len,
                        const struct as_hooks_handler *hooks,
                        struct as_blob *err);

/**
 * Fetches the next piece of work of a registry with `"dispatch": "pull"`: `{"do": "call" | "policy" | "result" |
 * "event" | …, "reply"?, "name", "phase"?, "context", "input"?}`, where `reply` is a reply handle as a decimal text, to
 * be answered with the `as_reply_…` functions from any thread. Hooks that cannot be deferred run inside this
 * function. After the registry was closed it hands out the results and events that were not fetched yet.
 * `timeout_ms` is real time: -1 for ever, 0 looks only.
 *
 * Ownership: `out` is the caller's, freed with `as_blob_free`.
 * Threads: any, several at once too; each piece of work is handed out once.
 * Blocking: up to `timeout_ms`.
 * Errors: `AS_E_TIMEOUT` (nothing to do), `AS_E_CLOSED` (nothing will come any more), `AS_E_ARGUMENT` (a push
 * registry, `timeout_ms` below -1, `out` NULL), and those of the handle.
 */
as_code as_next(as_registry registry,
                int64_t timeout_ms,
                struct as_blob *out,
                struct as_blob *err);

/**
 * Registers a component, live at once. `definition` is its JSON document; `bindings` are the callbacks of its
 * capabilities, `bindings_len` of them, NULL with 0. Where the same type and instance is registered already and the
 * registry says `reject`, or its guard rejects, the answer is `AS_OK` and a dead handle, whose info says `rejected`.
 *
 * Ownership: `definition` is copied; every binding is taken over, on failure too; `out` is a handle to be freed with
 * `as_unregister`.
 * Threads: any, inside callbacks too.
 * Blocking: only while the host's own `on_register` runs.
 * Errors: `AS_E_DEFINITION` (the error blob says `reason` and `path`), `AS_E_ARGUMENT` (a binding that is no table, an
 * unknown flag, `out` NULL), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT` (`maxRegistrations`, a document too large),
 * `AS_E_WOULD_DEADLOCK` (the guard is in an `AS_SERIAL` table that is taken on this stack), `AS_E_CLOSED`, and those of
 * the handle.
 */
as_code as_register(as_registry registry,
                    const uint8_t *definition,
                    size_t definition_len,
                    const struct as_binding *bindings,
                    size_t bindings_len,
                    as_registration *out,
                    struct as_blob *err);

/**
 * Tells of a registration: `{registrationId, type, instanceId, status}`. Works as long as the handle, whatever became
 * of the registration.
 *
 * Ownership: `out` is the caller's, freed with `as_blob_free`.
 * Threads: any.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`out` NULL), and those of the handle.
 */
as_code as_registration_info(as_registration registration,
                             struct as_blob *out,
                             struct as_blob *err);

/**
 * Changes what can be changed of a registration: `patch` is `{enabled?, availability?: {name or path: {available,
 * reason?}}}`. All of it is done or nothing.
 *
 * Ownership: `patch` is copied.
 * Threads: any, inside callbacks too.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (an unknown field or name), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_CLOSED` (rejected,
 * replaced or closed), and those of the handle.
 */
as_code as_registration_update(as_registration registration,
                               const uint8_t *patch,
                               size_t patch_len,
                               struct as_blob *err);

/**
 * Swaps callbacks of a registration, without a new surface version: each binding stands in the place of the one before
 * of the same name, all of it; capabilities that no binding names keep theirs. Calls that run go on with theirs. All of
 * it is done or nothing.
 *
 * Ownership: every binding is taken over, on failure too; the ones before are destroyed once nothing uses them.
 * Threads: any, inside callbacks too.
 * Blocking: no.
 * Errors: `AS_E_DEFINITION` (a binding that names nothing, lacks what its capability needs, or has a function that its
 * capability never calls), `AS_E_ARGUMENT` (a binding that is no table), `AS_E_UTF8`, `AS_E_CLOSED` (rejected, replaced
 * or closed), and those of the handle.
 */
as_code as_registration_rebind(as_registration registration,
                               const struct as_binding *bindings,
                               size_t bindings_len,
                               struct as_blob *err);

/**
 * Says that something the catalog shows of this registration has moved (a `when`, a note): a new surface version.
 *
 * Ownership: nothing.
 * Threads: any, inside callbacks too.
 * Blocking: no.
 * Errors: `AS_E_CLOSED` (rejected, replaced or closed), and those of the handle.
 */
as_code as_registration_invalidate(as_registration registration);

/**
 * Ends a registration and frees its handle: its capabilities are gone, its calls are aborted, its callbacks are
 * destroyed once nothing uses them. Again, and with 0, it does nothing and answers `AS_OK`, so that a component may be
 * taken down from several places; every other function answers `AS_E_STALE_HANDLE` from then on.
 *
 * Ownership: the handle is stale afterwards.
 * Threads: any, inside its own handlers too. In a forked child an inherited handle leaks on purpose: `AS_OK`.
 * Blocking: never.
 * Errors: `AS_E_WRONG_HANDLE`.
 */
as_code as_unregister(as_registration registration);

/**
 * Answers with a JSON value: the output of a handler, or what the hook's table says. For a handler an empty text means:
 * completed without output. A text that is not strict JSON, or too large, consumes the reply: the call fails.
 *
 * Ownership: `json` is copied. The first answer uses the reply up.
 * Threads: any; inside the callback, or after `as_reply_defer` until the call has settled.
 * Blocking: no.
 * Errors: `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT` (the call settles `EXECUTION_FAILED`), `AS_E_ARGUMENT` (this hook
 * wants another kind of answer, and has failed; NULL with a length), `AS_E_SETTLED` (answered before), `AS_E_LATE` (the
 * call settled before), and those of the handle.
 */
as_code as_reply_json(as_reply reply,
                      const uint8_t *json,
                      size_t json_len);

/**
 * Answers that the callback failed. `payload` is a typed error `{code, message, retry?, details?}` of the codes a host
 * may give, or empty for an untyped failure, which an agent sees as `EXECUTION_FAILED`.
 *
 * Ownership: `payload` is copied. The first answer uses the reply up.
 * Threads: as `as_reply_json`.
 * Blocking: no.
 * Errors: as `as_reply_json`; a payload that cannot be read leaves an untyped failure.
 */
as_code as_reply_error(as_reply reply,
                       const uint8_t *payload,
                       size_t payload_len);

/**
 * Lets the call go on (`on_authorize`, `on_invoke`).
 *
 * Ownership: the first answer uses the reply up.
 * Threads: as `as_reply_json`.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (another kind of hook, which has failed), `AS_E_SETTLED`, `AS_E_LATE`, and those of the
 * handle.
 */
as_code as_reply_allow(as_reply reply);

/**
 * Refuses the call (`on_authorize`, `on_invoke`). `payload` is a typed error `{code, message, retry?, details?}` of the
 * codes a host may give, or empty for `NOT_AUTHORIZED`.
 *
 * Ownership: `payload` is copied. The first answer uses the reply up.
 * Threads: as `as_reply_json`.
 * Blocking: no.
 * Errors: as `as_reply_allow`, and `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`: a payload that cannot be read still denies.
 */
as_code as_reply_deny(as_reply reply,
                      const uint8_t *payload,
                      size_t payload_len);

/**
 * Asks for a person's confirmation first (`on_invoke`). `summary` is the text they are shown, 300 characters at most
 * (a longer one is cut), or empty for one composed of description and input.
 *
 * Ownership: `summary` is copied. The first answer uses the reply up.
 * Threads: as `as_reply_json`.
 * Blocking: no.
 * Errors: as `as_reply_allow`, and `AS_E_UTF8` (the hook has failed).
 */
as_code as_reply_confirm(as_reply reply,
                         const uint8_t *summary,
                         size_t summary_len);

/**
 * Promises an answer after the callback has returned. The call's own deadline bounds the wait. Handlers, the executor,
 * `on_authorize` and `on_invoke` may defer; a hook that may not has failed.
 *
 * Ownership: the reply stays good until it is answered, or until the record of its call or its registry is gone.
 * Threads: the thread of the callback, before it returns.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (this hook cannot be deferred), `AS_E_SETTLED`, `AS_E_LATE`, and those of the handle.
 */
as_code as_reply_defer(as_reply reply);

/**
 * Tells whether the call was aborted (timed out, cancelled, unmounted, settled): `out` is 1 or 0. A handler that runs
 * long asks now and then, and stops.
 *
 * Ownership: nothing.
 * Threads: any.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`out` NULL), and those of the handle.
 */
as_code as_reply_aborted(as_reply reply,
                         int32_t *out);

/**
 * Has `hooks` told when the call is aborted; at once where it was already.
 *
 * Ownership: `hooks` is taken over, on failure too; destroyed when the call is over.
 * Threads: any. The notice comes on a worker, or by `as_next`.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`hooks` or its function NULL, a hook that belongs to no call), `AS_E_LIMIT` (too many for
 * one call), and those of the handle.
 */
as_code as_reply_on_abort(as_reply reply,
                          const struct as_hooks_notify *hooks);

/**
 * Calls a capability and returns at once. `request` is `{capabilityId, input?, invocationId?, instanceId?,
 * registrationId?, surfaceVersion?, confirmationId?}`, `options` is `{consumer?, timeoutMs?, deadlineMs?,
 * traceparent?}` or empty. `hooks`, or NULL, gets the result envelope, exactly once. Whatever goes wrong with the call
 * is in its result; codes are for misuse of this function.
 *
 * Ownership: `request` and `options` are copied; `hooks` is taken over, on failure too; `out` is a handle to be freed
 * with `as_invocation_free`, or NULL where nobody will wait for the call or cancel it.
 * Threads: any, inside callbacks too. The result may come before this function returns.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (an unknown field, a bad caller-supplied id), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT` (too large;
 * or `maxInFlight` + `maxEventBacklog` pieces of work wait to be fetched, or behind callbacks that hang),
 * `AS_E_CLOSED`, and those of the handle. On failure `hooks` gets no result.
 */
as_code as_invoke(as_registry registry,
                  const uint8_t *request,
                  size_t request_len,
                  const uint8_t *options,
                  size_t options_len,
                  const struct as_hooks_result *hooks,
                  as_invocation *out,
                  struct as_blob *err);

/**
 * Calls a capability and waits for the result envelope. The call runs on this thread as far as it can: a handler that
 * answers at once never changes threads. Inside a callback the inner call inherits what is left of the outer one's
 * time. `request` and `options` as in `as_invoke`.
 *
 * Ownership: `request` and `options` are copied; `result` is the caller's, freed with `as_blob_free`.
 * Threads: any, inside callbacks too, to a depth of 32.
 * Blocking: until the call has settled; its timeout, or `deadlineMs`, bounds that.
 * Errors: as `as_invoke`, and `AS_E_WOULD_DEADLOCK` (waits for a slot, a call or a serial table that this thread
 * holds; a pull registry).
 */
as_code as_invoke_wait(as_registry registry,
                       const uint8_t *request,
                       size_t request_len,
                       const uint8_t *options,
                       size_t options_len,
                       struct as_blob *result,
                       struct as_blob *err);

/**
 * Waits for the result envelope of a call; as often as one likes. `timeout_ms` is real time: -1 for ever, 0 looks only.
 *
 * Ownership: `result` is the caller's, freed with `as_blob_free`.
 * Threads: any, several at once too.
 * Blocking: up to `timeout_ms`.
 * Errors: `AS_E_TIMEOUT` (the call goes on), `AS_E_WOULD_DEADLOCK` (inside a callback that the call waits for; an
 * endless wait in a pull registry), `AS_E_ARGUMENT` (`result` NULL, `timeout_ms` below -1), and those of the handle.
 */
as_code as_invocation_wait(as_invocation invocation,
                           int64_t timeout_ms,
                           struct as_blob *result,
                           struct as_blob *err);

/**
 * Cancels a call for this caller: its result is `CANCELLED`, unless it has settled already. The execution itself is
 * aborted when every caller that joined it has cancelled.
 *
 * Ownership: nothing; the handle is still to be freed.
 * Threads: any, inside callbacks too.
 * Blocking: no.
 * Errors: those of the handle. Cancelling a settled call is `AS_OK`, and changes nothing.
 */
as_code as_invocation_cancel(as_invocation invocation);

/**
 * Frees an invocation handle. The call goes on, and its result still goes to the table given to `as_invoke`. Freeing 0
 * does nothing.
 *
 * Ownership: the handle is stale afterwards.
 * Threads: any. In a forked child an inherited handle leaks on purpose: `AS_OK`.
 * Blocking: never.
 * Errors: `AS_E_STALE_HANDLE` (freed before), `AS_E_WRONG_HANDLE`.
 */
as_code as_invocation_free(as_invocation invocation);

/**
 * Ends a consumer's session: its calls settle `CANCELLED`, its pending confirmations expire, its queues and rate
 * windows are gone. Its records stay, so that a late repetition is still known. `consumer` is `{id, kind, grants?}`.
 *
 * Ownership: `consumer` is copied.
 * Threads: any, inside callbacks too.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (no consumer), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the
 * handle.
 */
as_code as_consumer_close(as_registry registry,
                          const uint8_t *consumer,
                          size_t consumer_len,
                          struct as_blob *err);

/**
 * Answers "did it happen?". `query` is `{consumer?, invocationId}`; the answer is `{result, late?: {status, output?,
 * outputDigest?, error?, at}}`, where `late` is how the handler ended after the call had settled, or `{"state":
 * "running"}`.
 *
 * Ownership: `query` is copied; `out` is the caller's, freed with `as_blob_free`.
 * Threads: any.
 * Blocking: no.
 * Errors: `AS_E_NOT_FOUND` (no record, or no more), `AS_E_ARGUMENT` (an unknown field, `out` NULL), `AS_E_UTF8`,
 * `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle.
 */
as_code as_outcome(as_registry registry,
                   const uint8_t *query,
                   size_t query_len,
                   struct as_blob *out,
                   struct as_blob *err);

/**
 * Resolves a pending confirmation. `decision` is `{confirmationId, approved, reason?, approver?}`; `approver` is kept
 * for audit.
 *
 * Ownership: `decision` is copied.
 * Threads: any, inside callbacks too.
 * Blocking: no.
 * Errors: `AS_E_NOT_FOUND` (unknown), `AS_E_SETTLED` (resolved or expired), `AS_E_ARGUMENT`, `AS_E_UTF8`, `AS_E_JSON`,
 * `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle. On failure nothing changes.
 */
as_code as_confirm(as_registry registry,
                   const uint8_t *decision,
                   size_t decision_len,
                   struct as_blob *err);

/**
 * Lists what waits for a person: `[{confirmationId, capabilityId, registrationId, consumerKey, effect, summary, input,
 * requestedAt, expiresAt}]`, at most `maxPendingConfirmations`.
 *
 * Ownership: `out` is the caller's, freed with `as_blob_free`.
 * Threads: any.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`out` NULL), `AS_E_CLOSED`, and those of the handle.
 */
as_code as_confirmations(as_registry registry,
                         struct as_blob *out,
                         struct as_blob *err);

/**
 * Has `hooks` told of confirmations: `confirmation-requested` and `confirmation-resolved`, in order.
 *
 * Ownership: `hooks` is taken over, on failure too; `out` is a handle to be freed with `as_unsubscribe`.
 * Threads: any. Events come on a worker, one at a time, or by `as_next`.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`hooks`, its function or `out` NULL), `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle.
 */
as_code as_confirmation_subscribe(as_registry registry,
                                  const struct as_hooks_event *hooks,
                                  as_subscription *out,
                                  struct as_blob *err);

/**
 * Waits until a confirmation is resolved: `{"outcome": "approved" | "denied" | "expired"}`. `id` is the
 * confirmationId, as it is, not as JSON. `timeout_ms` is real time: -1 for ever, 0 looks only.
 *
 * Ownership: `id` is copied; `out` is the caller's, freed with `as_blob_free`.
 * Threads: any.
 * Blocking: up to `timeout_ms`, and never longer than the confirmation lives.
 * Errors: `AS_E_TIMEOUT`, `AS_E_NOT_FOUND`, `AS_E_WOULD_DEADLOCK`, `AS_E_ARGUMENT`, `AS_E_UTF8`, `AS_E_CLOSED`, and
 * those of the handle.
 */
as_code as_confirmation_wait(as_registry registry,
                             const uint8_t *id,
                             size_t id_len,
                             int64_t timeout_ms,
                             struct as_blob *out,
                             struct as_blob *err);

/**
 * The catalog of what one consumer may use now. `context` is `{consumer?, scope?, includeUnavailable?, budget?}`, or
 * empty. It runs `when`, `describe`, discovery and the host's `context` and `route`, never a handler.
 *
 * Ownership: `context` is copied; `out` is the caller's, freed with `as_blob_free`.
 * Threads: any, on which the host's hooks are asked; not inside `when`, `describe` or `on_discovery`, nor inside a callback
 * of an `AS_SERIAL` table that has one of the hooks to be asked.
 * Blocking: while the host's own callbacks run.
 * Errors: `AS_E_WOULD_DEADLOCK` (inside one of those), `AS_E_ARGUMENT` (an unknown field, `out` NULL), `AS_E_UTF8`,
 * `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle.
 */
as_code as_snapshot(as_registry registry,
                    const uint8_t *context,
                    size_t context_len,
                    struct as_blob *out,
                    struct as_blob *err);

/**
 * Has `hooks` told of every event from here on, in the order things happened, one at a time. A listener that falls
 * behind by more than `maxEventBacklog` is told how many it lost.
 *
 * Ownership: `hooks` is taken over, on failure too; `out` is a handle to be freed with `as_unsubscribe`.
 * Threads: any. Events come on a worker, or by `as_next`; what a listener does inside is queued, not nested.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`hooks`, its function or `out` NULL), `AS_E_LIMIT`, `AS_E_CLOSED`, and those of the handle.
 */
as_code as_subscribe(as_registry registry,
                     const struct as_hooks_event *hooks,
                     as_subscription *out,
                     struct as_blob *err);

/**
 * Ends a listener and frees its handle; no delivery begins after it has returned, also of an event that was queued or
 * was to be fetched. Unsubscribing 0 does nothing.
 *
 * Ownership: the handle is stale afterwards; the table is destroyed once an event that is being delivered has been.
 * Threads: any, inside the listener too. In a forked child an inherited handle leaks on purpose: `AS_OK`.
 * Blocking: never.
 * Errors: `AS_E_STALE_HANDLE` (freed before), `AS_E_WRONG_HANDLE`.
 */
as_code as_unsubscribe(as_subscription subscription);

/**
 * Reads the audit memory: the entries whose `seq` is greater than `after`, oldest first, as a JSON array. 0 reads all
 * that is kept (`auditCapacity`). A closed registry can be read, too: what its close settled stands there.
 *
 * Ownership: `out` is the caller's, freed with `as_blob_free`.
 * Threads: any.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`out` NULL), and those of the handle.
 */
as_code as_audit_read(as_registry registry,
                      uint64_t after,
                      struct as_blob *out,
                      struct as_blob *err);

/**
 * Makes a toolset: the catalog of one consumer as tools of a model. `options` is `{consumer?, mode?, topology?,
 * confirmations?, scope?, budget?, toolCallIds?}`; one of `topology` and `confirmations` must be given.
 *
 * Ownership: `options` is copied; `out` is a handle to be freed with `as_toolset_free`.
 * Threads: any, on which the host's hooks are asked, as by `as_snapshot`.
 * Blocking: while the host's own callbacks run.
 * Errors: `AS_E_ARGUMENT` (an unknown field, neither `topology` nor `confirmations`, `out` NULL), `AS_E_UTF8`,
 * `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_WOULD_DEADLOCK`, `AS_E_CLOSED`, and those of the handle.
 */
as_code as_toolset_new(as_registry registry,
                       const uint8_t *options,
                       size_t options_len,
                       as_toolset *out,
                       struct as_blob *err);

/**
 * Ends a toolset and frees its handle. Calls that wait for a person end at once with the result they have. Freeing 0
 * does nothing.
 *
 * Ownership: the handle is stale afterwards.
 * Threads: any. In a forked child an inherited handle leaks on purpose: `AS_OK`.
 * Blocking: never.
 * Errors: `AS_E_STALE_HANDLE` (freed before), `AS_E_WRONG_HANDLE`.
 */
as_code as_toolset_free(as_toolset toolset);

/**
 * Takes the catalog anew and hands it out: `{tools, wireNameMap, loss: [{tool, pointer, keyword}]}`. `format` is the
 * name of a provider's format, as it is, not as JSON; empty is the neutral one. Names of the catalog before stay
 * callable.
 *
 * Ownership: `format` is copied; `out` is the caller's, freed with `as_blob_free`.
 * Threads: any, on which the host's hooks are asked, as by `as_snapshot`.
 * Blocking: while the host's own callbacks run.
 * Errors: `AS_E_ARGUMENT` (an unknown format, `out` NULL), `AS_E_UTF8`, `AS_E_WOULD_DEADLOCK`, `AS_E_CLOSED`, and those
 * of the handle.
 */
as_code as_toolset_tools(as_toolset toolset,
                         const uint8_t *format,
                         size_t format_len,
                         struct as_blob *out,
                         struct as_blob *err);

/**
 * Tells of a toolset: its options as they came out.
 *
 * Ownership: `out` is the caller's, freed with `as_blob_free`.
 * Threads: any.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`out` NULL), and those of the handle.
 */
as_code as_toolset_info(as_toolset toolset, struct as_blob *out, struct as_blob *err);

/**
 * Renders a result envelope as a provider's message. `format` as in `as_toolset_tools`.
 *
 * Ownership: both texts are copied; `out` is the caller's, freed with `as_blob_free`.
 * Threads: any.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (an unknown format, no result envelope, `out` NULL), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`,
 * and those of the handle.
 */
as_code as_toolset_render(as_toolset toolset,
                          const uint8_t *format,
                          size_t format_len,
                          const uint8_t *result,
                          size_t result_len,
                          struct as_blob *out,
                          struct as_blob *err);

/**
 * Runs a tool call of a model and returns at once. `call` is `{name, input?, toolCallId?}`, or a provider's as it came:
 * OpenAI `{id, function: {name, arguments}}` with the arguments as text, Anthropic `{type: "tool_use", id, name, input}`,
 * Gemini `{functionCall: {id?, name, args}}`, MCP `{method: "tools/call", id, params: {name, arguments}}`. Whatever a model gets wrong
 * (a tool it does not have, bad arguments, a bad id) is in the result; codes are for misuse of this function.
 *
 * Ownership: `call` is copied; `hooks` is taken over, on failure too; `out` is a handle to be freed with
 * `as_invocation_free`, or NULL where nobody will wait for the call or cancel it.
 * Threads: any, inside callbacks too, but for `surface_discover`, which is as `as_snapshot`. The result may come before
 * this function returns.
 * Blocking: no; `surface_discover` while the host's own callbacks run, on this thread.
 * Errors: `AS_E_ARGUMENT` (an unknown field), `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT` (also where too much waits, as for
 * `as_invoke`), `AS_E_WOULD_DEADLOCK` (`surface_discover`), `AS_E_CLOSED`, and those of the handle. On failure `hooks` gets no result.
 */
as_code as_toolset_call(as_toolset toolset,
                        const uint8_t *call,
                        size_t call_len,
                        const struct as_hooks_result *hooks,
                        as_invocation *out,
                        struct as_blob *err);

/**
 * Runs a tool call of a model and waits for the result envelope. With confirmations `wait` that includes a person's
 * answer, bounded by the confirmation's time to live. `call` as in `as_toolset_call`.
 *
 * Ownership: `call` is copied; `result` is the caller's, freed with `as_blob_free`.
 * Threads: any, inside callbacks too.
 * Blocking: until the call has settled.
 * Errors: as `as_toolset_call`, `AS_E_ARGUMENT` (`result` NULL), and `AS_E_WOULD_DEADLOCK`.
 */
as_code as_toolset_call_wait(as_toolset toolset,
                             const uint8_t *call,
                             size_t call_len,
                             struct as_blob *result,
                             struct as_blob *err);

/**
 * The canonical form of a JSON document (RFC 8785, integers of 64 bits exact): equal documents, and only those, have
 * the same text.
 *
 * Ownership: `json` is copied; `out` is the caller's, freed with `as_blob_free`.
 * Threads: any. No registry is needed.
 * Blocking: no.
 * Errors: `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT` (too large), `AS_E_ARGUMENT` (`out` NULL).
 */
as_code as_canonical_json(const uint8_t *json,
                          size_t json_len,
                          struct as_blob *out,
                          struct as_blob *err);

/**
 * The digest of a request: `sha256:` and the hexadecimal SHA-256 of canonical `{capabilityId, input}`. `input` is a
 * JSON document; an empty text is absent input, which is `{}`. Over the input as issued this is the `issuedDigest` of a
 * result, over the effective input its `requestDigest`.
 *
 * Ownership: both texts are copied; `out` is the caller's, freed with `as_blob_free`.
 * Threads: any. No registry is needed.
 * Blocking: no.
 * Errors: `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_ARGUMENT` (`out` NULL).
 */
as_code as_request_digest(const uint8_t *capability_id,
                          size_t capability_id_len,
                          const uint8_t *input,
                          size_t input_len,
                          struct as_blob *out,
                          struct as_blob *err);

/**
 * Checks that a result belongs to a request. `result` is a result envelope, `request` is `{capabilityId, input?,
 * effectiveInput?, invocationId?, registrationId?, instanceId?}`; the report is `{valid, checks: {…: bool}, reason?}`,
 * `valid` when all that is given matches. A mismatch is in the report, not in the code.
 *
 * Ownership: both texts are copied; `report` is the caller's, freed with `as_blob_free`.
 * Threads: any. No registry is needed.
 * Blocking: no.
 * Errors: `AS_E_UTF8`, `AS_E_JSON`, `AS_E_LIMIT`, `AS_E_ARGUMENT` (no result envelope, an unknown field, `report` NULL).
 */
as_code as_verify_result(const uint8_t *result,
                         size_t result_len,
                         const uint8_t *request,
                         size_t request_len,
                         struct as_blob *report,
                         struct as_blob *err);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* AGENT_SURFACE_H */
