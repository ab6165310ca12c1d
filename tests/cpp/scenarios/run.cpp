#include "run.hpp"

#include "play.hpp"
#include "pull.hpp"
#include "refs.hpp"
#include "steps.hpp"

namespace {

// The library's counters by their JSON Pointers.
using Live = std::map<std::string, std::int64_t>;

void count(const std::string& pointer, const Json& json, Live& counters) {
  if (const auto number = json.as_int()) counters[pointer] = *number;
  for (const auto& [key, value] : json.members()) count(pointer + "/" + key, value, counters);
}

Live live() {
  const auto document = as::dev::live();
  if (!document) throw Wrong(std::string("as_dev_live: ") + document.error().name());
  Live counters;
  count("", Json::parse_or_say(*document), counters);
  return counters;
}

// Runs both, the second whatever becomes of the first; the first complaint counts.
template <class F>
void also(std::optional<std::string>& complaint, F&& work) {
  try {
    work();
  } catch (const Wrong& why) {
    if (!complaint) complaint = why.what();
  }
}

template <class T>
T demand(as::result<T> made, const std::string& what) {
  if (made) return std::move(*made);
  throw Wrong("opening: " + what + ": expected AS_OK, saw " + made.error().name() + " " + steps::value_of(made.error()).str());
}

void demand(const as::result<void>& done, const std::string& what) {
  if (!done) throw Wrong("opening: " + what + ": expected AS_OK, saw " + done.error().name() + " " + steps::value_of(done.error()).str());
}

Json config_of(const Json& registry, bool pull) {
  auto members = registry.members();
  if (!registry.get("clock")) members.emplace_back("clock", Json::parse(R"({"manual": {"start": "2026-01-01T00:00:00.000Z"}})"));
  if (pull && !registry.get("dispatch")) members.emplace_back("dispatch", Json::string("pull"));
  return Json::object(std::move(members));
}

void open(const std::shared_ptr<Host>& host, const Scenario& scenario, bool pull) {
  host->place->set("opening");
  const auto plain = [](const Json& json) {
    return refs::resolve(json, [](const std::string&) -> Json { throw Wrong("no step has run yet"); });
  };
  host->with([&](State& state) {
    for (const auto& [name, value] : scenario.vars) state.vars[name] = plain(value);
    state.vars.emplace("host", Json::object({}));
  });
  const Json config = config_of(plain(scenario.registry), pull);
  const Json* audit = config.get("audit");
  host->registry = demand(as::registry::make(config.str(), play::host_hooks(host, audit && audit->text("sink") == "callback")),
                          "the registry");
  if (pull) host->pump = std::make_shared<Pump>(host);
  const auto on_event = [host](std::string_view event) {
    host->with([&](State& state) { state.events.push_back(Json::parse_or_say(event)); });
  };
  auto events = demand(host->registry.subscribe(on_event), "subscribing to events");
  host->with([&](State& state) { state.subscriptions.push_back(std::move(events)); });
  for (const auto& policy : host->policies) {
    demand(host->registry.define_policy(policy.first, play::policy(host, policy.first)), "policy " + Json::string(policy.first).str());
  }
  if (host->executor) demand(host->registry.set_executor(host->executor->paths.str(), play::executor(host)), "the executor");
  try {
    steps::quiet(*host);
  } catch (const Wrong& why) {
    throw Wrong(std::string("opening: ") + why.what());
  }
}

void reported_once(const std::vector<Started>& invocations) {
  for (const Started& started : invocations) {
    if (const int reports = *started.reports; reports != 1) {
      throw Wrong("closing: expected every result to be reported once, saw one " + std::to_string(reports) + " times");
    }
  }
}

// Closes the registry and gives everything back, whatever goes wrong on the way.
void close(const std::shared_ptr<Host>& host, Options& options, bool pull) {
  const auto closed = host->registry ? host->registry.close(steps::PATIENCE) : as::result<void>();
  if (!closed) options.stuck = true;
  host->pump.reset();
  State left;
  host->with([&](State& state) { std::swap(left, state); });
  std::optional<std::string> complaint = std::exchange(left.failure, std::nullopt);
  if (!closed) complaint = std::string("closing: as_registry_close: expected AS_OK, saw ") + closed.error().name();
  if (!pull && closed) also(complaint, [&] { reported_once(left.invocations); });
  // One that did not close is left behind, since ending it would wait.
  if (!closed) host->registry.release();
  host->registry = as::registry();
  if (complaint) throw Wrong(*complaint);
}

// What this scenario made must be gone: its callback tables, and whatever the library counts.
void nothing_left(const std::shared_ptr<Host>& host, const Live& before) {
  const auto tables = host.use_count() - 1;
  std::string left;
  for (const auto& [name, number] : live()) {
    const auto earlier = before.find(name);
    if (number > (earlier == before.end() ? 0 : earlier->second)) left += (left.empty() ? "" : ", ") + name + " " + std::to_string(number);
  }
  if (tables == 0 && left.empty()) return;
  throw Wrong("leaked " + std::to_string(tables) + " callback tables, never destroyed; as_dev_live: " + left);
}

}  // namespace

void run(const Scenario& scenario, Options& options, const std::shared_ptr<Place>& place) {
  const Live before = live();
  const auto host = std::make_shared<Host>(scenario, place);
  // What the scenario says of dispatch is part of it; the option speaks for those that say nothing.
  const bool pull = scenario.registry.get("dispatch") ? scenario.registry.text("dispatch") == "pull" : options.pull;
  std::optional<std::string> complaint;
  also(complaint, [&] {
    open(host, scenario, pull);
    for (std::size_t i = 0; i < scenario.steps.size(); ++i) steps::run(host, i + 1, scenario.steps[i]);
  });
  place->set("closing");
  also(complaint, [&] { close(host, options, pull); });
  if (!options.stuck) also(complaint, [&] { nothing_left(host, before); });
  if (complaint) throw Wrong(*complaint);
}
