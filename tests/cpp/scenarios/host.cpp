#include "host.hpp"

#include "refs.hpp"

void Place::set(std::string where) {
  const std::lock_guard lock(mutex);
  text = std::move(where);
}

std::string Place::get() {
  const std::lock_guard lock(mutex);
  return text;
}

Host::Host(const Scenario& scenario, std::shared_ptr<Place> where)
    : policies(scenario.policies), executor(scenario.executor), place(std::move(where)) {}

void Host::fail(const std::string& what) {
  const std::string where = place->get();
  with([&](State& state) {
    if (!state.failure) state.failure = where + ": " + what;
  });
}

std::optional<std::string> Host::take_failure() {
  return with([](State& state) { return std::exchange(state.failure, std::nullopt); });
}

void Host::name(const std::string& name, Named what) {
  if (!name.empty()) with([&](State& state) { state.names[name] = std::move(what); });
}

Named Host::named(const std::string& name) {
  return with([&](State& state) {
    const auto found = state.names.find(name);
    if (found == state.names.end()) throw Wrong("no step was `as` " + Json::string(name).str() + " yet");
    return found->second;
  });
}

Json Host::var(const std::string& name) {
  return with([&](State& state) {
    const auto found = state.vars.find(name);
    if (found == state.vars.end()) throw Wrong("no variable " + Json::string(name).str());
    return found->second;
  });
}

Json Host::resolve(const Json& json) {
  return refs::resolve(json, [this](const std::string& name) { return value(name); });
}

Json Host::value(const std::string& name) {
  const Named found = named(name);
  if (!found.invocation) return found.value;
  const auto result = found.invocation->wait(std::chrono::milliseconds(0));
  if (!result) throw Wrong(Json::string(name).str() + " has no result: " + result.error().name());
  return Json::parse_or_say(*result);
}

void Host::pend(const std::string& token, as_reply reply) {
  with([&](State& state) { state.tokens[token].push_back({reply}); });
}
