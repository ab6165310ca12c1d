// Matching: objects as subsets, arrays element by element and in length, scalars exactly, and the `$` matchers.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "json.hpp"

// What is wrong with a scenario, or with what it has seen.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace matcher {

bool is_matcher(std::string_view key);
bool is_type_name(const std::string& name);
// An unanchored search over code points. Throws Wrong where the pattern is none.
bool search(const std::string& pattern, const std::string& text);

// Throws Wrong, whose text names the JSON Pointer, what was expected and what was seen.
void check(const Json& expected, const Json& seen);
// Each expectation finds an element, in this order, other elements in between being of no interest.
void subsequence(const std::vector<Json>& expected, const std::vector<Json>& seen);

// Short enough for a line of the report.
std::string short_text(const Json& json);
// A JSON Pointer with one more segment.
std::string join(const std::string& pointer, std::string_view segment);

}  // namespace matcher
