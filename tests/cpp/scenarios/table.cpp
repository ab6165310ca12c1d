#include "table.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "matcher.hpp"
#include "model.hpp"
#include "refs.hpp"

using matcher::join;
using model::fault;

namespace table {
namespace {

Field must(const char* name, Kind kind) { return {name, kind, true}; }
Field may(const char* name, Kind kind) { return {name, kind, false}; }

const std::map<std::string, Fields>& steps() {
  static const Fields look = {may("as", Kind::Name), may("consumer", Kind::Document), may("scope", Kind::Document),
                              may("includeUnavailable", Kind::Document), may("budget", Kind::Document)};
  static const Fields log = {may("mode", Kind::Mode), may("types", Kind::Texts), may("count", Kind::Matcher)};
  static const Fields registration = {must("registration", Kind::Name)};
  static const Fields invocation = {must("invocation", Kind::Name)};
  static const std::map<std::string, Fields> steps = {
      {"register",
       {may("as", Kind::Name), must("definition", Kind::Document), may("handlers", Kind::Scripts), may("when", Kind::Answers),
        may("bind", Kind::Answers), may("describe", Kind::Answers), may("precondition", Kind::Answers)}},
      {"update", {must("registration", Kind::Name), must("patch", Kind::Document)}},
      {"invalidate", registration},
      {"unregister", registration},
      {"swap", {must("registration", Kind::Name), must("handlers", Kind::Scripts)}},
      {"invoke",
       {may("as", Kind::Name), must("request", Kind::Document), may("consumer", Kind::Document),
        may("timeoutMs", Kind::Document), may("deadlineMs", Kind::Document)}},
      {"await", invocation},
      {"unsettled", invocation},
      {"cancel", invocation},
      {"finish",
       {must("token", Kind::Name), may("index", Kind::Index), may("return", Kind::Document), may("reject", Kind::Document),
        may("fail", Kind::Text)}},
      {"decide",
       {must("token", Kind::Name), may("index", Kind::Index), may("allow", Kind::Flag), may("deny", Kind::Document),
        may("confirm", Kind::Confirmation)}},
      {"aborted", {must("token", Kind::Name), may("index", Kind::Index)}},
      {"advance", {must("ms", Kind::Integer)}},
      {"set", {must("var", Kind::Name), must("to", Kind::Document)}},
      {"confirm", {must("id", Kind::Document), may("approve", Kind::Flag), may("reason", Kind::Document)}},
      {"pending", {may("as", Kind::Name)}},
      {"snapshot", look},
      {"explain", look},
      {"version", {}},
      {"events", log},
      {"audit", log},
      {"calls", {must("handler", Kind::Name)}},
      {"contexts", {must("policy", Kind::Name), may("phase", Kind::Phase)}},
      {"toolset", {may("as", Kind::Name), may("options", Kind::Document)}},
      {"tools", {must("toolset", Kind::Name), may("format", Kind::Text)}},
      {"call",
       {must("toolset", Kind::Name), must("name", Kind::Document), may("input", Kind::Document), may("toolCallId", Kind::Document),
        may("as", Kind::Name)}},
      {"disposeToolset", {must("toolset", Kind::Name)}},
      {"verify", {must("result", Kind::Document), must("request", Kind::Document)}},
      {"outcome", {may("consumer", Kind::Document), must("id", Kind::Document)}},
      {"closeConsumer", {must("consumer", Kind::Document)}},
      {"dispose", {}},
  };
  return steps;
}

bool is_one_of(const Json& value, const std::vector<std::string>& words) {
  return value.as_string() && std::find(words.begin(), words.end(), value.text()) != words.end();
}

bool is_pattern(const std::string& text) {
  try {
    matcher::search(text, "");
    return true;
  } catch (const Wrong&) {
    return false;
  }
}

bool is_reference(const Json& json) { return json.as_string() && refs::reference(json.text()); }

bool fits_matcher(const std::string& key, const Json& argument) {
  if (key == "$any" || key == "$absent") return argument.is_true();
  if (key == "$match") return argument.as_string() && is_pattern(argument.text());
  if (key == "$type") return matcher::is_type_name(argument.text());
  if (key == "$len") return argument.as_index().has_value();
  if (key == "$oneOf") return argument.is(Json::Type::Array);
  return true;
}

void check_matcher(const Json& json, const std::string& at) {
  for (std::size_t i = 0; i < json.items().size(); ++i) check_matcher(json.items()[i], at + "/" + std::to_string(i));
  for (const auto& [key, argument] : json.members()) {
    if (key == "$exact" || is_reference(argument)) continue;
    const std::string place = join(at, key);
    if (!fits_matcher(key, argument)) fault(place, key + " cannot have " + matcher::short_text(argument));
    check_matcher(argument, place);
  }
}

void each(const Json& json, const std::string& at, const std::function<void(const Json&, const std::string&)>& parse) {
  for (const auto& [key, value] : model::object(json, at)) parse(value, join(at, key));
}

}  // namespace

const Fields* fields_of(const std::string& action) {
  const auto found = steps().find(action);
  return found == steps().end() ? nullptr : &found->second;
}

void check(const Json* value, const Field& field, const std::string& parent) {
  const std::string at = join(parent, field.name);
  const auto want = [&](bool fits, const char* wanted) {
    if (!fits) fault(at, std::string(wanted) + " wanted");
  };
  if (!value) {
    if (field.required) fault(at, "missing");
    return;
  }
  if (is_reference(*value) && field.kind != Kind::Scripts && field.kind != Kind::Answers) return;
  const auto is_text = [](const Json& item) { return item.as_string() != nullptr; };
  switch (field.kind) {
    case Kind::Document: return;
    case Kind::Name: return want(!value->text().empty(), "a name");
    case Kind::Text: return want(is_text(*value), "a string");
    case Kind::Integer: return want(value->as_int().has_value(), "an integer");
    case Kind::Index: return want(value->as_index().has_value(), "an integer from 0");
    case Kind::Flag: return want(value->as_bool().has_value(), "true or false");
    case Kind::Texts:
      return want(value->is(Json::Type::Array) && std::all_of(value->items().begin(), value->items().end(), is_text),
                  "an array of strings");
    case Kind::Object: return want(value->is(Json::Type::Object), "an object");
    case Kind::Mode: return want(is_one_of(*value, {"exact", "subsequence"}), "another word");
    case Kind::Phase:
      return want(is_one_of(*value, {"onDiscovery", "onAuthorize", "onInvoke", "onResult", "discovery", "authorize", "invoke",
                                     "result"}),
                  "another word");
    case Kind::Scripts: return each(*value, at, [](const Json& script, const std::string& place) { Script::parse(script, place); });
    case Kind::Answers: return each(*value, at, [](const Json& script, const std::string& place) { Answer::parse(script, place); });
    case Kind::Confirmation: model::summary(*value, at); return;
    case Kind::Matcher: return check_matcher(*value, at);
  }
}

}  // namespace table
