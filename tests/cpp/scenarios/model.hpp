// A scenario, read and checked against the page: every field known, of its type, and every reference to a name that exists.
// What is wrong with a file is thrown as Wrong, with its place (a JSON Pointer).
//
// JSON inside a script keeps its references; they are resolved when the script runs.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "json.hpp"
#include "matcher.hpp"

struct Step {
  std::string action;
  Json fields;
};

// What a handler or the executor does.
struct Script {
  enum class Kind { Return, Echo, Confirmation, Var, Reject, Fail, Raw, Pend, Sequence, Doing, None };

  Kind kind = Kind::None;
  Json value;                                  // Return, Reject
  std::string text;                            // Var, Fail, Raw, Pend
  std::vector<std::shared_ptr<Script>> parts;  // Sequence; the `then` of Doing
  std::vector<Step> steps;                     // Doing
  mutable std::atomic<std::size_t> used{0};

  static std::shared_ptr<Script> parse(const Json& json, const std::string& at);
  // The script of this call: a sequence gives one per call, and its last one ever after.
  const Script& next() const;
  // Whether it may leave a call pending.
  bool pends() const;
};

// What `when`, `bind`, `describe`, `precondition` and `onDiscovery` answer.
struct Answer {
  enum class Kind { Const, Var, Fail };

  Kind kind = Kind::Fail;
  Json value;        // Const
  std::string text;  // Var

  static Answer parse(const Json& json, const std::string& at);
};

// How a policy decides a call.
struct Decision {
  enum class Kind { Allow, Deny, Confirm, Pend, Fail, Var };

  Kind kind = Kind::Fail;
  std::optional<Json> value;  // the payload of Deny, the summary of Confirm
  std::string text;           // Pend, Var

  // `confirms` says whether the phase may ask for a confirmation, which only `onInvoke` may.
  static Decision parse(const Json& json, const std::string& at, bool confirms);
};

struct Policy {
  std::optional<Answer> on_discovery;
  std::optional<Decision> on_authorize, on_invoke;
  bool has_on_result = false;
  std::optional<Json> output;  // what on_result replaces the output with; it only observes without

  static Policy parse(const Json& json, const std::string& at);
};

// The registry's procedure executor: one script for all paths, or one for each.
struct Executor {
  Json paths;
  std::shared_ptr<Script> script;
  std::map<std::string, std::shared_ptr<Script>> scripts;

  static Executor parse(const Json& json);
};

struct Scenario {
  Json registry = Json::object({});
  std::map<std::string, Policy> policies;
  std::optional<Executor> executor;
  std::vector<Json::Member> vars;
  std::vector<Step> steps;

  static Scenario parse(const Json& json);
};

namespace model {

[[noreturn]] void fault(const std::string& at, const std::string& what);
const std::vector<Json::Member>& object(const Json& json, const std::string& at);
// A list of steps; `nested` ones run inside a handler, where nothing may wait for a result.
std::vector<Step> steps(const Json& json, const std::string& at, bool nested);
// The summary in `{"summary"?: "…"}`.
std::optional<Json> summary(const Json& json, const std::string& at);
// The fields of a step that hold scripts; references in them wait until the script runs.
bool is_scripted(const std::string& field);

}  // namespace model
