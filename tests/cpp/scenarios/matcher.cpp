#include "matcher.hpp"

#include <algorithm>
#include <array>
#include <regex>

namespace matcher {
namespace {

// Functions take a pointer: nullptr is a member that is not there, so that `$absent` needs no case of its own.
using Seen = const Json*;

void at(const std::string& pointer, const Json& expected, Seen seen);

bool matches(const Json& expected, Seen seen) {
  try {
    at("", expected, seen);
    return true;
  } catch (const Wrong&) {
    return false;
  }
}

[[noreturn]] void differs(const std::string& pointer, const std::string& expected, Seen seen) {
  const std::string place = pointer.empty() ? "" : "at " + pointer + " ";
  throw Wrong(place + "expected " + expected + ", saw " + (seen ? short_text(*seen) : "nothing"));
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::optional<std::size_t> length(const Json& seen) {
  switch (seen.type()) {
    case Json::Type::Array: return seen.items().size();
    case Json::Type::Object: return seen.members().size();
    case Json::Type::String: return characters(seen.text());
    default: return {};
  }
}

bool special(const std::string& name, const Json& argument, Seen seen) {
  const auto matches_argument = [&](const Json& item) { return matches(argument, &item); };
  const auto matches_seen = [&](const Json& wanted) { return matches(wanted, seen); };
  if (name == "$exact") return seen && argument.same(*seen);
  if (name == "$any") return seen;
  if (name == "$absent") return !seen;
  if (name == "$match") return seen && argument.as_string() && seen->as_string() && search(argument.text(), seen->text());
  if (name == "$type") return seen && (argument.text() == "integer" ? seen->is_integer() : argument.text() == seen->type_name());
  if (name == "$len") return seen && length(*seen) && argument.same(Json::count(*length(*seen)));
  if (name == "$oneOf") return std::any_of(argument.items().begin(), argument.items().end(), matches_seen);
  if (name == "$contains") return seen && std::any_of(seen->items().begin(), seen->items().end(), matches_argument);
  return !matches(argument, seen);
}

void subset(const std::string& pointer, const Json& expected, Seen seen) {
  if (!seen || !seen->is(Json::Type::Object)) differs(pointer, short_text(expected), seen);
  for (const auto& [key, wanted] : expected.members()) {
    if (!is_matcher(key)) at(join(pointer, key), wanted, seen->get(key));
  }
}

void elements(const std::string& pointer, const Json& expected, Seen seen) {
  const auto& wanted = expected.items();
  if (!seen || !seen->is(Json::Type::Array)) differs(pointer, short_text(expected), seen);
  if (seen->items().size() != wanted.size()) {
    differs(pointer, std::to_string(wanted.size()) + " elements " + short_text(expected), seen);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) at(join(pointer, std::to_string(i)), wanted[i], &seen->items()[i]);
}

void at(const std::string& pointer, const Json& expected, Seen seen) {
  if (expected.is(Json::Type::Array)) return elements(pointer, expected, seen);
  if (!expected.is(Json::Type::Object)) {
    if (!seen || !expected.same(*seen)) differs(pointer, short_text(expected), seen);
    return;
  }
  std::size_t matchers = 0;
  for (const auto& [name, argument] : expected.members()) {
    if (!is_matcher(name)) continue;
    ++matchers;
    if (!special(name, argument, seen)) differs(pointer, "{\"" + name + "\":" + short_text(argument) + "}", seen);
  }
  if (matchers == 0 || matchers < expected.members().size()) subset(pointer, expected, seen);
}

// wchar_t holds a code point here, so that `.` is a character and no byte.
std::wstring decode(const std::string& text) {
  std::wstring out;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i++]);
    wchar_t point = byte < 0x80 ? byte : byte < 0xe0 ? byte & 0x1f : byte < 0xf0 ? byte & 0x0f : byte & 0x07;
    while (i < text.size() && is_continuation(text[i])) point = (point << 6) | (text[i++] & 0x3f);
    out += point;
  }
  return out;
}

}  // namespace

bool is_matcher(std::string_view key) {
  static constexpr std::array<std::string_view, 9> NAMES = {"$exact", "$any",   "$absent",   "$match", "$type",
                                                            "$len",   "$oneOf", "$contains", "$not"};
  return std::find(NAMES.begin(), NAMES.end(), key) != NAMES.end();
}

bool is_type_name(const std::string& name) {
  static constexpr std::array<std::string_view, 7> NAMES = {"null",   "boolean", "number", "integer",
                                                            "string", "array",   "object"};
  return std::find(NAMES.begin(), NAMES.end(), name) != NAMES.end();
}

bool search(const std::string& pattern, const std::string& text) try {
  static_assert(sizeof(wchar_t) == 4);
  return std::regex_search(decode(text), std::wregex(decode(pattern)));
} catch (const std::regex_error& why) {
  throw Wrong("bad pattern " + pattern + ": " + why.what());
}

void check(const Json& expected, const Json& seen) { at("", expected, &seen); }

void subsequence(const std::vector<Json>& expected, const std::vector<Json>& seen) {
  auto rest = seen.begin();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    rest = std::find_if(rest, seen.end(), [&](const Json& item) { return matches(expected[i], &item); });
    if (rest != seen.end()) {
      ++rest;
      continue;
    }
    std::string names;
    for (const Json& item : seen) {
      names += (names.empty() ? "" : ", ") + short_text(item.get("type") ? *item.get("type") : item);
    }
    const std::string after = i == 0 ? "" : " after the first " + std::to_string(i) + " expected ones";
    throw Wrong("expected " + short_text(expected[i]) + after + ", saw " + std::to_string(seen.size()) + " elements [" + names + "]");
  }
}

std::string short_text(const Json& json) {
  constexpr std::size_t MOST = 400;
  const std::string text = json.str();
  std::size_t end = 0;
  for (std::size_t n = 0; end < text.size() && n < MOST; ++n) {
    do ++end;
    while (end < text.size() && is_continuation(text[end]));
  }
  return end == text.size() ? text : text.substr(0, end) + "…";
}

std::string join(const std::string& pointer, std::string_view segment) {
  std::string out = pointer + "/";
  for (const char c : segment) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace matcher
