/* nlohmann::json in and out of Agent Surface. Included by agent_surface.hpp where AGENT_SURFACE_WITH_NLOHMANN is defined. */
#ifndef AGENT_SURFACE_NLOHMANN_HPP
#define AGENT_SURFACE_NLOHMANN_HPP

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "hooks.hpp"

namespace agent_surface {

/// nlohmann::json and nlohmann::ordered_json go in as they are. One that holds a text which is not UTF-8 throws
/// nlohmann::json::type_error, in a callback as any exception.
template <class T>
struct codec<T, std::enable_if_t<nlohmann::detail::is_basic_json<T>::value>> {
  static std::string write(const T& value) { return value.dump(); }
};

/// A handler from a function of the input: [](const nlohmann::json& input) -> nlohmann::json, or anything else that an
/// answer can be made of.
template <class F>
handler with_json(F function) {
  return [function = std::move(function)](const call& call) mutable { return function(nlohmann::json::parse(call.input)); };
}

}  // namespace agent_surface

#endif
