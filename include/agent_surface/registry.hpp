/* The registry: one surface, what is registered in it, and the calls that come. */
#ifndef AGENT_SURFACE_REGISTRY_HPP
#define AGENT_SURFACE_REGISTRY_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../agent_surface.h"
#include "handle.hpp"
#include "hooks.hpp"
#include "invocation.hpp"
#include "toolset.hpp"

namespace agent_surface {

/// One lifetime of one component. Ending the object ends the registration: its capabilities are gone, its calls are
/// aborted. That waits for nothing, so a handler may still be running then.
class registration : public detail::handle<as_unregister> {
 public:
  using handle::handle;

  /// `{registrationId, type, instanceId, status}`, whatever became of it. Errors: those of the handle.
  result<std::string> info() const {
    return detail::ask([&](as_blob* out, as_blob* err) { return as_registration_info(get(), out, err); });
  }

  /// `{enabled?, availability?: {name or path: {available, reason?}}}`: all of it or nothing.
  /// Errors: AS_E_ARGUMENT (an unknown field or name), AS_E_UTF8, AS_E_JSON, AS_E_LIMIT, AS_E_CLOSED (rejected, replaced or
  /// closed), those of the handle.
  result<void> update(const json_text& patch) {
    return detail::tell([&](as_blob* err) {
      return as_registration_update(get(), detail::bytes(patch.view()), patch.view().size(), err);
    });
  }

  /// Puts each binding in the place of the one before of the same name, all of it; the others stay. Calls that run go on
  /// with theirs. All of it or nothing.
  /// Errors: AS_E_DEFINITION, AS_E_UTF8, AS_E_CLOSED, those of the handle.
  result<void> rebind(std::vector<binding> bindings) {
    const auto tables = detail::tables_of(std::move(bindings));
    return detail::tell(
        [&](as_blob* err) { return as_registration_rebind(get(), tables.data(), tables.size(), err); });
  }

  /// Something the catalog shows has moved: a new surface version. Errors: AS_E_CLOSED, those of the handle.
  result<void> invalidate() { return detail::done(as_registration_invalidate(get())); }

  /// Ends it now; again does nothing. Every other function answers AS_E_STALE_HANDLE from then on.
  result<void> unregister() { return detail::done(as_unregister(get())); }
};

/// A listener. Ending the object ends it: no event is begun any more; one may still be being delivered.
class subscription : public detail::handle<as_unsubscribe> {
 public:
  using handle::handle;
};

/// What next() hands out, to be answered through `output` (a "call") or `verdict` (a "policy"), on the thread one likes.
/// Unanswered at its end, it has failed.
struct work {
  /// "call", "policy", "result", "event", "audit", "log" or "abort".
  std::string what;
  /// The capability id of a call, the name of a policy.
  std::string name;
  /// "onAuthorize" or "onInvoke" for a policy.
  std::string phase;
  std::string context, input;
  reply output;
  decision_reply verdict;
};

template <class Value, class Reply, class Fails>
void detail::callback<Value, Reply, Fails>::operator()(work& work) const noexcept {
  Reply* owed;
  if constexpr (std::is_same_v<Reply, reply>) {
    owed = &work.output;
  } else {
    owed = &work.verdict;
  }
  run({work.context, work.input, owed->release()}, true);
}

namespace detail {

/// After this no callback of it runs any more.
inline as_code close_and_free(as_registry registry) {
  as_registry_close(registry, -1, nullptr);
  return as_registry_free(registry);
}

}  // namespace detail

/// A surface. The first one of a process starts the worker threads.
///
/// Blocking: its end closes it and waits until no callback runs any more, so that what callbacks refer to may go after it
/// (inside one of its own callbacks it does not wait). Who needs a bound calls close() first, and release() where that
/// timed out. In pull dispatch, what next() handed out is answered first.
class registry : public detail::handle<detail::close_and_free> {
  /// as_invoke with texts that are viewed or kept.
  template <class Text>
  auto starting(const json_text& request, const json_text& options) const {
    return [registry = get(), request = Text(request.view()), options = Text(options.view())](
               const as_hooks_result* hooks, as_invocation* out, as_blob* err) {
      return as_invoke(registry, detail::bytes(request), request.size(), detail::bytes(options), options.size(), hooks, out,
                       err);
    };
  }

