// The thread is started with the first work, since most pages never need it.
#include "common/worker.h"

#include <system_error>

namespace tony {

Worker::~Worker() {
  leaving_ = true;
  {
    std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool Worker::Add(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { Work(); });
      } catch (const std::system_error&) {
        return false;  // no thread is to be had at the moment
      }
    }
    waiting_.push_back(std::move(work));
  }
  changed_.notify_one();
  return true;
}

void Worker::Work() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return leaving_ || !waiting_.empty(); });
      if (leaving_) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace tony
