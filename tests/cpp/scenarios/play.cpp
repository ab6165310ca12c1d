#include "play.hpp"

#include "steps.hpp"

namespace play {
namespace {

// The scenario itself is wrong: it fails, and so does the callback, so that nothing waits for it.
template <class F>
auto sound(Host& host, F&& work) {
  try {
    return work();
  } catch (const Wrong& why) {
    host.fail(why.what());
    throw;
  }
}

// What a script that does not pend answers.
as::answer answer_of(Host& host, const Script& script, const as::call& call) {
  switch (script.kind) {
    case Script::Kind::Return: return host.resolve(script.value).str();
    case Script::Kind::Echo: return call.input;
    case Script::Kind::Confirmation: {
      const Json context = Json::parse_or_say(call.context);
      const Json* confirmation = context.get("confirmation");
      return (confirmation ? *confirmation : Json()).str();
    }
    case Script::Kind::Var: return host.var(script.text).str();
    case Script::Kind::Reject: return as::failure::of(host.resolve(script.value).str());
    case Script::Kind::Fail: throw std::runtime_error(script.text);
    case Script::Kind::Raw: return script.text;
    default: return {};
  }
}

// Runs the steps that stand before the end of a script, and answers that end.
const Script& enter(const std::shared_ptr<Host>& host, const Script& script) {
  const Script* now = &script.next();
  for (; now->kind == Script::Kind::Doing; now = &now->parts[0]->next()) steps::nested(host, now->steps);
  return *now;
}

// The entry comes before the promise, so that whoever sees the call pending finds it under its token.
template <class Reply>
void pend(Host& host, const std::string& token, Reply reply) {
  host.pend(token, reply.handle());
  (void)reply.defer();
  reply.release();
}

as::answer answer_now(const std::shared_ptr<Host>& host, const Script& script, const as::call& call) {
  return sound(*host, [&] { return answer_of(*host, enter(host, script), call); });
}

void answer_later(const std::shared_ptr<Host>& host, const Script& script, const as::call& call, as::reply reply) {
  const Script& end = enter(host, script);
  if (end.kind == Script::Kind::Pend) return pend(*host, end.text, std::move(reply));
  try {
    (void)reply.send(sound(*host, [&] { return answer_of(*host, end, call); }));
  } catch (const std::exception& why) {
    (void)reply.fail(why.what());
  }
}

as::answer answer_of(Host& host, const Answer& answer) {
  return sound(host, [&]() -> as::answer {
    if (answer.kind == Answer::Kind::Fail) throw std::runtime_error("told to fail");
    return answer.kind == Answer::Kind::Var ? host.var(answer.text).str() : host.resolve(answer.value).str();
  });
}

void shown(Host& host, const std::string& policy, const std::string& phase, Json context) {
  host.with([&](State& state) { state.contexts.push_back({policy, phase, std::move(context)}); });
}

// What stands for the decision now: a variable is looked up, references are replaced.
Decision current(Host& host, const Decision& decision) {
  if (decision.kind == Decision::Kind::Var) {
    try {
      const Decision held = Decision::parse(host.var(decision.text), "", true);
      if (held.kind != Decision::Kind::Var) return held;
    } catch (const Wrong& why) {
      throw Wrong("variable " + Json::string(decision.text).str() + ": " + why.what());
    }
    throw Wrong("variable " + Json::string(decision.text).str() + " must not name a variable");
  }
  Decision now = decision;
  if (now.value) now.value = host.resolve(*now.value);
  return now;
}

as::decider decider(const std::shared_ptr<Host>& host, const std::string& policy, const std::string& phase,
                    const Decision& decision) {
  const auto told = [=](const as::call& call) { shown(*host, policy, phase, Json::parse_or_say(call.context)); };
  if (decision.kind != Decision::Kind::Pend && decision.kind != Decision::Kind::Var) {
    return [=](const as::call& call) {
      told(call);
      return sound(*host, [&] { return decided(current(*host, decision)); });
    };
  }
  return [=](const as::call& call, as::decision_reply reply) {
    told(call);
    const Decision now = sound(*host, [&] { return current(*host, decision); });
    if (now.kind == Decision::Kind::Pend) return pend(*host, now.text, std::move(reply));
    (void)reply.send(decided(now));
  };
}

Json with_result(const Json& context, Json result) {
  auto members = context.members();
  members.emplace_back("result", std::move(result));
  return Json::object(std::move(members));
}

}  // namespace

as::handler handler(const std::shared_ptr<Host>& host, const Site& site) {
  if (site.script->pends()) {
    return [=](const as::call& call, as::reply reply) {
      ++*site.ran;
      answer_later(host, *site.script, call, std::move(reply));
    };
  }
  return [=](const as::call& call) {
    ++*site.ran;
    return answer_now(host, *site.script, call);
  };
}

as::handler executor(const std::shared_ptr<Host>& host) {
  return [=](const as::call& call, as::reply reply) {
    const std::string path = Json::parse_or_say(call.context).text("path");
    host->with([&](State& state) { ++state.executed[path]; });
    const auto& scripts = host->executor->scripts;
    const auto found = scripts.find(path);
    const auto script = found == scripts.end() ? host->executor->script : found->second;
    if (!script) return host->fail("the executor has no script for " + Json::string(path).str());
    answer_later(host, *script, call, std::move(reply));
  };
}

as::hook hook(const std::shared_ptr<Host>& host, const Answer& answer) {
  return [=] { return answer_of(*host, answer); };
}

as::decision decided(const Decision& decision) {
  switch (decision.kind) {
    case Decision::Kind::Allow: return as::decision::allow();
    case Decision::Kind::Deny: return as::decision::deny(as::failure::of(decision.value->str()));
    case Decision::Kind::Confirm: return as::decision::confirm(summary_text(decision.value));
    default: throw std::runtime_error("told to fail");
  }
}

std::string summary_text(const std::optional<Json>& summary) { return summary ? summary->text() : std::string(); }

as::policy policy(const std::shared_ptr<Host>& host, const std::string& name) {
  const Policy& script = host->policies.at(name);
  as::policy policy;
  if (script.on_discovery) {
    policy.on_discovery = [=, answer = *script.on_discovery](const as::call& call) {
      shown(*host, name, "onDiscovery", Json::parse_or_say(call.context));
      return answer_of(*host, answer);
    };
  }
  if (script.on_authorize) policy.on_authorize = decider(host, name, "onAuthorize", *script.on_authorize);
  if (script.on_invoke) policy.on_invoke = decider(host, name, "onInvoke", *script.on_invoke);
  if (script.has_on_result) {
    policy.on_result = [=, output = script.output](const as::call& call, std::string_view result) -> as::answer {
      shown(*host, name, "onResult", with_result(Json::parse_or_say(call.context), Json::parse_or_say(result)));
      if (!output) return nullptr;
      return sound(*host, [&] { return Json::object({{"output", host->resolve(*output)}}).str(); });
    };
  }
  return policy;
}

as::host host_hooks(const std::shared_ptr<Host>& host, bool audit) {
  as::host hooks;
  hooks.context = [=] { return sound(*host, [&] { return host->var("host").str(); }); };
  if (audit) {
    hooks.audit = [=](std::string_view entry) {
      host->with([&](State& state) { state.audit.push_back(Json::parse_or_say(entry)); });
    };
  }
  return hooks;
}

}  // namespace play