 public:
  using handle::handle;

  /// Makes one. `config` is its configuration, or empty for every default; `host` is what it asks of its host.
  /// Errors: AS_E_ARGUMENT (an unknown field, a value out of its bounds, a library of another ABI), AS_E_UTF8, AS_E_JSON,
  /// AS_E_LIMIT.
  static result<registry> make(const json_text& config = {}, host host = {}) {
    if (as_abi_version() != AS_ABI_VERSION) {
      return error(AS_E_ARGUMENT, "{\"message\":\"Built for ABI " + std::to_string(AS_ABI_VERSION) + ", the library has " +
                                      std::to_string(as_abi_version()) + ".\"}");
    }
    const auto hooks = detail::table_of(std::make_unique<agent_surface::host>(std::move(host)));
    return detail::make<registry>([&](as_registry* out, as_blob* err) {
      return as_registry_new(detail::bytes(config.view()), config.view().size(), &hooks, out, err);
    });
  }

  /// `{surfaceId, surfaceVersion, registrations, inFlight, pendingConfirmations, workers, limits, abiVersion}`.
  /// Errors: AS_E_CLOSED, those of the handle.
  result<std::string> info() const {
    return detail::ask([&](as_blob* out, as_blob* err) { return as_registry_info(get(), out, err); });
  }

  /// Takes nothing new, settles what is pending (CANCELLED), and waits until no callback runs any more. Again waits for the
  /// same end.
  /// Blocking: up to `timeout` of real time; not at all inside a callback.
  /// Errors: AS_E_TIMEOUT (closing goes on), AS_E_WOULD_DEADLOCK (inside a callback; closing goes on), those of the handle.
  result<void> close(std::chrono::milliseconds timeout = detail::for_ever) {
    return detail::tell([&](as_blob* err) { return as_registry_close(get(), timeout.count(), err); });
  }

  /* ---- what the host offers ------------------------------------------------------------------------------------------ */

  /// Defines a policy for definitions, and for the registry's own list, to refer to.
  /// Errors: AS_E_ARGUMENT (an empty name, one defined before), AS_E_UTF8, AS_E_CLOSED, those of the handle.
  result<void> define_policy(std::string_view name, policy policy) {
    const auto hooks = detail::table_of(std::make_unique<agent_surface::policy>(std::move(policy)));
    return detail::tell(
        [&](as_blob* err) { return as_policy_define(get(), detail::bytes(name), name.size(), &hooks, err); });
  }

  /// Sets what runs the procedures whose paths are in `paths`, a JSON array; the call's context says which. Another replaces
  /// the one before.
  /// Errors: AS_E_ARGUMENT (no handler, paths that are no array of texts), AS_E_UTF8, AS_E_JSON, AS_E_LIMIT, AS_E_CLOSED, those
  /// of the handle.
  result<void> set_executor(const json_text& paths, handler execute, bool serial = false) {
    auto hooks = detail::table<as_hooks_handler>(std::make_unique<handler>(std::move(execute)), serial);
    hooks.handler = *static_cast<const handler*>(hooks.user_data) ? detail::on_execute : nullptr;
    return detail::tell([&](as_blob* err) {
      return as_executor_set(get(), detail::bytes(paths.view()), paths.view().size(), &hooks, err);
    });
  }

  /// Registers a component, live at once. Where the registry rejects it (a duplicate, its guard), there is a registration
  /// all the same, whose info() says so.
  /// Blocking: only while the host's own `on_register` runs.
  /// Errors: AS_E_DEFINITION (the error has a reason and a path), AS_E_UTF8, AS_E_JSON, AS_E_LIMIT, AS_E_CLOSED, those of the
  /// handle.
  result<registration> add(const json_text& definition, std::vector<binding> bindings = {}) {
    const auto tables = detail::tables_of(std::move(bindings));
    return detail::make<registration>([&](as_registration* out, as_blob* err) {
      return as_register(get(), detail::bytes(definition.view()), definition.view().size(), tables.data(), tables.size(), out,
                         err);
    });
  }

