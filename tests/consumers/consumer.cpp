// A host in C++ that has nothing but the installed package.
#include <agent_surface_dev.hpp>
#include <iostream>

namespace as = agent_surface;

int main() {
  std::string result;
  {
    as::registry surface = as::registry::make().value();
    const as::registration hall = surface.add(
        R"({"type":"hall","description":"The entrance","actions":{"greet":{"description":"Greet","effect":"local-state","input":{"type":"object"}}}})",
        {{"greet", [](const as::call& call) { return call.input; }}}).value();
    result = surface.invoke_future(R"({"capabilityId":"view:hall.greet","input":{"n":1}})").result.get();
  }
  const std::string live = as::dev::live().value();
  const bool sound = result.find(R"("output":{"n":1})") != std::string::npos && live.find("\"binding\":0") != std::string::npos &&
                     live.find("\"registry\":0") != std::string::npos;
  std::cout << as::version() << (sound ? " sound" : " broken") << '\n';
  return sound ? 0 : 1;
}
