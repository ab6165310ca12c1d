#include "steps.hpp"

#include "matcher.hpp"
#include "pull.hpp"

namespace steps {
namespace {

using std::chrono::milliseconds;

void settle(Host& host) {
  const auto quiet = as::dev::quiesce(host.registry, PATIENCE);
  if (!quiet && quiet.code() != AS_E_CLOSED && quiet.code() != AS_E_STALE_HANDLE) {
    throw Wrong(std::string("the runtime does not become quiet: ") + quiet.error().name());
  }
}

// The fields with their references replaced; those with scripts in them wait until a script runs.
Json resolved(Host& host, const Json& fields) {
  std::vector<Json::Member> members;
  for (const auto& [key, value] : fields.members()) {
    members.emplace_back(key, model::is_scripted(key) ? value : host.resolve(value));
  }
  return Json::object(std::move(members));
}

Done set(Host& host, const Json& fields) {
  host.with([&](State& state) { state.vars[text(fields, "var")] = document(fields, "to"); });
  return {Json()};
}

Done act(const Shared& host, const std::string& action, const Json& fields, bool nested) {
  // Inside a handler nothing that waits for the handler can come to an end.
  const milliseconds patience = nested ? milliseconds(0) : PATIENCE;
  if (action == "register") return register_component(host, fields);
  if (action == "update") return update(*host, fields);
  if (action == "invalidate") return invalidate(*host, fields);
  if (action == "unregister") return unregister(*host, fields);
  if (action == "swap") return swap(host, fields);
  if (action == "invoke") return invoke(host, fields);
  if (action == "await") return await(*host, fields, nested);
  if (action == "unsettled") return unsettled(*host, fields);
  if (action == "cancel") return cancel(*host, fields);
  if (action == "finish") return finish(*host, fields);
  if (action == "decide") return decide(*host, fields);
  if (action == "aborted") return aborted(*host, fields);
  if (action == "advance") return {nothing(as::dev::advance(host->registry, milliseconds(integer(fields, "ms")), patience))};
  if (action == "set") return set(*host, fields);
  if (action == "confirm") return confirm(*host, fields);
  if (action == "pending") return pending(*host, fields);
  if (action == "snapshot") return snapshot(*host, fields);
  if (action == "explain") return explain(*host, fields);
  if (action == "version") return version(*host);
  if (action == "events") return events(*host, fields);
  if (action == "audit") return audit(*host, fields);
  if (action == "calls") return calls(*host, fields);
  if (action == "contexts") return contexts(*host, fields);
  if (action == "toolset") return toolset(*host, fields);
  if (action == "tools") return tools(*host, fields);
  if (action == "call") return call(host, fields);
  if (action == "disposeToolset") return dispose_toolset(*host, fields);
  if (action == "verify") return verify(*host, fields);
  if (action == "outcome") return outcome(*host, fields);
  if (action == "closeConsumer") return {nothing(host->registry.close_consumer(document(fields, "consumer").str()))};
  if (action == "dispose") return {nothing(host->registry.close(patience))};
  throw Wrong("no such step");
}

std::string said(const Told& answer) {
  return answer ? std::string() : " " + matcher::short_text(value_of(answer.error()));
}

// Holds the answer against `code` or `expect`, or against AS_OK where the step has neither.
void judge(const std::string& action, const Json& fields, const Told& answer) {
  if (const Json* wanted = fields.get("code")) {
    try {
      return matcher::check(*wanted, Json::string(as_code_name(answer.code())));
    } catch (const Wrong& why) {
      throw Wrong(std::string(why.what()) + " as code" + said(answer));
    }
  }
  const Json* wanted = fields.get("expect");
  const bool late = answer.code() == AS_E_LATE && (action == "finish" || action == "decide");
  const Json value = answer ? *answer : late ? Json::string("late") : value_of(answer.error());
  if (!wanted) {
    if (!answer && !late) throw Wrong(std::string("expected AS_OK, saw ") + answer.error().name() + said(answer));
    if (answer && action == "register") matcher::check(Json::object({{"status", Json::string("active")}}), value);
    return;
  }
  const bool log = (action == "events" || action == "audit") && fields.text("mode") != "exact";
  if (log && answer && wanted->is(Json::Type::Array)) return matcher::subsequence(wanted->items(), value.items());
  try {
    matcher::check(*wanted, value);
  } catch (const Wrong& why) {
    const std::string what = why.what();
    throw Wrong(what.substr(0, 3) == "at " ? what + ", in " + matcher::short_text(value) : what);
  }
}

// A step that failed has a value too. A registration that was refused keeps its scripts, which never ran.
void name_failure(Host& host, const std::string& name, const as::error& error) {
  if (name.empty()) return;
  host.with([&](State& state) {
    Named& named = state.names[name];
    if (!named.component || named.registration) named = {value_of(error), {}, {}, {}, {}};
  });
}

void take(const Shared& host, const Step& step, bool nested) {
  const Json fields = resolved(*host, step.fields);
  Done done = act(host, step.action, fields, nested);
  if (!done.answer) name_failure(*host, fields.text("as"), done.answer.error());
  if (!nested) {
    quiet(*host);
    if (done.started && fields.get("expect")) done.answer = result(*done.started, "it");
  }
  judge(step.action, fields, done.answer);
}

}  // namespace

void run(const Shared& host, std::size_t number, const Step& step) {
  const std::string place = "step " + std::to_string(number) + " (" + step.action + ")";
  host->place->set(place);
  std::optional<std::string> wrong;
  try {
    take(host, step, false);
  } catch (const Wrong& why) {
    wrong = place + ": " + why.what();
  }
  if (const auto earlier = host->take_failure()) wrong = earlier;
  if (wrong) throw Wrong(*wrong);
}

void nested(const Shared& host, const std::vector<Step>& steps) {
  const std::string outer = host->place->get();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    try {
      take(host, steps[i], true);
    } catch (const Wrong& why) {
      const std::string failure = outer + ", doing " + std::to_string(i + 1) + " (" + steps[i].action + "): " + why.what();
      host->with([&](State& state) {
        if (!state.failure) state.failure = failure;
      });
    }
  }
}

