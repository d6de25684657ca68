// Where gRPC's threads leave what a test waits for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace tony::rpc {

/// Long enough for a loaded machine; a test that works never waits that long.
inline constexpr std::chrono::seconds kPatience{30};

/// A queue with a deadline. Thread safe.
template <typename Item>
class Inbox {
 public:
  void Push(Item item) {
    std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    changed_.notify_all();
  }

  /// The oldest one; nothing when patience ends.
  std::optional<Item> Next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [this] { return !items_.empty(); })) {
      return std::nullopt;
    }
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

  /// The oldest one, without waiting.
  std::optional<Item> TryNext() {
    std::lock_guard lock(mutex_);
    if (items_.empty()) return std::nullopt;
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

  /// The oldest `count`; fewer when patience ends.
  std::vector<Item> Take(size_t count) {
    std::vector<Item> taken;
    while (taken.size() < count) {
      std::optional<Item> item = Next();
      if (!item) break;
      taken.push_back(*std::move(item));
    }
    return taken;
  }

  /// Whether there is one within `patience`; it stays there. For what must not come.
  bool HasWithin(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return !items_.empty(); });
  }

  bool empty() {
    std::lock_guard lock(mutex_);
    return items_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
};

}  // namespace tony::rpc
