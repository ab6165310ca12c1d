// The device console of fleet.c in C++: the same application, the same file of recorded agent calls, the same account.
//
//   fleet-cpp fleet-calls.jsonl
#define AGENT_SURFACE_WITH_NLOHMANN
#include <agent_surface.hpp>
#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace as = agent_surface;
using nlohmann::json;

// ---- the application: it knows nothing of agents ---------------------------------------------------------------------------

struct Device {
  std::string id, name, site;
  bool enabled = true, selected = false;
};

// Handlers may be called from any thread, so the application guards its state like any other.
class Fleet {
 public:
  json visible() const {
    const std::lock_guard lock(mutex_);
    json list = json::array();
    for (const Device& d : devices_) {
      if (shown(d)) list.push_back({{"id", d.id}, {"name", d.name}, {"enabled", d.enabled}});
    }
    return {{"devices", list}};
  }

  json selection() const {
    const std::lock_guard lock(mutex_);
    return {{"deviceIds", selected()}};
  }

  void filter(const std::string& site) {
    const std::lock_guard lock(mutex_);
    site_ = site;
    deeds_.push_back("filtered by " + (site.empty() ? "nothing" : site));
  }

  // Selects all of the given devices; none, and answers false, where one is not shown.
  bool select(const json& ids) {
    const std::lock_guard lock(mutex_);
    const auto is_shown = [&](const json& id) {
      return std::any_of(devices_.begin(), devices_.end(), [&](const Device& d) { return shown(d) && d.id == id; });
    };
    if (!std::all_of(ids.begin(), ids.end(), is_shown)) return false;
    for (Device& d : devices_) d.selected = contains(ids, d.id);
    deeds_.push_back("selected " + ids.dump());
    return true;
  }

  void disable(const json& ids, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    for (Device& d : devices_) d.enabled = d.enabled && !contains(ids, d.id);
    deeds_.push_back("DISABLED " + ids.dump() + ", reason: " + reason);
  }

  // The devices answer when they like; until then the call pends and holds no thread.
  void ask_for_reports(as::reply reply) {
    const std::lock_guard lock(mutex_);
    deeds_.push_back("asked every device for a report");
    reports_for_ = std::move(reply);
    asked_.notify_all();
  }

  // The network, delivering the reports; waits until they are asked for.
  void reports_arrive() {
    std::unique_lock lock(mutex_);
    asked_.wait(lock, [&] { return reports_for_.handle() != 0; });
    as::reply reply = std::move(reports_for_);
    deeds_.push_back("received " + std::to_string(devices_.size()) + " reports");
    lock.unlock();
    reply.send(json{{"reports", devices_.size()}}).value();
  }

  // What it really did since it was asked last.
  std::vector<std::string> take_deeds() {
    const std::lock_guard lock(mutex_);
    return std::exchange(deeds_, {});
  }

 private:
  bool shown(const Device& d) const { return site_.empty() || site_ == d.site; }
  static bool contains(const json& ids, const std::string& id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

  json selected() const {
    json ids = json::array();
    for (const Device& d : devices_) {
      if (d.selected) ids.push_back(d.id);
    }
    return ids;
  }

  mutable std::mutex mutex_;
  std::condition_variable asked_;
  std::vector<Device> devices_ = {{"d-1", "Reception tablet", "Berlin"}, {"d-2", "Scanner A", "Hamburg"},
                                  {"d-3", "Scanner B", "Hamburg"},       {"d-4", "Lobby display", "Berlin"},
                                  {"d-5", "Field phone 12", "road"},     {"d-6", "Field phone 17", "road"}};
  std::string site_;
  as::reply reports_for_;
  std::vector<std::string> deeds_;
};

// ---- what of it an agent may see and call ----------------------------------------------------------------------------------

const json IDS = json::parse(R"({"type": "array", "minItems": 1, "uniqueItems": true,
                                 "items": {"type": "string", "pattern": "^d-[0-9]+$"}})");

