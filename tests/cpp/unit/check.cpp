#include "check.hpp"

#include <iostream>
#include <vector>

namespace {

struct Entry {
  const char* name;
  void (*run)();
};

std::vector<Entry>& tests() {
  static std::vector<Entry> tests;
  return tests;
}

int failures = 0;

void fail(const std::string& what, const char* file, int line) {
  std::cout << file << ':' << line << ": " << what << '\n';
  ++failures;
}

}  // namespace

check::Test::Test(const char* name, void (*run)()) { tests().push_back({name, run}); }

void check::holds(bool condition, const char* what, const char* file, int line) {
  if (!condition) fail(std::string("does not hold: ") + what, file, line);
}

void check::has(const std::string& part, const std::string& seen, const char* what, const char* file, int line) {
  if (seen.find(part) == std::string::npos) fail(std::string(what) + " has no " + part + ": " + seen, file, line);
}

void check::differ(const std::string& expected, const std::string& seen, const char* what, const char* file, int line) {
  fail(std::string(what) + ": expected " + expected + ", saw " + seen, file, line);
}

as::registry world(as::host host, const char* dispatch) {
  const std::string config = R"({"environment":"test","clock":{"manual":{"start":"2026-01-01T00:00:00.000Z"}},"dispatch":")" +
                             std::string(dispatch) + "\"}";
  return as::registry::make(config, std::move(host)).value();
}

std::string poke(const std::string& input, const std::string& more) {
  return std::string("{\"capabilityId\":\"") + POKE + "\",\"input\":" + input + more + "}";
}

std::string poked(as::handler handler, const std::string& input) {
  as::registry surface = world();
  const as::registration box = surface.add(BOX, {{"poke", std::move(handler)}}).value();
  return surface.invoke_wait(poke(input)).value();
}

// Each test, and after each nothing of the library may be alive.
int main() {
  int passed = 0, failed = 0;
  for (const Entry& test : tests()) {
    failures = 0;
    const std::string before = as::dev::live().value();
    try {
      test.run();
    } catch (const std::exception& why) {
      fail(std::string("threw ") + why.what(), test.name, 0);
    }
    CHECK_EQUAL(before, as::dev::live().value());
    std::cout << (failures ? "FAIL " : "ok ") << test.name << '\n';
    ++(failures ? failed : passed);
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed ? 1 : 0;
}
