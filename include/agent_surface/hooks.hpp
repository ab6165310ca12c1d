/* The callbacks that a host gives: lambdas in tables. */
#ifndef AGENT_SURFACE_HOOKS_HPP
#define AGENT_SURFACE_HOOKS_HPP

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../agent_surface.h"
#include "reply.hpp"

namespace agent_surface {

struct work;

namespace detail {

/// Calls with what the callable takes: the call, or nothing.
template <class F, class... More>
decltype(auto) apply(F& function, const call& call, const More&... more) {
  if constexpr (std::is_invocable_v<F&, const agent_surface::call&, const More&...>) {
    return function(call, more...);
  } else {
    static_assert(std::is_invocable_v<F&>, "a callback takes a call, or nothing");
    return function();
  }
}

/// What it answers. Nothing returned is nothing to tell.
template <class Value, class F, class... More>
Value answer_of(F& function, const call& call, const More&... more) {
  if constexpr (std::is_void_v<decltype(apply(function, call, more...))>) {
    static_assert(std::is_same_v<Value, answer>, "a policy returns a decision");
    apply(function, call, more...);
    return answer();
  } else {
    return apply(function, call, more...);
  }
}

/// A callback that answers with a `Value` when it returns, or takes its `Reply` and answers when it likes.
template <class Value, class Reply, class Fails>
class callback {
 public:
  callback() = default;
  template <class F, std::enable_if_t<!std::is_base_of_v<callback, std::decay_t<F>>, int> = 0>
  callback(F function) {
    if constexpr (std::is_invocable_v<F&, const call&, Reply>) {
      run_ = [function = std::move(function)](const call& call, as_reply handle, bool taken) mutable {
        if (!taken) as_reply_defer(handle);  // before anybody else can answer
        function(call, Reply(handle));
      };
    } else {
      run_ = [function = std::move(function)](const call& call, as_reply handle, bool) mutable {
        answer_of<Value>(function, call).send(handle);
      };
    }
  }

  explicit operator bool() const noexcept { return static_cast<bool>(run_); }

  /// Runs it and sees to it that there is an answer.
  void operator()(const call& call) const noexcept { run(call, false); }
  /// Runs it for a piece of work that next() handed out.
  void operator()(work& work) const noexcept;

 private:
  void run(const call& call, bool taken) const noexcept {
    try {
      run_(call, call.handle, taken);
    } catch (...) {
      fail_with_current_exception<Fails>(call.handle);
    }
  }

  std::function<void(const call&, as_reply, bool)> run_;
};

}  // namespace detail

/// Runs a capability: `read` of an observation, `execute` of an action, a procedure. Any of
///   [](const call& call) -> answer       answers when it returns; may throw a failure
///   [](const call& call, reply reply)    answers when it likes; what it needs of the call it copies, also before a
///                                        coroutine suspends
/// and the first without its parameter. Anything an answer can be made of may be returned.
class handler : public detail::callback<answer, reply, detail::fails_output> {
  using callback::callback;
};

/// Decides over a call: as a handler, with a decision in the place of the answer and a decision_reply in that of the reply.
class decider : public detail::callback<decision, decision_reply, detail::fails_decision> {
  using callback::callback;
};

/// Answers what the runtime asks before it returns: [](const call& call) -> answer, or without the parameter.
class hook {
 public:
  hook() = default;
  template <class F, std::enable_if_t<!std::is_same_v<std::decay_t<F>, hook>, int> = 0>
  hook(F function)
      : run_([function = std::move(function)](const call& call) mutable { return detail::answer_of<answer>(function, call); }) {}

  explicit operator bool() const noexcept { return static_cast<bool>(run_); }

  void operator()(const call& call) const noexcept {
    try {
      run_(call).send(call.handle);
    } catch (...) {
      detail::fail_with_current_exception<detail::fails_output>(call.handle);
    }
  }

