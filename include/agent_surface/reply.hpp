/* What callbacks are shown, and what they answer. */
#ifndef AGENT_SURFACE_REPLY_HPP
#define AGENT_SURFACE_REPLY_HPP

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../agent_surface.h"
#include "result.hpp"
#include "text.hpp"

namespace agent_surface {

/// A failure that an agent may read: `{code, message, retry?, details?}` with one of the codes that a host may give
/// (NOT_AUTHENTICATED, NOT_AUTHORIZED, PRECONDITION_FAILED, CAPABILITY_NOT_AVAILABLE, RATE_LIMITED, EXECUTION_FAILED). A
/// handler throws it or answers with it, a policy denies with it. Whatever else a handler throws is an EXECUTION_FAILED
/// without a word of it; the operator's log has what() then.
class failure : public std::exception {
 public:
  /// `retry` empty is the code's own; `details` is an object, or empty.
  failure(std::string_view code, std::string_view message, std::string_view retry = {}, const json_text& details = {})
      : message_(message), payload_("{\"code\":" + quote(code) + ",\"message\":" + quote(message)) {
    if (!retry.empty()) payload_ += ",\"retry\":" + quote(retry);
    if (!details.view().empty()) payload_.append(",\"details\":").append(details.view());
    payload_ += '}';
  }

  /// One whose payload is JSON already.
  static failure of(const json_text& payload) {
    failure made;
    made.payload_ = payload.view();
    return made;
  }

  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& payload() const noexcept { return payload_; }

 private:
  failure() = default;

  std::string message_, payload_;
};

/// What a precondition says where the call may not run: `{message, details?}`.
class refusal {
 public:
  explicit refusal(std::string_view message, const json_text& details = {}) : document_("{\"message\":" + quote(message)) {
    if (!details.view().empty()) document_.append(",\"details\":").append(details.view());
    document_ += '}';
  }

  const std::string& document() const noexcept { return document_; }

 private:
  std::string document_;
};

/// What a handler or a hook answers: JSON text as it stands, `true` or `false`, `nullptr` for JSON's null, a value with a
/// codec, a failure, a refusal. `answer()` says that a handler completed without output; a lambda that returns nothing
/// says the same.
class answer {
 public:
  answer() = default;
  answer(std::string json) : text_(std::move(json)) {}
  answer(std::string_view json) : text_(json) {}
  answer(const char* json) : text_(json) {}
  answer(std::nullptr_t) : text_("null") {}
  /// No pointer is taken for a truth value.
  template <class T, std::enable_if_t<std::is_same_v<T, bool>, int> = 0>
  answer(T truth) : text_(truth ? "true" : "false") {}
  template <class T, std::enable_if_t<detail::has_codec<T>::value, int> = 0>
  answer(const T& value) : text_(codec<T>::write(value)) {}
  answer(const failure& failure) : text_(failure.payload()), failed_(true) {}
  answer(const refusal& refusal) : text_(refusal.document()) {}

  /// What `on_discovery` answers. `reason` tells an agent why it cannot use what it sees.
  static answer expose() { return R"({"decision":"expose"})"; }
  static answer hide() { return R"({"decision":"hide"})"; }
  static answer disable(std::string_view reason) {
    return "{\"decision\":\"disable\",\"reason\":" + quote(reason) + "}";
  }

  /// Gives it.
  as_code send(as_reply reply) const noexcept {
    return (failed_ ? as_reply_error : as_reply_json)(reply, detail::bytes(text_), text_.size());
  }

 private:
  std::string text_;
  bool failed_ = false;
};

/// What a policy decides over a call.
class decision {
 public:
  static decision allow() { return decision(kind::allow, {}); }
  /// NOT_AUTHORIZED.
  static decision deny() { return decision(kind::deny, {}); }
  static decision deny(const failure& why) { return decision(kind::deny, why.payload()); }
  /// Goes on only if a person agrees; `on_invoke` only. `summary` is what they are shown, 300 characters at most; empty for
  /// one composed of description and input.
  static decision confirm(std::string_view summary = {}) { return decision(kind::confirm, std::string(summary)); }

  /// Gives it.
  as_code send(as_reply reply) const noexcept {
    switch (kind_) {
      case kind::allow: return as_reply_allow(reply);
      case kind::confirm: return as_reply_confirm(reply, detail::bytes(text_), text_.size());
      default: return as_reply_deny(reply, detail::bytes(text_), text_.size());
    }
  }

 private:
  enum class kind { allow, deny, confirm };

  decision(kind which, std::string text) : kind_(which), text_(std::move(text)) {}

