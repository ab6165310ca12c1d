/* Agent Surface for developers and tests in C++: see agent_surface_dev.h. It discloses what the public functions withhold. */
#ifndef AGENT_SURFACE_DEV_HPP
#define AGENT_SURFACE_DEV_HPP

#include "agent_surface.hpp"
#include "agent_surface_dev.h"

namespace agent_surface::dev {

/// Why each capability is shown, disabled or hidden. Blocking and errors: as registry::snapshot.
inline result<std::string> explain(const registry& registry, const json_text& context = {}) {
  return detail::ask([&](as_blob* out, as_blob* err) {
    return as_dev_explain(registry.get(), detail::bytes(context.view()), context.view().size(), out, err);
  });
}

/// Moves a manual clock on: fires what falls due on the way, and waits for quiet.
/// Blocking: up to `timeout` of real time.
/// Errors: AS_E_ARGUMENT (a system clock, `by` below 0), AS_E_TIMEOUT, AS_E_WOULD_DEADLOCK, AS_E_CLOSED, those of the handle.
inline result<void> advance(const registry& registry, std::chrono::milliseconds by,
                            std::chrono::milliseconds timeout = detail::for_ever) {
  return detail::tell([&](as_blob* err) { return as_dev_advance(registry.get(), by.count(), timeout.count(), err); });
}

/// Waits until nothing is ready to run; what pends may pend.
/// Blocking: up to `timeout` of real time.
/// Errors: AS_E_TIMEOUT, AS_E_WOULD_DEADLOCK, those of the handle.
inline result<void> quiesce(const registry& registry, std::chrono::milliseconds timeout = detail::for_ever) {
  return detail::tell([&](as_blob* err) { return as_dev_quiesce(registry.get(), timeout.count(), err); });
}

/// What is alive in this process: `{handles: {…}, blobs, tables: {…}}`, zeros where everything was given back.
inline result<std::string> live() {
  return detail::ask([](as_blob* out, as_blob*) { return as_dev_live(out); });
}

}  // namespace agent_surface::dev

#endif
