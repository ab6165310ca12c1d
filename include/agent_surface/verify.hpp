/* Binding a result to its request, and the library itself. No registry is needed. */
#ifndef AGENT_SURFACE_VERIFY_HPP
#define AGENT_SURFACE_VERIFY_HPP

#include <string>
#include <string_view>

#include "../agent_surface.h"
#include "result.hpp"

namespace agent_surface {

/// The version of the library, such as "0.1.0".
inline std::string_view version() noexcept { return as_version(); }

/// The canonical text of a document (RFC 8785, integers of 64 bits exact).
/// Errors: AS_E_UTF8, AS_E_JSON, AS_E_LIMIT.
inline result<std::string> canonical_json(const json_text& json) {
  return detail::ask([&](as_blob* out, as_blob* err) {
    return as_canonical_json(detail::bytes(json.view()), json.view().size(), out, err);
  });
}

/// "sha256:…" over canonical `{capabilityId, input}`; no input is `{}`.
/// Errors: AS_E_UTF8, AS_E_JSON, AS_E_LIMIT.
inline result<std::string> request_digest(std::string_view capability_id, const json_text& input = {}) {
  return detail::ask([&](as_blob* out, as_blob* err) {
    return as_request_digest(detail::bytes(capability_id), capability_id.size(), detail::bytes(input.view()),
                             input.view().size(), out, err);
  });
}

/// Whether a result envelope belongs to a request `{capabilityId, input?, effectiveInput?, invocationId?, …}`: `{valid, checks,
/// reason?}`. A mismatch is in the report.
/// Errors: AS_E_UTF8, AS_E_JSON, AS_E_LIMIT, AS_E_ARGUMENT (no result envelope, an unknown field).
inline result<std::string> verify_result(const json_text& envelope, const json_text& request) {
  return detail::ask([&](as_blob* out, as_blob* err) {
    return as_verify_result(detail::bytes(envelope.view()), envelope.view().size(), detail::bytes(request.view()),
                            request.view().size(), out, err);
  });
}

}  // namespace agent_surface

#endif