  /* ---- calls --------------------------------------------------------------------------------------------------------- */

  /// Starts a call. `request` is `{capabilityId, input?, invocationId?, …}`, `options` `{consumer?, timeoutMs?, deadlineMs?,
  /// traceparent?}` or empty. Whatever goes wrong with the call is in its result.
  /// Errors: AS_E_ARGUMENT (an unknown field, a bad caller-supplied id), AS_E_UTF8, AS_E_JSON, AS_E_LIMIT, AS_E_CLOSED, those of
  /// the handle.
  result<invocation> invoke(const json_text& request, const json_text& options = {}) const {
    return detail::start_call(starting<std::string_view>(request, options));
  }
  /// `on_result(std::string_view)` gets the result envelope, once; maybe before this returns, and not where starting fails.
  template <class F>
  result<invocation> invoke(const json_text& request, const json_text& options, F on_result) const {
    return detail::start_call(starting<std::string_view>(request, options), std::move(on_result));
  }
  future_call invoke_future(const json_text& request, const json_text& options = {}) const {
    return detail::start_future(starting<std::string_view>(request, options));
  }
#ifdef AGENT_SURFACE_COROUTINES
  /// `co_await` it for a result<std::string>; see detail::awaitable for where the coroutine goes on.
  detail::awaitable invoke_await(const json_text& request, const json_text& options = {}) const {
    return detail::awaitable(starting<std::string>(request, options));
  }
#endif

  /// The whole call, on this thread as far as it can.
  /// Blocking: until it has settled; its timeout, or `deadlineMs`, bounds that.
  /// Errors: as invoke(), and AS_E_WOULD_DEADLOCK (waits for what this thread holds; a pull registry).
  result<std::string> invoke_wait(const json_text& request, const json_text& options = {}) const {
    return detail::ask([&](as_blob* out, as_blob* err) {
      return as_invoke_wait(get(), detail::bytes(request.view()), request.view().size(), detail::bytes(options.view()),
                            options.view().size(), out, err);
    });
  }

  /// Ends a consumer's session, `{id, kind, grants?}`: its calls settle CANCELLED, its confirmations expire.
  /// Errors: AS_E_ARGUMENT, AS_E_UTF8, AS_E_JSON, AS_E_LIMIT, AS_E_CLOSED, those of the handle.
  result<void> close_consumer(const json_text& consumer) {
    return detail::tell([&](as_blob* err) {
      return as_consumer_close(get(), detail::bytes(consumer.view()), consumer.view().size(), err);
    });
  }

  /// "Did it happen?" `{consumer?, invocationId}` gives `{result, late?}` or `{state: "running"}`.
  /// Errors: AS_E_NOT_FOUND, AS_E_ARGUMENT, AS_E_UTF8, AS_E_JSON, AS_E_LIMIT, AS_E_CLOSED, those of the handle.
  result<std::string> outcome(const json_text& query) const {
    return detail::ask([&](as_blob* out, as_blob* err) {
      return as_outcome(get(), detail::bytes(query.view()), query.view().size(), out, err);
    });
  }

  /// Pull dispatch (`"dispatch": "pull"`): the next piece of work. Hooks that must answer at once run inside.
  /// Blocking: up to `timeout` of real time.
  /// Errors: AS_E_TIMEOUT (nothing to do), AS_E_CLOSED (nothing will come any more), AS_E_ARGUMENT (a push registry), those of
  /// the handle.
  result<work> next(std::chrono::milliseconds timeout = detail::for_ever) const {
    auto text = detail::ask([&](as_blob* out, as_blob* err) { return as_next(get(), timeout.count(), out, err); });
    if (!text) return text.error();
    const detail::members members(*text);
    work work;
    work.what = members.string("do");
    work.name = members.string("name");
    work.phase = members.string("phase");
    work.context = members.raw("context").value_or("");
    work.input = members.raw("input").value_or("");
    if (const std::string owed = members.string("reply"); work.what == "policy") {
      work.verdict = decision_reply(std::stoull(owed));
    } else if (!owed.empty()) {
      work.output = reply(std::stoull(owed));
    }
    return work;
  }

  /* ---- confirmation: whoever can call this is the person -------------------------------------------------------------- */

