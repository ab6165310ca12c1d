// What scripts do when the runtime calls, as the lambdas that the library is given. In pull dispatch the same ones run the
// work that next() hands out.
#pragma once

#include <agent_surface.hpp>
#include <memory>
#include <string>

#include "host.hpp"

namespace play {

as::handler handler(const std::shared_ptr<Host>& host, const Site& site);
as::handler executor(const std::shared_ptr<Host>& host);
as::policy policy(const std::shared_ptr<Host>& host, const std::string& name);
as::host host_hooks(const std::shared_ptr<Host>& host, bool audit);
as::hook hook(const std::shared_ptr<Host>& host, const Answer& answer);

// A decision that a variable holds, or one whose references are replaced. Not Pend and not Var.
as::decision decided(const Decision& decision);
std::string summary_text(const std::optional<Json>& summary);

}  // namespace play
