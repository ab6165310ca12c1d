// The scenario runner in C++: drives a registry through agent_surface.hpp as scenario files say, and holds what it sees against
// them. The same lines as the one in Rust (tests/scenarios).
//
//   scenarios [--dispatch push|pull] [--filter SUBSTRING] [--self-test] FILE…
//
// One line for each scenario, a last one with the counts; the exit status is 0 only if none failed.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "run.hpp"
#include "self_test.hpp"

namespace {

// Real time after which a scenario counts as hung and is left behind.
constexpr std::chrono::seconds WATCHDOG{60};

struct Arguments {
  bool pull = false, self_test = false;
  std::string filter;
  std::vector<std::string> files;
};

class Tally {
 public:
  void report(const std::string& name, const std::string& wrong) {
    std::cout << (wrong.empty() ? "ok " : "FAIL ") << line(name) << (wrong.empty() ? "" : ": " + line(wrong)) << '\n';
    ++(wrong.empty() ? passed_ : failed_);
  }

  int end() const {
    std::cout << passed_ << " passed, " << failed_ << " failed" << std::endl;
    return failed_ == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  }

 private:
  static std::string line(std::string text) {
    std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    return text;
  }

  int passed_ = 0, failed_ = 0;
};

Arguments arguments(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto argument = [&] {
      if (++i == count) throw Wrong(word + " wants something");
      return std::string(words[i]);
    };
    if (word == "--dispatch") {
      const std::string dispatch = argument();
      if (dispatch != "push" && dispatch != "pull") throw Wrong("--dispatch wants push or pull");
      arguments.pull = dispatch == "pull";
    } else if (word == "--filter") {
      arguments.filter = argument();
    } else if (word == "--self-test") {
      arguments.self_test = true;
    } else if (word[0] == '-') {
      throw Wrong("unknown option " + word);
    } else {
      arguments.files.push_back(word);
    }
  }
  if (arguments.files.empty() && !arguments.self_test) throw Wrong("no file");
  return arguments;
}

Json read(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Wrong("cannot be read");
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  try {
    return Json::parse(text);
  } catch (const std::runtime_error& why) {
    throw Wrong(std::string("not valid JSON: ") + why.what());
  }
}

// On a thread of its own, which is left behind when it hangs. What is wrong with it, or nothing.
std::string run_one(const Json& json, const std::shared_ptr<Options>& options) {
  Scenario scenario;
  try {
    scenario = Scenario::parse(json);
  } catch (const Wrong& fault) {
    return std::string("not a valid scenario: ") + fault.what();
  }
  const auto place = std::make_shared<Place>();
  std::packaged_task<void()> task([=] { run(scenario, *options, place); });
  auto outcome = task.get_future();
  std::thread(std::move(task)).detach();
  if (outcome.wait_for(WATCHDOG) != std::future_status::ready) {
    options->stuck = true;
    return place->get() + ": hangs";
  }
  try {
    outcome.get();
    return {};
  } catch (const Wrong& wrong) {
    return wrong.what();
  } catch (const std::exception& broken) {
    return place->get() + ": the runner itself failed: " + broken.what();
  }
}

void run_file(const std::string& file, const std::string& filter, const std::shared_ptr<Options>& options, Tally& tally) {
  Json content;
  try {
    content = read(file);
  } catch (const Wrong& why) {
    return tally.report(file, why.what());
  }
  const std::vector<Json> scenarios = content.is(Json::Type::Array) ? content.items() : std::vector<Json>{content};
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const Json* named = scenarios[i].get("name");
    const std::string name = named && named->as_string() ? named->text() : file + "[" + std::to_string(i) + "]";
    if (name.find(filter) != std::string::npos) tally.report(name, run_one(scenarios[i], options));
  }
}

}  // namespace

int main(int count, char** words) try {
  const Arguments asked = arguments(count, words);
  Tally tally;
  const auto options = std::make_shared<Options>();
  options->pull = asked.pull;
  if (asked.self_test) {
    self_test::run([&](const std::string& name, const std::string& wrong) { tally.report(name, wrong); });
  }
  for (const std::string& file : asked.files) run_file(file, asked.filter, options, tally);
  const int status = tally.end();
  if (options->stuck) std::_Exit(status);  // a thread that hangs still uses what a return would take down
  return status;
} catch (const Wrong& why) {
  std::cerr << why.what() << "\nusage: scenarios [--dispatch push|pull] [--filter SUBSTRING] [--self-test] FILE…\n";
  return 2;
}
