#include "self_test.hpp"

#include "matcher.hpp"
#include "model.hpp"
#include "refs.hpp"

namespace {

struct Match {
  const char *expected, *seen;
  bool matches;
};

// Each with what it becomes, or where it is wrong; nullptr where it cannot be resolved, or is right.
struct Case {
  const char *given, *becomes;
};

const Match MATCHES[] = {
    {R"json({"a":1})json", R"json({"a":1,"b":2})json", true},
    {R"json({"a":{"b":1}})json", R"json({"a":{"b":1,"c":2}})json", true},
    {R"json({"a":1})json", R"json({"b":1})json", false},
    {R"json({"a":null})json", R"json({})json", false},
    {R"json({})json", R"json([])json", false},
    {R"json([1,2])json", R"json([1,2])json", true},
    {R"json([1])json", R"json([1,2])json", false},
    {R"json([2,1])json", R"json([1,2])json", false},
    {R"json([{"a":1}])json", R"json([{"a":1,"b":2}])json", true},
    {"1", "1.0", true},
    {"9007199254740993", "9007199254740992", false},
    {"9007199254740993", "9007199254740992.0", false},
    {"1", "\"1\"", false},
    {"null", "null", true},
    {"false", "null", false},
    {R"json({"$exact":{"a":1}})json", R"json({"a":1})json", true},
    {R"json({"$exact":{"a":1}})json", R"json({"a":1,"b":2})json", false},
    {R"json({"$exact":{"a":1,"b":2}})json", R"json({"b":2,"a":1})json", true},
    {R"json({"$exact":{"$any":true}})json", R"json({"$any":true})json", true},
    {R"json({"$exact":{"$any":true}})json", "1", false},
    {R"json({"a":{"$any":true}})json", R"json({"a":null})json", true},
    {R"json({"a":{"$any":true}})json", R"json({})json", false},
    {R"json({"a":{"$absent":true}})json", R"json({})json", true},
    {R"json({"a":{"$absent":true}})json", R"json({"a":null})json", false},
    {R"json({"$match":"b+c"})json", R"json("abbcd")json", true},
    {R"json({"$match":"^b"})json", R"json("abbcd")json", false},
    {R"json({"$match":"1"})json", "1", false},
    {R"json({"$type":"integer"})json", "1", true},
    {R"json({"$type":"integer"})json", "1.5", false},
    {R"json({"$type":"number"})json", "1.5", true},
    {R"json({"$type":"object"})json", "null", false},
    {R"json({"$len":2})json", R"json([0,0])json", true},
    {R"json({"$len":2})json", R"json("äö")json", true},
    {R"json({"$len":2})json", R"json({"a":1})json", false},
    {R"json({"$len":0})json", "null", false},
    {R"json({"$oneOf":["a",{"$type":"null"}]})json", "null", true},
    {R"json({"$oneOf":["a","b"]})json", R"json("c")json", false},
    {R"json({"a":{"$oneOf":[{"$absent":true},1]}})json", "{}", true},
    {R"json({"$contains":{"a":1}})json", R"json([0,{"a":1,"b":2}])json", true},
    {R"json({"$contains":1})json", R"json([0,2])json", false},
    {R"json({"$contains":1})json", "1", false},
    {R"json({"$not":1})json", "2", true},
    {R"json({"$not":{"a":{"$any":true}}})json", R"json({"a":1})json", false},
    {R"json({"$not":{"$contains":1}})json", "[2]", true},
    {R"json({"$type":"string","$match":"x"})json", R"json("y")json", false},
    {R"json({"$ref":"#/$defs/a"})json", R"json({"$ref":"#/$defs/a"})json", true},
    {R"json({"$ref":"#/$defs/a"})json", R"json({"$ref":"#/$defs/b"})json", false},
};

const Match SUBSEQUENCES[] = {
    {"[1,3]", "[1,2,3]", true},
    {"[]", "[1]", true},
    {"[3,1]", "[1,2,3]", false},
    {"[1,1]", "[1,2]", false},
    {"[4]", "[1,2]", false},
};

// A string of a step and what it becomes. `i1` is the only name.
const Case REFERENCES[] = {
    {R"json("$i1.error.details.confirmationId")json", R"json("cnf_1")json"},
    {R"json("$i1.list.1.x")json", "7"},
    {R"json({"a":["$i1.list.0"]})json", R"json({"a":[{"x":6}]})json"},
    {R"json("$$i1.error")json", R"json("$i1.error")json"},
    {R"json("$$$")json", R"json("$$")json"},
    {R"json("a$i1")json", R"json("a$i1")json"},
    {R"json({"$i1":1})json", R"json({"$i1":1})json"},
    {R"json("$i1.error.nothing")json", nullptr},
    {R"json("$i1.list.2")json", nullptr},
    {R"json("$i2")json", nullptr},
    {R"json("$")json", nullptr},
};
const char I1[] = R"json({"error":{"details":{"confirmationId":"cnf_1"}},"list":[{"x":6},{"x":7}]})json";

// A scenario, and where it is wrong.
const Case FILES[] = {
    {R"json({"name":"n","requirements":["x"],"registry":{},"policies":{},"vars":{},"steps":[]})json", nullptr},
    {R"json({"name":"n","steps":[{"do":"finish","token":"t","index":1,"return":null,"expect":"late"}]})json", nullptr},
    {R"json({"name":"n","steps":[{"do":"invoke","as":"i","request":{}},{"do":"confirm","id":"$i.x"}]})json", nullptr},
    {R"json({"name":"n","steps":[{"do":"update","registration":"r","patch":{},"code":{"$oneOf":["AS_OK"]}}]})json", nullptr},
    {
        R"json({"name":"n","executor":{"paths":["a"],"script":{"sequence":[{"doing":[{"do":"version"}],"then":{"echo":true}}]}},"steps":[]})json",
        nullptr,
    },
    {R"json({"name":"n","steps":[{"do":"snapshot","scope":"a","budget":[]},{"do":"invoke","request":1,"timeoutMs":"x"}]})json", nullptr},
    {"[]", "the top"},
    {R"json({"steps":[]})json", "/name"},
    {R"json({"name":"n"})json", "/steps"},
    {R"json({"name":"n","steps":{}})json", "/steps"},
    {R"json({"name":"n","steps":[],"extra":1})json", "/extra"},
    {R"json({"name":"n","requirements":5,"steps":[]})json", nullptr},
    {R"json({"name":"n","registry":[],"steps":[]})json", "/registry"},
    {R"json({"name":"n","steps":[{"do":"fly"}]})json", "/steps/0/do"},
    {R"json({"name":"n","steps":[{"as":"x"}]})json", "/steps/0/do"},
    {R"json({"name":"n","steps":[{"do":"version"},{"do":"invoke","request":{},"wait":1}]})json", "/steps/1/wait"},
    {R"json({"name":"n","steps":[{"do":"invoke"}]})json", "/steps/0/request"},
    {R"json({"name":"n","steps":[{"do":"advance","ms":"5"}]})json", "/steps/0/ms"},
    {R"json({"name":"n","steps":[{"do":"aborted","token":"t","index":-1}]})json", "/steps/0/index"},
    {R"json({"name":"n","steps":[{"do":"events","mode":"loose"}]})json", "/steps/0/mode"},
    {R"json({"name":"n","steps":[{"do":"contexts","policy":"p","phase":"later"}]})json", "/steps/0/phase"},
    {R"json({"name":"n","steps":[{"do":"version","expect":"1","code":"AS_OK"}]})json", "/steps/0/code"},
    {R"json({"name":"n","steps":[{"do":"version","expect":{"$type":"text"}}]})json", "/steps/0/expect/$type"},
    {R"json({"name":"n","steps":[{"do":"version","expect":{"$match":"("}}]})json", "/steps/0/expect/$match"},
    {R"json({"name":"n","steps":[{"do":"finish","token":"t"}]})json", "/steps/0"},
    {R"json({"name":"n","steps":[{"do":"finish","token":"t","return":1,"fail":"x"}]})json", "/steps/0"},
    {R"json({"name":"n","steps":[{"do":"decide","token":"t","allow":false}]})json", "/steps/0/allow"},
    {
        R"json({"name":"n","steps":[{"do":"register","definition":{},"handlers":{"a":{"shout":true}}}]})json",
        "/steps/0/handlers/a/shout",
    },
    {
        R"json({"name":"n","steps":[{"do":"register","definition":{},"handlers":{"a":{"echo":true,"none":true}}}]})json",
        "/steps/0/handlers/a",
    },
    {
        R"json({"name":"n","steps":[{"do":"register","definition":{},"handlers":{"a":{"sequence":[]}}}]})json",
        "/steps/0/handlers/a/sequence",
    },
    {
        R"json({"name":"n","steps":[{"do":"register","definition":{},"when":{"a":{"echo":true}}}]})json",
        "/steps/0/when/a/echo",
    },
    {
        R"json({"name":"n","steps":[{"do":"register","definition":{},"handlers":{"a":{"doing":[{"do":"invoke","request":{},"expect":{}}],"then":{"echo":true}}}}]})json",
        "/steps/0/handlers/a/doing/0/expect",
    },
    {
        R"json({"name":"n","policies":{"p":{"onAuthorize":{"confirm":{}}}},"steps":[]})json",
        "/policies/p/onAuthorize/confirm",
    },
    {R"json({"name":"n","policies":{"p":{"onResult":{"const":1}}},"steps":[]})json", "/policies/p/onResult/const"},
    {R"json({"name":"n","policies":{"p":{"onDismissal":{}}},"steps":[]})json", "/policies/p/onDismissal"},
    {R"json({"name":"n","executor":{"paths":["a"]},"steps":[]})json", "/executor"},
    {R"json({"name":"n","steps":[{"do":"confirm","id":"$nobody.id"}]})json", "/steps"},
};

const char* const NOT_JSON[] = {"", "{", "[1,]", "{\"a\":1,}", "01", "1.", "+1", "nul", "'a'", "\"\n\"", "\"\\ud800\"", "1 2", "\"\\u12\""};

// What is wrong when `work` is done, or nothing.
template <class F>
std::string wrong(F&& work) {
  try {
    work();
    return {};
  } catch (const std::runtime_error& why) {
    return why.what();
  }
}

std::string verdict(const Match& match, const std::string& wrong) {
  if (match.matches == wrong.empty()) return {};
  return match.matches ? std::string("should match ") + match.seen + ": " + wrong : std::string("should not match ") + match.seen;
}

std::string reference(const Case& one) {
  const auto lookup = [](const std::string& name) {
    if (name != "i1") throw Wrong("unknown");
    return Json::parse(I1);
  };
  std::string became = "nothing";
  const std::string unresolved = wrong([&] { became = refs::resolve(Json::parse(one.given), lookup).str(); });
  if (!one.becomes) return unresolved.empty() ? became : "";
  return Json::parse_or_say(became).same(Json::parse(one.becomes)) ? "" : became + unresolved;
}

std::string validity(const Case& one) {
  const std::string fault = wrong([&] { Scenario::parse(Json::parse(one.given)); });
  if (!one.becomes) return fault;
  if (fault.empty()) return std::string("should be wrong at ") + one.becomes;
  return fault.rfind(std::string("at ") + one.becomes + ":", 0) == 0 ? "" : fault;
}

}  // namespace

void self_test::run(const Report& report) {
  for (const Match& match : MATCHES) {
    const auto check = [&] { matcher::check(Json::parse(match.expected), Json::parse(match.seen)); };
    report(match.expected, verdict(match, wrong(check)));
  }
  for (const Match& match : SUBSEQUENCES) {
    const auto check = [&] { matcher::subsequence(Json::parse(match.expected).items(), Json::parse(match.seen).items()); };
    report(match.expected, verdict(match, wrong(check)));
  }
  for (const Case& one : REFERENCES) report(one.given, reference(one));
  for (const Case& one : FILES) report(one.given, validity(one));
  for (const char* text : NOT_JSON) {
    Json read;
    report(text, wrong([&] { read = Json::parse(text); }).empty() ? "read as " + read.str() : "");
  }
  const std::string numbers = "[123456789012345678901234567890,1.50,-0,1e400]";
  const std::string written = Json::parse(numbers).str();
  report("numbers keep their text", written == numbers ? "" : written);
  const std::string said =
      wrong([] { matcher::check(Json::parse(R"({"a/b":[1,{"c":2}]})"), Json::parse(R"({"a/b":[1,{"c":3}]})")); });
  report("a mismatch says where", said == "at /a~1b/1/c expected 2, saw 3" ? "" : said);
}
