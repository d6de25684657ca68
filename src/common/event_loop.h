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

/// Runs everything on the thread that calls Run(). Post() and Stop() are thread safe, also before
/// Run(); the rest belongs to the loop's thread (or to the time before Run()).
class EventLoop {
 public:
  /// Ends what it stands for (timer, watch) when destroyed.
  class Handle {
   public:
    virtual ~Handle() = default;
  };

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Runs `function` on the loop, after what was posted before.
  void Post(std::function<void()> function);
  /// Runs `function` once after `delay`, unless the handle is destroyed before.
  [[nodiscard]] std::unique_ptr<Handle> After(Duration delay, std::function<void()> function);
  /// Runs `function` each time `fd` is readable or at its end. The caller keeps `fd` open until
  /// after the handle is gone.
  [[nodiscard]] std::unique_ptr<Handle> WatchReadable(int fd, std::function<void()> function);
  /// Runs `function(number)` for each arrival of one of `signals`. A SIGHUP that is ignored, since
  /// `nohup` started the process, stays so.
  [[nodiscard]] std::unique_ptr<Handle> WatchSignals(const std::vector<int>& signals,
                                                     std::function<void(int)> function);

  /// Runs until Stop(); may be called again after that.
  void Run();
  /// Makes Run() return after the function that is running.
  void Stop();

  /// What runs the loop, for a folder that brings sockets of Boost.Asio to it.
  boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tony
