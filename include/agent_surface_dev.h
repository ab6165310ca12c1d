/* Agent Surface for developers and tests: why something is hidden, the manual clock, what is still alive. It discloses what
 * the public functions withhold, so nothing that an agent can reach includes it.
 *
 * Generated from src/ffi by cbindgen; do not edit. */

#ifndef AGENT_SURFACE_DEV_H
#define AGENT_SURFACE_DEV_H

#include "agent_surface.h"

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Answers why: every capability the registry holds, what the snapshot makes of it for the same context, each policy's
 * own vote, and availability apart. `context` as in `as_snapshot`.
 *
 * Ownership: `context` is copied; `out` is the caller's, freed with `as_blob_free`.
 * Threads: as `as_snapshot`.
 * Blocking: while the host's own callbacks run.
 * Errors: as `as_snapshot`.
 */
as_code as_dev_explain(as_registry registry,
                       const uint8_t *context,
                       size_t context_len,
                       as_blob *out,
                       as_blob *err);

/**
 * Moves a manual clock on by `ms` milliseconds: goes to each instant at which something is due, fires it, waits for
 * quiet, and goes on. `timeout_ms` is real time, for the waiting: -1 for ever.
 *
 * Ownership: nothing.
 * Threads: any; not inside a callback.
 * Blocking: up to `timeout_ms`.
 * Errors: `AS_E_ARGUMENT` (a system clock, `ms` below 0, `timeout_ms` below -1), `AS_E_TIMEOUT`,
 * `AS_E_WOULD_DEADLOCK`, `AS_E_CLOSED`, and those of the handle.
 */
as_code as_dev_advance(as_registry registry,
                       int64_t ms,
                       int64_t timeout_ms,
                       as_blob *err);

/**
 * Waits until nothing of the registry is ready to run; what pends may pend. `timeout_ms` is real time: -1 for ever, 0
 * looks only.
 *
 * Ownership: nothing.
 * Threads: any; not inside a callback.
 * Blocking: up to `timeout_ms`.
 * Errors: `AS_E_TIMEOUT`, `AS_E_WOULD_DEADLOCK`, `AS_E_ARGUMENT` (`timeout_ms` below -1), and those of the handle.
 */
as_code as_dev_quiesce(as_registry registry,
                       int64_t timeout_ms,
                       as_blob *err);

/**
 * Counts what is alive in this process: `{"handles": {"registry", "registration", "invocation", "reply",
 * "subscription", "toolset"}, "blobs", "tables": {"host", "policy", "handler", "binding", "result", "event",
 * "notify"}}`. A blob counts until it is freed, `out` itself not; a callback table until its `destroy` has returned. A
 * host that has given everything back sees zeros.
 *
 * Ownership: `out` is the caller's, freed with `as_blob_free`.
 * Threads: any. No registry is needed.
 * Blocking: no.
 * Errors: `AS_E_ARGUMENT` (`out` NULL).
 */
as_code as_dev_live(as_blob *out);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* AGENT_SURFACE_DEV_H */