 private:
  std::function<answer(const call&)> run_;
};

/// Is told something: one JSON document, whose view dies when it returns. What it throws is dropped.
using listener = std::function<void(std::string_view document)>;

/// A policy. Each may be left out and has nothing to say then.
struct policy {
  /// answer::expose(), hide() or disable(reason). Hides when it fails.
  hook on_discovery = {};
  /// Before the input is looked at; cannot confirm(). Denies when it fails.
  decider on_authorize = {};
  /// Over the effective input. Denies when it fails.
  decider on_invoke = {};
  /// Over the result on its way out: `nullptr` leaves it, `{"output": …}` replaces the output. Withholds it when it fails.
  std::function<answer(const call& call, std::string_view result)> on_result = {};
  /// Never two calls of this policy at once; they queue, holding no thread.
  bool serial = false;
};

/// The callbacks of one capability of a definition: `{"select", [](const call& call) { … }}`.
struct binding {
  /// The capability's name, or `domain:` and the path of a procedure.
  std::string name;
  handler handle = {};
  /// Whether it is available: `true` or `false`. False when it fails.
  hook when = {};
  /// Over the effective input: `nullptr`, or a refusal.
  hook precondition = {};
  /// The bound fields of a procedure: an object.
  hook bind = {};
  /// The contextual note of a procedure: a JSON string, see quote().
  hook describe = {};
  /// Never two calls of this binding at once; they queue, holding no thread.
  bool serial = false;
};

/// What a registry asks of its host. Each may be left out.
struct host {
  /// Who is there: any object, which policies and handlers see as `host`.
  hook context = {};
  /// `{path, params?}`.
  hook route = {};
  /// The guard of registrations: "\"accept\"" or "\"reject\"".
  hook on_register = {};
  /// Replaces the payload of a full audit entry.
  hook redact = {};
  /// Gets every audit entry when the audit sink is `callback`.
  listener audit = {};
  /// Gets what an operator needs. Nothing of it reaches an agent.
  listener log = {};
  bool serial = false;
};

namespace detail {

/* The functions in the tables. They are `noexcept`, find their object behind `user_data`, and leave the rest to it. */

template <auto Member>
struct member;
template <class Owner, class Callback, Callback Owner::*Member>
struct member<Member> {
  static const Callback& of(void* data) noexcept { return static_cast<const Owner*>(data)->*Member; }
};

template <auto Member>
void on_hook(void* data, as_reply reply, const std::uint8_t* context, std::size_t length) noexcept {
  member<Member>::of(data)({view(context, length), {}, reply});
}

template <auto Member>
void on_text(void* data, const std::uint8_t* text, std::size_t length) noexcept {
  try {
    member<Member>::of(data)(view(text, length));
  } catch (...) {  // nobody waits for it
  }
}

inline void run_handler(const handler& handler, as_reply reply, const std::uint8_t* context, std::size_t context_length,
                        const std::uint8_t* input, std::size_t input_length) noexcept {
  handler({view(context, context_length), view(input, input_length), reply});
}

inline void on_bound(void* data, as_reply reply, const std::uint8_t* context, std::size_t context_length,
                     const std::uint8_t* input, std::size_t input_length) noexcept {
  run_handler(static_cast<const binding*>(data)->handle, reply, context, context_length, input, input_length);
}

inline void on_execute(void* data, as_reply reply, const std::uint8_t* context, std::size_t context_length,
                       const std::uint8_t* input, std::size_t input_length) noexcept {
  run_handler(*static_cast<const handler*>(data), reply, context, context_length, input, input_length);
}

inline void on_result(void* data, as_reply reply, const std::uint8_t* context, std::size_t context_length,
                      const std::uint8_t* result, std::size_t result_length) noexcept {
  try {
    const call call{view(context, context_length), {}, reply};
    static_cast<const policy*>(data)->on_result(call, view(result, result_length)).send(reply);
  } catch (...) {
    fail_with_current_exception<fails_output>(reply);
  }
}

/// For a table that owns nothing but its one callable.
template <class F>
void on_told(void* data, const std::uint8_t* text, std::size_t length) noexcept {
  try {
    (*static_cast<F*>(data))(view(text, length));
  } catch (...) {  // nobody waits for it
  }
}

/* The tables. */

template <class Callback>
as_fn_hook hook_or_null(const Callback& callback, as_fn_hook function) noexcept {
  return callback ? function : nullptr;
}

inline as_hooks_host table_of(std::unique_ptr<host> host) noexcept {
  using owner = agent_surface::host;
  const owner& it = *host;
  auto table = detail::table<as_hooks_host>(std::move(host), it.serial);
  table.context = hook_or_null(it.context, on_hook<&owner::context>);
  table.route = hook_or_null(it.route, on_hook<&owner::route>);
  table.on_register = hook_or_null(it.on_register, on_hook<&owner::on_register>);
  table.redact = hook_or_null(it.redact, on_hook<&owner::redact>);
  table.audit = it.audit ? on_text<&owner::audit> : nullptr;
  table.log = it.log ? on_text<&owner::log> : nullptr;
  return table;
}

inline as_hooks_policy table_of(std::unique_ptr<policy> policy) noexcept {
  using owner = agent_surface::policy;
  const owner& it = *policy;
  auto table = detail::table<as_hooks_policy>(std::move(policy), it.serial);
  table.on_discovery = hook_or_null(it.on_discovery, on_hook<&owner::on_discovery>);
  table.on_authorize = hook_or_null(it.on_authorize, on_hook<&owner::on_authorize>);
  table.on_invoke = hook_or_null(it.on_invoke, on_hook<&owner::on_invoke>);
  table.on_result = it.on_result ? on_result : nullptr;
  return table;
}

inline as_binding table_of(std::unique_ptr<binding> binding) noexcept {
  using owner = agent_surface::binding;
  const owner& it = *binding;
  auto table = detail::table<as_binding>(std::move(binding), it.serial);
  table.name = bytes(it.name);
  table.name_len = it.name.size();
  table.handler = it.handle ? on_bound : nullptr;
  table.when = hook_or_null(it.when, on_hook<&owner::when>);
  table.precondition = hook_or_null(it.precondition, on_hook<&owner::precondition>);
  table.bind = hook_or_null(it.bind, on_hook<&owner::bind>);
  table.describe = hook_or_null(it.describe, on_hook<&owner::describe>);
  return table;
}

/// Nothing may throw between the first table and the call it is passed to.
inline std::vector<as_binding> tables_of(std::vector<binding> bindings) {
  std::vector<std::unique_ptr<binding>> owned;
  owned.reserve(bindings.size());
  for (binding& binding : bindings) owned.push_back(std::make_unique<agent_surface::binding>(std::move(binding)));
  std::vector<as_binding> tables;
  tables.reserve(bindings.size());
  for (auto& binding : owned) tables.push_back(table_of(std::move(binding)));
  return tables;
}

}  // namespace detail
}  // namespace agent_surface

#endif
