// Pull dispatch: a user interface that runs everything of the agent's on its own thread.
#include "check.hpp"

#include <map>
#include <thread>

namespace {

// Takes work until there is none, and answers what it was.
class Interface {
 public:
  explicit Interface(const as::registry& surface) : surface_(surface) {}

  std::map<std::string, as::handler> handlers;
  std::map<std::string, as::policy> policies;

  std::string pump() {
    std::string done;
    for (;;) {
      auto work = surface_.next(std::chrono::milliseconds(0));
      if (!work) return done;
      done += work->what + " " + work->name + (work->phase.empty() ? "" : " " + work->phase) + "\n";
      if (work->what == "call") handlers.at(work->name)(*work);
      if (work->what == "policy") {
        const as::policy& policy = policies.at(work->name);
        (work->phase == "onInvoke" ? policy.on_invoke : policy.on_authorize)(*work);
      }
    }
  }

 private:
  const as::registry& surface_;
};

// In a pull registry the functions of a binding are named, never called.
void never() { CHECK(false); }

}  // namespace

TEST(everything_runs_on_the_thread_that_pumps) {
  as::registry surface = world({}, "pull");
  Interface ui(surface);
  std::thread::id ran;
  ui.handlers[POKE] = [&](const as::call& call) {
    ran = std::this_thread::get_id();
    return call.input;
  };
  ui.policies["p"].on_authorize = [] { return as::decision::allow(); };
  CHECK(surface.define_policy("p", ui.policies["p"]).ok());
  const as::registration box = surface.add(GUARDED, {{"poke", never}}).value();
  const as::invocation call = surface.invoke(poke(R"({"n":1})")).value();
  std::string done;
  for (; !call.wait(std::chrono::milliseconds(0)).ok(); std::this_thread::yield()) done += ui.pump();
  CHECK_EQUAL("policy p onAuthorize\ncall view:box.poke\n", done);
  CHECK_HAS(R"("output":{"n":1})", call.wait(std::chrono::milliseconds(0)).value());
  CHECK(ran == std::this_thread::get_id());
}

TEST(work_may_be_answered_later) {
  as::registry surface = world({}, "pull");
  const as::registration box = surface.add(BOX, {{"poke", never}}).value();
  const as::invocation call = surface.invoke(poke()).value();
  as::work work = surface.next().value();
  CHECK_EQUAL("call", work.what);
  CHECK_EQUAL("{}", work.input);
  CHECK(work.output.defer().ok());
  CHECK(as::dev::quiesce(surface).ok());
  CHECK_EQUAL(AS_E_TIMEOUT, call.wait(std::chrono::milliseconds(0)).code());
  CHECK(work.output.send("1").ok());
  CHECK(as::dev::quiesce(surface).ok());
  CHECK_HAS(R"("output":1)", call.wait(std::chrono::milliseconds(0)).value());
}

TEST(work_that_is_dropped_has_failed) {
  as::registry surface = world({}, "pull");
  const as::registration box = surface.add(BOX, {{"poke", never}}).value();
  const as::invocation call = surface.invoke(poke()).value();
  { const as::work work = surface.next().value(); }
  CHECK(as::dev::quiesce(surface).ok());
  CHECK_HAS("handler-error", call.wait(std::chrono::milliseconds(0)).value());
}

TEST(a_handler_that_throws_fails_its_work) {
  as::registry surface = world({}, "pull");
  const as::registration box = surface.add(BOX, {{"poke", never}}).value();
  const as::invocation call = surface.invoke(poke()).value();
  as::work work = surface.next().value();
  as::handler([]() -> as::answer { throw as::failure("RATE_LIMITED", "Later."); })(work);
  CHECK(as::dev::quiesce(surface).ok());
  CHECK_HAS("RATE_LIMITED", call.wait(std::chrono::milliseconds(0)).value());
}

TEST(a_push_registry_hands_nothing_out) { CHECK_EQUAL(AS_E_ARGUMENT, world().next(std::chrono::milliseconds(0)).code()); }

TEST(a_closed_registry_hands_nothing_out) {
  as::registry surface = world({}, "pull");
  CHECK_EQUAL(AS_E_TIMEOUT, surface.next(std::chrono::milliseconds(0)).code());
  CHECK(surface.close().ok());
  CHECK_EQUAL(AS_E_CLOSED, surface.next().code());
}
