/* The catalog of one consumer as tools for a language model. */
#ifndef AGENT_SURFACE_TOOLSET_HPP
#define AGENT_SURFACE_TOOLSET_HPP

#include <string>
#include <string_view>
#include <utility>

#include "../agent_surface.h"
#include "handle.hpp"
#include "invocation.hpp"

namespace agent_surface {

/// A tool catalog for a model, with its way back; made by registry::make_toolset. Ending it ends what waits for a person.
class toolset : public detail::handle<as_toolset_free> {
  /// as_toolset_call with a call that is viewed or kept.
  template <class Text>
  auto starting(const json_text& call) const {
    return [toolset = get(), call = Text(call.view())](const as_hooks_result* hooks, as_invocation* out, as_blob* err) {
      return as_toolset_call(toolset, detail::bytes(call), call.size(), hooks, out, err);
    };
  }

 public:
  using handle::handle;

  /// Takes the catalog anew: `{tools, wireNameMap, loss}`. `format` names a provider's format; empty is the neutral one.
  /// Blocking: while the host's own callbacks run.
  /// Errors: AS_E_ARGUMENT (an unknown format), AS_E_UTF8, AS_E_WOULD_DEADLOCK (inside `when`, `describe` or
  /// `on_discovery`), AS_E_CLOSED, those of the handle.
  result<std::string> tools(std::string_view format = {}) const {
    return detail::ask([&](as_blob* out, as_blob* err) {
      return as_toolset_tools(get(), detail::bytes(format), format.size(), out, err);
    });
  }

  /// Its options as they came out. Errors: those of the handle.
  result<std::string> info() const {
    return detail::ask([&](as_blob* out, as_blob* err) { return as_toolset_info(get(), out, err); });
  }

  /// A result envelope as a provider's message.
  /// Errors: AS_E_ARGUMENT (an unknown format, no result envelope), AS_E_UTF8, AS_E_JSON, AS_E_LIMIT, those of the handle.
  result<std::string> render(const json_text& envelope, std::string_view format = {}) const {
    return detail::ask([&](as_blob* out, as_blob* err) {
      return as_toolset_render(get(), detail::bytes(format), format.size(), detail::bytes(envelope.view()),
                               envelope.view().size(), out, err);
    });
  }

  /// Starts a tool call of a model, `{name, input, toolCallId?}`. What a model gets wrong is in the result.
  /// Errors: AS_E_ARGUMENT (an unknown field), AS_E_UTF8, AS_E_JSON, AS_E_LIMIT, AS_E_CLOSED, those of the handle.
  result<invocation> call(const json_text& call) const { return detail::start_call(starting<std::string_view>(call)); }
  /// `on_result(std::string_view)` gets the result envelope, once; not where starting fails.
  template <class F>
  result<invocation> call(const json_text& call, F on_result) const {
    return detail::start_call(starting<std::string_view>(call), std::move(on_result));
  }
  future_call call_future(const json_text& call) const { return detail::start_future(starting<std::string_view>(call)); }
#ifdef AGENT_SURFACE_COROUTINES
  /// `co_await` it for a result<std::string>.
  detail::awaitable call_await(const json_text& call) const {
    return detail::awaitable(starting<std::string>(call));
  }
#endif

  /// The whole call, with a person's answer where the toolset waits for one.
  /// Blocking: until it has settled.
  /// Errors: as call(), and AS_E_WOULD_DEADLOCK.
  result<std::string> call_wait(const json_text& call) const {
    return detail::ask([&](as_blob* out, as_blob* err) {
      return as_toolset_call_wait(get(), detail::bytes(call.view()), call.view().size(), out, err);
    });
  }

  /// Ends it now. Errors: AS_E_STALE_HANDLE (ended before).
  result<void> close() { return detail::done(as_toolset_free(get())); }
};

}  // namespace agent_surface

#endif