json input_of(json properties, json required = json::array()) {
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}, {"required", required}};
}

json definition() {
  const auto output_of = [](const char* name, const char* items) {
    return json{{"type", "object"}, {"required", {name}},
                {"properties", {{name, {{"type", "array"}, {"items", {{"type", items}}}}}}}};
  };
  return {
      {"type", "devices.table"},
      {"instanceId", "main"},
      {"description", "The table of devices on the console"},
      {"observations",
       {{"visible", {{"description", "The devices that pass the filter"}, {"output", output_of("devices", "object")}}},
        {"selection", {{"description", "The devices that are selected"}, {"output", output_of("deviceIds", "string")}}}}},
      {"actions",
       {{"setFilter",
         {{"description", "Show one site only, or every site"}, {"effect", "local-state"}, {"idempotent", true},
          {"input", input_of({{"site", {{"enum", {"Berlin", "Hamburg", "road"}}}}})}}},
        {"select",
         {{"description", "Select devices that the table shows"}, {"effect", "local-state"}, {"idempotent", true},
          {"input", input_of({{"deviceIds", IDS}}, {"deviceIds"})}}},
        {"refresh",
         {{"description", "Ask every device for a report"}, {"effect", "local-state"}, {"input", input_of(json::object())}}}}},
      {"procedures",
       {{{"path", "devices.disable"},
         {"description", "Disable the selected devices"},
         {"effect", "destructive"},
         {"boundFields", {"deviceIds"}},
         {"policies", {"granted-only", {{"use", "hasPermission"}, {"permission", "devices.disable"}}}},
         {"input", input_of({{"deviceIds", IDS}, {"reason", {{"type", "string"}, {"minLength", 3}, {"maxLength", 120}}}},
                            {"deviceIds", "reason"})}}}}};
}

// What is impossible for the moment stays in the catalog, with a reason that an agent can plan on.
void tell_availability(const Fleet& fleet, as::registration& table) {
  const bool possible = !fleet.selection()["deviceIds"].empty();
  json state = {{"available", possible}};
  if (!possible) state["reason"] = "Select the devices first.";
  table.update(json{{"availability", {{"domain:devices.disable", state}}}}).value();
}

// `table` is filled, and is the handlers' to use from then on.
void offer(Fleet& fleet, as::registry& surface, as::registration& table) {
  as::policy granted_only;  // only agents that were granted it learn that devices can be disabled
  granted_only.on_discovery = [](const as::call& call) {
    const json grants = json::parse(call.context)["consumer"].value("grants", json::array());
    return std::find(grants.begin(), grants.end(), "fleet.disable") == grants.end() ? as::answer::hide() : as::answer::expose();
  };
  surface.define_policy("granted-only", granted_only).value();

  // The executor gets the effective input: what the agent said together with what was bound.
  surface.set_executor(R"(["devices.disable"])", as::with_json([&](const json& input) {
    fleet.disable(input["deviceIds"], input["reason"]);
    return json{{"disabled", input["deviceIds"]}};
  })).value();

  as::binding disable{"domain:devices.disable"};
  disable.bind = [&] { return fleet.selection(); };  // the agent may not choose which
  disable.describe = [&] { return as::quote(std::to_string(fleet.selection()["deviceIds"].size()) + " selected"); };

  table = surface.add(definition(), {
    {"visible", [&] { return fleet.visible(); }},
    {"selection", [&] { return fleet.selection(); }},
    {"setFilter", as::with_json([&](const json& input) { fleet.filter(input.value("site", "")); })},
    {"select", as::with_json([&](const json& input) {
       const bool all_shown = fleet.select(input["deviceIds"]);
       tell_availability(fleet, table);
       if (!all_shown) {  // a typed failure: the agent learns what it can do about it
         throw as::failure("PRECONDITION_FAILED", "Select only devices that the table shows. Read `visible` first.", "with-changes");
       }
       return fleet.selection();
     })},
    {"refresh", [&](const as::call&, as::reply reply) { fleet.ask_for_reports(std::move(reply)); }},
    disable,
  }).value();
  tell_availability(fleet, table);
}

