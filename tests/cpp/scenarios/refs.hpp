// References: the string `"$i1.error.code"` stands for that value of an earlier `as`; `"$$x"` is the literal `"$x"`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "json.hpp"

namespace refs {

// Finds what a name stands for, or throws Wrong.
using Lookup = std::function<Json(const std::string& name)>;

// The reference in a string, without its `$`; nothing for ordinary text and for an escaped `$$`.
std::optional<std::string> reference(const std::string& text);
// The same document with every reference replaced. Keys are never references.
Json resolve(const Json& json, const Lookup& lookup);
// Adds the names that a document refers to.
void names(const Json& json, std::vector<std::string>& found);

}  // namespace refs
