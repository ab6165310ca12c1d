// Steps on registrations: register, update, invalidate, unregister, swap.

#include <algorithm>
#include <set>

#include "play.hpp"
#include "steps.hpp"

namespace steps {
namespace {

const std::vector<Json::Member>& members(const Json& fields, const char* name) { return document(fields, name).members(); }

bool has_path(const Json& definition, const std::string& path) {
  const auto& procedures = document(definition, "procedures").items();
  return std::any_of(procedures.begin(), procedures.end(), [&](const Json& one) { return one.text("path") == path; });
}

std::string path_name(const Json& definition, const std::string& key) {
  return key.rfind("domain:", 0) == 0 && !has_path(definition, key) ? key : "domain:" + key;
}

Component component_of(const Json& fields, const Json& definition) {
  Component component{definition, {}, {}};
  for (const auto& [key, script] : members(fields, "handlers")) {
    component.sites[binding_name(definition, key)] = Site{Script::parse(script, "")};
  }
  for (const auto& [key, answer] : members(fields, "when")) {
    component.answers[binding_name(definition, key)].when = Answer::parse(answer, "");
  }
  for (const auto& [key, answer] : members(fields, "precondition")) {
    component.answers[binding_name(definition, key)].precondition = Answer::parse(answer, "");
  }
  for (const auto& [key, answer] : members(fields, "bind")) {
    component.answers[path_name(definition, key)].bind = Answer::parse(answer, "");
  }
  for (const auto& [key, answer] : members(fields, "describe")) {
    component.answers[path_name(definition, key)].describe = Answer::parse(answer, "");
  }
  return component;
}

// One binding for every name that has a callback, sorted, so that a run is like the one before.
std::vector<as::binding> bindings(const Shared& host, const Component& component) {
  std::map<std::string, as::binding> bindings;
  const auto hook = [&](const std::optional<Answer>& answer) { return answer ? play::hook(host, *answer) : as::hook(); };
  for (const auto& [name, site] : component.sites) bindings[name].handle = play::handler(host, site);
  for (const auto& [name, answers] : component.answers) {
    as::binding& binding = bindings[name];
    binding.when = hook(answers.when);
    binding.precondition = hook(answers.precondition);
    binding.bind = hook(answers.bind);
    binding.describe = hook(answers.describe);
  }
  std::vector<as::binding> list;
  for (auto& [name, binding] : bindings) {
    binding.name = name;
    list.push_back(std::move(binding));
  }
  return list;
}

as::registration& registration(Host& host, const Json& fields) {
  const std::string& name = text(fields, "registration");
  const auto found = host.named(name).registration;
  if (!found) throw Wrong(Json::string(name).str() + " is no registration");
  return *found;
}

}  // namespace

std::string binding_name(const Json& definition, const std::string& key) {
  const bool is_view = document(definition, "observations").get(key) || document(definition, "actions").get(key);
  return !is_view && has_path(definition, key) ? "domain:" + key : key;
}

Done register_component(const Shared& host, const Json& fields) {
  const Json& definition = document(fields, "definition");
  const auto component = std::make_shared<Component>(component_of(fields, definition));
  auto made = host->registry.add(definition.str(), bindings(host, *component));
  Named named;
  named.component = component;
  Told answer = made ? parsed(made->info()) : Told(made.error());
  if (answer) answer = some_of(*answer, {"status", "registrationId"});
  named.value = answer ? *answer : value_of(answer.error());
  if (made) named.registration = std::make_shared<as::registration>(std::move(*made));
  host->with([&](State& state) {
    if (named.registration) state.registrations.push_back(named.registration);
    if (const auto id = named.value.text("registrationId"); !id.empty()) state.registered[id] = component;
  });
  host->name(fields.text("as"), named);
  return {answer};
}

// A rebinding replaces every callback, so those that the step does not name are passed again.
Done swap(const Shared& host, const Json& fields) {
  as::registration& handle = registration(*host, fields);
  const auto component = host->named(text(fields, "registration")).component;
  Component changed = host->with([&](State&) { return *component; });
  for (const auto& [key, script] : members(fields, "handlers")) {
    changed.sites[binding_name(changed.definition, key)].script = Script::parse(script, "");
  }
  const auto done = handle.rebind(bindings(host, changed));
  if (done) host->with([&](State&) { *component = changed; });
  return {nothing(done)};
}

Done update(Host& host, const Json& fields) {
  return {nothing(registration(host, fields).update(document(fields, "patch").str()))};
}

Done invalidate(Host& host, const Json& fields) { return {nothing(registration(host, fields).invalidate())}; }

Done unregister(Host& host, const Json& fields) { return {nothing(registration(host, fields).unregister())}; }

}  // namespace steps