// ---- a readable account of what became of each call ------------------------------------------------------------------------

class Account {
 public:
  explicit Account(as::registry& surface) : surface_(surface) {}

  static void line(const char* label, std::string what) {
    constexpr std::size_t WIDTH = 96;  // longer documents are cut, with a mark
    if (what.size() > WIDTH) {
      std::size_t end = WIDTH;
      while (end > 0 && (static_cast<unsigned char>(what[end]) & 0xC0) == 0x80) --end;  // not inside a character
      what = what.substr(0, end) + "…";
    }
    std::cout << "      " << std::left << std::setw(9) << label << ' ' << what << '\n';
  }

  void call(const std::string& who, const json& request) {
    std::cout << std::right << std::setw(4) << ++calls_ << "  " << who << " → " << request["capabilityId"].get<std::string>() << '\n';
    if (request.contains("input")) line("input", request["input"].dump());
  }

  void result(const json& result, const std::vector<std::string>& deeds) {
    bool joined = false, replayed = false;
    for (const json& entry : json::parse(surface_.audit(read_).value())) {
      read_ = entry["seq"];
      if (entry.value("invocationId", "") != result["invocationId"]) continue;
      joined |= entry["type"] == "invocation-joined";
      replayed |= entry["type"] == "invocation-replayed";
    }
    for (const std::string& deed : deeds) line("did", deed);
    if (joined) line("joined", "the same call was in flight: one execution, one result for both");
    if (replayed) line("replayed", "answered from the record, nothing ran again");
    joined_ += joined, replayed_ += replayed;
    if (result.contains("error")) return refusal(result["error"]);
    ran_ += !replayed;
    line("ok", result.contains("output") ? result["output"].dump() : "(no output)");
  }

  static void question(const json& pending) {
    line("console", pending["summary"]);
    line("will run", pending["input"].dump());
  }

  void decision(const json& decision) {
    const bool approved = decision["approved"];
    line("decision", (approved ? "approved by " : "denied by ") + decision["approver"].get<std::string>());
    confirmed_ += approved;
  }

  void end() const {
    std::cout << '\n' << calls_ << " calls: " << ran_ << " ran, " << joined_ << " joined, " << replayed_ << " replayed, "
              << refused_ << " refused; " << confirmed_ << " approvals given\n";
  }

 private:
  void refusal(const json& error) {
    const bool asks = error["code"] == "CONFIRMATION_REQUIRED";
    const json details = error.value("details", json());
    line(asks ? "asks" : "refused", error["code"].get<std::string>() + " (retry: " + error["retry"].get<std::string>() + ")");
    line("because", error["message"]);
    if (details.contains("issues")) {
      for (const json& issue : details["issues"]) line("issue", issue["path"].get<std::string>() + ": " + issue["message"].get<std::string>());
    } else if (!details.is_null() && !asks) {  // a question's details carry minted ids and times
      line("details", details.dump());
    }
    refused_ += !asks;
  }

  as::registry& surface_;
  std::uint64_t read_ = 0;
  int calls_ = 0, ran_ = 0, joined_ = 0, replayed_ = 0, refused_ = 0, confirmed_ = 0;
};

// ---- the calls of the file, see fleet.c ------------------------------------------------------------------------------------

class Session {
 public:
  Session(Fleet& fleet, as::registry& surface) : fleet_(fleet), surface_(surface), account_(surface) {
    events_ = surface.subscribe([this](std::string_view event) {
      if (json::parse(event)["type"] != "invocation-joined") return;
      const std::lock_guard lock(mutex_);
      joined_ = true;
      heard_.notify_all();
    }).value();
  }

