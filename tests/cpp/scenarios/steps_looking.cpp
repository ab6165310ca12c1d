// Steps that look: confirmations, catalogs, events and audit, tools, and what the scripts have seen.

#include <algorithm>

#include "matcher.hpp"
#include "steps.hpp"

namespace steps {
namespace {

Done look(Host& host, const Json& fields, const as::result<std::string>& text) {
  Told answer = parsed(text);
  if (answer) host.name(fields.text("as"), {*answer, {}, {}, {}, {}});
  return {answer};
}

std::string view(const Json& fields) { return some_of(fields, {"consumer", "scope", "includeUnavailable", "budget"}).str(); }

Done log(const Json& fields, const std::vector<Json>& entries) {
  const Json* types = fields.get("types");
  std::vector<Json> list, names;
  for (const Json& entry : entries) {
    const Json* type = entry.get("type");
    const auto is_type = [&](const Json& wanted) { return type && wanted.same(*type); };
    if (types && std::none_of(types->items().begin(), types->items().end(), is_type)) continue;
    list.push_back(entry);
    if (type) names.push_back(*type);
  }
  if (const Json* count = fields.get("count")) {
    try {
      matcher::check(*count, Json::count(list.size()));
    } catch (const Wrong& why) {
      throw Wrong(std::string(why.what()) + " as count of " + matcher::short_text(Json::array(names)));
    }
  }
  return {Json::array(std::move(list))};
}

// `onInvoke` and `invoke` are one phase.
std::string short_phase(std::string phase) {
  if (phase.rfind("on", 0) == 0) phase.erase(0, 2);
  std::transform(phase.begin(), phase.end(), phase.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return phase;
}

as::toolset& toolset_of(Host& host, const Json& fields) {
  const std::string& name = text(fields, "toolset");
  const auto found = host.named(name).toolset;
  if (!found) throw Wrong(Json::string(name).str() + " is no toolset");
  return *found;
}

std::size_t handler_calls(Host& host, const std::string& handler) {
  const Wrong unknown("no handler " + Json::string(handler).str());
  const auto dot = handler.find('.');
  if (dot == std::string::npos) throw unknown;
  const auto component = host.named(handler.substr(0, dot)).component;
  if (!component) throw unknown;
  return host.with([&](State&) {
    const auto site = component->sites.find(binding_name(component->definition, handler.substr(dot + 1)));
    if (site == component->sites.end()) throw unknown;
    return site->second.ran->load();
  });
}

std::size_t executor_calls(Host& host, const std::string& handler) {
  if (!host.executor) throw Wrong("the scenario has no executor");
  const auto colon = handler.find(':');
  return host.with([&](State& state) {
    std::size_t all = 0;
    for (const auto& [path, ran] : state.executed) {
      if (colon == std::string::npos || path == handler.substr(colon + 1)) all += ran;
    }
    return all;
  });
}

}  // namespace

Done confirm(Host& host, const Json& fields) {
  const Json* approve = fields.get("approve");
  if (approve && !approve->as_bool()) throw Wrong("`approve` must be true or false");
  std::vector<Json::Member> decision = {{"confirmationId", document(fields, "id")},
                                        {"approved", Json::boolean(!approve || *approve->as_bool())}};
  if (const Json* reason = fields.get("reason")) decision.emplace_back("reason", *reason);
  return {nothing(host.registry.confirm(Json::object(std::move(decision)).str()))};
}

Done pending(Host& host, const Json& fields) { return look(host, fields, host.registry.confirmations()); }

Done snapshot(Host& host, const Json& fields) { return look(host, fields, host.registry.snapshot(view(fields))); }

Done explain(Host& host, const Json& fields) { return look(host, fields, as::dev::explain(host.registry, view(fields))); }

Done version(Host& host) {
  const Told info = parsed(host.registry.info());
  if (!info) return {info};
  return {document(*info, "surfaceVersion")};
}

Done events(Host& host, const Json& fields) {
  return log(fields, host.with([](State& state) { return state.events; }));
}

Done audit(Host& host, const Json& fields) {
  const auto shown = host.with([](State& state) { return state.audit; });
  if (!shown.empty()) return log(fields, shown);
  const Told kept = parsed(host.registry.audit());
  if (!kept) return {kept};
  return log(fields, kept->items());
}

Done calls(Host& host, const Json& fields) {
  const std::string& handler = text(fields, "handler");
  const bool executor = handler == "executor" || handler.rfind("executor:", 0) == 0;
  return {Json::count(executor ? executor_calls(host, handler) : handler_calls(host, handler))};
}

Done contexts(Host& host, const Json& fields) {
  const std::string& policy = text(fields, "policy");
  if (!host.policies.count(policy)) throw Wrong("no policy " + Json::string(policy).str());
  const std::string phase = short_phase(fields.text("phase"));
  return {host.with([&](State& state) {
    std::vector<Json> list;
    for (const Shown& shown : state.contexts) {
      if (shown.policy == policy && (phase.empty() || phase == short_phase(shown.phase))) list.push_back(shown.context);
    }
    return Json::array(std::move(list));
  })};
}

Done toolset(Host& host, const Json& fields) {
  auto made = host.registry.make_toolset(fields.get("options") ? fields.get("options")->str() : "{}");
  if (!made) return {made.error()};
  const auto toolset = std::make_shared<as::toolset>(std::move(*made));
  host.with([&](State& state) { state.toolsets.push_back(toolset); });
  const Told answer = parsed(toolset->info());
  if (answer) host.name(fields.text("as"), {*answer, {}, {}, {}, toolset});
  return {answer};
}

Done tools(Host& host, const Json& fields) {
  const Json* format = fields.get("format");
  const Told answer = parsed(toolset_of(host, fields).tools(format ? format->text() : "neutral"));
  if (!answer || !answer->get("tools")) return {answer};
  return {*answer->get("tools")};
}

Done dispose_toolset(Host& host, const Json& fields) { return {nothing(toolset_of(host, fields).close())}; }

}  // namespace steps
