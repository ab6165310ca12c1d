// JSON as it is written. Numbers keep their text and objects their order, so that what a scenario says reaches the library
// unchanged (an integer of thirty digits included), which a value type with a double inside cannot promise.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

class Json {
 public:
  enum class Type { Null, Bool, Number, String, Array, Object };
  using Member = std::pair<std::string, Json>;

  Json() = default;
  static Json boolean(bool flag);
  static Json number(std::string text);
  static Json count(std::size_t n);
  static Json string(std::string text);
  static Json array(std::vector<Json> items);
  static Json object(std::vector<Member> members);

  // Throws std::runtime_error with the place.
  static Json parse(std::string_view text);
  // What the library wrote; anything else becomes a string that says so.
  static Json parse_or_say(std::string_view text);

  Type type() const { return type_; }
  bool is(Type type) const { return type_ == type; }
  // The name JSON Schema has for it.
  const char* type_name() const;

  const std::vector<Json>& items() const { return items_; }
  const std::vector<Member>& members() const { return members_; }
  // A member of an object; nullptr where there is none.
  const Json* get(std::string_view key) const;
  // A member of an object, or an element of an array by its number.
  const Json* child(std::string_view segment) const;
  // The string, or "".
  const std::string& text() const;
  std::string text(std::string_view key) const;

  const std::string* as_string() const { return is(Type::String) ? &text_ : nullptr; }
  const std::string& as_number() const { return text_; }
  std::optional<bool> as_bool() const;
  std::optional<std::int64_t> as_int() const;
  std::optional<std::size_t> as_index() const;
  bool is_true() const { return is(Type::Bool) && flag_; }
  bool is_integer() const;

  // The same value: numbers by what they are worth, objects whatever the order of their members.
  bool same(const Json& other) const;

  // Compact JSON text.
  std::string str() const;

 private:
  void write(std::string& out) const;

  Type type_ = Type::Null;
  bool flag_ = false;
  std::string text_;
  std::vector<Json> items_;
  std::vector<Member> members_;
};
