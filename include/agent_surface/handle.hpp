/* A handle and its one owner. */
#ifndef AGENT_SURFACE_HANDLE_HPP
#define AGENT_SURFACE_HANDLE_HPP

#include <chrono>
#include <cstdint>
#include <utility>

#include "../agent_surface.h"
#include "result.hpp"

namespace agent_surface::detail {

/// Waits as long as it takes.
inline constexpr std::chrono::milliseconds for_ever{-1};

/// Gives the handle back when it ends; a default one is none.
template <as_code (*Free)(std::uint64_t)>
class handle {
 public:
  handle() = default;
  /// Takes over a raw handle.
  explicit handle(std::uint64_t raw) noexcept : raw_(raw) {}
  handle(handle&& other) noexcept : raw_(std::exchange(other.raw_, 0)) {}
  handle& operator=(handle&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~handle() { Free(raw_); }

  /// The raw handle, still owned here.
  std::uint64_t get() const noexcept { return raw_; }
  /// The raw handle, the caller's from now on.
  std::uint64_t release() noexcept { return std::exchange(raw_, 0); }
  explicit operator bool() const noexcept { return raw_ != 0; }

 private:
  std::uint64_t raw_ = 0;
};

}  // namespace agent_surface::detail

#endif
