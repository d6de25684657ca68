// Streams and events of the double: threads with a queue.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace tony::collective {

/// A point in a stream that is reached once. Thread safe.
class FakeMark {
 public:
  void Fire() {
    const std::lock_guard lock(mutex_);
    fired_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return fired_; });
  }
  bool fired() {
    const std::lock_guard lock(mutex_);
    return fired_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool fired_ = false;
};

/// Does what it is given, in order. Its destructor waits for all of it. Thread safe.
class FakeStream {
 public:
  FakeStream() : thread_([this] { Run(); }) {}
  ~FakeStream() {
    Add(nullptr);
    thread_.join();
  }

  void Add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_all();
  }

 private:
  void Run() {
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !queue_.empty(); });
        work = std::move(queue_.front());
        queue_.pop_front();
      }
      if (!work) return;
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::thread thread_;
};

}  // namespace tony::collective

// The objects behind CUDA's handles.
struct CUstream_st {
  tony::collective::FakeStream stream;
};
struct CUevent_st {
  std::mutex mutex;
  std::shared_ptr<tony::collective::FakeMark> mark;  ///< as recorded last; null: never
};

namespace tony::collective {

/// Whether this thread has a GPU's context, which many calls need.
bool FakeContextIsCurrent();

}  // namespace tony::collective
