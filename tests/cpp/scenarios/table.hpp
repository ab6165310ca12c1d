// The table of steps: which fields each has, and what they may hold.
#pragma once

#include <string>
#include <vector>

#include "json.hpp"

namespace table {

// What a field may hold. A document goes to the library as it is, which is the judge of it.
enum class Kind {
  Document, Name, Text, Integer, Index, Flag, Texts, Object, Scripts, Answers, Confirmation, Matcher, Mode, Phase
};

struct Field {
  std::string name;
  Kind kind;
  bool required;
};
using Fields = std::vector<Field>;

// The fields of a step beside `expect` and `code`, which every step has; nullptr where there is no such step.
const Fields* fields_of(const std::string& action);
// Throws Wrong where the value, a member of what stands at `at`, is none the field may hold.
void check(const Json* value, const Field& field, const std::string& at);

}  // namespace table