  void call(const json& entry) {
    if (entry.contains("say")) std::cout << "\n── " << entry["say"].get<std::string>() << '\n';
    json request = entry["request"];
    if (entry.value("evidence", "") == "last") request["confirmationId"] = confirmation_;
    account_.call(entry["consumer"]["id"], request);
    const json options = {{"consumer", entry["consumer"]}};
    const json result = entry.value("twice", false) ? invoke_twice(request, options) : invoke(request, options);
    tell(result);
    if (result.contains("error") && result["error"]["code"] == "CONFIRMATION_REQUIRED") {
      confirmation_ = result["error"]["details"]["confirmationId"];
      if (entry.contains("console")) tell(ask(entry, request, options));
    }
  }

  // Each result against its own request, and against every other call's, which must not fit.
  bool verify() const {
    std::size_t own = 0, foreign = 0, compared = 0;
    for (const auto& [request, result] : pairs_) {
      own += belongs(result, request);
      for (const auto& [other, ignored] : pairs_) {
        if (claim(request) == claim(other)) continue;
        ++compared;
        foreign += belongs(result, other);
      }
    }
    account_.end();
    std::cout << own << " of " << pairs_.size() << " results belong to their request; of " << compared
              << " pairings with another call's request " << foreign << " fit\n";
    return own == pairs_.size() && foreign == 0;
  }

 private:
  json keep(const json& request, const std::string& result) {
    pairs_.emplace_back(request, result);
    return json::parse(result);
  }

  json invoke(const json& request, const json& options) { return keep(request, surface_.invoke_wait(request, options).value()); }

  // The same request twice at once: the second joins the first, and the application is asked once.
  json invoke_twice(const json& request, const json& options) {
    auto first = surface_.invoke_future(request, options), second = surface_.invoke_future(request, options);
    {
      std::unique_lock lock(mutex_);
      heard_.wait(lock, [&] { return std::exchange(joined_, false); });
    }
    fleet_.reports_arrive();
    const json result = keep(request, first.result.get());
    if (result != keep(request, second.result.get())) throw std::logic_error("two results for one call");
    return result;
  }

  // A person is asked, decides, and the agent sends the same call again with the confirmation.
  json ask(const json& entry, json request, const json& options) {
    Account::question(json::parse(surface_.confirmations().value()).at(0));
    const std::string confirmation = confirmation_;
    if (entry.contains("meanwhile")) call(entry["meanwhile"]);
    json decision = entry["console"];
    decision["confirmationId"] = confirmation;
    surface_.confirm(decision).value();
    account_.decision(decision);
    request["confirmationId"] = confirmation;
    return invoke(request, options);
  }

  void tell(const json& result) { account_.result(result, fleet_.take_deeds()); }

  static json claim(const json& request) {
    json claim;
    for (const char* key : {"capabilityId", "input", "invocationId"}) {
      if (request.contains(key)) claim[key] = request[key];
    }
    return claim;
  }

  static bool belongs(const std::string& result, const json& request) {
    return json::parse(as::verify_result(result, claim(request)).value())["valid"];
  }

  Fleet& fleet_;
  as::registry& surface_;
  Account account_;
  std::string confirmation_;  // the last that an agent was given
  std::vector<std::pair<json, std::string>> pairs_;
  std::mutex mutex_;
  std::condition_variable heard_;
  bool joined_ = false;
  as::subscription events_;
};

int main(int argc, char** argv) try {
  std::ifstream file(argc == 2 ? argv[1] : "");
  if (!file) throw std::runtime_error("usage: fleet-cpp calls.jsonl");
  Fleet fleet;
  as::registration table;
  as::host console;  // who sits at it, and what that person may do: policies read it
  console.context = [] { return R"({"user": {"name": "mara"}, "permissions": ["devices.disable"]})"; };
  as::registry surface = as::registry::make({}, console).value();
  offer(fleet, surface, table);
  Session session(fleet, surface);
  for (std::string line; std::getline(file, line);) session.call(json::parse(line));
  const bool sound = session.verify();
  surface.close().value();  // after this no callback runs any more
  return sound ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& why) {
  std::cerr << why.what() << '\n';
  return EXIT_FAILURE;
}
