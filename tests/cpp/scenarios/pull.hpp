// Pull dispatch: a thread that stands for a user interface takes the work with next() and runs it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "host.hpp"

class Pump {
 public:
  explicit Pump(const std::shared_ptr<Host>& host);
  ~Pump();

  // How much work it has done.
  std::uint64_t served() const { return served_; }
  // Waits until the pump has asked, got nothing, and begun to ask after this call did: two empty rounds.
  void drain();

 private:
  void run(const std::shared_ptr<Host>& host);

  std::atomic<std::uint64_t> served_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable emptied_;
  // How often the pump has asked and got nothing; nothing when it has ended.
  std::optional<std::uint64_t> empty_ = 0;
  std::thread thread_;
};
