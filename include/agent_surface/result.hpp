/* What a function answers: a value, or what is wrong with the way it was called. */
#ifndef AGENT_SURFACE_RESULT_HPP
#define AGENT_SURFACE_RESULT_HPP

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "../agent_surface.h"
#include "text.hpp"

namespace agent_surface {

/// Why the library refused a call: one of the AS_E_… codes, and what it says about it. For the host's programmer; nothing
/// of it is for an agent.
class error {
 public:
  explicit error(as_code code, std::string document = {}) : code_(code), document_(std::move(document)) {}

  /// AS_E_…, to be compared with the constants of agent_surface.h.
  as_code code() const noexcept { return code_; }
  /// The name of the code, such as "AS_E_JSON".
  const char* name() const noexcept { return as_code_name(code_); }
  /// What is wrong, in a sentence; empty where the library said no more than the code.
  std::string message() const { return detail::members(document_).string("message"); }
  /// The JSON Pointer of the field that is wrong; empty where it is none.
  std::string path() const { return detail::members(document_).string("path"); }
  /// Why a definition was refused, such as "UNSUPPORTED_SCHEMA"; empty otherwise.
  std::string reason() const { return detail::members(document_).string("reason"); }
  /// All of it: `{code, name, message, path?, reason?}`, or empty.
  const std::string& document() const noexcept { return document_; }

 private:
  as_code code_;
  std::string document_;
};

/// An error, thrown by result<T>::value().
class exception : public std::runtime_error {
 public:
  explicit exception(agent_surface::error error) : std::runtime_error(describe(error)), error_(std::move(error)) {}

  const agent_surface::error& error() const noexcept { return error_; }

 private:
  static std::string describe(const agent_surface::error& error) {
    std::string text = error.name();
    if (const std::string message = error.message(); !message.empty()) text += ": " + message;
    if (const std::string path = error.path(); !path.empty()) text += " (at " + path + ")";
    return text;
  }

  agent_surface::error error_;
};

/// A T, or the error in its place.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  result(agent_surface::error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  /// The value. Throws agent_surface::exception where there is an error.
  T& value() & { return demand(), *std::get_if<0>(&state_); }
  const T& value() const& { return demand(), *std::get_if<0>(&state_); }
  T value() && { return demand(), std::move(*std::get_if<0>(&state_)); }

  /// The value, which must be there.
  T& operator*() noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const noexcept { return *std::get_if<0>(&state_); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  /// The error, which must be there.
  const agent_surface::error& error() const noexcept { return *std::get_if<1>(&state_); }
  /// The code in short: AS_OK, or the error's.
  as_code code() const noexcept { return ok() ? AS_OK : error().code(); }

 private:
  void demand() const {
    if (!ok()) throw exception(error());
  }

  std::variant<T, agent_surface::error> state_;
};

/// Nothing, or the error in its place.
template <>
class [[nodiscard]] result<void> {
 public:
  result() = default;
  result(agent_surface::error error) : error_(std::move(error)) {}

  bool ok() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return ok(); }

  /// Throws agent_surface::exception where there is an error.
  void value() const {
    if (error_) throw exception(*error_);
  }

  /// The error, which must be there.
  const agent_surface::error& error() const noexcept { return *error_; }
  /// The code in short: AS_OK, or the error's.
  as_code code() const noexcept { return ok() ? AS_OK : error_->code(); }

 private:
  std::optional<agent_surface::error> error_;
};

namespace detail {

inline result<void> done(as_code code) {
  if (code != AS_OK) return error(code);
  return {};
}

/// A C function that answers nothing but its code and an error blob.
template <class F>
result<void> tell(F&& function) {
  blob err;
  const as_code code = function(err.out());
  if (code != AS_OK) return error(code, err.str());
  return {};
}

/// A C function that answers a text.
template <class F>
result<std::string> ask(F&& function) {
  blob out, err;
  const as_code code = function(out.out(), err.out());
  if (code != AS_OK) return error(code, err.str());
  return out.str();
}

/// A C function that answers a handle, owned from then on by a T made of it.
template <class T, class F>
result<T> make(F&& function) {
  blob err;
  std::uint64_t handle = 0;
  const as_code code = function(&handle, err.out());
  if (code != AS_OK) return error(code, err.str());
  return T(handle);
}

}  // namespace detail
}  // namespace agent_surface

#endif
