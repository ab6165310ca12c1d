// One scenario from its registry to the last handle given back.
#pragma once

#include <atomic>
#include <memory>

#include "host.hpp"
#include "model.hpp"

struct Options {
  bool pull = false;
  // Set once a scenario could not be ended: what it holds would be counted against every later one.
  std::atomic<bool> stuck{false};
};

// Throws Wrong. `place` is where the scenario is, for the watchdog.
void run(const Scenario& scenario, Options& options, const std::shared_ptr<Place>& place);
