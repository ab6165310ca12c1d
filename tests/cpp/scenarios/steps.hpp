// The steps: how one is taken and judged. The rows of the page's table are functions in steps_*.cpp.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host.hpp"
#include "model.hpp"

namespace steps {

// Real time that the runtime may take to become quiet or to close; on a sound runtime it takes none worth speaking of.
constexpr std::chrono::milliseconds PATIENCE{20000};

using Shared = std::shared_ptr<Host>;
using Told = as::result<Json>;

// What a step has done: the library's answer and, where it started one, the invocation.
struct Done {
  Told answer;
  std::shared_ptr<as::invocation> started = nullptr;
};

// One step of the scenario, to the end: done, quiet, and as expected. Throws Wrong.
void run(const Shared& host, std::size_t number, const Step& step);
// Steps inside a handler, in its own thread. What fails there fails the scenario; the handler goes on and answers.
void nested(const Shared& host, const std::vector<Step>& steps);
// Waits until nothing is ready to run.
void quiet(Host& host);

// The value of a step that failed.
Json value_of(const as::error& error);
// Documents, and the lack of one, as answers.
Told parsed(const as::result<std::string>& text);
Told nothing(const as::result<void>& done);

// The fields of a step, as the types the page gives them.
const Json& document(const Json& fields, const char* name);
const std::string& text(const Json& fields, const char* name);
std::int64_t integer(const Json& fields, const char* name);
std::size_t index(const Json& fields);
Json some_of(const Json& fields, std::initializer_list<const char*> names);

// steps_registering.cpp
Done register_component(const Shared& host, const Json& fields);
Done swap(const Shared& host, const Json& fields);
Done update(Host& host, const Json& fields);
Done invalidate(Host& host, const Json& fields);
Done unregister(Host& host, const Json& fields);
// The name a binding has: an observation's or action's as it is, a procedure's with `domain:` before its path.
std::string binding_name(const Json& definition, const std::string& key);

// steps_invoking.cpp
Done invoke(const Shared& host, const Json& fields);
Done call(const Shared& host, const Json& fields);
Done await(Host& host, const Json& fields, bool nested);
Done unsettled(Host& host, const Json& fields);
Done cancel(Host& host, const Json& fields);
Done finish(Host& host, const Json& fields);
Done decide(Host& host, const Json& fields);
Done aborted(Host& host, const Json& fields);
Done outcome(Host& host, const Json& fields);
Done verify(Host& host, const Json& fields);
// The result of a call when the runtime is quiet: what is pending now, nothing but another step could settle.
Told result(const as::invocation& invocation, const std::string& name);

// steps_looking.cpp
Done confirm(Host& host, const Json& fields);
Done pending(Host& host, const Json& fields);
Done snapshot(Host& host, const Json& fields);
Done explain(Host& host, const Json& fields);
Done version(Host& host);
Done events(Host& host, const Json& fields);
Done audit(Host& host, const Json& fields);
Done calls(Host& host, const Json& fields);
Done contexts(Host& host, const Json& fields);
Done toolset(Host& host, const Json& fields);
Done tools(Host& host, const Json& fields);
Done dispose_toolset(Host& host, const Json& fields);

}  // namespace steps