  kind kind_;
  std::string text_;
};

namespace detail {

template <class T>
void destroy(void* data) noexcept {
  delete static_cast<T*>(data);
}

/// A callback table that owns `data`, to be passed at once.
template <class Table, class T>
Table table(std::unique_ptr<T> data, bool serial = false) noexcept {
  Table table{};
  table.struct_size = sizeof(Table);
  table.flags = serial ? AS_SERIAL : 0;
  table.user_data = data.release();
  table.destroy = destroy<T>;
  return table;
}

/// Tells `function` once the call of `reply` is aborted; at once where it was.
template <class F>
result<void> on_abort(as_reply reply, F function) {
  auto hooks = table<as_hooks_notify>(std::make_unique<F>(std::move(function)));
  hooks.notify = [](void* data) noexcept {
    try {
      (*static_cast<F*>(data))();
    } catch (...) {  // nobody waits for it
    }
  };
  return done(as_reply_on_abort(reply, &hooks));
}

inline result<bool> aborted(as_reply reply) {
  std::int32_t out = 0;
  const as_code code = as_reply_aborted(reply, &out);
  if (code != AS_OK) return error(code);
  return out != 0;
}

}  // namespace detail

/// What a callback is shown. The views die when it returns: who answers later copies what it needs.
struct call {
  /// The call context of a handler, the policy context of a policy, `{definition, origin}` of `on_register`, …; JSON.
  std::string_view context;
  /// The effective input of a handler, JSON; empty for hooks.
  std::string_view input;
  /// The raw handle, for what this header has no word for.
  as_reply handle = 0;

  /// Whether it was aborted (timed out, cancelled, unmounted, settled). A handler that runs long asks now and then.
  /// Errors: AS_E_STALE_HANDLE where the call is long gone.
  result<bool> aborted() const { return detail::aborted(handle); }
  /// Has `function()` told of the abort, from another thread; at once where it has happened.
  /// Errors: AS_E_LIMIT (too many for one call), AS_E_ARGUMENT (a hook that belongs to no call), those of the handle.
  template <class F>
  result<void> on_abort(F function) const {
    return detail::on_abort(handle, std::move(function));
  }
};

namespace detail {

/// The one-shot answer that is owed. Ending unanswered, it says that the callback failed.
template <class Answer>
class pending {
 public:
  pending() = default;
  /// Takes over the handle.
  explicit pending(as_reply handle) noexcept : handle_(handle) {}
  pending(pending&& other) noexcept
      : handle_(std::exchange(other.handle_, 0)), answered_(std::exchange(other.answered_, true)) {}
  pending& operator=(pending&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(answered_, other.answered_);
    return *this;
  }
  ~pending() {
    if (handle_ != 0 && !answered_) Answer::fail(handle_, {});
  }

  /// Promises the answer for later, from any thread; the call's own deadline bounds it. Needed only for what next() handed
  /// out: a callback that takes a reply has promised already.
  /// Errors: AS_E_LATE, AS_E_SETTLED, those of the handle.
  result<void> defer() { return done(as_reply_defer(handle_)); }
  result<bool> aborted() const { return detail::aborted(handle_); }
  template <class F>
  result<void> on_abort(F function) const {
    return detail::on_abort(handle_, std::move(function));
  }
  as_reply handle() const noexcept { return handle_; }
  /// The raw handle, whose answer the caller owes from now on.
  as_reply release() noexcept {
    answered_ = true;
    return handle_;
  }

 protected:
  result<void> give(as_code code) {
    answered_ = true;
    return done(code);
  }

  as_reply handle_ = 0;
  bool answered_ = false;
};

struct fails_output {
  static as_code fail(as_reply reply, std::string_view payload) noexcept {
    return as_reply_error(reply, bytes(payload), payload.size());
  }
};

struct fails_decision {
  static as_code fail(as_reply reply, std::string_view payload) noexcept {
    return as_reply_deny(reply, bytes(payload), payload.size());
  }
};

/// The exception being handled, as an answer: typed where it is a failure; otherwise its text goes to the operator's log.
template <class Answer>
void fail_with_current_exception(as_reply reply) noexcept {
  try {
    try {
      throw;
    } catch (const failure& failure) {
      Answer::fail(reply, failure.payload());
    } catch (const std::exception& exception) {
      Answer::fail(reply, quote(exception.what()));
    }
  } catch (...) {
    Answer::fail(reply, {});
  }
}

}  // namespace detail

/// The answer that a handler owes and gives when it likes, from any thread. One that ends unanswered has failed the call.
/// The first answer counts: a second gets AS_E_SETTLED, one after the call has settled AS_E_LATE, which changes nothing.
class reply : public detail::pending<detail::fails_output> {
 public:
  using pending::pending;

  /// Answers with the output; an empty text, or `answer()`, completes without.
  /// Errors: AS_E_UTF8, AS_E_JSON, AS_E_LIMIT (the call fails), AS_E_SETTLED, AS_E_LATE, those of the handle.
  result<void> send(const answer& answer) { return give(answer.send(handle_)); }
  /// Fails without a word to the agent; the operator's log gets `why`.
  result<void> fail(std::string_view why = {}) {
    const std::string text = why.empty() ? std::string() : quote(why);
    return give(detail::fails_output::fail(handle_, text));
  }
};

/// The decision that a policy owes and gives when it likes, from any thread. One that ends unanswered denies.
class decision_reply : public detail::pending<detail::fails_decision> {
 public:
  using pending::pending;

  /// Errors: AS_E_ARGUMENT (`confirm` in `on_authorize`, which denies), AS_E_SETTLED, AS_E_LATE, those of the handle.
  result<void> send(const decision& decision) { return give(decision.send(handle_)); }
};

}  // namespace agent_surface

#endif
