/* Calls as their caller holds them: waited for, as a future, or awaited. */
#ifndef AGENT_SURFACE_INVOCATION_HPP
#define AGENT_SURFACE_INVOCATION_HPP

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#if defined(__cpp_impl_coroutine) && __has_include(<coroutine>)
#include <coroutine>
#define AGENT_SURFACE_COROUTINES 1
#endif

#include "../agent_surface.h"
#include "handle.hpp"
#include "hooks.hpp"

namespace agent_surface {

/// A call. Ending the object does not end the call.
class invocation : public detail::handle<as_invocation_free> {
 public:
  using handle::handle;

  /// The result envelope; as often as one likes.
  /// Blocking: up to `timeout` of real time; without one until the call has settled.
  /// Errors: AS_E_TIMEOUT (the call goes on), AS_E_WOULD_DEADLOCK (inside a callback that the call waits for; an endless wait
  /// in a pull registry), those of the handle.
  result<std::string> wait(std::chrono::milliseconds timeout = detail::for_ever) const {
    return detail::ask([&](as_blob* out, as_blob* err) { return as_invocation_wait(get(), timeout.count(), out, err); });
  }

  /// No longer waits: the result is CANCELLED, unless it has settled. The execution is aborted when every caller that joined
  /// it has cancelled. Errors: those of the handle.
  result<void> cancel() { return detail::done(as_invocation_cancel(get())); }
};

/// A call and its result to come. The future fails with agent_surface::exception where the call could not be started.
struct future_call {
  agent_surface::invocation invocation;
  std::future<std::string> result;
};

namespace detail {

/// Starts a call: as_invoke or as_toolset_call with its texts.
using starter = std::function<as_code(const as_hooks_result* hooks, as_invocation* out, as_blob* err)>;

template <class Start>
result<invocation> start_call(const Start& start) {
  return make<invocation>([&](as_invocation* out, as_blob* err) { return start(nullptr, out, err); });
}

template <class Start, class F>
result<invocation> start_call(const Start& start, F on_result) {
  auto hooks = table<as_hooks_result>(std::make_unique<F>(std::move(on_result)));
  hooks.on_result = on_told<F>;
  return make<invocation>([&](as_invocation* out, as_blob* err) { return start(&hooks, out, err); });
}

template <class Start>
future_call start_future(const Start& start) {
  const auto promise = std::make_shared<std::promise<std::string>>();
  auto future = promise->get_future();
  auto started = start_call(start, [promise](std::string_view result) { promise->set_value(std::string(result)); });
  if (started) return {std::move(*started), std::move(future)};
  promise->set_exception(std::make_exception_ptr(exception(started.error())));
  return {invocation(), std::move(future)};
}

#ifdef AGENT_SURFACE_COROUTINES

/// `co_await` gives a result<std::string>: the result envelope, or why the call could not be started. The call starts when
/// it is awaited; the coroutine goes on where the result comes: on a worker of the library, or in next()'s thread where
/// that runs it, or at once. Destroyed while it waits, it is not resumed, and the call goes on.
class awaitable {
 public:
  explicit awaitable(starter start) : start_(std::move(start)) {}
  awaitable(awaitable&&) = default;
  ~awaitable() {
    if (state_) state_->stage.store(settled);
  }

  bool await_ready() const noexcept { return false; }

  bool await_suspend(std::coroutine_handle<> waiting) {
    state_ = std::make_shared<state>();
    state_->waiting = waiting;
    std::atomic<int>& stage = state_->stage;  // the coroutine, and this object with it, may be gone before the last line
    if (!start()) return false;
    int expected = starting;
    return stage.compare_exchange_strong(expected, suspended);
  }

  result<std::string> await_resume() { return std::move(*state_->outcome); }

 private:
  enum stages : int { starting, suspended, settled };

  struct state {
    std::atomic<int> stage{starting};
    std::coroutine_handle<> waiting;
    std::optional<result<std::string>> outcome;
  };

  bool start() {
    const auto started = start_call(start_, [shared = state_](std::string_view result) {
      shared->outcome.emplace(std::string(result));
      if (shared->stage.exchange(settled) == suspended) shared->waiting.resume();
    });
    if (!started) state_->outcome.emplace(started.error());
    return started.ok();
  }

  starter start_;
  std::shared_ptr<state> state_;
};

#endif

}  // namespace detail
}  // namespace agent_surface

#endif
