/* Text on its way in and out. */
#ifndef AGENT_SURFACE_TEXT_HPP
#define AGENT_SURFACE_TEXT_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../agent_surface.h"

namespace agent_surface {

/// How a type of yours becomes JSON text: specialize it with `static std::string write(const T&)`, and values of T go
/// wherever a json_text or an answer is wanted. nlohmann.hpp does so for nlohmann::json.
template <class T, class = void>
struct codec;

namespace detail {

template <class T, class = void>
struct has_codec : std::false_type {};
template <class T>
struct has_codec<T, std::void_t<decltype(codec<T>::write(std::declval<const T&>()))>> : std::true_type {};

}  // namespace detail

/// A JSON document on its way into a function: a view of text as it stands, or a value that its codec writes. Made where
/// it is passed, and never kept. Empty where a document is not given.
class json_text {
 public:
  json_text() = default;
  json_text(std::string_view text) : view_(text) {}
  json_text(const std::string& text) : view_(text) {}
  json_text(const char* text) : view_(text) {}
  template <class T, std::enable_if_t<detail::has_codec<T>::value, int> = 0>
  json_text(const T& value) : written_(codec<T>::write(value)), view_(written_) {}

  // The view may look into this very object.
  json_text(const json_text&) = delete;
  json_text& operator=(const json_text&) = delete;

  std::string_view view() const noexcept { return view_; }

 private:
  std::string written_;
  std::string_view view_;
};

/// A JSON string that says `text`, which is UTF-8.
inline std::string quote(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += digits[c >> 4];
      out += digits[c & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

namespace detail {

inline const std::uint8_t* bytes(std::string_view text) noexcept {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

inline std::string_view view(const std::uint8_t* text, std::size_t length) noexcept {
  return {reinterpret_cast<const char*>(text), length};
}

/// A text that the library hands out, freed at the end of its scope.
class blob {
 public:
  blob() = default;
  blob(const blob&) = delete;
  blob& operator=(const blob&) = delete;
  ~blob() { as_blob_free(&blob_); }

  as_blob* out() noexcept { return &blob_; }
  std::string_view view() const noexcept { return detail::view(blob_.ptr, blob_.len); }
  std::string str() const { return std::string(view()); }

 private:
  as_blob blob_{};
};

/// Reads single members of an object that the library wrote: canonical text, so there is no white space to skip and
/// nothing malformed to fear.
class members {
 public:
  explicit members(std::string_view object) : text_(object) {}

  /// The text of a member's value.
  std::optional<std::string_view> raw(std::string_view name) const {
    std::size_t at = 1;
    while (at < text_.size() && text_[at] == '"') {
      const std::size_t key = at, colon = end(at), value = colon + 1;
      const std::size_t next = end(value);
      if (text_.substr(key + 1, colon - key - 2) == name) return text_.substr(value, next - value);
      at = next + 1;
    }
    return std::nullopt;
  }

  /// The text that a member's string says; empty where there is none.
  std::string string(std::string_view name) const {
    const auto value = raw(name);
    return value ? unquote(*value) : std::string();
  }

 private:
  /// Where the value that begins at `at` ends.
  std::size_t end(std::size_t at) const {
    int depth = 0;
    for (bool quoted = false; at < text_.size(); ++at) {
      const char c = text_[at];
      if (quoted) {
        if (c == '\\') ++at;
        if (c == '"') quoted = false;
      } else if (c == '"') {
        quoted = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == ':' || c == ',' || c == '}' || c == ']') {
        if (depth == 0) break;
        if (c == '}' || c == ']') --depth;
      }
    }
    return at;
  }

  static std::string unquote(std::string_view text) {
    std::string out;
    for (std::size_t at = 1; at + 1 < text.size(); ++at) {
      if (text[at] != '\\') {
        out += text[at];
        continue;
      }
      switch (text[++at]) {
        case 'b': out += '\b'; break;
        case 'f': out += '\f'; break;
        case 'n': out += '\n'; break;
        case 'r': out += '\r'; break;
        case 't': out += '\t'; break;
        case 'u':  // canonical text escapes control characters only
          out += static_cast<char>(std::stoi(std::string(text.substr(at + 1, 4)), nullptr, 16));
          at += 4;
          break;
        default: out += text[at];
      }
    }
    return out;
  }

  std::string_view text_;
};

}  // namespace detail
}  // namespace agent_surface

#endif
