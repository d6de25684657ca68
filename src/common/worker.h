// A thread for work that may take longer than the event loop can wait: on logs, on an index.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "common/lifetime.h"

namespace tony {

/// Does one piece of work after another, each bounded by its own time. Owned by the event loop;
/// Run() and the destructor belong to its thread. Not thread safe.
class Worker {
 public:
  /// True when nobody waits for the result any more; asked by the work, on the thread.
  using Stop = std::function<bool()>;
  using Abandoned = std::shared_ptr<const std::atomic<bool>>;
  /// Pieces of work that wait at most.
  static constexpr size_t kMostWaiting = 32;

  explicit Worker(EventLoop& loop) : loop_(loop) {}
  /// Tells the work to stop, and waits for it.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Calls `take` on the loop with what `work` returns on the thread, unless this object is
  /// destroyed before. ResourceExhausted – too much work waits. Cancelled – nobody waits for it.
  template <typename Result>
  void Run(Abandoned abandoned, std::function<absl::StatusOr<Result>(const Stop&)> work,
           std::function<void(absl::StatusOr<Result>)> take) {
    auto answer = lifetime_.Guard(take);
    const bool added = Add([this, abandoned = std::move(abandoned), work = std::move(work),
                            answer = std::move(answer)] {
      const Stop stop = [this, abandoned] {
        return leaving_.load() || (abandoned != nullptr && abandoned->load());
      };
      absl::StatusOr<Result> result =
          stop() ? absl::CancelledError("nobody waits for it") : work(stop);
      loop_.Post([answer, result = std::move(result)] { answer(result); });
    });
    if (!added) {
      take(absl::ResourceExhaustedError(
          "too many requests are being worked on; ask again in a second"));
    }
  }

 private:
  bool Add(std::function<void()> work);
  void Work();

  EventLoop& loop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;  ///< guarded by mutex_
  std::atomic<bool> leaving_ = false;
  Lifetime lifetime_;
  std::thread thread_;  ///< started by the first work
};

}  // namespace tony
