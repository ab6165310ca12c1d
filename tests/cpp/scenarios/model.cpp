#include "model.hpp"

#include <algorithm>

#include "refs.hpp"
#include "table.hpp"

using matcher::join;

namespace model {

void fault(const std::string& at, const std::string& what) { throw Wrong("at " + (at.empty() ? "the top" : at) + ": " + what); }

const std::vector<Json::Member>& object(const Json& json, const std::string& at) {
  if (!json.is(Json::Type::Object)) fault(at, "an object wanted");
  return json.members();
}

bool is_scripted(const std::string& field) {
  return field == "handlers" || field == "when" || field == "precondition" || field == "bind" || field == "describe";
}

}  // namespace model

using model::fault;

namespace {

void exactly_one(const Json& json, const std::vector<std::string>& keys, const std::string& at) {
  std::string names;
  for (const std::string& key : keys) names += (names.empty() ? "" : ", ") + key;
  const auto given = std::count_if(keys.begin(), keys.end(), [&](const std::string& key) { return json.get(key); });
  if (given != 1) fault(at, "exactly one of " + names + " wanted");
}

Step step(const Json& json, const std::string& at, bool nested) {
  const auto& members = model::object(json, at);
  const Json* action = json.get("do");
  if (!action || !action->as_string()) fault(join(at, "do"), "a step's name wanted");
  const std::string& name = action->text();
  const table::Fields* fields = table::fields_of(name);
  if (!fields) fault(join(at, "do"), "no such step: " + name);
  for (const auto& member : members) {
    const std::string& key = member.first;
    const auto is_key = [&](const table::Field& field) { return field.name == key; };
    const bool known = key == "do" || key == "expect" || key == "code" || std::any_of(fields->begin(), fields->end(), is_key);
    if (!known) fault(join(at, key), "unknown field of `" + name + "`");
  }
  for (const table::Field& field : *fields) table::check(json.get(field.name), field, at);
  table::check(json.get("expect"), {"expect", table::Kind::Matcher, false}, at);
  table::check(json.get("code"), {"code", table::Kind::Matcher, false}, at);
  if (json.get("expect") && json.get("code")) fault(join(at, "code"), "`code` stands instead of `expect`");
  if (nested && json.get("expect") && (name == "invoke" || name == "await" || name == "call")) {
    fault(join(at, "expect"), "nothing waits for a result inside `doing`");
  }
  if (name == "finish") exactly_one(json, {"return", "reject", "fail"}, at);
  if (name == "decide") exactly_one(json, {"allow", "deny", "confirm"}, at);
  if (const Json* allow = json.get("allow"); allow && allow->as_bool() == false) {
    fault(join(at, "allow"), "only `true` here; `deny` refuses");
  }
  return {name, json};
}

void aliases(const Json& json, std::vector<std::string>& given) {
  if (json.get("do") && json.get("as") && json.get("as")->as_string()) given.push_back(json.text("as"));
  for (const Json& item : json.items()) aliases(item, given);
  for (const auto& member : json.members()) aliases(member.second, given);
}

// A reference to a name that no `as` ever gives can never be resolved, also where the script that holds it never runs.
void known_references(const Json& json) {
  std::vector<std::string> given;
  aliases(json, given);
  for (const char* field : {"registry", "policies", "executor", "vars", "steps"}) {
    std::vector<std::string> used;
    if (const Json* part = json.get(field)) refs::names(*part, used);
    for (const std::string& name : used) {
      if (std::find(given.begin(), given.end(), name) == given.end()) {
        fault(join("", field), "unresolved reference: no step is `as` " + Json::string(name).str());
      }
    }
  }
}

void only_known(const Json& json, const std::string& at, const std::vector<std::string>& known, const char* what) {
  for (const auto& member : model::object(json, at)) {
    if (std::find(known.begin(), known.end(), member.first) == known.end()) {
      fault(join(at, member.first), std::string("unknown field of ") + what);
    }
  }
}

}  // namespace

std::vector<Step> model::steps(const Json& json, const std::string& at, bool nested) {
  if (!json.is(Json::Type::Array)) fault(at, "an array of steps wanted");
  std::vector<Step> steps;
  for (std::size_t i = 0; i < json.items().size(); ++i) {
    steps.push_back(step(json.items()[i], at + "/" + std::to_string(i), nested));
  }
  return steps;
}

Executor Executor::parse(const Json& json) {
  only_known(json, "/executor", {"paths", "script", "scripts"}, "the executor");
  table::check(json.get("paths"), {"paths", table::Kind::Texts, true}, "/executor");
  const Json *script = json.get("script"), *scripts = json.get("scripts");
  if (!script == !scripts) fault("/executor", "either `script` or `scripts` wanted");
  Executor executor;
  executor.paths = *json.get("paths");
  if (script) executor.script = Script::parse(*script, "/executor/script");
  if (scripts) {
    for (const auto& [path, one] : model::object(*scripts, "/executor/scripts")) {
      executor.scripts.emplace(path, Script::parse(one, join("/executor/scripts", path)));
    }
  }
  return executor;
}

Scenario Scenario::parse(const Json& json) {
  only_known(json, "", {"name", "requirements", "registry", "policies", "executor", "vars", "steps"}, "a scenario");
  table::check(json.get("name"), {"name", table::Kind::Name, true}, "");
  table::check(json.get("registry"), {"registry", table::Kind::Object, false}, "");
  table::check(json.get("vars"), {"vars", table::Kind::Object, false}, "");
  const Json* steps = json.get("steps");
  if (!steps) fault("/steps", "missing");
  Scenario scenario;
  if (const Json* registry = json.get("registry")) scenario.registry = *registry;
  if (const Json* policies = json.get("policies")) {
    for (const auto& [name, policy] : model::object(*policies, "/policies")) {
      scenario.policies.emplace(name, Policy::parse(policy, join("/policies", name)));
    }
  }
  if (const Json* executor = json.get("executor")) scenario.executor = Executor::parse(*executor);
  if (const Json* vars = json.get("vars")) scenario.vars = vars->members();
  scenario.steps = model::steps(*steps, "/steps", false);
  known_references(json);
  return scenario;
}
