// The common parts of the local backend's tests: a loop on a thread of its own, children of the
// test, recorded events.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/event_loop.h"
#include "core/ports/cluster_backend.h"
#include "core/schedule/capacity.h"

namespace tony::backend {

/// Long enough for a loaded machine; a test that works never waits that long.
inline constexpr std::chrono::seconds kPatience(30);

/// An event loop that runs on its own thread for as long as this object lives. Thread safe.
class LoopThread {
 public:
  LoopThread() : thread_([this] { loop_.Run(); }) {}
  ~LoopThread() {
    loop_.Stop();
    thread_.join();
  }

  EventLoop& loop() { return loop_; }
  /// Runs `function` on the loop and returns its result.
  template <typename Function>
  auto Run(Function function) {
    std::packaged_task<decltype(function())()> task(std::move(function));
    auto result = task.get_future();
    loop_.Post([&task] { task(); });
    return result.get();
  }

 private:
  EventLoop loop_;
  std::thread thread_;
};

/// Keeps what a backend reports, for a test that waits on another thread. Thread safe.
class RecordingListener : public core::ClusterBackend::Listener {
 public:
  void OnContainerGranted(const core::Container& container) override;
  void OnExecutorStarted(const std::string& container_id,
                         const core::ExecutorProcess& process) override;
  void OnAllocationWaiting(const std::string& what, const std::string& unblock) override;
  void OnAllocationRefused(bool never_fits, const std::string& sentence) override;
  void OnContainerEnded(const std::string& container_id, const core::ContainerEnd& end) override;

  /// All containers granted so far, once they are `count` or more; fewer when patience ends.
  std::vector<core::Container> WaitGranted(size_t count);
  /// The last reason to wait, once there have been `count`; empty when patience ends.
  std::string WaitWaiting(size_t count = 1);
  /// "never: …" or "failed: …"; empty when patience ends.
  std::string WaitRefused();
  /// The process of the container's executor; pid 0 when patience ends.
  core::ExecutorProcess WaitStarted(const std::string& container_id);
  /// How the container ended; a sentence "did not end" when patience ends.
  core::ContainerEnd WaitEnded(const std::string& container_id);

  size_t granted_count();
  size_t ended_count();

 private:
  template <typename Condition>
  bool WaitFor(std::unique_lock<std::mutex>& lock, Condition condition) {
    return changed_.wait_for(lock, kPatience, condition);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<core::Container> granted_;
  std::vector<std::string> waiting_;
  std::vector<std::string> refused_;
  std::map<std::string, core::ExecutorProcess> started_;
  std::map<std::string, core::ContainerEnd> ended_;
};

/// A forked child that runs `body` and ends with what it returns; killed and reaped at the latest
/// when this object goes. Make it before any thread. Not thread safe.
class ForkedChild {
 public:
  explicit ForkedChild(const std::function<int()>& body);
  ~ForkedChild();
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  pid_t pid() const { return pid_; }
  void Kill(int signal);
  /// Blocks until it has ended; the status word of waitpid().
  int Wait();

 private:
  pid_t pid_;
  int status_ = 0;
};

/// A pipe by which a child tells that it has come somewhere. Not thread safe.
class Signpost {
 public:
  Signpost();
  ~Signpost();
  Signpost(const Signpost&) = delete;
  Signpost& operator=(const Signpost&) = delete;

  void Reach(char what = '.') const;
  /// Makes the output of this process, or of one that it becomes, report what it reaches.
  void BecomeOutput() const;
  /// The next thing that was reached; 0 when patience ends.
  char Await() const;

 private:
  int ends_[2];
};

core::Capacity SmallMachine(int64_t memory_mb, int gpus);
core::ContainerRequest Workers(int count, int64_t memory_mb, int gpus = 0);

}  // namespace tony::backend