  /// `{confirmationId, approved, reason?, approver?}`.
  /// Errors: AS_E_NOT_FOUND, AS_E_SETTLED, AS_E_ARGUMENT, AS_E_UTF8, AS_E_JSON, AS_E_LIMIT, AS_E_CLOSED, those of the handle.
  result<void> confirm(const json_text& decision) {
    return detail::tell([&](as_blob* err) {
      return as_confirm(get(), detail::bytes(decision.view()), decision.view().size(), err);
    });
  }

  /// What waits for a person: `[{confirmationId, capabilityId, summary, input, …}]`. Errors: AS_E_CLOSED, those of the handle.
  result<std::string> confirmations() const {
    return detail::ask([&](as_blob* out, as_blob* err) { return as_confirmations(get(), out, err); });
  }

  /// Tells `listen(std::string_view)` of requested and resolved confirmations, in order, one at a time.
  /// Errors: AS_E_LIMIT, AS_E_CLOSED, those of the handle.
  template <class F>
  result<subscription> subscribe_confirmations(F listen) {
    return subscribed(as_confirmation_subscribe, std::move(listen));
  }

  /// `{"outcome": "approved" | "denied" | "expired"}`.
  /// Blocking: up to `timeout` of real time, and never longer than the confirmation lives.
  /// Errors: AS_E_TIMEOUT, AS_E_NOT_FOUND, AS_E_WOULD_DEADLOCK, AS_E_UTF8, AS_E_CLOSED, those of the handle.
  result<std::string> confirmation_wait(std::string_view id, std::chrono::milliseconds timeout = detail::for_ever) const {
    return detail::ask([&](as_blob* out, as_blob* err) {
      return as_confirmation_wait(get(), detail::bytes(id), id.size(), timeout.count(), out, err);
    });
  }

  /* ---- looking ------------------------------------------------------------------------------------------------------- */

  /// The catalog of what one consumer may use now. `context` is `{consumer?, scope?, includeUnavailable?, budget?}`, or empty.
  /// Blocking: while the host's own callbacks run.
  /// Errors: AS_E_WOULD_DEADLOCK (inside `when`, `describe` or `on_discovery`), AS_E_ARGUMENT, AS_E_UTF8, AS_E_JSON, AS_E_LIMIT,
  /// AS_E_CLOSED, those of the handle.
  result<std::string> snapshot(const json_text& context = {}) const {
    return detail::ask([&](as_blob* out, as_blob* err) {
      return as_snapshot(get(), detail::bytes(context.view()), context.view().size(), out, err);
    });
  }

  /// Tells `listen(std::string_view)` of every event from here on, in order, one at a time. What it throws is dropped.
  /// Errors: AS_E_LIMIT, AS_E_CLOSED, those of the handle.
  template <class F>
  result<subscription> subscribe(F listen) {
    return subscribed(as_subscribe, std::move(listen));
  }

  /// The audit entries whose `seq` is greater than `after`, oldest first. Errors: AS_E_CLOSED, those of the handle.
  result<std::string> audit(std::uint64_t after = 0) const {
    return detail::ask([&](as_blob* out, as_blob* err) { return as_audit_read(get(), after, out, err); });
  }

  /// `{consumer?, mode?, topology?, confirmations?, scope?, budget?, toolCallIds?}`; one of `topology` and `confirmations` is
  /// needed.
  /// Blocking: while the host's own callbacks run.
  /// Errors: as snapshot().
  result<toolset> make_toolset(const json_text& options) {
    return detail::make<toolset>([&](as_toolset* out, as_blob* err) {
      return as_toolset_new(get(), detail::bytes(options.view()), options.view().size(), out, err);
    });
  }

 private:
  template <class Subscribe, class F>
  result<subscription> subscribed(Subscribe subscribe, F listen) {
    auto hooks = detail::table<as_hooks_event>(std::make_unique<F>(std::move(listen)));
    hooks.on_event = detail::on_told<F>;
    return detail::make<subscription>(
        [&](as_subscription* out, as_blob* err) { return subscribe(get(), &hooks, out, err); });
  }
};

}  // namespace agent_surface

#endif
