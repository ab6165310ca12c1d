// Scripts: what a handler, a predicate or a policy of a scenario does when the runtime calls it.

#include <algorithm>

#include "model.hpp"

using matcher::join;
using model::fault;

namespace {

struct Only {
  std::string key;
  const Json& value;
  std::string place;
};

Only only(const Json& json, const std::string& at) {
  const auto& members = model::object(json, at);
  if (members.size() != 1) fault(at, "a script with exactly one key wanted");
  return {members[0].first, members[0].second, join(at, members[0].first)};
}

void yes(const Json& value, const std::string& at) {
  if (!value.is_true()) fault(at, "only `true` here");
}

std::string words(const Json& value, const std::string& at) {
  if (!value.as_string()) fault(at, "a string wanted");
  return value.text();
}

}  // namespace

std::shared_ptr<Script> Script::parse(const Json& json, const std::string& at) {
  auto script = std::make_shared<Script>();
  if (const Json* steps = json.get("doing")) {
    for (const auto& member : json.members()) {
      if (member.first != "doing" && member.first != "then") {
        fault(join(at, member.first), "nothing but `doing` and `then` here");
      }
    }
    const Json* then = json.get("then");
    if (!then) fault(at, "`doing` needs a `then`");
    script->kind = Kind::Doing;
    script->steps = model::steps(*steps, at + "/doing", true);
    script->parts = {parse(*then, at + "/then")};
    return script;
  }
  const auto [key, value, place] = only(json, at);
  if (key == "return" || key == "reject") {
    script->kind = key == "return" ? Kind::Return : Kind::Reject;
    script->value = value;
  } else if (key == "echo" || key == "confirmation" || key == "none") {
    yes(value, place);
    script->kind = key == "echo" ? Kind::Echo : key == "none" ? Kind::None : Kind::Confirmation;
  } else if (key == "var" || key == "fail" || key == "raw" || key == "pend") {
    script->kind = key == "var" ? Kind::Var : key == "fail" ? Kind::Fail : key == "raw" ? Kind::Raw : Kind::Pend;
    script->text = words(value, place);
  } else if (key == "sequence") {
    if (!value.is(Json::Type::Array)) fault(place, "an array of scripts wanted");
    if (value.items().empty()) fault(place, "at least one script wanted");
    script->kind = Kind::Sequence;
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      script->parts.push_back(parse(value.items()[i], place + "/" + std::to_string(i)));
    }
  } else {
    fault(place, "no such handler script");
  }
  return script;
}

const Script& Script::next() const {
  return kind == Kind::Sequence ? parts[std::min(used.fetch_add(1), parts.size() - 1)]->next() : *this;
}

bool Script::pends() const {
  const auto pends = [](const std::shared_ptr<Script>& part) { return part->pends(); };
  return kind == Kind::Pend || std::any_of(parts.begin(), parts.end(), pends);
}

Answer Answer::parse(const Json& json, const std::string& at) {
  const auto [key, value, place] = only(json, at);
  if (key == "const") return {Kind::Const, value, {}};
  if (key == "var") return {Kind::Var, {}, words(value, place)};
  if (key != "fail") fault(place, "`const`, `var` or `fail` wanted");
  yes(value, place);
  return {};
}

Decision Decision::parse(const Json& json, const std::string& at, bool confirms) {
  const auto [key, value, place] = only(json, at);
  if (key == "deny") return {Kind::Deny, value, {}};
  if (key == "confirm" && confirms) return {Kind::Confirm, model::summary(value, place), {}};
  if (key == "confirm") fault(place, "`confirm` belongs to onInvoke only");
  if (key == "pend") return {Kind::Pend, {}, words(value, place)};
  if (key == "var") return {Kind::Var, {}, words(value, place)};
  if (key != "allow" && key != "fail") fault(place, "`allow`, `deny`, `confirm`, `pend`, `fail` or `var` wanted");
  yes(value, place);
  return {key == "allow" ? Kind::Allow : Kind::Fail, {}, {}};
}

Policy Policy::parse(const Json& json, const std::string& at) {
  Policy policy;
  for (const auto& [key, script] : model::object(json, at)) {
    const std::string place = join(at, key);
    if (key == "onDiscovery") {
      policy.on_discovery = Answer::parse(script, place);
    } else if (key == "onAuthorize") {
      policy.on_authorize = Decision::parse(script, place, false);
    } else if (key == "onInvoke") {
      policy.on_invoke = Decision::parse(script, place, true);
    } else if (key == "onResult") {
      const auto [what, value, where] = only(script, place);
      policy.has_on_result = true;
      if (what == "output") {
        policy.output = value;
      } else if (what == "observe") {
        yes(value, where);
      } else {
        fault(where, "`output` or `observe` wanted");
      }
    } else {
      fault(place, "no such hook of a policy");
    }
  }
  return policy;
}

std::optional<Json> model::summary(const Json& json, const std::string& at) {
  for (const auto& member : object(json, at)) {
    if (member.first != "summary") fault(join(at, member.first), "only `summary` here");
    if (!member.second.as_string()) fault(at + "/summary", "a string wanted");
    return member.second;
  }
  return {};
}
