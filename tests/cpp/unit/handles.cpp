// Owners of handles: they move, and what ends gives back.
#include "check.hpp"

#include <thread>
#include <type_traits>

template <class T>
constexpr bool owns = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
                      !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(owns<as::registry> && owns<as::registration> && owns<as::invocation> && owns<as::subscription>);
static_assert(owns<as::toolset> && owns<as::reply> && owns<as::decision_reply>);
static_assert(!std::is_copy_constructible_v<as::json_text>);
static_assert(!std::is_convertible_v<int*, as::answer> && !std::is_convertible_v<void*, as::answer>);

TEST(what_moves_has_one_owner) {
  as::registry surface = world();
  as::registration first = surface.add(BOX, {{"poke", [] {}}}).value();
  const auto raw = first.get();
  as::registration second = std::move(first);
  CHECK_EQUAL(0u, first.get());
  CHECK_EQUAL(raw, second.get());
  CHECK(second && !first);
  CHECK_EQUAL(AS_E_NULL_HANDLE, first.info().code());
  CHECK_HAS("\"active\"", second.info().value());
  as::registration third(second.release());
  CHECK_EQUAL(raw, third.get());
}

TEST(a_registration_ends_with_its_object) {
  as::registry surface = world();
  {
    const as::registration box = surface.add(BOX, {{"poke", [] {}}}).value();
    CHECK_HAS("\"registrations\":1", surface.info().value());
  }
  CHECK_HAS("\"registrations\":0", surface.info().value());
}

TEST(unregistering_again_does_nothing) {
  as::registry surface = world();
  as::registration box = surface.add(BOX, {{"poke", [] {}}}).value();
  CHECK(box.unregister().ok());
  CHECK(box.unregister().ok());
  CHECK_EQUAL(AS_E_STALE_HANDLE, box.info().code());
}

TEST(objects_may_end_in_any_order) {
  as::registration box;
  as::invocation call;
  as::toolset tools;
  as::subscription events;
  {
    as::registry surface = world();
    box = surface.add(BOX, {{"poke", [] { return "1"; }}}).value();
    call = surface.invoke(poke()).value();
    CHECK(call.wait().ok());
    tools = surface.make_toolset(R"({"topology":"embedded"})").value();
    events = surface.subscribe([](std::string_view) {}).value();
  }
  CHECK_HAS("\"output\":1", call.wait().value());
  CHECK_HAS("box", box.info().value());
}

// What a callback refers to may go when the registry has ended.
TEST(the_end_of_a_registry_waits_for_its_callbacks) {
  Given<bool> running, go_on;
  std::atomic<bool> ended{false};
  std::thread end;
  {
    as::registry surface = world();
    const as::registration box = surface.add(BOX, {{"poke", [&] {
      running.give(true);
      go_on.take();
      ended = true;
    }}}).value();
    const as::invocation call = surface.invoke(poke()).value();
    running.take();
    end = std::thread([&, raw = surface.release()] {
      { const as::registry last(raw); }
      CHECK(ended);
    });
  }
  go_on.give(true);
  end.join();
}

TEST(closing_has_a_bound) {
  Given<bool> running, go_on;
  as::registry surface = world();
  const as::registration box = surface.add(BOX, {{"poke", [&] {
    running.give(true);
    go_on.take();
  }}}).value();
  const as::invocation call = surface.invoke(poke()).value();
  running.take();
  CHECK_EQUAL(AS_E_TIMEOUT, surface.close(std::chrono::milliseconds(0)).code());
  go_on.give(true);
  CHECK(surface.close().ok());
  CHECK(surface.close().ok());
  CHECK_EQUAL(AS_E_CLOSED, surface.snapshot().code());
}

TEST(a_registry_may_end_inside_its_own_callback) {
  const std::string before = as::dev::live().value();
  as::registry surface = world();
  {
    const as::registration box = surface.add(BOX, {{"poke", [&] { surface = as::registry(); }}}).value();
    const as::invocation call = surface.invoke(poke()).value();
    CHECK_HAS("\"invocationId\"", call.wait().value());
  }
  // It ends when its callback has returned; nobody has a handle any more to wait for that.
  while (as::dev::live().value() != before) std::this_thread::yield();
}
