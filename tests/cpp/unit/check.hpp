// A test harness of one page, and a small world to test in.
#pragma once

#include <agent_surface_dev.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace as = agent_surface;

// TEST(name) { … } registers itself. A failed check is told with its place, the test goes on, and it counts as failed.
#define TEST(name)                                  \
  static void name();                               \
  static const check::Test test_##name(#name, name); \
  static void name()

#define CHECK(condition) check::holds((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(expected, seen) check::equal((expected), (seen), #seen, __FILE__, __LINE__)
// The text holds the part.
#define CHECK_HAS(part, seen) check::has((part), (seen), #seen, __FILE__, __LINE__)

namespace check {

struct Test {
  Test(const char* name, void (*run)());
};

void holds(bool condition, const char* what, const char* file, int line);
void has(const std::string& part, const std::string& seen, const char* what, const char* file, int line);
void differ(const std::string& expected, const std::string& seen, const char* what, const char* file, int line);

inline std::string shown(const std::string& value) { return value; }
inline std::string shown(std::string_view value) { return std::string(value); }
inline std::string shown(const char* value) { return value; }
template <class T>
std::string shown(const T& value) {
  return std::to_string(value);
}

template <class A, class B>
void equal(const A& expected, const B& seen, const char* what, const char* file, int line) {
  if (expected != seen) differ(shown(expected), shown(seen), what, file, line);
}

}  // namespace check

// A value that another thread gives.
template <class T>
class Given {
 public:
  void give(T value) {
    {
      const std::lock_guard lock(mutex_);
      value_ = std::move(value);
    }
    changed_.notify_all();
  }

  T take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return value_.has_value(); });
    return *std::exchange(value_, std::nullopt);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<T> value_;
};

// A component with one action, `poke`, that takes any object and may answer anything.
inline constexpr char POKE[] = "view:box.poke";
inline constexpr char BOX[] =
    R"({"type":"box","description":"A box","actions":{"poke":{"description":"Poke it","effect":"local-state","input":{"type":"object"}}}})";
// The same, with a policy named "p".
inline constexpr char GUARDED[] =
    R"({"type":"box","description":"A box","policies":["p"],"actions":{"poke":{"description":"Poke it","effect":"local-state","input":{"type":"object"}}}})";

// A registry whose clock stands until it is moved.
as::registry world(as::host host = {}, const char* dispatch = "push");
// A request for the action of the box.
std::string poke(const std::string& input = "{}", const std::string& more = "");
// What one call of the box answers, whose action is this handler.
std::string poked(as::handler handler, const std::string& input = "{}");
