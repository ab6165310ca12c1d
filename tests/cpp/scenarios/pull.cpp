#include "pull.hpp"

#include "play.hpp"

namespace {

void call(const std::shared_ptr<Host>& host, as::work& work) {
  const Json context = Json::parse_or_say(work.context);
  if (context.get("path")) return play::executor(host)(work);
  const std::string capability = context.text("capabilityId");
  const std::string name = capability.substr(capability.find_last_of(".:") + 1);
  const auto site = host->with([&](State& state) -> std::optional<Site> {
    const auto component = state.registered.find(context.text("registrationId"));
    if (component == state.registered.end()) return {};
    const auto found = component->second->sites.find(name);
    if (found == component->second->sites.end()) return {};
    return found->second;
  });
  if (!site) return host->fail("a handler was asked for that was never given: " + work.context);
  play::handler(host, *site)(work);
}

void serve(const std::shared_ptr<Host>& host, as::work& work) {
  if (work.what == "call") {
    call(host, work);
  } else if (work.what == "policy") {
    const as::policy policy = play::policy(host, work.name);
    (work.phase == "invoke" || work.phase == "onInvoke" ? policy.on_invoke : policy.on_authorize)(work);
  } else if (work.what == "event") {
    host->with([&](State& state) { state.events.push_back(Json::parse_or_say(work.context)); });
  } else if (work.what == "audit") {
    host->with([&](State& state) { state.audit.push_back(Json::parse_or_say(work.context)); });
  }
}

}  // namespace

Pump::Pump(const std::shared_ptr<Host>& host) : thread_([this, host] { run(host); }) {}

Pump::~Pump() {
  stop_ = true;
  thread_.join();
}

void Pump::drain() {
  std::unique_lock lock(mutex_);
  if (!empty_) return;
  emptied_.wait(lock, [this, until = *empty_ + 2] { return !empty_ || *empty_ >= until; });
}

void Pump::run(const std::shared_ptr<Host>& host) {
  while (!stop_) {
    auto work = host->registry.next(std::chrono::milliseconds(1));
    if (work) {
      serve(host, *work);
      ++served_;
    } else if (work.code() == AS_E_TIMEOUT) {
      const std::lock_guard lock(mutex_);
      ++*empty_;
      emptied_.notify_all();
    } else {
      break;
    }
  }
  const std::lock_guard lock(mutex_);
  empty_.reset();
  emptied_.notify_all();
}
