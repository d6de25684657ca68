// A daemon's one event loop: posted functions, timers, readable descriptors and signals.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/clock.h"

namespace boost::asio {
class io_context;
}

namespace tony {

/// Runs all functions on the thread that calls Run(). Post() and Stop() are thread safe, also
/// before Run(); the rest belongs to the loop's thread (or to the time before Run()).
class EventLoop {
 public:
  /// A timer or a watch. Destroying the handle ends it.
  class Handle {
   public:
    virtual ~Handle() = default;
  };

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Runs `function` on the loop, after all functions that were posted before.
  void Post(std::function<void()> function);
  /// Runs `function` once after `delay`, unless the handle is destroyed before.
  [[nodiscard]] std::unique_ptr<Handle> After(Duration delay, std::function<void()> function);
  /// Runs `function` each time `fd` is readable or at its end. The caller must keep `fd` open until
  /// after the handle is destroyed.
  [[nodiscard]] std::unique_ptr<Handle> WatchReadable(int fd, std::function<void()> function);
  /// Runs `function` each time `fd` takes more bytes, or is broken. For its callers as
  /// WatchReadable(); a caller that has nothing to write must destroy the handle.
  [[nodiscard]] std::unique_ptr<Handle> WatchWritable(int fd, std::function<void()> function);
  /// Runs `function(number)` for each arrival of one of `signals`. A SIGHUP that is ignored because
  /// `nohup` started the process stays ignored.
  [[nodiscard]] std::unique_ptr<Handle> WatchSignals(const std::vector<int>& signals,
                                                     std::function<void(int)> function);

  /// Runs until Stop(). May be called again after that.
  void Run();
  /// Makes Run() return once the current function has returned.
  void Stop();

  /// The loop's Boost.Asio context, for folders that run sockets of Boost.Asio on it.
  boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tony
