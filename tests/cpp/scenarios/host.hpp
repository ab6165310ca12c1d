// The host of one scenario: what its steps made, what its callbacks have seen, and the first thing that went wrong.
//
// Steps and callbacks share it across threads. Its lock is never held while a function of the library runs.
#pragma once

#include <agent_surface_dev.hpp>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "json.hpp"
#include "model.hpp"

namespace as = agent_surface;

// A handler: what it does, and how often it ran, which a swap does not forget.
struct Site {
  std::shared_ptr<const Script> script;
  std::shared_ptr<std::atomic<std::size_t>> ran = std::make_shared<std::atomic<std::size_t>>(0);
};

// What the hooks of one binding answer.
struct Answers {
  std::optional<Answer> when, precondition, bind, describe;
};

// The scripts of one registration, by the name its binding has.
struct Component {
  Json definition;
  std::map<std::string, Site> sites;
  std::map<std::string, Answers> answers;
};

// What an `as` gave a name to: a value, and what stands behind it.
struct Named {
  Json value;
  std::shared_ptr<as::registration> registration;
  std::shared_ptr<Component> component;
  std::shared_ptr<as::invocation> invocation;
  std::shared_ptr<as::toolset> toolset;
};

// A call that a script left open. `aborted` is what the library said when it was answered, its handle being dead since.
struct Pending {
  as_reply reply;
  bool answered = false;
  bool aborted = false;
};

// A context that a policy was shown.
struct Shown {
  std::string policy, phase;
  Json context;
};

// A call and how often its result was reported.
struct Started {
  std::shared_ptr<as::invocation> invocation;
  std::shared_ptr<std::atomic<int>> reports;
};

class Pump;

struct State {
  std::map<std::string, Named> names;
  std::map<std::string, Json> vars;
  std::map<std::string, std::vector<Pending>> tokens;
  std::vector<Shown> contexts;
  std::vector<Json> events, audit;
  // The handlers of each registration by its id, which is how pull dispatch names them.
  std::map<std::string, std::shared_ptr<Component>> registered;
  // All that is to be given back at the end.
  std::vector<Started> invocations;
  std::vector<std::shared_ptr<as::registration>> registrations;
  std::vector<std::shared_ptr<as::toolset>> toolsets;
  std::vector<as::subscription> subscriptions;
  std::map<std::string, std::size_t> executed;
  std::optional<std::string> failure;
};

// Where a scenario is, for the watchdog.
struct Place {
  std::mutex mutex;
  std::string text = "opening";

  void set(std::string where);
  std::string get();
};

class Host {
 public:
  Host(const Scenario& scenario, std::shared_ptr<Place> where);

  as::registry registry;
  const std::map<std::string, Policy> policies;
  const std::optional<Executor> executor;
  const std::shared_ptr<Place> place;
  // Set in pull dispatch.
  std::shared_ptr<Pump> pump;

  // Does something to the shared state, under its lock.
  template <class F>
  auto with(F&& work) {
    const std::lock_guard lock(mutex_);
    return work(state_);
  }

  // Notes what went wrong in a callback; the first one is what the scenario fails with.
  void fail(const std::string& what);
  std::optional<std::string> take_failure();

  void name(const std::string& name, Named what);
  Named named(const std::string& name);
  Json var(const std::string& name);
  // The document with its references replaced.
  Json resolve(const Json& json);
  // What a reference to a name stands for; an invocation has a value once it has settled.
  Json value(const std::string& name);
  void pend(const std::string& token, as_reply reply);

 private:
  std::mutex mutex_;
  State state_;
};
