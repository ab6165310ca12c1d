// The runner's own rules: matching, references, and what makes a file invalid. A runner that lets everything pass would make
// every scenario worthless, so most cases are about what must not pass. The same cases as those of the runner in Rust.
#pragma once

#include <functional>
#include <string>

namespace self_test {

// Gets a case and what is wrong with it, or nothing.
using Report = std::function<void(const std::string& name, const std::string& wrong)>;

void run(const Report& report);

}  // namespace self_test
