#include "refs.hpp"

#include "matcher.hpp"

namespace refs {
namespace {

std::string head(const std::string& path) { return path.substr(0, path.find('.')); }

Json follow(const std::string& path, const Lookup& lookup) {
  const std::string unresolved = "unresolved reference \"$" + path + "\": ";
  Json whole;
  try {
    whole = lookup(head(path));
  } catch (const Wrong& why) {
    throw Wrong(unresolved + why.what());
  }
  const Json* value = &whole;
  for (std::size_t dot = path.find('.'); dot != std::string::npos;) {
    const std::size_t next = path.find('.', dot + 1);
    const std::string segment = path.substr(dot + 1, next == std::string::npos ? next : next - dot - 1);
    const Json* child = value->child(segment);
    if (!child) throw Wrong(unresolved + "no `" + segment + "` in " + matcher::short_text(*value));
    value = child;
    dot = next;
  }
  return *value;
}

}  // namespace

std::optional<std::string> reference(const std::string& text) {
  if (text.empty() || text[0] != '$' || text.substr(1, 1) == "$") return {};
  return text.substr(1);
}

Json resolve(const Json& json, const Lookup& lookup) {
  switch (json.type()) {
    case Json::Type::String: {
      const auto path = reference(json.text());
      if (path) return follow(*path, lookup);
      return json.text().substr(0, 1) == "$" ? Json::string(json.text().substr(1)) : json;
    }
    case Json::Type::Array: {
      std::vector<Json> items;
      for (const Json& item : json.items()) items.push_back(resolve(item, lookup));
      return Json::array(std::move(items));
    }
    case Json::Type::Object: {
      std::vector<Json::Member> members;
      for (const auto& [key, value] : json.members()) members.emplace_back(key, resolve(value, lookup));
      return Json::object(std::move(members));
    }
    default: return json;
  }
}

void names(const Json& json, std::vector<std::string>& found) {
  if (json.is(Json::Type::String)) {
    if (const auto path = reference(json.text())) found.push_back(head(*path));
  }
  for (const Json& item : json.items()) names(item, found);
  for (const auto& member : json.members()) names(member.second, found);
}

}  // namespace refs
