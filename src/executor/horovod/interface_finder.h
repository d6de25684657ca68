// Finds the network interface by which another machine is reached, without blocking the loop.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"

namespace tony::executor {

/// The name service is asked on a thread of its own that is never joined, since its answer may take
/// any time. Not thread safe: owned by the event loop.
class InterfaceFinder {
 public:
  /// The codes of os::InterfaceTowards(); DeadlineExceeded – the name service does not answer.
  using OnFound = std::function<void(const absl::StatusOr<std::string>& name)>;

  /// `on_found` follows once, unless this object is destroyed first; it may destroy this object.
  InterfaceFinder(EventLoop& loop, const std::string& host, OnFound on_found,
                  std::chrono::milliseconds patience = std::chrono::seconds(10));
  ~InterfaceFinder();
  InterfaceFinder(const InterfaceFinder&) = delete;
  InterfaceFinder& operator=(const InterfaceFinder&) = delete;

 private:
  struct Shared;

  void Finish(const absl::StatusOr<std::string>& name);

  const OnFound on_found_;
  const std::shared_ptr<Shared> shared_;
  std::unique_ptr<EventLoop::Handle> deadline_;
};

}  // namespace tony::executor
