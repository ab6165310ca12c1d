// Steps on calls: start one, wait for it, cancel it, answer what it left pending, and ask about it afterwards.

#include "play.hpp"
#include "steps.hpp"

namespace steps {
namespace {

using std::chrono::milliseconds;

// Counts how often a result is reported; it holds the host, so that a table that is never destroyed is seen.
auto counting(const Shared& host, const std::shared_ptr<std::atomic<int>>& reports) {
  return [host, reports](std::string_view) { ++*reports; };
}

Done started(const Shared& host, const Json& fields, const std::shared_ptr<std::atomic<int>>& reports,
             as::result<as::invocation> made) {
  if (!made) return {made.error()};
  const auto invocation = std::make_shared<as::invocation>(std::move(*made));
  host->with([&](State& state) { state.invocations.push_back({invocation, reports}); });
  host->name(fields.text("as"), {{}, {}, {}, invocation, {}});
  return {Json(), invocation};
}

std::shared_ptr<as::invocation> invocation(Host& host, const Json& fields) {
  const std::string& name = text(fields, "invocation");
  const auto found = host.named(name).invocation;
  if (!found) throw Wrong(Json::string(name).str() + " is no invocation");
  return found;
}

as::call asking(as_reply reply) { return {{}, {}, reply}; }

// The call that the step answers, marked as answered. Its handle dies with the answer, so what `aborted` would say of it is
// kept first.
as_reply unanswered(Host& host, const Json& fields) {
  const std::string& token = text(fields, "token");
  const std::size_t wanted = index(fields);
  const auto find = [&](State& state) -> Pending& {
    std::size_t open = 0;
    for (Pending& pending : state.tokens[token]) {
      if (!pending.answered && open++ == wanted) return pending;
    }
    throw Wrong("expected an unanswered call " + std::to_string(wanted) + " under " + Json::string(token).str() + ", saw none");
  };
  const as_reply reply = host.with([&](State& state) { return find(state).reply; });
  const auto aborted = asking(reply).aborted();
  host.with([&](State& state) { find(state) = {reply, true, aborted.ok() && *aborted}; });
  return reply;
}

}  // namespace

Done invoke(const Shared& host, const Json& fields) {
  const auto reports = std::make_shared<std::atomic<int>>(0);
  const std::string request = document(fields, "request").str();
  const std::string options = some_of(fields, {"consumer", "timeoutMs", "deadlineMs"}).str();
  return started(host, fields, reports, host->registry.invoke(request, options, counting(host, reports)));
}

Done call(const Shared& host, const Json& fields) {
  const std::string& name = text(fields, "toolset");
  const auto toolset = host->named(name).toolset;
  if (!toolset) throw Wrong(Json::string(name).str() + " is no toolset");
  const auto reports = std::make_shared<std::atomic<int>>(0);
  const std::string call = some_of(fields, {"name", "input", "toolCallId"}).str();
  return started(host, fields, reports, toolset->call(call, counting(host, reports)));
}

Done await(Host& host, const Json& fields, bool nested) {
  const auto handle = invocation(host, fields);
  if (nested) return {parsed(handle->wait())};
  if (fields.get("code")) return {parsed(handle->wait(milliseconds(0)))};
  return {result(*handle, text(fields, "invocation"))};
}

Told result(const as::invocation& invocation, const std::string& name) {
  const auto answer = invocation.wait(milliseconds(0));
  if (answer.code() == AS_E_TIMEOUT) {
    throw Wrong("expected a result, saw " + name + " pending, and nothing left to run that could settle it");
  }
  return parsed(answer);
}

Done unsettled(Host& host, const Json& fields) {
  const auto answer = invocation(host, fields)->wait(milliseconds(0));
  if (answer) throw Wrong("expected it to be pending, saw " + matcher::short_text(Json::parse_or_say(*answer)));
  if (answer.code() == AS_E_TIMEOUT) return {Json()};
  return {parsed(answer)};
}

Done cancel(Host& host, const Json& fields) { return {nothing(invocation(host, fields)->cancel())}; }

Done finish(Host& host, const Json& fields) {
  as::reply reply(unanswered(host, fields));
  if (const Json* output = fields.get("return")) return {nothing(reply.send(output->str()))};
  if (const Json* payload = fields.get("reject")) return {nothing(reply.send(as::failure::of(payload->str())))};
  return {nothing(reply.fail(text(fields, "fail")))};
}

Done decide(Host& host, const Json& fields) {
  as::decision_reply reply(unanswered(host, fields));
  const auto decision = [&] {
    if (const Json* payload = fields.get("deny")) return as::decision::deny(as::failure::of(payload->str()));
    if (const Json* confirm = fields.get("confirm")) return as::decision::confirm(confirm->text("summary"));
    return as::decision::allow();
  };
  return {nothing(reply.send(decision()))};
}

Done aborted(Host& host, const Json& fields) {
  const std::string& token = text(fields, "token");
  const std::size_t wanted = index(fields);
  const Pending pending = host.with([&](State& state) {
    const auto& calls = state.tokens[token];
    if (wanted < calls.size()) return calls[wanted];
    throw Wrong("expected a call " + std::to_string(wanted) + " under " + Json::string(token).str() + ", saw none");
  });
  const auto answer = asking(pending.reply).aborted();
  if (answer.code() == AS_E_STALE_HANDLE && pending.answered && !fields.get("code")) return {Json::boolean(pending.aborted)};
  if (!answer) return {answer.error()};
  return {Json::boolean(*answer)};
}

Done outcome(Host& host, const Json& fields) {
  auto members = some_of(fields, {"consumer"}).members();
  members.emplace_back("invocationId", document(fields, "id"));
  return {parsed(host.registry.outcome(Json::object(std::move(members)).str()))};
}

// `result` is a result, or the name of an earlier one.
Done verify(Host& host, const Json& fields) {
  const Json& given = document(fields, "result");
  const Json result = given.as_string() ? host.value(given.text()) : given;
  return {parsed(as::verify_result(result.str(), document(fields, "request").str()))};
}

}  // namespace steps
