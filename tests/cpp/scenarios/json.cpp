#include "json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace {

// Deeper than any limit of the library, so that scenarios can go past those, and shallow enough for a thread's stack.
constexpr int MAX_DEPTH = 1024;

__extension__ typedef __int128 Whole;

std::optional<Whole> whole(const std::string& text) {
  constexpr std::size_t MOST_DIGITS = 38;  // all of which fit
  const std::size_t begin = text[0] == '-';
  if (text.size() - begin > MOST_DIGITS || text.find_first_not_of("0123456789", begin) != std::string::npos) return {};
  Whole value = 0;
  for (std::size_t i = begin; i < text.size(); ++i) value = value * 10 + (text[i] - '0');
  return begin ? -value : value;
}

double real(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// Both ways, since a cast alone would call 2^53 + 1 and 2^53 the same.
bool same_as_real(Whole whole, double real) {
  return std::fabs(real) < 1e38 && static_cast<double>(whole) == real && static_cast<Whole>(real) == whole;
}

bool same_number(const std::string& a, const std::string& b) {
  const auto x = whole(a), y = whole(b);
  if (x && y) return *x == *y;
  if (x) return same_as_real(*x, real(b));
  if (y) return same_as_real(*y, real(a));
  return a == b || real(a) == real(b);
}

void write_string(std::string_view text, std::string& out) {
  static constexpr char DIGITS[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += {DIGITS[byte >> 4], DIGITS[byte & 15]};
    } else {
      out += c;
    }
  }
  out += '"';
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Json document() {
    Json value = this->value(0);
    space();
    if (at_ < text_.size()) fault("text after the document");
    return value;
  }

 private:
  Json value(int depth) {
    if (depth > MAX_DEPTH) fault("too deep");
    space();
    switch (peek()) {
      case '{': return object(depth);
      case '[': return array(depth);
      case '"': return Json::string(string());
      case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return number();
      default: return word();
    }
  }

  Json object(int depth) {
    std::vector<Json::Member> members;
    ++at_;
    if (take('}')) return Json::object({});
    for (;;) {
      space();
      std::string key = string();
      expect(':');
      members.emplace_back(std::move(key), value(depth + 1));
      if (take(',')) continue;
      expect('}');
      return Json::object(std::move(members));
    }
  }

  Json array(int depth) {
    std::vector<Json> items;
    ++at_;
    if (take(']')) return Json::array({});
    for (;;) {
      items.push_back(value(depth + 1));
      if (take(',')) continue;
      expect(']');
      return Json::array(std::move(items));
    }
  }

  std::string string() {
    expect('"');
    std::string out;
    for (;;) {
      if (at_ >= text_.size()) fault("a string without end");
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) fault("a control character in a string");
      ++at_;
      if (c == '"') return out;
      if (c == '\\') {
        escape(out);
      } else {
        out += c;
      }
    }
  }

  void escape(std::string& out) {
    const char kind = peek();
    ++at_;
    switch (kind) {
      case '"': case '\\': case '/': out += kind; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'u': code_point(out); break;
      default: fault("an unknown escape");
    }
  }

  void code_point(std::string& out) {
    std::uint32_t point = code_unit();
    if (point >= 0xdc00 && point < 0xe000) fault("a lone surrogate");
    if (point >= 0xd800 && point < 0xdc00) {
      if (text_.substr(at_, 2) != "\\u") fault("a lone surrogate");
      at_ += 2;
      const std::uint32_t low = code_unit();
      if (low < 0xdc00 || low >= 0xe000) fault("a lone surrogate");
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((point >> shift) & 0x3f)); };
    if (point < 0x80) {
      out += static_cast<char>(point);
    } else if (point < 0x800) {
      out += static_cast<char>(0xc0 | (point >> 6));
      tail(0);
    } else if (point < 0x10000) {
      out += static_cast<char>(0xe0 | (point >> 12));
      tail(6), tail(0);
    } else {
      out += static_cast<char>(0xf0 | (point >> 18));
      tail(12), tail(6), tail(0);
    }
  }

  std::uint32_t code_unit() {
    const std::string digits(text_.substr(std::min(at_, text_.size()), 4));
    if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) {
      fault("four hexadecimal digits wanted");
    }
    at_ += 4;
    return static_cast<std::uint32_t>(std::strtoul(digits.c_str(), nullptr, 16));
  }

  Json number() {
    const std::size_t start = at_;
    skip('-');
    if (!skip('0')) digits();
    if (skip('.')) digits();
    if (skip('e') || skip('E')) {
      if (!skip('+')) skip('-');
      digits();
    }
    return Json::number(std::string(text_.substr(start, at_ - start)));
  }

  void digits() {
    const std::size_t start = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    if (at_ == start) fault("a digit wanted");
  }

  Json word() {
    if (skip_word("null")) return {};
    if (skip_word("true")) return Json::boolean(true);
    if (skip_word("false")) return Json::boolean(false);
    fault("a value wanted");
  }

  bool skip_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  void space() {
    while (at_ < text_.size() && std::string_view(" \n\r\t").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool skip(char c) {
    const bool found = at_ < text_.size() && text_[at_] == c;
    at_ += found;
    return found;
  }

  bool take(char c) {
    space();
    return skip(c);
  }

  void expect(char c) {
    if (!take(c)) fault(std::string("`") + c + "` wanted");
  }

  [[noreturn]] void fault(const std::string& what) const {
    const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto newline = before.rfind('\n');
    const auto column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    throw std::runtime_error(what + " at line " + std::to_string(line) + ", column " + std::to_string(column));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Json Json::boolean(bool flag) {
  Json json;
  json.type_ = Type::Bool, json.flag_ = flag;
  return json;
}

Json Json::number(std::string text) {
  Json json;
  json.type_ = Type::Number, json.text_ = std::move(text);
  return json;
}

Json Json::count(std::size_t n) { return number(std::to_string(n)); }

Json Json::string(std::string text) {
  Json json;
  json.type_ = Type::String, json.text_ = std::move(text);
  return json;
}

Json Json::array(std::vector<Json> items) {
  Json json;
  json.type_ = Type::Array, json.items_ = std::move(items);
  return json;
}

Json Json::object(std::vector<Member> members) {
  Json json;
  json.type_ = Type::Object, json.members_ = std::move(members);
  return json;
}

Json Json::parse(std::string_view text) { return Parser(text).document(); }

Json Json::parse_or_say(std::string_view text) try {
  return parse(text);
} catch (const std::runtime_error& why) {
  return string(std::string("not JSON: ") + why.what() + ": " + std::string(text));
}

const char* Json::type_name() const {
  static constexpr const char* NAMES[] = {"null", "boolean", "number", "string", "array", "object"};
  return NAMES[static_cast<int>(type_)];
}

const Json* Json::get(std::string_view key) const {
  for (const auto& [name, value] : members_) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json* Json::child(std::string_view segment) const {
  if (!is(Type::Array)) return get(segment);
  const auto index = number(std::string(segment)).as_index();
  return index && *index < items_.size() ? &items_[*index] : nullptr;
}

const std::string& Json::text() const {
  static const std::string none;
  return is(Type::String) ? text_ : none;
}

std::string Json::text(std::string_view key) const {
  const Json* value = get(key);
  return value ? value->text() : std::string();
}

std::optional<bool> Json::as_bool() const {
  if (!is(Type::Bool)) return {};
  return flag_;
}

std::optional<std::int64_t> Json::as_int() const {
  if (!is(Type::Number) || text_.empty()) return {};
  const auto value = whole(text_);
  if (!value || *value < INT64_MIN || *value > INT64_MAX || text_ == "-") return {};
  return static_cast<std::int64_t>(*value);
}

std::optional<std::size_t> Json::as_index() const {
  const auto value = as_int();
  if (!value || *value < 0) return {};
  return static_cast<std::size_t>(*value);
}

bool Json::is_integer() const {
  if (!is(Type::Number)) return false;
  if (whole(text_)) return true;
  const double value = real(text_);
  return std::isfinite(value) && std::trunc(value) == value;
}

bool Json::same(const Json& other) const {
  if (type_ != other.type_) return false;
  const auto same_item = [](const Json& a, const Json& b) { return a.same(b); };
  const auto in_other = [&](const Member& member) {
    const Json* found = other.get(member.first);
    return found && member.second.same(*found);
  };
  switch (type_) {
    case Type::Null: return true;
    case Type::Bool: return flag_ == other.flag_;
    case Type::Number: return same_number(text_, other.text_);
    case Type::String: return text_ == other.text_;
    case Type::Array: return std::equal(items_.begin(), items_.end(), other.items_.begin(), other.items_.end(), same_item);
    default: return members_.size() == other.members_.size() && std::all_of(members_.begin(), members_.end(), in_other);
  }
}

std::string Json::str() const {
  std::string out;
  write(out);
  return out;
}

void Json::write(std::string& out) const {
  const char* comma = "";
  switch (type_) {
    case Type::Null: out += "null"; break;
    case Type::Bool: out += flag_ ? "true" : "false"; break;
    case Type::Number: out += text_; break;
    case Type::String: write_string(text_, out); break;
    case Type::Array:
      out += '[';
      for (const Json& item : items_) out += comma, item.write(out), comma = ",";
      out += ']';
      break;
    case Type::Object:
      out += '{';
      for (const auto& [key, value] : members_) {
        out += comma, write_string(key, out), out += ':', value.write(out), comma = ",";
      }
      out += '}';
  }
}