void quiet(Host& host) {
  if (!host.pump) return settle(host);
  for (;;) {
    settle(host);
    const auto before = host.pump->served();
    host.pump->drain();
    settle(host);
    if (host.pump->served() == before) return;
  }
}

Json value_of(const as::error& error) {
  const Json blob = Json::parse_or_say(error.document().empty() ? "{}" : error.document());
  const Json *reason = blob.get("reason"), *path = blob.get("path"), *message = blob.get("message");
  std::vector<Json::Member> members = {{"code", reason ? *reason : Json::string(error.name())}};
  if (path) members.emplace_back("path", *path);
  members.emplace_back("message", message ? *message : Json::string(""));
  return Json::object({{"error", Json::object(std::move(members))}});
}

Told parsed(const as::result<std::string>& text) {
  if (!text) return text.error();
  return Json::parse_or_say(*text);
}

Told nothing(const as::result<void>& done) {
  if (!done) return done.error();
  return Json();
}

const Json& document(const Json& fields, const char* name) {
  static const Json null;
  const Json* value = fields.get(name);
  return value ? *value : null;
}

const std::string& text(const Json& fields, const char* name) {
  const Json& value = document(fields, name);
  if (!value.as_string()) throw Wrong(std::string("`") + name + "` must be a string");
  return value.text();
}

std::int64_t integer(const Json& fields, const char* name) {
  const auto value = document(fields, name).as_int();
  if (!value) throw Wrong(std::string("`") + name + "` must be an integer");
  return *value;
}

std::size_t index(const Json& fields) {
  const Json* value = fields.get("index");
  if (!value) return 0;
  if (!value->as_index()) throw Wrong("`index` must be an integer from 0");
  return *value->as_index();
}

Json some_of(const Json& fields, std::initializer_list<const char*> names) {
  std::vector<Json::Member> members;
  for (const char* name : names) {
    if (const Json* value = fields.get(name)) members.emplace_back(name, *value);
  }
  return Json::object(std::move(members));
}

}  // namespace steps
